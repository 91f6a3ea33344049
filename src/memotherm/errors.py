"""The exceptions of Memotherm.

    MemothermError
    ├── InvalidInput            an invalid argument
    │   ├── ContentTooLarge     longer than `max_content_chars`
    │   └── PolicyError         a policy file with errors
    ├── NotFound                no such memory, event or session in this scope
    ├── LimitReached            a priority is full (`max_pinned`, `max_critical`)
    │   └── BudgetTooSmall      the pinned memories alone exceed the token budget
    ├── StaleWrite              the memory changed since it was read
    ├── ReadOnly                a change through a read-only memory or key
    ├── Forbidden               a tenant's API key was used for an operation on the whole store
    ├── NoteUnavailable         a note's file or folder cannot be read or written
    ├── SettingsError           an unknown setting, or an invalid value
    ├── StoreError              an error of the database
    │   ├── StoreUnavailable    it cannot be opened or reached
    │   ├── NotAStore           the file is not a store
    │   ├── WrongKey            it has another encryption key, or none
    │   ├── SchemaTooNew        written by a newer Memotherm
    │   ├── StoreBusy           other writers locked it for too long
    │   ├── LeaseLost           another process took over a job whose lease had expired
    │   ├── StoreFull           no space left
    │   ├── StoreDamaged        the file is corrupt
    │   └── StoreClosed         used after close()
    ├── EmbedderError           an error of the embedder
    │   ├── EmbedderUnavailable unreachable, overloaded or out of quota; try again later
    │   ├── EmbedderRefused     it refused the request; retrying will not help
    │   └── DimensionMismatch   vectors of another length than declared
    └── PluginError             an error of a plugin
        ├── PluginNotFound      no plugin has that name
        └── PluginUnavailable   known, but its package is not installed

Each class has a stable `code`, which interfaces translate to exit codes and HTTP statuses.
Expected outcomes, such as a duplicate or an empty recall, are values, not errors.
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
    "Forbidden",
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
    "PolicyError",
    "ReadOnly",
    "SchemaTooNew",
    "SettingsError",
    "StaleWrite",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "WrongKey",
]


class MemothermError(Exception):
    """The base class of all errors of Memotherm."""

    code: ClassVar[str] = "error"


class InvalidInput(MemothermError, ValueError):
    """An argument is invalid; nothing was written."""

    code = "invalid_input"


class ContentTooLarge(InvalidInput):
    """The content is longer than the setting `max_content_chars`."""

    code = "content_too_large"


class NotFound(MemothermError, LookupError):
    """Nothing with that id is visible from this scope."""

    code = "not_found"


class LimitReached(MemothermError):
    """A priority holds as many memories as its setting allows."""

    code = "limit_reached"


class BudgetTooSmall(LimitReached):
    """The pinned memories alone exceed the token budget."""

    code = "budget_too_small"


class StaleWrite(MemothermError):
    """The memory has changed since it was read."""

    code = "stale_write"


class ReadOnly(MemothermError):
    """This memory or key is read-only; nothing was written."""

    code = "read_only"


class Forbidden(MemothermError):
    """A tenant's API key was used for an operation on the whole store."""

    code = "forbidden"


class NoteUnavailable(MemothermError):
    """The file or folder of a note cannot be read or written; it was not changed."""

    code = "note_unavailable"


class SettingsError(MemothermError, ValueError):
    """A setting is unknown or has an invalid value."""

    code = "settings"


class PolicyError(InvalidInput):
    """A policy file has errors, which `findings` lists; the policy in force stays."""

    code = "policy"

    def __init__(self, message: str, findings: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        #: The errors, each with its code, line and remedy.
        self.findings = findings


class StoreError(MemothermError):
    """An operation of the database failed."""

    code = "store"


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached."""

    code = "store_unavailable"


class NotAStore(StoreError):
    """The file exists and is not a Memotherm store; it was not changed."""

    code = "not_a_store"


class WrongKey(StoreError):
    """The encryption key or API key does not match the store, or one of them is missing."""

    code = "wrong_key"


class SchemaTooNew(StoreError):
    """The store was written by a newer version of Memotherm; it was not changed."""

    code = "schema_too_new"


class StoreBusy(StoreError):
    """Other writers locked the store for longer than `busy_timeout_ms`."""

    code = "store_busy"


class LeaseLost(StoreError):
    """The lease of a job has expired and another process has taken it over."""

    code = "lease_lost"


class StoreFull(StoreError):
    """No space is left; the change was rolled back."""

    code = "store_full"


class StoreDamaged(StoreError):
    """The database file is corrupt."""

    code = "store_damaged"


class StoreClosed(StoreError):
    """The store was used after close()."""

    code = "store_closed"


class EmbedderError(MemothermError):
    """An embedder could not turn text into vectors."""

    code = "embedder"


class EmbedderUnavailable(EmbedderError):
    """The embedder is unreachable, overloaded or out of quota; try again later."""

    code = "embedder_unavailable"


class EmbedderRefused(EmbedderError):
    """The embedder refused the request; retrying will not help."""

    code = "embedder_refused"


class DimensionMismatch(EmbedderError):
    """The embedder returned vectors of another length than it declared."""

    code = "dimension_mismatch"


class PluginError(MemothermError):
    """A plugin cannot be used."""

    code = "plugin"


class PluginNotFound(PluginError):
    """No plugin has this name."""

    code = "plugin_not_found"


class PluginUnavailable(PluginError):
    """A package that the plugin needs is not installed."""

    code = "plugin_unavailable"
