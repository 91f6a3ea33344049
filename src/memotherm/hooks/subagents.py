"""The tasks of subagents: a host names the task when the agent starts one, and takes a text when it has started."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from memotherm.hooks.events import HookEvent
from memotherm.hooks.jobs import seal, unseal
from memotherm.hooks.project import digest
from memotherm.settings import data_home, load
from memotherm.settings.keys import with_key
from memotherm.settings.paths import create_folder, read_regular, write_text

_MAX_CHARS = 20_000
_MAX_BYTES = 200_000
#: A subagent that has not started after this time never will.
_SECONDS = 600


def note_task(event: HookEvent) -> None:
    """Keep the task of a subagent until it starts; encrypted if the store is."""
    if event.call is None or not event.call.task or not (settings := load()).recall_in_subagents:
        return
    folder = _folder(event.session)
    create_folder(folder)
    job = seal({"text": event.call.task[:_MAX_CHARS]}, with_key(settings, None).key)
    name = f"{time.time_ns():020d}-{digest(event.agent_type)}-{os.urandom(4).hex()}"
    write_text(folder / name, json.dumps(job))


def take_task(event: HookEvent) -> str:
    """Return the task of a subagent that starts: the oldest one for its type; empty if none is known."""
    # Its session has the number of the subagent at its end.
    folder = _folder(event.session.removesuffix(f":{event.agent}"))
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            fresh = int(path.name[:20]) > time.time_ns() - _SECONDS * 10**9
            if fresh and path.name.split("-")[1] != digest(event.agent_type):
                continue
            with suppress(OSError, ValueError):
                data = read_regular(path, _MAX_BYTES)
                # Who removes the file has its task: another subagent may start at the same time.
                path.unlink()
                if fresh:
                    return str(unseal(json.loads(data), with_key(load(), None).key)["text"])
    return ""


def _folder(session: str) -> Path:
    return data_home() / "subagents" / digest(session)
