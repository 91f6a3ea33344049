"""Every error Memotherm raises on purpose, in one tree.

    MemothermError
    ├── InvalidInput            an argument that can never be right
    │   └── ContentTooLarge     longer than `max_content_chars`
    ├── NotFound                no such memory, event or session in this scope
    ├── LimitReached            a priority is full (`max_pinned`, `max_critical`)
    │   └── BudgetTooSmall      the pinned memories alone cost more than a context may
    ├── StaleWrite              the memory changed since it was read
    ├── NoteUnavailable         a note's file or folder cannot be read or written
    ├── SettingsError           a setting is unknown or has a value that cannot be used
    ├── StoreError              the database
    │   ├── StoreUnavailable    it cannot be opened or reached
    │   ├── NotAStore           the file is something else
    │   ├── SchemaTooNew        written by a newer Memotherm
    │   ├── StoreBusy           other writers kept it locked for too long
    │   ├── LeaseLost           another process took over a job whose lease had expired
    │   ├── StoreFull           no space left
    │   ├── StoreDamaged        the file does not read back as it was written
    │   └── StoreClosed         used after close()
    ├── EmbedderError           what makes vectors
    │   ├── EmbedderUnavailable unreachable, overloaded or out of quota; trying later may help
    │   ├── EmbedderRefused     it said no; the same request will fail again
    │   └── DimensionMismatch   vectors of another length than promised
    └── PluginError             something named by a string
        ├── PluginNotFound      nobody offers that name
        └── PluginUnavailable   known, but its package is not installed

Each class carries a stable `code`; doors translate codes, never messages.
Expected outcomes (a duplicate, an empty recall) are values, not errors.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BudgetTooSmall",
    "ContentTooLarge",
    "DimensionMismatch",
    "EmbedderError",
    "EmbedderRefused",
    "EmbedderUnavailable",
    "InvalidInput",
    "LeaseLost",
    "LimitReached",
    "MemothermError",
    "NotAStore",
    "NotFound",
    "NoteUnavailable",
    "PluginError",
    "PluginNotFound",
    "PluginUnavailable",
    "SchemaTooNew",
    "SettingsError",
    "StaleWrite",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
]


class MemothermError(Exception):
    """The base of every error Memotherm raises on purpose."""

    code: ClassVar[str] = "error"


class InvalidInput(MemothermError, ValueError):
    """An argument that can never be right; nothing was written."""

    code = "invalid_input"


class ContentTooLarge(InvalidInput):
    """The content is longer than the setting `max_content_chars`."""

    code = "content_too_large"


class NotFound(MemothermError, LookupError):
    """Nothing with that id can be seen from this scope."""

    code = "not_found"


class LimitReached(MemothermError):
    """A priority holds as many memories as its setting allows."""

    code = "limit_reached"


class BudgetTooSmall(LimitReached):
    """The pinned memories alone cost more tokens than the context may."""

    code = "budget_too_small"


class StaleWrite(MemothermError):
    """The memory changed since the state this call is based on."""

    code = "stale_write"


class NoteUnavailable(MemothermError):
    """The file or folder of a note cannot be read or written; it was left as it is."""

    code = "note_unavailable"


class SettingsError(MemothermError, ValueError):
    """A setting is unknown or has a value that cannot be used."""

    code = "settings"


class StoreError(MemothermError):
    """The database did not do what it was asked."""

    code = "store"


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached."""

    code = "store_unavailable"


class NotAStore(StoreError):
    """The file exists and is not a Memotherm store; it was left as it is."""

    code = "not_a_store"


class SchemaTooNew(StoreError):
    """The store was written by a newer Memotherm; it was left as it is."""

    code = "schema_too_new"


class StoreBusy(StoreError):
    """Other writers held the store for longer than `busy_timeout_ms`."""

    code = "store_busy"


class LeaseLost(StoreError):
    """The lease of a job has expired and another process has taken it over."""

    code = "lease_lost"


class StoreFull(StoreError):
    """There is no space left; the change was rolled back."""

    code = "store_full"


class StoreDamaged(StoreError):
    """The database file does not read back as it was written."""

    code = "store_damaged"


class StoreClosed(StoreError):
    """The store was used after close()."""

    code = "store_closed"


class EmbedderError(MemothermError):
    """An embedder could not turn text into vectors."""

    code = "embedder"


class EmbedderUnavailable(EmbedderError):
    """The embedder is unreachable, overloaded or out of quota; later may help."""

    code = "embedder_unavailable"


class EmbedderRefused(EmbedderError):
    """The embedder said no; the same request would fail again."""

    code = "embedder_refused"


class DimensionMismatch(EmbedderError):
    """Vectors came back in another length than the embedder promises."""

    code = "dimension_mismatch"


class PluginError(MemothermError):
    """Something that was named by a string cannot be used."""

    code = "plugin"


class PluginNotFound(PluginError):
    """Nobody offers a plugin of that name."""

    code = "plugin_not_found"


class PluginUnavailable(PluginError):
    """The plugin is known, but a package it needs is not installed."""

    code = "plugin_unavailable"
