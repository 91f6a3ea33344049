"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator

import pytest

import memotherm.text
import memotherm.workspace
from memotherm.text.patterns import lazy_pattern


def test_a_lazy_pattern_is_compiled_when_it_is_used() -> None:
    """Then it has what a compiled one has, and what is wrong with it is said."""
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("a")
    letters = lazy_pattern("B+", re.IGNORECASE)
    assert letters.sub("c", "abBa") == "aca"
    assert letters.pattern == "B+"
    assert [match[0] for match in letters.finditer("bab")] == ["b", "b"]
    with pytest.raises(AttributeError):
        letters.nothing  # type: ignore[attr-defined]  # noqa: B018


def _patterns(value: object) -> Iterator[re.Pattern[str]]:
    if type(value) is type(lazy_pattern("")):
        yield value  # type: ignore[misc]
    elif isinstance(value, list | tuple | dict):
        items: Iterable[object] = value.values() if isinstance(value, dict) else value
        for each in items:
            yield from _patterns(each)


@pytest.mark.parametrize("package", [memotherm.text, memotherm.workspace])
def test_all_lazy_patterns_can_be_compiled(package: object) -> None:
    """Importing their modules does not tell."""
    path, name = package.__path__, package.__name__  # type: ignore[attr-defined]
    modules = [importlib.import_module(f"{name}.{each.name}") for each in pkgutil.iter_modules(path)]
    found = [each for module in modules for value in vars(module).values() for each in _patterns(value)]
    assert all(each.flags for each in found)
    assert len(found) > 2
