"""A session's door to its working memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

from memotherm.context.assembler import turn_query
from memotherm.context.values import Context
from memotherm.errors import InvalidInput, StoreError
from memotherm.model import Hit, Memory, Move, Recall, Retention, Tier
from memotherm.model.results import Compaction, SessionStatus, Spill
from memotherm.notes.appending import writable
from memotherm.notes.day import local_day
from memotherm.notes.flush import Flush, flush_for, is_due
from memotherm.notes.layout import Layout
from memotherm.remember.draft import Draft
from memotherm.services import View

__all__ = ["Session"]

#: The facade; a type variable, because the facade is made of sessions and not the other way round.
M = TypeVar("M")

_log = logging.getLogger(__name__)


class Session(Generic[M]):
    """The working memory of one session: few hot tokens in front, the rest within reach.

    It sees and moves only its own memories. `memory` is the facade of the same scope.
    """

    def __init__(self, memory: M, view: View) -> None:
        self.memory = memory
        self.id = str(view.scope.session)
        self._view = view
        self._services = view.services
        self._space = view.services.working.begin(view.scope, view.now())

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
        return self._services.working.add(self._view.scope, draft, self._view.cause("remember"))

    def hot(self) -> list[Memory]:
        """Return the hot memories, newest first; reading them counts as use."""
        records = self._services.working.hot(self._space, self._view.now())
        self._view.count_use(records)
        return [record.memory for record in records]

    def spill(self, count: int = 4, ids: Sequence[str] | None = None) -> Spill:
        """Move hot memories out: those named, or the least relevant and oldest ones."""
        _require_whole("count", count)
        return self._services.working.spill(self._space, count, ids, self._view.cause("move"))

    def promote(self, memory_id: str) -> bool:
        """Bring a memory of this session to hot, making room first; tell whether it moved."""
        return self._services.working.promote(self._space, memory_id, self._view.cause("move"))

    def demote(self, memory_id: str, tier: Tier | str = Tier.WARM) -> Memory:
        """Move a memory of this session to warm or cold."""
        if Tier.of(tier) is Tier.HOT:
            raise InvalidInput("a demotion goes to warm or cold: use promote() for hot")
        self._require_own(memory_id)
        cause = self._view.cause("move", "demoted in its session")
        return self._services.changes.move(self._view.scope, memory_id, Tier.of(tier), cause)

    def recall(
        self,
        query: str,
        limit: int = 3,
        auto_promote: bool | None = None,
        types: Sequence[str] | None = None,
    ) -> Recall:
        """Find what this session has spilled, and bring back to hot what has earned it."""
        _require_whole("limit", limit)
        question = self._view.question(query, (Tier.WARM, Tier.COLD), kinds=types, spaces=(self._space,))
        wanted = self._services.settings.auto_promote if auto_promote is None else auto_promote

        def promoted(hits: Sequence[Hit]) -> list[Move]:
            return self._services.working.promote_hits(self._space, hits, self._view.cause("move"))

        return self._services.recaller.recall(question, limit, promote=promoted if wanted else None, average=True)

    def status(self) -> SessionStatus:
        """Return what the session holds, how full hot is, and what it might do next."""
        return self._services.working.status(self.id, self._space, self._view.now())

    def prune(self, keep: int | None = None) -> list[str]:
        """Forget the cold memories that are worth the least, beyond `keep`; return their ids."""
        most = self._services.settings.max_cold_items if keep is None else keep
        _require_whole("keep", most)
        return self._services.working.prune(self._space, most, self._view.cause("forget"))

    def forget(self, memory_id: str) -> Memory:
        """Delete a memory of this session in a way that `restore` can take back."""
        self._require_own(memory_id)
        cause = self._view.cause("forget")
        return self._services.changes.retain(self._view.scope, memory_id, Retention.DELETED, cause)

    def keep(self, memory_id: str) -> Memory:
        """Give a memory of this session to the scope around it, so that it outlives the session."""
        return self._services.changes.widen(self._view.scope, memory_id, self._view.cause("widen"), self._space)

    def clear(self) -> int:
        """Forget everything of this session but what is pinned; return how much."""
        return self._services.working.clear(self._space, self._view.cause("forget"))

    def end(self, summary: str | None = None) -> Compaction | None:
        """End the session, and run compaction if the settings say so.

        A summary, if you have one, is remembered in the scope around the session.
        """
        if summary is not None:
            around = replace(self._view.scope, session=None)
            draft = Draft(content=summary, kind="context", source="summary")
            self._services.remember.remember([draft], around, self._view.now(), self._view.actor)
        self._services.working.end(self._space, "archived" if summary is None else "summarized", self._view.now())
        return self._compact() if self._services.settings.compaction_on_session_end else None

    def session_start(self, budget: int = 2000, format: str = "markdown") -> Context:  # noqa: A002
        """Return the block that a session begins with: pinned and hot memories; everything may come again."""
        self._services.turns.forget(self._space)
        return self._services.turns.context(self._space, self._view.context_request(None, budget, format))

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
        request = self._view.context_request(turn_query(prompt), budget, format, include_cold=include_cold, track=track)
        return self._services.turns.context(
            self._space, replace(request, recalled_tokens=self._services.settings.recall_max_tokens)
        )

    def context_compacted(self) -> None:
        """Tell that the host has summarised the conversation: everything may be given, and flushed, again."""
        self._services.turns.forget(self._space)
        self._services.working.claim_flush(self._space, None, due=False)

    def session_end(self, summary: str | None = None) -> Compaction | None:
        """End the session for good: nothing counts as given any more, and compaction runs if it is set to."""
        self._services.turns.forget(self._space)
        return self.end(summary)

    def run_ended(self) -> Compaction | None:
        """Tell that one run of the agent is over; compacts only with the setting `compact_every_run`."""
        return self._compact() if self._services.settings.compact_every_run else None

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
        settings = self._services.settings
        if heartbeat or read_only or (root is not None and not writable(Path(root).expanduser())):
            return None
        due = is_due(total_tokens, context_window, settings)
        try:
            claimed = self._services.working.claim_flush(self._space, compactions, due=due)
        except StoreError as exc:
            _log.warning("a flush could not be recorded and was left out: %s", exc)
            return None
        if not claimed or total_tokens is None:
            return None
        day = local_day(self._view.now(), settings)
        file = f"memory/{day.isoformat()}.md" if root is None else Layout(root).day(day)
        return flush_for(total_tokens, context_window, day, file, settings)

    def _compact(self) -> Compaction:
        return self._services.tiering.compact(self._view.scope, self._view.cause("move"), dry_run=False)

    def _require_own(self, memory_id: str) -> None:
        self._services.working.require_own(self._space, memory_id)


def _require_whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{name} must be a whole number from 0, not {value!r}")
