"""What the commands print in terminals of three widths, from a store with fixed ids in English, German and Chinese.

`make golden` writes the files anew (`python -m tests.golden.terminal`); a test compares them byte by byte.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import time_machine

from memotherm import Memory, Memotherm, Priority, Settings, Tier
from memotherm.cli import app
from memotherm.embed import resolve
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.testing import FakeClock
from memotherm.text.content import digest
from memotherm.text.tokens import count_tokens
from tests.golden.contexts import insert

FOLDER = Path(__file__).parent
WIDTHS = (60, 80, 120)

_NOW = datetime(2026, 3, 6, 12, tzinfo=UTC)
_REVIEWS = "https://git.example.org/acme/shop/blob/main/CONTRIBUTING.md#reviews-and-approvals-for-production"
_FREEZE = (
    "Production deploys are frozen until Friday noon; ask Ana before any hotfix, and write the reason into the "
    "incident channel so that the person on call can see it"
)
_NEUSTART = (
    "Der Datenbankserver der Produktion wird am Donnerstag um 22 Uhr neu gestartet; die Rechnungsstellung ist "
    "währenddessen nicht verfügbar und muss danach von Hand nachgeholt werden"
)
_SHENHE = (
    "deploy 支付服务的部署需要两位同事审核，并且必须在周五中午之前完成。如果错误率超过百分之一，请立即回滚并通知频道。"
)

#: (content, kind, tier, priority, tags), oldest first.
_MEMORIES: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    (_FREEZE, "fact", "hot", "important", ("blocker",)),
    ("Answer in English, use metric units, and keep it short", "preference", "warm", "pinned", ()),
    (_NEUSTART, "fact", "warm", "normal", ("wartung",)),
    (_SHENHE, "fact", "warm", "normal", ("部署",)),
    ("We chose PostgreSQL for billing.\nReasons:\n- row level security\n- the team knows it",
     "decision", "cold", "normal", ()),
    ("Deploys to the staging database on port 5433 need no review", "fact", "warm", "low", ("staging", "deploy")),
    (f"Never deploy without a review: {_REVIEWS}", "preference", "warm", "pinned", ()),
)  # fmt: skip
_IDS = tuple(f"mem_01kffg7q5jz3v8w2c4d6x9h{number:03d}" for number in range(len(_MEMORIES)))

COMMANDS = (
    ("recall", "deploy the database", "--limit", "3", "--include-cold", "--no-track"),
    ("list",),
    ("events", "--limit", "6"),
    ("receipts",),
    ("why", "Datenbankserver"),
    ("why", "frozen"),
    ("timeline",),
    ("policy", "show"),
    ("compact", "--dry-run"),
    ("status",),
    ("status", "--store", "scopes.db"),
    ("conflicts", "--store", "conflicts.db"),
    ("select", "everything about Ana"),
)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(arguments: tuple[str, ...], width: int) -> str:
    """Return what a command prints in a terminal, without colours."""
    return _run(arguments, width)[0]


def error_of(arguments: tuple[str, ...], width: int) -> str:
    """Return what a command prints there on standard error."""
    return _run(arguments, width)[1]


def _run(arguments: tuple[str, ...], width: int) -> list[str]:
    out, error = _Terminal(), io.StringIO()
    env = {"COLUMNS": str(width), "TERM": "xterm-256color"}
    with patch.dict(os.environ, env), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        app.run(arguments)
    return [re.sub("\x1b\\[[0-9;]*m", "", each.getvalue()) for each in (out, error)]


def files() -> dict[Path, str]:
    """Return what every golden file should hold."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        env = {
            "MEMOTHERM_HOME": str(Path(folder) / "home"),
            "MEMOTHERM_EMBEDDER": "none",
            "MEMOTHERM_STORE": "agent.db",
        }
        with patch.dict(os.environ, env), time_machine.travel(_NOW, tick=False):
            _write_stores()
            return {FOLDER / f"terminal-{width}.txt": "\n".join(_sections(width)) for width in WIDTHS}


def _sections(width: int) -> Iterator[str]:
    for arguments in COMMANDS:
        yield f"$ memotherm {shlex.join(arguments)}\n{re.sub(r'[0-9.]+ MB', '0.4 MB', shown(arguments, width))}"


def _write_stores() -> None:
    with _opened("agent.db") as mem:
        mem.move(_IDS[0], "cold", why="the freeze ended, or so it seemed to the person who looked at the calendar")
        mem.undo(mem.get(_IDS[0]).version)
        mem.forget(_IDS[5], why="nobody needs it")
        mem.restore(_IDS[5])
        mem.update(_IDS[4], metadata={"status": "done"})
        mem.move(_IDS[4], "warm")
        mem.context("may we deploy?", budget=200)
    with _opened("scopes.db", memories=0) as mem:
        mem.scoped(project="git.example.org/acme/billing-service-europe", environment="production").remember("Rechnung")
        mem.scoped(project="git.example.org/acme/shop", user="ana").remember("The shop sells tea", tier="hot")
    with _opened("conflicts.db", memories=2) as mem:
        # An edit, because a memory that is remembered has an id of its own.
        for memory_id, port in zip(_IDS, (5433, 5544), strict=False):
            said = f"The database of the staging environment in Frankfurt listens on port {port}"
            mem.update(memory_id, content=said)


@contextlib.contextmanager
def _opened(path: str, memories: int = len(_MEMORIES)) -> Iterator[Memotherm]:
    settings, clock = Settings(), FakeClock(_NOW - timedelta(days=2))
    store = SqliteStore(path, settings)
    for memory_id, (content, kind, tier, priority, tags) in list(zip(_IDS, _MEMORIES, strict=True))[:memories]:
        made = clock.advance(hours=5)
        memory = Memory(
            id=memory_id, content=content, kind=kind, tags=tags, tier=Tier(tier), priority=Priority(priority),
            tokens=count_tokens(content), digest=digest(content), created_at=made, updated_at=made, tier_since=made,
            retention_since=made, tier_rule="explicit",
        )  # fmt: skip
        insert(store, memory, None)
    with Memotherm(store, resolve("none"), settings=settings, clock=clock) as mem:
        yield mem


def main() -> None:
    """Write all of them."""
    for path, text in files().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
