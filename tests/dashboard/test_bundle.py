"""The modules of the dashboard are joined into one script."""

from __future__ import annotations

import pytest

from memotherm.dashboard.bundle import bundled

SOURCES = {
    "app.js": 'import { one, two as other } from "./parts/one.js";\nconsole.log(one, other);\n',
    "parts/one.js": 'import { three } from "../three.js";\nexport const one = 1;\n'
    "export function two() { return three; }\n",
    "three.js": "const a=3;export{a as three};",
    "unused.js": "export const unused = 0;\n",
}


def test_a_module_comes_after_those_that_it_imports() -> None:
    """Each once, without what nothing imports."""
    script = bundled(SOURCES, "app.js")
    places = [script.index(f'modules["{name}"] = ') for name in ("three.js", "parts/one.js", "app.js")]
    assert places == sorted(places)
    assert 'const { one, two: other } = modules["parts/one.js"];' in script
    assert "return { three: a };" in script
    assert "unused" not in script
    assert "import {" not in script
    assert "export" not in script


def test_modules_that_import_each_other_are_refused() -> None:
    """When the server starts, instead of an error in the browser."""
    circle = {"app.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./app.js";\n'}
    with pytest.raises(ValueError, match="imports itself"):
        bundled(circle, "app.js")
