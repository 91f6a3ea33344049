"""`python -m bench.cluster`: measure a cluster beside one server, and let clients work while its nodes come and go.

It needs PostgreSQL with Citus, as `make citus` builds it.
"""

from __future__ import annotations

import argparse
import json
import logging

from bench import report
from bench.cluster.measure import measured
from bench.cluster.operate import operated


def main() -> None:
    """Run what was asked for, print the rows, and write them."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--only", choices=["measure", "operate"], help="one of the two parts")
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--memories", type=int, default=1000, help="memories of each tenant")
    parser.add_argument("--large", type=int, default=200_000, help="memories of one more tenant")
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--home", help="a folder in which the filled servers are kept, and used again")
    parser.add_argument("--check", action="store_true", help="check both stores at the end")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    path = report.RESULTS / "cluster.json"
    before = json.loads(path.read_text())["parts"] if path.exists() else {}
    parts = dict(before)
    for name, run in (("measure", measured), ("operate", operated)):
        if options.only in (None, name):
            rows = run(options)
            report.print_rows(name, rows)
            parts[name] = report.record(
                f"cluster {name}", rows, **{k: v for k, v in vars(options).items() if k != "home"}
            )
            path.write_text(json.dumps({"suite": "cluster", "parts": parts}, indent=2) + "\n")


if __name__ == "__main__":
    main()
