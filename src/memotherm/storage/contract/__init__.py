"""The contract of a store, by subject.

A store keeps rows and finds them; it decides nothing. Every read takes the visible spaces, so the scope is
applied inside the index and never after it. Every change of a memory goes through a `Transaction`, which
appends the event to the ledger in the same transaction.

A service names the parts that it uses (`MemoryStore`, `LedgerStore`, ...); `Store` and `Transaction` are the
unions that a database implements.
"""

from memotherm.storage.contract.index import IndexStore, SearchStore
from memotherm.storage.contract.keyvalue import KeyValueStore
from memotherm.storage.contract.ledger import LedgerStore
from memotherm.storage.contract.maintenance import MaintenanceStore
from memotherm.storage.contract.memories import MemoryStore, MemoryTransaction
from memotherm.storage.contract.notes import NoteStore, NoteTransaction
from memotherm.storage.contract.policies import PolicyStore, PolicyTransaction
from memotherm.storage.contract.sessions import SessionStore, SessionTransaction
from memotherm.storage.contract.store import Claim, Store, Transaction, TransactionalStore
from memotherm.storage.contract.usage import UsageStore, UsageTransaction
from memotherm.storage.contract.vectors import VectorStore, VectorTransaction

__all__ = [
    "Claim",
    "IndexStore",
    "KeyValueStore",
    "LedgerStore",
    "MaintenanceStore",
    "MemoryStore",
    "MemoryTransaction",
    "NoteStore",
    "NoteTransaction",
    "PolicyStore",
    "PolicyTransaction",
    "SearchStore",
    "SessionStore",
    "SessionTransaction",
    "Store",
    "Transaction",
    "TransactionalStore",
    "UsageStore",
    "UsageTransaction",
    "VectorStore",
    "VectorTransaction",
]
