"""Hits as lines of text, the way an agent's prompt takes them."""

from __future__ import annotations

from memotherm.model import Priority, Recall

__all__ = ["relevant_lines"]

NOTHING = "(No relevant memories)"


def relevant_lines(recall: Recall) -> str:
    """Return a line for each hit; its priority is named unless it is normal."""
    lines = []
    for hit in recall:
        priority = hit.memory.priority
        label = "" if priority is Priority.NORMAL else f"[{priority}] "
        lines.append(f"- {label}{' '.join(hit.memory.content.split())}")
    return "\n".join(lines) or NOTHING
