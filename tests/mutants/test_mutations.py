"""The mutants of `make mutants`: each is one change, and the sample does not depend on chance."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from tests.mutants.mutations import REACHED, mutants_of, mutated, recorded, sample

CODE = '''"""A module."""
LIMIT: int = 3

def within(count: int, strict: bool = False) -> bool:
    """Tell whether a count is within the limit."""
    if count < 0:
        raise ValueError(f"{count + 1} is wrong")
    return count < LIMIT if strict else not count > LIMIT
'''


def test_a_mutant_is_the_module_with_one_change(tmp_path: Path) -> None:
    """Comparisons, constants, conditions and negations are changed; messages, annotations and defaults are not."""
    path = tmp_path / "module.py"
    path.write_text(CODE)
    found = list(mutants_of("module", path))

    assert [(mutant.function, mutant.before, mutant.after, mutant.runs) for mutant in found] == [
        ("", "3", "4", False),
        ("within", "count < 0", "count <= 0", True),
        ("within", "0", "1", True),
        ("within", "count < LIMIT if strict else not count > LIMIT",
         "not count > LIMIT if strict else count < LIMIT", True),
        ("within", "count < LIMIT", "count <= LIMIT", True),
        ("within", "not count > LIMIT", "count > LIMIT", True),
        ("within", "count > LIMIT", "count >= LIMIT", True),
    ]  # fmt: skip
    for mutant in found:
        lines = zip(ast.unparse(ast.parse(CODE)).splitlines(), ast.unparse(mutated(mutant)).splitlines(), strict=True)
        assert sum(before != after for before, after in lines) == 1


def test_a_sample_is_the_same_for_the_same_code(tmp_path: Path) -> None:
    """It has as many mutants as asked for, and a larger one contains a smaller one."""
    path = tmp_path / "module.py"
    path.write_text(CODE)
    names = [{mutant.name for mutant in sample(mutants_of("module", path), count)} for count in (3, 3, 5, 99)]

    assert [len(each) for each in names] == [3, 3, 5, 7]
    assert names[0] == names[1] < names[2] < names[3]


def test_a_recorded_module_tells_which_statements_are_reached(tmp_path: Path) -> None:
    """Each statement of a function calls with its line when it runs, and the result is the same."""
    path = tmp_path / "module.py"
    path.write_text(CODE)
    lines: list[int] = []
    module: dict[str, Any] = {REACHED: lines.append}
    exec(compile(recorded(path), str(path), "exec"), module)

    assert module["within"](3)
    assert lines == [5, 6, 8]
