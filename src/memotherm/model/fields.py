"""The fields of a memory that decide whether and how it is in a context."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from memotherm.model.memory import Memory, Priority, Tier

__all__ = ["MemoryFields", "StoredFields"]


class MemoryFields(Protocol):
    """Some fields of a memory."""

    @property
    def id(self) -> str:
        """The memory's id."""

    @property
    def content(self) -> str:
        """The text itself."""

    @property
    def kind(self) -> str:
        """Its type."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Labels, in the order of the caller."""

    @property
    def tier(self) -> Tier:
        """In every context, in default searches, or in the archive."""

    @property
    def priority(self) -> Priority:
        """How important it is to include it."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Any other data of the caller."""

    @property
    def digest(self) -> str:
        """SHA-256 of the normalised content."""

    @property
    def updated_at(self) -> datetime:
        """When its content, kind, tags or metadata last changed."""

    @property
    def verified_at(self) -> datetime | None:
        """When it was last verified; None when it never was."""


class StoredFields(MemoryFields, Protocol):
    """Some fields of a stored memory, without the conversion of the others."""

    def memory(self) -> Memory:
        """Return the whole memory."""
