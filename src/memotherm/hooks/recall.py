"""Recall the text for a hook event, from a running server or in this process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memotherm.hooks.events import MAX_CHARS, SCOPE_OPTIONS, HookEvent, Options, context_size, truncated
from memotherm.hooks.project import project_at
from memotherm.hooks.scopes import AUTO, scope_of, untrusted_text
from memotherm.hooks.spool import store_name
from memotherm.hooks.warm_up import local_embedder, start_loading
from memotherm.remote import is_remote
from memotherm.settings import Settings, data_home, default_store, load
from memotherm.settings.paths import create_folder, is_excluded, write_text

# The server of this machine

_FILE_NAME = "server.json"
_MAX_RESPONSE_BYTES = 1_000_000
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OK = 200


@contextlib.contextmanager
def advertised(home: Path, host: str, port: int, store: str) -> Iterator[None]:
    """Write the address of the server of a store to the data folder, and remove it at the end."""
    if host not in _LOOPBACK or not port:
        yield
        return
    create_folder(home)
    path, partial = home / _FILE_NAME, home / f"{_FILE_NAME}.{os.getpid()}.part"
    write_text(partial, json.dumps({"host": host, "port": port, "store": store_name(store), "pid": os.getpid()}))
    partial.replace(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads(path.read_text("utf-8"))["pid"] == os.getpid():
                path.unlink()


def running_server(home: Path, store: str) -> tuple[str, int] | None:
    """Return (host, port) of the server of a store on this machine, or None."""
    try:
        advertisement = json.loads((home / _FILE_NAME).read_text("utf-8"))
        host, port, its_store = str(advertisement["host"]), int(advertisement["port"]), str(advertisement["store"])
        if os.name == "posix":
            # A server that was killed has not removed its file.
            os.kill(int(advertisement["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (host, port) if host in _LOOPBACK and its_store == store_name(store) else None


def post(
    address: tuple[str, int], path: str, body: dict[str, Any], timeout: float, scope: str = ""
) -> dict[str, Any] | None:
    """Post a request to the server, with the scope as a header; return None unless the answer is 200 and JSON.

    Raise TimeoutError if there is no answer in time: the server may still carry out the request.
    """
    import http.client

    headers = {"Content-Type": "application/json"} | ({"Memotherm-Scope": scope} if scope else {})
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        connection.request("POST", path, json.dumps(body).encode(), headers)
        response = connection.getresponse()
        answer = json.loads(response.read(_MAX_RESPONSE_BYTES))
        return answer if response.status == _OK and isinstance(answer, dict) else None
    except TimeoutError:
        raise
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None
    finally:
        connection.close()


# Recall

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

    prompt = flush_prompt(settings, system_clock(), beside_answer=True)
    return "\n\n".join(filter(None, [truncated(text, MAX_CHARS - len(prompt) - 2), prompt]))


def _size_to_flush(event: HookEvent, settings: Settings) -> tuple[int, int] | None:
    """Return the tokens and the window of a context that is nearly full; None otherwise."""
    by_user = event.moment == "prompt" and not event.automatic
    size = context_size(event) if by_user else None
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
    # Half of the remaining time; the other half is enough without the server.
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

    With `repeat`, inject memories again that a server recorded as injected but sent too late.
    """
    asks = event.moment == "prompt" and not is_remote(options.store or default_store(settings))
    embedder = local_embedder(settings) if asks else None
    # A fork of the daemon has everything in memory.
    needed = event.moment != "compact" and "memotherm.memory" not in sys.modules
    loading = start_loading(settings.tokenizer, embedder) if needed else []
    # Imported while the tokenizer and the model are loaded.
    import memotherm
    from memotherm.context.assembler import turn_query
    from memotherm.model import Scope

    asks_project = options.scope.get("project") == AUTO
    query = turn_query(event.prompt)
    if embedder is not None and query is not None:
        embedder.begin_query(query)  # while the store is opened
    with memotherm.open(options.store, scope=Scope(**scope), embedder=embedder, settings=settings) as mem:
        for thread in loading:
            thread.join()
        session = mem.session(event.session)
        if event.moment == "compact":
            session.context_compacted()
            return "", False
        if event.moment == "start":
            from memotherm.text.content import pluralize

            text, waiting = session.session_start(options.budget).text, mem.count(retention="proposed")
            wait = f"{pluralize(waiting, 'proposal')} wait{'s' * (waiting == 1)}: `memotherm review` lists them."
            untrusted = untrusted_text(project_at(event.folder or Path.cwd())) if asks_project else ""
            tell = f"Tell the user: {untrusted}" if untrusted else ""
            return "\n\n".join(filter(None, [text, wait if waiting else "", tell])), False
        text = session.before_turn(event.prompt, options.budget, repeat=repeat).text
        return text, size is not None and (session.flush_due(*size) is not None or repeat)
