"""The folders of the user and of other programs, as the environment names them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memotherm.settings.settings import Settings

__all__ = ["PREFIX", "client_home", "data_home", "default_store", "extended", "isolated", "user_file"]

PREFIX = "MEMOTHERM_"


def default_store(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Return the path or URL of the store that is used when none is given."""
    return settings.store or str(data_home(environ) / "memory.db")


def data_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's store and of the files beside it."""
    home = (os.environ if environ is None else environ).get(PREFIX + "HOME")
    if home:
        return Path(home)
    import platformdirs

    return platformdirs.user_data_path("memotherm", appauthor=False)


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the user's settings file."""
    home = (os.environ if environ is None else environ).get(PREFIX + "HOME")
    if home:
        return Path(home) / "config.toml"
    import platformdirs

    return platformdirs.user_config_path("memotherm", appauthor=False) / "config.toml"


def client_home(variable: str, folder: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return the configuration folder of another program: the one its variable names, or one in the home folder."""
    named = (os.environ if environ is None else environ).get(variable)
    return Path(named).expanduser() if named else Path.home() / folder


def extended(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that has some variables more."""
    return {**os.environ, **more}


def isolated(home: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a process that uses another data folder and none of the current settings."""
    known = os.environ if environ is None else environ
    return {**{name: value for name, value in known.items() if not name.startswith(PREFIX)}, PREFIX + "HOME": str(home)}
