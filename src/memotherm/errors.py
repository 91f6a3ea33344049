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
    ├── Forbidden               what a wider API key, or only a person, may do
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

Each class has a stable `code`, the exit code of a command that it ends, and the status of a response.
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
    #: With which a command ends.
    exit_code: ClassVar[int] = 1
    #: That of HTTP.
    status: ClassVar[int] = 500

    def __init_subclass__(cls, *, code: str = "", exit_code: int = 0, status: int = 0) -> None:
        cls.code = code or cls.code
        cls.exit_code = exit_code or cls.exit_code
        cls.status = status or cls.status


class InvalidInput(MemothermError, ValueError, code="invalid_input", exit_code=2, status=422):
    """An argument is invalid; nothing was written."""


class ContentTooLarge(InvalidInput, code="content_too_large", status=413):
    """The content is longer than the setting `max_content_chars`."""


class NotFound(MemothermError, LookupError, code="not_found", exit_code=3, status=404):
    """Nothing with that id is visible from this scope."""


class LimitReached(MemothermError, code="limit_reached", exit_code=4, status=409):
    """A priority holds as many memories as its setting allows."""


class BudgetTooSmall(LimitReached, code="budget_too_small"):
    """The pinned memories alone exceed the token budget."""


class StaleWrite(MemothermError, code="stale_write", exit_code=4, status=412):
    """The memory has changed since it was read."""


class ReadOnly(MemothermError, code="read_only", exit_code=4, status=403):
    """This memory or key is read-only; nothing was written."""


class Forbidden(MemothermError, code="forbidden", exit_code=5, status=403):
    """More is needed for this: a key of a wider scope, or the trust of a person whose memory it hides or replaces."""


class NoteUnavailable(MemothermError, code="note_unavailable", exit_code=5, status=503):
    """The file or folder of a note cannot be read or written; it was not changed."""


class SettingsError(MemothermError, ValueError, code="settings", exit_code=5):
    """A setting is unknown or has an invalid value."""


class PolicyError(InvalidInput, code="policy", exit_code=5):
    """A policy file has errors, which `findings` lists; the policy in force stays."""

    def __init__(self, message: str, findings: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        #: The errors, each with its code, line and remedy.
        self.findings = findings


class StoreError(MemothermError, code="store"):
    """An operation of the database failed."""


class StoreUnavailable(StoreError, code="store_unavailable", exit_code=5, status=503):
    """The store cannot be opened or reached."""


class NotAStore(StoreError, code="not_a_store", exit_code=5):
    """The file exists and is not a Memotherm store; it was not changed."""


class WrongKey(StoreError, code="wrong_key", exit_code=5):
    """The encryption key or API key does not match the store, or one of them is missing."""


class SchemaTooNew(StoreError, code="schema_too_new", exit_code=5):
    """The store was written by a newer version of Memotherm; it was not changed."""


class StoreBusy(StoreError, code="store_busy", exit_code=4, status=503):
    """Other writers locked the store for longer than `busy_timeout_ms`."""


class LeaseLost(StoreError, code="lease_lost", status=503):
    """The lease of a job has expired and another process has taken it over."""


class StoreFull(StoreError, code="store_full", status=507):
    """No space is left; the change was rolled back."""


class StoreDamaged(StoreError, code="store_damaged"):
    """The database file is corrupt."""


class StoreClosed(StoreError, code="store_closed", status=503):
    """The store was used after close()."""


class EmbedderError(MemothermError, code="embedder", status=502):
    """An embedder could not turn text into vectors."""


class EmbedderUnavailable(EmbedderError, code="embedder_unavailable", status=503):
    """The embedder is unreachable, overloaded or out of quota; try again later."""


class EmbedderRefused(EmbedderError, code="embedder_refused", exit_code=5):
    """The embedder refused the request; retrying will not help."""


class DimensionMismatch(EmbedderError, code="dimension_mismatch", exit_code=5):
    """The embedder returned vectors of another length than it declared."""


class PluginError(MemothermError, code="plugin", exit_code=5):
    """A plugin cannot be used."""


class PluginNotFound(PluginError, code="plugin_not_found"):
    """No plugin has this name."""


class PluginUnavailable(PluginError, code="plugin_unavailable", status=501):
    """A package that the plugin needs is not installed."""
