"""The prompt that asks an agent to save memories before its context is compacted."""

from __future__ import annotations

from datetime import datetime

from memotherm.notes.files import Layout
from memotherm.notes.flush import file_prompt
from memotherm.notes.placement import local_day
from memotherm.settings import Settings

_STORE = (
    "This conversation will soon be compacted. Save what should outlive it (decisions, facts, preferences, open tasks) "
    "with store_memory, one fact per call; do not repeat what memory_recall already finds. "
    "If there is nothing to save, reply with {token}."
)


def flush_prompt(settings: Settings, now: datetime) -> str:
    """Return the prompt of a flush: to the note of the day in `notes_root`, or with store_memory if there is none."""
    if not settings.notes_root:
        return _STORE.format(token=settings.silent_token)
    layout = Layout(settings.notes_root)
    prompt = file_prompt(layout.day(local_day(now, settings)), settings)
    return f"{prompt} The paths are relative to {layout.root}."
