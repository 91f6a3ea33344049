"""The versions that the files of a project name: its own, those of its packages, and those of its languages.

Files are searched for the lines that matter, not parsed: a lock file of 500 kB takes 0.3 ms instead of 300.
Where several places name a version, the lowest counts: a memory that ends too late does less harm than one that ends
too early.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Protocol

#: The files that say which version of a language is used, with a pattern for each.
_LANGUAGES = {
    "python": (
        ("pyproject.toml", r"""^\s*requires-python\s*=\s*["']([^"']+)"""),
        ("pyproject.toml", r"""^\s*python\s*=\s*["']([^"']+)"""),
        (".python-version", r"^\s*(?:cpython-)?(\d[\w.]*)"),
        (".tool-versions", r"^python\s+(\S+)"),
    ),
    "node": (
        ("package.json", r'"engines"\s*:\s*\{[^}]{0,500}"node"\s*:\s*"([^"]+)'),
        (".nvmrc", r"^\s*(v?\d[\w.]*)"),
        (".node-version", r"^\s*(v?\d[\w.]*)"),
        (".tool-versions", r"^nodejs\s+(\S+)"),
    ),
    "go": (("go.mod", r"^go\s+(\S+)"), (".tool-versions", r"^golang\s+(\S+)")),
    "rust": (
        ("Cargo.toml", r"""^\s*rust-version\s*=\s*["']([^"']+)"""),
        ("rust-toolchain.toml", r"""^\s*channel\s*=\s*["'](\d[^"']*)"""),
        ("rust-toolchain", r"^\s*(\d[\w.]*)"),
    ),
}
#: The version of the project itself.
_OWN = (
    ("pyproject.toml", r"""^\[(?:project|tool\.poetry)\]\s*$(?:\n(?!\[).*){0,60}?\nversion\s*=\s*["']([^"']+)"""),
    ("Cargo.toml", r"""^\[(?:workspace\.)?package\]\s*$(?:\n(?!\[).*){0,60}?\nversion\s*=\s*["']([^"']+)"""),
)
#: Files with exact versions of packages; NAME is the package.
_LOCKS = (
    ("uv.lock", r"""^name = "NAME"\r?\nversion = "([^"]+)"""),
    ("poetry.lock", r"""^name = "NAME"\r?\nversion = "([^"]+)"""),
    ("Cargo.lock", r"""^name = "NAME"\r?\nversion = "([^"]+)"""),
    ("package-lock.json", r'"node_modules/NAME"\s*:\s*\{\s*"version"\s*:\s*"([^"]+)'),
    ("yarn.lock", r"""^"?NAME@[^\n]{0,300}:\r?\n  version:? "?([^"\s]+)"""),
    ("go.mod", r"^(?:require)?\s*(?:\S+/)?NAME(?:/v\d+)?\s+(v\d\S*)"),
)
#: Files with the versions of packages that are accepted.
_MANIFESTS = (
    ("pyproject.toml", r"""["']NAME(?:\[[^\]"']{0,100}\])?\s*([<>=!~^][^"';]{1,100})"""),
    ("pyproject.toml", r"""^\s*["']?NAME["']?\s*=\s*(?:\{[^}\n]{0,200}?version\s*=\s*)?["']([^"']{1,100})"""),
    ("requirements.txt", r"^\s*NAME(?:\[[^\]]{0,100}\])?\s*([<>=!~][^;#\n]{1,100})"),
    ("Cargo.toml", r"""^\s*NAME\s*=\s*(?:\{[^}\n]{0,200}?version\s*=\s*)?["']([^"']{1,100})"""),
)
#: A text is searched as a whole up to this length; of a longer one, so many characters from a name on.
_SHORT, _AROUND = 20_000, 400
_NUMBER = re.compile(r"([<>=!~^]{0,3})\s*v?(\d+(?:\.\d+)*)(\.?[*x])?[-.+_]?([a-z]*)", re.IGNORECASE)
#: One of a requirement: not 256 in `--hash=sha256:...`, or 19 in `npm:other@19` and in `4.2-rc.19`.
_BOUND = re.compile(rf"(?<![\w.:@#/%+-]){_NUMBER.pattern}", re.IGNORECASE)
_TAG = re.compile(r"v?(\d+(?:\.\d+){0,3})")
#: From this number on, the first one of a tag is a year, a date or the number of a build.
_FIRST_YEAR = 1900
#: Suffixes that a version has before it is released.
_EARLIER = ("a", "b", "c", "rc", "alpha", "beta", "dev", "pre", "preview", "next", "snapshot", "canary", "m")

