"""Process the spool: store captured texts and end sessions, in the order in which they happened.

A turn is stored when its reply is there, so that other sessions of the project have it at their next prompt. It is
still in the context of its own session, which counts as given it, until that context is compacted.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import memotherm
from memotherm import Memotherm
from memotherm.errors import (
    EmbedderError,
    InvalidInput,
    MemothermError,
    NotFound,
    PluginError,
    SettingsError,
    StoreError,
    StoreUnavailable,
)
from memotherm.history.exchanges import fixes_in
from memotherm.history.sources import SOURCES
from memotherm.hooks.files import files_of_turn
from memotherm.hooks.hosts import CLIENTS, PREFIXES
from memotherm.hooks.jobs import excluded, job_settings, redacted, resolved, unseal
from memotherm.hooks.spool import Job, Spool, destination, locked, session_key
from memotherm.hooks.turns import Transcripts, contents_of, turns_of
from memotherm.model import Scope
from memotherm.model.clock import Clock, read_clock, system_clock
from memotherm.model.marks import ANCHORS
from memotherm.model.memory import SUMMARY
from memotherm.model.results import Captured
from memotherm.model.summary import SUMMARY_KEYS, sources, summary_of
from memotherm.notes.placement import local_day
from memotherm.settings import Settings, data_home
from memotherm.text.content import without_blocks
from memotherm.text.triggers import FIX
from memotherm.tiers.rules.properties import is_closed
from memotherm.workspace.anchors import anchors_for
from memotherm.workspace.checks import Workspace

__all__ = ["Postponed", "Progress", "WorkerResult", "locked", "postponed", "process_spool", "set_aside"]

#: How commands to a host begin.
_COMMANDS = ("/", "!")
_MAX_CHARS = 20_000
#: A session without an end event counts as ended after this time.
_SESSION_TIMEOUT_SECONDS = 3600
#: How long a failing job is retried, and the pauses between attempts.
_RETRY_SECONDS = 7 * 86_400
_FIRST_PAUSE_SECONDS = 60
_LONGEST_PAUSE_SECONDS = 6 * 3600
#: A job is set aside when this many workers have died while they processed it.
_MOST_DEATHS = 3


@dataclass(slots=True)
class WorkerResult:
    """The result of one run of the worker."""

    captured: int = 0
    #: Texts that were not stored: too short, stored before, or not worth a memory.
    skipped: int = 0
    #: Characters of recalled memories that were removed from captured texts.
    removed_chars: int = 0
    #: Credentials and private passages that were replaced in captured texts.
    redacted: int = 0
    ended: int = 0
    #: Jobs of sessions that have not ended, and jobs that are to be tried again.
    waiting: int = 0
    failed: tuple[str, ...] = ()
    #: Whether another worker is processing the spool.
    busy: bool = False


class Postponed(NamedTuple):
    """A failed job to be retried, and the number of jobs waiting behind it."""

    destination: str
    jobs: int
    attempts: int
    error: str
    retry_at: datetime


def postponed(spool: Spool) -> list[Postponed]:
    """Return the failing stores: how many jobs wait, why, and when they are retried."""
    failing: dict[str, Postponed] = {}
    for _, job in spool.jobs():
        store = destination(job)
        if store in failing:
            failing[store] = failing[store]._replace(jobs=failing[store].jobs + 1)
        elif "error" in job:
            at = datetime.fromtimestamp(job.get("retry_at", 0), UTC)
            failing[store] = Postponed(store, 1, int(job.get("attempts", 0)), str(job["error"]), at)
    return list(failing.values())


#: Called with the result up to now, and with the files of each group of jobs before it is processed, with none before
#: the summaries of sessions, and with None before work during which the spool is not locked.
Progress = Callable[[WorkerResult, tuple[str, ...] | None], None]


def process_spool(
    spool: Spool,
    *,
    include_running: bool = False,
    clock: Clock = system_clock,
    progress: Progress = lambda result, names: None,  # noqa: ARG005 - nobody listens
) -> WorkerResult:
    """Process the jobs that are ready, oldest first.

    A job that fails is tried again after a pause, which doubles with each attempt, and the later jobs of its store
    wait with it; jobs of other stores are not affected. With `include_running`, jobs of sessions that have not ended
    and jobs that are to be tried later are processed, too.
    """
    if not spool.waiting():
        return WorkerResult()
    with contextlib.ExitStack() as stack:
        run = _Run(spool, stack, progress)
        with locked(spool) as free:
            if not free:
                return WorkerResult(busy=True)
            run.process(read_clock(clock).timestamp(), include_running=include_running)
            run.summarize()
        # Hosts run no other process that maintains a store of this machine. Unlocked, so that another worker can
        # process new jobs meanwhile.
        progress(run.result, None)
        run.maintain()
    return run.result


class _Run:
    """One run of the worker: the open stores, the transcripts that it has read, and the sessions that it stored."""

    def __init__(self, spool: Spool, stack: contextlib.ExitStack, progress: Progress) -> None:
        self.result = WorkerResult()
        self._spool = spool
        self._stack = stack
        self._progress = progress
        self._opened: dict[str, Memotherm] = {}
        self._transcripts: dict[int, Transcripts] = {}
        self._sessions: dict[tuple[int, str], Memotherm] = {}

    def process(self, now: float, *, include_running: bool) -> None:
        """Process the jobs that are ready."""
        spool, result, rejected = self._spool, self.result, list[str]()
        jobs = list(spool.jobs(rejected))
        ready = jobs if include_running else _ready(jobs, now)
        result.waiting, result.failed = len(jobs) - len(ready), tuple(rejected)
        paused: set[str] = set()
        for turn in turns_of(ready):
            path, job = turn[0]
            deaths = int(job.get("deaths", 0))
            if destination(job) in paused or (job.get("retry_at", 0) > now and not include_running):
                paused.add(destination(job))
                result.waiting += len(turn)
                continue
            if deaths >= _MOST_DEATHS:
                set_aside(spool, turn, f"{deaths} workers died while they processed it", result)
                continue
            self._progress(result, tuple(path.name for path, _ in turn))
            # Counted before, because a worker that dies cannot count.
            spool.replace(path, {**job, "deaths": deaths + 1})
            try:
                self._process_turn(turn)
            except (StoreError, SettingsError, EmbedderError, PluginError, OSError) as error:
                if path.name < _name_before(_RETRY_SECONDS, now):
                    set_aside(spool, turn, f"{error}; not retried any more", result)
                else:
                    paused.add(destination(job))
                    self._postpone(turn, error, now)
            except Exception as error:  # noqa: BLE001 - one bad job must not stop all later ones
                set_aside(spool, turn, f"{type(error).__name__}: {error}" if str(error) else repr(error), result)
            else:
                for path, _ in turn:
                    path.unlink(missing_ok=True)

    def _postpone(self, turn: list[Job], error: Exception, now: float) -> None:
        """Let a turn be tried again after a pause, which doubles with each attempt."""
        path, job = turn[0]
        attempts = int(job.get("attempts", 0)) + 1
        pause = min(_FIRST_PAUSE_SECONDS * 2 ** (attempts - 1), _LONGEST_PAUSE_SECONDS)
        why = " ".join(str(error).split())
        self._spool.replace(path, {**job, "attempts": attempts, "retry_at": now + pause, "error": why})
        self.result.failed += (f"{error}; the jobs of this store wait",)
        self.result.waiting += len(turn)

    def summarize(self) -> None:
        """Store the summaries of the sessions whose texts were stored."""
        self._progress(self.result, ())
        for (_, session), mem in self._sessions.items():
            try:
                _summarize(mem, session)
            except Exception as error:  # noqa: BLE001 - the texts are stored
                self.result.failed += (f"summary: {error}",)

    def maintain(self) -> None:
        """Run the maintenance of the stores, if it is due."""
        for mem in self._opened.values():
            try:
                if hasattr(mem, "store"):
                    scheduler = mem.store.maintenance()
                    scheduler.run_once(rested=scheduler.every)
            except MemothermError as error:
                self.result.failed += (f"maintenance: {error}",)

    def _process_turn(self, turn: list[Job]) -> None:
        """Store the texts of a turn, or run the job of another kind."""
        jobs = [_placed(path, job) for path, job in turn]
        job, key = jobs[0], json.dumps([jobs[0][name] for name in ("store", "scope", "settings")], sort_keys=True)
        if key not in self._opened:
            mem = memotherm.open(job["store"], scope=Scope(**job["scope"]), settings=job_settings(job))
            self._opened[key] = self._stack.enter_context(mem)
        mem = self._opened[key]
        session = mem.session(str(job.get("session"))) if job["do"] in ("compact", "run", "end") else None
        if job["do"] == "capture":
            self._capture(jobs, mem)
            self._sessions[id(mem), str(job["session"])] = mem
        elif job["do"] == "fixes":
            self._capture_fixes(job, mem)
        elif job["do"] == "store":
            self._count(mem.capture(job["text"], **{"at": job["at"], **job["arguments"]}))
        elif session is None:
            raise InvalidInput(f"unknown job {job['do']!r}: another version of Memotherm added it")
        elif job["do"] == "compact":
            session.context_compacted()
        elif job["do"] == "run":
            session.run_ended()
        else:
            # The session may have been started again since, and what it was given then is not forgotten.
            (session.end if _begins_with_nothing(job) else session.session_end)()
            self.result.ended += 1

    def _capture(self, turn: list[dict[str, Any]], mem: Memotherm) -> None:
        """Store what a turn says as one memory, and count the memories that the reply repeats as used."""
        if any(job["excluded"] for job in turn):
            self.result.skipped += 1
            return
        jobs = [redacted(unseal(job, mem.settings.key), mem.settings) for job in turn]
        prompts: list[str] = []
        for text in (self._said(job["text"], mem.settings) for job in jobs if job["role"] == "user"):
            # A host may say the prompt twice.
            if text not in prompts[-1:] or not text:
                prompts.append(text)
        # An earlier prompt without a reply was interrupted.
        *interrupted, prompt = prompts or [""]
        reply, last = "", jobs[-1]
        if last["role"] == "assistant":
            transcripts = self._transcripts.setdefault(id(mem), Transcripts(mem.settings))
            text = last["text"] if "text" in last else transcripts.reply(Path(str(last["transcript"])), prompt)
            reply = self._said(text, mem.settings)
        if reply:
            with contextlib.suppress(InvalidInput, NotFound):
                mem.scoped(session=str(last["session"])).feedback(answer=reply, at=last["at"])
        # What only looks at the jobs loads nothing of what reads statements.
        from memotherm.facade.capture import apply_reports

        for said in (*interrupted, prompt):
            # The reply closes no task.
            apply_reports(mem.by("person"), said, jobs[0]["at"])
        origin = {"session": last["session"], "client": last["client"]}
        for asked, answered in (*((text, "") for text in interrupted), (prompt, reply)):
            contents = contents_of(asked, answered, mem.settings.tokenizer)
            files = _Files(last, asked) if contents else None
            self.result.skipped += not contents
            for content in contents:
                # Facts about users are stored for all of their projects.
                scoped = mem.for_user() if content.kind.about_user and mem.scope.user else mem
                metadata = {"role": content.role, **origin, **(files.anchors(content.text) if files else {})}
                kind, at = content.kind.name, jobs[0]["at"]
                # The host tells who said it: the person in front of it, or the agent.
                person = scoped.by("person").in_folder(last["folder"]) if last.get("folder") else scoped.by("person")
                captured = person.capture(content.text, kind, content.kind.tags, metadata, source="hook", at=at)
                self._count(captured)
                if captured.memory is not None:
                    mem.session(str(last["session"])).heard(captured.memory.id)
        self.result.redacted += sum(int(job.get("redacted", 0)) for job in jobs)

    def _capture_fixes(self, job: dict[str, Any], mem: Memotherm) -> None:
        """Store the errors in the transcript of a session with what made them go away, as a backfill does."""
        host = CLIENTS.get(str(job["client"]))
        if job["excluded"] or host is None or host.name not in SOURCES:
            return
        metadata = {"role": "assistant", "session": job["session"], "client": job["client"]}
        for content in fixes_in(SOURCES[host.name], Path(str(job["transcript"])), mem.settings):
            self._count(mem.by("agent").capture(content.text, FIX, (), metadata, source="hook", at=job["at"]))

    def _said(self, text: str, settings: Settings) -> str:
        """Return a text without recalled memories; empty for commands to the host and texts that it wrote."""
        said = without_blocks(text[:_MAX_CHARS])
        self.result.removed_chars += len(text[:_MAX_CHARS]) - len(said)
        return "" if said.startswith((*PREFIXES, *_COMMANDS)) or said == settings.silent_token else said

    def _count(self, captured: Captured) -> None:
        if captured.status == "spooled":
            raise StoreUnavailable(captured.why)
        self.result.removed_chars += captured.removed_chars
        if captured.status == "stored":
            self.result.captured += 1
        else:
            self.result.skipped += 1


class _Files:
    """The files that the agent has read and edited in a turn, in the project of its folder."""

    def __init__(self, job: Mapping[str, Any], prompt: str) -> None:
        self._here: Workspace | None = None
        self._files: list[Path] = []
        folder, transcript = str(job.get("folder") or ""), str(job.get("transcript") or "")
        if folder and transcript and (files := files_of_turn(Path(transcript), prompt, folder)):
            self._here, self._files = Workspace(folder), files

    def anchors(self, text: str) -> dict[str, Any]:
        """Return the entry of a memory's metadata about the files that its text names; none for most."""
        found = anchors_for(text, self._files, self._here) if self._here is not None else []
        return {ANCHORS: found} if found else {}


