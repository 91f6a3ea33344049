"""`memotherm doctor`: what is configured, what works, and the command that mends what does not."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import click

import memotherm
from memotherm import Memotherm, __version__
from memotherm.cli import exit_codes
from memotherm.cli.config import described_settings
from memotherm.cli.options import StoreOptions, json_option, store_option
from memotherm.cli.output import print_json
from memotherm.errors import MemothermError, SettingsError
from memotherm.hooks.clients import CLIENTS, installed
from memotherm.hooks.worker import user_spool
from memotherm.settings import default_store, load

__all__ = ["command"]

_EXTRAS = {
    "mcp": ("mcp",),
    "server": ("fastapi", "uvicorn", "prometheus_client"),
    "postgres": ("psycopg", "pgvector"),
}
_REMEDIES = {
    "not_a_store": "name another file with --store, or move this one away",
    "schema_too_new": "pip install --upgrade memotherm",
    "store_damaged": "memotherm restore-checkpoint BACKUP NEW, then use --store NEW",
    "store_busy": "end the process that writes, or raise the setting busy_timeout_ms",
    "embedder_refused": "memotherm config show --origin, then set the key in the environment",
    "plugin_not_found": "unset MEMOTHERM_EMBEDDER, or write another name there",
}
_MARKS = {"ok": "✓", "note": "·", "warning": "!", "failure": "✗"}
_COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow", "failure": "red"}


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    #: ok, note, warning or failure.
    state: str
    detail: str
    #: The command or the act that mends it.
    remedy: str = ""


@click.command("doctor")
@store_option
@json_option
def command(store: StoreOptions, as_json: bool) -> int:
    """Tell what is configured, what works, and the command that mends what does not.

    Your memories are only read: writing is tried in a scratch store.
    """
    findings = list(_findings(store))
    broken = any(each.state == "failure" for each in findings)
    if as_json:
        print_json({"ok": not broken, "findings": [each._asdict() for each in findings]})
    else:
        for each in findings:
            _tell(each)
    return exit_codes.FAILURE if broken else exit_codes.OK


def _tell(finding: Finding) -> None:
    mark = click.style(_MARKS[finding.state], fg=_COLOURS[finding.state], bold=True)
    click.echo(f"{mark} {finding.name:<12} {finding.detail}")
    if finding.remedy:
        click.echo(f"  {'':<12} → {finding.remedy}")


def _findings(store: StoreOptions) -> Iterator[Finding]:
    python = f"Memotherm {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("program", "ok", f"{python}; {shutil.which('memotherm') or sys.executable}")
    settings = _tried("settings", _settings)
    yield settings
    if settings.state == "failure":
        return
    yield from _extras()
    yield from _memory(store)
    yield _tried("write", _write)
    yield from _clients()
    waiting = len(user_spool().waiting())
    if waiting:
        yield Finding(
            "hooks", "note", f"{waiting} jobs wait for their sessions to end", "memotherm worker --once --all"
        )


def _settings() -> Finding:
    changed = described_settings(changed=True)
    told = ", ".join(f"{name} = {each['value']!r} ({each['origin']})" for name, each in changed.items())
    return Finding("settings", "ok", told or "all defaults")


def _extras() -> Iterator[Finding]:
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        if missing:
            remedy = f'pip install "memotherm[{extra}]"'
            yield Finding(f"[{extra}]", "note", f"not installed ({', '.join(missing)})", remedy)
        else:
            yield Finding(f"[{extra}]", "ok", "installed")


def _memory(store: StoreOptions) -> Iterator[Finding]:
    place = store.url or default_store(load())
    if "://" not in place and not Path(place).expanduser().exists():
        yield Finding("store", "note", f"{place} does not exist yet", f"memotherm remember '...' --store {place}")
        return
    try:
        mem = memotherm.open(store.url, scope=store.scope)
    except MemothermError as error:
        yield _failure("store", error)
        return
    with mem:
        yield _tried("store", lambda: Finding("store", "ok", f"{place}, schema {mem.status().schema}"))
        yield _tried("permission", lambda: _permission(place))
        yield _tried("memories", lambda: _status(mem))
        yield _tried("embedder", lambda: _embedder(mem))
        yield _tried("recall", lambda: _recall(mem))
        yield _tried("check", lambda: _check(mem))


def _permission(place: str) -> Finding:
    path = Path(place.removeprefix("sqlite:///")).expanduser()
    if "://" in place and not place.startswith("sqlite:///"):
        return Finding("permission", "ok", "a server decides")
    blocked = [each for each in (path, path.parent) if not os.access(each, os.W_OK)]
    if blocked:
        return Finding("permission", "failure", f"{blocked[0]} cannot be written", f"chmod u+w {blocked[0]}")
    return Finding("permission", "ok", "the file and its folder can be written")


def _status(mem: Memotherm) -> Finding:
    status = mem.status()
    counts = ", ".join(f"{count.memories} {tier}" for tier, count in status.tiers.items())
    return Finding("memories", "ok", f"{counts}; {status.bytes / 1e6:.1f} MB; seen from {status.scope}")


def _embedder(mem: Memotherm) -> Finding:
    status = mem.status()
    if status.degraded:
        remedy = "memotherm reembed" if status.pending_vectors else "memotherm config show --origin"
        return Finding("embedder", "warning", f"{status.embedder}: {'; '.join(status.degraded)}", remedy)
    return Finding("embedder", "ok", f"{status.embedder}, every memory has its vectors")


def _recall(mem: Memotherm) -> Finding:
    recall = mem.recall("what should I know?", 1, track=False)
    if recall.degraded:
        return Finding("recall", "warning", "; ".join(recall.degraded), "memotherm reembed")
    return Finding("recall", "ok", "meaning and words both answer")


def _check(mem: Memotherm) -> Finding:
    problems = mem.check()
    if problems:
        remedy = "memotherm check --json; memotherm restore-checkpoint BACKUP NEW"
        return Finding("check", "failure", "; ".join(str(each) for each in problems[:3]), remedy)
    return Finding("check", "ok", "the whole store is in order")


def _write() -> Finding:
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-doctor-", ignore_cleanup_errors=True) as folder,
        memotherm.open(Path(folder) / "scratch.db") as mem,
    ):
        mem.remember("The doctor was here")
        found = mem.recall("who was here?")
    if not len(found):
        return Finding("write", "failure", "what was written was not found", "report this as a bug")
    degraded = "".join(f"; {each}" for each in found.degraded)
    return Finding("write", "ok", f"a scratch memory was written and found{degraded}")


def _clients() -> Iterator[Finding]:
    for client in CLIENTS:
        finding = _tried(client, lambda name=client: _client(name))  # type: ignore[misc]
        yield finding


def _client(client: str) -> Finding:
    if installed(client):
        return Finding(client, "ok", "has its hooks")
    return Finding(client, "note", "has no hooks of ours", f"memotherm install {client}")


def _tried(name: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except MemothermError as error:
        return _failure(name, error)


def _failure(name: str, error: MemothermError) -> Finding:
    remedy = _REMEDIES.get(error.code, "")
    if isinstance(error, SettingsError):
        remedy = "mend the file or variable that is named"
    return Finding(name, "failure", str(error), remedy)
