"""Write the reference pages that follow from the code: `make docs`. A test holds them up to date."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from thermocline import errors
from thermocline.facade import Thermocline
from thermocline.notes import Notes
from thermocline.session import Session
from thermocline.settings import Settings

REFERENCE = Path(__file__).parent / "reference"

_SETTINGS_HEAD = """\
# Settings

Every setting with its default.
Values come from arguments (`thermocline.open(..., settings={...})`),
then the environment (`THERMOCLINE_` and the name in capitals),
then `thermocline.toml` or `[tool.thermocline]` in `pyproject.toml` in the working directory or above it,
then your own `config.toml`, then these defaults.
0 means 0, never "the default".
An unknown name is an error.

| setting | default | what it does |
|---|---|---|
"""
_ERRORS_HEAD = """\
# Errors

Every error that Thermocline raises on purpose descends from `ThermoclineError` and carries a stable `code`.
Messages say what to do; doors translate codes, never messages.

"""
_PYTHON_HEAD = """\
# Python

`thermocline.open(url)` returns a `Thermocline`;
`async with thermocline.aopen(url) as mem` the same verbs to await (`AsyncThermocline`).
Values (`Memory`, `Hit`, `Recall`, `Move`, `Event`, `EventPage`, `Page`, `Status`, `Why`, `Problem`, `Context`,
`Receipt`, ...)
are frozen; change one with `dataclasses.replace`.
`Tier`, `Priority` and `Retention` are string enums: `str(memory.tier) == "hot"`.

"""


def settings_page() -> str:
    """Return the table of settings, described by the comments in the code."""
    lines = inspect.getsource(Settings).splitlines()
    rows, comment = [], ""
    for line in lines:
        if found := re.match(r"\s+#: (.*)", line):
            comment = f"{comment} {found[1]}".strip()
        elif found := re.match(r"    (\w+): [^=]+ = ", line):
            default = Settings.__dataclass_fields__[found[1]].default
            rows.append(f"| `{found[1]}` | {_default(default)} | {comment} |")
        elif not line.strip():
            comment = ""
        if line.strip() and not line.strip().startswith("#:") and not re.match(r"    boost_|    \w+: ", line):
            comment = ""
        if re.match(r"    \w+: [^=]+ = ", line) and not _continues(lines, line):
            comment = ""
    return _SETTINGS_HEAD + "\n".join(rows) + "\n"


def _continues(lines: list[str], line: str) -> bool:
    """Tell whether the next line is another setting that shares the comment."""
    place = lines.index(line)
    return place + 1 < len(lines) and re.match(r"    \w+: [^=]+ = ", lines[place + 1]) is not None


def _default(value: object) -> str:
    if value == "" or value == ():
        return "(none)"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def errors_page() -> str:
    """Return the tree of errors and what each one means."""
    tree = inspect.getdoc(errors) or ""
    drawn = "\n".join(line for line in tree.splitlines() if line.startswith("    "))
    classes = [getattr(errors, name) for name in errors.__all__]
    rows = [
        f"| `{each.__name__}` | `{each.code}` | {(inspect.getdoc(each) or '').splitlines()[0]} |" for each in classes
    ]
    table = "| error | code | when |\n|---|---|---|\n" + "\n".join(rows)
    return f"{_ERRORS_HEAD}```text\n{inspect.cleandoc(drawn)}\n```\n\n{table}\n"


def python_page() -> str:
    """Return every public verb with its signature and its first sentence."""
    sections = []
    for title, owner in (("The memory", Thermocline), ("A session", Session), ("Notes", Notes)):
        entries = [_entry(name, method) for name, method in _verbs(owner)]
        about = (inspect.getdoc(owner) or "").splitlines()[0]
        sections.append(f"## {title}\n\n{about}\n\n" + "\n".join(entries))
    return _PYTHON_HEAD + "\n".join(sections)


def _verbs(owner: type) -> Iterator[tuple[str, object]]:
    for name, method in vars(owner).items():
        if not name.startswith("_") and inspect.isfunction(method):
            yield name, method


def _entry(name: str, method: object) -> str:
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(method).parameters.values()  # type: ignore[arg-type]
        if parameter.name != "self"
    ]
    signature = str(inspect.Signature(shown)).replace("<Priority.NORMAL: 'normal'>", "'normal'")
    signature = re.sub(r"<\w+\.\w+: ('\w+')>", r"\1", signature)
    doc = inspect.getdoc(method) or ""
    lines = [f"### `{name}{signature}`", "", _paragraphs(doc)]
    told = doc.partition("Args:\n")[2]
    arguments = re.findall(r"^    (\w+): ((?:.|\n        )+?)(?=\n    \w|\n*\Z)", told, re.MULTILINE)
    lines += [f"- `{argument}`: {' '.join(text.split())}" for argument, text in arguments]
    return "\n".join([*lines, ""])


def _paragraphs(doc: str) -> str:
    told = doc.partition("Args:\n")[0].strip()
    return "\n\n".join(" ".join(part.split()) for part in told.split("\n\n")) + "\n"


#: File -> what it should say.
PAGES = {"settings.md": settings_page, "errors.md": errors_page, "python.md": python_page}


def main() -> None:
    """Write every page."""
    REFERENCE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
