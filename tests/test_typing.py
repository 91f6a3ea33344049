"""What a type checker says about programs that use the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.helpers import ROOT

PROGRAM = """
import memotherm
from memotherm import Memory, NotFound, Session, StoreBusy

mem = memotherm.open("agent.db")
memory: Memory = mem.remember("An otter", tier="hot", priority="critical")
session: Session[memotherm.Memotherm] = mem.session("s1")
text: str = mem.context("otter", format="xml").text

memotherm.opne("agent.db")  # attr-defined
mem.rememberr("An otter")  # attr-defined
memory.contents  # attr-defined
mem.remember("An otter", tier="lukewarm")  # arg-type
mem.prioritize(memory.id, "urgent")  # arg-type
mem.context("otter", format="yaml")  # arg-type
"""


def test_a_type_checker_finds_unknown_names_and_values(tmp_path: Path) -> None:
    """Attributes of the package, the facade and a memory; tiers, priorities and formats."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # With the options and the cache of the project, so that only the program itself is new.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(program)],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "MYPYPATH": "src"}, check=False,
    )  # fmt: skip
    found = {
        (int(line.split("program.py:")[1].split(":")[0]), line.rpartition("[")[2].rstrip("]"))
        for line in done.stdout.splitlines()
        if "program.py:" in line
    }
    expected = {
        (number, line.rpartition("# ")[2]) for number, line in enumerate(PROGRAM.splitlines(), 1) if "  # " in line
    }

    assert found == expected, done.stdout + done.stderr
