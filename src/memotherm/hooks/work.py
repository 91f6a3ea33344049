"""What a hook asks the memory for, through a running server or in this process."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import quote

from memotherm.hooks.events import HookEvent
from memotherm.hooks.options import Options
from memotherm.hooks.server import ask, running
from memotherm.settings import data_home, default_store, load

__all__ = ["project_name", "scope_of", "text_for"]

#: In the order of the server's header; this path imports nothing heavy to ask for it.
SCOPE_FIELDS = ("project", "environment", "user", "agent", "session")

_LONGEST_PROMPT = 20_000


def text_for(event: HookEvent, options: Options, deadline: float) -> str:
    """Return the text for a moment; empty when there is nothing to say."""
    scope = scope_of(options.scope, event.folder)
    if event.moment == "prompt":
        told = _from_server(event, options, scope, deadline)
        if told is not None:
            return told
    return _in_process(event, options, scope)


def scope_of(wanted: dict[str, str], folder: str) -> dict[str, str]:
    """Return the scope of an event; the project `auto` is named after the folder of the work."""
    scope = dict(wanted)
    if scope.get("project") == "auto":
        scope["project"] = project_name(Path(folder) if folder else Path.cwd())
    return scope


def project_name(folder: Path) -> str:
    """Return what a project is called: the folder that holds its repository, or the folder itself."""
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return root.name[:200] or "root"


def _from_server(event: HookEvent, options: Options, scope: dict[str, str], deadline: float) -> str | None:
    place = running(data_home(), options.store or default_store(load()))
    if place is None:
        return None
    half = _LONGEST_PROMPT // 2
    prompt = event.prompt if len(event.prompt) <= _LONGEST_PROMPT else f"{event.prompt[:half]}\n{event.prompt[-half:]}"
    path = f"/sessions/{quote(event.session, safe='')}/context"
    named = ";".join(f"{name}={scope[name]}" for name in SCOPE_FIELDS if name in scope)
    told = ask(place, path, {"prompt": prompt, "budget": options.budget}, _patience(deadline), named)
    return None if told is None else str(told.get("text", ""))


def _patience(deadline: float) -> float:
    """Return how long a server may think, so that there is time left to do without it."""
    return min(1.5, max(0.05, (deadline - time.monotonic()) / 2))


def _in_process(event: HookEvent, options: Options, scope: dict[str, str]) -> str:
    import memotherm
    from memotherm.model import Scope

    with memotherm.open(options.store, scope=Scope(**scope)) as mem:
        session = mem.session(event.session)
        if event.moment == "compact":
            session.context_compacted()
            return ""
        if event.moment == "start":
            return session.session_start(options.budget).text
        return session.before_turn(event.prompt, options.budget).text
