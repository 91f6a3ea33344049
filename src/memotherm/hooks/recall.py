"""Recall the text for a hook event."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memotherm.hooks.calls import READERS
from memotherm.hooks.events import HookEvent, Options, Told, context_size, truncated
from memotherm.hooks.names import Names
from memotherm.hooks.project import AUTO, project_at, scope_of, untrusted_text
from memotherm.hooks.subagents import take_task
from memotherm.hooks.warm_up import local_embedder, start_model, start_tokenizer
from memotherm.remote import is_remote
from memotherm.settings import Settings, default_store, load
from memotherm.settings.paths import is_excluded
from memotherm.text.tool_calls import ToolCall

if TYPE_CHECKING:
    from memotherm import Memotherm, Session


def told_at(event: HookEvent, options: Options) -> Told:
    """Return what is said at an event: recalled memories, and the prompt of a flush if one is due."""
    settings = load()
    scope = scope_of(options.scope, event.folder)
    if is_excluded(settings.capture_exclude, scope.get("project"), event.folder or str(Path.cwd()), event.session):
        settings = replace(settings, recall_log="off")
    at_tool = event.moment in ("tool", "agent")
    call = call_of(event, settings) if at_tool else None
    if at_tool and call is None:
        return Told()
    asks = (event.moment == "prompt" or at_tool) and not is_remote(options.store or default_store(settings))
    embedder = local_embedder(settings) if asks else None
    names = Names(event, options, settings, scope)
    # At a tool, few calls get as far as a search.
    searches = embedder is not None and (call is None or names.have(call))
    # A fork of the daemon has both in memory.
    if embedder is not None and searches and "memotherm.memory" not in sys.modules:
        start_tokenizer()
        start_model(embedder)
    # Imported while the tokenizer and the model are loaded.
    import memotherm
    from memotherm.context.assembler import turn_query
    from memotherm.model import Scope

    query = turn_query(event.prompt if call is None else call.query)
    if embedder is not None and searches and query is not None:
        embedder.begin_query(query)  # while the store is opened
    with names, memotherm.open(options.store, scope=Scope(**scope), embedder=embedder, settings=settings) as opened:
        mem = opened.in_folder(event.folder or Path.cwd())
        names.collect(mem)
        if call is not None and not names.concern(call):
            return Told()
        if event.moment == "start":
            return Told(_start_text(event, options, mem))
        session = mem.session(event.session)
        if event.moment == "compact":
            session.context_compacted()
            return Told()
        if call is not None:
            return told_at_call(session, event, call, settings)
        text = session.before_turn(event.prompt, options.budget).text
        return Told(_with_flush(text, event, settings) if _flush_due(event, session, settings) else text)


def call_of(event: HookEvent, settings: Settings) -> ToolCall | None:
    """Return the call that memories may concern, or the task of a subagent that starts; None if there is none.

    The task is taken: a second call for the same event returns None.
    """
    if event.agent and not settings.recall_in_subagents:
        return None
    if event.moment != "agent":
        return event.call
    task = take_task(event)
    return ToolCall(event.agent_type or "Agent", task=task) if task else None


def told_at_call(session: Session[Memotherm], event: HookEvent, call: ToolCall, settings: Settings) -> Told:
    """Return what is said at a tool call, which is held back for a rule that names it, if the settings say so.

    A rule is shown once in a session, so the second try passes.
    """
    context = session.before_tool(*call, input=event.input)
    may_hold = settings.hold_calls and event.name == event.host.holds_at and call.tool not in READERS
    holds = may_hold and any(
        entry.memory.kind == "rule" and entry.reasons[0].code == "call" for entry in context.included
    )
    return Told(context.text, holds)


def _start_text(event: HookEvent, options: Options, mem: Memotherm) -> str:
    """Return the context of a new session, with the number of proposals, and whether its folder is not trusted."""
    from memotherm.text.content import pluralize

    text, waiting = mem.session(event.session).session_start(options.budget).text, mem.count(retention="proposed")
    wait = f"{pluralize(waiting, 'proposal')} wait{'s' * (waiting == 1)}: `memotherm review` lists them."
    asks_project = options.scope.get("project") == AUTO
    untrusted = untrusted_text(project_at(event.folder or Path.cwd())) if asks_project else ""
    tell = f"Tell the user: {untrusted}" if untrusted else ""
    return "\n\n".join(filter(None, [text, wait if waiting else "", tell]))


def _flush_due(event: HookEvent, session: Session[Memotherm], settings: Settings) -> bool:
    """Return whether the context is nearly full, and the user has begun the turn."""
    from memotherm.notes.flush import is_due

    size = context_size(event) if settings.flush_in_hooks and not event.automatic else None
    return size is not None and is_due(*size) and session.flush_due(*size) is not None


def _with_flush(text: str, event: HookEvent, settings: Settings) -> str:
    from memotherm.model.clock import system_clock
    from memotherm.notes.flush import flush_prompt

    prompt = flush_prompt(settings, system_clock(), beside_answer=True)
    return "\n\n".join(filter(None, [truncated(text, event.host.max_chars - len(prompt) - 2), prompt]))
