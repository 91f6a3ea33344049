"""The repository of a folder: its branches and tags, and the files of a commit.

References are read from the files of git, without a process, because this happens at every recall. Only what looks like
the end of a memory, and renames, are asked of git itself, by commands that execute nothing of the repository:
`cat-file`, `ls-tree`, `diff-tree`, `rev-list` and `merge-base` run no hooks, filters or pagers, whatever its
configuration says, nor, with `_READS`, file system monitors; with `GIT_ALLOW_PROTOCOL` and `GIT_NO_LAZY_FETCH` they
fetch nothing that a partial clone lacks.
They get full ids of commits, so their answers never change and are cached.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from memotherm.hooks.project import git_directories, read_small
from memotherm.settings.paths import environment, read_regular

#: More references, and larger files, are not read: what they say is unknown.
_MAX_REFS_BYTES = 2_000_000
_MAX_FILE_BYTES = 4_000_000
#: How long git may take, in seconds; what it has not answered is unknown.
_TIMEOUT = 1.0
_MAIN_BRANCHES = ("main", "master", "trunk")
#: Files of a merge, a rebase and the like that have not ended.
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
#: Options of git: no pager, no other objects in place of those that are asked for, paths without patterns, and no
#: monitor, which `diff-tree` would run when it reads the index.
_READS = ("--no-pager", "--no-replace-objects", "--literal-pathspecs", "-c", "core.fsmonitor=")
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
#: How often a file is followed from one name to the next; each time costs three commands.
_MOST_RENAMES = 8
#: The exit code of git for what it cannot read.
_UNKNOWN_COMMIT = 128
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_RENAMED = re.compile(r"\tBranch: renamed refs/heads/(\S{1,250}) to refs/heads/")
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)


class Repository:
    """A repository, as the files of git describe it now."""

    def __init__(self, root: Path, own: Path, shared: Path) -> None:
        self._root = root
        #: The directory of this working tree, and the one that all worktrees share.
        self._own = own
        self._shared = shared

    @classmethod
    def of(cls, root: Path) -> Repository | None:
        """Return the repository of a working tree; None if there is none that belongs to it, or none to be read.

        A submodule lies in the directory of another tree, and names its own.
        """
        found = git_directories(root)
        if found is None:
            return None
        own, shared, belongs = found
        module = None if belongs else _WORKTREE.search(read_small(own / "config"))
        belongs |= module is not None and os.path.realpath(own / module[1].strip('"')) == str(root)
        if not belongs or (shared / "reftable").exists():
            return None
        return cls(root, own, shared) if (shared / "refs").is_dir() else None

    def tips(self, branch: str) -> list[str] | None:
        """Return the commits that a branch is at, the local one and those of remotes; None if unknown."""
        packed = self._packed
        if packed is None:
            return None
        heads, remotes = self._shared / "refs" / "heads", self._shared / "refs" / "remotes"
        found = {f"refs/heads/{branch}": read_small(heads / branch).strip()}
        with suppress(OSError):
            found |= {
                f"refs/remotes/{each.name}/{branch}": read_small(each / branch).strip() for each in remotes.iterdir()
            }
        ends = f"/{branch}\n"
        place = packed.find(ends)
        while place >= 0:
            commit, _, name = packed[packed.rfind("\n", 0, place) + 1 : place + len(ends) - 1].partition(" ")
            if name == f"refs/heads/{branch}" or re.fullmatch(rf"refs/remotes/[^/]+/{re.escape(branch)}", name):
                # A loose reference is newer.
                found[name] = found.get(name) or commit
            place = packed.find(ends, place + 1)
        return [commit for commit in found.values() if _ID.fullmatch(commit)]

    def branches(self) -> list[str]:
        """Return the names of all branches, local ones and those of remotes."""
        packed = [line.partition(" ")[2] for line in (self._packed or "").splitlines()]
        loose = (_loose(self._shared / "refs" / name, f"refs/{name}") for name in ("heads", "remotes"))
        found: dict[str, None] = {}
        for name in (*packed, *(each for names in loose for each in names)):
            kind, _, rest = name.removeprefix("refs/").partition("/")
            branch = rest.partition("/")[2] if kind == "remotes" else rest if kind == "heads" else ""
            if branch and branch != "HEAD":
                found[branch] = None
        return list(found)

    def tags(self) -> list[str] | None:
        """Return the names of the tags; None if unknown."""
        start = "refs/tags/"
        if self._packed is None:
            return None
        packed = (line.partition(" ")[2] for line in self._packed.splitlines())
        names = (*packed, *_loose(self._shared / "refs" / "tags", "refs/tags"))
        return [name.removeprefix(start) for name in names if name.startswith(start)]

    def main_branch(self) -> str | None:
        """Return the branch that others are merged into: that of origin, or one with a usual name, or the only one."""
        origin = read_small(self._shared / "refs" / "remotes" / "origin" / "HEAD").strip()
        if origin.startswith("ref: refs/remotes/origin/"):
            return origin.removeprefix("ref: refs/remotes/origin/")
        usual = next((name for name in _MAIN_BRANCHES if self.tips(name)), None)
        if usual is not None:
            return usual
        branches = self.branches()
        return branches[0] if len(branches) == 1 else None

    def settled(self) -> str | None:
        """Return the commit of the working tree; None unless it is the main branch's, and no merge or rebase is open.

        Files on another branch are what somebody tries, not what holds in the project.
        """
        head = read_small(self._own / "HEAD").strip()
        name = head.removeprefix("ref: refs/heads/")
        if name == head or name != self.main_branch() or any((self._own / each).exists() for each in _UNFINISHED):
            return None
        return next(iter(self.tips(name) or ()), None)

    def head(self) -> str | None:
        """Return the commit of the working tree, on any branch; None if there is none."""
        head = read_small(self._own / "HEAD").strip()
        name = head.removeprefix("ref: refs/heads/")
        commit = head if name == head else next(iter(self.tips(name) or ()), "")
        return commit if _ID.fullmatch(commit) else None

    def branch_names(self) -> list[str]:
        """Return the name of the branch of the working tree, then those that it had before; none if HEAD is detached.

        A name that another branch has by now is not one of them.
        """
        head = read_small(self._own / "HEAD").strip()
        name = head.removeprefix("ref: refs/heads/")
        if name == head or not name:
            return []
        log = _text(self._shared / "logs" / "refs" / "heads" / name, _MAX_REFS_BYTES) or ""
        return [name, *dict.fromkeys(old for old in _RENAMED.findall(log) if old != name and not self.tips(old))]

    def renamed(self, path: str, since: str, commit: str) -> str | None:
        """Return the new path of a file that was renamed between two commits; None if no rename of it is known.

        The first one may be before the file was committed, or lost by a rebase: then its last commit tells.
        """
        found = None
        for _ in range(_MOST_RENAMES):
            if not _ID.fullmatch(since) or since == commit:
                break
            if new := self._renames(since, commit).get(path):
                return new
            last = self._last_change(path, since, commit)
            new = self._renames(f"{last}^", last).get(path) if _ID.fullmatch(last) else None
            if new is None:
                break
            found, path, since = new, new, last
        return found

    def _last_change(self, path: str, since: str, commit: str) -> str:
        """Return the last commit that has changed a file; empty if there is none."""
        code, output = _git(str(self._own), "rev-list", "-1", f"^{since}", commit, "--", path)
        if code == _UNKNOWN_COMMIT:
            code, output = _git(str(self._own), "rev-list", "-1", commit, "--", path)
        return "" if code else output.decode("ascii", "replace").strip()

    def _renames(self, since: str, commit: str) -> dict[str, str]:
        """Return the new paths of the files that were renamed between two commits."""
        options = ("-r", "-z", "-M", "-l200", "--diff-filter=R", "--name-status", "--no-ext-diff", "--no-textconv")
        code, output = _git(str(self._own), "diff-tree", *options, since, commit)
        fields = output.decode("utf-8", "replace").split("\0") if code == 0 else []
        return dict(zip(fields[1::3], fields[2::3], strict=False))

    def contains(self, branch: str, commit: str) -> bool | None:
        """Return whether a commit is in a branch, local or of a remote; None if unknown."""
        if not _COMMIT.fullmatch(commit):
            return None
        answers = {_is_ancestor(str(self._own), commit, tip) for tip in self.tips(branch) or ()}
        return True if True in answers else None if None in answers or not answers else False

    def committed(self, commit: str) -> CommittedFiles:
        """Return the files of a commit."""
        return CommittedFiles(str(self._own), commit)

    @functools.cached_property
    def _packed(self) -> str | None:
        """The references in one file, one on each line; None if there are too many."""
        place = self._shared / "packed-refs"
        return _text(place, _MAX_REFS_BYTES) if place.exists() else ""


def _loose(folder: Path, name: str) -> Iterator[str]:
    """Yield the names of the references below a folder, however deep it is."""
    waiting = [(folder, name)]
    while waiting:
        folder, name = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                below = f"{name}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((folder / entry.name, below))
                else:
                    yield below


# Files, now and in a commit


class PresentFiles:
    """The files of a folder as they are now; nothing outside of it is read, links included."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def exists(self, path: str) -> bool | None:
        """Return whether there is such a file or folder; None if it lies outside."""
        place = self._place(path)
        return None if place is None else place.exists()

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if there is none to be read."""
        place = self._place(path)
        return None if place is None else _text(place, _MAX_FILE_BYTES)

    def _place(self, path: str) -> Path | None:
        place = Path(os.path.realpath(self._root / path))
        return place if place.is_relative_to(self._root) else None


class CommittedFiles:
    """The files of a commit."""

    def __init__(self, directory: str, commit: str) -> None:
        self._directory = directory
        self._commit = commit

    def exists(self, path: str) -> bool | None:
        """Return whether the commit has such a file or folder; None if unknown."""
        # Its blob may be missing in a partial clone, its entry is not.
        code, output = _git(self._directory, "ls-tree", "--full-tree", self._commit, "--", path)
        return None if code else bool(output)

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if there is none, or it is too large."""
        name = f"{self._commit}:{path}"
        # Some kilobytes of objects can be a gigabyte of text.
        code, size = _git(self._directory, "cat-file", "-s", name)
        if code or int(size) > _MAX_FILE_BYTES:
            return None
        code, output = _git(self._directory, "cat-file", "blob", name)
        return None if code else output.decode("utf-8", "replace")


