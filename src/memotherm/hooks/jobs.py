"""Jobs of the spool: their store and settings, encryption of their texts, and the worker that runs them."""

from __future__ import annotations

import os
import sys
from base64 import b64decode, b64encode
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memotherm.daemon.client import start
from memotherm.errors import PluginUnavailable, WrongKey
from memotherm.hooks.project import scope_of
from memotherm.settings import FIELDS, SECRET_NAMES, Settings, data_home, default_store, load
from memotherm.settings.keys import KEY_BYTES, SALT_BYTES, derived, with_key
from memotherm.settings.paths import absolute_store, is_excluded
from memotherm.text.redaction import redactor

# Encryption

Job = dict[str, Any]

_NONCE_BYTES = 12


def seal(job: Job, key: str) -> Job:
    """Return a job with its text encrypted; without a key, or without a text, the job as it is."""
    if not key or "text" not in job:
        return job
    salt, nonce = os.urandom(SALT_BYTES), os.urandom(_NONCE_BYTES)
    sealed = _cipher(key, salt).encrypt(nonce, str(job["text"]).encode("utf-8", "replace"), None)
    rest = {name: value for name, value in job.items() if name != "text"}
    return {**rest, "sealed": b64encode(salt + nonce + sealed).decode()}


def unseal(job: Job, key: str) -> Job:
    """Return a job with its text decrypted; raise `WrongKey` if that is impossible."""
    if "sealed" not in job:
        return job
    from cryptography.exceptions import InvalidTag

    data = b64decode(job["sealed"])
    salt, nonce, sealed = data[:SALT_BYTES], data[SALT_BYTES:][:_NONCE_BYTES], data[SALT_BYTES + _NONCE_BYTES :]
    try:
        text = _cipher(key, salt).decrypt(nonce, sealed, None) if key else None
    except InvalidTag:
        text = None
    if text is None:
        raise WrongKey("the text of a job is encrypted with another key: set MEMOTHERM_KEY or MEMOTHERM_KEY_FILE")
    return {**job, "text": text.decode()}


def _cipher(key: str, salt: bytes) -> Any:  # noqa: ANN401 - the package may be missing
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as exc:
        raise PluginUnavailable(
            f"encryption needs a package that is not installed ({exc}): pip install 'memotherm[encryption]'"
        ) from exc
    return AESGCM(blake2b(derived(key, salt), digest_size=KEY_BYTES, person=b"memotherm-spool").digest())


# Store and settings


#: Longer than a captured memory, so that no secret is cut in two before redaction.
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
        "store": absolute_store(job["store"], folder) if job.get("store") else None,
        "scope": scope_of(dict(job.get("scope") or {}), str(job.get("folder") or folder)),
        "settings": {**changed, "store": absolute_store(default_store(settings), folder)},
    }


def redacted(job: Job, settings: Settings) -> Job:
    """Return a job with its text truncated and redacted, and the number of redactions."""
    if "text" not in job:
        return job
    text, count = redactor(settings).redact(str(job["text"]).strip()[:_MAX_CHARS])
    return {**job, "text": text, "redacted": int(job.get("redacted", 0)) + count}


def excluded(job: Job) -> bool:
    """Return whether a resolved job belongs to an excluded project, folder or session."""
    patterns = job["settings"].get("capture_exclude", ())
    return job["do"] in ("capture", "fixes") and is_excluded(
        patterns, job["scope"].get("project"), str(job.get("folder") or ""), job.get("session")
    )


def job_settings(job: Job) -> Settings:
    """Return the settings of a job, with the secrets of the user."""
    user = load(project=False)
    return Settings(**{**job["settings"], **{name: getattr(user, name) for name in SECRET_NAMES}})


# Worker


def start_command(arguments: list[str]) -> None:
    """Start a command of ours in the background, in the data folder; as a fork of the daemon, if there is one."""
    if start(arguments, str(data_home())):
        return
    # Imported here, because few hooks start a worker.
    import subprocess

    detached = {"start_new_session": True} if sys.platform != "win32" else {"creationflags": 0x00000208}
    subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "memotherm", *arguments],
        cwd=data_home(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **detached,
    )
