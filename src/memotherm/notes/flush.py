"""When durable memories must be saved before the host compacts its context, and what to tell the agent then.

We give the prompt and the file; the agent writes with its own tools. Everything here is pure; who was
told in which cycle is remembered by the store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from memotherm.model.value import Value
from memotherm.settings import Settings

__all__ = ["Flush", "flush_for", "is_due", "is_silent", "may_become_silent", "threshold"]

#: The silent token as one source document spells it.
_SEED_TOKEN = "¿¿silent"  # noqa: S105 - a word, not a secret

_SYSTEM = (
    "Pre-compaction memory flush turn. The session is near auto-compaction; capture durable memories to disk now. "
    "Append only: never overwrite or rewrite what a note already says. "
    "You may reply, but usually {token} is correct."
)
_PROMPT = (
    "Pre-compaction memory flush. Save what should outlive this conversation (decisions, facts, preferences, open "
    "tasks) now: append it to {file}, and to no other file; create the folder if it does not exist. "
    "Do not repeat what the file already says. If there is nothing to save, reply with {token}."
)
_HINT = " If there is nothing to save, reply with {token}."


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Flush(Value):
    """A turn to run before the host compacts its context."""

    #: What to say to the agent; it names the file, so it belongs at the end of the context.
    prompt: str
    #: What to add to the system prompt; always the same text, so that the prompt's beginning stays cached.
    system: str
    #: The one file to append to, relative to the workspace.
    file: str
    #: The day of that file, in the user's time zone; `notes.append(text, date=flush.date)` keeps to it.
    date: date
    total_tokens: int
    threshold: int
    silent_token: str

    def is_silent(self, reply: str) -> bool:
        """Tell whether a reply says that there was nothing to save."""
        return is_silent(reply, self.silent_token)


def threshold(context_window: int, settings: Settings) -> int:
    """Return the tokens from which a flush is due; 0 = never."""
    return max(0, context_window - settings.flush_reserve_tokens - settings.flush_soft_tokens)


def is_due(total_tokens: int | None, context_window: int, settings: Settings) -> bool:
    """Tell whether a session has come near its limit; what is not known is not near."""
    limit = threshold(context_window, settings)
    return total_tokens is not None and limit > 0 and total_tokens >= limit


def flush_for(total_tokens: int, context_window: int, day: date, file: str, settings: Settings) -> Flush:
    """Return the turn to run."""
    token = settings.silent_token
    return Flush(
        prompt=_filled(settings.flush_prompt or _PROMPT, file, token),
        system=_filled(settings.flush_system_prompt or _SYSTEM, file, token),
        file=file,
        date=day,
        total_tokens=total_tokens,
        threshold=threshold(context_window, settings),
        silent_token=token,
    )


def is_silent(reply: str, token: str = "NO_REPLY") -> bool:  # noqa: S107 - a word, not a secret
    """Tell whether a reply begins or ends with the silent token, however it is written."""
    said = reply.strip()
    return any(_carries(said, each) for each in (token, _SEED_TOKEN) if each)


def may_become_silent(beginning: str, token: str = "NO_REPLY") -> bool:  # noqa: S107
    """Tell whether a reply that is still coming in may turn out to be silent, so that it is not shown yet."""
    said = beginning.strip().casefold()
    return any(each.casefold().startswith(said) for each in (token, _SEED_TOKEN))


def _carries(said: str, token: str) -> bool:
    word = re.escape(token)
    return (
        re.match(rf"{word}(?=$|\W)", said, re.IGNORECASE) is not None
        or re.search(rf"(?:^|\W){word}\W*$", said, re.IGNORECASE) is not None
    )


def _filled(text: str, file: str, token: str) -> str:
    told = text if token in text or "{token}" in text else text + _HINT
    return told.replace("{file}", file).replace("{token}", token)
