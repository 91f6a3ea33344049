"""All settings as one value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from memotherm.settings.context import ContextSettings
from memotherm.settings.declaration import checked
from memotherm.settings.embedding import EmbeddingSettings
from memotherm.settings.interfaces import InterfaceSettings
from memotherm.settings.maintenance import RETENTION_WINDOWS, DefaultWindow, MaintenanceSettings
from memotherm.settings.memories import MemorySettings
from memotherm.settings.notes import NoteSettings
from memotherm.settings.ranking import RankingSettings
from memotherm.settings.sessions import SessionSettings
from memotherm.settings.store import StoreSettings
from memotherm.settings.tiers import TierSettings

__all__ = ["FIELDS", "GROUPS", "SECRET_NAMES", "Settings"]

#: The groups of settings by their titles, in the order of the reference page.
GROUPS: dict[str, type[Any]] = {
    "Store": StoreSettings,
    "Embedding": EmbeddingSettings,
    "Memories": MemorySettings,
    "Recall and ranking": RankingSettings,
    "Tiers": TierSettings,
    "Context": ContextSettings,
    "Sessions": SessionSettings,
    "Maintenance and retention": MaintenanceSettings,
    "Notes": NoteSettings,
    "Interfaces": InterfaceSettings,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings(
    StoreSettings,
    EmbeddingSettings,
    MemorySettings,
    RankingSettings,
    TierSettings,
    ContextSettings,
    SessionSettings,
    MaintenanceSettings,
    NoteSettings,
    InterfaceSettings,
):
    """Every setting with its default. 0 means 0, never "the default"."""

    def __post_init__(self) -> None:
        for name, days in RETENTION_WINDOWS.get(str(self.retention), {}).items():
            if isinstance(getattr(self, name), DefaultWindow):
                object.__setattr__(self, name, days)
        for name, declared in FIELDS.items():
            object.__setattr__(self, name, checked(declared, getattr(self, name)))


#: Every setting by its name, group by group.
FIELDS = {declared.name: declared for group in GROUPS.values() for declared in fields(group)}
#: Settings whose value is never printed.
SECRET_NAMES = frozenset(name for name, declared in FIELDS.items() if declared.metadata["secret"])
