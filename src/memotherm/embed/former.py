"""The embedder that made a store's vectors, found by its name while the store changes to another one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from memotherm import embed
from memotherm.embed.protocol import Embedder
from memotherm.model import entry_points

__all__ = ["former_embedder"]

_PARTS = re.compile(r"local:.*:parts=(\d+)")
_SERVICE = re.compile(r"(openai|gemini):[^/]+/(.+)")
_SIZE = re.compile(r"(.+):(\d+)")


def former_embedder(name: str, current: Embedder, keys: Mapping[str, str]) -> Embedder | None:
    """Return the embedder that made vectors under a name, or None if the name and the keys do not suffice.

    A service is used only beside another service: who has changed to an embedder on this machine expects that
    nothing is sent any more. A server's URL is not in the name, so servers other than OpenAI and Gemini are
    not found.
    """
    for specification in _specifications(name):
        try:
            former = embed.resolve(specification, keys=keys)
        except Exception:  # noqa: BLE001, S112 - without its key or its package it cannot be used
            continue
        if former.name == name and (_is_service(current) or not _is_service(former)):
            return former
    return None


def _specifications(name: str) -> Iterator[str]:
    """Yield what `resolve` may be called with for an embedder of this name."""
    if name.startswith("local:"):
        parts = _PARTS.fullmatch(name)
        yield f"local?part_tokens={parts[1]}" if parts else "local"
    elif service := _SERVICE.fullmatch(name):
        yield f"{service[1]}?{urlencode({'model': service[2]})}"
        if sized := _SIZE.fullmatch(service[2]):
            yield f"{service[1]}?{urlencode({'model': sized[1]})}"
            yield f"{service[1]}?{urlencode({'model': sized[1], 'dimensions': sized[2]})}"
    else:
        plugins = entry_points.names(embed.GROUP)
        yield from (plugin for plugin in plugins if plugin in (name, name.partition(":")[0]))


def _is_service(embedder: Embedder) -> bool:
    # Imported here, because it imports numpy.
    from memotherm.embed.remote import RemoteEmbedder

    return isinstance(embedder, RemoteEmbedder)
