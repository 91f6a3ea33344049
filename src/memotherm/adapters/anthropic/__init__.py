"""Memotherm behind Anthropic's memory tool (`memory_20250818`)."""

try:
    import anthropic.lib.tools  # noqa: F401 - the SDK itself
except ImportError as exc:
    raise ImportError("the adapter for the memory tool needs anthropic: pip install 'memotherm[anthropic]'") from exc

from memotherm.adapters.anthropic.notes import AsyncNotesMemoryTool, NotesMemoryTool
from memotherm.adapters.anthropic.tool import AsyncMemothermMemoryTool, MemothermMemoryTool

__all__ = ["AsyncMemothermMemoryTool", "AsyncNotesMemoryTool", "MemothermMemoryTool", "NotesMemoryTool"]
