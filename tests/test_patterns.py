"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import memotherm.context
import memotherm.text
import memotherm.workspace
from memotherm.text import patterns
from memotherm.text.patterns import compile_all, lazy_pattern


def test_a_lazy_pattern_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it has what a compiled one has, and what is wrong with it is said."""
    monkeypatch.setattr(patterns, "_PATTERNS", [])
    letters, broken = lazy_pattern("B+", re.IGNORECASE), lazy_pattern("(")
    assert letters.sub("c", "abBa") == "aca"
    assert letters.pattern == "B+"
    assert [match[0] for match in letters.finditer("bab")] == ["b", "b"]
    with pytest.raises(AttributeError):
        letters.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(re.error):
        broken.search("a")
    with pytest.raises(re.error):
        compile_all()


def test_all_patterns_of_the_package_can_be_compiled() -> None:
    """Importing their modules does not tell; the daemon compiles them for its forks."""
    for package in (memotherm.text, memotherm.workspace, memotherm.context):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    assert compile_all() > 80
