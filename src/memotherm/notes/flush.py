"""The memory flush before the host compacts its context: when it is due, and its prompts.

The agent writes the file with its own tools. The store records which cycle of a session was flushed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from memotherm.model.value import Value
from memotherm.notes.placement import CURATED, local_day
from memotherm.settings import Settings

__all__ = ["Flush", "flush_for", "flush_prompt", "is_due", "is_silent", "may_become_silent", "saving_to", "threshold"]

#: Tokens at the end of the context window that the host reserves for its answer.
RESERVE_TOKENS = 20_000
#: Tokens before that reserve at which a flush becomes due.
SOFT_TOKENS = 4000
#: The silent token as one source document spells it.
_SEED_TOKEN = "¿¿silent"  # noqa: S105 - a word, not a secret

_SYSTEM = (
    "Pre-compaction memory flush turn. The session is near auto-compaction; capture durable memories to disk now. "
    "Append only: never overwrite or rewrite what a note already says. "
    "You may reply, but usually {token} is correct."
)
_PROMPT = "Pre-compaction memory flush. {saving} If there is nothing to save, reply with {token}."
_SAVING = (
    "Save what should outlive this conversation (decisions, facts, preferences, open tasks) now: append it to {file}; "
    "create the folder if it does not exist. "
    "A fact that will hold for long may go to {curated} instead; write to no other file. "
    "Do not repeat what these files already say."
)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Flush(Value):
    """A turn to run before the host compacts its context."""

    #: The prompt for the agent; it names the file, so it belongs at the end of the context.
    prompt: str
    #: A text for the system prompt; always the same, so that the start of the prompt stays cached.
    system: str
    #: The file to append to, relative to the workspace.
    file: str
    #: The day of that file, in the user's time zone; for `notes.append(text, date=flush.date)`.
    date: date
    total_tokens: int
    threshold: int
    silent_token: str

    def is_silent(self, reply: str) -> bool:
        """Return whether a reply says that there is nothing to save."""
        return is_silent(reply, self.silent_token)


def threshold(context_window: int) -> int:
    """Return the number of tokens at which a flush is due; 0 for never."""
    return max(0, context_window - RESERVE_TOKENS - SOFT_TOKENS)


def is_due(total_tokens: int | None, context_window: int) -> bool:
    """Return whether a session has reached the threshold; False if its tokens are not known."""
    limit = threshold(context_window)
    return total_tokens is not None and limit > 0 and total_tokens >= limit


def flush_for(total_tokens: int, context_window: int, day: date, file: str, settings: Settings) -> Flush:
    """Return the flush for a session."""
    token = settings.silent_token
    return Flush(
        prompt=_PROMPT.format(saving=saving_to(file), token=token),
        system=_SYSTEM.format(token=token),
        file=file,
        date=day,
        total_tokens=total_tokens,
        threshold=threshold(context_window),
        silent_token=token,
    )


def saving_to(file: str) -> str:
    """Return the instruction to append to a file."""
    return _SAVING.format(file=file, curated=CURATED)


def is_silent(reply: str, token: str = "NO_REPLY") -> bool:  # noqa: S107 - a word, not a secret
    """Return whether a reply starts or ends with the silent token, in any case."""
    text = reply.strip()
    return any(_has_token(text, silent) for silent in (token, _SEED_TOKEN) if silent)


def may_become_silent(beginning: str, token: str = "NO_REPLY") -> bool:  # noqa: S107
    """Return whether the start of a streamed reply may become the silent token, so that it is held back."""
    text = beginning.strip().casefold()
    return any(silent.casefold().startswith(text) for silent in (token, _SEED_TOKEN))


def _has_token(text: str, token: str) -> bool:
    word = re.escape(token)
    return (
        re.match(rf"{word}(?=$|\W)", text, re.IGNORECASE) is not None
        or re.search(rf"(?:^|\W){word}\W*$", text, re.IGNORECASE) is not None
    )


#: The prompt for an agent that has the tools.
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
    # The hook of a prompt that is no flush reads no notes.
    from memotherm.notes.edits import writable
    from memotherm.notes.files import Layout

    root = settings.notes_root
    if root and writable(Path(root).expanduser()):
        layout = Layout(root)
        saving = f"{saving_to(layout.day(local_day(now, settings)))} The paths are relative to {layout.root}."
    else:
        saving = _STORE
    return " ".join((_NEAR, saving, _BESIDE if beside_answer else _SILENT.format(token=settings.silent_token)))
