"""Memotherm behind Anthropic's memory tool (`memory_20250818`).

`MemothermMemoryTool` keeps files as keyed memories: every edit is in the ledger and can be undone.
Their texts are shown to the model as its tool requires.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
    from anyio.to_thread import run_sync
except ImportError as exc:
    raise ImportError("the adapter for the memory tool needs anthropic: pip install 'memotherm[anthropic]'") from exc

from memotherm.adapters.conversation import found, opened
from memotherm.errors import InvalidInput, NotFound, StaleWrite
from memotherm.memory import Memotherm
from memotherm.model import Memory, Retention, Scope

P = ParamSpec("P")

#: How often an edit is tried again after another process has changed the file.
_ATTEMPTS = 5
_LONGEST_FILE = 20_000_000


class MemothermMemoryTool(BetaAbstractMemoryTool):
    """The memory tool of Claude with a Memotherm store: files are memories with the path as key."""

    def __init__(
        self,
        memory: Memotherm | str | os.PathLike[str] | None = None,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        scope: Scope | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a memory.

        Args:
            memory: A path or URL as in `memotherm.open`, or an open memory, which stays open on `close`.
            cache_control: As in the SDK.
            scope: The scope of the files.
            settings: Settings by name.
        """
        super().__init__(cache_control=cache_control)
        self.memory, self._owner = opened(memory, scope, {"max_content_chars": _LONGEST_FILE, **(settings or {})})
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the memory if this tool has opened it."""
        if self._owner:
            self.memory.close()

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Execute a command; errors of the store become tool errors that the model can read."""
        try:
            return str(super().execute(command))
        except InvalidInput as exc:
            raise ToolError(str(exc)) from exc

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or the files of a directory."""
        key = key_of(command.path)
        memory = self._read(key)
        if memory is not None:
            return file_view(command.path, text_of(memory), command.view_range)
        sizes = {
            (each.key or "").removeprefix(f"{key}/"): len(text_of(each).encode())
            for each in found(self.memory, prefix=f"{key}/")
        }
        if not sizes and key != ROOT:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return directory_view(command.path, sizes)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        key = key_of(command.path)
        with self._lock:
            if self._exists(key):
                raise ToolError(f"File {command.path} already exists")
            self._require_directories(key)
            try:
                self.memory.remember_many([{**arguments_of(key, command.file_text), "version": 0}])
            except StaleWrite as exc:
                raise ToolError(f"File {command.path} already exists") from exc
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        new = command.new_str or ""
        before, after = self._edit(
            command.path, lambda text: replaced(command.path, text, command.old_str, new), "str_replace"
        )
        return snippet(before, after, command.old_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        self._edit(command.path, lambda text: inserted(text, command.insert_line, command.insert_text), "insert")
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a directory; it can be restored within the grace days."""
        key = key_of(command.path)
        if key == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        if not self._delete(key):
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory: new memories supersede those at the former path, which are archived."""
        key, new_key = key_of(command.old_path), key_of(command.new_path)
        if key == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        with self._lock:
            if self._exists(new_key):
                raise ToolError(f"The destination {command.new_path} already exists")
            if new_key.startswith(f"{key}/"):
                raise ToolError(f"Cannot move {command.old_path} into itself")
            self._require_directories(new_key)
            single = self._read(key)
            moved = list(found(self.memory, prefix=f"{key}/")) if single is None else [single]
            targets = [(each, new_key + (each.key or "").removeprefix(key)) for each in moved]
            try:
                self.memory.remember_many(
                    {**arguments_of(target, text_of(each)), "supersedes": each.id, "version": 0}
                    for each, target in targets
                )
            except StaleWrite as exc:
                raise ToolError(f"The destination {command.new_path} already exists") from exc
            if not moved:
                raise ToolError(f"The path {command.old_path} does not exist")
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete all files; they can be restored within the grace days."""
        self._delete(ROOT)
        return "All memory cleared"

    def _edit(self, path: str, change: Callable[[str], str], why: str) -> tuple[str, str]:
        """Change the text of a file, again if another process has changed it meanwhile; return both texts."""
        for _ in range(_ATTEMPTS):
            key = key_of(path)
            memory = self._read(key)
            if memory is None and self._exists(key):
                raise ToolError(f"The path {path} is not a file.")
            if memory is None:
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            before = text_of(memory)
            after = change(before)
            arguments = {name: arguments_of(key, after)[name] for name in ("content", "metadata")}
            try:
                self.memory.update(memory.id, why=why, version=memory.version, **arguments)
            except StaleWrite:
                continue
            return before, after
        raise ToolError(f"The file {path} is being changed by others. Please try again.")

    def _read(self, key: str) -> Memory | None:
        """Return the memory of a file, or None."""
        try:
            return None if key == ROOT else self.memory.get(key=key)
        except NotFound:
            return None

    def _exists(self, key: str) -> bool:
        """Return whether there is a file or a directory, which exists while a file is in it."""
        return key == ROOT or self._read(key) is not None or bool(self.memory.inspect.keys(f"{key}/", limit=1))

    def _require_directories(self, key: str) -> None:
        """Raise `ToolError` if a part of a path above its last one is a file."""
        parts = key.split("/")
        for count in range(2, len(parts)):
            above = "/".join(parts[:count])
            if self._read(above) is not None:
                raise ToolError(f"The path /{above} is not a directory")

    def _delete(self, key: str) -> bool:
        """Delete a file, or all files of a directory, also under former names; return whether there was one."""
        single = self._read(key)
        deleted = self.memory.bulk.forget(prefix=f"{key}/") if single is None else [self.memory.forget(single.id)]
        for memory in deleted:
            former = memory.supersedes
            while former is not None:
                try:
                    replaced_memory = self.memory.get(former)
                except NotFound:
                    break
                if replaced_memory.retention is Retention.ARCHIVED:
                    self.memory.forget(former)
                former = replaced_memory.supersedes
        return bool(deleted)


