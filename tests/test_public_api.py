"""What is public is listed, importable, documented, and the same in both colours."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import memotherm
from memotherm import AsyncMemotherm, Memotherm, errors
from memotherm.aio import AsyncNotes, AsyncSession
from memotherm.notes.notes import Notes
from memotherm.session import Session
from tests.helpers import python

PACKAGE = Path(memotherm.__file__).parent
#: Adapters whose frameworks are not among the packages for development; `make adapters` installs them.
NOT_INSTALLED = {f"memotherm.adapters.{name}" for name in ("claude_agent", "google_adk", "llama_index", "strands")}
MODULES = sorted(
    {
        ".".join(("memotherm", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in PACKAGE.rglob("*.py")
        if path.name != "__main__.py"
    }
    - NOT_INSTALLED
)


def loaded(name: str) -> ModuleType:
    return importlib.import_module(name)


@cache
def used_elsewhere() -> dict[str, set[str]]:
    """Return module -> names that other modules of the package import from it."""
    used: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memotherm"):
                used.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    return used


def needed_from(module: ModuleType) -> set[str]:
    """Return the classes and functions that a module defines and others import."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in tree.body if isinstance(node, kinds)} & used_elsewhere().get(module.__name__, set())


def in_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", MODULES)
def test_the_list_of_public_names_is_sorted_and_complete(name: str) -> None:
    """A list has every class and function that other modules import, only names that exist, in order.

    A module without a list is internal: others import its names that do not begin with an underscore.
    """
    module = loaded(name)
    listed = getattr(module, "__all__", None)
    if listed is None:
        assert [each for each in used_elsewhere().get(name, ()) if each.startswith("_")] == []
        return

    assert list(listed) == sorted(listed, key=in_order)
    assert len(set(listed)) == len(listed)
    assert [each for each in listed if not hasattr(module, each)] == []
    assert needed_from(module) - set(listed) == set()


def test_every_public_name_can_be_imported() -> None:
    """`from memotherm import X` works for all of them, and dir() shows them."""
    for name in memotherm.__all__:
        assert getattr(memotherm, name) is not None
        assert name in dir(memotherm)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        memotherm.__getattr__("nothing")


def test_type_checkers_see_the_same_names_as_programs() -> None:
    """The imports for type checkers are those of the search for names, and each name is found in one place."""
    tree = ast.parse(Path(memotherm.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))

    assert [node.module for node in block.body if isinstance(node, ast.ImportFrom)] == sorted(
        f"memotherm.{home}" for home in memotherm._HOMES
    )
    for name in memotherm.__all__:
        found = [getattr(loaded(f"memotherm.{home}"), name, None) for home in memotherm._HOMES]
        assert {id(each) for each in found if each is not None} == {id(getattr(memotherm, name))}, name


IMPORTING = """
import builtins, json, os, sys
touched = []
def audit(event, arguments):
    if event == "open" and not str(arguments[0]).endswith((".py", ".pyc")) and not os.path.isdir(str(arguments[0])):
        touched.append(str(arguments[0]))
class Watched(dict):
    def __getitem__(self, key): touched.append(f"env {key}"); return dict.__getitem__(self, key)
    def get(self, key, default=None): touched.append(f"env {key}"); return dict.get(self, key, default)
before = set(sys.modules)
sys.addaudithook(audit)
os.environ = Watched(os.environ)
import memotherm
print(json.dumps({"modules": sorted(set(sys.modules) - before), "touched": touched}))
"""


def test_importing_the_package_does_nothing(tmp_path: Path) -> None:
    """No heavy package, no file, no environment variable: only the package's own first module is loaded."""
    done = python(IMPORTING, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)

    heavy = {"numpy", "onnxruntime", "sqlite3", "urllib3", "click", "rich", "turbovec", "splintr", "asyncio"}
    assert {name.split(".")[0] for name in report["modules"]} & heavy == set()
    assert [name for name in report["modules"] if name.startswith("memotherm")] == ["memotherm"]
    assert report["touched"] == []
    assert list(tmp_path.iterdir()) == []


def test_importing_the_values_loads_nothing_heavy() -> None:
    """Model, errors and settings can be used without what makes and stores vectors."""
    code = "import sys; from memotherm import Memory, Scope, Settings, MemothermError; print(*sys.modules)"
    done = python(code)

    assert done.returncode == 0, done.stderr
    assert {"numpy", "onnxruntime", "sqlite3", "urllib3"} & set(done.stdout.split()) == set()


def test_a_client_of_the_daemon_imports_little() -> None:
    """A hook that the daemon answers imports no module whose import takes longer than the answer."""
    code = "import sys; before = set(sys.modules); import memotherm.__main__, memotherm.daemon.client; "
    done = python(code + "print(*set(sys.modules) - before)")

    assert done.returncode == 0, done.stderr
    assert {"typing", "re", "contextlib", "importlib", "dataclasses", "pathlib"} & set(done.stdout.split()) == set()


# Errors


def error_classes() -> list[type[errors.MemothermError]]:
    found = [getattr(errors, name) for name in errors.__all__]
    return [each for each in found if isinstance(each, type)]


