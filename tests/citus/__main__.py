"""Start a cluster of three nodes, run the tests that every store must pass on it, and stop it (`make citus`)."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.citus.cluster import PROGRAMS, CitusCluster

#: The tests of the cluster, the contract of stores, the specification, and the isolation of tenants.
_TESTS = (
    "tests/citus",
    "tests/storage/test_conformance.py",
    "tests/spec",
    "tests/test_tenants.py",
    "tests/test_recall_scopes.py",
)
_OPTIONS = ("-n", "0", "--timeout", "600", "--every-store")
_THERE = "citus or postgres and not audit or TestPostgres"


def main() -> int:
    """Return the exit code of the tests."""
    if not (PROGRAMS / "pg_ctl").exists():
        sys.exit(f"There is no PostgreSQL with Citus in {PROGRAMS}: run build.sh first.")
    with CitusCluster.started() as cluster:
        environment = {**os.environ, "CITUS_TEST_NODES": " ".join(cluster.urls)}
        command = [sys.executable, "-m", "pytest", *_OPTIONS, *_TESTS, "-k", _THERE, *sys.argv[1:]]
        return subprocess.run(command, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
