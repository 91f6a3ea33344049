"""Run every test of a fault, the random ones with many more tries, and write what held: `make torture`.

`TORTURE_KILLS` sets the kills of a writer; the other random faults follow it. A test that is not random is
repeated as often as the table says. The result is printed and, unless the run is of some tests only, written to
`docs/reference/torture.md`.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "torture.md"
#: Where the part of the page begins that `make siege` writes.
SIEGE = "\n## Siege\n"
#: The longest time of one test, so that a run ends.
_MOST_SECONDS = 1800


class Fault(NamedTuple):
    """A fault, and the tests that cause it."""

    name: str
    tests: tuple[str, ...]
    #: How often each test is run.
    times: int = 1


FAULTS = (
    Fault("kill -9 of a writer", ("test_crash.py::test_a_killed_writer",)),
    Fault("kill -9 of threads that commit together", ("storage/test_writer.py::test_a_kill",), 10),
    Fault("kill -9 while a store is created", ("test_crash.py::test_a_kill_while_a_store_is_created",)),
    Fault("kill -9 during a change of embedder", ("test_crash.py::test_a_kill_during_reembed",)),
    Fault("kill -9 during a sync of notes", ("notes/test_chaos.py::test_killed_in_mid_sync",)),
    Fault("kill -9 of a PostgreSQL server", ("storage/test_postgres.py::test_a_server_killed_during_writes",), 3),
    Fault("SIGSTOP of a writer", ("test_faults.py::test_a_stopped_writer",)),
    Fault("a full disk", ("test_bad_input.py::test_a_full_disk", "test_bad_input.py::test_a_limit_on_file_size",
                          "notes/test_chaos.py::test_a_full_disk"), 3),
    Fault("a fork with an open store", ("test_forks.py",), 3),
    Fault("files moved, replaced or deleted", ("storage/test_moved_files.py",), 5),
    Fault("cut PostgreSQL connections", ("test_faults.py::test_cut_connections",
                                         "storage/test_postgres.py::test_connections_that_were_cut")),
    Fault("a clock that jumps", ("test_faults.py::test_a_clock_that_jumps", "test_clock_jumps.py")),
    Fault("a corrupt, missing or stale vector cache", ("storage/test_sqlite.py::test_a_damaged_cache",
        "storage/test_sqlite.py::test_a_missing_cache", "storage/test_sqlite.py::test_a_cache_with_a_changed_byte",
        "storage/test_sqlite.py::test_the_cache_of_"), 5),
    Fault("a damaged or shortened store", ("test_bad_input.py::test_a_damaged_file",
                                           "test_bad_input.py::test_a_file_cut_short"), 3),
    Fault("a backup copied over a store with its log", ("storage/test_sqlite.py::test_a_copy_over_a_store",), 3),
    Fault("a pool of one PostgreSQL connection", ("storage/test_small_pool.py",), 2),
    Fault("a follower of the ledger beside open transactions", ("storage/test_postgres.py::test_a_follower",), 3),
    Fault("the settings of a cloned project", ("test_settings.py::test_a_project_can",
          "test_settings.py::test_no_setting", "interfaces/test_rest.py::test_a_cloned_project")),
    Fault("jobs of hooks: other folders, broken settings, stores that cannot be reached", (
          "interfaces/test_hooks.py::test_a_job", "interfaces/test_hooks.py::test_jobs",
          "interfaces/test_hooks.py::test_a_worker_uses", "interfaces/test_hooks.py::test_a_store_that_cannot",
          "interfaces/test_hooks.py::test_a_broken_settings_file")),
    Fault("the answers of a warmed process against those of a fresh one", ("properties/test_repeatable.py",)),
    Fault("newer versions of SQLite", ("storage/test_new_sqlite.py",)),
    Fault("the permissions of files", ("test_private_files.py",)),
    Fault("thousands of different scopes", ("storage/test_sqlite.py::test_a_store_with_many",)),
    Fault("a restore of what was purged", ("spec/test_retention_and_query.py::test_a_restore",)),
    Fault("forged and hidden markers", ("test_marker.py", "test_context.py::test_a_forged_marker")),
    Fault("long answers over MCP", ("interfaces/test_mcp.py::test_an_answer_has_a_limit",
          "interfaces/test_mcp.py::test_metadata_tags")),
    Fault("bad lines and front matter in imports", ("notes/test_importing.py::test_an_entry_that",
          "notes/test_importing.py::test_front_matter", "notes/test_importing.py::test_lines_that")),
    Fault("time as a sign of what another tenant has", ("test_tenants.py::test_one_tenant_does_not_learn",)),
    Fault("folders with the names of scopes", ("interfaces/test_hooks.py::test_the_name_of_a_folder",)),
    Fault("an embedder or splitter that fails", ("test_embedder_errors.py",)),
    Fault("traces of what was purged", ("test_erasing.py", "storage/test_interleaving.py::test_uses_that_are_logged",
          "storage/test_sqlite.py::test_a_purged_vector")),
    Fault("duplicates, circles and sources of others", ("test_changes.py::test_an_update_a_restore",
          "test_changes.py::test_memories_that_supersede", "test_changes.py::test_only_a_sync")),
    Fault("a stuck reader, slow requests, control sequences", ("storage/test_sqlite.py::test_the_log_shrinks",
          "interfaces/test_keys.py::test_a_body_that", "interfaces/test_keys.py::test_headers_that_never_end",
          "interfaces/test_commands.py::test_control_sequences")),
    Fault("credentials in what is captured", ("test_redaction.py", "interfaces/test_hooks.py::test_secrets")),
    Fault("a wrong key, a changed byte, a trace of text in an encrypted store", ("test_encryption.py",)),
    Fault("a server killed between a change and its response", (
          "interfaces/test_idempotency.py::test_a_server_that_is_killed",)),
)  # fmt: skip


class Record:
    """A pytest plugin that selects and repeats the tests, and counts tries and failures of each fault."""

    def __init__(self, faults: Sequence[Fault] = FAULTS) -> None:
        self._faults = faults
        self.tries: dict[str, int] = defaultdict(int)
        self.failed: dict[str, list[str]] = defaultdict(list)
        #: The worst numbers that tests have measured.
        self.worst: dict[str, list[str]] = defaultdict(list)
        self.began = time.monotonic()

    def fault_of(self, test: str) -> Fault | None:
        """Return the fault that a test causes."""
        name = test.removeprefix("tests/")
        return next((fault for fault in self._faults if name.startswith(fault.tests)), None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Repeat a test, as a parameter of it."""
        fault = self.fault_of(metafunc.definition.nodeid)
        if fault is not None and fault.times > 1:
            metafunc.fixturenames.append("_time")
            metafunc.parametrize("_time", range(fault.times))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the tests of these files that cause no fault."""
        items[:] = [item for item in items if self.fault_of(item.nodeid) is not None]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the tries of a test, one unless it says how many, and its failure."""
        fault = self.fault_of(report.nodeid)
        assert fault is not None
        if report.when == "call" and not report.skipped:
            told = dict(report.user_properties)
            self.tries[fault.name] += int(str(told.get("tries", 1)))
            if "worst" in told:
                store = "PostgreSQL: " if report.nodeid.endswith("[postgres]") else ""
                self.worst[fault.name].append(f"{store}{told['worst']}")
        if report.failed:
            self.failed[fault.name].append(report.nodeid.partition("::")[2])


