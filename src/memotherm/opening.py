"""From a URL, a name and some settings to an open memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memotherm import embed
from memotherm import settings as settings_module
from memotherm.embed import Embedder
from memotherm.embed.reranker import Reranker, ScoreTexts, resolve_reranker
from memotherm.errors import InvalidInput, StoreUnavailable
from memotherm.memory import Memotherm
from memotherm.model import Scope
from memotherm.model.clock import Clock
from memotherm.recall.weights import RankingOptions
from memotherm.rules import Rule
from memotherm.settings import Settings
from memotherm.storage.open import migrate_store, open_store, partition_store, restore_store
from memotherm.storage.transfer import Migration, Progress

if TYPE_CHECKING:
    from memotherm.aio import Opening

__all__ = ["aopen", "migrate", "open", "partition", "restore"]


def open(  # noqa: A001 - `memotherm.open` is the door's name
    url: str | os.PathLike[str] | None = None,
    *,
    scope: Scope | None = None,
    embedder: Embedder | str | None = None,
    rules: Iterable[Rule] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    clock: Clock | None = None,
    reranker: Reranker | ScoreTexts | str | None = None,
) -> Memotherm:
    """Open a memory, creating it if it is not there yet.

    Args:
        url: A path, `sqlite:///path` or `postgresql://...`; None opens the user's own store.
        scope: Whose memories are seen and written.
        embedder: An instance, "local", "openai", "gemini", "none", a plugin's name, or the URL of an
            OpenAI-compatible server; None takes the setting.
        rules: The rules that move memories, in their order, such as `[*DEFAULT_RULES, MyRule()]`; None takes the
            built-in rules and those of plugins.
        settings: Settings by name, which win over the environment and the files.
        clock: A function that returns the time; None takes the system's.
        reranker: An object with `score(query, texts)`, a function with that signature, or a plugin's name; None
            takes the setting.
    """
    if scope is not None and not isinstance(scope, Scope):
        raise InvalidInput(f"scope must be a Scope, such as Scope(agent='planner'), not {scope!r}")
    known = settings_module.load(settings)
    keys = {"openai": known.openai_api_key, "gemini": known.gemini_api_key}
    found = embed.resolve(embedder if embedder is not None else known.embedder, keys=keys)
    fallback = embed.resolve(known.fallback_embedder, keys=keys) if known.fallback_embedder else None
    ranking = RankingOptions(reranker=resolve_reranker(known.reranker if reranker is None else reranker))
    store = open_store(_located(url, known), known)
    return Memotherm(
        store, found, fallback=fallback, scope=scope, rules=rules, settings=known, clock=clock, ranking=ranking
    )


def aopen(
    url: str | os.PathLike[str] | None = None,
    *,
    scope: Scope | None = None,
    embedder: Embedder | str | None = None,
    rules: Iterable[Rule] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    clock: Clock | None = None,
    reranker: Reranker | ScoreTexts | str | None = None,
) -> Opening:
    """Open a memory for asyncio: `async with memotherm.aopen(...) as mem:`."""
    # Only here: whoever does not await anything is spared the time that loading asyncio takes.
    from memotherm.aio import Opening

    return Opening(
        functools.partial(
            open,
            url,
            scope=scope,
            embedder=embedder,
            rules=rules,
            reranker=reranker,
            settings=settings,
            clock=clock,
        )
    )


def restore(
    path: str | os.PathLike[str],
    into: str | os.PathLike[str],
    purged_in: str | os.PathLike[str] | None = None,
) -> Path:
    """Make a new store out of a checkpoint; the checkpoint stays as it is.

    Args:
        path: The checkpoint.
        into: The new store; must not exist yet.
        purged_in: The store that the checkpoint was made of: what was purged there since then does not come back.
    """
    source, target = Path(path).expanduser(), Path(into).expanduser()
    restore_store(source, target, None if purged_in is None else os.fspath(purged_in))
    return target


def migrate(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    settings: Settings | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Migration:
    """Copy a whole store into a new one and verify the copy; what was interrupted goes on when called again.

    Args:
        source: The path or URL of a store; others may go on using it.
        target: The path or URL of a store that does not exist yet, or is empty.
        settings: Settings by name, which win over the environment and the files.
        progress: Called with (rows done, rows in all).
    """
    return migrate_store(os.fspath(source), os.fspath(target), settings_module.load(settings), progress)


def partition(url: str, parts: int, *, settings: Settings | Mapping[str, Any] | None = None) -> list[str]:
    """Cut the tables of a PostgreSQL store into parts by tenant, all at once, and return the tables' names.

    Args:
        url: The URL of the store; others wait while its tables are written anew.
        parts: How many; tenants are spread over them by a hash.
        settings: Settings by name, which win over the environment and the files.
    """
    return partition_store(url, parts, settings_module.load(settings))


def _located(url: str | os.PathLike[str] | None, settings: Settings) -> str:
    if url is not None:
        path = os.fspath(url) if isinstance(url, str | os.PathLike) else url
        if not isinstance(path, str):
            raise InvalidInput(f"a store is named by a path or a URL, not by {url!r}")
        return path
    default = settings_module.default_store(settings)
    if "://" not in default:
        folder = Path(default).expanduser().parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise StoreUnavailable(f"cannot create the folder {folder}: {exc.strerror or exc}") from exc
    return default
