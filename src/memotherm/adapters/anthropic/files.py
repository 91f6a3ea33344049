"""Files as keyed memories: reading, writing, moving and deleting, each in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anthropic.lib.tools import ToolError

from memotherm.errors import NotFound
from memotherm.memory import Memotherm
from memotherm.model import Memory, Retention

__all__ = ["KIND", "ROOT", "Files", "key_of", "text_of"]

#: The key of the directory that holds all files.
ROOT = "memories"
#: The kind of the memories that hold files.
KIND = "file"

_MOUNT = f"/{ROOT}"
#: Longer files are found by their words only: vectors of them cost minutes.
_LONGEST_INDEXED = 100_000
_PAGE = 1000


def key_of(path: str) -> str:
    """Return the key of a path such as "/memories/plan.md", or refuse one that leads out of the directory."""
    if not path.startswith(_MOUNT):
        raise ToolError(f"Path must start with {_MOUNT}, got: {path}")
    parts = [ROOT]
    for part in path.removeprefix(_MOUNT).split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
        if not parts:
            raise ToolError(f"Path {path} would escape {_MOUNT} directory")
    return "/".join(parts)


def text_of(memory: Memory) -> str:
    """Return the text of the file that a memory holds."""
    text = memory.metadata.get("text")
    return text if isinstance(text, str) else memory.content


class Files:
    """The files of a memory; a directory exists while a file is in it."""

    def __init__(self, memory: Memotherm) -> None:
        self.memory = memory

    def read(self, key: str) -> Memory | None:
        """Return the memory of a file, or None."""
        try:
            return self.memory.get(key=key)
        except NotFound:
            return None

    def inside(self, key: str) -> Iterator[Memory]:
        """Yield the memories of all files in a directory, at any depth."""
        cursor = None
        while True:
            page = self.memory.find(prefix=f"{key}/", limit=_PAGE, cursor=cursor)
            yield from page
            cursor = page.cursor
            if cursor is None:
                return

    def exists(self, key: str) -> bool:
        """Return whether there is a file or a directory."""
        return key == ROOT or (
            bool(self.memory.keys(key, limit=1))
            and (self.read(key) is not None or bool(self.memory.keys(f"{key}/", limit=1)))
        )

    def require_directories(self, key: str) -> None:
        """Raise `ToolError` if a part of a path above its last one is a file."""
        parts = key.split("/")
        for count in range(2, len(parts)):
            above = "/".join(parts[:count])
            if self.read(above) is not None:
                raise ToolError(f"The path /{above} is not a directory")

    def create(self, key: str, text: str) -> None:
        """Store a new file; raise `StaleWrite` if there is one meanwhile."""
        self.memory.remember_many([{**_arguments(key, text), "version": 0}])

    def rewrite(self, memory: Memory, text: str, why: str) -> None:
        """Give a file another text, unless it has changed since it was read."""
        arguments = _arguments(memory.key or "", text)
        self.memory.update(
            memory.id,
            content=arguments["content"],
            metadata=arguments["metadata"],
            why=why,
            version=memory.version,
        )

    def move(self, key: str, new_key: str) -> bool:
        """Move a file, or all files of a directory; return whether there was one.

        The new memory supersedes the one at the former path, which is archived. Raise `StaleWrite` if there is a file
        at the new path meanwhile.
        """
        single = self.read(key)
        found = [single] if single is not None else list(self.inside(key))
        moved = [(memory, new_key + (memory.key or "").removeprefix(key)) for memory in found]
        self.memory.remember_many(
            {**_arguments(target, text_of(memory)), "supersedes": memory.id, "version": 0} for memory, target in moved
        )
        return bool(found)

    def delete(self, key: str) -> bool:
        """Delete a file, or all files of a directory; return whether there was one."""
        single = self.read(key)
        found = self.memory.forget_many(prefix=f"{key}/") if single is None else [self.memory.forget(single.id)]
        for memory in found:
            self._forget_former(memory)
        return bool(found)

    def _forget_former(self, memory: Memory) -> None:
        """Delete what a file was called before, too."""
        while memory.supersedes is not None:
            try:
                memory = self.memory.get(memory.supersedes)
            except NotFound:
                return
            if memory.retention is Retention.ARCHIVED:
                self.memory.forget(memory.id)


def _arguments(key: str, text: str) -> dict[str, Any]:
    """Return the arguments of `remember` for a file."""
    blank = not text.strip()
    return {
        "content": f"(blank file /{key})" if blank else text,
        "kind": KIND,
        "key": key,
        "metadata": {"text": text} if blank else {},
        "source": "anthropic",
        "index": not blank and len(text) <= _LONGEST_INDEXED,
    }
