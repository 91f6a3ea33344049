"""What all readers share: one bad transcript never stops the others, and no empty result is silent.

Programs write texts where users write, around and instead of what the user typed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from memotherm.errors import MemothermError
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.values import moment, text


class Reader(ABC):
    """The reader of the transcripts of one program."""

    name: str
    #: The newest version of the program whose files were checked.
    verified: str

    def roots(self, environment: Mapping[str, str], home: Path) -> list[Path]:
        """Return the folders and files where the program keeps its transcripts, those that exist."""
        return [path for path in dict.fromkeys(self._places(environment, home)) if path.exists()]

    @abstractmethod
    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the transcripts in a folder or file, without parsing them."""

    def read(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        """Yield the records of a transcript, in memory that does not depend on its size."""
        try:
            for record in self._records(transcript, reading):
                if record.text:
                    reading.records += 1
                    yield _storable(record)
        except MemothermError as exc:
            reading.problem = str(exc)
        except OSError as exc:
            reading.problem = exc.strerror or str(exc)
        except Exception as exc:  # noqa: BLE001 - files of other programs have any shape, and one stops no other
            reading.problem = f"it has an unknown shape ({type(exc).__name__}: {exc})"
        if not (reading.problem or reading.known) and transcript.size:
            reading.problem = "it has no record of a known type"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:  # noqa: ARG002
        """Yield the folders in which the program keeps its sessions; without any, the user names them."""
        yield from ()

    @abstractmethod
    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        """Yield the records of a transcript; what it raises becomes the problem of the reading."""


_TEXTS = ("id", "session", "parent", "text", "project", "branch", "output")
_texts = attrgetter(*_TEXTS)


def _storable(record: Record) -> Record:
    """Return a record whose texts are valid Unicode without NUL."""
    found = _texts(record)
    joined = "".join(found)
    if joined.isascii() and "\0" not in joined:
        return record
    changed: dict[str, Any] = dict(zip(_TEXTS, map(_valid, found), strict=True))
    return record._replace(**changed)


def _valid(text: str) -> str:
    # Halves of a character that belong together become one again.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")


#: The tools of all programs that run commands, and those that change files.
_COMMANDS = frozenset(
    """
    Bash PowerShell Shell ShellTool bash developer__shell exec execute_command powershell run_commands run_in_terminal
    run_shell_command run_terminal_cmd run_terminal_command run_terminal_command_v2 shell
    """.split()  # noqa: SIM905 - a list would take twenty lines
)
_EDITS = frozenset(
    """
    Edit MultiEdit NotebookEdit StrReplace Write apply_diff apply_patch create developer__edit developer__text_editor
    developer__write edit edit_file edit_file_v2 editor insert insert_content multi_edit multiedit replace
    replace_in_file replace_string_in_file search_and_replace search_replace smart_edit str_replace text_editor write
    write_file write_to_file
    """.split()  # noqa: SIM905 - a list would take thirty lines
)
#: The arguments that name a file.
_PATHS = ("file_path", "filePath", "path", "target_file", "relativeWorkspacePath", "notebook_path")


def actions(tool: str, arguments: Mapping[str, Any]) -> list[tuple[Role, str]]:
    """Return the commands that a call runs, or the file that it changes; none for other calls."""
    if tool in _COMMANDS:
        commands = arguments.get("commands", arguments.get("command"))
        listed = commands if isinstance(commands, list) else [commands]
        return [("command", each.strip() if isinstance(each, str) else "") for each in listed]
    # Some editors look at files as well.
    if tool in _EDITS and text(arguments, "command") != "view":
        return [("edit", next(filter(None, (text(arguments, name) for name in _PATHS)), ""))]
    return []


class Session:
    """What the records of a session have in common, and its calls whose results are not read yet."""

    def __init__(self, name: str, project: str = "", parent: str = "", branch: str = "") -> None:
        self.name = name
        self.project = project
        self.parent = parent
        self.branch = branch
        self._calls: dict[str, list[Record]] = {}

    def record(self, name: str, time: object, role: Role, said: str) -> Record:
        """Return a record, given its id."""
        return Record(name, self.name, self.parent, moment(time), role, said.strip(), self.project, self.branch)

    def done(self, name: str, time: object, tool: str, arguments: Mapping[str, Any]) -> list[Record]:
        """Return the records of what a call does."""
        found = enumerate(actions(tool, arguments))
        return [self.record(f"{name}:{place}" if place else name, time, *action) for place, action in found]

    def wait_for(self, call: str, records: list[Record]) -> None:
        """Keep the records of a call until its result."""
        if records:
            self._calls.setdefault(call, records)

    def taken(self, call: str) -> list[Record]:
        """Return the records of a call that waited for its result."""
        return self._calls.pop(call, [])

    def finished(self, call: str, output: str, *, failed: bool) -> Iterator[Record]:
        """Yield the records of a call with its result."""
        yield from (record.with_result(output, failed=failed) for record in self.taken(call))

    def unfinished(self) -> Iterator[Record]:
        """Yield the calls without a result."""
        for records in self._calls.values():
            yield from records
        self._calls.clear()


#: What Claude Code writes when the user stops it.
INTERRUPTED = "[Request interrupted by user"


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<({'|'.join(names)})(?:\s[^<>]{{0,500}})?>")


def without_elements(text: str, names: tuple[str, ...]) -> str:
    """Return a text without the elements of some names, such as <ide_selection>…</ide_selection>, with their contents.

    A name is a regular expression. An element that is never closed stays.
    """
    if "<" not in text:
        return text
    kept, place, unclosed = [], 0, set[str]()
    for tag in _tags(names).finditer(text):
        if tag.start() < place or tag[1] in unclosed:
            continue
        closing = f"</{tag[1]}>"
        end = text.find(closing, tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        kept.append(text[place : tag.start()])
        place = end + len(closing)
    return "".join((*kept, text[place:])).strip() if place else text


def element(text: str, name: str) -> str:
    """Return the content of the first element of a name, or ""."""
    tag = _tags((name,)).search(text)
    end = text.find(f"</{name}>", tag.end()) if tag else -1
    return text[tag.end() : end].strip() if tag and end >= 0 else ""


def typed(text: str, prefixes: tuple[str, ...], elements: Collection[str] = ()) -> str:
    """Return the part of a text that a user typed: "" if the text begins as those of the program do."""
    text = without_elements(text, tuple(elements)).strip() if elements else text.strip()
    return "" if text.startswith((INTERRUPTED, *prefixes)) else text
