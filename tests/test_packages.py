"""In a repository of several packages, memories of the package somebody works in come first; no package is a wall."""

from __future__ import annotations

from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Scope
from memotherm.workspace.checks import Workspace

_FILES = (
    "package.json",
    "packages/api/package.json",
    "packages/api/src/app.ts",
    "services/rates/Cargo.toml",
    "docs/a.md",
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a package in two of its folders."""
    for name in _FILES:
        (tmp_path / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / name).write_text("{}\n")
    (tmp_path / "shop" / ".git" / "refs").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "shop" / "packages" / "api" / "src")
    return tmp_path / "shop"


@pytest.fixture
def mem(tmp_path: Path) -> Memotherm:
    """A store of the project."""
    return memotherm.open(tmp_path / "m.db", scope=Scope(project="shop"), embedder="none")


@pytest.mark.parametrize(
    ("folder", "package"),
    [
        (".", ""),
        ("docs", ""),
        ("packages", ""),
        ("packages/api", "packages/api"),
        ("packages/api/src", "packages/api"),
        ("../linked", "packages/api"),
        ("services/rates", "services/rates"),
        ("..", ""),
    ],
)
def test_the_package_has_the_nearest_manifest_below_the_root(folder: str, package: str, shop: Path) -> None:
    """That of the root is the project."""
    assert Workspace(shop / folder).package == package


def test_what_is_stored_in_a_package_has_its_tag_and_comes_first_there(shop: Path, mem: Memotherm) -> None:
    """From the root, and without a folder, the order is that of the search; nothing is left out anywhere."""
    api, rates, root = (mem.in_folder(shop / each) for each in ("packages/api", "services/rates", "."))
    words = "The tests of the ledger need a database"
    stored = {
        "api": api.remember(f"{words} called heron", tags=["tests"]),
        "rates": rates.remember(f"{words} called egret"),
        "root": root.remember(f"{words} called crane"),
    }
    assert stored["api"].tags == ("tests", "package:packages/api")
    assert stored["rates"].tags == ("package:services/rates",)
    assert stored["root"].tags == ()
    own = api.remember("Ledger, tests, database: see egret", tags=["package:mine"])
    assert own.tags == ("package:mine",)

    def order(where: Memotherm) -> list[str]:
        found = [hit.memory.id for hit in where.recall(words)]
        return [name for each in found for name, memory in stored.items() if memory.id == each]

    assert sorted(order(root)) == sorted(order(api)) == sorted(order(rates)) == sorted(stored)
    assert order(root) == order(mem)
    assert order(api).index("rates") > order(api).index("api")
    assert order(rates).index("api") > order(rates).index("rates")
    for place, first in ((api, "heron"), (rates, "egret")):
        included = place.context(words).included
        assert len(included) >= 3
        assert first in included[0].memory.content or "crane" in included[0].memory.content


def test_what_is_about_a_user_is_of_no_package(shop: Path, mem: Memotherm) -> None:
    """It is stored for all of their projects."""
    user = mem.scoped(user="ana").for_user().in_folder(shop / "packages" / "api")
    assert user.remember("I like short answers", "preference").tags == ()


def test_captured_texts_have_the_tag(shop: Path, mem: Memotherm) -> None:
    """Also if a folder is deep in the package."""
    mem.in_folder(shop / "packages" / "api" / "src").capture("The payments are rounded half even since March")
    (memory,) = mem.find()
    assert "package:packages/api" in memory.tags
