"""Run the tests of other frameworks with our adapters, and write docs/reference/adapters.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WORK = Path(sys.prefix) / "adapters"
TOOLS = (
    "pytest-asyncio",
    "pytest-mock",
    "pytest-retry",
    "langgraph-checkpoint-sqlite==3.1.2",
    "sqlite-vec",
    "aiosqlite",
)

_INSIDE = "looks inside the other store"
_DISK = "looks at files on a disk"


class Suite(NamedTuple):
    """The tests of a package, and those left out: a text of their source, and the reason."""

    adapter: str
    package: str
    version: str
    plugin: str
    files: tuple[str, ...]
    left_out: dict[str, str]


SUITES = (
    Suite("`MemothermStore`", "langgraph-checkpoint", "4.3.1", "langgraph_memory", ("tests/test_store.py",), {}),
    Suite(
        "`MemothermStore`",
        "langgraph-checkpoint-sqlite",
        "3.1.2",
        "langgraph_sqlite",
        ("tests/test_store.py", "tests/test_ttl.py", "tests/test_async_store.py"),
        {
            "store.conn": _INSIDE,
            "MIGRATIONS": _INSIDE,
            "def test_sql_injection_vulnerability": "asks that some names of fields are refused; ours takes all",
            "def test_filter_keys_with_hyphens": "uses dotted names for nested fields, which only that store knows",
            "def test_no_running_loop": "asks that calls from an event loop fail; ours serves both",
        },
    ),
    Suite(
        "`MemothermMemoryTool`",
        "anthropic",
        "2.8.0",
        "anthropic_store",
        ("tests/lib/tools/memory_tools/test_filesystem.py",),
        {"base_path": _DISK, "memory_root": _DISK},
    ),
    Suite(
        "`NotesMemoryTool`",
        "anthropic",
        "2.8.0",
        "anthropic_notes",
        ("tests/lib/tools/memory_tools/test_filesystem.py",),
        {},
    ),
)


def main() -> int:
    """Run all suites; return 1 if a test failed."""
    WORK.mkdir(exist_ok=True)
    pip("install", "--no-deps", "--target", str(WORK / "site"), "--upgrade", *TOOLS)
    # The source distributions are built to be downloaded.
    pip("install", "hatchling", "hatch-fancy-pypi-readme")
    rows, failed = [], 0
    for suite in SUITES:
        passed, failures, left = run(suite)
        failed += failures
        reasons = "; ".join(dict.fromkeys(suite.left_out.values())) or "none"
        tests = f"{suite.package} {suite.version} | {passed} of {passed + failures}"
        rows.append(f"| {suite.adapter} | {tests} | {left} | {reasons} |")
        sys.stdout.write(rows[-1] + "\n")
    (ROOT / "docs" / "reference" / "adapters.md").write_text(page(rows), "utf-8")
    return 1 if failed else 0


def run(suite: Suite) -> tuple[int, int, int]:
    """Return how many tests passed, failed and were left out."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(WORK / "site"), "."]),
        "TESTS_LEFT_OUT": "\n".join(suite.left_out),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "leaving_out", "-p", suite.plugin, "-p", "no:cacheprovider"]
    options = ["--noconftest", "-o", "addopts=", "-o", "asyncio_mode=auto", "-o", "filterwarnings=", *suite.files]
    done = subprocess.run(
        [*command, *options], cwd=source(suite), env=environment, capture_output=True, text=True, check=False
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    if "passed" not in counts or counts.get("failed") or counts.get("errors"):
        sys.stdout.write(done.stdout + done.stderr)
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("errors", 0), counts.get("deselected", 0)


def source(suite: Suite) -> Path:
    """Download the source distribution of a package, and return its folder."""
    name = f"{suite.package.replace('-', '_')}-{suite.version}"
    if not (WORK / name).is_dir():
        wanted = f"{suite.package}=={suite.version}"
        pip("download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", str(WORK), wanted)
        with tarfile.open(WORK / f"{name}.tar.gz") as archive:
            archive.extractall(WORK, filter="data")
    return WORK / name


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def page(rows: list[str]) -> str:
    return "\n".join(
        [
            "# Adapters",
            "",
            "The tests of the frameworks, run with our [LangGraph store](../how-to/langgraph.md)",
            "and [memory tools](../how-to/anthropic.md).",
            "`make adapters` runs them and writes this page.",
            "",
            "| adapter | tests of | passed | left out | reasons for leaving out |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
