"""Let the tests of anthropic use our memory tool instead of the one on files."""

from typing import Any

from anthropic.lib.tools import _beta_builtin_memory_tool as tools

from memotherm.adapters.anthropic import AsyncMemothermMemoryTool, MemothermMemoryTool


def memory_tool(base_path: Any = None) -> MemothermMemoryTool:
    """Return a tool with a new store in memory."""
    return MemothermMemoryTool(":memory:", settings={"embedder": "none"})


def async_memory_tool(base_path: Any = None) -> AsyncMemothermMemoryTool:
    """Return an asynchronous tool with a new store in memory."""
    return AsyncMemothermMemoryTool(":memory:", settings={"embedder": "none"})


tools.BetaLocalFilesystemMemoryTool = memory_tool  # type: ignore[assignment, misc]
tools.BetaAsyncLocalFilesystemMemoryTool = async_memory_tool  # type: ignore[assignment, misc]
