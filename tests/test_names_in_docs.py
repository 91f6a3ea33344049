"""Names of code in the documentation exist in the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.helpers import ROOT

PAGES = sorted([ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs" / "explain").rglob("*.md")])
SOURCE = ROOT / "src" / "memotherm"

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
#: `Store.transact`: a class and a member of it.
_MEMBER = re.compile(r"([A-Z]\w*)\.([a-z_]\w*)(?:\(.*\))?")
#: `tiers/engine.py`, as the pages shorten it.
_PATH = re.compile(r"[\w./-]+\.py")
_NAME = re.compile(r"_?[a-z]+(?:_[a-z]+)+|[A-Z]\w*[a-z]\w*[A-Z]\w*")


@cache
def members() -> dict[str, set[str]]:
    """Return the names that each class of the source has, its bases' included, and those of its instances."""
    own: dict[str, set[str]] = {}
    bases: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
                names |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                names |= {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
                own.setdefault(node.name, set()).update(names)
                bases.setdefault(node.name, []).extend(ast.unparse(base).split("[")[0] for base in node.bases)

    def all_of(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        if name not in own or name in seen:
            return set()
        return own[name].union(*(all_of(base.split(".")[-1], seen | {name}) for base in bases[name]))

    return {name: all_of(name) for name in own}


@cache
def words() -> frozenset[str]:
    """Return every word of the project's files that are not documentation."""
    suffixes = {".py", ".toml", ".json", ".js", ".sql", ".md", ".yml", ""}
    places = [SOURCE, ROOT / "tests", ROOT / "bench", ROOT / "pyproject.toml", ROOT / "Makefile"]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    texts = (file.read_text("utf-8", errors="ignore") for file in files if file.is_file() and file.suffix in suffixes)
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def unknown(code: str) -> bool:
    """Return whether a span of code names something that the project does not have."""
    if found := _MEMBER.fullmatch(code):
        return found[1] in members() and found[2] not in members()[found[1]]
    if _PATH.fullmatch(code):
        return not any(True for base in (ROOT, SOURCE) for _ in base.glob(f"**/{code.lstrip('./')}"))
    return bool(_NAME.fullmatch(code)) and code not in words()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_code_exist(page: Path) -> None:
    """A class, its member, a function, a setting or a file that a page names is in the project."""
    codes = dict.fromkeys(_CODE.findall(page.read_text("utf-8")))
    assert [code for code in codes if unknown(code)] == []
