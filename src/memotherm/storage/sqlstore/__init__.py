"""The part of a store that is the same on every SQL database, by the subjects of the contract."""

from memotherm.storage.sqlstore.base import MOST_SCOPES, Outdated, SqlClaim
from memotherm.storage.sqlstore.index import any_expired, visible_rows
from memotherm.storage.sqlstore.store import SqlStore
from memotherm.storage.sqlstore.vectors import identity_of

__all__ = ["MOST_SCOPES", "Outdated", "SqlClaim", "SqlStore", "any_expired", "identity_of", "visible_rows"]
