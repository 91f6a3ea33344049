"""Recall the text for a hook event."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memotherm.hooks.calls import READERS, names_none
from memotherm.hooks.events import HookEvent, Options, Told, context_size, truncated
from memotherm.hooks.jobs import seal, unseal
from memotherm.hooks.project import AUTO, digest, project_at, scope_of, untrusted_text
from memotherm.hooks.quick import names_file, save_names
from memotherm.hooks.warm_up import local_embedder, start_loading
from memotherm.model.marks import ANCHORS
from memotherm.remote import is_remote
from memotherm.settings import Settings, data_home, default_store, load
from memotherm.settings.keys import with_key
from memotherm.settings.paths import create_folder, is_excluded, read_regular, sqlite_path, user_file, write_text
from memotherm.text.tool_calls import ToolCall
from memotherm.text.triggers import trigger_names
from memotherm.workspace.anchors import paths_of

if TYPE_CHECKING:
    from memotherm import Memotherm, Session

#: The most events that one hook looks at for names; later ones go on from there.
_MOST_EVENTS = 1000
_MAX_TASK_CHARS = 20_000
_MAX_TASK_BYTES = 200_000
#: A subagent that has not started after this time never will.
_TASK_SECONDS = 600


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
    # A fork of the daemon has everything in memory. At a tool, few calls get as far as a search.
    needed = event.moment not in ("compact", "tool") and "memotherm.memory" not in sys.modules
    loading = start_loading(settings.tokenizer, embedder) if needed else []
    # Imported while the tokenizer and the model are loaded.
    import memotherm
    from memotherm.context.assembler import turn_query
    from memotherm.model import Scope

    query = turn_query(event.prompt)
    if embedder is not None and query is not None and not at_tool:
        embedder.begin_query(query)  # while the store is opened
    names = _Names(event, options, settings)
    with memotherm.open(options.store, scope=Scope(**scope), embedder=embedder, settings=settings) as opened:
        mem = opened.in_folder(event.folder or Path.cwd())
        for thread in loading:
            thread.join()
        names.collect(mem)
        told = Told() if call is not None and not names.concern(call) else _told(mem, event, options, call, settings)
    names.save()
    return told


def _told(mem: Memotherm, event: HookEvent, options: Options, call: ToolCall | None, settings: Settings) -> Told:
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

    prompt = flush_prompt(settings, system_clock(), beside_answer=True)
    return "\n\n".join(filter(None, [truncated(text, event.host.max_chars - len(prompt) - 2), prompt]))


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
    from memotherm.notes.edits import writable
    from memotherm.notes.files import Layout
    from memotherm.notes.flush import saving_to
    from memotherm.notes.placement import local_day

    root = settings.notes_root
    if root and writable(Path(root).expanduser()):
        layout = Layout(root)
        saving = f"{saving_to(layout.day(local_day(now, settings)))} The paths are relative to {layout.root}."
    else:
        saving = _STORE
    return " ".join((_NEAR, saving, _BESIDE if beside_answer else _SILENT.format(token=settings.silent_token)))


# Tasks of subagents: a host names the task when the agent starts one, and takes a text when it has started


def note_task(event: HookEvent) -> None:
    """Keep the task of a subagent until it starts; encrypted if the store is."""
    if event.call is None or not event.call.task or not (settings := load()).recall_in_subagents:
        return
    folder = _task_folder(event.session)
    create_folder(folder)
    job = seal({"text": event.call.task[:_MAX_TASK_CHARS]}, with_key(settings, None).key)
    name = f"{time.time_ns():020d}-{digest(event.agent_type)}-{os.urandom(4).hex()}"
    write_text(folder / name, json.dumps(job))


def take_task(event: HookEvent) -> str:
    """Return the task of a subagent that starts: the oldest one for its type; empty if none is known."""
    # Its session has the number of the subagent at its end.
    folder = _task_folder(event.session.removesuffix(f":{event.agent}"))
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            fresh = int(path.name[:20]) > time.time_ns() - _TASK_SECONDS * 10**9
            if fresh and path.name.split("-")[1] != digest(event.agent_type):
                continue
            with suppress(OSError, ValueError):
                data = read_regular(path, _MAX_TASK_BYTES)
                # Who removes the file has its task: another subagent may start at the same time.
                path.unlink()
                if fresh:
                    return str(unseal(json.loads(data), with_key(load(), None).key)["text"])
    return ""


def _task_folder(session: str) -> Path:
    return data_home() / "subagents" / digest(session)


# Names: a hook of a tool knows by them that no memory concerns its call


class _Names:
    """The names in the memories of one store, and of the events that were seen; saved when the store is closed.

    A store on a server, and an encrypted one, have none: its hooks always ask it.
    """

    def __init__(self, event: HookEvent, options: Options, settings: Settings) -> None:
        store = options.store or default_store(settings)
        file = sqlite_path(store)
        self._local = settings.key == "" and file is not None
        self._store = (file or Path()).absolute()
        self._path = names_file(options.arguments, event.folder)
        self._names: set[str] = set()
        self._seen: dict[str, int] = {}
        #: Whether all events were seen; None if no store was asked.
        self._complete: bool | None = None

    def collect(self, mem: Memotherm) -> None:
        """Add the names in the memories that have changed since the last time."""
        if not self._local:
            return
        with suppress(OSError, ValueError, KeyError, AttributeError):
            saved = json.loads(Path(self._path).read_text("utf-8"))
            self._names, self._seen = set(saved["names"]), dict(saved["seen"])
        complete = True
        for place, narrower in (("visible", False), ("inside", True)):
            page = mem.events(_MOST_EVENTS, f"after-{self._seen.get(place, 0)}", include_narrower=narrower)
            ids = {event.memory_id for event in page if event.memory_id}
            for memory in mem.find(ids=sorted(ids), limit=len(ids), include_narrower=narrower) if ids else ():
                about = paths_of(memory.metadata.get(ANCHORS))
                self._names |= trigger_names(memory.kind, memory.content, about)
            if page.events:
                self._seen[place] = page.events[-1].seq
            complete &= page.cursor is None
        self._complete = complete

    def concern(self, call: ToolCall) -> bool:
        """Return whether a memory may concern a call; it does not if all names are known, and the call has none."""
        return self._complete is not True or not names_none(call, self._names)

    def save(self) -> None:
        """Save the names with the state of the files, which the closed store no longer changes."""
        if self._complete is not None:
            here = Path.cwd()
            names = ("memotherm.toml", "pyproject.toml")
            settings = [folder / name for folder in (here, *here.parents) for name in names]
            files = [self._store, self._store.with_name(f"{self._store.name}-wal"), user_file(), *settings]
            with suppress(OSError):
                save_names(self._path, map(str, files) if self._complete else (), self._names, self._seen)
