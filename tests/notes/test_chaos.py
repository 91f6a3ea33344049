"""Files and processes at their worst: nothing is lost, and the index equals a fresh one afterwards."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.notes.notes import Notes
from memotherm.testing import HashEmbedder
from tests.helpers import ROOT, SOURCE, together
from tests.notes.index import index

KILLS = 4


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMOTHERM_")}
    return {**kept, "PYTHONPATH": f"{SOURCE}:{ROOT}", "OPENBLAS_NUM_THREADS": "1"}


def many(root: Path, count: int) -> None:
    (root / "memory").mkdir(parents=True, exist_ok=True)
    chance = random.Random(5)
    for number in range(count):
        lines = [f"Line {each} of {number} on topic {chance.randint(0, 99)}" for each in range(chance.randint(1, 60))]
        (root / "memory" / f"note-{number:03}.md").write_text(f"# Note {number}\n\n" + "\n".join(lines))


def same_as_fresh(open_mem: Callable[..., Memotherm], mem: Memotherm, root: Path) -> None:
    """Compare an index, after one more sync, with one that is made from nothing."""
    notes = mem.notes(root)
    notes.sync()
    fresh = open_mem()
    other = fresh.notes(root)
    other.sync()

    assert index(mem, notes) == index(fresh, other)
    assert mem.check() == []


def test_a_file_rewritten_while_it_is_read(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """A writer that truncates and writes again and again; every search answers, and the end is right."""
    root = tmp_path / "w"
    (root / "memory").mkdir(parents=True)
    file = root / "memory" / "busy.md"
    mem = open_mem(tmp_path / "a.db")
    notes = mem.notes(root)
    over = threading.Event()

    def write() -> None:
        for number in range(50):
            file.write_text("\n".join(f"state {number} line {each}" for each in range(400)))
        over.set()

    def search() -> int:
        searches = 0
        while not over.is_set() or not searches:
            notes.search("state line")
            searches += 1
        return searches

    together(write, search)
    assert all("state 49" in row[4] for row in index_after(mem, notes))
    same_as_fresh(open_mem, mem, root)


def index_after(mem: Memotherm, notes: Notes) -> list[tuple[str, ...]]:
    notes.sync()
    return index(mem, notes)


def test_files_deleted_and_renamed_in_mid_sync(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Between the look at the folder and the look at the file."""
    root = tmp_path / "w"
    many(root, 60)
    mem = open_mem(tmp_path / "a.db")
    notes = mem.notes(root)
    chance = random.Random(7)

    def disturb(done: int, total: int) -> None:
        files = sorted((root / "memory").rglob("*.md"))
        chance.choice(files).unlink()
        with suppress(FileNotFoundError):
            chance.choice(files).rename(root / "memory" / f"moved-{done}.md")
        (root / "memory" / f"new-{done}.md").write_text(f"made at {done} of {total}")

    for _ in range(2):
        notes.sync(disturb)
        for file in chance.sample(sorted((root / "memory").rglob("*.md")), 20):
            file.write_text(file.read_text() + "\nedited")
    same_as_fresh(open_mem, mem, root)


@pytest.mark.parametrize(
    "data",
    [
        b"\n" * 100_000,
        b"caf\xe9 \xff\xfe\x00 \xf0\x28\x8c\x28 binary \x80",
        b"\xef\xbb\xbf# BOM\r\n\r\nCRLF\r\ntext\r\n",
        "wide text in sixteen bits".encode("utf-16"),
        b"",
        b"\n",
        b"no end",
        "\u2028 line separators \u0085 are not line ends \x0b\x0c".encode(),
        b"```\nan open fence\n" * 5,
        b"- " * 5000,
        b"#" * 3000 + b"\n" + b"> " * 3000,
        "🏳️‍🌈 e\u0301 \u202e reversed \U0010ffff".encode(),
    ],
    ids=["newlines", "binary", "crlf", "utf16", "empty", "newline", "no-end", "separators",
         "fence", "marks", "hashes", "unicode"],
)  # fmt: skip
def test_any_bytes_are_a_note(open_mem: Callable[..., Memotherm], tmp_path: Path, data: bytes) -> None:
    """Indexed without an error, the rest found all the same, and cited lines read back."""
    _require_a_note(open_mem(embedder="none"), tmp_path / "w", data)


@pytest.mark.sqlite  # the store makes no difference, and on a server it takes a minute
@pytest.mark.parametrize("data", [b"x" * 2_000_000, b"word " * 400_000], ids=["run", "words"])
def test_two_megabytes_are_a_note(open_mem: Callable[..., Memotherm], tmp_path: Path, data: bytes) -> None:
    """In one line."""
    _require_a_note(open_mem(embedder="none"), tmp_path / "w", data)


