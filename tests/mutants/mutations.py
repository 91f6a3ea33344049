"""Every small change of a module: another comparison, operator, condition, constant or result."""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["REACHED", "Mutant", "mutants_of", "mutated", "recorded", "sample"]

#: The name of the function that the statements of a recorded module call with their line.
REACHED = "__reached__"
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One change of one module."""

    module: str
    #: The function that is changed; "" for the module itself.
    function: str
    #: Whether the statement runs when the function is called; otherwise when the module is imported.
    runs: bool
    #: The lines of the statement that is changed.
    lines: tuple[int, int]
    before: str
    after: str
    path: Path
    #: Which of the changes of its module it is.
    number: int

    @property
    def name(self) -> str:
        """Name the mutant by what is changed, not by its line, so that it is the same after other changes."""
        return f"{self.module}.{self.function}: {self.before} -> {self.after}"


def mutants_of(module: str, path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    for number, (place, before, after) in enumerate(_changes(ast.parse(path.read_text("utf-8")))):
        yield Mutant(
            module=module,
            function=place.function,
            runs=place.runs,
            lines=_lines(place.statement),
            before=ast.unparse(before),
            after=ast.unparse(after),
            path=path,
            number=number,
        )


def mutated(mutant: Mutant) -> ast.Module:
    """Return the module of a mutant."""
    tree = ast.parse(mutant.path.read_text("utf-8"))
    _, before, after = next(itertools.islice(_changes(tree), mutant.number, None))
    _Replace(before, after).visit(tree)
    return ast.fix_missing_locations(tree)


def recorded(path: Path) -> ast.Module:
    """Return a module in which every statement of a function first calls `REACHED` with its line."""
    tree = ast.parse(path.read_text("utf-8"))
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        function.body = [*_recording(function.body)]
    return ast.fix_missing_locations(tree)


def _recording(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield ast.copy_location(ast.parse(f"{REACHED}({statement.lineno})").body[0], statement)
        yield statement
        blocks = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for block, name in itertools.product(blocks, ("body", "orelse", "finalbody")):
            if inner := getattr(block, name, None):
                setattr(block, name, [*_recording(inner)])


def sample(mutants: Iterator[Mutant], count: int) -> list[Mutant]:
    """Return `count` mutants, the same ones for the same code; a change elsewhere exchanges few of them."""
    named = {mutant.name: mutant for mutant in mutants}
    chosen = sorted(named, key=lambda name: hashlib.sha256(name.encode()).digest())[:count]
    return [named[name] for name in sorted(chosen)]


class _Replace(ast.NodeTransformer):
    def __init__(self, before: ast.expr, after: ast.expr) -> None:
        self._before, self._after = before, after

    def visit(self, node: ast.AST) -> Any:
        """Exchange the one node, and leave everything else."""
        return ast.copy_location(self._after, node) if node is self._before else self.generic_visit(node)


def _changes(tree: ast.Module) -> Iterator[tuple[_Place, ast.expr, ast.expr]]:
    for place, node in _nodes(tree):
        for changed in _changed(node):
            yield place, node, changed


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, without those of the block below it."""
    if isinstance(statement, ast.If | ast.While | ast.For | ast.With):
        return statement.lineno, max(statement.lineno, statement.body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


class _Place(NamedTuple):
    """Where an expression stands."""

    function: str
    runs: bool
    statement: ast.stmt


def _nodes(tree: ast.Module) -> Iterator[tuple[_Place, ast.expr]]:
    """Yield the expressions of a module; not those of annotations, decorators, arguments and messages."""
    for statement in tree.body:
        yield from _inside(statement, _Place("", False, statement))


def _inside(node: ast.AST, place: _Place) -> Iterator[tuple[_Place, ast.expr]]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = f"{place.function}.{node.name}".lstrip(".")
        runs = place.runs or isinstance(node, ast.FunctionDef)
        for statement in node.body:
            yield from _inside(statement, _Place(name, runs, statement))
    elif not isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
        if isinstance(node, ast.stmt):
            place = place._replace(statement=node)
        if isinstance(node, ast.expr):
            yield place, node
        for child in ast.iter_child_nodes(node):
            if child is not getattr(node, "annotation", None):
                yield from _inside(child, place)


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what an expression is changed into."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        operators = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield ast.Compare(node.left, operators, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
