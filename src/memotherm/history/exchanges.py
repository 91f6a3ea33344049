"""From the records of a session to the texts that are worth storing.

An exchange is a prompt with the last answer of its turn. Its texts are chosen by the function that the hooks use
(`hooks/turns.py`), so that a session of last month is remembered as one of today is. Beside them there are decisions
in the words of the agent, and pairs of an error and what made it go away. Only `fixes_in` reads a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePath

from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Record, Transcript
from memotherm.hooks.turns import Content, contents_of, turn_of
from memotherm.settings import Settings
from memotherm.statements.kinds import Kind, kind_of, may_decide
from memotherm.text.phrases import filler_reason, is_filler, sentences, specifics
from memotherm.text.redaction import redactor
from memotherm.text.tool_calls import command_shape
from memotherm.text.triggers import FIX, is_remedy
from memotherm.text.words import content_words

#: The most files of an exchange that are named, and the most failed commands of a session that may be solved later.
_MOST_FILES = 20
_MOST_FAILURES = 50
#: The most characters of a command and of its error in a memory.
_COMMAND_CHARS = 200
_ERROR_CHARS = 300
#: The fewest words of a prompt without an answer that is kept as it is.
_MIN_WORDS = 4
#: How many sentences of an answer with numbers, code or paths are looked at, beside its first and its last.
_MOST_SPECIFIC = 6
#: The most commands after a failure that may have solved it.
_MOST_REMEDIES = 10


@dataclass(slots=True)
class Exchange:
    """A prompt, the last answer of its turn, and what was done between them."""

    #: The id of the record of the prompt.
    id: str
    session: str
    time: datetime | None
    #: The working folder, and the branch in it.
    folder: str
    branch: str
    prompt: str
    answer: str = ""
    #: The files that were edited, in the order of their first edit.
    files: list[str] = field(default_factory=list)
    #: Commands that had failed and succeeded in this turn.
    fixes: list[Fix] = field(default_factory=list)
    #: The time of the last record.
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A command that failed and succeeded later, and the files that were edited, or the commands run, in between."""

    command: str
    error: str
    files: tuple[str, ...]
    commands: tuple[str, ...] = ()


@dataclass(slots=True)
class _Failure:
    """A command that fails, and what was done since."""

    error: str
    edited: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


def exchanges(records: Iterable[Record]) -> Iterator[Exchange]:
    """Yield the exchanges in the records of a transcript; those of subagents, who talk to no person, are left out."""
    current: Exchange | None = None
    failures: dict[str, _Failure] = {}
    for record in records:
        if record.parent:
            continue
        if record.role == "user":
            if current is not None:
                yield current
            before = None if current is None else current.end
            current = Exchange(
                record.id, record.session, record.time or before, record.project, record.branch, record.text,
                end=record.time,
            )  # fmt: skip
        elif current is not None:
            _add(current, record, failures)
            current.end = record.time or current.end
    if current is not None:
        yield current


def _add(current: Exchange, record: Record, failures: dict[str, _Failure]) -> None:
    """Add a record of the agent to the exchange; `failures` has the commands of the session that fail, by shape."""
    if record.role == "assistant":
        current.answer = record.text or current.answer
    elif record.role == "edit" and not record.failed:
        path = _relative(record.text, current.folder)
        if path not in current.files and len(current.files) < _MOST_FILES:
            current.files.append(path)
        for failure in failures.values():
            if path not in failure.edited and len(failure.edited) < _MOST_FILES:
                failure.edited.append(path)
    elif record.role == "command":
        _add_command(current, record, failures)


