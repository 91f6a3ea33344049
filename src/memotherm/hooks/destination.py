"""The store, scope and settings of a job; they are resolved when it is spooled, in the folder of the hook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memotherm.hooks.recalling import scope_of
from memotherm.hooks.sealing import seal
from memotherm.settings import FIELDS, SECRET_NAMES, Settings, default_store, load
from memotherm.settings.encryption import with_key

__all__ = ["destination", "job_settings", "resolved"]

Job = dict[str, Any]

_SQLITE = "sqlite:///"


def resolved(job: Job, folder: Path) -> Job:
    """Return a job with the scope, the settings and the absolute path of the store that apply in a folder.

    Secrets are not included, because the job is written to a file; for an encrypted store its text is encrypted.
    """
    settings = with_key(load(folder=folder), None)
    values = {name: getattr(settings, name) for name in FIELDS if name not in SECRET_NAMES}
    changed = {name: value for name, value in values.items() if value != FIELDS[name].default}
    return {
        **seal(job, settings.key),
        "store": _absolute(job["store"], folder) if job.get("store") else None,
        "scope": scope_of(dict(job.get("scope") or {}), str(job.get("folder") or folder)),
        "settings": {**changed, "store": _absolute(default_store(settings), folder)},
    }


def destination(job: Job) -> str:
    """Return the store of a job, or the folder whose settings name it."""
    return str(job.get("store") or (job.get("settings") or {}).get("store") or job.get("started_in"))


def job_settings(job: Job) -> Settings:
    """Return the settings of a job, with the secrets of the user."""
    user = load(project=False)
    return Settings(**{**job["settings"], **{name: getattr(user, name) for name in SECRET_NAMES}})


def _absolute(store: str, folder: Path) -> str:
    if "://" in store and not store.startswith(_SQLITE):
        return store
    return str(folder / Path(store.removeprefix(_SQLITE)).expanduser())
