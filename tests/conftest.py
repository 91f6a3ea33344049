"""Fixtures that most tests share: time, vectors, a memory that is checked at the end, and factories."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

# Before anything imports it, so that a failing contract tells what was compared.
pytest.register_assert_rewrite("memotherm.testing", "tests.storage.contract")

import memotherm  # noqa: E402
from memotherm import Memory, Memotherm, Settings  # noqa: E402
from memotherm.testing import FakeClock, HashEmbedder  # noqa: E402
from tests import stores  # noqa: E402
from tests.postgres import server  # noqa: E402

# Commands and hooks of tests neither start a daemon nor use one that is running; its own tests do.
os.environ["MEMOTHERM_DAEMON"] = "off"

# The modules of all tests are 700,000 objects and no garbage, for which they would be searched again and again.
gc.disable()

# SQLite waits for the disk whenever it creates a file and at every commit: for most of the time of a test. Where there
# is room, temporary files are in memory instead.
with suppress(OSError):
    if "TMPDIR" not in os.environ and shutil.disk_usage("/dev/shm").free > 4 << 30 and os.access("/dev/shm", os.W_OK):
        os.environ["TMPDIR"] = tempfile.tempdir = "/dev/shm"

# A shell that runs the tests in the background has them ignore SIGINT, and commands that they interrupt inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same few examples in every run, so that a change is judged by what it does; `make explore` looks for new ones.
_PROFILE = hypothesis_settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.register_profile("memotherm", parent=_PROFILE, derandomize=True, max_examples=30)
hypothesis_settings.register_profile("explore", parent=_PROFILE, print_blob=True, max_examples=100)
hypothesis_settings.load_profile("memotherm")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One PostgreSQL server for all tests of a run; the URL of its superuser."""
    with server(tmp_path_factory.getbasetemp()) as url:
        yield url


#: What is tested on every kind of store; `@pytest.mark.sqlite` leaves out what only a file can do.
_EVERYWHERE = (
    "properties/",
    "policy/test_adoption",
    "policy/test_shadow",
    "notes/test_sync",
    "rules/test_select",
    "rules/test_where",
    "siege/",
    "history/test_backfill",
    "test_anchors",
    "test_changes",
    "test_claims",
    "test_clock_jumps",
    "test_conflicts",
    "test_embedder_change",
    "test_erasing",
    "test_feedback",
    "test_forks",
    "test_fuses",
    "test_keys",
    "test_lifecycle",
    "test_listing",
    "test_recall",
    "test_receipts",
    "test_remember",
    "test_summaries",
    "test_replacing",
    "test_review",
    "test_tool_calls",
    "test_tenants",
    "test_tombstones",
    "test_trust",
    "test_validity",
)
#: What uses a store through the same calls as those; `--every-store` tests it everywhere too (`make stores`).
_ABOVE_STORES = ("adapters/", "notes/", "properties/test_injections", "rules/", "spec/", "test_context",
                 "test_deadlines", "test_embedder", "test_embedding_service", "test_fallback", "test_marker",
                 "test_recall_reranker", "test_rules_of_people", "test_session_start", "test_superseding",
                 "test_tasks_end", "test_tombstones_encoded", "test_tombstones_everywhere", "test_tombstones_names",
                 "test_trust_table")  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run test on every store what is tested on one by default."""
    parser.addoption("--every-store", action="store_true", help="test what lies above the stores on each of them")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collect the garbage of tests only."""
    gc.freeze()
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of services once for each kind of store."""
    name = str(metafunc.definition.path.relative_to(Path(__file__).parent))
    stored = "open_mem" in metafunc.fixturenames or {"opened", "a_store"} & vars(metafunc.module).keys()
    if stored and _everywhere(name, metafunc.config) and not metafunc.definition.get_closest_marker("sqlite"):
        metafunc.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)


def _everywhere(name: str, config: pytest.Config) -> bool:
    """Return whether a module is tested on every kind of store in this run; the longest prefix decides."""
    always = max((len(prefix) for prefix in _EVERYWHERE if name.startswith(prefix)), default=0)
    asked = max((len(prefix) for prefix in _ABOVE_STORES if name.startswith(prefix)), default=0)
    return always > asked or (asked > 0 and bool(config.getoption("--every-store")))


@pytest.fixture(autouse=True)
def store_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the memories of a test are: in files, unless it is run for PostgreSQL."""
    marked = request.node.get_closest_marker("postgres") is not None
    kind = getattr(request, "param", "postgres" if marked else "sqlite")
    with stores.using(request.getfixturevalue("postgres") if kind == "postgres" else None):
        yield kind


@pytest.fixture
def event_loop() -> Iterator[None]:
    """Give `run_sync` of a framework an event loop, and close it; the one that it makes by itself is never closed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    with suppress(RuntimeError):  # there is none after `asyncio.run`
        asyncio.get_event_loop_policy().get_event_loop().close()
    asyncio.set_event_loop(None)


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still until a test moves it."""
    return FakeClock()


@pytest.fixture
def embedder() -> HashEmbedder:
    """An embedder that needs neither model nor network."""
    return HashEmbedder()


@pytest.fixture
def open_mem(
    clock: FakeClock, embedder: HashEmbedder, store_kind: str, tmp_path: Path
) -> Iterator[Callable[..., Memotherm]]:
    """Open memories at a path with any settings; each one is checked and closed before their folder is removed."""
    with ExitStack() as stack:

        def opened(path: Path | str = ":memory:", **arguments: Any) -> Memotherm:
            settings = arguments.pop("settings", {})
            found = settings if isinstance(settings, Settings) else Settings(**settings)
            place = stores.located(path)
            arguments = {**stores.encryption(place), **arguments}
            mem = memotherm.open(place, **{"clock": clock, "embedder": embedder, "settings": found, **arguments})
            stack.callback(_closed_in_order, mem)
            return mem

        yield opened


@pytest.fixture
def mem(open_mem: Callable[..., Memotherm], tmp_path: Path) -> Memotherm:
    """A memory in a file of its own."""
    return open_mem(tmp_path / "memory.db")


@pytest.fixture
def a_memory() -> Callable[..., Memory]:
    """Make memories that are not stored, for pure functions."""

    def made(content: str = "a fact", **fields: Any) -> Memory:
        then = datetime(2026, 1, 5, tzinfo=UTC)
        values = {"id": "mem_1", "created_at": then, "updated_at": then, "tier_since": then, "retention_since": then}
        return Memory(content=content, **{**values, **fields})

    return made


def _closed_in_order(mem: Memotherm) -> None:
    try:
        assert mem.check() == []
    finally:
        mem.close()