def _on_thread(
    method: Callable[Concatenate[MemothermMemoryTool, P], str],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, str]]:
    """Return a method as a coroutine that runs it on another thread."""

    @functools.wraps(method)
    async def call(self: AsyncMemothermMemoryTool, /, *args: P.args, **kwargs: P.kwargs) -> str:
        return await run_sync(functools.partial(method, self.tool, *args, **kwargs))

    return call


class AsyncMemothermMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for the asynchronous client; its commands run on other threads."""

    def __init__(
        self,
        memory: Memotherm | str | os.PathLike[str] | None = None,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        scope: Scope | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a memory; the arguments are those of `MemothermMemoryTool`."""
        super().__init__(cache_control=cache_control)
        self.tool = MemothermMemoryTool(memory, scope=scope, settings=settings)
        self.memory = self.tool.memory

    async def close(self) -> None:
        """Close the memory if this tool has opened it."""
        await run_sync(self.tool.close)

    execute = _on_thread(MemothermMemoryTool.execute)
    view = _on_thread(MemothermMemoryTool.view)
    create = _on_thread(MemothermMemoryTool.create)
    str_replace = _on_thread(MemothermMemoryTool.str_replace)
    insert = _on_thread(MemothermMemoryTool.insert)
    delete = _on_thread(MemothermMemoryTool.delete)
    rename = _on_thread(MemothermMemoryTool.rename)
    clear_all_memory = _on_thread(MemothermMemoryTool.clear_all_memory)


# Files

#: The key of the directory that holds all files.
ROOT = "memories"

_MOUNT = f"/{ROOT}"
#: Longer files are indexed by words only; embedding them takes minutes.
_LONGEST_INDEXED = 100_000


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


def arguments_of(key: str, text: str) -> dict[str, Any]:
    """Return the arguments of `remember` for a file."""
    blank = not text.strip()
    return {
        "content": f"(blank file /{key})" if blank else text,
        "kind": "file",
        "key": key,
        "metadata": {"text": text} if blank else {},
        "source": "anthropic",
        "index": not blank and len(text) <= _LONGEST_INDEXED,
    }


# Views and edits

_MOST_LINES = 999_999
#: Lines shown before and after a change.
_AROUND = 2
#: How deep a directory is shown.
_LEVELS = 2
_UNITS = "BKMG"


def file_view(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Return the lines of a file with their numbers, all of them or a range."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    shown = lines[first - 1 : last]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_numbered(shown, first))


def directory_view(path: str, sizes: Mapping[str, int]) -> str:
    """Return the files and directories of two levels; `sizes` are the bytes of files by their relative paths."""
    entries: dict[tuple[str, ...], int] = {}
    directories: set[tuple[str, ...]] = set()
    for name, size in sizes.items():
        parts = tuple(name.split("/"))
        for depth in range(1, min(_LEVELS, len(parts)) + 1):
            if parts[depth - 1].startswith("."):
                break
            entries[parts[:depth]] = entries.get(parts[:depth], 0) + size
            if depth < len(parts):
                directories.add(parts[:depth])
    listed = [
        f"{_size(entries[parts])}\t{path}/{'/'.join(parts)}{'/' if parts in directories else ''}"
        for parts in sorted(entries)
    ]
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([header, f"{_size(sum(sizes.values()))}\t{path}", *listed])


def replaced(path: str, text: str, old: str, new: str) -> str:
    """Return a text with the only occurrence of a part replaced."""
    count = text.count(old)
    if count == 0:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        # Overlapping occurrences are named, too.
        places = (match.start() for match in re.finditer(f"(?={re.escape(old)})", text))
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    return text.replace(old, new)


def snippet(before: str, after: str, old: str) -> str:
    """Return the lines around a replacement."""
    changed = before[: before.find(old)].count("\n") + 1
    first = max(1, changed - _AROUND)
    lines = _numbered(after.split("\n")[first - 1 : changed + _AROUND], first)
    message = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return f"{message}\n" + "\n".join(lines)


def inserted(text: str, line: int, new: str) -> str:
    """Return a text with lines inserted behind a line; it ends with a line feed."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if line < 0 or line > len(lines):
        raise ToolError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, new.rstrip("\n"))
    result = "\n".join(lines)
    return result if result.endswith("\n") else f"{result}\n"


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines, first)]


def _size(count: int) -> str:
    """Return a number of bytes as `ls -h` does."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    size = count / 1024**unit
    return f"{int(size) if size == int(size) else format(size, '.1f')}{_UNITS[unit]}"
