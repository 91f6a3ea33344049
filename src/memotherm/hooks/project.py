"""The project of a folder, as hooks and commands name it, and the scope that follows from it.

A project is a repository: its worktrees and trusted clones share memories, folders of the same name do not. Its name is

    github.com/acme/shop    the address of its remote repository: host and path
    shop-1a2b3c4d           without a remote: the name of its folder, and a digest of the folder's path
    notes-5e6f7a8b          the same for a folder that is not in a repository

The files of git are read without git, because hooks must be fast; a folder whose files are broken is a folder
without a repository.

Any folder can name any remote: an unpacked archive may contain a `.git` folder. The first folder that names a remote is
trusted with the memories of its project, and its worktrees with it. Any other folder has a project of its own until
`memotherm agent trust` was run for it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memotherm.settings import data_home
from memotherm.settings.paths import append_line, read_lines, read_regular

#: The value of an option that is derived from the working folder or the user account.
AUTO = "auto"
#: The scope of hooks, as `install` configures it.
HOOKS = {"project": AUTO, "user": AUTO}
#: The most characters of a value of a scope, and of the name in a project without a remote.
_MAX_CHARS = 200
_MAX_NAME_CHARS = 100
_MAX_ADDRESS_CHARS = 2000
_MAX_POINTER_BYTES = 8192
#: A configuration has a few lines for each branch.
_MAX_CONFIG_BYTES = 1_000_000

_REMOTE = re.compile(r'\[\s*remote\s+"((?:[^"\\]|\\.)*)"\s*\](.*)', re.IGNORECASE)
_URL = re.compile(r"url\s*=(.*)", re.IGNORECASE)
_QUOTES_AND_COMMENT = re.compile(r'"([^"]*)"|[#;].*')
#: ssh://git@host:22/path and https://user:password@host/path.
_WITH_SCHEME = re.compile(r"(?!file:)[a-z][\w+.-]*://(?:[^/]*@)?(\[[^\]/]+\]|[^/:]+)(?::\d*)?/(.+)", re.IGNORECASE)
#: git@host:path and [git@host:22]:path; one letter before the colon is a drive.
_LIKE_SCP = re.compile(r"(?:[^/:@\\\[]*@)?(\[[^\]/]+\]|[^/:@\\\[]{2,}):(?!//|:)(.+)")


def is_repository(folder: Path) -> bool:
    """Return whether a folder is in a repository."""
    with suppress(OSError):
        return (_root(folder) / ".git").exists()
    return False


class Project(NamedTuple):
    """The project of a folder."""

    #: The address of the remote; empty without one.
    remote: str
    #: The name without a remote, which nobody else can claim: it has a digest of the place.
    local: str
    #: The folder that its worktrees share.
    place: Path
    #: The root of the working tree.
    root: Path


def project_at(folder: str | Path) -> Project:
    """Return the project of a folder."""
    root, git, remote, belongs = working_tree(folder), None, "", False
    with suppress(OSError, ValueError):
        if (found := git_directories(root)) is not None:
            _, git, belongs = found
            remote = _remote(read_small(git / "config", _MAX_CONFIG_BYTES))
    # Not the git directory if it lies in the folder: `git init` does not change the project.
    place = root if git is None or not belongs else git.parent if git.name in (".git", ".bare") else git
    local = f"{_printable(place.name.strip('.').removesuffix('.git'))[:_MAX_NAME_CHARS]}-{digest(str(place))}"
    return Project(remote, local, place, root)


def deciding_files(folder: str | Path) -> list[Path]:
    """Return the files that change when the project of a folder does: its remotes, and the trusted folders."""
    found = None
    with suppress(OSError, ValueError):
        found = git_directories(working_tree(folder))
    return [trust_file()] if found is None else [trust_file(), found[1] / "config"]


def working_tree(folder: str | Path) -> Path:
    """Return the root of a folder's working tree without symbolic links; the folder if it is in no repository."""
    root = Path(folder)
    with suppress(OSError, ValueError):
        root = Path(os.path.realpath(folder))
        root = _root(root)
    return root


