"""The table of an audit, as text, JSON and a page of the docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.spec.audit.running import Outcome
from tests.spec.audit.table import DECISIONS, LINES

__all__ = ["page", "rows", "text"]

Outcomes = Mapping[str, Sequence[Outcome]]

_NAMES = {"rest": "REST", "tight": "REST", "mcp": "MCP", "all_tools": "MCP", "one_tool": "MCP", "notes": "MCP",
          "cli": "CLI", "hook": "hook", "python": "Python"}  # fmt: skip
_DOCUMENTS = {
    "H": "Hot, warm and cold, and the rules of compaction",
    "E": "Priorities",
    "C": "The working memory of sessions",
    "M": "Tiers, retention and queries",
    "O": "Markdown notes: flush, index and search",
}
_HEAD = """\
# Specification

Memotherm is specified by five documents of other programs, split into lines that can be checked.
`make audit` runs a check for each of them on SQLite and on PostgreSQL and writes this page.
A check uses only the interfaces in the table: commands and hooks in processes of their own, an MCP client over standard
input and output, a running HTTP server, or the Python package.
The product is a command: `make audit WHEEL=1` asks a wheel that is installed outside the source tree.
`python -m tests.spec.audit --url http://127.0.0.1:8077` asks a running server what HTTP alone can ask.
`python -m tests.spec.audit --faults` breaks the product once for each line, on both stores, and prints how a check of
that line notices it. A check that fails because the broken product does not start has noticed nothing.
"OK" means that the line holds as it is written; "by decision" that the documents disagree, or that the line needs an
interpretation, and what holds is the decision in the last table.
In that table 000 to 004 are the documents, in the order of this page.

"""


def rows(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return a row for each line that was checked."""
    by_id: dict[str, dict[str, Any]] = {}
    for store, found in outcomes.items():
        for outcome in found:
            for line in outcome.check.ids:
                row = by_id.setdefault(line, _row(line))
                row["interfaces"] = sorted({*row["interfaces"], *(_NAMES[name] for name in outcome.check.interfaces)})
                row[store] = _worse(row.get(store), outcome.result(line))
                if outcome.failure:
                    row["reason"] = outcome.failure
    return [by_id[line] for line in LINES if line in by_id]


def text(outcomes: Outcomes) -> str:
    """Return the table as text, and the totals."""
    found = rows(outcomes)
    lines = [
        f"{row['id']}  {'/'.join(row['interfaces']):<14} "
        f"{'  '.join(f'{store}: {row[store]}' for store in outcomes if store in row)}  {row['line']}"
        + (f"\n     {row['reason']}" if row["reason"] else "")
        for row in found
    ]
    return "\n".join([*lines, "", *_totals(found, list(outcomes))]) + "\n"


def page(outcomes: Outcomes) -> str:
    """Return the page of the docs."""
    found = rows(outcomes)
    parts = [_HEAD, "\n".join(f"- {total}" for total in _totals(found, list(outcomes))), "\n"]
    for letter, title in _DOCUMENTS.items():
        own = [row for row in found if row["id"].startswith(letter)]
        parts.append(f"\n## {title}\n\n| id | line | interface | {' | '.join(outcomes)} |\n|---|---|---|")
        parts.append("---|" * len(outcomes) + "\n")
        for row in own:
            results = " | ".join(row.get(store, "not run") for store in outcomes)
            parts.append(f"| {row['id']} | {_cell(row['line'])} | {', '.join(row['interfaces'])} | {results} |\n")
    parts.append("\n## Decisions\n\n| id | conflict | decision |\n|---|---|---|\n")
    for number, decision in DECISIONS.items():
        conflict, decided = decision.split(" | ")
        parts.append(f"| {number} | {_cell(conflict)} | {_cell(decided)} |\n")
    return "".join(parts) + differences()


def differences() -> str:
    """Return the examples of the documents that the tests run in another form."""
    rows = (Path(__file__).parents[1] / "examples" / "differences.txt").read_text("utf-8").splitlines()
    head = (
        "\n## Examples that differ\n\nThe other examples and test cases of the documents are run as they are written."
    )
    return head + "\n\n| example | difference |\n|---|---|\n" + "".join(f"| {row} |\n" for row in rows)


def _row(line: str) -> dict[str, Any]:
    return {"id": line, "line": LINES[line], "interfaces": [], "reason": ""}


def _worse(first: str | None, second: str) -> str:
    """Return the result of a line with several checks: a failure, else a decision, else OK if one was asked."""
    order = ("not asked", "OK", "by decision", "FAIL")
    return max(first or second, second, key=lambda result: order.index(result.partition(" D")[0]))


def _totals(found: Sequence[Mapping[str, Any]], stores: Sequence[str]) -> list[str]:
    totals = []
    for store in stores:
        results = [row[store] for row in found if store in row]
        decided = sum(result.startswith("by") for result in results)
        failed = results.count("FAIL")
        unasked = f", {results.count('not asked')} not asked" if "not asked" in results else ""
        totals.append(f"{store}: {results.count('OK')} OK, {decided} by decision, {failed} failed{unasked}")
    return totals


def _cell(sentence: str) -> str:
    return sentence.replace("|", "\\|")
