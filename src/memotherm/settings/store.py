"""Settings: store."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import setting

__all__ = ["StoreSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class StoreSettings:
    """Where memories are stored, how safely they are written, and how long a writer waits."""

    __slots__ = ()

    store: str = setting("", "The store that `open()` uses by default; empty: a file in the user's data folder.")
    key: str = setting(
        "",
        "SQLite: the encryption key, a passphrase or 64 hexadecimal digits; empty: not encrypted. "
        "Only the environment can set it.",
        secret=True,
        files=False,
    )
    key_file: str = setting("", "SQLite: the file with the encryption key, which only its owner can read.")
    api_key: str = setting(
        "",
        "A store on a server: the API key that `memotherm keys create` printed. Only the environment can set it.",
        secret=True,
        files=False,
    )
    api_key_file: str = setting("", "A store on a server: the file with the API key, which only its owner can read.")
    remote_timeout_seconds: float = setting(
        30.0, "A store on a server: the longest time that a request may take.", low=0.01
    )
    synchronous: str = setting(
        "full",
        "SQLite: wait for the disk at every commit (full), or let the operating system write later (normal).",
        choices=("full", "normal"),
    )
    busy_timeout_ms: int = setting(
        30_000, "How long a writer waits for other writers, and on PostgreSQL also for a free connection."
    )
    postgres_replica: str = setting("", "PostgreSQL: the URL of a replica that recalls read from; empty: no replica.")
    postgres_pool_size: int = setting(
        10, "PostgreSQL: the most connections that one process opens to each server.", low=1, high=1000
    )