def set_aside(spool: Spool, turn: list[Job], why: str, result: WorkerResult) -> None:
    """Set the jobs of a turn aside, and add the reason to a result."""
    for path, _ in turn:
        spool.set_aside(path, " ".join(why.split()))
    result.failed += (f"{turn[0][0].name}: {why}",)


def _summarize(mem: Memotherm, session: str) -> None:
    """Store the summary of a session, or replace it; it is cold, so that it is not recalled beside what it repeats."""
    found = [memory for memory in mem.find(where={"session": session}, limit=200) if memory.kind != SUMMARY]
    last = max((memory.created_at for memory in found), default=None)
    said = [
        each for each in found
        if not is_closed(each) and (each.valid_until is None or last is None or each.valid_until > last)
    ]  # fmt: skip
    text = summary_of(reversed(said), mem.settings.tokenizer)
    if not text:
        return
    day = local_day(max(memory.created_at for memory in said), mem.settings)
    key = f"{SUMMARY_KEYS}{session}/summary"
    origin = sources(reversed(said))
    mem.remember(f"Session of {day}\n{text}", SUMMARY, (), "cold", metadata=origin, source="hook", key=key, index=False)


def _ready(jobs: list[Job], now: float) -> list[Job]:
    """Return the jobs of turns with a reply, and of sessions that have ended, were compacted, or have timed out."""
    timed_out = _name_before(_SESSION_TIMEOUT_SECONDS, now)
    released: dict[object, str] = {}
    # By scope and session: a job has no store if its hook could not read the settings.
    sessions = [session_key(job)[1:] for _, job in jobs]
    for (path, job), session in zip(jobs, sessions, strict=True):
        if job.get("do") not in ("capture", "run") or job.get("role") == "assistant" or path.name < timed_out:
            released[session] = path.name
    return [
        (path, job)
        for (path, job), session in zip(jobs, sessions, strict=True)
        if job.get("do") == "run" or path.name <= released.get(session, "")
    ]


def _name_before(seconds: int, now: float) -> str:
    """Return the file name of jobs added that long ago; older names sort before it."""
    return f"{int((now - seconds) * 10**9):020d}"


def _placed(path: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Return a job with its settings and its time."""
    if "settings" not in job:
        # The hook could not read them.
        job = resolved(job, Path(str(job.get("started_in") or data_home())))
    # Whether it is excluded is found only now, if the hook could not read the settings.
    return {**job, "excluded": excluded(job), "at": datetime.fromtimestamp(int(path.name[:20]) / 10**9, UTC)}


def _begins_with_nothing(job: dict[str, Any]) -> bool:
    """Return whether the host of a job asks at the start of a session, which forgets what was given before."""
    host = CLIENTS.get(str(job.get("client")))
    return host is not None and any(event.moment == "start" and event.injects for event in host.events.values())
