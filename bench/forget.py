"""ForgetEval by `memotherm bench forget`, with the goals of each set and category."""

from __future__ import annotations

import os
from pathlib import Path

from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm.cli.forgeteval import read_sets, run_sets, shares_of

#: The least share of all cases of a set that pass, and of the cases of a category.
_TARGETS = {"adversarial": 85.0, "templated": 99.8}
_CATEGORY_TARGET = 75.0


def measure(lab: Lab, _options: Options) -> list[Row]:
    """Return the share of cases that pass, by set and category."""
    named = os.environ.get("MEMOTHERM_DATA")
    if named is None or not (Path(named) / "forgeteval").is_dir():
        lab.progress.console.print("forget: no cases; pass --data DIR or set MEMOTHERM_DATA")
        return []
    task = lab.progress.add_task("cases")
    outcomes = run_sets(
        read_sets(Path(named)), lambda done, total: lab.progress.update(task, completed=done, total=total)
    )
    return [
        Row(
            key=f"{name}_{category}", what=f"{name}, {category.replace('_', ' ')}", unit="%",
            value=round(100 * passed / cases, 1), rising=True,
            target=_TARGETS.get(name, 0.0) if category == "all" else _CATEGORY_TARGET,
            notes={"passed": passed, "cases": cases},
        )
        for (name, category), (passed, cases) in shares_of(outcomes).items()
    ]  # fmt: skip