def _root(folder: Path) -> Path:
    """Return the root of the working tree; the folder itself if it is not in a repository."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def git_directories(root: Path) -> tuple[Path, Path, bool] | None:
    """Return the git directory of a working tree, the one that all its worktrees share, and whether the tree is theirs.

    It is if the directory lies in the tree, or lists it as a worktree. A file or link in the tree alone proves nothing:
    it can name the repository of another project. None if there is no directory.
    """
    pointer = root / ".git"
    git = Path(os.path.realpath(pointer))
    if not git.is_dir():
        # A worktree or a submodule: the file names the directory.
        word, _, path = read_small(git).partition(":")
        git = Path(os.path.realpath(root / path.strip()))
        if word != "gitdir" or not path.strip() or not git.is_dir():
            return None
    common = read_small(git / "commondir").strip()
    shared = Path(os.path.realpath(git / common)) if common else git
    if not shared.is_dir():
        return None
    back = read_small(git / "gitdir").strip()
    listed = git.parent == shared / "worktrees" and os.path.realpath(git / back) == str(pointer)
    return git, shared, listed or shared.is_relative_to(root)


def read_small(path: Path, most_bytes: int = _MAX_POINTER_BYTES) -> str:
    """Return the beginning of a regular file of git; an empty text if there is none."""
    with suppress(OSError):
        return os.fsdecode(read_regular(path, most_bytes))
    return ""


def _remote(config: str) -> str:
    """Return the address of origin, or of the first other remote by name; an empty text if there is none."""
    remotes: dict[str, str] = {}
    remote = None
    for each in config.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        line = each.strip()
        if line.startswith("["):
            section = _REMOTE.match(line)
            remote, line = (section[1], section[2].strip()) if section else (None, "")
        url = _URL.match(line)
        if url and remote is not None:
            remotes.setdefault(remote, _address(_QUOTES_AND_COMMENT.sub(r"\1", url[1]).strip()))
    usable = sorted((name != "origin", name) for name, address in remotes.items() if address)
    return remotes[usable[0][1]] if usable else ""


def _address(url: str) -> str:
    """Return host and path of a URL, equal for SSH and HTTPS; an empty text for a path of this machine."""
    found = (_WITH_SCHEME.fullmatch(url) or _LIKE_SCP.fullmatch(url)) if len(url) <= _MAX_ADDRESS_CHARS else None
    if found is None:
        return ""
    host = found[1].strip("[]").rpartition("@")[2].lower()
    host = host.partition(":")[0] if host.count(":") == 1 else host
    path = re.split(r"[?#]", found[2])[0].strip("/").removesuffix(".git").strip("/")
    address = f"{host}/{path}"
    if not host or not path or not address.isprintable():
        return ""
    return address if len(address) <= _MAX_CHARS else f"{address[: _MAX_CHARS - 9]}-{digest(address)}"


def _printable(name: str) -> str:
    return "".join(filter(str.isprintable, name)).strip() or "root"


def digest(text: str) -> str:
    """Return eight characters that distinguish a path or an address from others."""
    return hashlib.blake2b(os.path.normcase(text).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


# Scopes


def scope_of(named: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the scope of an event; `auto` means the project of the working folder, or the current user."""
    scope = dict(named)
    if scope.get("project") == AUTO:
        project = project_at(folder or Path.cwd())
        trust_first(project)
        scope["project"] = name_of(project)
    if scope.get("user") == AUTO:
        scope["user"] = user_name()
    return scope


def name_of(project: Project) -> str:
    """Return the name under which a folder's memories are stored: its remote if it is trusted, else its own name."""
    return project.remote if project.remote and not mistrust(project) else project.local


def mistrust(project: Project) -> list[str]:
    """Return the folders that are trusted with the remote of a project, if its own is not one of them; else none."""
    trusted = trusted_folders().get(project.remote, [])
    return [] if str(project.place) in trusted else trusted


def trust_first(project: Project) -> None:
    """Trust a folder with its remote, if it is the first one that names it."""
    if project.remote and project.remote not in trusted_folders():
        # Without the file, no other folder is trusted with this remote either.
        with suppress(OSError):
            trust(project)


def trust(project: Project) -> None:
    """Trust a folder, and its worktrees, with the memories of its remote."""
    append_line(trust_file(), [project.remote, str(project.place)])


def trusted_folders() -> dict[str, list[str]]:
    """Return the folders that are trusted with each remote, oldest first."""
    folders: dict[str, list[str]] = {}
    for values in read_lines(trust_file()):
        with suppress(ValueError):
            remote, folder = map(str, values)
            folders.setdefault(remote, []).append(folder)
    return folders


def trust_file() -> Path:
    """Return the file with the trusted folders: one JSON array on each line, a remote and a folder."""
    return data_home() / "trusted-folders.jsonl"


def untrusted_text(project: Project) -> str:
    """Return why a folder does not get the memories of its remote, and how it gets them; empty if it does."""
    folders = mistrust(project)
    if not folders:
        return ""
    return (
        f"This folder names the repository {project.remote}, whose memories are those of {folders[0]}. Any folder can "
        f"name any repository, so it has memories of its own. If it is a clone of yours: `{trust_command(project)}`"
    )


def trust_command(project: Project) -> str:
    """Return the command that trusts a folder."""
    from shlex import quote

    return f"memotherm agent trust {quote(str(project.root))}"


def user_name() -> str:
    """Return the name of the user account that runs the program."""
    try:
        import pwd

        # Not the environment, which a host may change.
        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        pass
    import getpass

    try:
        return getpass.getuser()[:_MAX_CHARS]
    except (OSError, KeyError, ImportError):
        return "user"
