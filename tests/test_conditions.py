"""Conditions that end a statement: their texts, and the sentences that state them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memotherm.text.conditions import Condition, opposite, parse_condition
from memotherm.text.ending_clauses import condition_in

_CASES = Path(__file__).parent.parent / "bench" / "conditions"


@pytest.mark.parametrize("half", ["development", "unseen"])
def test_statements_get_their_condition_or_none(half: str) -> None:
    """At least .80 of the labelled statements get the right condition, and those that end by none get none."""
    rows = [json.loads(line) for line in (_CASES / f"{half}.jsonl").read_text("utf-8").splitlines()]
    found = [condition_in(row["text"]) for row in rows]
    read = [None if condition is None else str(condition) for condition in found]
    stated = [(row["until"], text) for row, text in zip(rows, read, strict=True) if row["until"]]
    right = sum(wanted == text for wanted, text in stated)
    invented = sum(text is not None for row, text in zip(rows, read, strict=True) if row["until"] is None)
    # Counts only: nobody reads the statements of the unseen half.
    assert right >= 0.8 * len(stated)
    assert not invented


@pytest.mark.parametrize(
    "text",
    [
        "Keep the flag until Node 22 becomes LTS",
        "Don't close the ticket until all tests on Python 3.13 pass",
        "Until we've tested Django 5.2, stay on 4.2",
        "Leave the retries on until nobody uses Node 18",
        "Bis Django 5.2 getestet ist, bleiben wir bei 4.2",
        "Bis niemand mehr Node 18 nutzt, bleibt der Polyfill",
        "Bis auf Weiteres auf Python 3.12 bleiben",
        "Until further notice we are on Python 3.12",
        "Until Node 22 is faster, keep the cache",
        "Keep the patch until upstream fixes Django 5.2",
        "Bis alle Kunden Node 18 verlassen haben, bleibt er",
        "Until my laptop has Python 3.13, use Docker",
        "No lo toques hasta que alguien pruebe Python 3.13",
    ],
)
def test_what_the_repository_does_not_tell_is_no_condition(text: str) -> None:
    """The project may have the version long before; the memory would end too early."""
    assert condition_in(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Keep the shim until the whole repo is on Python 3.13",
        "Leave this until our minimum is Python 3.13",
        "Until the lock file has Python 3.13, skip it",
        "Until we've got Python 3.13, skip it",
        "Bis das Projekt Python 3.13 verlangt, bleibt der Umweg",
        "Hasta que usemos Python 3.13, no lo toques",
        "Finché non usiamo Python 3.13, resta così",
        "Пока мы не на Python 3.13, не трогай",
        "Python 3.13 に移行するまで使う",
    ],
)
def test_the_version_that_the_project_has_is_a_condition(text: str) -> None:
    """In the words for having, using, requiring or moving to it."""
    assert str(condition_in(text)) == "version of python at least 3.13"


@pytest.mark.parametrize(
    "text",
    [
        "branch release/2.1 exists",
        "branch release/2.1 is gone",
        "branch feature/x is merged",
        "tag at least 2.0",
        "version at least 2.0.1",
        "version of @types/node at least 22",
        "file docs/read me.txt exists",
        'file pyproject.toml contains "3.13"',
        'file pyproject.toml lacks "3.13"',
        "commit 4f2a91c is in main",
    ],
)
def test_the_text_of_a_condition_is_read_back(text: str) -> None:
    """What is stored and shown is what a person writes."""
    assert str(parse_condition(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-12-31",
        "file ../secrets.txt exists",
        "file /etc/passwd exists",
        "file ~/x exists",
        "file C:\\x exists",
        "file a/.git/config exists",
        "branch --upload-pack=x exists",
        "branch a..b exists",
        "commit HEAD is in main",
        "commit 4f2a91c is in --all",
        f"file {'x' * 500} exists",
    ],
)
def test_what_lies_outside_of_a_project_is_no_condition(text: str) -> None:
    """Paths that lead out of it, options in place of names, and anything else are refused."""
    assert parse_condition(text) is None


def test_while_is_until_the_opposite() -> None:
    """A branch that exists is gone at the end; a merge has no opposite."""
    assert opposite(Condition("branch", "a", "exists")) == Condition("branch", "a", "is gone")
    assert opposite(Condition("file", "a", "lacks", "b")) == Condition("file", "a", "contains", "b")
    assert opposite(Condition("branch", "a", "is merged")) is None