def _add_command(current: Exchange, record: Record, failures: dict[str, _Failure]) -> None:
    """Add a command, with the fix of the last failure of its shape if it succeeded."""
    shape = command_shape(record.text)
    if record.failed:
        if record.output and (shape in failures or len(failures) < _MOST_FAILURES):
            failures.setdefault(shape, _Failure("")).error = record.output
        return
    failed = failures.pop(shape, None)
    for failure in failures.values():
        if len(failure.commands) < _MOST_REMEDIES and is_remedy(record.text, failure.error):
            failure.commands.append(record.text)
    # With neither, the machine has changed, and nothing says how.
    if failed is not None and (failed.edited or failed.commands):
        current.fixes.append(Fix(record.text, failed.error, tuple(failed.edited), tuple(failed.commands)))


def _relative(path: str, folder: str) -> str:
    pure = PurePath(path)
    return pure.relative_to(folder).as_posix() if folder and pure.is_relative_to(folder) else path


def words_of(prompt: str, answer: str, tokenizer: str) -> Content | None:
    """Return the words of a prompt and its answer, which are already without secrets; None if they say nothing.

    `texts_of` returns the same without what it makes texts of their own.
    """
    found = turn_of(prompt, prompt, _conclusion(sentences(answer)), tokenizer)
    if not found.text and not answer:
        found = _unanswered(prompt)
    elif not found.text and may_decide(answer):
        found = Content(answer.strip(), "assistant")
    return None if filler_reason(found.text) else found


def texts_of(prompt: str, answer: str, tokenizer: str) -> list[Content]:
    """Return what to store of a prompt and its answer, which are already without secrets."""
    answered = sentences(answer)
    found = contents_of(prompt, _conclusion(answered), tokenizer)
    if not found and not answer:
        found = [_unanswered(prompt)]
    if may_decide(answer):
        found += _decisions(answered, "\n".join(content.text for content in found))
    return [content for content in found if not filler_reason(content.text)]


def _unanswered(prompt: str) -> Content:
    """Return the question of a person, of which the answer is lost; empty if it has few words."""
    return Content(prompt.strip() if len(content_words(prompt)) >= _MIN_WORDS else "", "user")


def _decisions(answered: list[str], said: str) -> Iterator[Content]:
    """Yield the decisions in the words of the agent that were not said yet."""
    for sentence in map(str.strip, answered):
        kind = kind_of(sentence, by_user=False)
        if kind is not None and kind.name == "decision" and sentence not in said and not is_filler(sentence):
            yield Content(sentence, "assistant", Kind("decision"))


def _conclusion(answered: list[str]) -> str:
    """Return the first and the last sentence of an answer, and some of those with numbers, code or paths."""
    specific = [number for number, sentence in enumerate(answered[1:-1], 1) if specifics(sentence)]
    chosen = {0, *specific[:_MOST_SPECIFIC], len(answered) - 1}
    return "".join(sentence for number, sentence in enumerate(answered) if number in chosen)


def fix_of(fix: Fix, redacted: Callable[[str], str] = str) -> Content:
    """Return the text of an error and of what made it go away.

    Secrets are replaced before it is shortened: a cut could leave a part of one.
    """
    command, error = _shortened(redacted(fix.command), _COMMAND_CHARS), _shortened(redacted(fix.error), _ERROR_CHARS)
    commands = [f"`{_shortened(redacted(each), _COMMAND_CHARS)}`" for each in fix.commands]
    changed = [f"a change of {', '.join(map(redacted, fix.files))}"] if fix.files else []
    done = " and ".join([*commands, *changed])
    return Content(f"`{command}` failed: {error}\nIn one session, it succeeded after {done}.", "assistant", Kind(FIX))


def _shortened(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def fixes_in(source: Reader, path: Path, settings: Settings) -> Iterator[Content]:
    """Yield each error of a transcript with what made it go away, without secrets; none if there is no transcript."""
    if not path.is_file():
        return
    redact = redactor(settings).redact
    transcript = Transcript(source.name, path, "", path.stat().st_size, "")
    for exchange in exchanges(source.read(transcript, Reading())):
        for fix in exchange.fixes:
            yield fix_of(fix, lambda text: redact(text).text)
