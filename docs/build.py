"""Generate the reference pages and the tables of measurements: `make docs`. A test compares them with the files."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from memotherm import errors
from memotherm.memory import Memotherm
from memotherm.notes import Notes
from memotherm.session import Session
from memotherm.settings import GROUPS

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "bench" / "results"

#: How the evaluation sets are called in the tables, long and short, in their order there.
_SETS = {
    "locomo": ("LoCoMo turns", "LoCoMo"),
    "agent_notes/question": ("agent notes, as asked", "notes as asked"),
    "agent_notes/requery": ("agent notes, re-queried", "notes re-queried"),
    "longmemeval": ("LongMemEval sessions, 500 characters", "LongMemEval"),
    "longmemeval_oracle": ("LongMemEval full-text turns", "full-text turns"),
    "memoryagentbench_cr/455 facts": ("conflicting facts, 455 facts", "455 facts"),
    "memoryagentbench_cr/2310 facts": ("conflicting facts, 2310 facts", "2310 facts"),
    "precisionmembench": ("PrecisionMemBench beliefs", "PrecisionMemBench"),
    "scifact": ("SciFact abstracts", "SciFact"),
}
_OURS = "memotherm"
_MEASURES = ("any@1", "any@5", "all@5", "any@10", "nDCG@10", "MRR")

_SETTINGS_HEAD = """\
# Settings

Every setting with its default, by concern.
Values come from, in order of precedence:

1. arguments: `memotherm.open(..., settings={"hot_token_limit": 60})`
2. the environment: `MEMOTHERM_HOT_TOKEN_LIMIT=60`
3. the project's file: `memotherm.toml`, or `[tool.memotherm]` in `pyproject.toml`,
   in the working directory or above it
4. your own `config.toml`
5. these defaults

0 means 0, never "the default".
An unknown name is an error.
`memotherm config show --origin` prints every value and where it comes from.

A project's file may come with a cloned repository, so it may set only what the column "project" allows:
how memories are written, ranked, packed and moved between tiers, which the ledger records and `undo` reverts.
It may not set where memories are stored or sent, who can reach them, what is hidden, erased or logged,
what an agent is instructed to do, or the resources of your machine.
A file that does is refused as a whole, with an error that names the settings.
Set `MEMOTHERM_TRUST_PROJECT=1`, or `trust_project = true` in your own `config.toml`, to allow everything.

"""
_ERRORS_HEAD = """\
# Errors

Every error of Memotherm is a subclass of `MemothermError` and has a stable `code`.
Messages say what to do. Interfaces translate codes, never messages.

"""
_PYTHON_HEAD = """\
# Python

`memotherm.open(url)` returns a `Memotherm`;
`async with memotherm.aopen(url) as mem` returns an `AsyncMemotherm` with the same methods as coroutines.
Values (`Memory`, `Hit`, `Recall`, `Move`, `Event`, `EventPage`, `Page`, `Status`, `ScopeCount`, `Why`, `Problem`,
`Context`, `Receipt`, `KeptReceipt`, `KeptEntry`, `ReceiptPage`, ...)
are frozen; change one with `dataclasses.replace`.
`Tier`, `Priority` and `Retention` are string enums: `str(memory.tier) == "hot"`.

"""


def settings_page() -> str:
    """Return a table of settings for each group, from their declarations."""
    sections = []
    for title, group in GROUPS.items():
        rows = [
            f"| `{declared.name}` | {_default(declared.default)} | {_allowed(declared.metadata['project'])} "
            f"| {declared.metadata['description']} |"
            for declared in fields(group)
        ]
        table = "| setting | default | project | description |\n|---|---|---|---|\n" + "\n".join(rows)
        sections.append(f"## {title}\n\n{inspect.getdoc(group)}\n\n{table}\n")
    return _SETTINGS_HEAD + "\n".join(sections)


def _allowed(project: bool | tuple[str, ...]) -> str:
    """Return what a project's settings file may set without trust."""
    if isinstance(project, bool):
        return "yes" if project else "no"
    return ", ".join(f"`{value}`" for value in project if value) + " only"


def _default(value: object) -> str:
    if value == "" or value == ():
        return "(none)"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def errors_page() -> str:
    """Return the tree of errors and what each one means."""
    tree = inspect.getdoc(errors) or ""
    drawn = "\n".join(line for line in tree.splitlines() if line.startswith("    "))
    classes = [getattr(errors, name) for name in errors.__all__]
    rows = [
        f"| `{each.__name__}` | `{each.code}` | {(inspect.getdoc(each) or '').splitlines()[0]} |" for each in classes
    ]
    table = "| error | code | when |\n|---|---|---|\n" + "\n".join(rows)
    return f"{_ERRORS_HEAD}```text\n{inspect.cleandoc(drawn)}\n```\n\n{table}\n"


