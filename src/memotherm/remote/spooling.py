"""Spool captures that the server of a store cannot take now; `memotherm agent worker` and the hooks send them later."""

from __future__ import annotations

from typing import Any

from memotherm.errors import StoreUnavailable
from memotherm.model import Scope
from memotherm.model.results import Captured
from memotherm.settings import FIELDS, SECRET_NAMES, Settings
from memotherm.spool import user_spool

__all__ = ["spool_capture"]


def spool_capture(
    url: str, scope: Scope, settings: Settings, content: str, options: dict[str, Any], error: StoreUnavailable
) -> Captured:
    """Add a capture to the user's spool; with an encryption key, raise the error, because the spool is plain text."""
    if settings.key:
        raise error
    values = {name: getattr(settings, name) for name in FIELDS if name not in SECRET_NAMES}
    job = {
        "version": 1,
        "do": "store",
        "store": url,
        "scope": dict(scope.items()),
        "settings": {name: value for name, value in values.items() if value != FIELDS[name].default},
        "text": content,
        "arguments": options,
    }
    try:
        user_spool().add(job)
    except OSError as exc:
        raise error from exc
    return Captured(status="spooled", why=f"{error}; the text waits: `memotherm agent worker --once` sends it")