def page(record: Record) -> str:
    """Return the page of the result."""
    rows = [f"| {fault.name} | {record.tries[fault.name]:,} | {result(record, fault)} |" for fault in FAULTS]
    return "\n".join(
        [
            "# Faults",
            "",
            "`make torture` causes each fault again and again, on real files, processes and servers.",
            "A fault holds when no acknowledged write is lost, nothing is half-written, `check()` finds no problem,",
            "and every failed call raises an error that says what to do.",
            run_line(record),
            "",
            "| fault | tries | result |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )  # fmt: skip


def run_line(record: Record) -> str:
    """Return what the run was."""
    kills, minutes = int(os.environ["TORTURE_KILLS"]), (time.monotonic() - record.began) / 60
    return f"This run killed a writer {kills:,} times and took {minutes:.0f} minutes."


def result(record: Record, fault: Fault) -> str:
    """Return what became of a fault."""
    if record.failed[fault.name]:
        return "fails: " + ", ".join(f"`{name}`" for name in sorted(set(record.failed[fault.name])))
    return "holds" if record.tries[fault.name] else "not run on this machine"


def run(faults: Sequence[Fault], *options: str) -> tuple[Record, int]:
    """Run the tests of faults, and return what became of them and the exit code."""
    files = sorted({f"tests/{test.partition('::')[0]}" for fault in faults for test in fault.tests})
    record = Record(faults)
    code = pytest.main(["-q", "-n", "0", "--timeout", str(_MOST_SECONDS), *options, *files], plugins=[record])
    return record, int(code)


def write(torture: str | None = None, siege: str | None = None) -> None:
    """Write one part of the page, and leave the other one as it is."""
    first, _, second = PAGE.read_text("utf-8").partition(SIEGE)
    PAGE.write_text(f"{torture or first}{SIEGE}{siege or second}", encoding="utf-8")


def main() -> int:
    """Run all faults, print and write the table."""
    record, code = run(FAULTS, *sys.argv[1:])
    text = page(record)
    sys.stdout.write("\n" + text)
    if not sys.argv[1:]:
        write(torture=text)
    return code


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ.setdefault("TORTURE_KILLS", "1000")
    sys.exit(main())