def test_every_error_has_a_code_of_its_own() -> None:
    """Doors translate codes, so no two classes share one, and none inherits one silently."""
    codes = [each.__dict__.get("code") for each in error_classes()]

    assert all(codes)
    assert len(set(codes)) == len(codes)


def test_every_error_is_drawn_in_the_tree() -> None:
    """The picture at the top of errors.py has each class once, below its base."""
    lines = [line for line in (errors.__doc__ or "").splitlines() if "──" in line or line.strip() == "MemothermError"]
    drawn: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in lines:
        name = line.strip(" │├└─").split()[0]
        depth = line.index(name)
        path = [*(each for each in path if each[0] < depth), (depth, name)]
        drawn[name] = path[-2][1] if len(path) > 1 else None

    expected = {each.__name__: next(b.__name__ for b in each.__bases__) for each in error_classes()}
    expected["MemothermError"] = None  # type: ignore[assignment]
    assert drawn == expected


def test_every_error_says_when_it_is_raised() -> None:
    """Each class has a docstring of its own, and all belong to one tree."""
    for each in error_classes():
        assert each.__dict__.get("__doc__")
        assert issubclass(each, errors.MemothermError)


def test_no_error_is_defined_elsewhere_without_a_base_in_the_tree() -> None:
    """Classes of errors in other modules belong to the tree too."""
    strays = [
        f"{name}.{each}"
        for name in MODULES
        for each, value in vars(loaded(name)).items()
        if isinstance(value, type)
        and not each.startswith("_")
        and issubclass(value, Exception)
        and value.__module__ == name
        and not issubclass(value, errors.MemothermError)
    ]

    assert strays == []


# Two colours


def verbs(cls: type) -> dict[str, Any]:
    return {
        name: value
        for name, value in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") or name in {"__enter__", "__exit__"}
    }


def test_the_async_face_has_every_verb_with_the_same_signature() -> None:
    """What the facade can do, the async one can; parameters, defaults and docs are the same."""
    for name, verb in verbs(Memotherm).items():
        twin = getattr(AsyncMemotherm, name.replace("__enter__", "__aenter__").replace("__exit__", "__aexit__"), None)

        assert twin is not None, f"AsyncMemotherm lacks {name}"
        mine, theirs = inspect.signature(verb), inspect.signature(twin)
        assert list(mine.parameters.values())[1:] == list(theirs.parameters.values())[1:], name
    for face, cls in ((AsyncSession, Session), (AsyncNotes, Notes)):
        assert verbs(cls).keys() - {"__enter__", "__exit__"} <= verbs(face).keys(), face


def test_the_async_face_adds_nothing_of_its_own() -> None:
    """There is no verb that only one of the two knows."""
    assert {name for name in verbs(AsyncMemotherm) if not name.startswith("__")} <= set(verbs(Memotherm))


def test_async_verbs_are_awaited() -> None:
    """Every verb that reaches the store is a coroutine; views and sessions are made at once."""
    at_once = {
        name
        for name, verb in verbs(AsyncMemotherm).items()
        if not name.startswith("__") and not inspect.iscoroutinefunction(verb)
    }

    assert at_once <= {"by", "for_user", "in_folder", "notes", "read_only", "scoped", "session"}


def test_another_view_of_the_async_face_is_async(tmp_path: Path) -> None:
    """What returns the same memory seen in another way returns it with verbs that are awaited."""
    with memotherm.open(tmp_path / "store.db", embedder="none", scope=memotherm.Scope(user="ana")) as mem:
        face = AsyncMemotherm(mem)
        views = (face.by("person"), face.in_folder(tmp_path), face.read_only(), face.for_user(), face.scoped(agent="a"))

    assert [type(each) for each in views] == [AsyncMemotherm] * 5


def test_the_async_face_has_the_same_groups(tmp_path: Path) -> None:
    """What is reached together in one is in the other, with the same methods, which are awaited."""
    with memotherm.open(tmp_path / "store.db", embedder="none") as mem:
        face = AsyncMemotherm(mem)
        for name, value in inspect.getmembers(Memotherm, lambda each: isinstance(each, property)):
            if name in ("scope", "settings") or name.startswith("_"):
                continue
            group = getattr(mem, name)
            for verb in verbs(type(group)):
                twin = getattr(getattr(face, name), verb)
                assert inspect.iscoroutinefunction(twin), f"{name}.{verb}"
                assert inspect.signature(twin) == inspect.signature(getattr(group, verb))
            assert value.__doc__ == getattr(AsyncMemotherm, name).__doc__


def test_every_public_verb_is_documented() -> None:
    """Each verb has a docstring that begins with a sentence."""
    for cls in (Memotherm, AsyncMemotherm):
        for name, verb in verbs(cls).items():
            if not name.startswith("__"):
                assert (inspect.getdoc(verb) or "").split("\n")[0].endswith("."), f"{cls.__name__}.{name}"


def test_open_and_aopen_take_the_same_arguments() -> None:
    """The two doors differ in what they return only."""
    assert inspect.signature(memotherm.open).parameters == inspect.signature(memotherm.aopen).parameters
