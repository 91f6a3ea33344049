"""The statements of a tenant's calls, and how many shards the coordinator of a cluster needs for each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from pgvector.psycopg import register_vector
from psycopg.types.numeric import Int8Dumper

import memotherm
from memotherm import Memotherm
from memotherm.testing import HashEmbedder

__all__ = ["captured", "explained"]

#: Statements that Citus does not plan.
_UNPLANNED = re.compile(r"(BEGIN|SET|COMMIT|ROLLBACK|DEALLOCATE)\b")


def captured(
    url: str, tenant: str, act: Callable[[Memotherm], object], embedder: HashEmbedder
) -> list[tuple[str, Any]]:
    """Return the statements of what is done with a tenant's store, with their parameters."""
    found: list[tuple[str, Any]] = []
    original = psycopg.Cursor.execute

    def execute(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        found.append((str(query), params))
        return original(self, query, params, **options)

    with memotherm.open(url, embedder=embedder) as mem:
        of_tenant = mem.scoped(tenant=tenant)
        of_tenant.remember("the first otter registers the embedder")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psycopg.Cursor, "execute", execute)
            act(of_tenant)
    return found


def explained(url: str, tenant: str, statements: list[tuple[str, Any]]) -> list[tuple[int, str]]:
    """Return how many shards each statement needs, as the coordinator plans it for its tenant."""
    found = []
    with psycopg.connect(url, autocommit=True) as connection:
        _register(connection)
        connection.execute("SET search_path TO memotherm, public; SET plan_cache_mode TO force_custom_plan")
        connection.execute("SELECT set_config('memotherm.tenant', %s, false)", (tenant,))
        connection.execute("SET memotherm.operator TO 'off'")
        for query, params in statements:
            if _UNPLANNED.match(query) or "BEGIN" in query or "set_config" in query:
                continue
            plan = connection.execute(f"EXPLAIN (FORMAT JSON, COSTS OFF) {query}", params).fetchone()
            assert plan is not None
            found.append((sum(_tasks(plan[0])), query))
    return found


def _tasks(plan: Any) -> Iterator[int]:
    if isinstance(plan, dict):
        if "Task Count" in plan:
            yield plan["Task Count"]
        for value in plan.values():
            yield from _tasks(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _tasks(value)


def _register(connection: psycopg.Connection[Any]) -> None:
    """Let vectors and numbers be parameters, as the store's own connections do."""
    connection.execute("SET search_path TO public")
    register_vector(connection)
    connection.adapters.register_dumper(int, Int8Dumper)
