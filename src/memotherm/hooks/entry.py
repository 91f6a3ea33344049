"""`memotherm hook`: read an event, answer before its deadline, always exit with 0.

The user waits for a hook: exit code 2 would erase the prompt, a slow hook delays every turn, and anything
but one JSON object on standard output confuses the host. Options are therefore parsed without errors,
standard output is reserved for the answer, slow work is spooled, and an error is one line on standard error.
Functions import what they need, because the imports of a hook are most of its time.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from memotherm.hooks.events import HookEvent, Options, Told, accepts_text, answer, parse_event

#: Seconds for each moment, from the start of the process. Opening the store takes 0.8 s of CPU time, which can be
#: 2 s on a busy machine; a turn that is a second late is better than one without its memories.
_DEADLINES = {"start": 5.0, "prompt": 3.0, "compact": 1.5, "stop": 1.0, "end": 0.5, "tool": 1.0, "agent": 3.0}
_MAX_INPUT_BYTES = 16_000_000


def run(arguments: list[str]) -> NoReturn:
    """Answer one event on standard input, and exit with 0 even after an error."""
    # Imports make many objects and no garbage, for which they would be searched again and again.
    gc.disable()
    try:
        answer_event(arguments, time.monotonic())
        _start_daemon(Options(arguments))
    except BaseException as error:  # noqa: BLE001 - the host must never see a failure
        _print_error(error)
    finally:
        # Not sys.exit, which waits for threads.
        os._exit(0)


def answer_event(arguments: list[str], started: float) -> int:
    """Answer one event on standard input, and return 0 even after an error; deadlines count from `started`."""
    output = _reserve_output()
    response: dict[str, Any] | None = None
    try:
        response = _handle(Options(arguments), started)
    except BaseException as error:  # noqa: BLE001 - the host must never see a failure
        _print_error(error)
    _write(output, response)
    return 0


def _handle(options: Options, started: float) -> dict[str, Any] | None:
    event = _read_event(options)
    if event is None:
        return None
    deadline = started + (_DEADLINES[event.moment] if options.deadline is None else options.deadline)
    # Nothing is added at other events, and to a turn that the host itself began.
    adds = (accepts_text(event) or event.moment == "compact") and not event.prompt.startswith(event.host.prefixes)
    if event.moment == "tool":
        from memotherm.hooks.tools import AGENTS

        if event.call is None or event.call.tool in AGENTS:
            if event.call is not None:
                from memotherm.hooks.subagents import note_task

                note_task(event)
            return None
        from memotherm.hooks.calls import names_none
        from memotherm.hooks.quick import names_here

        with contextlib.suppress(OSError, ValueError, KeyError):
            names = names_here(options.arguments, event.folder)
            if names is not None and names_none(event.call, names):
                return None
    else:
        # A fork of the daemon has it in memory.
        if adds and event.moment != "compact" and "memotherm.memory" not in sys.modules:
            from memotherm.hooks.warm_up import start_tokenizer

            start_tokenizer()
        _spool(event, options)
    return answer(event, _recall(event, options, deadline)) if adds else None


def _read_event(options: Options) -> HookEvent | None:
    data = sys.stdin.buffer.read(_MAX_INPUT_BYTES + 1)
    if len(data) > _MAX_INPUT_BYTES:
        raise ValueError(f"the event is larger than {_MAX_INPUT_BYTES} bytes")
    if not data.strip():
        return parse_event({}, options.event, options.client)
    payload = json.loads(data.decode("utf-8", "replace"))
    if not isinstance(payload, dict):
        raise TypeError("an event is a JSON object")
    return parse_event(payload, options.event, options.client)


def _spool(event: HookEvent, options: Options) -> None:
    """Add jobs for the worker: texts to capture, the end of a run or session. An error does not affect the turn."""
    try:
        from memotherm.hooks.spool import user_spool

        spool = user_spool()
        run_ended = False
        for job in filter(None, map(_resolved, _jobs(event, options))):
            if job["do"] != "run" or job.get("settings", {}).get("compact_every_run"):
                spool.add(job)
                run_ended |= job["do"] == "run"
        if options.worker and (run_ended or event.moment in ("start", "stop", "compact", "end")) and spool.waiting():
            from memotherm.hooks.jobs import start_command

            start_command(["agent", "worker", "--once", "--quiet"])
    except Exception as error:  # noqa: BLE001 - the turn matters more than the capture
        _print_error(error)


def _resolved(job: dict[str, Any]) -> dict[str, Any] | None:
    """Return a job with its store and settings; None if its text is not to be captured.

    If the settings cannot be read now, the job has none, unless a key is set.
    """
    from memotherm.errors import SettingsError
    from memotherm.hooks.jobs import excluded, redacted, resolved
    from memotherm.settings import Settings
    from memotherm.settings.keys import key_in_environment

    try:
        job = resolved(job, Path.cwd())
        return None if excluded(job) else job
    except SettingsError:
        if key_in_environment():
            raise  # a text must not be written unencrypted
        return {**redacted(job, Settings()), "started_in": str(Path.cwd())}


def _jobs(event: HookEvent, options: Options) -> list[dict[str, Any]]:
    origin = {"client": event.host.client, "session": event.session, "folder": event.folder}
    job = {"version": 1, **origin, "store": options.store, "scope": options.scope}
    texts = [("user", event.prompt)] if event.moment in ("prompt", "stop") else []
    if event.moment == "stop":
        texts.append(("assistant", event.reply))
    jobs = [{**job, "do": "capture", "role": role, "text": text} for role, text in texts if text.strip()]
    if event.moment == "stop" and event.transcript:
        if not event.reply.strip():
            jobs.append({**job, "do": "capture", "role": "assistant"})
        # It has the reply, if the event has none, and the files that the agent has read and edited.
        jobs[-1]["transcript"] = event.transcript
    if event.moment in ("end", "compact") and event.transcript:
        jobs.append({**job, "do": "fixes", "transcript": event.transcript})
    if event.continued or event.automatic or not options.capture:
        jobs = []
    if event.moment in ("end", "compact"):
        jobs.append({**job, "do": event.moment})
    if event.moment == "stop":
        jobs.append({**job, "do": "run"})
    return jobs


def _recall(event: HookEvent, options: Options, deadline: float) -> Told:
    """Return what the host is told; nothing if it is not ready before the deadline."""
    told: list[Told] = []

    def work() -> None:
        try:
            from memotherm.hooks.recall import told_at

            told.append(told_at(event, options))
        except BaseException as error:  # noqa: BLE001 - an error must not end the hook
            _print_error(error)

    thread = threading.Thread(target=work, name="memotherm-hook", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if thread.is_alive():
        _print_error(TimeoutError(f"nothing was recalled for {event.name} before its deadline"), "deadline")
    return told[0] if told else Told()


def _reserve_output() -> int:
    """Return a descriptor of standard output; other writes to standard output go to standard error."""
    try:
        output = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        return 1
    return output


def _write(output: int, response: dict[str, Any] | None) -> None:
    try:
        if response is not None:
            data = json.dumps(response).encode() + b"\n"
            while data:
                data = data[os.write(output, data) :]
    except OSError as error:
        _print_error(error)


def _start_daemon(options: Options) -> None:
    """Start the daemon for the next hooks, unless a setting or an option forbids it."""
    from memotherm.settings import load

    if options.worker and load().daemon:
        from memotherm.daemon.control import start

        start()


def _print_error(error: BaseException, kind: str = "error") -> None:
    """Print an error, and log it for `doctor`, because hosts show it to nobody."""
    message = " ".join(str(error).split()) or type(error).__name__
    with contextlib.suppress(OSError):
        os.write(2, f"memotherm hook: {message}\n".encode(errors="replace"))
    with contextlib.suppress(Exception):
        from memotherm.hooks import log

        log.add(kind, message)
