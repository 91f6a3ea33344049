"""Encryption of the texts in jobs, with the key of the store that they are for."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import Any

from memotherm.errors import PluginUnavailable, WrongKey
from memotherm.settings.encryption import KEY_BYTES, SALT_BYTES, derived

__all__ = ["seal", "unseal"]

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
