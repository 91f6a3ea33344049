"""Leases."""

from __future__ import annotations

from datetime import datetime

from memotherm.model.clock import to_micros
from memotherm.storage.sqlstore.base import SqlBase

__all__ = ["SqlMaintenance"]


class SqlMaintenance(SqlBase):
    """The part of `MaintenanceStore` that is the same in SQL everywhere."""

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease; return False if another holder has it."""
        times = {"now": to_micros(now), "until": to_micros(until), "late": to_micros(until + (until - now))}
        with self._marking() as statements:
            return statements.row("lease_take", name=name, holder=holder, **times) is not None

    def release(self, name: str, holder: str) -> None:
        """Release a lease."""
        with self._marking() as statements:
            statements.run("lease_drop", name=name, holder=holder)
