"""Small repositories of git, written without a process: objects, references and files."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path


class SmallRepository:
    """A repository in a folder; files are given as a mapping of paths to texts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git = root / ".git"
        for name in ("objects", "refs/heads", "refs/tags"):
            (self.git / name).mkdir(parents=True)
        (self.git / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
        self._number = 0
        self.checkout("main")

    def checkout(self, branch: str) -> None:
        """Name the branch of the working tree."""
        (self.git / "HEAD").write_text(f"ref: refs/heads/{branch}\n")

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write files to the working tree; None removes one."""
        for path, text in files.items():
            place = self.root / path
            if text is None:
                place.unlink(missing_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)

    def commit(self, branch: str, files: Mapping[str, str], *parents: str) -> str:
        """Commit files to a branch, after its last commit and other ones, and return the id."""
        reference = self.git / "refs/heads" / branch
        first = [reference.read_text().strip()] if reference.exists() else []
        self._number += 1
        lines = [f"tree {self._tree(files)}", *(f"parent {parent}" for parent in (*first, *parents))]
        who = f"A <a@example.com> {1_700_000_000 + self._number} +0000"
        text = "\n".join((*lines, f"author {who}", f"committer {who}", "", f"{self._number}\n"))
        commit = self._object("commit", text.encode())
        self.point(f"heads/{branch}", commit)
        return commit

    def point(self, reference: str, commit: str) -> None:
        """Let a reference such as heads/main or tags/v1 name a commit."""
        place = self.git / "refs" / reference
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{commit}\n")

    def delete(self, reference: str) -> None:
        """Delete a reference."""
        (self.git / "refs" / reference).unlink(missing_ok=True)

    def _tree(self, files: Mapping[str, str]) -> str:
        folders: dict[str, dict[str, str]] = {}
        entries: dict[str, tuple[bytes, str]] = {}
        for path, text in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(name, {})[rest] = text
            else:
                entries[name] = (b"100644", self._object("blob", text.encode()))
        entries |= {f"{name}/": (b"40000", self._tree(below)) for name, below in folders.items()}
        lines = (mode + b" " + name.strip("/").encode() + b"\0" + bytes.fromhex(entry)
                 for name, (mode, entry) in sorted(entries.items()))  # fmt: skip
        return self._object("tree", b"".join(lines))

    def _object(self, kind: str, data: bytes) -> str:
        whole = f"{kind} {len(data)}\0".encode() + data
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        place = self.git / "objects" / name[:2] / name[2:]
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(zlib.compress(whole))
        return name
