"""`memotherm hook`: read an event, answer within its deadline, always leave with 0.

A hook is in the way of a person: exit code 2 would erase the prompt, a slow one delays every turn, and
anything but one JSON object on standard output confuses the host. So the options are read by hand,
standard output is kept for the answer, what takes long is spooled, and whatever goes wrong is one line
on standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, NoReturn

from memotherm.hooks.events import HookEvent, answer, fitted, listens, read_event
from memotherm.hooks.options import Options

__all__ = ["run"]

#: Seconds that a moment may take, from the start of the process. Opening the memory takes 0.8 s of CPU; on a
#: machine that is busy with a build that is 2 s, and a turn without its memory is worse than a turn a second later.
_DEADLINES = {"start": 5.0, "prompt": 3.0, "compact": 1.5, "stop": 1.0, "end": 0.5}
_MOST_INPUT = 16_000_000


def run(arguments: list[str]) -> NoReturn:
    """Answer one event on standard input; whatever happens, leave with 0."""
    began = time.monotonic()
    out = _claimed_output()
    told: dict[str, Any] | None = None
    try:
        told = _answered(Options(arguments), began)
    except BaseException as error:  # noqa: BLE001 - the host must never see a failure
        _complain(error)
    _leave(out, told)


def _answered(options: Options, began: float) -> dict[str, Any] | None:
    if options.selftest:
        from memotherm.hooks.selftest import selftest

        return selftest()
    event = _event(options)
    if event is None:
        return None
    deadline = began + (_DEADLINES[event.moment] if options.deadline is None else options.deadline)
    _spool(event, options)
    if not (listens(event) or event.moment == "compact"):
        return None
    text = _text_in_time(event, options, deadline)
    return answer(event, fitted(text)) if text else None


def _event(options: Options) -> HookEvent | None:
    data = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(data) > _MOST_INPUT:
        raise ValueError(f"the event is larger than {_MOST_INPUT} bytes")
    if not data.strip():
        return read_event({}, options.event, options.client)
    payload = json.loads(data.decode("utf-8", "replace"))
    if not isinstance(payload, dict):
        raise TypeError("an event is a JSON object")
    return read_event(payload, options.event, options.client)


# What takes long is left to the worker


def _spool(event: HookEvent, options: Options) -> None:
    """Keep what was said, and the end of a session, for the worker; a failure of that is no failure of the turn."""
    jobs = list(_jobs(event, options))
    try:
        from memotherm.hooks.worker import spool_of, start_worker

        spool = spool_of()
        for job in jobs:
            spool.add(job)
        if options.worker and event.moment in ("start", "compact", "end") and spool.waiting():
            start_worker()
    except Exception as error:  # noqa: BLE001 - remembering less is better than being in the way
        _complain(error)


def _jobs(event: HookEvent, options: Options) -> list[dict[str, Any]]:
    about = {"client": event.client, "session": event.session, "folder": event.folder}
    job = {"version": 1, **about, "store": options.store, "scope": options.scope}
    said = [("user", event.prompt)] if event.moment in ("prompt", "stop") else []
    if event.moment == "stop":
        said.append(("assistant", event.reply))
    jobs = [{**job, "do": "capture", "role": role, "text": text} for role, text in said if text.strip()]
    if event.moment == "stop" and not event.reply and event.transcript:
        jobs.append({**job, "do": "capture", "role": "assistant", "transcript": event.transcript})
    if event.continued or not options.capture:
        jobs = []
    if event.moment in ("end", "compact"):
        jobs.append({**job, "do": event.moment})
    return jobs


# The text


def _text_in_time(event: HookEvent, options: Options, deadline: float) -> str:
    """Return the text for the host; nothing when it is not there in time."""
    found: list[str] = []

    def work() -> None:
        try:
            from memotherm.hooks.work import text_for

            found.append(text_for(event, options, deadline))
        except BaseException as error:  # noqa: BLE001 - a thread's failure ends here
            _complain(error)

    thread = threading.Thread(target=work, name="memotherm-hook", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if thread.is_alive():
        _complain(TimeoutError(f"nothing was recalled for {event.name} before its deadline"))
    return found[0] if found else ""


# Leaving


def _claimed_output() -> int:
    """Keep standard output for the answer: whatever else writes there goes to standard error."""
    try:
        mine = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        return 1
    return mine


def _leave(out: int, told: dict[str, Any] | None) -> NoReturn:
    try:
        if told is not None:
            data = json.dumps(told).encode() + b"\n"
            while data:
                data = data[os.write(out, data) :]
    except OSError as error:
        _complain(error)
    finally:
        # Not sys.exit: a thread that is late must not keep the host waiting.
        os._exit(0)


def _complain(error: BaseException) -> None:
    try:
        words = " ".join(str(error).split()) or type(error).__name__
        os.write(2, f"memotherm hook: {words}\n".encode(errors="replace"))
    except OSError:
        pass
