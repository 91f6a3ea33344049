"""The SDK's own filesystem tool with its files indexed as notes."""

from __future__ import annotations

from functools import cached_property

from anthropic.lib.tools._beta_builtin_memory_tool import (
    BetaAsyncLocalFilesystemMemoryTool,
    BetaLocalFilesystemMemoryTool,
)
from anthropic.types.beta import BetaMemoryTool20250818Command
from anyio.to_thread import run_sync

from memotherm.memory import Memotherm
from memotherm.notes import Notes

__all__ = ["AsyncNotesMemoryTool", "NotesMemoryTool"]

#: The folder of the files inside the folder of the tool.
_FOLDER = "memories"


class NotesMemoryTool(BetaLocalFilesystemMemoryTool):
    """The memory tool on real files: Markdown files are indexed as notes after each command that changes one."""

    def __init__(self, memory: Memotherm, base_path: str = "./memory") -> None:
        """Use a folder, which is created if it does not exist.

        Args:
            memory: The memory that indexes the files; it stays open.
            base_path: The folder around the folder `memories`.
        """
        super().__init__(base_path)
        self.notes = _notes(memory, base_path)

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Execute a command, and synchronise the notes with the files."""
        result = str(super().execute(command))
        if command.command != "view":
            self.notes.sync()
        return result


class AsyncNotesMemoryTool(BetaAsyncLocalFilesystemMemoryTool):
    """The same tool for the asynchronous client."""

    def __init__(self, memory: Memotherm, base_path: str = "./memory") -> None:
        """Use a folder; the arguments are those of `NotesMemoryTool`."""
        super().__init__(base_path)
        self._memory = memory

    @cached_property
    def notes(self) -> Notes:
        """The notes of the folder, which the first command creates."""
        return _notes(self._memory, str(self.base_path))

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Execute a command, and synchronise the notes with the files."""
        result = str(await super().execute(command))
        if command.command != "view":
            await run_sync(self.notes.sync)
        return result


def _notes(memory: Memotherm, base_path: str) -> Notes:
    return memory.notes(base_path, [_FOLDER])
