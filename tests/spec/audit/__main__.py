"""Run the audit: `python -m tests.spec.audit`, or `make audit` for both stores and the page of the docs.

The product is a command, run as it is installed; checks of the Python package import it from this interpreter.
With `--url` it is a running server, which is asked over HTTP, in projects of its own; it needs the local embedder.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.interfaces.served import COMMAND, Server
from tests.postgres import server
from tests.spec.audit.faults import FAULTS
from tests.spec.audit.report import page, rows, text
from tests.spec.audit.running import Interfaces, Outcome, run, run_broken
from tests.spec.audit.table import Check, checks


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks on each store, print the table, and return 1 if a line fails."""
    options = _parser().parse_args(arguments)
    if options.faults and options.url:
        _parser().error("--faults starts the products that it breaks: leave out --url")
    stores = ("server",) if options.url else options.store or ("sqlite", "postgresql")
    if options.faults:
        return int(_unnoticed(options.only, stores))
    wanted = [check for check in checks() if not options.only or set(check.ids) & set(options.only)]
    with ThreadPoolExecutor(len(stores)) as pool:
        outcomes = dict(zip(stores, pool.map(lambda store: _audited(store, wanted, options), stores), strict=True))
    if options.output is not None:
        options.output.write_text(page(outcomes), "utf-8")
    sys.stdout.write(json.dumps(rows(outcomes), indent=2) + "\n" if options.json else text(outcomes))
    return int(any(outcome.failure for found in outcomes.values() for outcome in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.spec.audit", description=__doc__)
    parser.add_argument("--store", action="append", choices=("sqlite", "postgresql"), help="default: both")
    parser.add_argument(
        "--command", type=shlex.split, default=COMMAND, help="the product; default: this interpreter's `-m memotherm`"
    )
    parser.add_argument("--url", help="a running server instead; lines that HTTP alone cannot ask are not asked")
    parser.add_argument("--key", help="an API key of the server")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--output", type=Path, help="write the table as Markdown to this file")
    parser.add_argument(
        "--faults", action="store_true", help="break the product once for each line, and see a check of it fail"
    )
    parser.add_argument("only", nargs="*", metavar="ID", help="run these lines only")
    return parser


def _audited(store: str, wanted: list[Check], options: argparse.Namespace) -> list[Outcome]:
    outcomes = []
    with _started(store, options) as interfaces:
        for outcome in run(wanted, interfaces):
            outcomes.append(outcome)
            told = outcome.failure or ("passed" if outcome.asked else "not asked")
            sys.stderr.write(f"{store} {', '.join(outcome.check.ids)}: {told}\n")
    return outcomes


def _unnoticed(only: Sequence[str], stores: Sequence[str]) -> bool:
    """Apply the fault of each line on each store, print what notices it, and return whether something does not.

    A check that notices none of the faults of its lines cannot fail, either.
    """
    failed, idle = False, {(store, check.function.__name__) for store in stores for check in checks()}
    with ExitStack() as stack:
        home = Path(stack.enter_context(_folder()))
        admin = stack.enter_context(server(home)) if "postgresql" in stores else None
        for line in only or FAULTS:
            for store in stores:
                with _folder() as name:
                    outcomes = run_broken(line, checks(), Path(name), admin if store == "postgresql" else None)
                found = [outcome for outcome in outcomes if outcome.failure and not outcome.crashed]
                idle -= {(store, outcome.check.function.__name__) for outcome in found}
                failed |= not found
                crashes = [outcome.failure for outcome in outcomes if outcome.crashed]
                said = [outcome.failure for outcome in found] or [f"NOT NOTICED {'; '.join(crashes)}"]
                sys.stdout.write(f"{store} {line}: {said[0]}\n")
                sys.stdout.flush()
    if not only:
        sys.stdout.writelines(f"{store} {name}: notices no fault\n" for store, name in sorted(idle))
    return failed or bool(idle and not only)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="memotherm-audit-", ignore_cleanup_errors=True)


@contextmanager
def _started(store: str, options: argparse.Namespace) -> Iterator[Interfaces]:
    with _folder() as name:
        folder = Path(name)
        if store == "server":
            found = Server(options.url.rstrip("/"), options.key)
            try:
                found.ask("GET", "/health")
            except (OSError, ValueError) as error:
                sys.exit(f"no server answers at {found.url}: {error}")
            with Interfaces(folder, server=found) as interfaces:
                yield interfaces
        elif store == "sqlite":
            with Interfaces(folder, command=options.command) as interfaces:
                yield interfaces
        else:
            with server(folder) as admin, Interfaces(folder, admin, options.command) as interfaces:
                yield interfaces


if __name__ == "__main__":
    sys.exit(main())
