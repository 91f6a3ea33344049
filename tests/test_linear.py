"""Every function that reads a text takes time in proportion to its length, whatever the text.

The functions are found by walking the packages: a new one is tested because it is there. One that cannot be called
with texts alone has a caller in `_CALLERS`, or a reason in `_EXEMPT`. So do the verbs through which texts come in.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from memotherm import Memotherm, Settings
from memotherm.context.forms import QueryFocus
from memotherm.errors import InvalidInput, MemothermError
from memotherm.facade.capture import prepared
from memotherm.history.reader import actions, element, typed, without_elements
from memotherm.history.sources.codex_calls import command_of, has_failed
from memotherm.hooks.calls import tool_call
from memotherm.hooks.events import parse_event, truncated
from memotherm.hooks.tools import relative
from memotherm.hooks.turns import contents_of, turn_of
from memotherm.model import Memory, Recall
from memotherm.notes.files import transcript
from memotherm.notes.flush import Flush
from memotherm.notes.import_formats import pieces
from memotherm.notes.search import excerpt
from memotherm.recall.selecting import select
from memotherm.remember.draft import draft_of
from memotherm.statements.acts import Act, likely
from memotherm.statements.endings import ended, taken_back
from memotherm.statements.replacing import Turn, concerns
from memotherm.storage.candidates import WordIds
from memotherm.storage.tombstones import Passage, with_marks
from memotherm.text.assigned_secrets import assigned, column, is_code, on_next_line, sign_after
from memotherm.text.claims import sentence_of, statement_of
from memotherm.text.content import require_text, require_texts
from memotherm.text.mentions import tokens
from memotherm.text.redaction import Redactor
from memotherm.text.secret_grammar import (
    Joint,
    Walk,
    ends_clause,
    is_last,
    is_renewed,
    it_is,
    quoted_phrase,
    was_changed,
)
from memotherm.text.secret_words import Announced, Kind, accepts
from memotherm.text.tokens import counter
from memotherm.text.tool_calls import ToolCall
from memotherm.text.triggers import names_call_vaguely, reason_for_call
from tests.hostile import HOSTILE

_PACKAGES = (
    "text", "statements", "remember", "facade.capture", "hooks", "storage.candidates", "storage.tombstones", "recall",
    "context", "notes", "tiers", "history.values", "history.reader", "history.listing", "history.sources",
)  # fmt: skip
_TODAY, _NOW = date(2026, 3, 4), datetime(2026, 3, 4, tzinfo=UTC)

#: Parameters that hold a name, an id or a path, which are short; every other one that takes a `str` holds a text.
_NAMES = frozenset(
    """
    actor advice after before chat client code during file folder home host ids included keep key language mark
    memory_id memory_ids message noun origin path paths prefix problem project recall_id relative role rule rule_id
    section session setting source state store successor tenant token tokenizer what where why
    """.split()  # noqa: SIM905 - a list would take forty lines
)
_TEXT = re.compile(r"str(?: \| None)?|(?:Iterable|Sequence|list)\[str\]")
_SHORT = "Ada Lovelace"
_PASSWORD = Announced(0, 8, Kind.PASSWORD)


def _assigned(text: str) -> object:
    settings = f"password = {text}", f"password: '{text}"
    signs = [(setting, sign_after(setting, _PASSWORD, 8)) for setting in settings]
    return [assigned(setting, setting, _PASSWORD, sign, any_word=True) for setting, sign in signs if sign]


def _memory(content: str) -> Memory:
    times = {"created_at": _NOW, "updated_at": _NOW, "tier_since": _NOW, "retention_since": _NOW}
    return Memory(id="mem_1", content=content, **times)


def _selected(text: str) -> object:
    memories = [_memory(text), _memory(f"{text} Ада")]
    return select(_SHORT, lambda _: Recall(query="", hits=()), lambda _: memories, 0.5)


#: What a function of its own needs besides texts: by annotation, and for single parameters by their names.
_VALUES: Mapping[str, object] = {
    "date": _TODAY,
    "datetime": _NOW,
    "Settings": Settings(),
    "Count": len,
    "most": 50,
    "line": 1,
    "longest": 1_000_000,
    "memory_id": "mem_1",
    "path": "notes.md",
}
#: Objects whose methods are called.
_OBJECTS: Mapping[str, Callable[[], object]] = {
    "Redactor": Redactor,
    "Counter": counter,
    "WordIds": lambda: WordIds,
    "Flush": lambda: Flush(
        prompt="", system="", file="", date=_TODAY, total_tokens=0, threshold=0, silent_token="NO_REPLY"
    ),
}
#: Functions that need more than texts.
_CALLERS: Mapping[str, Callable[[str], object]] = {
    "context.forms.QueryFocus.best": lambda text: [
        QueryFocus(query).best(text, [0]) for query in (text, "the frozen deploy é")
    ],
    "history.reader.actions": lambda text: actions("Bash", {"command": text}),
    "history.reader.element": lambda text: [element(text, name) for name in ("task", "a")],
    "history.reader.typed": lambda text: typed(text, ("<system-reminder>",), ("ide_[a-z]{1,40}", "system-reminder")),
    "history.reader.without_elements": lambda text: without_elements(text, ("task", "a", "b", "memotherm-memory")),
    "history.sources.codex_calls.command_of": lambda text: command_of(
        "function_call", {"name": "shell", "arguments": json.dumps({"command": ["bash", "-lc", text]})}
    ),
    "history.sources.codex_calls.has_failed": lambda text: has_failed(text, True),
    "hooks.calls.tool_call": lambda text: [
        tool_call({"tool_name": "apply_patch", "tool_input": {"command": text}}, "PreToolUse"),
        tool_call({"tool_name": "Bash", "tool_input": {"command": text}, "tool_response": text}, "PostToolUse"),
    ],
    "text.assigned_secrets.assigned": _assigned,
    "text.assigned_secrets.column": lambda text: column(f"a,password\n{text}", _PASSWORD._replace(start=2, end=10)),
    "text.assigned_secrets.is_code": lambda text: is_code(_PASSWORD, text),
    "text.assigned_secrets.on_next_line": lambda text: on_next_line(f"password\n{text}", _PASSWORD, 8),
    "text.assigned_secrets.sign_after": lambda text: sign_after(text, _PASSWORD, 0),
    "text.secret_grammar.Walk.is_linked": lambda text: Walk(change=False).is_linked(text),
    "text.secret_grammar.Walk.past": lambda text: Walk(change=False).past(text, text),
    "text.secret_grammar.ends_clause": lambda text: [ends_clause(text, place) for place in (1, len(text))],
    "text.secret_grammar.is_last": lambda text: is_last(text, 0),
    "text.secret_grammar.is_renewed": lambda text: is_renewed(text, 0, len(text)),
    "text.secret_grammar.it_is": lambda text: [it_is(text, 0), it_is(f"it's {text}", 0)],
    "text.secret_grammar.quoted_phrase": lambda text: quoted_phrase(f'"{text}', 0),
    "text.secret_grammar.was_changed": lambda text: was_changed(text, 0, len(text)),
    "text.secret_words.accepts": lambda text: [
        accepts(Announced(0, 8, kind), text, joint) for kind in Kind for joint in Joint
    ],
    "text.triggers.reason_for_call": lambda text: [
        reason_for_call(ToolCall("Edit", (text[:4096],), text), "fact", text),
        reason_for_call(ToolCall("Bash", (), "make test", text), "fix", text),
        reason_for_call(ToolCall("Bash", (), "make test", text), "fact", text),
    ],
    "text.triggers.names_call_vaguely": lambda text: names_call_vaguely(ToolCall("Bash", (), text), "fact", text),
    "hooks.tools.relative": lambda text: relative(text[:4096], "/tmp"),
    "hooks.turns.turn_of": lambda text: turn_of(text, text, text, "bytes"),
    "hooks.turns.contents_of": lambda text: [
        contents_of(text, text, "bytes"), contents_of("Which port is it?", text, "bytes")
    ],
    "text.claims.sentence_of": lambda text: sentence_of(text, 1),
    "text.claims.statement_of": lambda text: statement_of(text, 0),
    "statements.acts.likely": lambda text: likely(text, Act.RULE),
    "statements.replacing.concerns": lambda text: concerns({"port"}, text, text),
    "statements.replacing.Turn.replaced_number": lambda text: Turn("CI went down to 6 minutes").replaced_number(text),
    "statements.replacing.Turn.replaced_part": lambda text: [
        Turn(text).replaced_part(text), Turn("no, the port is 5434").replaced_part(text, text)
    ],
    "statements.endings.taken_back": lambda text: [
        *taken_back(text, lambda: [text]), *taken_back(f"forget the rule {text}", lambda: [text])
    ],
    "statements.endings.ended": lambda text: [*ended(text, lambda: [text]), *ended(f"{text} is done", lambda: [text])],
    "hooks.events.truncated": lambda text: truncated(text, 9000),
    "hooks.events.parse_event": lambda text: parse_event({"prompt": text, "hook_event_name": "Stop"}),
    "notes.files.transcript": lambda text: [
        list(transcript(text.encode(errors="replace"), str)),
        list(transcript(json.dumps({"type": "user", "message": {"role": "user", "content": text}}).encode(), str)),
    ],
    "notes.search.excerpt": lambda text: excerpt("notes.md", text.split("\n"), 1, None),
    "notes.import_formats.pieces": lambda text: list(pieces(text, kind="fact")),
    "recall.selecting.select": _selected,
    "facade.capture.prepared": lambda text: prepared(text, {"a": text}, None, Settings()),
    "remember.draft.draft_of": lambda text: draft_of({"content": text}),
    "storage.tombstones.with_marks": lambda text: with_marks(
        text, [Passage(start, start + 5, _NOW) for start in range(0, len(text) - 5, 20)]
    ),
    "text.content.require_text": lambda text: require_text(text, "content", 1_000_000),
    "text.content.require_texts": lambda text: require_texts([text], "mentions", "a name", 1_000_000),
    "text.redaction.Redactor.redact_values": lambda text: Redactor().redact_values({"a": [text]}),
}  # fmt: skip
#: Functions and classes that take a text and are not called here, with the reason.
_EXEMPT: Mapping[str, str] = {
    "history.reader.Session": "keeps the records of calls: actions, error_lines",
    "history.listing.files": "takes patterns of ours",
    "text.content.require_limit": "takes a number",
    "text.content.listed": "reads no text",
    "remember.conflicts.conflicts_in": "takes ids; compares sentences of stored memories: statement_of",
    "history.listing.children": "takes a suffix of ours",
    "storage.candidates.Candidates.have": "compares words of a query with columns of numbers",
    "context.standing.StandingFinder": "asks for phrases in a query: asks_about_user; compares lines with a summary",
    "context.selection.split_siblings": "compares hits of at most 300 characters: context",
    "remember.authority.require_authority": "puts a word of ours into a message",
    "text.spelling.statements_of": "takes a text that is spelled already: spelled, remember",
    "context.forms.Renderer": "counts one rendered line: context",
    "context.formats.Format": "joins rendered lines: context",
    "history.values.items": "takes the name of a field",
    "history.values.text": "takes the name of a field",
    "hooks.quick": "takes the JSON of an event: words of a call, and files with names",
    "hooks.files.files_of_turn": "compares a prompt with those of a transcript",
    "hooks.calls.names_none": "takes a call: call_names",
    "hooks.entry": "the command itself, which calls parse_event and the verbs",
    "hooks.events.answer": "passes a text on",
    "hooks.hosts": "names, commands and fields of an event: parse_event",
    "hooks.install.InstallRequest": "options of a command",
    "hooks.settings_files.merged_toml": "our own lines",
    "hooks.spool.Spool": "names of files",
    "hooks.jobs.start_command": "starts a command of ours",
    "hooks.turns.Transcripts": "reads files: transcript",
    "notes.edits.append": "writes a file: notes append",
    "notes.imports.import_memories": "reads files: pieces",
    "notes.import_formats": "reads entries of a file: pieces",
    "notes.notes.Notes": "verbs, called below",
    "recall.evidence": "compares words of a query with columns of numbers: recall",
    "recall.feedback.FeedbackLog": "needs a store: feedback",
    "recall.selecting.mentioned": "needs a store: select",
    "recall.selecting.with_aliases": "needs a store: select",
    "facade.capture.repeated": "needs a store: capture",
    "facade.capture.apply_reports": "needs a memory: ended, taken_back",
    "facade.capture.ReportTarget": "declares the methods of a memory",
    "remember.changes": "needs a store: update and amend",
    "remember.conflicts.supersede": "takes ids",
    "remember.superseding.mark_doubtful": "needs a store: capture",
    "text.versions.phrases_in": "takes the name of a list",
    "remember.draft.end_of": "a moment, which is parsed from its first characters",
    "remember.draft.lifetime_of": "a duration, which is parsed from its first characters",
    "remember.export_scope.move_project": "names of projects",
    "remember.forgotten": "needs a store: capture",
    "remember.limits.Limits": "a reason, which is stored as it is",
    "remember.writer.MemoryWriter": "needs a store: remember",
    "storage.tombstones.Tombstones": "needs a store: forget and capture",
    "text.patterns.lazy_pattern": "patterns of the package",
    "text.phrases.listed_phrases": "a name in the lists of the package",
    "text.phrases.phrases_of": "a name in the lists of the package",
    "text.phrase_patterns.PhrasePattern": "phrases of the package",
    "text.redaction.compiled": "a setting of at most 200 characters",
    "text.tokens.counter": "the name of a vocabulary",
    "text.versions.Statement": "takes a slot: statement",
    "tiers.replay": "reads what a store has stored",
    "tiers.policies.Policies": "policies, which are read by loads",
    "tiers.policy.unpacked": "a text that packed has written",
    "tiers.rules.conditions": "a name in a policy: loads",
    "tiers.working_memory.WorkingMemory": "takes ids",
}


def _modules() -> Iterator[ModuleType]:
    for name in _PACKAGES:
        package = importlib.import_module(f"memotherm.{name}")
        yield package
        if hasattr(package, "__path__"):
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                yield importlib.import_module(found.name)


def _readers() -> Iterator[tuple[str, object, inspect.Signature]]:
    """Yield the public functions and methods that take a text, with their signatures."""
    for module in _modules():
        prefix = module.__name__.removeprefix("memotherm.")
        public = [(name, value) for name, value in vars(module).items() if not name.startswith("_")]
        for name, value in public:
            function = inspect.unwrap(value) if callable(value) else None
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                yield f"{prefix}.{name}", value, inspect.signature(function)
            elif inspect.isclass(value) and value.__module__ == module.__name__:
                for method, member in vars(value).items():
                    plain = getattr(member, "__func__", member)
                    if inspect.isfunction(plain) and (not method.startswith("_") or method == "__call__"):
                        yield f"{prefix}.{name}.{method}", method, inspect.signature(plain)


def _takes_text(parameter: inspect.Parameter) -> bool:
    return parameter.name not in _NAMES and _TEXT.fullmatch(str(parameter.annotation)) is not None


def _exempt(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:count]) in _EXEMPT for count in range(1, len(parts) + 1))


def _argument(parameter: inspect.Parameter, text: str) -> Any:
    kind = str(parameter.annotation)
    if _takes_text(parameter):
        return text if kind.startswith("str") else text.split("\n")
    return _VALUES[parameter.name if parameter.name in _VALUES else kind]


def _with_texts(function: Callable[..., object], parameters: list[inspect.Parameter]) -> Callable[[str], object]:
    """Return a function that passes a text in each parameter alone, and in all of them at once."""
    texts = [parameter.name for parameter in parameters if _takes_text(parameter)]
    chosen = [{name} for name in texts] if len(texts) == 1 else [*({name} for name in texts), set(texts)]

    def call(text: str) -> None:
        for hostile in chosen:
            found = function(*(_argument(each, text if each.name in hostile else _SHORT) for each in parameters))
            if isinstance(found, Iterator):
                for _ in found:
                    pass

    return call


@cache
def _callers() -> tuple[dict[str, Callable[[str], object]], list[str]]:
    """Return a caller for each function that takes a text, and the names of those that nobody calls."""
    callers, missing = dict(_CALLERS), list[str]()
    for name, value, signature in _readers():
        parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
        if name in callers or _exempt(name) or not any(map(_takes_text, parameters)):
            continue
        function: Any = value
        if isinstance(value, str):
            make = _OBJECTS.get(name.split(".")[-2])
            function = None if make is None else getattr(make(), value)
        needed = [each for each in parameters if each.default is each.empty and each.kind is not each.KEYWORD_ONLY]
        known = all(_takes_text(each) or {each.name, str(each.annotation)} & _VALUES.keys() for each in needed)
        if not callable(function) or not known:
            missing.append(name)
        else:
            callers[name] = _with_texts(function, needed)
    return callers, missing


# What takes longer than in proportion

_NUMBERS = itertools.count()
#: Some machines count the time of a process in steps of this length.
_STEP = 0.005
#: The time for 2,000 characters: less is not looked at, more shows by itself how it grows. The most for 500.
_NOTICEABLE, _CLEAR, _SLOW = 0.0015, 0.01, 0.5
#: A function that fails is not tried on further texts.
_MOST_REPORTED = 3


def _seconds(call: Callable[[str], object], text: str) -> float:
    """Return the time of a process for a call with a text that it has not seen; an error is an answer."""
    fresh = f"{text} {next(_NUMBERS)}"
    elapsed, spent = time.perf_counter(), time.process_time()
    with contextlib.suppress(MemothermError, ValueError, OSError):
        call(fresh)
    return min(time.perf_counter() - elapsed, time.process_time() - spent + _STEP)


def _least(call: Callable[[str], object], text: str) -> float:
    """Return the time of a call; a long one is measured again, because the first builds the tables of a language."""
    first = _seconds(call, text)
    return first if first <= _SLOW else min(first, _seconds(call, text))


def _disproportion(call: Callable[[str], object], make: Callable[[int], str]) -> str:
    """Return how the time grows, if it grows faster than the text; empty otherwise."""
    shortest = _seconds(call, make(500))
    if shortest > _SLOW:
        return f"more than {_SLOW} s for 500 characters"
    short = _least(call, make(2000))
    if short < _NOTICEABLE or (short > _CLEAR and short < 6 * shortest):
        return ""
    if short > _SLOW:
        return f"more than {_SLOW} s for 2,000 characters, {shortest * 1000:.1f} ms for 500"
    long = _least(call, make(8000))
    if long < 6 * short:
        return ""
    if long > max(_SLOW, 12 * short):
        return f"{short * 1000:.1f} ms for 2,000 characters, {long * 1000:.1f} for 8,000"
    for _ in range(3):
        one, eight = (min(_seconds(call, make(size)) for _ in range(3)) for size in (1000, 8000))
        if eight <= 12 * max(one, 0.002):
            return ""
        # A limit that only the longer text exceeds is no disproportion.
        sixteen = min(_seconds(call, make(16_000)) for _ in range(2))
        if sixteen <= 3 * eight:
            return ""
    return f"{one * 1000:.1f} ms for 1,000 characters, {eight * 1000:.1f} for 8,000, {sixteen * 1000:.1f} for 16,000"


def _disproportions(call: Callable[[str], object]) -> dict[str, str]:
    _seconds(call, "I work at Acme until Friday, and my name is Ada. " * 3)  # builds tables
    found = ((name, _disproportion(call, make)) for name, make in HOSTILE.items())
    return dict(itertools.islice(((name, growth) for name, growth in found if growth), _MOST_REPORTED))


def test_every_function_that_takes_a_text_is_called() -> None:
    """One that texts alone cannot call has a caller or a reason here, and none of these is out of date."""
    callers, missing = _callers()
    assert not missing, f"{missing}: add a caller to _CALLERS, or a reason to _EXEMPT"
    names = {name for name, _, _ in _readers()}
    assert not callers.keys() - names
    assert not {name for name in _EXEMPT if not any(f"{each}.".startswith(f"{name}.") for each in names)}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_callers()[0]))
def test_a_function_reads_a_text_in_proportion_to_its_length(name: str) -> None:
    """Eight times the text takes about eight times as long, for runs, nesting and markup of every kind."""
    assert _disproportions(_callers()[0][name]) == {}


def test_a_character_that_unicode_expands_does_not_make_a_text_longer() -> None:
    """Names are looked for in 100,000 characters, counted after normalization."""
    assert sum(map(len, tokens("\ufdfa" * 100_000))) <= 100_000


_VERBS: Mapping[str, Callable[[Memotherm, str], object]] = {
    "capture": lambda mem, text: mem.capture(f"Ann says {text}"),
    "remember": lambda mem, text: mem.remember(text),
    "amend": lambda mem, text: mem.amend(mem.remember(f"Ann lives in Rome and {text}").id, "Ann lives in Oslo"),
    "recall": lambda mem, text: mem.recall(text),
    "context": lambda mem, text: mem.context(text, budget=300),
    "feedback": lambda mem, text: mem.feedback(answer=text),
}


@pytest.mark.parametrize("verb", _VERBS)
def test_a_verb_reads_a_text_in_proportion_to_its_length(mem: Memotherm, verb: str) -> None:
    """A line of one character, a list of statements or a table does not stop a capture or a correction."""
    texts = ("letters", "hashes", "semicolons", "names and conjunctions", "tomorrow", "rows of a table", "lines")
    mem.recall("otters")
    found = {name: _disproportion(lambda text: _VERBS[verb](mem, text), HOSTILE[name]) for name in texts}
    assert not any(found.values()), found


@pytest.mark.parametrize("depth", [50, 500, 20_000])
def test_a_capture_refuses_metadata_that_is_nested_too_deeply(mem: Memotherm, depth: int) -> None:
    """With the error that `remember` raises, before secrets are looked for in it."""
    metadata: dict[str, Any] = {}
    for _ in range(depth):
        metadata = {"a": metadata}
    with pytest.raises(InvalidInput, match=r"nested|recursion"):
        mem.capture("Otters hold hands while they sleep.", metadata=metadata)
