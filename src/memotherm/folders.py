"""The folders of the user's data and settings, found without another module of ours, because hooks wait for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

__all__ = ["config_folder", "data_folder", "one_thread_of_numpy", "own_variables"]


def data_folder(environ: Mapping[str, str] | None = None) -> str:
    """Return the folder of the user's store and of the files beside it."""
    return _folder(environ, "XDG_DATA_HOME", "~/.local/share")


def config_folder(environ: Mapping[str, str] | None = None) -> str:
    """Return the folder of the user's settings file."""
    return _folder(environ, "XDG_CONFIG_HOME", "~/.config")


def _folder(environ: Mapping[str, str] | None, variable: str, usual: str) -> str:
    variables = os.environ if environ is None else environ
    if home := variables.get("MEMOTHERM_HOME"):
        return home
    if sys.platform == "win32":
        parent = variables.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        parent = "~/Library/Application Support"
    else:
        parent = variables.get(variable, "").strip() or usual
    return os.path.join(os.path.expanduser(parent), "memotherm")


def own_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables of ours."""
    variables = os.environ if environ is None else environ
    return {name: variables[name] for name in sorted(variables) if name.startswith("MEMOTHERM_")}


def one_thread_of_numpy() -> None:
    """Let numpy, which is imported later, use one thread, unless the user has set a number.

    The matrices are small: threads would only wait for each other, busily, on the cores that others need.
    """
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.putenv("OPENBLAS_NUM_THREADS", "1")
