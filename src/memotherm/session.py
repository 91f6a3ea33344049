"""The working memory of one session: the methods of `Memotherm.session()`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memotherm.context.assembler import turn_query
from memotherm.context.values import Context
from memotherm.errors import InvalidInput, NotFound, StoreError
from memotherm.facade.services import Services
from memotherm.facade.view import View
from memotherm.model import Memory, Recall, Retention, Tier
from memotherm.model.actions import Action
from memotherm.model.memory import FormatName, TierName
from memotherm.model.results import Compaction, SessionStatus, Spill
from memotherm.remember.draft import Draft
from memotherm.text.content import require_limit
from memotherm.text.tool_calls import ToolCall

if TYPE_CHECKING:
    from memotherm.notes.flush import Flush

#: The facade; a type variable, because the facade is made of sessions and not the other way round.
M = TypeVar("M")

_log = logging.getLogger(__name__)
#: The most characters of the input of a tool in which memories are looked for.
_INPUT_CHARS = 4000


class Session(Generic[M]):
    """The working memory of one session: a limited number of hot tokens, and the memories that were spilled.

    It sees and moves only its own memories. `memory` is the facade of the same scope.
    """

    def __init__(self, memory: M, view: View) -> None:
        self.memory = memory
        self.id = str(view.scope.session)
        self._view = view
        self._space = view.services.working.begin(view.scope, view.now())

    @property
    def _services(self) -> Services:
        return self._view.services

    def __repr__(self) -> str:
        return f"<Session {self.id!r}>"

    def add(
        self,
        content: str,
        type: str = "message",  # noqa: A002 - the source's word for a kind
        metadata: Mapping[str, Any] | None = None,
        *,
        tier: Tier | TierName | None = None,
    ) -> Memory:
        """Add a hot memory, spilling others first if it would exceed the limit.

        A memory that is larger than the whole limit is stored warm; with `tier="hot"` it is refused.
        """
        if tier is not None and Tier.of(tier) is not Tier.HOT:
            raise InvalidInput("a session adds to hot: use remember(tier=...) for another tier")
        draft = Draft(content=content, kind=type, metadata=metadata, tier=tier, source="session")
        return self._services.working.add(self._view.scope, draft, self._view.cause(Action.REMEMBER), self._view.trust)

    def hot(self) -> list[Memory]:
        """Return the hot memories, newest first; this counts as a use of them."""
        records = self._services.working.hot(self._space, self._view.now())
        self._view.count_uses(records)
        return [record.memory for record in records]

    def spill(self, count: int = 4, ids: Sequence[str] | None = None) -> Spill:
        """Move memories out of hot: those given by id, or the least relevant and oldest ones."""
        require_limit(count, None, "count")
        return self._services.working.spill(self._space, count, ids, self._view.cause(Action.MOVE))

    def promote(self, memory_id: str) -> bool:
        """Move a memory of this session to hot, spilling others if needed; return whether it moved."""
        return self._services.working.promote(self._space, memory_id, self._view.cause(Action.MOVE))

    def demote(self, memory_id: str, tier: Tier | TierName = Tier.WARM) -> Memory:
        """Move a memory of this session to warm or cold."""
        if Tier.of(tier) is Tier.HOT:
            raise InvalidInput("a demotion goes to warm or cold: use promote() for hot")
        self._require_own(memory_id)
        cause = self._view.cause(Action.MOVE, "demoted in its session")
        return self._services.changes.move(self._view.scope, memory_id, Tier.of(tier), cause)

    def recall(
        self,
        query: str,
        limit: int = 3,
        auto_promote: bool | None = None,
        types: Sequence[str] | None = None,
    ) -> Recall:
        """Search the warm and cold memories of this session, and promote hits that the rules select.

        Hot memories are in the prompt already; `hot()` lists them. Pinned memories of the scope are returned beside
        the hits and do not count towards the limit.
        """
        require_limit(limit, None, "limit")
        wanted = self._services.settings.auto_promote if auto_promote is None else auto_promote
        spaces, serving = self._services.store.visible(self._view.scope)
        question = self._view.question(query, (Tier.WARM, Tier.COLD), kinds=types, place=((self._space,), serving))
        question = replace(question, pinned_spaces=spaces, penalise=False)
        recaller = self._services.recaller
        found, promotion = recaller.search(question, limit), None
        if wanted:
            hits = (*found.pinned, *found.hits)
            promotion = self._services.working.promote_hits(self._space, hits, self._view.cause(Action.MOVE))
        recall = recaller.answer(found, promotion, average=True)
        return recall if recall.hits else replace(recall, hint=self._hint())

    def status(self) -> SessionStatus:
        """Return the counts of the session, the use of its hot tokens, and suggestions."""
        return self._services.working.status(self.id, self._space, self._view.now())

    def prune(self, keep: int | None = None) -> list[str]:
        """Delete the least relevant cold memories beyond `keep`; return their ids."""
        most = self._services.settings.max_cold_items if keep is None else keep
        require_limit(most, None, "keep")
        return self._services.working.prune(self._space, most, self._view.cause(Action.FORGET))

    def forget(self, memory_id: str) -> Memory:
        """Delete a memory of this session; `restore` brings it back within the grace days."""
        self._require_own(memory_id)
        return self._view.retain([memory_id], Retention.DELETED, Action.FORGET)[0]

    def keep(self, memory_id: str) -> Memory:
        """Move a memory of this session to the scope around it, so that it outlives the session."""
        return self._services.changes.rescope(
            self._view.scope, memory_id, self._view.cause(Action.MOVE_OUT_OF_SESSION), owner=self._space
        )

    def clear(self) -> int:
        """Delete the memories of this session, except pinned ones; return how many."""
        return self._services.working.clear(self._space, self._view.cause(Action.FORGET))

    def end(self, summary: str | None = None) -> Compaction | None:
        """End the session, and run compaction if the settings say so.

        A summary is stored in the scope around the session.
        """
        if summary is not None:
            around = replace(self._view.scope, session=None)
            draft = Draft(content=summary, kind="context", source="summary")
            view = View(self._services, around, self._view.caller)
            self._services.writer.capture(draft, around, view.cause(Action.REMEMBER))
        self._services.working.end(self._space, "archived" if summary is None else "summarized", self._view.now())
        return self._view.compact() if self._services.settings.compaction_on_session_end else None

    def session_start(self, budget: int = 2000, format: FormatName = "markdown") -> Context:  # noqa: A002
        """Return the context that a session starts with, at most 600 tokens besides pinned memories.

        Pinned memories and rules of a person come first, then critical ones and blockers, the profile of the user,
        open tasks, the summary of the last session, and other hot memories.
        """
        self._services.assembler.forget_turns(self._space)
        request = replace(self._view.context_request(None, budget, format), begins=True)
        return self._services.assembler.turn_context(self._space, request)

    def before_turn(
        self,
        prompt: str,
        budget: int = 2000,
        format: FormatName = "markdown",  # noqa: A002
        include_cold: bool | None = None,
        track: bool = True,
        repeat: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> Context:
        """Return the context of a turn, without unchanged memories that were injected before.

        Recalled memories take at most `recall_max_tokens` of the budget, because the contexts of all turns
        stay in the conversation. The text is empty when there is nothing new. With `repeat`, memories that were
        injected before may be included again, in case the host did not receive an earlier context. With `where`,
        only memories whose metadata matches are recalled, such as {"session": {"$ne": "s1"}}.
        """
        request = self._view.context_request(
            turn_query(prompt), budget, format, include_cold=include_cold, track=track, where=where
        )
        return self._services.assembler.turn_context(
            self._space, replace(request, recalled_tokens=self._services.settings.recall_max_tokens), repeat=repeat
        )

    def before_tool(
        self,
        tool: str,
        paths: Sequence[str] = (),
        command: str = "",
        error: str = "",
        task: str = "",
        input: str = "",  # noqa: A002 - what tools call it
        budget: int = 150,
    ) -> Context:
        """Return the memories that concern a tool call, each once per session; for most calls there are none.

        A memory concerns a call if it names the file or a folder above it, the command, or the error. One that names
        only the name of the file or program must also be similar enough. It may have been in the context of a prompt
        before.

        Args:
            tool: The name of the tool, such as Edit.
            paths: The files that it reads or changes, relative to the root of the project.
            command: The command line that it runs.
            error: What the command printed, if it failed.
            task: What a subagent is asked to do; memories that are similar enough concern it.
            input: The whole input; memories that were shown before count as used if the input reflects them.
            budget: The most tokens of the text.
        """
        if isinstance(paths, str) or not all(
            isinstance(each, str) for each in (tool, *paths, command, error, task, input)
        ):
            raise InvalidInput("before_tool takes a list of paths, and texts for the rest")
        call = ToolCall(tool, tuple(paths), command, error, task)
        if input:
            with suppress(NotFound):
                self._view.feedback(None, (), input[:_INPUT_CHARS], None)
        query = turn_query(call.query)
        request = self._view.context_request(query, budget, include_cold=bool(error))
        if request.question is not None:
            past = () if request.past_spaces is None else request.past_spaces()
            search = request.question.search
            search = replace(search, spaces=(*past, *search.spaces), tiers=(Tier.HOT, *search.tiers))
            request = replace(request, question=replace(request.question, search=search, past_spaces=None), call=call)
        return self._services.assembler.turn_context(self._space, replace(request, call=call))

    def heard(self, memory_id: str) -> None:
        """Record that the conversation already contains a memory; it is not injected until the context is compacted."""
        self._services.assembler.mark_given(self._space, [self._view.record(memory_id)])

    def context_compacted(self) -> None:
        """Record that the host has summarised the conversation; memories may be injected again, and a flush be due."""
        self._services.assembler.forget_turns(self._space)
        self._services.working.claim_flush(self._space, None, due=False)

    def session_end(self, summary: str | None = None) -> Compaction | None:
        """End the session, forget what was injected, and run compaction if the settings say so."""
        self._services.assembler.forget_turns(self._space)
        return self.end(summary)

    def run_ended(self) -> Compaction | None:
        """Record the end of an agent run; compaction runs only with the setting `compact_every_run`."""
        return self._view.compact() if self._services.settings.compact_every_run else None

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
        """Return the prompt to run before the host compacts its context, at most once between two compactions.

        Call it after every turn. Errors of the store are logged, not raised.

        Args:
            total_tokens: The tokens of the session's context; None if unknown.
            context_window: The most tokens of the context.
            root: The workspace; None for a path relative to the agent's own.
            compactions: How often the host has compacted so far; None to infer it from a drop in tokens.
            heartbeat: Whether the host itself started this turn; no flush is due then.
            read_only: Whether the agent cannot write files.
        """
        # Only a flush needs notes.
        from memotherm.notes.edits import writable
        from memotherm.notes.files import Layout
        from memotherm.notes.flush import flush_for, is_due
        from memotherm.notes.placement import local_day

        settings = self._services.settings
        if heartbeat or read_only or (root is not None and not writable(Path(root).expanduser())):
            return None
        due = is_due(total_tokens, context_window)
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

    def _hint(self) -> str:
        """Return that the session has nothing to search, if that is so; otherwise an empty text."""
        tiers = self._services.store.counts((self._space,), self._view.now()).tiers
        if tiers[Tier.WARM].memories or tiers[Tier.COLD].memories:
            return ""
        if tiers[Tier.HOT].memories:
            return f"all memories of session {self.id!r} are hot; its recall searches warm and cold"
        return f"session {self.id!r} has no memories; a recall without a session searches the scope around it"

    def _require_own(self, memory_id: str) -> None:
        self._services.working.require_own(self._space, memory_id)
