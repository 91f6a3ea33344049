"""Memotherm as the session of the OpenAI Agents SDK: `MemothermSession("s1", "agent.db")`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

try:
    from agents import TResponseInputItem
    from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit
except ImportError as exc:
    raise ImportError("this adapter needs the OpenAI Agents SDK: pip install 'memotherm[openai-agents]'") from exc

from memotherm.adapters.conversation import BUDGET, Conversation, found, opened, storable
from memotherm.errors import StaleWrite
from memotherm.memory import Memotherm
from memotherm.model import Memory, Scope

T = TypeVar("T")

_SOURCE = "openai-agents"
_PAGE = 1000
#: Retries when another process pops the same item.
_ATTEMPTS = 20


class MemothermSession:
    """The items of one conversation, stored as memories that other conversations can recall.

    It implements the protocol `agents.memory.Session`.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memotherm | str | os.PathLike[str] | None = None,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        budget: int = BUDGET,
        scope: Scope | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a session.

        Args:
            session_id: The conversation.
            memory: A path or URL as in `memotherm.open`, or an open memory, which stays open on `close`.
            session_settings: The settings of the SDK, such as the most items that a run gets.
            budget: The most tokens of the context of a turn.
            scope: The scope of the items.
            settings: Settings by name.
        """
        self.session_id = session_id
        self.session_settings: SessionSettings | None = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._budget = budget
        self.memory, self._owner = opened(memory, scope, settings or {})
        self._conversation = Conversation(self.memory, session_id, _SOURCE)
        self._prefix = f"{_SOURCE}/{quote(session_id, safe='')}/"

    def close(self) -> None:
        """Close the memory if this session has opened it."""
        if self._owner:
            self.memory.close()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, oldest first; with a limit, the latest ones."""
        most = resolve_session_limit(limit, self.session_settings)
        newest = await _completed(lambda: list(self._newest_first(most if most is not None and most >= 0 else None)))
        return [json.loads(memory.metadata["item"]) for memory in reversed(newest)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items: all of them, or none."""
        await _completed(lambda: self.memory.remember_many([self._arguments_of(item) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item; it can be restored within the grace days."""
        return await _completed(self._pop)

    async def clear_session(self) -> None:
        """Remove all items; they can be restored within the grace days."""
        await _completed(lambda: self.memory.bulk.forget("the session was cleared", prefix=self._prefix))

    async def session_input_callback(
        self, history: list[TResponseInputItem], new_items: list[TResponseInputItem]
    ) -> list[TResponseInputItem]:
        """Insert memories about the new items between the history and the new items.

        Give it to `RunConfig(session_input_callback=...)`. The run stores the context with the items of the turn, so
        that later turns have the same prefix, and nothing is brought twice.
        """
        prompt = "\n".join(_text_of(item) for item in new_items if _role_of(item) == "user")
        context = await _completed(lambda: self._conversation.context(prompt, self._budget).text)
        brought: list[TResponseInputItem] = [{"role": "user", "content": context}] if context else []
        return [*history, *brought, *new_items]

    def _newest_first(self, most: int | None) -> Iterator[Memory]:
        page = min(_PAGE if most is None else max(most, 1), _PAGE)
        return islice(found(self.memory, limit=page, prefix=self._prefix, where={"popped": None}), most)

    def _pop(self) -> TResponseInputItem | None:
        for _ in range(_ATTEMPTS):
            newest = next(self._newest_first(1), None)
            if newest is None:
                return None
            try:
                # Of several at the same time, one changes the version.
                self.memory.update(newest.id, metadata={**newest.metadata, "popped": True}, version=newest.version)
            except StaleWrite:
                continue
            self.memory.forget(newest.id, why="popped from the session")
            item: TResponseInputItem = json.loads(newest.metadata["item"])
            return item
        raise StaleWrite(f"the session {self.session_id!r} is popped by other processes at the same time: try again")

    def _arguments_of(self, item: TResponseInputItem) -> dict[str, Any]:
        """Return the arguments of `remember` that store an item; only messages are indexed."""
        stored = json.dumps(item)
        said = storable(self.memory, _text_of(item))
        kind = item.get("type", "message")
        return {
            "content": said or f"an item of the type {kind}",
            "kind": "message",
            "key": f"{self._prefix}{uuid4().hex}",
            "metadata": {"item": stored, "session": self.session_id, "role": _role_of(item) or str(kind)},
            "source": _SOURCE,
            "tier": "warm" if said else "cold",
            "index": bool(said),
        }


async def _completed(function: Callable[[], T]) -> T:
    """Run a function on another thread to its end, also if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(function))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as exc:
            cancelled = exc
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


def _role_of(item: Mapping[str, Any]) -> str:
    return str(item.get("role") or "")


def _text_of(item: Mapping[str, Any]) -> str:
    """Return the text of a message; other items have none."""
    if _role_of(item) not in ("user", "assistant"):
        return ""
    content = item.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and part.get("text"))
