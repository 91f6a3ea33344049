"""The encryption key: where it comes from, and what is derived from it."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from memotherm.errors import InvalidInput, SettingsError
from memotherm.settings.paths import PREFIX
from memotherm.settings.schema import Settings

#: A passphrase; 64 hexadecimal digits; 32 bytes; the path of a file with a passphrase or digits; or a function that
#: returns a key.
Key = str | bytes | os.PathLike[str] | Callable[[], str | bytes]

KEY_BYTES = 32
SALT_BYTES = 16
_RAW = re.compile(r"[0-9a-fA-F]{64}")
#: The parameters of scrypt: 32 MiB of memory and 0.3 s of CPU time.
_COST, _BLOCKS, _PARALLEL = 2**15, 8, 3
_MAX_MEMORY = 2**27
_MAX_KEY_FILE_BYTES = 4096


def with_key(settings: Settings, key: Key | None) -> Settings:
    """Return the settings with `key` set, from the argument or from `key` and `key_file`; "" means no key."""
    found = _chosen(key, settings.key, settings.key_file)
    return settings if found == settings.key else replace(settings, key=found)


def api_key(settings: Settings, key: Key | None) -> str:
    """Return the API key of a remote store, from the argument or the settings; "" means no key."""
    return _chosen(key, settings.api_key, settings.api_key_file)


def _chosen(given: Key | None, value: str, file: str) -> str:
    if given is None and (value or not file):
        return value
    return key_text(Path(file).expanduser() if given is None else given)


def key_in_environment() -> bool:
    """Return whether the environment sets a key."""
    return any(os.environ.get(f"{PREFIX}{name}") for name in ("KEY", "KEY_FILE"))


def key_text(key: Key) -> str:
    """Return a key as text: a passphrase, or 64 hexadecimal digits."""
    if isinstance(key, os.PathLike):
        return _read(Path(key))
    if callable(key):
        key = key()
    if isinstance(key, bytes) and len(key) == KEY_BYTES:
        return key.hex()
    if not isinstance(key, str) or not key:
        # The value itself is not printed: it may be most of a key.
        raise InvalidInput(
            f"an encryption key is a passphrase, 64 hexadecimal digits or {KEY_BYTES} bytes, "
            f"not {'an empty text' if key == '' else f'a {type(key).__name__}'}"
        )
    return key


@functools.lru_cache(maxsize=16)
def derived(key: str, salt: bytes) -> bytes:
    """Return the key of a file; a passphrase is stretched with the salt of the file."""
    if _RAW.fullmatch(key):
        return bytes.fromhex(key)
    return hashlib.scrypt(
        key.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=_COST,
        r=_BLOCKS,
        p=_PARALLEL,
        maxmem=_MAX_MEMORY,
        dklen=KEY_BYTES,
    )


def _read(path: Path) -> str:
    """Return the key in a file that only its owner can read."""
    try:
        with path.open("rb") as handle:
            mode = os.fstat(handle.fileno()).st_mode
            if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
                raise SettingsError(f"others can read the key file {path}: run chmod 600 {path}")
            text = handle.read(_MAX_KEY_FILE_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"cannot read the key file {path}: {exc}") from exc
    if not text:
        raise SettingsError(f"the key file {path} is empty: write a key into it")
    return text
