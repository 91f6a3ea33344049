"""A store that may only be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from memotherm.errors import ReadOnly
from memotherm.model import Scope
from memotherm.storage.store import Store

_REFUSAL = "memories may only be read here: use a memory, or an API key, that may change them"
#: The methods that change a store.
_CHANGES = frozenset(
    {
        "build_indexes",
        "claims",
        "clear_injected",
        "delete_value",
        "distribute",
        "mark_injected",
        "put_value",
        "register_embedder",
        "transact",
        "trim_receipts",
        "trim_recalls",
        "unit_of_work",
        "write_tables",
    }
)


def read_only(store: Store) -> Store:
    """Return a store that raises `ReadOnly` where it would change, and that does not log recalls."""
    return cast("Store", _ReadOnlyStore(store))


def is_read_only(store: Store) -> bool:
    """Return whether a store may only be read."""
    return isinstance(store, _ReadOnlyStore)


def require_writable(store: Store) -> None:
    """Raise `ReadOnly` before a change of files that belong to a store which may only be read."""
    if is_read_only(store):
        raise ReadOnly(_REFUSAL)


class _ReadOnlyStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name in _CHANGES:
            raise ReadOnly(_REFUSAL)
        return getattr(self._store, name)

    def log_recall(self, *_: object, **__: object) -> None:
        """Count nothing."""

    def for_tenant(self, tenant: str | None) -> Store:
        return read_only(self._store.for_tenant(tenant))

    def parts(self, scope: Scope) -> Sequence[Store]:
        return [read_only(part) for part in self._store.parts(scope)]
