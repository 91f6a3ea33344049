"""Small values under a namespace and a key."""

from __future__ import annotations

from datetime import datetime

from memotherm.model.clock import to_micros
from memotherm.storage.sqlstore.base import SqlBase

__all__ = ["SqlKeyValues"]


class SqlKeyValues(SqlBase):
    """The part of `KeyValueStore` that is the same in SQL everywhere."""

    def get_values(self, namespace: str, now: datetime, key: str | None = None) -> dict[str, str]:
        """Return the values of a namespace by key, or only the one under a key; expired values are left out."""
        if key is None:
            return dict(self._unlogged_rows("values_of", namespace=namespace, now=to_micros(now)))
        rows = self._unlogged_rows("value_get", namespace=namespace, key=key, now=to_micros(now))
        return {key: rows[0][0]} if rows else {}

    def put_value(
        self, namespace: str, key: str, value: str, now: datetime, expires: datetime | None, *, replace: bool
    ) -> str | None:
        """Store a value; without `replace`, an existing value stays and is returned."""
        moment = to_micros(now)
        expires_at = None if expires is None else to_micros(expires)
        row = {"namespace": namespace, "key": key, "value": value, "expires_at": expires_at}
        with self._marking(join=True) as statements:
            statements.run("values_expire", now=moment)
            if replace:
                statements.run("value_put", **row)
                return None
            claimed = statements.row("value_claim", **row)
            return None if claimed else str(statements.value("value_get", namespace=namespace, key=key, now=moment))

    def delete_value(self, namespace: str, key: str) -> bool:
        """Delete a value and return whether it existed."""
        with self._marking() as statements:
            return statements.row("value_delete", namespace=namespace, key=key) is not None
