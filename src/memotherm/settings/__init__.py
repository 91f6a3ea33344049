"""Settings: their declarations, and the sources of their values."""

from memotherm.settings.paths import client_home, data_home, default_store, export
from memotherm.settings.schema import FIELDS, SECRET_NAMES, Settings
from memotherm.settings.sources import embedder_keys, load, origins
from memotherm.settings.types import public

__all__ = [
    "FIELDS",
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
