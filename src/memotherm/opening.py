"""Open, restore, migrate and distribute stores."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from memotherm import embed
from memotherm import settings as settings_module
from memotherm.embed import Embedder, former_embedder
from memotherm.embed.protocol import Reranker, ScoreTexts, resolve_reranker
from memotherm.errors import InvalidInput, StoreUnavailable
from memotherm.memory import Memotherm
from memotherm.model import Scope
from memotherm.model.clock import Clock
from memotherm.recall.values import RankingOptions
from memotherm.remote import is_remote
from memotherm.settings import Settings
from memotherm.settings.keys import Key, api_key, key_text, with_key
from memotherm.settings.paths import create_folder, sqlite_path
from memotherm.storage.open import (
    distribute_store,
    migrate_store,
    open_store,
    recode_store,
    restore_store,
)
from memotherm.storage.store import Distribution
from memotherm.storage.transfer import Migration, Progress
from memotherm.text.redaction import redactor
from memotherm.tiers.rules import Rule

if TYPE_CHECKING:
    from memotherm.aio import Opening

__all__ = ["aopen", "decrypt", "distribute", "encrypt", "migrate", "open", "rekey", "restore"]

P = ParamSpec("P")

_log = logging.getLogger(__name__)
#: Timeout of a request to a remote store.
_REMOTE_TIMEOUT_SECONDS = 30.0


def open(  # noqa: A001 - the name is `memotherm.open`
    url: str | os.PathLike[str] | None = None,
    *,
    scope: Scope | None = None,
    embedder: Embedder | str | None = None,
    rules: Iterable[Rule] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    clock: Clock | None = None,
    reranker: Reranker | ScoreTexts | str | None = None,
    key: Key | None = None,
) -> Memotherm:
    """Open a memory; create the store if it does not exist.

    Args:
        url: A path, `sqlite:///path`, `postgresql://...`, or `http://host:port` for the store of a server; None opens
            the user's own store.
        scope: The scope of the memories to read and write.
        embedder: An instance, "local", "openai", "gemini", "none", "auto", a plugin's name, or the URL of an
            OpenAI-compatible server; None uses the setting.
        rules: The rules that move memories, in their order, such as `[*DEFAULT_RULES, MyRule()]`; None uses the
            built-in rules and those of plugins.
        reranker: An object with `score(query, texts)`, a function with that signature, or a plugin's name; None
            uses the setting.
        settings: Settings by name, which take precedence over the environment and files.
        clock: A function that returns the time; None uses the system clock.
        key: The encryption key of a SQLite file: a passphrase, 64 hexadecimal digits, 32 bytes, the `Path` of a
            file with the key, or a function that returns it; None uses the setting `key` or `key_file`. For the store
            of a server, its API key; None uses `api_key` or `api_key_file`.
    """
    if scope is not None and not isinstance(scope, Scope):
        raise InvalidInput(f"scope must be a Scope, such as Scope(agent='planner'), not {scope!r}")
    loaded = settings_module.load(settings)
    store_url = _store_url(url, loaded)
    if is_remote(store_url):
        given = {"embedder": embedder, "rules": rules, "reranker": reranker, "clock": clock}
        return _connect(store_url, scope, loaded, key, [name for name, value in given.items() if value is not None])
    loaded = with_key(loaded, key)
    redactor(loaded)  # raises for a pattern that is not one
    keys = settings_module.embedder_keys()
    primary = embed.resolve(embedder if embedder is not None else loaded.embedder, keys=keys)
    fallback = embed.resolve(loaded.fallback_embedder, keys=keys) if loaded.fallback_embedder else None
    ranking = RankingOptions(reranker=resolve_reranker(loaded.reranker if reranker is None else reranker))
    if key is not None and sqlite_path(store_url) is None:
        raise InvalidInput("key is for a store in a file: a database server encrypts its own files")
    store = open_store(store_url, loaded)
    return Memotherm(
        store,
        primary,
        fallback=fallback,
        resolve_former=functools.partial(former_embedder, current=primary, keys=keys),
        scope=scope,
        rules=rules,
        settings=loaded,
        clock=clock,
        ranking=ranking,
    )


def _connect(url: str, scope: Scope | None, settings: Settings, key: Key | None, given: list[str]) -> Memotherm:
    """Return the memory of a server."""
    from memotherm.remote.client import RemoteMemotherm, Transport

    if given:
        raise InvalidInput(f"{given[0]} is for a store that is opened here: set it where {url} runs")
    transport = Transport(url, api_key(settings, key), _REMOTE_TIMEOUT_SECONDS)
    return RemoteMemotherm(transport, with_key(settings, None), scope)


def _for_asyncio(opener: Callable[P, Memotherm]) -> Callable[P, Opening]:
    @functools.wraps(opener, assigned=())
    def aopen(*args: P.args, **kwargs: P.kwargs) -> Opening:
        """Open a memory for asyncio: `async with memotherm.aopen(...) as mem:`."""
        # Imported here, because asyncio takes time to import.
        from memotherm.aio import Opening

        return Opening(functools.partial(opener, *args, **kwargs))

    return aopen


#: Opens a memory for asyncio: `async with memotherm.aopen(...) as mem:`.
aopen = _for_asyncio(open)


def restore(
    path: str | os.PathLike[str],
    into: str | os.PathLike[str],
    purged_in: str | os.PathLike[str] | None = None,
    repeat_purges: bool = True,
    *,
    key: Key | None = None,
) -> Path:
    """Create a store from a checkpoint, without what was purged since it was made.

    If the purges cannot be read, a warning is logged that asks for the store.

    Args:
        path: The checkpoint.
        into: The new store; must not exist yet.
        purged_in: The store whose purges are repeated; None takes the one that the checkpoint was made of, if it is
            still there.
        repeat_purges: Whether to repeat purges; with False, what was purged since is back.
        key: The encryption key of the stores, as in `open`.
    """
    source, target = Path(path).expanduser(), Path(into).expanduser()
    named = None if purged_in is None else os.fspath(purged_in)
    settings = Settings(key=with_key(settings_module.load(), key).key)
    why = restore_store(source, target, settings, named, repeat_purges=repeat_purges)
    if why:
        _log.warning(
            "%s has what was purged after the checkpoint: %s; name the store with purged_in to leave it out",
            target,
            why,
        )
    return target


def encrypt(url: str | os.PathLike[str], key: Key | None = None) -> Path:
    """Encrypt the file of a store that no process has open, and return its path.

    Args:
        url: The path of the store.
        key: The encryption key, as in `open`; None uses the setting `key` or `key_file`.
    """
    loaded = settings_module.load()
    return recode_store(os.fspath(url), "", _required_key(loaded, key), loaded)


def decrypt(url: str | os.PathLike[str], key: Key | None = None) -> Path:
    """Decrypt the file of a store that no process has open, and return its path.

    Args:
        url: The path of the store.
        key: Its encryption key, as in `open`; None uses the setting `key` or `key_file`.
    """
    loaded = settings_module.load()
    return recode_store(os.fspath(url), _required_key(loaded, key), "", loaded)


def rekey(url: str | os.PathLike[str], new_key: Key, key: Key | None = None) -> Path:
    """Encrypt the file of a store that no process has open with a new key, and return its path.

    Args:
        url: The path of the store.
        new_key: The new encryption key, as in `open`.
        key: The present one; None uses the setting `key` or `key_file`.
    """
    loaded = settings_module.load()
    return recode_store(os.fspath(url), _required_key(loaded, key), key_text(new_key), loaded)


def _required_key(settings: Settings, key: Key | None) -> str:
    found = with_key(settings, key).key
    if not found:
        raise InvalidInput("no encryption key is given: set MEMOTHERM_KEY or MEMOTHERM_KEY_FILE, or name a key file")
    return found


def migrate(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    settings: Settings | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    key: Key | None = None,
) -> Migration:
    """Copy a whole store into a new one and verify the copy; after an interruption, the new one is empty.

    Args:
        source: The path or URL of a store, which stays usable.
        target: The path or URL of a store that does not exist yet, or is empty.
        settings: Settings by name, which take precedence over the environment and files.
        progress: Called with (rows done, rows in all).
        key: The encryption key of stores in files, as in `open`.
    """
    loaded = with_key(settings_module.load(settings), key)
    return migrate_store(os.fspath(source), os.fspath(target), loaded, progress)


def distribute(url: str, shards: int = 32, *, settings: Settings | Mapping[str, Any] | None = None) -> Distribution:
    """Distribute the tables of a store on a Citus coordinator by tenant, and verify the rows.

    After an interruption, the same call resumes where it stopped; until the end, the store cannot be used.

    Args:
        url: The URL of the store on the coordinator.
        shards: The number of shards; a hash of the tenant selects one.
        settings: Settings by name, which take precedence over the environment and files.
    """
    return distribute_store(url, shards, settings_module.load(settings))


def _store_url(url: str | os.PathLike[str] | None, settings: Settings) -> str:
    if url is not None:
        path = os.fspath(url) if isinstance(url, str | os.PathLike) else url
        if not isinstance(path, str):
            raise InvalidInput(f"a store is a path or a URL, not {url!r}")
        return path
    default = settings_module.default_store(settings)
    if "://" not in default:
        folder = Path(default).expanduser().parent
        try:
            create_folder(folder)
        except OSError as exc:
            raise StoreUnavailable(f"cannot create the folder {folder}: {exc.strerror or exc}") from exc
    return default
