"""Reading exact lines, and adding lines without ever losing one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput, NoteUnavailable
from memotherm.notes.edits import append
from memotherm.notes.notes import Notes
from memotherm.testing import FakeClock
from tests.helpers import SOURCE, together
from tests.notes.ids import spec


@spec("O24")
def test_forty_and_thirty_are_lines_40_to_69(notes: Notes, workspace: Path) -> None:
    """From a line, so many lines."""
    (workspace / "memory" / "long.md").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    found = notes.get("memory/long.md", 40, 30)

    assert found.text.split("\n") == [f"line {number}" for number in range(40, 70)]
    assert (found.start_line, found.end_line, found.total_lines) == (40, 69, 100)
    assert found.next_line == 70
    assert "31 more lines: go on with get('memory/long.md', 70)" in found.hint
    assert notes.get("memory/long.md").text.split("\n")[-1] == "line 100"
    assert notes.get("memory/long.md").hint == ""
    assert notes.get("memory/long.md", 95, 30).end_line == 100


def test_a_long_answer_is_bounded_and_says_how_to_go_on(notes: Notes, workspace: Path) -> None:
    """Following the hint reads the whole file, each line once."""
    lines = [f"{number} {'x' * 90}" for number in range(1000)]
    (workspace / "memory" / "long.md").write_text("\n".join(lines))
    read: list[str] = []
    place: int | None = 1
    while place is not None:
        found = notes.get("memory/long.md", place)
        assert len(found.text) <= 20_000
        read += found.text.split("\n")
        place = found.next_line

    assert read == lines


def test_a_line_that_is_too_long_is_cut_and_says_so(notes: Notes, workspace: Path) -> None:
    """Ten megabytes do not reach the agent."""
    (workspace / "memory" / "wide.md").write_text("y" * 10_000_000 + "\nnext\n")
    found = notes.get("memory/wide.md")

    assert len(found.text) == 20_000
    assert "was cut after 20,000" in found.hint
    assert notes.get("memory/wide.md", 2).text == "next"


@spec("O34")
def test_a_missing_file_is_empty(notes: Notes) -> None:
    """And so is a range beyond the end."""
    assert notes.get("memory/1999-01-01.md").text == ""
    assert notes.get("memory/2026-01-04.md", 500).text == ""
    assert notes.get("memory/2026-01-04.md", 500).hint == "memory/2026-01-04.md has 4 lines"


@spec("O33")
@pytest.mark.parametrize(
    "path",
    ["../secret.md", "/etc/passwd", "memory/../../secret.md", "memory/..", "README.md", "memory/.hidden.md",
     "memory/notes.txt", "", "memory/\x00.md", "..\\secret.md", "memory/%2e%2e/x.txt"],
)  # fmt: skip
def test_paths_outside_the_notes_are_refused(notes: Notes, path: str) -> None:
    """With a message, whatever they look like."""
    with pytest.raises(InvalidInput):
        notes.get(path)


def test_absolute_paths_inside_the_root_are_fine(notes: Notes, workspace: Path) -> None:
    """Agents like them."""
    assert notes.get(workspace / "MEMORY.md", 3, 1).text == "- The user prefers metric units"
    assert notes.get(str(workspace / "memory" / ".." / "MEMORY.md"), 1, 1).text == "# Memory"


@pytest.mark.parametrize("wrong", [{"from_line": 0}, {"from_line": True}, {"lines": 0}, {"lines": "3"}])
def test_numbers_are_checked(notes: Notes, wrong: dict[str, int]) -> None:
    """Lines are counted from 1."""
    with pytest.raises(InvalidInput, match="whole number"):
        notes.get("MEMORY.md", **wrong)


@spec("O04", "O08")
def test_append_makes_todays_note_and_adds_to_it(notes: Notes, workspace: Path) -> None:
    """Whole lines at the end, and the citation of them."""
    first = notes.append("- deployed v2")
    second = notes.append("- rolled back\n- told the team")

    assert (first.citation, second.citation) == ("memory/2026-01-05.md#L1", "memory/2026-01-05.md#L2-L3")
    assert (workspace / "memory" / "2026-01-05.md").read_text() == "- deployed v2\n- rolled back\n- told the team\n"
    assert notes.get(second.citation).text == "- rolled back\n- told the team"
    assert notes.append("- later", date(2026, 2, 1)).path == "memory/2026-02-01.md"
    assert notes.append("- earlier", "2025-12-31").path == "memory/2025-12-31.md"
    with pytest.raises(InvalidInput, match="not a day"):
        notes.append("x", "yesterday")
    with pytest.raises(InvalidInput, match="empty"):
        notes.append("  ")


@spec("O31", "W38")
def test_append_never_changes_what_is_there(notes: Notes, workspace: Path) -> None:
    """Neither a file without a final line end, nor one that is not UTF-8, nor one with other line ends."""
    for before in (b"no end", b"caf\xe9\r\n", b"", b"x\n\n"):
        file = workspace / "memory" / "2026-01-05.md"
        file.write_bytes(before)
        notes.append("- added")
        after = file.read_bytes()
        assert after.startswith(before)
        assert after[len(before) :] in (b"- added\n", b"\n- added\n")


def test_the_same_block_is_not_written_twice_in_a_row(notes: Notes, workspace: Path) -> None:
    """A flush that is tried again leaves one copy; the same line later on is a line of its own."""
    first = notes.append("- one\n- two")
    again = notes.append("- one\n- two")

    assert not again.written
    assert again.citation == first.citation
    notes.append("- three")
    assert notes.append("- one\n- two").written


@spec("O32")
def test_midnight_is_the_users(open_mem: Callable[..., Memotherm], workspace: Path, clock: FakeClock) -> None:
    """At 23:30 in New York it is the next day in UTC already; the note is that of New York's day."""
    clock.now = datetime(2026, 3, 2, 4, 30, tzinfo=UTC)
    new_york = open_mem(settings={"timezone": "America/New_York"}).notes(workspace)
    tokyo = open_mem(settings={"timezone": "Asia/Tokyo"}).notes(workspace)

    assert new_york.append("a").path == "memory/2026-03-01.md"
    assert tokyo.append("b").path == "memory/2026-03-02.md"
    clock.advance(hours=1)
    assert new_york.append("c").path == "memory/2026-03-02.md"


