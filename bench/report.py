"""The results of a suite: rows with a target, printed as a table and written as JSON."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from memotherm import __version__

__all__ = ["RESULTS", "Row", "print_rows", "record", "write"]

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("numpy", "onnxruntime", "turbovec", "splintr-rs", "PyStemmer")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement with its target."""

    key: str
    what: str
    value: float
    unit: str
    target: float
    #: Whether more is better.
    rising: bool = False
    #: How it was measured, and further numbers.
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether the target was reached."""
        return self.value >= self.target if self.rising else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {**asdict(self), "reached": self.reached}


def record(suite: str, rows: Sequence[Row], **options: object) -> dict[str, Any]:
    """Return the rows of a suite with the conditions of the measurement."""
    return {
        "suite": suite,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": options,
        "machine": machine(),
        "rows": [row.as_json() for row in rows],
    }


def write(suite: str, found: dict[str, Any]) -> Path:
    """Write a suite's record to its file."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{suite}.json"
    path.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    return path


def print_rows(title: str, rows: Sequence[Row]) -> None:
    """Print the rows as a table."""
    table = Table(title=title, title_justify="left")
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("target", justify="right")
    table.add_column("")
    for row in rows:
        sign = "≥" if row.rising else "≤"
        verdict = "[green]pass[/]" if row.reached else "[red]miss[/]"
        table.add_row(row.what, f"{row.value:,.4g} {row.unit}", f"{sign} {row.target:,g} {row.unit}", verdict)
    Console().print(table)


def machine() -> dict[str, Any]:
    """Return what a result depends on beside the code."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "memotherm": __version__,
        "packages": {name: _version(name) for name in _PACKAGES},
        "control_ms": _control(),
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _control() -> float:
    """Return the CPU time of a fixed piece of Python, to compare machines."""
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number & 7
        best = min(best, time.process_time() - started)
    return round(best * 1000, 2)