#: Numbers, and 0 for what comes before a release.
Version = tuple[int, ...]


class Files(Protocol):
    """The files of a project."""

    def exists(self, path: str) -> bool | None:
        """Return whether there is such a file; None if unknown."""

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if there is none."""


def version_key(text: str) -> Version:
    """Return a version as numbers that can be compared."""
    found = _NUMBER.match(text.strip())
    return _key(found) if found else (0,) * 5


def is_tagged(wanted: str, tags: list[str]) -> bool:
    """Return whether a version or a later one is tagged: by a tag such as v1.2, and a date is not after 1.2."""
    least = version_key(wanted)
    found = (version_key(tag) for tag in tags if _TAG.fullmatch(tag))
    return any(version >= least and (version[0] < _FIRST_YEAR) == (least[0] < _FIRST_YEAR) for version in found)


def version_of(name: str, files: Files) -> Version | None:
    """Return the version of a language or a package in a project, or its own for an empty name; None if unknown."""
    if not name:
        own = [*_found(_OWN, "", files), *_in_package_json(files, "version")]
        return min((version_key(text) for text in own), default=None)
    if name in _LANGUAGES:
        return min((_lowest(text) for text in _found(_LANGUAGES[name], "", files)), default=None)
    locked = min((version_key(text) for text in _found(_LOCKS, name, files)), default=None)
    if locked is not None:
        return locked
    accepted = [*_found(_MANIFESTS, name, files), *_in_package_json(files, name)]
    return min((_lowest(text) for text in accepted), default=None)


def languages(files: Files) -> dict[str, Version]:
    """Return the languages of a project with their versions."""
    found = {name: version_of(name, files) for name in _LANGUAGES}
    return {name: version for name, version in found.items() if version is not None}


def _found(places: tuple[tuple[str, str], ...], name: str, files: Files) -> Iterator[str]:
    """Yield the versions that files name."""
    # In Python's index, these characters are the same.
    written = "[-_.]+".join(map(re.escape, re.split(r"[-_.]+", name)))
    for path, pattern in places:
        text = files.text(path)
        for part in _parts(text or "", name):
            flags = re.MULTILINE | re.IGNORECASE
            yield from (found[1] for found in re.finditer(pattern.replace("NAME", written), part, flags))


def _parts(text: str, name: str) -> Iterator[str]:
    """Yield a short text, or the lines around a name in a long one: patterns that ignore case take 15 ms for 1 MB."""
    if not name or len(text) <= _SHORT:
        yield text
        return
    for written in {name, name.replace("-", "_"), re.sub("[_.]", "-", name)}:
        place = text.find(written)
        while place >= 0:
            yield text[text.rfind("\n", 0, place) + 1 : place + _AROUND]
            place = text.find(written, place + _AROUND // 4)


def _in_package_json(files: Files, name: str) -> Iterator[str]:
    """Yield what package.json says about its own version or about a package."""
    text = files.text("package.json")
    try:
        values = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return
    groups = [values] if name == "version" else [values.get(f"{each}ependencies") for each in ("d", "devD", "peerD")]
    for group in groups if isinstance(values, dict) else ():
        if isinstance(group, dict) and isinstance(group.get(name), str):
            yield group[name]


def _lowest(accepted: str) -> Version:
    """Return the lowest version that a requirement such as `>=3.12,<4` or `^18 || ^20` accepts."""
    lowest = []
    for each in accepted[:200].split("||"):
        bounds = [found for found in _BOUND.finditer(each.partition(" - ")[0]) if found[1][:1] not in ("<", "!")]
        lowest.append(max((_key(found) for found in bounds), default=(0,) * 5))
    return min(lowest)


def _key(found: re.Match[str]) -> Version:
    numbers = [int(number[:9]) for number in found[2].split(".")][:4]
    return (*numbers, *[0] * (4 - len(numbers)), int(found[4].lower() not in _EARLIER))
