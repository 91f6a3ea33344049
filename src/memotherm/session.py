"""A session's door to its working memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memotherm.context import Context
from memotherm.draft import Draft
from memotherm.errors import InvalidInput, StoreError
from memotherm.model import Hit, Memory, Move, Recall, Tier
from memotherm.notes.appending import writable
from memotherm.notes.day import local_day
from memotherm.notes.flush import Flush, flush_for, is_due
from memotherm.notes.layout import Layout
from memotherm.results import Compaction, SessionStatus, Spill
from memotherm.services.assemble import turn_query
from memotherm.services.recall import Recaller
from memotherm.services.turns import Turns
from memotherm.services.working import WorkingMemory
from memotherm.storage.values import Cause

if TYPE_CHECKING:
    from memotherm.facade import Memotherm

__all__ = ["Session"]

_log = logging.getLogger(__name__)


class Session:
    """The working memory of one session: few hot tokens in front, the rest within reach.

    It sees and moves only its own memories. `memory` is the facade of the same scope.
    """

    def __init__(self, memory: Memotherm, working: WorkingMemory, recaller: Recaller, turns: Turns) -> None:
        self.memory = memory
        self.id = str(memory.scope.session)
        self._working = working
        self._recaller = recaller
        self._turns = turns
        self._space = working.begin(memory.scope, memory._now())

    def __repr__(self) -> str:
        return f"<Session {self.id!r}>"

    def add(
        self,
        content: str,
        type: str = "message",  # noqa: A002 - the source's word for a kind
        metadata: Mapping[str, Any] | None = None,
        *,
        tier: Tier | str | None = None,
    ) -> Memory:
        """Add a hot memory; others are spilled before it comes in, so that the limit always holds.

        What is larger than the whole limit is stored warm, unless `tier="hot"` insists: then it is refused.
        """
        if tier is not None and Tier.of(tier) is not Tier.HOT:
            raise InvalidInput("a session adds to hot: use remember(tier=...) for another tier")
        draft = Draft(content=content, kind=type, metadata=metadata, tier=tier, source="session")
        return self._working.add(self.memory.scope, draft, self._cause("remember"))

    def hot(self) -> list[Memory]:
        """Return the hot memories, newest first; reading them counts as use."""
        now = self.memory._now()
        records = self._working.hot(self._space, now)
        self.memory._touch(records)
        return [record.memory for record in records]

    def spill(self, count: int = 4, ids: Sequence[str] | None = None) -> Spill:
        """Move hot memories out: those named, or the least relevant and oldest ones."""
        _require_whole("count", count)
        return self._working.spill(self._space, count, ids, self._cause("move"))

    def promote(self, memory_id: str) -> bool:
        """Bring a memory of this session to hot, making room first; tell whether it moved."""
        return self._working.promote(self._space, memory_id, self._cause("move"))

    def demote(self, memory_id: str, tier: Tier | str = Tier.WARM) -> Memory:
        """Move a memory of this session to warm or cold."""
        if Tier.of(tier) is Tier.HOT:
            raise InvalidInput("a demotion goes to warm or cold: use promote() for hot")
        self._require_own(memory_id)
        return self.memory.move(memory_id, tier, why="demoted in its session")

    def recall(
        self,
        query: str,
        limit: int = 3,
        auto_promote: bool | None = None,
        types: Sequence[str] | None = None,
    ) -> Recall:
        """Find what this session has spilled, and bring back to hot what has earned it."""
        _require_whole("limit", limit)
        question = self.memory._question(query, (Tier.WARM, Tier.COLD), kinds=types, spaces=(self._space,))
        wanted = self.memory.settings.auto_promote if auto_promote is None else auto_promote

        def promoted(hits: Sequence[Hit]) -> list[Move]:
            return self._working.promote_hits(self._space, hits, self._cause("move"))

        return self._recaller.recall(question, limit, promote=promoted if wanted else None, average=True)

    def status(self) -> SessionStatus:
        """Return what the session holds, how full hot is, and what it might do next."""
        return self._working.status(self.id, self._space, self.memory._now())

    def prune(self, keep: int | None = None) -> list[str]:
        """Forget the cold memories that are worth the least, beyond `keep`; return their ids."""
        most = self.memory.settings.max_cold_items if keep is None else keep
        _require_whole("keep", most)
        return self._working.prune(self._space, most, self._cause("forget"))

    def forget(self, memory_id: str) -> Memory:
        """Delete a memory of this session in a way that `restore` can take back."""
        self._require_own(memory_id)
        return self.memory.forget(memory_id)

    def keep(self, memory_id: str) -> Memory:
        """Give a memory of this session to the scope around it, so that it outlives the session."""
        self._require_own(memory_id)
        return self.memory.widen(memory_id)

    def clear(self) -> int:
        """Forget everything of this session but what is pinned; return how much."""
        return self._working.clear(self._space, self._cause("forget"))

    def end(self, summary: str | None = None) -> Compaction | None:
        """End the session, and run compaction if the settings say so.

        A summary, if you have one, is remembered in the scope around the session.
        """
        if summary is not None:
            self.memory.widen(self.memory.remember(summary, kind="context", source="summary").id)
        self._working.end(self._space, "archived" if summary is None else "summarized", self.memory._now())
        return self.memory.compact() if self.memory.settings.compaction_on_session_end else None

    def session_start(self, budget: int = 2000, format: str = "markdown") -> Context:  # noqa: A002
        """Return the block that a session begins with: pinned and hot memories; everything may come again."""
        self._turns.forget(self._space)
        return self._turns.context(self._space, self.memory._request(None, budget, format))

    def before_turn(
        self,
        prompt: str,
        budget: int = 2000,
        format: str = "markdown",  # noqa: A002
        include_cold: bool | None = None,
        track: bool = True,
    ) -> Context:
        """Return the block for a turn, without what this session was given before, unless it has changed.

        Recalled memories take at most `recall_max_tokens` of the budget, because what is injected at
        every turn adds up. An empty text means that there is nothing new to say.
        """
        request = self.memory._request(turn_query(prompt), budget, format, include_cold=include_cold, track=track)
        return self._turns.context(
            self._space, replace(request, recalled_tokens=self.memory.settings.recall_max_tokens)
        )

    def context_compacted(self) -> None:
        """Tell that the host has summarised the conversation: everything may be given, and flushed, again."""
        self._turns.forget(self._space)
        self._working.claim_flush(self._space, None, due=False)

    def session_end(self, summary: str | None = None) -> Compaction | None:
        """End the session for good: nothing counts as given any more, and compaction runs if it is set to."""
        self._turns.forget(self._space)
        return self.end(summary)

    def run_ended(self) -> Compaction | None:
        """Tell that one run of the agent is over; compacts only with the setting `compact_every_run`."""
        return self.memory.compact() if self.memory.settings.compact_every_run else None

    def flush_due(
        self,
        total_tokens: int | None,
        context_window: int = 200_000,
        *,
        root: str | PathLike[str] | None = None,
        compactions: int | None = None,
        heartbeat: bool = False,
        read_only: bool = False,
    ) -> Flush | None:
        """Return the turn to run before the host compacts its context, at most once between two compactions.

        Ask after every turn. Trouble with the store is logged and never in the way of the turn.

        Args:
            total_tokens: What the session's context holds; None when nobody knows.
            context_window: What it can hold.
            root: The workspace; None leaves it to the agent where `memory/` is.
            compactions: How often the host has compacted so far; without it, a fall of the tokens tells.
            heartbeat: Whether this turn is the host's own, which saves nothing.
            read_only: Whether the agent cannot write files.
        """
        memory = self.memory
        if heartbeat or read_only or (root is not None and not writable(Path(root).expanduser())):
            return None
        due = is_due(total_tokens, context_window, memory.settings)
        try:
            claimed = self._working.claim_flush(self._space, compactions, due=due)
        except StoreError as exc:
            _log.warning("a flush could not be recorded and was left out: %s", exc)
            return None
        if not claimed or total_tokens is None:
            return None
        day = local_day(memory._now(), memory.settings)
        file = f"memory/{day.isoformat()}.md" if root is None else Layout(root).day(day)
        return flush_for(total_tokens, context_window, day, file, memory.settings)

    def _cause(self, action: str) -> Cause:
        now: datetime = self.memory._now()
        return Cause(action=action, at=now, actor=self.memory._actor)

    def _require_own(self, memory_id: str) -> None:
        self._working.require_own(self._space, memory_id)


def _require_whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{name} must be a whole number from 0, not {value!r}")
