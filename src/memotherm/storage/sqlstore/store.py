"""The part of a store that is the same on every SQL database."""

from __future__ import annotations

from memotherm.storage.sqlstore.index import SqlIndex
from memotherm.storage.sqlstore.keyvalue import SqlKeyValues
from memotherm.storage.sqlstore.ledger import SqlLedger
from memotherm.storage.sqlstore.maintenance import SqlMaintenance
from memotherm.storage.sqlstore.memories import SqlMemories
from memotherm.storage.sqlstore.notes import SqlNotes
from memotherm.storage.sqlstore.policies import SqlPolicies
from memotherm.storage.sqlstore.sessions import SqlSessions
from memotherm.storage.sqlstore.usage import SqlUsage
from memotherm.storage.sqlstore.vectors import SqlVectors

__all__ = ["SqlStore"]


class SqlStore(
    SqlMemories,
    SqlIndex,
    SqlVectors,
    SqlLedger,
    SqlUsage,
    SqlSessions,
    SqlNotes,
    SqlKeyValues,
    SqlPolicies,
    SqlMaintenance,
):
    """The part of `Store` that is the same in SQL everywhere."""
