"""The store, scope and settings of a job; they are resolved when it is spooled, in the folder of the hook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memotherm.hooks.sealing import seal
from memotherm.settings import FIELDS, SECRET_NAMES, Settings, default_store, load
from memotherm.settings.encryption import with_key
from memotherm.settings.exclusion import is_excluded
from memotherm.spool.destination import scope_of
from memotherm.text.redaction import redactor

__all__ = ["excluded", "job_settings", "redacted", "resolved"]

Job = dict[str, Any]

_SQLITE = "sqlite:///"
#: More than a memory of a conversation has, so that no secret is cut in two before it is redacted.
_MAX_CHARS = 40_000


def resolved(job: Job, folder: Path) -> Job:
    """Return a job with the scope, the settings and the absolute path of the store that apply in a folder.

    Secrets are not included, because the job is written to a file; for an encrypted store its text is encrypted.
    """
    settings = with_key(load(folder=folder), None)
    job = redacted(job, settings)
    values = {name: getattr(settings, name) for name in FIELDS if name not in SECRET_NAMES}
    changed = {name: value for name, value in values.items() if value != FIELDS[name].default}
    return {
        **seal(job, settings.key),
        "store": _absolute(job["store"], folder) if job.get("store") else None,
        "scope": scope_of(dict(job.get("scope") or {}), str(job.get("folder") or folder)),
        "settings": {**changed, "store": _absolute(default_store(settings), folder)},
    }


def redacted(job: Job, settings: Settings) -> Job:
    """Return a job with a text of limited length and without secrets, and how many of them it had."""
    if "text" not in job:
        return job
    text, count = redactor(settings).redact(str(job["text"]).strip()[:_MAX_CHARS])
    return {**job, "text": text, "redacted": int(job.get("redacted", 0)) + count}


def excluded(job: Job) -> bool:
    """Return whether a resolved job would capture a conversation of a project or folder that is not to be captured."""
    patterns = job["settings"].get("capture_exclude", ())
    return job["do"] == "capture" and is_excluded(patterns, job["scope"].get("project"), str(job.get("folder") or ""))


def job_settings(job: Job) -> Settings:
    """Return the settings of a job, with the secrets of the user."""
    user = load(project=False)
    return Settings(**{**job["settings"], **{name: getattr(user, name) for name in SECRET_NAMES}})


def _absolute(store: str, folder: Path) -> str:
    if "://" in store and not store.startswith(_SQLITE):
        return store
    return str(folder / Path(store.removeprefix(_SQLITE)).expanduser())
