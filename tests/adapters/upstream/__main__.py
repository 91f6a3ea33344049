"""Run the tests of our adapters and of their frameworks, and write docs/reference/adapters.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from tests.adapters.upstream.suites import FRAMEWORKS, TOOLS, Framework, Suite

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WORK = Path(sys.prefix) / "adapters"
#: What our own tests need in an environment of a framework.
_OWN = ("pytest", "pytest-timeout", "hypothesis", "psycopg[binary]")


class Outcome(NamedTuple):
    """How many tests passed and failed, and the names of those left out, by reason."""

    passed: int
    failed: int
    left_out: dict[str, list[str]]

    def __str__(self) -> str:
        return f"{self.passed} of {self.passed + self.failed}"


def main() -> int:
    """Run everything; return 1 if a test failed."""
    WORK.mkdir(exist_ok=True)
    pip(sys.executable, "install", "--no-deps", "--target", str(WORK / "site"), "--upgrade", *TOOLS)
    # The source distributions are built to be downloaded.
    pip(sys.executable, "install", "hatchling", "hatch-fancy-pypi-readme")
    rows, left_out, failed = [], [], 0
    for framework in FRAMEWORKS:
        python = environment(framework) if framework.apart else sys.executable
        own = run_own(framework, python)
        theirs = [(suite, run_suite(suite, python)) for suite in framework.suites]
        failed += own.failed + sum(outcome.failed for _, outcome in theirs)
        rows += rows_of(framework, own, theirs)
        left_out += [line for suite, outcome in theirs for line in left_out_of(suite, outcome)]
        sys.stdout.write("\n".join(rows[-max(1, len(theirs)) :]) + "\n")
        sys.stdout.flush()
    (ROOT / "docs" / "reference" / "adapters.md").write_text(page(rows, left_out), "utf-8")
    return 1 if failed else 0


def environment(framework: Framework) -> str:
    """Create the environment of a framework, unless it exists for the same dependencies; return its interpreter."""
    folder = WORK / "environments" / f"{framework.package}-{framework.version}"
    python = str(folder / "bin" / "python")
    ready, dependencies = folder / "ready", (ROOT / "pyproject.toml").read_text("utf-8")
    if not ready.exists() or ready.read_text("utf-8") != dependencies:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip(python, "install", "--editable", str(ROOT), f"{framework.package}=={framework.version}", *_OWN)
        pip(python, "install", "pytest-asyncio")
        ready.write_text(dependencies, "utf-8")
    return python


def run_own(framework: Framework, python: str) -> Outcome:
    """Run our tests of an adapter, and its how-to page."""
    tests = [f"tests/adapters/{framework.tests}.py"]
    tests.append(f"tests/test_docs.py::test_python_blocks_run[docs/how-to/{framework.page}.md]")
    return run_pytest([python, "-m", "pytest", "-q", "-o", "filterwarnings=", *tests], ROOT, dict(os.environ))


def run_suite(suite: Suite, python: str) -> Outcome:
    """Run tests of a framework with our adapter in place of the framework's own class."""
    report = WORK / f"left_out_{suite.plugin}.json"
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), *([str(WORK / "site")] if python == sys.executable else []), "."]),
        "TESTS_LEFT_OUT": json.dumps(suite.left_out),
        "TESTS_LEFT_OUT_REPORT": str(report),
    }
    command = [python, "-m", "pytest", "-q", "-p", "leaving_out", "-p", suite.plugin, "-p", "no:cacheprovider"]
    options = ["--noconftest", "-o", "addopts=", "-o", "asyncio_mode=auto", "-o", "filterwarnings=", *suite.files]
    outcome = run_pytest([*command, *options], source(suite), variables)
    return outcome._replace(left_out=json.loads(report.read_text("utf-8")))


def run_pytest(command: list[str], folder: Path, variables: dict[str, str]) -> Outcome:
    """Run tests; print the output if one failed."""
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    last = done.stdout.splitlines()[-1] if done.stdout.strip() else ""
    counts = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", last)}
    if done.returncode != 0:
        sys.stdout.write(done.stdout + done.stderr)
    failed = counts.get("failed", 0) + counts.get("error", 0)
    return Outcome(counts.get("passed", 0), max(failed, int(done.returncode != 0)), {})


def source(suite: Suite) -> Path:
    """Download the source distribution of a package, and return its folder."""
    name = f"{suite.package.replace('-', '_')}-{suite.version}"
    if not (WORK / name).is_dir():
        wanted = f"{suite.package}=={suite.version}"
        options = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", str(WORK))
        pip(sys.executable, "download", *options, wanted)
        with tarfile.open(WORK / f"{name}.tar.gz") as archive:
            archive.extractall(WORK, filter="data")
    return WORK / name


def pip(python: str, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def rows_of(framework: Framework, own: Outcome, theirs: list[tuple[Suite, Outcome]]) -> list[str]:
    """Return the rows of a framework: one for each suite of its tests."""
    begin = f"| [{framework.name}](../how-to/{framework.page}.md) | {framework.package} {framework.version} | {own} |"
    if not theirs:
        return [f"{begin} none: {framework.without} | |"]
    return [
        f"{begin} {outcome} of {suite.package} (`{suite.plugin}`) | {sum(map(len, outcome.left_out.values()))} |"
        for suite, outcome in theirs
    ]


def left_out_of(suite: Suite, outcome: Outcome) -> list[str]:
    """Return the tests of a suite that were left out, a line for each reason."""
    return [
        f"- {suite.package}, `{suite.plugin}`: {reason}: {', '.join(f'`{name}`' for name in dict.fromkeys(names))}."
        for reason, names in outcome.left_out.items()
    ]


def page(rows: list[str], left_out: list[str]) -> str:
    return "\n".join(
        [
            "# Adapters",
            "",
            "`make adapters` runs our own tests of each adapter and the program on its page, then the tests",
            "of the framework with our class in place of theirs, and writes this page.",
            "",
            "| framework | version | ours passed | theirs passed | theirs left out |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## Tests that were left out",
            "",
            *left_out,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
