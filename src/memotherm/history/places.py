"""Which project a past session belongs to, and whether it may be remembered at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memotherm.hooks.project import name_of, project_at, trust_first, trusted_folders
from memotherm.settings import Settings
from memotherm.settings.paths import is_excluded

#: Why something is left out that the settings or the user exclude.
EXCLUDED = "excluded"


class Place(NamedTuple):
    """The project of a folder, as the hooks name it."""

    name: str
    #: Why its sessions are left out; empty if they are not.
    left_out: str = ""


class Places:
    """The projects of the folders that transcripts name; each folder is looked at once."""

    def __init__(self, settings: Settings, exclude: Sequence[str] = (), projects: Sequence[str] = ()) -> None:
        #: The patterns of what is left out.
        self.exclude = (*settings.capture_exclude, *exclude)
        self._projects = tuple(projects)
        self._found: dict[tuple[str, str], Place] = {}
        #: The folder that the memories of each remote belong to.
        self._trusted = {remote: folders[0] for remote, folders in trusted_folders().items()}

    def place(self, folder: str, source: str) -> Place:
        """Return the project of a folder; without a folder, it is named after the program."""
        key = folder, source
        if key not in self._found:
            self._found[key] = self._look(folder, source)
        return self._found[key]

    def excludes(self, session: str, project: str = "", folder: str = "") -> bool:
        """Return whether a session is excluded by its id, a project by its name, or a folder."""
        if is_excluded(self.exclude, project, session=session):
            return True
        return bool(self.exclude and folder) and self.place(folder, "").left_out == EXCLUDED

    def trust(self) -> None:
        """Trust the folders with their remotes, as the first hook in each would do."""
        for folder, _ in self._found:
            if folder:
                trust_first(project_at(folder))

    def _look(self, folder: str, source: str) -> Place:
        name = source
        if folder:
            project = project_at(folder)
            name = name_of(project)
            if project.remote == name and self._trusted.setdefault(name, str(project.place)) != str(project.place):
                # Any folder can name any remote: only the first has its memories.
                name = project.local
        if is_excluded(self.exclude, name, folder):
            return Place(name, EXCLUDED)
        if self._projects and not is_excluded(self._projects, name, folder):
            return Place(name, "another project")
        return Place(name)
