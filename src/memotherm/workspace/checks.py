"""Whether the conditions that end memories are true in the folder somebody works in.

A condition is checked only in the project where it was set: a branch that another clone has not fetched is not gone.
What cannot be told is unknown, and ends nothing.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from memotherm.errors import InvalidInput
from memotherm.hooks.project import project_at
from memotherm.text.conditions import RELEASE, UNNAMED, Condition, parse_condition
from memotherm.workspace.repository import PresentFiles, Repository
from memotherm.workspace.versions import Files, is_tagged, languages, version_key, version_of

__all__ = ["Workspace"]

#: The files that begin a package.
_MANIFESTS = (
    "package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml", "build.gradle",
    "build.gradle.kts", "composer.json", "mix.exs", "pubspec.yaml", "Package.swift",
)  # fmt: skip


class Workspace:
    """The project of a folder, as it is during one call."""

    def __init__(self, folder: str | Path) -> None:
        project = project_at(folder)
        self._folder = Path(os.path.realpath(folder))
        #: The root of the working tree.
        self.root = project.root
        #: What names the project on this machine, for all its worktrees.
        self.place = project.local

    @functools.cached_property
    def repository(self) -> Repository | None:
        """The repository; None if there is none."""
        return Repository.of(self.root)

    @functools.cached_property
    def package(self) -> str:
        """The folder of the nearest manifest below the root, which several packages share; empty if there is none."""
        inside = self._folder.is_relative_to(self.root)
        parents = (self._folder, *self._folder.parents) if inside else ()
        for each in takewhile(lambda parent: parent != self.root, parents):
            if any((each / name).is_file() for name in _MANIFESTS):
                return each.relative_to(self.root).as_posix()
        return ""

    @functools.cached_property
    def files(self) -> PresentFiles:
        """The files as they are now."""
        return PresentFiles(self.root)

    def has_come_true(self, ends: Mapping[str, Any]) -> bool:
        """Return whether a condition is true that was set in this project; ends is what `set_condition` returned."""
        condition = parse_condition(str(ends.get("when", "")))
        if condition is None or ends.get("place") != self.place:
            return False
        return self._is_true(condition, str(ends.get("tip", ""))) is True

    def branch(self) -> dict[str, str]:
        """Return what is stored of the branch of the working tree; nothing for the main branch, and without one."""
        repository = self.repository
        names = repository.branch_names() if repository else []
        if repository is None or not names or names[0] == (repository.main_branch() or names[0]):
            return {}
        return {"name": names[0], "place": self.place, "tip": repository.head() or ""}

    def is_apart(self, branch: Mapping[str, Any]) -> bool:
        """Return whether a branch is another one than that of the working tree, and still there.

        When it is gone, what was merged with it is no longer apart; for the rest, nobody works on it any more.
        """
        name, repository = str(branch.get("name", "")), self.repository
        if repository is None or branch.get("place") != self.place or name in repository.branch_names():
            return False
        main, tips = repository.main_branch(), repository.tips(name)
        if tips or tips is None or main is None:
            return bool(tips)
        return repository.contains(main, str(branch.get("tip", ""))) is not True

    def set_condition(self, condition: Condition) -> dict[str, str]:
        """Return what is stored of a condition that somebody has written; refuse one that could not be checked."""
        tip = self._unmerged_tip(condition)
        state = self._is_true(condition, tip)
        if self.repository is None:
            raise InvalidInput(f"{condition}: it cannot be checked, because this folder is not in a repository of git")
        if condition.name in (UNNAMED, RELEASE):
            raise InvalidInput(f"{condition}: name what is meant")
        if state:
            raise InvalidInput(f"{condition}: that is true already")
        if state is None and condition.state in ("is gone", "lacks", "is merged"):
            raise InvalidInput(f"{condition}: there is no {condition.subject} {condition.name} here that is not merged")
        return {"when": str(condition), "place": self.place, **({"tip": tip} if tip else {})}

    def heard_condition(self, condition: Condition, *, sure: bool) -> dict[str, str]:
        """Return what is stored of a condition that a sentence states; nothing if it is true already.

        Without a name that the sentence says, or where it cannot be checked, it is a guess, and ends nothing.
        """
        named = self._named(condition)
        if named is None:
            return {}
        tip = self._unmerged_tip(named)
        state = self._is_true(named, tip)
        if state:
            return {}
        if not sure or state is None or named != condition:
            return {"perhaps": str(named)}
        return {"when": str(named), "place": self.place, **({"tip": tip} if tip else {})}

    def _named(self, condition: Condition) -> Condition | None:
        """Return a condition with the name that only the project tells; None if it does not tell one."""
        if condition.name == RELEASE:
            branches = self.repository.branches() if self.repository else []
            names = [name for name in branches if name.lower().startswith("release")]
        elif condition.name == UNNAMED:
            wanted = version_key(condition.value)
            known = languages(self.files).items()
            names = [name for name, version in known if version[0] == wanted[0] and version < wanted]
        else:
            return condition
        return condition._replace(name=names[0]) if len(names) == 1 else None

    def _unmerged_tip(self, condition: Condition) -> str:
        """Return the commit of a branch that is not merged yet; empty if there is none.

        A new branch, which has no commit of its own, is not taken for a merged one later.
        """
        repository = self.repository
        if condition.state != "is merged" or repository is None or (main := repository.main_branch()) is None:
            return ""
        return next(
            (tip for tip in repository.tips(condition.name) or () if repository.contains(main, tip) is False), ""
        )

    def _is_true(self, condition: Condition, tip: str) -> bool | None:
        """Return whether a condition is true; None if that is unknown."""
        repository = self.repository
        if repository is None:
            return None
        if condition.subject in ("file", "version"):
            present = _holds(condition, self.files)
            if not present:
                return present
            # It counts when it is committed to the main branch.
            commit = repository.settled()
            return None if commit is None else _holds(condition, repository.committed(commit))
        if condition.subject == "tag":
            tags = repository.tags()
            return None if tags is None else is_tagged(condition.value, tags)
        if condition.subject == "commit":
            return repository.contains(condition.value, condition.name)
        tips = repository.tips(condition.name)
        if tips is None:
            return None
        if condition.state != "is merged":
            return bool(tips) is (condition.state == "exists")
        main = repository.main_branch()
        if not tip or main is None:
            return None
        # Its last commit at that time, so that a branch which was reset is not taken for a merged one, and all later.
        answers = {repository.contains(main, each) for each in (tip, *tips)}
        return None if None in answers else answers == {True}


def _holds(condition: Condition, files: Files) -> bool | None:
    """Return whether a condition about files is true of some files; None if unknown."""
    if condition.subject == "version":
        version = version_of(condition.name, files)
        return None if version is None else version >= version_key(condition.value)
    exists = files.exists(condition.name)
    if exists is None or condition.state in ("exists", "is gone"):
        return None if exists is None else exists is (condition.state == "exists")
    text = files.text(condition.name)
    if text is None:
        return None if exists or condition.state == "lacks" else False
    return (condition.value in text) is (condition.state == "contains")