def _is_ancestor(directory: str, commit: str, tip: str) -> bool | None:
    code, _ = _git(directory, "merge-base", "--is-ancestor", commit, tip)
    return {0: True, 1: False}.get(code)


@functools.lru_cache(maxsize=256)
def _git(directory: str, *arguments: str) -> tuple[int, bytes]:
    """Return the exit code and the output of a command of git that only reads; the arguments name commits by ids."""
    import subprocess

    program = _program()
    if program is None:
        return 127, b""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - the arguments were checked: ids, and paths after a colon or `--`
            [program, *_READS, f"--git-dir={directory}", *arguments],
            cwd=directory,
            env=_variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
        return done.returncode, done.stdout
    return 124, b""


@functools.cache
def _program() -> str | None:
    """Return the path of git; a relative one would be looked up in the project."""
    import shutil

    found = shutil.which("git")
    return found if found and Path(found).is_absolute() else None


def _variables() -> Mapping[str, str]:
    """Return the environment of git: without variables that redirect it, and without any transport."""
    kept = {name: value for name, value in environment().items() if not name.startswith("GIT_")}
    return {
        **kept, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C",
    }  # fmt: skip


def _text(path: Path, most_bytes: int) -> str | None:
    """Return the text of a regular file; None if there is none, or it is larger."""
    try:
        status = path.stat()
        if status.st_size > most_bytes:
            return None
        return _text_at(str(path), status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return None


@functools.lru_cache(maxsize=32)
def _text_at(path: str, mtime: int, size: int, inode: int) -> str:  # noqa: ARG001 - they tell whether it has changed
    return read_regular(path, size).decode("utf-8", "replace")
