"""Run the hostile tests and write what held: `make siege`, or `python -m tests.siege FAMILY --seconds N`.

The table is printed. A run of all families writes it to `docs/reference/torture.md` as well, below that of
`make torture`, whose plugin counts here, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Collection

from tests.torture import ROOT, SIEGE, Fault, Record, result, run, write

#: What is done in each family.
FAMILIES = {
    Fault("model", ("siege/test_model.py::test_processes_and_threads",)):
        "operations of 2 processes with 2 threads each against a model of the verbs; all of them change 3 memories",
    Fault("chaos", ("siege/test_chaos.py::test_killed_processes",)):
        "`kill -9` of a server's process during requests, and cut database connections; requests are sent again "
        "(full disks, killed writers and killed PostgreSQL servers are in the table above)",
    Fault("fuzz of REST", ("siege/test_server.py::test_random_requests",)):
        "random requests for every operation of a server; none is answered 5xx or needs more than 64 MB",
    Fault("fuzz of MCP", ("siege/test_server.py::test_random_calls",)):
        "random arguments for every tool; the same limits",
    Fault("hostile texts", ("siege/test_server.py::test_hostile_texts",)):
        "texts of 20 kB that repeat one of 115 pieces, stored, captured, amended, selected, asked for; the same limits",
    Fault("bombs", ("siege/test_server.py::test_bombs",)):
        "headers, trailers, chunks and bodies without end, lists of NaN, nested and wide `where`, 300,000 tags; "
        "the same limits",
    Fault("round trips", ("siege/test_stores.py::test_round_trips",)):
        "export of a random store and import into an empty one: equal in every field, or it says what it left out",
    Fault("erasure", ("siege/test_stores.py::test_erased_users", "siege/test_stores.py::test_users_erased")):
        "a random life of a user, then `erase`: no word of hers is in a table, file, answer or log",
    Fault("rollback", ("siege/test_rollback.py::test_units",)):
        "4 threads whose units of work in new scopes are rolled back half of the time; each sees what it has committed",
    Fault("interrupts", ("siege/test_rollback.py::test_calls",)):
        "SIGINT at random moments of `remember`, `recall`, `find`, `context`; then a check, and a fork opens the store",
    Fault("purged", ("siege/test_purged.py::test_purged_texts",)):
        "an agent stores what a person has purged: 17 verbs, 8 spellings, 6 scopes; nothing of it is shown there",
    Fault("soak", ("siege/test_soak.py::test_a_soak",)):
        "4 clients and others that hang up in the middle of requests; nothing is lost, no file stays open",
}  # fmt: skip


def page(record: Record, families: Collection[Fault], seconds: float) -> str:
    """Return the part of the page below its heading."""
    minutes = (time.monotonic() - record.began) / 60
    rows = [
        f"| {family.name} | {done} | {record.tries[family.name]:,} | {result(record, family)} | "
        f"{'; '.join(record.worst[family.name])} |"
        for family, done in FAMILIES.items()
        if family in families
    ]
    return "\n".join(
        [
            "",
            "`make siege` attacks real stores and servers with random input, on SQLite and PostgreSQL.",
            f"In this run of {minutes:.0f} minutes each test had {seconds:.0f} seconds, the soak four times as many.",
            "Memory is what the server grew by during one request; the limit is 64 MB.",
            "A timer inside the server measures how late its event loop runs while another client asks for `/status`;",
            "the time that the loop's thread waits for a processor is not counted. The limit is 100 ms.",
            "It is reported, not enforced: a thread that holds the interpreter's lock may wait for a processor, too.",
            "",
            "| family | what was done | times | result | worst numbers |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    """Run the families, print and write the table."""
    names = [family.name for family in FAMILIES]
    parser = argparse.ArgumentParser(prog="python -m tests.siege", description=__doc__)
    parser.add_argument("family", nargs="*", metavar="FAMILY", help=f"all unless named: {', '.join(names)}")
    parser.add_argument("--seconds", type=float, default=45, help="how long each test goes on")
    options = parser.parse_args()
    if unknown := set(options.family) - set(names):
        parser.error(f"there is no family {', '.join(sorted(unknown))}: {', '.join(names)}")
    os.environ["SIEGE_SECONDS"] = str(options.seconds)
    families = [family for family in FAMILIES if not options.family or family.name in options.family]
    record, code = run(families)
    text = page(record, families, options.seconds)
    sys.stdout.write(SIEGE + text)
    if not options.family:
        write(siege=text)
    return 1 if code else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
