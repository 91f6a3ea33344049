"""Join modules into one script: on a slow line, each request takes longer than its bytes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_FORWARDED = re.compile(r'^export \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^export ((?:const|function|async function|class) (\w+))", re.MULTILINE)
_LISTED = re.compile(r"export\{([^}]*)\};\s*$")


def bundled(sources: Mapping[str, str], entry: str) -> str:
    """Return a module and all that it imports as one: each is a function that runs once, after those it needs.

    Imports and exports are those of the dashboard: names in braces, and declarations that begin a line.
    """
    parts: list[str] = ["const modules = {};\n"]
    begun: list[str] = []
    done: set[str] = set()

    def add(name: str) -> None:
        if name in done:
            return
        if name in begun:
            raise ValueError(f"{name} imports itself: {' -> '.join(begun)}")
        begun.append(name)
        folder = posixpath.dirname(name)

        def imported(match: re.Match[str]) -> str:
            source = posixpath.normpath(posixpath.join(folder, match[2]))
            add(source)
            return f'const {{{match[1].replace(" as ", ": ")}}} = modules["{source}"];\n'

        text = sources[name]
        exported = [each.strip() for names, _ in _FORWARDED.findall(text) for each in names.split(",") if each.strip()]
        text = _IMPORT.sub(imported, _FORWARDED.sub(imported, text))
        exported += [declared for _, declared in _DECLARED.findall(text)]
        if listed := _LISTED.search(text):
            exported += [": ".join(reversed(each.split(" as "))) for each in listed[1].split(",")]
        text = _LISTED.sub("", _DECLARED.sub(r"\1", text))
        parts.append(f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {", ".join(exported)} }};\n}})();\n')
        done.add(begun.pop())

    add(entry)
    return "".join(parts)
