"""Settings by concern, their values, and where they are read from."""

from memotherm.settings.folders import client_home, data_home, default_store, extended, isolated
from memotherm.settings.loading import load, origins
from memotherm.settings.settings import FIELDS, GROUPS, SECRET_NAMES, Settings

__all__ = [
    "FIELDS",
    "GROUPS",
    "SECRET_NAMES",
    "Settings",
    "client_home",
    "data_home",
    "default_store",
    "extended",
    "isolated",
    "load",
    "origins",
]
