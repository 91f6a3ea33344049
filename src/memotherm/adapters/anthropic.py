"""Memotherm behind Anthropic's memory tool (`memory_20250818`).

`MemothermMemoryTool` keeps files as keyed memories: every edit is in the ledger and can be undone.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
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

from memotherm.adapters.anthropic_files import (
    ROOT,
    arguments_of,
    directory_view,
    file_view,
    inserted,
    key_of,
    replaced,
    snippet,
    text_of,
)
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
