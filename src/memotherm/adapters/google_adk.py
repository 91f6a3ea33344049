"""Memotherm as the memory service of the Google Agent Development Kit: `MemothermMemoryService(uri="agent.db")`."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

try:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai.types import Content, Part
except ImportError as exc:
    raise ImportError("this adapter needs the Google ADK: pip install 'memotherm[google-adk]'") from exc

from memotherm.adapters.conversation import found, opened, storable
from memotherm.errors import InvalidInput, NotFound
from memotherm.memory import Memotherm
from memotherm.model import Memory, Scope
from memotherm.model.memory import MemoryFilters

_SCHEME = "memotherm:"
_SOURCE = "google-adk"
_EVENTS = f"{_SOURCE}/events/"
#: Marks of deleted events, which remain after the events are purged.
_DELETED = f"{_SOURCE}/deleted/"
_MOST_RESULTS = 10
#: The session of events that were added without one.
_NO_SESSION = "unknown"


class MemothermMemoryService(BaseMemoryService):
    """Events as memories of a user of an application; a session may be added any number of times.

    The application is the project of the scope, and the user its user.
    """

    def __init__(
        self,
        uri: str | os.PathLike[str] | None = None,
        *,
        memory: Memotherm | None = None,
        agents_dir: str | None = None,  # noqa: ARG002 - the registry of services passes it
        scope: Scope | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a memory.

        Args:
            uri: A path or URL as in `memotherm.open`; for the registry of services `memotherm:///agent.db`, or
                `memotherm:` and a URL, such as `memotherm:postgresql://host/db`.
            memory: An open memory, instead of a URI; it stays open on `close`.
            agents_dir: Ignored.
            scope: The scope around the applications.
            settings: Settings by name.
        """
        if memory is not None and uri is not None:
            raise InvalidInput("give either the URI of a memory or an open one")
        self.memory, self._owner = opened(_url_of(uri) if memory is None else memory, scope, settings or {})

    async def close(self) -> None:
        """Close the memory if this service has opened it."""
        if self._owner:
            await asyncio.to_thread(self.memory.close)

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that have text and are not stored yet, or deleted."""
        await asyncio.to_thread(self._add, session.app_name, session.user_id, session.id, session.events, None)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that have text and are not stored yet, or deleted: all of them, or none."""
        await asyncio.to_thread(self._add, app_name, user_id, session_id or _NO_SESSION, events, custom_metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as facts: all of them, or none."""
        mem = self._scoped(app_name, user_id)
        facts = [
            {
                "content": storable(mem, _text_of(entry.content)),
                "metadata": {
                    **(custom_metadata or {}),
                    **entry.custom_metadata,
                    "author": entry.author,
                    "said_at": entry.timestamp,
                },
                "source": _SOURCE,
            }
            for entry in memories
        ]
        await asyncio.to_thread(mem.remember_many, facts)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return at most ten memories that answer a query, best first; none if the confidence of the search is low."""
        if not query.strip():
            return SearchMemoryResponse()
        mem = self._scoped(app_name, user_id)
        recall = await asyncio.to_thread(mem.recall, query, _MOST_RESULTS)
        if recall.confidence < mem.settings.context_min_confidence:
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry_of(hit.memory) for hit in recall])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory by the id of its entry; an event does not come back when its session is added again."""
        if memory_id:
            await asyncio.to_thread(self._delete, self._scoped(app_name, user_id), memory_id)

    def _scoped(self, app_name: str, user_id: str) -> Memotherm:
        return self.memory.scoped(project=app_name, user=user_id)

    def _add(
        self,
        app_name: str,
        user_id: str,
        session_id: str,
        events: Sequence[Event],
        custom_metadata: Mapping[str, object] | None,
    ) -> None:
        mem = self._scoped(app_name, user_id)
        texts = {_id_of(event): (event, storable(mem, _text_of(event.content))) for event in events}
        prefix = f"{_EVENTS}{quote(session_id, safe='')}/"
        deleted = {memory.metadata["event"] for memory in found(mem, prefix=_DELETED, retention="any")}
        stored = {memory.metadata["event"] for memory in found(mem, prefix=prefix, retention="any")}
        mem.remember_many(
            {
                "content": text,
                "kind": "message",
                "key": f"{prefix}{quote(event_id, safe='')}",
                "metadata": {
                    **(custom_metadata or {}),
                    "event": event_id,
                    "session": session_id,
                    "author": event.author,
                    "role": "user" if event.author == "user" else "assistant",
                    "said_at": datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
                },
                "source": _SOURCE,
                "tier": "warm",
            }
            for event_id, (event, text) in texts.items()
            if text and event_id not in deleted | stored
        )

    def _delete(self, mem: Memotherm, memory_id: str) -> None:
        why = "deleted from the memory service"
        events: MemoryFilters = {"prefix": _EVENTS, "where": {"event": memory_id}}
        if mem.count(**events):
            mem.remember(
                f"the event {memory_id} was deleted", key=f"{_DELETED}{quote(memory_id, safe='')}",
                metadata={"event": memory_id}, source=_SOURCE, tier="cold", index=False,
            )  # fmt: skip
            mem.bulk.forget(why, **events)
            return
        with suppress(NotFound):
            mem.forget(memory_id, why=why)


def _url_of(uri: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    if not isinstance(uri, str) or not uri.startswith(_SCHEME):
        return uri
    rest = uri.removeprefix(_SCHEME)
    return f"sqlite:{rest}" if rest.startswith("//") else rest


def _id_of(event: Event) -> str:
    """Return the id of an event, or a hash of its author, time and text."""
    if event.id:
        return str(event.id)
    told = f"{event.author}\n{event.timestamp}\n{_text_of(event.content)}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _text_of(content: Content | None) -> str:
    """Return the text of a content, without the thoughts of the model."""
    parts = content.parts if content is not None and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _entry_of(memory: Memory) -> MemoryEntry:
    custom = {name: value for name, value in memory.metadata.items() if name not in ("author", "said_at")}
    author, said_at = memory.metadata.get("author"), memory.metadata.get("said_at")
    memory_id = memory.id
    if memory.key is not None and memory.key.startswith(_EVENTS):
        memory_id = custom.pop("event")
        custom |= {"session_id": custom.pop("session"), "event_id": memory_id}
    return MemoryEntry(
        content=Content(role="user" if author == "user" else "model", parts=[Part(text=memory.content)]),
        custom_metadata=custom,
        id=memory_id,
        author=author or memory.source,
        timestamp=said_at or memory.created_at.isoformat(),
    )
