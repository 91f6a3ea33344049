"""Checks of the installation and of a store, each with how to correct what it finds."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import memotherm
from memotherm import Memotherm, __version__
from memotherm.daemon.client import is_supported
from memotherm.daemon.control import obstacle, running
from memotherm.errors import Forbidden, MemothermError
from memotherm.history.cleanup import cleanup
from memotherm.hooks.capture import postponed
from memotherm.hooks.hosts import HOSTS, Host
from memotherm.hooks.install import differing_hooks, installed, missing_programs
from memotherm.hooks.log import DEADLINE, ERROR, Entry, last_week, log_file
from memotherm.hooks.project import (
    mistrust,
    name_of,
    project_at,
    trust_command,
    trust_file,
    trusted_folders,
    untrusted_text,
)
from memotherm.hooks.spool import user_spool
from memotherm.remote import is_remote
from memotherm.settings import data_home, load
from memotherm.settings.paths import sqlite_path
from memotherm.settings.sources import described_settings
from memotherm.text.content import pluralize
from memotherm.tiers.engine import CLOCK_JUMPED

_EXTRAS = {
    "mcp": ("mcp",),
    "server": ("fastapi", "uvicorn", "prometheus_client"),
    "postgres": ("psycopg", "pgvector"),
    "encryption": ("sqlcipher3", "cryptography"),
}
_FREE_SPACE = "free space on its disk, or set MEMOTHERM_HOME to a folder on another one"
_REMEDIES = {
    "settings": "correct the file or variable",
    "not_a_store": "name another file with --store, or move this one away",
    "wrong_key": "set MEMOTHERM_KEY or MEMOTHERM_KEY_FILE to the key of this store",
    "schema_too_new": "pip install --upgrade memotherm",
    "store_damaged": "memotherm store restore BACKUP NEW, then use --store NEW",
    "store_full": _FREE_SPACE,
    "store_busy": "end the process that writes, or raise the setting busy_timeout_ms",
    "embedder_refused": "memotherm config show --origin, then set the key in the environment",
    "plugin_not_found": "unset MEMOTHERM_EMBEDDER, or write another name there",
}
#: A folder with less free space than this is reported.
_LITTLE_SPACE = 100_000_000
_PROBE_BYTES = 65_536
#: How many jobs that were set aside are listed.
_MOST_FAILED = 5


class Finding(NamedTuple):
    """The result of one check."""

    name: str
    #: ok, note, warning or failure.
    state: str
    detail: str
    #: How to correct it.
    remedy: str = ""


def findings(store: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield the results of all checks.

    Args:
        store: Yields those of a store; it is not called if the settings cannot be read.
    """
    python = f"Memotherm {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("program", "ok", f"{python}; {shutil.which('memotherm') or sys.executable}")
    settings = checked("settings", _settings)
    yield settings
    yield checked("data folder", _data_folder)
    yield from hook_findings()
    if trusted_folders():
        yield checked("folders", _folders)
    if settings.state == "failure":
        return
    for extra, modules in _EXTRAS.items():
        missing = ", ".join(name for name in modules if find_spec(name) is None)
        if missing:
            yield Finding(f"[{extra}]", "note", f"not installed ({missing})", f'pip install "memotherm[{extra}]"')
        else:
            yield Finding(f"[{extra}]", "ok", "installed")
    yield from store()
    yield checked("write", _write)
    yield checked("daemon", _daemon)
    for host in HOSTS.values():
        yield checked(host.name, partial(_host, host))
    if (deletes := cleanup()) is not None:
        state, remedy = ("note", "memotherm backfill; memotherm agent keep-transcripts") if deletes.soon else ("ok", "")
        yield Finding("transcripts", state, str(deletes), remedy)


def store_findings(
    mem: Memotherm,
    url: str,
    *,
    include_narrower: bool,
    elsewhere: Callable[[str], list[str]] = lambda hint: [hint] * bool(hint),
) -> Iterator[Finding]:
    """Yield the results of the checks of a store.

    Args:
        mem: The memory, in the scope to check.
        url: The address of the store.
        include_narrower: Whether to count everything at and below the scope.
        elsewhere: Returns notes about where the memories are, from what the status says.
    """
    yield checked("store", partial(_store, mem, url))
    yield checked("permission", partial(_permission, url))
    yield checked("memories", partial(_status, mem, elsewhere, include_narrower=include_narrower))
    yield checked("policy", partial(_policy, mem))
    yield checked("embedder", partial(_embedder, mem, include_narrower=include_narrower))
    yield checked("maintenance", partial(_maintenance, mem, include_narrower=include_narrower))
    yield checked("recall", partial(_recall, mem, include_narrower=include_narrower))
    yield checked("check", partial(_check, mem))


