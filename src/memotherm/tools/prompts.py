"""The prompt that asks an agent to save memories before its context is compacted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from memotherm.notes.edits import writable
from memotherm.notes.files import Layout
from memotherm.notes.flush import saving_to
from memotherm.notes.placement import local_day
from memotherm.settings import Settings

_STORE = (
    "Save what should outlive it (decisions, facts, preferences, open tasks) with store_memory, one fact per call; "
    "do not repeat what memory_recall already finds."
)
_NEAR = "This conversation will soon be compacted."
_SILENT = "If there is nothing to save, reply with {token}."
_BESIDE = "Answer the user in full, as always; save beside that, without a word about it in the answer."


def flush_prompt(settings: Settings, now: datetime, *, beside_answer: bool = False) -> str:
    """Return the prompt of a flush: to the note of the day in `notes_root`, or with store_memory if it has none.

    In a turn of the user, `beside_answer` keeps the answer: an agent that replied with the silent token would give
    the user nothing else.
    """
    root = settings.notes_root
    if root and writable(Path(root).expanduser()):
        layout = Layout(root)
        saving = f"{saving_to(layout.day(local_day(now, settings)))} The paths are relative to {layout.root}."
    else:
        saving = _STORE
    return " ".join((_NEAR, saving, _BESIDE if beside_answer else _SILENT.format(token=settings.silent_token)))
