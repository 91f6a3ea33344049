"""Memotherm as a memory store of Strands Agents: `MemoryManager(stores=[MemothermMemoryStore(mem)])`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

try:
    from strands.memory.extraction.types import ExtractionConfig
    from strands.memory.types import AddMessagesContext, MemoryEntry, MemoryStore, SearchOptions
    from strands.types.content import Message
except ImportError as exc:
    raise ImportError("this adapter needs Strands Agents: pip install 'memotherm[strands]'") from exc

from memotherm.adapters.conversation import storable
from memotherm.memory import Memotherm
from memotherm.model import Memory

_SOURCE = "strands"
_MOST_RESULTS = 10


class MemothermMemoryStore(MemoryStore):
    """Memories that an agent searches, adds to, and fills with its messages, without a call of a model."""

    def __init__(
        self,
        memory: Memotherm,
        *,
        name: str = "memotherm",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        session_id: str | None = None,
    ) -> None:
        """Use an open memory; its scope decides whose memories these are.

        Args:
            memory: The memory.
            name: The name of the store in the tools of the agent.
            description: What the store has, for the model.
            max_search_results: The most results of a search, unless it asks for another number; 10 if not given.
            writable: Whether the agent may write.
            extraction: When to store the messages of the agent; True for the defaults of Strands.
            session_id: The conversation; a new one if not given.
        """
        _require(bool(name.strip()), "name must not be empty.")
        _require(max_search_results is None or max_search_results >= 1, "max_search_results must be at least 1.")
        self.memory = memory
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self.session_id = session_id or uuid4().hex
        #: The numbers of messages begin at 0 for each agent, and are repeated only while this store lives.
        self._run = uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the memories that answer a query, best first; none if the confidence of the search is low."""
        asked = (options or {}).get("max_search_results")
        most = asked if asked is not None else self.max_search_results or _MOST_RESULTS
        _require(most >= 1, "max_search_results must be at least 1.")
        if not query.strip():
            return []
        recall = await asyncio.to_thread(self.memory.recall, query, most)
        if recall.confidence < self.memory.settings.context_min_confidence:
            return []
        return [
            MemoryEntry(
                content=hit.memory.content, metadata={**hit.memory.metadata, "id": hit.memory.id, "score": hit.score}
            )
            for hit in recall
        ]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> Memory:
        """Store a fact, and return it; duplicates are merged."""
        _require(self.writable, "store is not writable.")
        _require(bool(content.strip()), "content must not be empty.")
        return await asyncio.to_thread(self.memory.remember, content, metadata=metadata, source=_SOURCE)

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> dict[str, int]:
        """Store messages word for word: all of them, or none; a batch that is sent again changes nothing."""
        _require(self.writable, "store is not writable.")
        numbers = context.sequence_numbers if context is not None else None
        _require(numbers is None or len(numbers) == len(messages), "each message needs one of the sequence numbers.")
        told = [
            self._arguments_of(message, uuid4().hex if numbers is None else str(numbers[place]))
            for place, message in enumerate(messages)
        ]
        stored = await asyncio.to_thread(self.memory.remember_many, [each for each in told if each["content"]])
        return {"stored": len(stored)}

    def _arguments_of(self, message: Message, number: str) -> dict[str, Any]:
        text = "\n".join(block["text"] for block in message["content"] if block.get("text"))
        # Two agents may share a store, and number different messages alike.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return {
            "content": storable(self.memory, text),
            "kind": "message",
            "key": f"{_SOURCE}/{quote(self.session_id, safe='')}/{self._run}/{number}-{digest}",
            "metadata": {"role": message["role"], "session": self.session_id},
            "source": _SOURCE,
            "tier": "warm",
        }


def _require(condition: bool, message: str) -> None:
    """Raise the error of Strands' own stores for bad input."""
    if not condition:
        raise ValueError(f"MemothermMemoryStore: {message}")
