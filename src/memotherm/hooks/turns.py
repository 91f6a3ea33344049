"""Turns of a session: the jobs that belong together, and the one memory that a prompt and its reply become."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from memotherm.hooks.spool import Job, destination
from memotherm.notes.files import transcript
from memotherm.settings import Settings
from memotherm.text.phrases import is_filler, is_no_answer, is_question, sentences, statements
from memotherm.text.redaction import redactor
from memotherm.text.tokens import count_tokens
from memotherm.text.words import content_words, is_unspaced

_CONCLUSION_TOKENS = 60
_MAX_QUESTION_CHARS = 300
#: The content words that a reply needs to be worth storing without a question; pairs of characters count half.
_MIN_WORDS = 5
_TRANSCRIPT_TAIL_BYTES = 2_000_000
#: Numbers, code, paths, and Latin words between other letters.
_SPECIFIC = re.compile(r"`[^`\n]+`|[\w./\\@:#-]*[\d_/\\@#][\w./\\@:#-]*\w|\d|(?<=[^\x00-\u024f])[A-Za-z]{2,}")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w-]+")


def turns_of(jobs: Iterable[Job]) -> list[list[Job]]:
    """Group the texts of each turn, the prompts of a session up to their reply; every other job is alone."""
    groups: list[list[Job]] = []
    unanswered: dict[tuple[str, object], list[Job]] = {}
    for path, job in jobs:
        turn = unanswered.pop((destination(job), job.get("session")), None)
        if job.get("do") != "capture":
            turn = None
        if turn is None:
            turn = []
            groups.append(turn)
        turn.append((path, job))
        if job.get("do") == "capture" and job.get("role") == "user":
            unanswered[destination(job), job.get("session")] = turn
    return groups


class Transcripts:
    """The replies in the transcripts of a host, each prompt matched once."""

    def __init__(self, settings: Settings) -> None:
        self._redactor = redactor(settings)
        self._lines: dict[Path, list[str]] = {}
        self._position: dict[Path, int] = {}

    def reply(self, path: Path, prompt: str) -> str:
        """Return the last message of the agent before the next prompt; without a prompt, the last one of all."""
        if path not in self._lines:
            self._lines[path] = _messages(path, lambda text: self._redactor.redact(text).text)
        lines, start = self._lines[path], 0
        if prompt:
            line = f"User: {' '.join(prompt.split())}"
            later = (number for number in range(self._position.get(path, 0), len(lines)) if lines[number] == line)
            found = next(later, None)
            if found is None:
                return ""
            start = self._position[path] = found + 1
        reply = ""
        for line in lines[start:]:
            if prompt and line.startswith("User: "):
                break
            reply = line.removeprefix("Assistant: ") if line.startswith("Assistant: ") else reply
        return reply


def _messages(path: Path, redact: Callable[[str], str]) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TRANSCRIPT_TAIL_BYTES))
            return [line for line in transcript(file.read(), redact) if line]
    except OSError:
        return []


class Content(NamedTuple):
    """The text of a turn that is worth storing, and the role of who said what is new in it."""

    text: str
    role: str


def content_of(prompt: str, reply: str, tokenizer: str) -> Content:
    """Return what to store of a turn: statements of the user, or a question with the conclusion of its answer.

    The conclusion is a few sentences of the reply. After a statement they are included only if they have numbers,
    code or paths that the prompt does not have. The text is empty if nothing is worth storing.
    """
    said = statements(prompt)
    asked = " ".join(part.strip() for part in sentences(prompt) if is_question(part) and not is_filler(part))
    told = [part.strip() for part in sentences(reply) if part.strip() and statements(part)]
    told = [part for part in told if _specifics(part) or not is_no_answer(part)]
    if asked:
        asked = asked[-_MAX_QUESTION_CHARS:]
        answer = _conclusion(told, asked, tokenizer)
        kept = [said, asked, answer] if answer else [said]
        return Content("\n".join(filter(None, kept)), "user" if said else "assistant")
    if said:
        known = _specifics(prompt)
        told = [part for part in told if _specifics(part) - known]
        return Content("\n".join(filter(None, [said, _conclusion(told, said, tokenizer)])), "user")
    told = [part for part in told if _specifics(part) or _NAME.search(part) or _weight(part) >= _MIN_WORDS]
    return Content(_conclusion(told, "", tokenizer), "assistant")


def _conclusion(told: list[str], question: str, tokenizer: str) -> str:
    """Return the sentences of a reply that answer a question best, in their order, or its first and last ones."""
    wanted = content_words(question)

    def score(position: int) -> float:
        sentence = told[position]
        shared = len(wanted & content_words(sentence)) / (len(wanted) or 1)
        specific = bool(_specifics(sentence) - _specifics(question)) or _NAME.search(sentence) is not None
        return shared + 0.5 * specific + 0.25 * (position in (0, len(told) - 1))

    scores = {position: score(position) for position in range(len(told))}
    chosen: list[int] = []
    left = _CONCLUSION_TOKENS
    for position in sorted(scores, key=lambda position: (-scores[position], position)):
        tokens = count_tokens(told[position], tokenizer)
        if not chosen and tokens > left:
            return _shortened(told[position], tokenizer)
        if tokens <= left and scores[position] >= scores[chosen[0] if chosen else position] / 2:
            chosen.append(position)
            left -= tokens
    return " ".join(told[position] for position in sorted(chosen))


def _shortened(sentence: str, tokenizer: str) -> str:
    while count_tokens(sentence, tokenizer) > _CONCLUSION_TOKENS:
        sentence = sentence[: len(sentence) * 9 // 10].rsplit(" ", 1)[0]
    return f"{sentence}…"


def _specifics(text: str) -> set[str]:
    return set(_SPECIFIC.findall(text))


def _weight(text: str) -> float:
    return sum(0.5 if is_unspaced(word) else 1 for word in content_words(text))