def _require_a_note(mem: Memotherm, root: Path, data: bytes) -> None:
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "odd.md").write_bytes(data)
    (root / "memory" / "plain.md").write_text("the plain heron")
    notes = mem.notes(root)

    assert any(hit.snippet == "the plain heron" for hit in notes.search("plain heron"))
    for row in index(mem, notes)[:50]:
        found = notes.get(row[0], row[1], row[2] - row[1] + 1)
        assert row[4].split("\n")[-1][:1000] in found.text or len(found.text) == 20_000
    (root / "memory" / "odd.md").unlink()
    notes.sync()
    assert notes.paths() == ["memory/plain.md"]


@pytest.mark.slow
@pytest.mark.sqlite  # the other process opens the file
@pytest.mark.plain_file
def test_killed_in_mid_sync_again_and_again(
    open_mem: Callable[..., Memotherm], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Each run goes on where the last one was killed; in the end nothing is missing and nothing is double."""
    record_property("tries", KILLS)
    root, store = tmp_path / "w", tmp_path / "a.db"
    many(root, 160)
    chance = random.Random(11)
    script = str(ROOT / "tests" / "notes" / "syncer.py")
    added = 0
    for round_ in range(KILLS):
        running = subprocess.Popen(
            [sys.executable, script, str(store), str(root), "0.01"],
            stdout=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        assert running.stdout is not None
        for _ in range(chance.randint(1, 3)):
            running.stdout.readline()
        running.send_signal(signal.SIGKILL)
        running.communicate()
        with memotherm.open(store, embedder=HashEmbedder()) as mem:
            assert mem.check() == []
            assert len(mem.notes(root).paths()) >= added
            added = len(mem.notes(root).paths())
        (root / "memory" / f"note-{round_:03}.md").write_text(f"rewritten in round {round_}")

    mem = open_mem(store)
    same_as_fresh(open_mem, mem, root)


@pytest.mark.sqlite  # the other process opens the file
@pytest.mark.plain_file
def test_processes_that_sync_the_same_folder_at_once(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """None fails, and no chunk is indexed twice."""
    root, store = tmp_path / "w", tmp_path / "a.db"
    many(root, 60)
    open_mem(store)
    script = str(ROOT / "tests" / "notes" / "syncer.py")
    running = [
        subprocess.Popen(
            [sys.executable, script, str(store), str(root), "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )
        for _ in range(3)
    ]  # fmt: skip
    for number in range(0, 60, 7):
        (root / "memory" / f"note-{number:03}.md").write_text(f"edited meanwhile {number}")
    ended = [process.communicate(timeout=200) for process in running]

    assert [process.returncode for process in running] == [0, 0, 0], ended
    same_as_fresh(open_mem, open_mem(store), root)


def test_threads_that_search_and_edit_at_once(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Four searchers, each of which syncs first, and a writer."""
    root = tmp_path / "w"
    many(root, 20)
    mem = open_mem(tmp_path / "a.db")
    notes = mem.notes(root)

    def write() -> None:
        for number in range(40):
            (root / "memory" / f"note-{number % 20:03}.md").write_text(f"edit {number} about herons")

    def search() -> None:
        for _ in range(10):
            assert notes.search("herons topic") is not None

    together(write, search, search, search)
    same_as_fresh(open_mem, mem, root)


@pytest.mark.sqlite  # the other process opens the file
@pytest.mark.plain_file
def test_a_full_disk_takes_back_the_file_at_work_and_keeps_the_rest(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """The limit of a process' file size stands in for the disk; with room again, the sync goes on."""
    root, store = tmp_path / "w", tmp_path / "a.db"
    many(root, 30)
    with memotherm.open(store, embedder=HashEmbedder()) as mem:
        mem.notes(root).sync()
    many(root, 300)
    code = (
        "import resource, signal, sys, memotherm\n"
        "from memotherm.errors import StoreError\n"
        "from memotherm.testing import HashEmbedder\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "mem = memotherm.open(sys.argv[1], embedder=HashEmbedder())\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000))\n"
        "try: mem.notes(sys.argv[2]).sync(); print('no error')\n"
        "except StoreError as exc: print(type(exc).__name__)\n"
        "found = mem.notes(sys.argv[2]).search('topic')\n"
        "print(found.stale, len(found.hits) > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(store), str(root)],
        capture_output=True, text=True, env=environment(), timeout=200,
    )  # fmt: skip
    told = done.stdout.split()

    assert told[0] in ("StoreFull", "StoreUnavailable"), done
    assert told[1:] == ["True", "True"]
    same_as_fresh(open_mem, open_mem(store), root)


def test_a_sync_that_is_interrupted_goes_on(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """What was done stays done."""
    root = tmp_path / "w"
    many(root, 60)
    mem = open_mem(tmp_path / "a.db")
    notes = mem.notes(root)

    def stop(done: int, total: int) -> None:
        if done * 2 > total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notes.sync(stop)
    half = len(notes.paths())

    assert 30 <= half < 60
    assert len(notes.sync().added) == 60 - half
    same_as_fresh(open_mem, mem, root)
