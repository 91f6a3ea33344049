"""Plugins: objects that installed packages offer by an entry point, such as embedders and rerankers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from memotherm.errors import PluginNotFound, PluginUnavailable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def names(group: str) -> list[str]:
    """Return the names of a group's entry points, sorted."""
    return sorted(_entry_points(group))


def load(group: str, name: str, *, kind: str, built_in: Iterable[str] = (), hint: str = "") -> object:
    """Import and return the object of an entry point.

    Args:
        group: The group, such as "memotherm.rerankers".
        name: The entry point's name.
        kind: What to call the object in errors, such as "embedder".
        built_in: Names that need no entry point, listed as known when `name` is not found.
        hint: A last sentence of the error when `name` is not found.

    Raises:
        PluginNotFound: No installed package has such an entry point.
        PluginUnavailable: The entry point's package, or one that it needs, cannot be imported.
    """
    entry_points = _entry_points(group)
    if name not in entry_points:
        known = ", ".join(sorted({*built_in, *entry_points})) or "none"
        raise PluginNotFound(f"No {kind} is called {name!r}. Known: {known}.{hint and ' ' + hint}")
    entry_point = entry_points[name]
    try:
        return cast("object", entry_point.load())
    except ImportError as error:
        package = error.name or (entry_point.dist.name if entry_point.dist else name)
        raise PluginUnavailable(
            f"The {kind} {name!r} needs a package that is not installed: pip install {package}"
        ) from error


def _entry_points(group: str) -> dict[str, EntryPoint]:
    # Reading the metadata of all packages takes milliseconds, and most processes need no plugin.
    from importlib.metadata import entry_points

    return {entry_point.name: entry_point for entry_point in entry_points(group=group)}
