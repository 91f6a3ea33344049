"""Settings as they are shown to people: with where each value comes from, and without secrets."""

from __future__ import annotations

import re
from typing import Any

from memotherm.settings.loading import load, origins
from memotherm.settings.settings import FIELDS, SECRET_NAMES, Settings

__all__ = ["described_settings"]

#: The credentials in the address of a server.
_CREDENTIALS = re.compile(r"(?<=://)[^/?#]*@|(?<=[?&])(password|key)=[^&#]*")


def described_settings(settings: Settings | None = None, *, changed: bool = False) -> dict[str, dict[str, Any]]:
    """Return every setting with its value and origin, without secrets.

    Args:
        settings: The settings that are in use; None for those of the files and the environment.
        changed: Only those that are not at their default.
    """
    loaded, sources = load(), origins()
    used = loaded if settings is None else settings
    found = {
        name: {
            "value": _printable(name, getattr(used, name)),
            "origin": sources[name] if getattr(used, name) == getattr(loaded, name) else "the program or the policy",
        }
        for name in FIELDS
    }
    return {name: entry for name, entry in found.items() if not changed or entry["origin"] != "default"}


def _printable(name: str, value: Any) -> Any:  # noqa: ANN401
    if name in SECRET_NAMES:
        return "(set)" if value else ""
    if isinstance(value, str):
        return _CREDENTIALS.sub("", value)
    return list(value) if isinstance(value, tuple) else value
