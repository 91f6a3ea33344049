"""The tenants of a store on a PostgreSQL server, and the jobs that are claimed for each of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Self

from memotherm.model import Scope
from memotherm.model.clock import to_micros
from memotherm.storage.postgres.base import PostgresBase
from memotherm.storage.sqlstore import SqlClaim
from memotherm.storage.statements import Row

__all__ = ["PostgresTenants"]

#: How many tenants are tried before a process finds nothing to do; others claim tenants at the same time.
_DUE = 100


class PostgresTenants(PostgresBase):
    """The part of a store that knows its tenants."""

    def _visible_spaces(self, scope: Scope) -> list[Row]:
        """Return the visible spaces; on a cluster, find out whether there are memories without a tenant, too.

        While there are none, a tenant's statements do not read the copies of them, and are planned in half of the time.
        """
        rows = super()._visible_spaces(scope)
        if not self._connections.distributed or not self.tenant or self._sharing.exists:
            return rows
        self._sharing.exists = bool(rows[0][2] if rows else self._rows("shared_any")[0][0])
        return super()._visible_spaces(scope) if self._sharing.exists else rows

    def spaces_within(self, scope: Scope) -> tuple[int, ...]:
        """Return the spaces that lie inside a scope, as far as they are this tenant's."""
        return super().spaces_within(replace(scope, tenant=self.tenant) if self.tenant else scope)

    def parts(self, scope: Scope) -> list[Self]:
        """Return the stores that together hold what lies inside a scope: one for each tenant."""
        tenants = [scope.tenant] if scope.tenant else [tenant for (tenant,) in self._all_tenants()._rows("tenants")]
        return [self.for_tenant(tenant) for tenant in tenants]

    def claims(
        self, name: str, holder: str, now: Callable[[], datetime], term: timedelta, before: datetime
    ) -> Generator[SqlClaim[Self], None, None]:
        """Claim the tenants one by one, the one whose job was done the longest time ago first."""
        self._register(name)
        seen: list[str] = []
        while (tenant := self._claimed(name, holder, now(), term, before, seen)) is not None:
            seen.append(tenant)
            outcome = "job_release"
            try:
                row = {"name": name, "holder": holder, "tenant": tenant}
                yield SqlClaim(self.for_tenant(tenant), "job_renew", row, now, term)
                outcome = "job_done"
            finally:
                with self._all_tenants()._marking() as statements:
                    statements.run(outcome, name=name, holder=holder, tenant=tenant, now=to_micros(now()))

    def _register(self, name: str) -> None:
        """Create the row of a job for every tenant that has none."""
        with self._all_tenants()._marking() as statements:
            registered = {tenant for (tenant,) in statements.rows("jobs_of", name=name)}
            new = [tenant for (tenant,) in statements.rows("tenants") if tenant not in registered]
            statements.run_many("job_add", [{"tenant": tenant, "name": name} for tenant in new])

    def _claimed(
        self, name: str, holder: str, now: datetime, term: timedelta, before: datetime, seen: list[str]
    ) -> str | None:
        """Claim the tenant whose job was done the longest time ago; skip those that another process has claimed."""
        due = {
            "name": name,
            "now": to_micros(now),
            "late": to_micros(now + 2 * term),
            "before": to_micros(before),
        }
        with self._all_tenants()._marking() as statements:
            found = statements.rows("jobs_due", **due, tenant=self.tenant, seen=seen, limit=_DUE)
            for (tenant,) in found:
                row = {**due, "tenant": tenant, "holder": holder, "until": to_micros(now + term)}
                if statements.row("job_claim", **row) is not None:
                    return str(tenant)
        return None
