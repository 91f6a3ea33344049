"""The audit has a check and a fault for every line of the source documents, and a part of it is run here."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path

import pytest

from memotherm.settings import FIELDS
from tests.interfaces.served import served
from tests.spec.audit import faults
from tests.spec.audit.__main__ import main
from tests.spec.audit.faults import FAULTS, located
from tests.spec.audit.running import TIGHT, Interfaces, run, run_broken
from tests.spec.audit.table import DECISIONS, LINES, checks

#: The interfaces that the checks of each line ask.
_OF_LINE = {line: set().union(*(check.interfaces for check in checks() if line in check.ids)) for line in LINES}
#: The lines whose faults need no process.
_FAST = [line for line in FAULTS if _OF_LINE[line] == {"python"}]


def test_every_line_has_a_check() -> None:
    """A line that no check names fails here, and so does a check of a line that does not exist."""
    assert {line for check in checks() for line in check.ids} == set(LINES)


def test_every_decision_that_a_check_names_is_written_down() -> None:
    """The table tells what was decided instead of the wording of a line."""
    assert {decision for check in checks() for decision in check.decisions.values()} <= set(DECISIONS)


def test_every_line_has_a_fault_of_its_own() -> None:
    """No two lines have the same; `python -m tests.spec.audit --faults` applies all of them."""
    assert set(FAULTS) == set(LINES)
    breaks = Counter(made for module in _tables() for made in module)
    assert len(breaks) == len(LINES), [made for made, times in breaks.items() if times > 1]


def _tables() -> list[list[str]]:
    """Return the expressions in the table of faults of each document."""
    modules = (faults.hot_warm_cold, faults.priorities, faults.sessions, faults.retention, faults.notes)
    bodies = [ast.parse(inspect.getsource(module)).body for module in modules]
    tables = [each.value for body in bodies for each in body if isinstance(each, ast.AnnAssign)]
    return [[ast.unparse(made) for made in table.values] for table in tables if isinstance(table, ast.Dict)]


def test_every_fault_changes_the_product() -> None:
    """A fault whose place is gone would break nothing, and one of the checks' own helpers would prove nothing."""
    for place in {place for fault in FAULTS.values() for place in fault}:
        assert place.startswith("memotherm.")
        located(place)


def test_the_server_with_small_limits_has_settings_that_exist() -> None:
    """It does not start with others, and then every check that asks it fails."""
    assert {name.removeprefix("MEMOTHERM_").lower() for name in TIGHT} <= set(FIELDS)


@pytest.mark.parametrize("line", _FAST)
def test_a_check_notices_a_product_without_its_line(line: str, tmp_path: Path) -> None:
    """A check that passes all the same cannot fail, and one that fails because of a crash proves nothing."""
    outcomes = run_broken(line, checks(), tmp_path)
    assert [outcome.failure for outcome in outcomes if outcome.failure and not outcome.crashed], outcomes


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
