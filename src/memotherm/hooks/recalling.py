"""Recall the text for a hook event, from a running server or in this process."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from memotherm.hooks.context_size import context_size
from memotherm.hooks.events import MAX_CHARS, HookEvent, truncated
from memotherm.hooks.options import SCOPE_OPTIONS, Options
from memotherm.hooks.server import post, running_server
from memotherm.loading import Loading, local_embedder
from memotherm.remote.address import is_remote
from memotherm.settings import Settings, data_home, default_store, load
from memotherm.settings.exclusion import is_excluded
from memotherm.spool.destination import scope_of

__all__ = ["text_for"]


_MAX_PROMPT_CHARS = 20_000


def text_for(event: HookEvent, options: Options, deadline: float) -> str:
    """Return the text for an event: recalled memories, and the prompt of a flush if one is due; empty if neither."""
    settings = load()
    scope = scope_of(options.scope, event.folder)
    size = _size_to_flush(event, settings)
    unlogged = is_excluded(settings.capture_exclude, scope.get("project"), event.folder or str(Path.cwd()))
    if unlogged:
        settings = replace(settings, recall_log="off")
    asks_server = event.moment == "prompt" and not unlogged
    answered, late = None, False
    try:
        answered = _from_server(event, options, settings, scope, deadline, size) if asks_server else None
    except TimeoutError:
        late = True
    text, due = answered or _in_process(event, options, settings, scope, size, repeat=late)
    if not due:
        return text
    from memotherm.model.clock import system_clock
    from memotherm.tools.prompts import flush_prompt

    prompt = flush_prompt(settings, system_clock())
    return "\n\n".join(filter(None, [truncated(text, MAX_CHARS - len(prompt) - 2), prompt]))


def _size_to_flush(event: HookEvent, settings: Settings) -> tuple[int, int] | None:
    """Return the tokens of a context that is about to be compacted, and of its window; None for another one."""
    size = context_size(event) if event.moment == "prompt" else None
    if size is None or size[0] * 2 < size[1]:
        return None
    from memotherm.notes.flush import is_due

    return size if settings.flush_in_hooks and is_due(*size, settings) else None


def _from_server(
    event: HookEvent,
    options: Options,
    settings: Settings,
    scope: dict[str, str],
    deadline: float,
    size: tuple[int, int] | None,
) -> tuple[str, bool] | None:
    """Return the text, and whether to prompt a flush; None without a server, TimeoutError if it is too slow."""
    # The server takes the tenant from an API key, which a hook does not have.
    address = None if "tenant" in scope else running_server(data_home(), options.store or default_store(settings))
    if address is None:
        return None
    half = _MAX_PROMPT_CHARS // 2
    long = len(event.prompt) > _MAX_PROMPT_CHARS
    prompt = f"{event.prompt[:half]}\n{event.prompt[-half:]}" if long else event.prompt
    session = f"/sessions/{quote(event.session, safe='')}"
    header = ";".join(f"{name}={quote(scope[name], safe='')}" for name in SCOPE_OPTIONS if name in scope)
    # Half of the time that is left, so that the other half suffices without the server.
    timeout = min(1.5, max(0.05, (deadline - time.monotonic()) / 2))
    answer = post(address, f"{session}/context", {"prompt": prompt, "budget": options.budget}, timeout, header)
    if answer is None:
        return None
    body = None if size is None else {"total_tokens": size[0], "context_window": size[1]}
    flush = None if body is None else post(address, f"{session}/flush", body, timeout, header)
    return str(answer.get("text", "")), flush is not None and flush.get("due") is True


def _in_process(
    event: HookEvent,
    options: Options,
    settings: Settings,
    scope: dict[str, str],
    size: tuple[int, int] | None,
    *,
    repeat: bool,
) -> tuple[str, bool]:
    """Return the text, and whether to prompt a flush.

    With `repeat`, ignore what is recorded as given to the session: a server recorded it, but was too late.
    """
    asks = event.moment == "prompt" and not is_remote(options.store or default_store(settings))
    embedder = local_embedder(settings) if asks else None
    # A fork of the daemon has everything in memory.
    needed = event.moment != "compact" and "memotherm.memory" not in sys.modules
    loading = Loading(settings.tokenizer, embedder) if needed else None
    # Imported while the tokenizer and the model are loaded.
    import memotherm
    from memotherm.context.assembler import turn_query
    from memotherm.model import Scope

    query = turn_query(event.prompt)
    if embedder is not None and query is not None:
        embedder.begin_query(query)  # while the store is opened
    with memotherm.open(options.store, scope=Scope(**scope), embedder=embedder, settings=settings) as mem:
        if loading is not None:
            loading.wait()
        session = mem.session(event.session)
        if event.moment == "compact":
            session.context_compacted()
            return "", False
        if event.moment == "start":
            return session.session_start(options.budget).text, False
        text = session.before_turn(event.prompt, options.budget, repeat=repeat).text
        return text, size is not None and (session.flush_due(*size) is not None or repeat)