def python_page() -> str:
    """Return every public verb with its signature and its first sentence."""
    sections = []
    for title, owner in (("The memory", Memotherm), ("A session", Session), ("Notes", Notes)):
        entries = [_entry(name, method) for name, method in _verbs(owner)]
        about = (inspect.getdoc(owner) or "").splitlines()[0]
        sections.append(f"## {title}\n\n{about}\n\n" + "\n".join(entries))
    return _PYTHON_HEAD + "\n".join(sections)


def _verbs(owner: type) -> Iterator[tuple[str, object]]:
    for name, method in vars(owner).items():
        if not name.startswith("_") and inspect.isfunction(method):
            yield name, method


def _entry(name: str, method: object) -> str:
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(method).parameters.values()  # type: ignore[arg-type]
        if parameter.name != "self"
    ]
    signature = str(inspect.Signature(shown)).replace("<Priority.NORMAL: 'normal'>", "'normal'")
    signature = re.sub(r"<\w+\.\w+: ('\w+')>", r"\1", signature)
    doc = inspect.getdoc(method) or ""
    lines = [f"### `{name}{signature}`", "", _paragraphs(doc)]
    listed = doc.partition("Args:\n")[2]
    arguments = re.findall(r"^    (\w+): ((?:.|\n        )+?)(?=\n    \w|\n*\Z)", listed, re.MULTILINE)
    lines += [f"- `{argument}`: {' '.join(text.split())}" for argument, text in arguments]
    return "\n".join([*lines, ""])


def _paragraphs(doc: str) -> str:
    description = doc.partition("Args:\n")[0].strip()
    return "\n\n".join(" ".join(part.split()) for part in description.split("\n\n")) + "\n"


def evaluation_page() -> str:
    """Return the page on evaluation with the tables of what was measured last; the text around them stays."""
    page = (DOCS / "evaluation.md").read_text("utf-8")
    for name, table in (("results", _quality_table()), ("ablation", _ablation_table())):
        marked = re.compile(f"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        page, found = marked.subn(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", page)
        if found != 1:
            raise ValueError(f"evaluation.md has no place for the table of {name}")
    return page


def _quality_table() -> str:
    measured = json.loads((RESULTS / "quality.json").read_text("utf-8"))
    rows = {row["key"]: row["notes"] for row in measured["rows"]}
    lines = [f"| set | N | ranking | {' | '.join(_MEASURES)} |", "|---|---:|---" + "|---:" * len(_MEASURES) + "|"]
    for key, (title, _) in _SETS.items():
        found = rows[key]
        lines.append(f"| {title} | {found['n']} | **{_OURS}** | {_measures(found['rankings'][_OURS])} |")
        for lead in (found["lead"], found["lead_over_our_words"]):
            best = lead["over"]
            between = f"{lead['nDCG@10']:+.3f} [{lead['low']:+.3f}, {lead['high']:+.3f}]"
            lines += [
                f"| | | best control: {best} | {_measures(found['rankings'][best])} |",
                f"| | | our lead in nDCG@10 | | | | | {between} | |",
            ]
    return "\n".join(lines) + "\n"


def _measures(values: dict[str, float]) -> str:
    return " | ".join(f"{values[name]:.3f}".removeprefix("0") for name in _MEASURES)


def _ablation_table() -> str:
    measured = json.loads((RESULTS / "ablation.json").read_text("utf-8"))
    sets: dict[str, dict[str, Any]] = {each["set"]: each["left_out"] for each in measured["sets"]}
    head = f"| left out | {' | '.join(short for _, short in _SETS.values())} |"
    ideas = next(iter(sets.values()))
    rows = [f"| {idea} | {' | '.join(_change(sets[key][idea]) for key in _SETS)} |" for idea in ideas]
    return "\n".join([head, "|---" + "|---:" * len(_SETS) + "|", *rows]) + "\n"


def _change(found: dict[str, float]) -> str:
    """Return what leaving out an idea changes; a star where that cannot be chance."""
    change = found["nDCG@10"]
    if abs(change) < 0.0005:
        return "0"
    sure = "*" if found["low"] > 0 or found["high"] < 0 else ""
    return f"{change:+.3f}".replace("0.", ".", 1) + sure


#: File -> what it should say.
PAGES = {
    "reference/settings.md": settings_page,
    "reference/errors.md": errors_page,
    "reference/python.md": python_page,
    "evaluation.md": evaluation_page,
}


def main() -> None:
    """Write every page."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