def test_many_threads_append_without_losing_a_line(notes: Notes, workspace: Path) -> None:
    """Every block is whole."""

    def writes(name: int) -> Callable[[], None]:
        def call() -> None:
            for number in range(20):
                notes.append(f"- {name}/{number} begins\n  {name}/{number} ends")

        return call

    together(*(writes(name) for name in range(4)))
    lines = (workspace / "memory" / "2026-01-05.md").read_text().split("\n")[:-1]

    assert len(lines) == 160
    assert all(lines[place + 1].split() == [lines[place].split()[1], "ends"] for place in range(0, 160, 2))


@spec("O31")
def test_processes_append_at_once_without_losing_a_line(tmp_path: Path) -> None:
    """Between processes too."""
    file = tmp_path / "day.md"
    code = (
        "import sys, pathlib; from memotherm.notes.edits import append\n"
        "for n in range(40): append(pathlib.Path(sys.argv[1]), f'- {sys.argv[2]}/{n} whole line')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    running = [subprocess.Popen([sys.executable, "-c", code, str(file), str(name)], env=env) for name in range(4)]
    for _ in range(10):
        append(file, "- here")
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0, 0]
    lines = file.read_text().splitlines()

    assert sorted(line for line in lines if "/" in line) == sorted(
        f"- {name}/{number} whole line" for name in range(4) for number in range(40)
    )


def test_a_full_disk_leaves_the_note_as_it_was(tmp_path: Path) -> None:
    """The size limit of a process stands in for the disk: the write fails half-way."""
    file = tmp_path / "day.md"
    file.write_text("- safe\n")
    code = (
        "import resource, signal, sys, pathlib\n"
        "from memotherm.notes.edits import append\n"
        "from memotherm.errors import StoreFull\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: append(pathlib.Path(sys.argv[1]), 'x' * 9000)\n"
        "except StoreFull as exc: print(exc)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert "the note is unchanged" in done.stdout, done.stderr
    assert file.read_text() == "- safe\n"


def test_a_note_that_cannot_be_written_says_so(notes: Notes, workspace: Path) -> None:
    """A folder where the file should be."""
    (workspace / "memory" / "2026-01-05.md").mkdir()

    with pytest.raises(NoteUnavailable, match="cannot write"):
        notes.append("- x")
    assert notes.writable
    assert notes.today() == "memory/2026-01-05.md"
