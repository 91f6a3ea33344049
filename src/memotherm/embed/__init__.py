"""Embedders, which turn text into vectors, and how one is chosen: by name, URL, plugin or instance.

This module does not read the environment; keys are passed in.
The concrete embedders and their packages are imported when one is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from memotherm.embed.calibration import Calibration
from memotherm.embed.http import host_of, redact_url
from memotherm.embed.protocol import Embedder, checked, close, embed_query, query_weight, split, word_similarity
from memotherm.errors import InvalidInput
from memotherm.model import entry_points

if TYPE_CHECKING:
    from memotherm.embed.local import LocalEmbedder
    from memotherm.embed.protocol import NoEmbedder
    from memotherm.embed.services import GeminiEmbedder, OpenAIEmbedder

__all__ = [
    "Calibration",
    "Embedder",
    "GeminiEmbedder",
    "LocalEmbedder",
    "NoEmbedder",
    "OpenAIEmbedder",
    "checked",
    "close",
    "embed_query",
    "former_embedder",
    "query_weight",
    "resolve",
    "split",
    "word_similarity",
]

GROUP = "memotherm.embedders"

#: Name -> the module and the class.
_BUILT_IN = {
    "gemini": ("services", "GeminiEmbedder"),
    "local": ("local", "LocalEmbedder"),
    "none": ("protocol", "NoEmbedder"),
    "openai": ("services", "OpenAIEmbedder"),
}
#: Options of a URL or a name are text; these are converted.
_NUMBERS: Mapping[str, Callable[[str], int | float]] = {
    "dimensions": int,
    "max_chars": int,
    "max_texts": int,
    "part_tokens": int,
    "retries": int,
    "threads": int,
    "timeout": float,
}
_NO_KEYS: Mapping[str, str] = MappingProxyType({})


def resolve(spec: object = None, *, keys: Mapping[str, str] = _NO_KEYS) -> Embedder:
    """Return the embedder that a specification names.

    Args:
        spec: An embedder; or None or "local"; "openai", "gemini", "none" or a plugin's name, which may carry
            options ("openai?model=text-embedding-3-large&dimensions=256"); or the URL of an
            OpenAI-compatible server ("http://localhost:11434/v1?model=nomic-embed-text"); or "auto" for the
            first of "local", if its model can be run, "openai" and "gemini", if there is a key.
        keys: API keys by "openai", "gemini" or plugin name. For a URL, the key of its host or of "url" is
            used, never that of another service.
    """
    if spec is None:
        spec = "local"
    if not isinstance(spec, str):
        return _valid(spec)
    name, _, query = spec.partition("?")
    options = _parse_options(query)
    if name == "auto":
        name = _automatic(keys)
    if name.lower().startswith(("http://", "https://")):
        return _from_url(name, options, keys)
    if name in _BUILT_IN:
        key = {"api_key": keys[name]} if keys.get(name) else {}
        return _create(name, _class(name), {**key, **options})
    return _from_plugin(name, options, keys)


def __getattr__(name: str) -> type:
    """Import the class of an embedder on first access."""
    for short, (_, each) in _BUILT_IN.items():
        if each == name:
            return _class(short)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _automatic(keys: Mapping[str, str]) -> str:
    """Return the first usable embedder; "local" if there is none, because its error says what is missing."""
    from memotherm.embed.local import LocalEmbedder

    if LocalEmbedder.is_installed():
        return "local"
    return next((service for service in ("openai", "gemini") if keys.get(service)), "local")


def _class(name: str) -> type:
    module, class_name = _BUILT_IN[name]
    return cast("type", getattr(import_module(f"memotherm.embed.{module}"), class_name))


def _from_url(url: str, options: Mapping[str, object], keys: Mapping[str, str]) -> Embedder:
    if not options.get("model"):
        raise InvalidInput(
            f"{redact_url(url)}: the model is missing; write for example {redact_url(url)}?model=nomic-embed-text"
        )
    # The key of OpenAI is not sent to another server.
    official = keys.get("openai") if urlsplit(url).hostname == "api.openai.com" else None
    key = keys.get(host_of(url)) or keys.get("url") or official
    key_option = {"api_key": key} if key else {}
    return _create("openai", _class("openai"), {"base_url": url, **key_option, **options})


def _from_plugin(name: str, options: Mapping[str, object], keys: Mapping[str, str]) -> Embedder:
    make = entry_points.load(
        GROUP,
        redact_url(name),
        kind="embedder",
        built_in=("auto", *_BUILT_IN),
        hint="Or give the http(s) URL of a server.",
    )
    key = {"api_key": keys[name]} if keys.get(name) else {}
    return _create(name, cast("Callable[..., object]", make), {**key, **options})


def _create(name: str, make: Callable[..., object], options: Mapping[str, object]) -> Embedder:
    """Create an embedder; the error for a wrong option lists the valid ones."""
    try:
        signature(make).bind(**options)
    except TypeError as error:
        takes = ", ".join(signature(make).parameters) or "none"
        raise InvalidInput(f"Wrong options for the embedder {name!r} ({error}). It takes: {takes}.") from None
    return _valid(make(**options))


def _parse_options(query: str) -> dict[str, object]:
    """Return the options after the question mark."""
    options: dict[str, object] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        try:
            options[name] = _NUMBERS[name](text) if name in _NUMBERS else text
        except ValueError:
            raise InvalidInput(f"The embedder's option {name} must be a number.") from None
    return options


def _valid(embedder: object) -> Embedder:
    """Return the embedder if it has the required members, else raise `InvalidInput`."""
    if isinstance(embedder, type):
        raise InvalidInput(f"{embedder.__name__} is a class; pass an instance of it as the embedder.")
    name, size = getattr(embedder, "name", None), getattr(embedder, "dimensions", None)
    missing = []
    if not isinstance(name, str) or not name:
        missing.append("name: str")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        missing.append("dimensions: int")
    if not callable(getattr(embedder, "embed", None)):
        missing.append("embed(texts)")
    if missing:
        raise InvalidInput(f"{type(embedder).__name__} is not an embedder; it lacks {', '.join(missing)}.")
    return cast("Embedder", embedder)


_PARTS = re.compile(r"local:.*:parts=(\d+)")
_SERVICE = re.compile(r"(openai|gemini):[^/]+/(.+)")
_SIZE = re.compile(r"(.+):(\d+)")


def former_embedder(name: str, current: Embedder, keys: Mapping[str, str]) -> Embedder | None:
    """Return the embedder that made the vectors of a name, or None if the name and the keys are not enough to open it.

    While a store changes its embedder, the former one still embeds queries. A service is used only if the new
    embedder is a service too: after changing to a local embedder, nothing is sent any more. A server's URL is not
    in the name, so only OpenAI and Gemini are found.
    """
    for specification in _specifications(name):
        try:
            former = resolve(specification, keys=keys)
        except Exception:  # noqa: BLE001, S112 - without its key or its package it cannot be used
            continue
        if former.name == name and (_is_service(current) or not _is_service(former)):
            return former
    return None


def _specifications(name: str) -> Iterator[str]:
    """Yield the arguments for `resolve` that may give an embedder of this name."""
    if name.startswith("local:"):
        parts = _PARTS.fullmatch(name)
        yield f"local?part_tokens={parts[1]}" if parts else "local"
    elif service := _SERVICE.fullmatch(name):
        yield f"{service[1]}?{urlencode({'model': service[2]})}"
        if sized := _SIZE.fullmatch(service[2]):
            yield f"{service[1]}?{urlencode({'model': sized[1]})}"
            yield f"{service[1]}?{urlencode({'model': sized[1], 'dimensions': sized[2]})}"
    else:
        plugins = entry_points.names(GROUP)
        yield from (plugin for plugin in plugins if plugin in (name, name.partition(":")[0]))


def _is_service(embedder: Embedder) -> bool:
    # Imported here, because it imports numpy.
    from memotherm.embed.services import RemoteEmbedder

    return isinstance(embedder, RemoteEmbedder)
