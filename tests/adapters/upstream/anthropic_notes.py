"""Let the tests of anthropic use our memory tool on files that are notes."""

from typing import Any

from anthropic.lib.tools import _beta_builtin_memory_tool as tools

import memotherm
from memotherm.adapters.anthropic import AsyncNotesMemoryTool, NotesMemoryTool


class Tool(NotesMemoryTool):
    """A tool that opens a memory of its own."""

    def __init__(self, base_path: Any = "./memory") -> None:
        super().__init__(memotherm.open(":memory:", embedder="none"), base_path)


class AsyncTool(AsyncNotesMemoryTool):
    """The same for coroutines."""

    def __init__(self, base_path: Any = "./memory") -> None:
        super().__init__(memotherm.open(":memory:", embedder="none"), base_path)


tools.BetaLocalFilesystemMemoryTool = Tool  # type: ignore[misc]
tools.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[misc]
