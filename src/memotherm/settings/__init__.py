"""Settings: their declarations, and the sources of their values."""

from memotherm.settings.paths import client_home, data_home, default_store, export
from memotherm.settings.schema import FIELDS, GROUPS, SECRET_NAMES, Settings, public
from memotherm.settings.sources import embedder_keys, load, origins

__all__ = [
    "FIELDS",
    "GROUPS",
    "SECRET_NAMES",
    "Settings",
    "client_home",
    "data_home",
    "default_store",
    "embedder_keys",
    "export",
    "load",
    "origins",
    "public",
]
