"""Which memories concern a tool call: those that name its file, its command or its error.

    Never edit src/generated/api.ts by hand      a path: the file, or a folder above it
    Don't run `git push --force` on main         a command: program, subcommand and the words after them
    "context deadline exceeded" means …          an error: its words, or the name of an exception

A memory about a fix concerns its error only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from memotherm.text.failures import error_signature, error_signatures
from memotherm.text.patterns import lazy_pattern
from memotherm.text.tool_calls import COMMAND_WORD, Command, ToolCall, commands, listed

__all__ = ["FIX", "is_remedy", "names_call_vaguely", "reason_for_call", "trigger_names"]

#: The kind of a memory that holds an error and what made it go away.
FIX = "fix"

# What a memory names

_SENTENCE_CHARS = 200
_CODE = lazy_pattern(r"`([^`\n]{2,200})`")
_QUOTED = lazy_pattern(
    r"`([^`\n]{4,200})`|\"([^\"\n]{4,200})\"|“([^”\n]{4,200})”|„([^“\n]{4,200})“"
    r"|«([^»\n]{4,200})»|「([^」\n]{4,200})」"
)  # fmt: skip
#: Steps of routes included: app/[slug]/page.tsx, app/(auth)/login.tsx, routes/$id.tsx, routes/+page.svelte.
_PATH = lazy_pattern(
    r"(?<![\w.@:/~*-])(?=[^\s]{0,300}[./])"
    r"(?:[\w.@~*/-]|(?<=/)(?:\[{1,2}[\w.@-]{1,60}\]{1,2}|\([\w.@-]{1,60}\))|(?<=[/.])[+$])++"
)
_EXTENSIONS = listed(
    "py pyi ipynb js jsx ts tsx mjs cjs vue svelte rs go rb rake java kt kts scala swift c h cc cpp hpp cs php pl lua "
    "ex exs erl hs ml r jl dart sql sh bash zsh ps1 bat html htm css scss sass less md mdx rst tex txt csv tsv json "
    "jsonc json5 jsonl yaml yml toml ini cfg conf env xml proto graphql gradle tf tfvars lock mod sum cmake mk unity "
    "plist pbxproj svg png jpg otf ttf"
)
_NAMED_FILES = listed("Makefile Dockerfile Gemfile Podfile Procfile Justfile Rakefile Jenkinsfile Vagrantfile")
_BARE_NAME = lazy_pattern(r"(?<![\w/.-])[A-Z][a-z]{5,12}(?![\w/-])")
#: A word after which a program is named without quotation marks.
_UNQUOTED = lazy_pattern(
    r"\b(?:run|runs|running|use|using|call|execute|start|starte|starten|nutze|benutze|führe)\s+"
    r"([a-z][\w.-]{1,40}(?:\s+[a-z][\w:-]{1,40})?)", re.IGNORECASE
)  # fmt: skip
_NEGATION = lazy_pattern(
    r"\b(?:never|not|don't|dont|doesn't|mustn't|cannot|can't|avoid|without|instead of|nie|niemals|nicht|kein\w{0,2}|"
    r"statt|no|ne pas|jamais|nunca)\b", re.IGNORECASE
)  # fmt: skip
#: Names of errors that say nothing by themselves.
_COMMON_ERRORS = listed(
    "error exception typeerror valueerror keyerror indexerror runtimeerror assertionerror attributeerror importerror "
    "modulenotfounderror syntaxerror referenceerror nameerror oserror ioerror filenotfounderror rangeerror eusage "
    "systemexit failed failure fatal error: warning nullpointerexception illegalargumentexception"
)
#: ECONNREFUSED, E0433, InsufficientPrivilege, psycopg.errors.X, __cxa_thread_atexit.
_ERROR_NAME = lazy_pattern(
    r"(?<![\w.:/-])(?:[A-Z][A-Z0-9_]{4,40}|[A-Z]{1,4}\d{3,6}|(?:\w{1,40}(?:\.|::)){0,6}[A-Z][a-z]{1,30}(?:[A-Z][a-z]{1,30}){1,6}"
    r"|\w{1,60}_\w{1,60})(?![\w/-])"
)
_NUMBER = lazy_pattern(r"(?<![\w.])\d{3,5}(?![\w.])")


class _Named(NamedTuple):
    """What a memory names."""

    paths: tuple[str, ...]
    #: Commands, and whether the words before each forbid it.
    commands: tuple[tuple[Command, bool], ...]
    #: Phrases in quotation marks as signatures, and names of errors.
    phrases: tuple[str, ...]
    errors: frozenset[str]
    numbers: frozenset[str]
    #: The signature of the whole text, on one line.
    folded: str


_MOST_CHARS = 4000


@lru_cache(maxsize=512)
def _named(kind: str, text: str) -> _Named:
    text = text[:_MOST_CHARS]
    if kind == FIX:
        failed = text.partition("\n")[0].partition("` failed: ")[2] or text
        return _Named((), (), (), frozenset(), frozenset(), _folded(failed))
    named: list[tuple[Command, bool]] = []
    for match in _CODE.finditer(text):
        forbidden = _NEGATION.search(_before(text, match.start())) is not None
        named += [(command, forbidden) for command in commands(match[1])]
    for match in _UNQUOTED.finditer(text):
        named += [(command, False) for command in commands(match[1]) if command.subcommand]
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(text))
    phrases = tuple(filter(None, (error_signature(each) for each in quoted)))
    errors = frozenset(name.lower() for name in _ERROR_NAME.findall(text)) - _COMMON_ERRORS
    return _Named(tuple(_paths(text)), tuple(named), phrases, errors, frozenset(_NUMBER.findall(text)), "")


def _before(text: str, end: int) -> str:
    """Return the words before a place in its sentence."""
    start = max(text.rfind(mark, max(0, end - _SENTENCE_CHARS), end) for mark in (". ", "; ", ": ", "\n"))
    return text[max(start, end - _SENTENCE_CHARS, 0) : end]


def _folded(text: str) -> str:
    """Return the signatures of the lines or sentences of an error, on one line."""
    signature = error_signature(" ".join(text.split())[:_LONGEST_ERROR])
    return f" {signature} " if signature else ""


_LONGEST_ERROR = 400


def _paths(text: str) -> Iterator[str]:
    """Yield the paths that a text names; one with spaces only in code quotes."""
    for quote in _CODE.findall(text):
        if " " in quote and "/" in quote and quote.rpartition(".")[2].lower() in _EXTENSIONS:
            yield quote
    for match in _PATH.finditer(text):
        path = match[0].rstrip(".-").removeprefix("./")
        last = path.rpartition("/")[2]
        known = ("." in last[1:] and last.rpartition(".")[2].lower() in _EXTENSIONS) or last in _NAMED_FILES
        quoted = text[match.start() - 1 : match.start()] == "`" == text[match.end() : match.end() + 1]
        steps = path.count("/")
        if "://" in text[max(0, match.start() - 8) : match.start() + 3] or not path.strip("./*~"):
            continue
        if known or (steps and (path.endswith("/") or steps > 1 or quoted or path[0] in "/~")):
            yield path
    yield from (name for name in _BARE_NAME.findall(text) if name in _NAMED_FILES)


def _is_at(path: str, named: str) -> bool:
    """Return whether a file is the one that a memory names, or lies in the folder that it names."""
    wanted = [step for step in named.split("/") if step not in ("", "~")]
    steps = [step for step in path.split("/") if step]
    if not wanted:
        return False
    if named.startswith("/") or len(wanted) == 1:
        starts = [0]
    else:
        starts = [place for place, step in enumerate(steps) if _step(step, wanted[0])]
    is_file = "." in wanted[-1][1:] or wanted[-1] in _NAMED_FILES
    for start in starts:
        here = steps[start : start + len(wanted)]
        ends = not is_file or named.endswith("/") or start + len(wanted) == len(steps)
        if ends and len(here) == len(wanted) and all(map(_step, here, wanted)):
            return True
    return False


def _step(step: str, wanted: str) -> bool:
    """Return whether a step of a path is the one that is named; `*` stands for anything."""
    if "*" not in wanted:
        return step == wanted
    first, *rest = wanted.split("*")
    if not step.startswith(first) or not step.endswith(rest[-1]):
        return False
    position = len(first)
    for part in rest:
        position = step.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True


# Both together


def reason_for_call(call: ToolCall, kind: str, text: str) -> str:
    """Return why a memory concerns a call, in words; empty if it does not."""
    named = _named(kind, text)
    if call.error:
        return _reason_for_error(call.error, named)
    scripts = [command.script for command in commands(call.command) if command.script]
    for path in (*call.paths, *(script.removeprefix("./") for script in scripts)):
        if found := next((each for each in named.paths if _is_at(path, each)), ""):
            return f"it names the path {found}"
    for called in commands(call.command):
        for command, forbidden in named.commands:
            if _runs(called, command, forbidden=forbidden):
                return f"it names the command {f'{command.program} {command.subcommand}'.strip()}"
    return ""


def _reason_for_error(error: str, named: _Named) -> str:
    signatures = error_signatures(error)
    whole = f" {' '.join(signatures)} "
    if named.folded and (named.folded in whole or any(f" {each}" in named.folded for each in signatures)):
        return "it has the same error"
    for phrase in named.phrases:
        if phrase in whole:
            return "it names the same error"
    names = {name.lower() for line in error.split("\n")[:200] for name in _ERROR_NAME.findall(line[:_LONGEST_ERROR])}
    shared = names & named.errors
    if shared and (not named.numbers or named.numbers & set(_NUMBER.findall(error.replace(":", " ")))):
        return f"it names the error {min(shared)}"
    return ""


def names_call_vaguely(call: ToolCall, kind: str, text: str) -> bool:
    """Return whether a memory names the file of a call without its folder, or its program without a subcommand.

    One that names another folder or subcommand is about that one.
    """
    named, programs = _named(kind, text), {command.program for command in commands(call.command)}
    files = {path.rpartition("/")[2] for path in call.paths}
    if any(path in files for path in named.paths):
        return True
    return any(command.program in programs and not command.words | command.options for command, _ in named.commands)


def trigger_names(kind: str, text: str, about: Iterable[str] = ()) -> frozenset[str]:
    """Return the names by which calls concern a memory: the last step of its paths, its programs, `!` for errors.

    It is about some files, whether it names them or not.
    """
    named = _named(kind, text)
    names = {command.program.lower() for command, _ in named.commands}
    for path in (*named.paths, *about):
        steps = [step for step in path.lower().split("/") if step and "*" not in step]
        names.add(steps[-1] if steps else "*")
    if named.folded or named.phrases or named.errors:
        names.add("!")
    return frozenset(names)


# Commands


def _runs(called: Command, named: Command, *, forbidden: bool) -> bool:
    """Return whether a call runs a command that a memory names; what is forbidden is meant with its options."""
    if (called.program, called.subcommand) != (named.program, named.subcommand):
        return False
    words = (word for word in named.words if not _PLACEHOLDER.fullmatch(word))
    if not all(word in called.words or any(each.startswith(f"{word}/") for each in called.words) for word in words):
        return False
    return not forbidden or named.options <= called.options


def is_remedy(command: str, error: str) -> bool:
    """Return whether a command names something of an error: `pip install pyyaml` after "No module named 'yaml'"."""
    if not commands(command):
        return False
    # Every command of a session is compared with its failures: no name has a space.
    words = f" {' '.join(COMMAND_WORD.findall(command.lower())[1:])} "
    return any(name in words for name in _remedied(error))


@lru_cache(maxsize=64)
def _remedied(error: str) -> frozenset[str]:
    found = (name for signature in error_signatures(error) for name in _REMEDIED.findall(signature))
    return frozenset(name.strip("'") for name in found)


#: Names in quotation marks, and identifiers.
_REMEDIED = lazy_pattern(r"'[\w@./-]{3,60}'|\b[a-z]\w{0,40}[_/.-]\w{2,40}\b")
_PLACEHOLDER = lazy_pattern(r"[A-Z_]+|<.*>|\[.*\]|\.\.\.|…")