def project_finding(mem: Memotherm, folder: Path) -> Finding:
    """Return the project of a folder, and the memories that are stored under its name without a remote."""
    project = project_at(folder)
    name = name_of(project)
    detail = f"{name} is the project of this folder"
    if mistrust(project):
        return Finding("project", "warning", f"{detail}. {untrusted_text(project)}", trust_command(project))
    held = sum(count.memories for count in mem.inspect.scopes() if count.scope.project == project.local)
    if not held or name == project.local:
        return Finding("project", "ok", detail)
    detail += f"; its former name still holds memories: {held} under {project.local}"
    return Finding("project", "note", detail, f"memotherm store move-project {quote(project.local)} {quote(name)}")


def _folders() -> Finding:
    """Return the folders that are trusted with the memories of remote repositories."""
    folders = trusted_folders()
    trusted = [f"{remote}: {folder}" for remote in folders for folder in folders[remote]]
    detail = f"{pluralize(len(trusted), 'folder')} trusted with the memories of remote repositories"
    listed = f" ({'; '.join(trusted)})" if trusted else ""
    remedy = (
        "the first folder of this machine that names a remote is trusted by itself, also with what other machines have "
        f"stored in a shared store; to trust one no longer, delete its line in {trust_file()}"
    )
    return Finding("folders", "ok", detail + listed, remedy)


def _data_folder() -> Finding:
    """Return whether the folder of the spool and of the default store can be written."""
    home = data_home()
    if not home.is_dir():
        return Finding("data folder", "ok", f"{home} does not exist yet")
    _probe(home)
    free = shutil.disk_usage(home).free
    if free < _LITTLE_SPACE:
        return Finding("data folder", "warning", f"{home}: only {free / 1e6:.0f} MB are free", _FREE_SPACE)
    return Finding("data folder", "ok", f"{home}, {free / 1e9:.1f} GB free")


