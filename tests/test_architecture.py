"""Imports point down only, SQL stays in storage, and the environment is read in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "memotherm"

ROOT = PACKAGE.parent.parent
_ROW = re.compile(r"^\| (\w+) \| ((?:`[\w.]+` ?)+)\|", re.MULTILINE)


def layers() -> dict[str, list[str]]:
    """Return the layers of the architecture page, from the ground up, with their modules."""
    page = (ROOT / "docs" / "explain" / "architecture.md").read_text("utf-8")
    return {layer: re.findall(r"`([\w.]+)`", modules) for layer, modules in reversed(_ROW.findall(page))}


LAYERS = layers()
#: Where each module of the package stands: (layer from the ground up, place inside the layer).
POSITION = {part: (height, place) for height, parts in enumerate(LAYERS.values()) for place, part in enumerate(parts)}

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}


def part_of(module: str) -> str:
    """Return the part of a module's name that has a place in the order, the longest one; '' for the package itself."""
    names = module.split(".")[1:]
    parts = [".".join(names[:length]) for length in range(len(names), 1, -1)]
    return next((part for part in parts if part in POSITION), names[0] if names else "")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def annotation_only(tree: ast.Module) -> set[ast.stmt]:
    """Return the statements under `if TYPE_CHECKING:`, which import nothing when the program runs."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for block in blocks for inner in ast.walk(block) if isinstance(inner, ast.stmt)}


def imports_of(path: Path, *, annotations: bool = True) -> Iterator[tuple[int, str]]:
    """Yield (line, module of ours) for every import, those inside functions and for annotations included."""
    tree = tree_of(path)
    left_out = set() if annotations else annotation_only(tree)
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "memotherm")
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: relative import"
            if (node.module or "").split(".")[0] == "memotherm":
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    yield node.lineno, whole if whole in NAMES else str(node.module)


def strings_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every text of a module that is not a docstring."""
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_the_architecture_page_lists_exactly_what_exists() -> None:
    """Every module and package at the root stands in the table, once, and nothing else does."""
    listed = sorted(part for parts in LAYERS.values() for part in parts)

    assert listed == sorted({part_of(name) for name in NAMES} - {""})


def test_imports_point_down_only() -> None:
    """A module imports from lower layers, or from what stands before it in its own; imports in functions count too."""
    wrong = [
        f"{name}:{line} imports {other}"
        for name, path in NAMES.items()
        if part_of(name)
        for line, other in imports_of(path)
        if part_of(other) != part_of(name) and position_of(other) >= POSITION[part_of(name)]
    ]

    assert not wrong, "\n".join(wrong)


def position_of(module: str) -> tuple[int, int]:
    """Return where a module stands; the package itself is its facade, above everything that the facade is made of."""
    facade = list(LAYERS).index("facade")
    return POSITION[part_of(module)] if part_of(module) else (facade, len(LAYERS["facade"]))


def test_the_package_itself_imports_nothing() -> None:
    """`import memotherm` loads no module of ours: names are looked up when they are used."""
    tree = tree_of(PACKAGE / "__init__.py")
    hidden = annotation_only(tree)
    ours = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node not in hidden and (node.module or "").startswith("memotherm")
    ]

    assert ours == []


def test_there_are_no_cycles_of_imports() -> None:
    """The modules can be put in an order in which each imports only earlier ones."""
    edges = {name: {other for _, other in imports_of(path, annotations=False)} - {name} for name, path in NAMES.items()}
    edges["memotherm"] = set()
    left = dict(edges)
    while left:
        ready = [name for name, others in left.items() if not others & left.keys()]
        assert ready, f"a cycle among {sorted(left)}"
        for name in ready:
            del left[name]


def test_interfaces_see_the_facade_and_the_ground_only() -> None:
    """An interface parses, makes one call and prints; it knows no storage, embedder or search.

    An adapter may make an embedder of what its framework has.
    """
    layers = ("facade", "sentences", "rules", "ground", "interfaces")
    allowed = {part for layer in layers for part in LAYERS[layer]} | {"", "context", "notes", "tiers"}
    wrong = [
        f"{name} imports {other}"
        for name, path in NAMES.items()
        if part_of(name) in LAYERS["interfaces"]
        for _, other in imports_of(path)
        if part_of(other) not in allowed and (part_of(name), part_of(other)) != ("adapters", "embed")
    ]

    assert not wrong, "\n".join(wrong)


def test_storage_and_embedders_do_not_know_each_other() -> None:
    """A store keeps vectors whoever made them; an embedder makes them wherever they go."""
    pairs = {(part_of(name), part_of(other)) for name, path in NAMES.items() for _, other in imports_of(path)}

    assert not pairs & {("storage", "embed"), ("embed", "storage")}


_STATEMENT = re.compile(
    r"^\s*(SELECT\s+\S+.*\sFROM\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|PRAGMA\s+\w|"
    r"(CREATE|DROP|ALTER)\s+(TABLE|INDEX|TRIGGER|VIRTUAL)\b)",
    re.IGNORECASE | re.DOTALL,
)


def imported_by(tree: ast.Module) -> set[str]:
    """Return the first part of the name of everything that a module imports."""
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


def test_sql_lives_in_storage() -> None:
    """No other module speaks to a database driver or contains a statement, but for the databases of other programs."""
    allowed = {name for name in NAMES if part_of(name) == "storage"} | {"memotherm.history.sqlite"}
    others = {name: tree_of(path) for name, path in NAMES.items() if name not in allowed}

    assert [name for name, tree in others.items() if imported_by(tree) & {"sqlite3", "psycopg", "apsw"}] == []
    assert [
        f"{name}:{line}: {text}"
        for name, tree in others.items()
        for line, text in strings_of(tree)
        if _STATEMENT.match(text)
    ] == []


def test_the_statements_of_the_store_are_in_sql_files() -> None:
    """Storage itself reads its statements from files; only pragmas and a schema's first marks are written out."""
    queries = re.compile(r"^\s*(SELECT\s+\w+.*\sFROM\s+(?!sqlite_master)|UPDATE\s|DELETE\s)", re.IGNORECASE | re.DOTALL)
    found = [
        f"{name}:{line}: {text}"
        for name, path in NAMES.items()
        if part_of(name) == "storage"
        for line, text in strings_of(tree_of(path))
        if queries.match(text)
    ]

    assert not found, "\n".join(found)


def test_the_environment_is_read_by_the_settings_only() -> None:
    """No other module looks at environment variables; the daemon is given them all, to pass them on."""
    wrong = [
        f"{name}:{node.lineno}"
        for name, path in NAMES.items()
        if part_of(name) not in ("folders", "settings", "daemon")
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"})
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {a.name for a in node.names} & {"environ", "getenv"}
        )
    ]

    assert wrong == []


def test_time_is_read_by_the_clock_only() -> None:
    """The system's time is read in one module; everything else is given a clock or a moment."""
    wrong = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, path in NAMES.items()
        if name != "memotherm.model.clock"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and node.attr in {"now", "utcnow", "time", "today"}
        and ast.unparse(node) in {"datetime.now", "datetime.utcnow", "time.time", "date.today"}
    ]

    assert wrong == []


def test_every_module_says_what_it_is() -> None:
    """A module begins with a sentence."""
    first_lines = {name: (ast.get_docstring(tree_of(path)) or "").partition("\n")[0] for name, path in NAMES.items()}

    assert [f"{name}: {line}" for name, line in first_lines.items() if not re.search(r"[.:?]$", line)] == []
