"""The audit has a check for every line of the source documents, and a part of it is run here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.served import served
from tests.spec.audit.__main__ import main
from tests.spec.audit.faults import FAULTS, located
from tests.spec.audit.line_faults import LINE_FAULTS
from tests.spec.audit.running import Interfaces, run, unnoticed
from tests.spec.audit.table import DECISIONS, LINES, checks

_ASKED = {check.function.__name__: set(check.interfaces) for check in checks()}
#: The interfaces that the checks of each line ask.
_OF_LINE = {line: set().union(*(check.interfaces for check in checks() if line in check.ids)) for line in LINES}
#: Lines that have a check to themselves, and with it the fault of that check.
_ALONE = {line for check in checks() if len(check.ids) == 1 for line in check.ids}
#: Lines that share a check and have no fault of their own yet.
_SHARED = {"H26", "H28", "H29", "E15", "E34", "E37", "O14", "O21", "O25", "O36", "O37", "O43"}
#: The faults that need no process.
_FAST = [
    *(fault for fault, (_, names) in FAULTS.items() if all(_ASKED[name] == {"python"} for name in names.split())),
    *(line for line in LINE_FAULTS if _OF_LINE[line] == {"python"}),
]


def test_every_line_has_a_check() -> None:
    """A line that no check names fails here, and so does a check of a line that does not exist."""
    assert {line for check in checks() for line in check.ids} == set(LINES)


def test_every_decision_that_a_check_names_is_written_down() -> None:
    """The table tells what was decided instead of the wording of a line."""
    assert {decision for check in checks() for decision in check.decisions.values()} <= set(DECISIONS)


def test_every_check_has_a_fault_that_it_must_notice() -> None:
    """`python -m tests.spec.audit --faults` applies all of them."""
    assert {name for _, names in FAULTS.values() for name in names.split()} == set(_ASKED)


def test_every_line_has_a_fault_of_its_own() -> None:
    """Alone in a check, or in the table of lines; the few others are listed here."""
    assert set(LINES) - _ALONE - set(LINE_FAULTS) == _SHARED


def test_every_fault_changes_the_product() -> None:
    """A fault whose place is gone would break nothing, and one of the checks' own helpers would prove nothing."""
    for make in (*(make for make, _ in FAULTS.values()), *LINE_FAULTS.values()):
        for place in make():
            assert place.startswith("memotherm.")
            located(place)


@pytest.mark.parametrize("fault", _FAST)
def test_checks_notice_a_broken_product(fault: str, tmp_path: Path) -> None:
    """A check that passes all the same cannot fail."""
    assert unnoticed(fault, checks(), tmp_path) == []


def test_a_running_server_is_asked_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines that need another interface are reported as not asked."""
    with served(tmp_path / "memory.db", MEMOTHERM_EMBEDDER="local") as server:
        for _ in range(2):
            assert main(["--url", server.url, "C02", "C40", "M23"]) == 0
    said = capsys.readouterr().out
    assert said.count("C02  CLI/MCP/Python/REST server: OK") == 2
    with pytest.raises(SystemExit, match="no server answers"):
        main(["--url", "http://127.0.0.1:9", "C40", "O10"])


def test_lines_of_each_document_hold_over_http_and_mcp(tmp_path: Path) -> None:
    """One server and one MCP process answer the checks that need nothing else; `make audit` runs all of them."""
    with Interfaces(tmp_path) as interfaces:
        outcomes = list(run([check for check in checks() if check.fast], interfaces))

    assert {outcome.check.ids[0][0] for outcome in outcomes} == {"H", "E", "C", "M", "O"}
    assert [(outcome.check.ids, outcome.failure) for outcome in outcomes if outcome.failure] == []