def _probe(folder: Path) -> None:
    """Write a temporary file in a folder; raise OSError if the disk is full."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".memotherm-doctor-") as file:
            file.write(b"\0" * _PROBE_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, f"nothing can be written: {error.strerror}", str(folder)) from None


def _daemon() -> Finding:
    """Return whether the daemon that answers hooks faster is running."""
    if not load().daemon or not is_supported():
        return Finding("daemon", "ok", "not used: it is switched off" if is_supported() else "it needs Linux")
    found = obstacle()
    if found is not None:
        why, remedy = found
        return Finding("daemon", "warning", f"it cannot run: {why}", remedy)
    process = running()
    if process is None:
        return Finding("daemon", "note", "not running: the next hook starts it", "memotherm agent daemon start")
    return Finding("daemon", "ok", f"running as process {process}")


def hook_findings() -> Iterator[Finding]:
    """Yield what went wrong in hooks, and which of their jobs wait, and why."""
    entries = last_week()
    faster = "memotherm agent daemon start, or --deadline in the command of the hooks"
    yield from _logged(entries, DEADLINE, "recall", "missed the deadline", faster)
    yield from _logged(entries, ERROR, "hook", "failed", "correct the cause")
    spool, remedy, retry = user_spool(), "memotherm agent worker --once --all", "memotherm agent worker --once --retry"
    failing = postponed(spool)
    for store in failing:
        why = f"{store.jobs} jobs of {store.destination} wait: {store.error}"
        when = f"attempt {store.attempts} failed, the next is due at {store.retry_at:%Y-%m-%d %H:%M} UTC"
        yield Finding("hooks", "warning", f"{why} ({when})", remedy)
    others = len(spool.waiting()) - sum(store.jobs for store in failing)
    if others:
        yield Finding("hooks", "note", f"{others} jobs wait for the end of their sessions", remedy)
    failed = spool.failed()
    for path, why in list(failed.items())[-_MOST_FAILED:]:
        yield Finding("hooks", "warning", f"{path} was set aside: {why}", f"{retry}, or delete the file")
    if len(failed) > _MOST_FAILED:
        detail = f"{len(failed) - _MOST_FAILED} other jobs were set aside before: {spool.folder}"
        yield Finding("hooks", "warning", detail, retry)


def _logged(entries: list[Entry], kind: str, noun: str, verb: str, remedy: str) -> Iterator[Finding]:
    """Yield the number of entries of a kind in the log of the hooks, with the last one."""
    found = [entry for entry in entries if entry.kind == kind]
    if found:
        when = datetime.fromtimestamp(found[-1].at, UTC)
        detail = f"{pluralize(len(found), noun)} {verb} in the last 7 days, the last at {when:%Y-%m-%d %H:%M} UTC"
        remedy = f"{remedy}; {log_file()} has all of them, and may be deleted"
        yield Finding("hooks", "warning", f"{detail}: {found[-1].detail}", remedy)


def _settings() -> Finding:
    changed = described_settings(changed=True)
    described = [f"{name} = {entry['value']!r} ({entry['origin']})" for name, entry in changed.items()]
    return Finding("settings", "ok", ", ".join(described) or "all defaults")


def _store(mem: Memotherm, url: str) -> Finding:
    schema = mem.status().schema
    # A server does not tell the schema of its store.
    return Finding("store", "ok", f"{url}, schema {schema}" if schema else url)


def _permission(url: str) -> Finding:
    path = sqlite_path(url)
    if path is None:
        return Finding("permission", "ok", f"granted by the {'' if is_remote(url) else 'database '}server")
    for entry in (path, path.parent):
        if not os.access(entry, os.W_OK):
            detail = f"{entry} is not writable: it can only be read"
            return Finding("permission", "failure", detail, f"chmod u+w {entry}")
    _probe(path.parent)
    return Finding("permission", "ok", "the file and its folder are writable")


def _status(mem: Memotherm, elsewhere: Callable[[str], list[str]], *, include_narrower: bool) -> Finding:
    status = mem.status(include_narrower=include_narrower)
    counts = ", ".join(f"{count.memories} {tier}" for tier, count in status.tiers.items())
    where = f"scope: {status.scope}{' and narrower ones' if include_narrower else ''}"
    notes = elsewhere(status.hint)
    detail = "; ".join([counts, f"{status.bytes / 1e6:.1f} MB", where, *notes])
    return Finding("memories", "note" if notes else "ok", detail, "memotherm scopes" if notes else "")


def _policy(mem: Memotherm) -> Finding:
    unused = mem.policies.unused()
    if unused:
        return Finding("policy", "warning", unused, "memotherm policy rollback, or adopt another one")
    return Finding("policy", "ok", mem.status().policy or "the built-in rules are in force")


def _embedder(mem: Memotherm, *, include_narrower: bool) -> Finding:
    status, unused = mem.status(include_narrower=include_narrower), None
    with suppress(Forbidden):
        unused = mem.policies.unused()
    degraded = [reason for reason in status.degraded if reason != unused and not reason.startswith(CLOCK_JUMPED)]
    if degraded:
        remedy = "memotherm store reembed" if status.pending_vectors else "memotherm config show --origin"
        return Finding("embedder", "warning", f"{status.embedder}: {'; '.join(degraded)}", remedy)
    return Finding("embedder", "ok", f"{status.embedder}, every memory has vectors")


def _maintenance(mem: Memotherm, *, include_narrower: bool) -> Finding:
    waiting = [
        reason for reason in mem.status(include_narrower=include_narrower).degraded if reason.startswith(CLOCK_JUMPED)
    ]
    if waiting:
        return Finding("maintenance", "warning", waiting[0], "correct the clock of this machine if it is wrong")
    return Finding("maintenance", "ok", "no memory is kept longer than its grace")


def _recall(mem: Memotherm, *, include_narrower: bool) -> Finding:
    recall = mem.recall("what should I know?", 1, track=False, include_narrower=include_narrower)
    if recall.degraded:
        return Finding("recall", "warning", "; ".join(recall.degraded), "memotherm store reembed")
    return Finding("recall", "ok", "vector search and text search work")


def _check(mem: Memotherm) -> Finding:
    problems = mem.check()
    if problems:
        remedy = "memotherm store check --json; memotherm store restore BACKUP NEW"
        return Finding("check", "failure", "; ".join(str(problem) for problem in problems[:3]), remedy)
    return Finding("check", "ok", "no problems")


def _write() -> Finding:
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-doctor-", ignore_cleanup_errors=True) as folder,
        memotherm.open(Path(folder) / "temporary.db") as mem,
    ):
        mem.remember("A memory of the doctor")
        recall = mem.recall("memory of the doctor")
    if not len(recall):
        return Finding("write", "failure", "a stored memory was not found", "report this as a bug")
    degraded = "".join(f"; {reason}" for reason in recall.degraded)
    return Finding("write", "ok", f"a memory was stored and found in a temporary store{degraded}")


def _host(host: Host) -> Finding:
    if not installed(host):
        return Finding(host.name, "note", "hooks are not installed", f"memotherm install {host.name}")
    if gone := missing_programs(host):
        detail = f"the hooks or the MCP server start {', '.join(gone)}, which is not there"
        return Finding(host.name, "failure", detail, f"memotherm install {host.name}")
    skipped = ", ".join(f"{event} {why}" for event, why in host.skipped_hooks().items())
    if skipped:
        detail = f"{host.title} skips hooks that are installed: {skipped}"
        return Finding(host.name, "warning", detail, host.trust_step)
    if differing := differing_hooks(host):
        listed = ", ".join(f"{event} {why}" for event, why in differing.items())
        detail = f"hooks differ from what install writes: {listed}"
        return Finding(host.name, "warning", detail, f"memotherm install {host.name}")
    return Finding(host.name, "ok", f"hooks are installed{' and trusted' * bool(host.trust_step)}")


def checked(name: str, check: Callable[[], Finding]) -> Finding:
    """Return the result of a check, also when it fails."""
    try:
        return check()
    except Forbidden as error:
        return Finding(name, "note", f"not checked: {error}", "memotherm doctor, on the machine of the server")
    except MemothermError as error:
        return failure(name, error)
    except OSError as error:
        return Finding(name, "failure", f"{error.filename or name}: {error.strerror or error}", _FREE_SPACE)


def failure(name: str, error: MemothermError) -> Finding:
    """Return an error as the result of a check, with its remedy."""
    return Finding(name, "failure", str(error), _REMEDIES.get(error.code, ""))
