"""Erase the jobs of hooks that belong to a scope."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from memotherm.errors import StoreBusy
from memotherm.model import Scope
from memotherm.spool.destination import destination, scope_of, store_name
from memotherm.spool.queue import Spool, locked

__all__ = ["erase_jobs"]

_PASSWORD = re.compile(r":[^:@/]*@")


def erase_jobs(spool: Spool, store: str, scope: Scope) -> int:
    """Delete the jobs of a store inside a scope, also those that were set aside, and return how many there were.

    A job whose settings could not be read may be of any store, and is deleted if its scope fits.
    """
    if not spool.folder.is_dir():
        return 0
    with locked(spool) as free:
        if not free:
            raise StoreBusy("a worker is processing the spool of the hooks: try again when it has finished")
        paths = [path for path in [*spool.waiting(), *spool.failed()] if _belongs(path, store, scope)]
        for path in paths:
            spool.remove(path)
        return len(paths)


def _belongs(path: Path, store: str, scope: Scope) -> bool:
    try:
        job: dict[str, Any] = json.loads(path.read_text("utf-8"))
        own = Scope(**scope_of(dict(job.get("scope") or {}), str(job.get("folder") or "")))
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    session = Scope(**{**dict(own.items()), "session": str(job["session"])}) if job.get("session") else own
    known = bool(job.get("store") or job.get("settings"))
    return session.sees(scope) and (not known or _name(destination(job)) == _name(store))


def _name(store: str) -> str:
    """Return the name of a store without a password."""
    return _PASSWORD.sub("@", store_name(store))
