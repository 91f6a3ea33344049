"""A database on the cluster that `make citus` has started."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from tests.postgres import ROLE, distributed_database, nodes


@pytest.fixture(scope="module")
def cluster_url() -> Iterator[str]:
    """The URL of a new database on all nodes, not distributed yet, for the role of the tests."""
    if not nodes():
        pytest.skip("there is no cluster: run `make citus`")
    name = f"memotherm_{uuid.uuid4().hex[:12]}"
    distributed_database(nodes(), name)
    place = nodes()[0].rpartition("@")[2].rpartition("/")[0]
    yield f"postgresql://{ROLE}@{place}/{name}"
    for url in nodes():
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET citus.enable_ddl_propagation TO off")
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def on_node(url: str, node: int, role: str = "postgres") -> str:
    """Return how a role reaches a database on another node."""
    place = nodes()[node].rpartition("@")[2].rpartition("/")[0]
    return f"postgresql://{role}@{place}/{url.rpartition('/')[2]}"
