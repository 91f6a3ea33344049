"""Turns of a session: the jobs that belong together, and the one memory that a prompt and its reply become."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from memotherm.hooks.spool import Job, SessionKey, session_key
from memotherm.notes.files import transcript
from memotherm.settings import Settings
from memotherm.settings.paths import read_regular
from memotherm.statements.kinds import Kind, classified_sentences
from memotherm.text.phrases import (
    has_name,
    is_filler,
    is_no_answer,
    is_question,
    is_statement,
    sentences,
    specifics,
    statements,
)
from memotherm.text.redaction import redactor
from memotherm.text.tokens import count_tokens
from memotherm.text.words import content_words

_CONCLUSION_TOKENS = 60
#: The content words that a reply to filler needs to be worth storing.
_MIN_WORDS = 4
_TRANSCRIPT_TAIL_BYTES = 2_000_000
_DIGITS = re.compile(r"\d+")


def turns_of(jobs: Iterable[Job]) -> list[list[Job]]:
    """Group the texts of each turn, the prompts of a session up to their reply; every other job is alone."""
    groups: list[list[Job]] = []
    unanswered: dict[SessionKey, list[Job]] = {}
    for path, job in jobs:
        session = session_key(job)
        turn = unanswered.pop(session, None)
        if job.get("do") != "capture":
            turn = None
        if turn is None:
            turn = []
            groups.append(turn)
        turn.append((path, job))
        if job.get("do") == "capture" and job.get("role") == "user":
            unanswered[session] = turn
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
        return [line for line in transcript(read_regular(path, _TRANSCRIPT_TAIL_BYTES, tail=True), redact) if line]
    except (OSError, ValueError):
        return []


class Content(NamedTuple):
    """A text of a turn that is worth storing."""

    text: str
    #: The role of the speaker: the one who says something new in the turn.
    role: str
    kind: Kind = Kind("message")


def contents_of(prompt: str, reply: str, tokenizer: str) -> list[Content]:
    """Return what to store of a turn: rules, what users say about themselves, and at most one text of the rest.

    The rest is what the prompt states, or a question with the conclusion of its answer, and has the kind of its
    statements. If it is long, or has statements of several kinds, each of these is a text of its own.
    """
    parts = [(part, kind) for part, kind in classified_sentences(prompt) if not kind.filler]
    others = {kind.name for _, kind in parts if kind.name != "message" and not kind.about_user}
    split = count_tokens(prompt, tokenizer) > _CONCLUSION_TOKENS or len(others) > 1

    def is_alone(kind: Kind) -> bool:
        # A rule stays a rule while what was said beside it ages.
        return kind.name != "message" and (split or kind.about_user or kind.name == "rule")

    own = [Content(part.strip(), "user", kind) for part, kind in parts if is_alone(kind)]
    rest = [(part, kind) for part, kind in parts if not is_alone(kind)]
    found = [kind for _, kind in rest if kind.name != "message"]
    turn = turn_of("".join(part for part, _ in rest), prompt, reply, tokenizer)
    if found:
        turn = turn._replace(kind=found[0]._replace(correction=any(kind.correction for kind in found)))
    return [each for each in (*own, turn) if each.text]


def turn_of(rest: str, prompt: str, reply: str, tokenizer: str) -> Content:
    """Return the text of a turn: its prompt, or the rest of it, and sentences of the reply.

    Without a question, they are included only if they have numbers, code or paths that the prompt does not have.
    """
    said = statements(rest)
    told = [part.strip() for part in filter(is_statement, sentences(reply))]
    told = [part for part in told if specifics(part) or not is_no_answer(part)]
    asked = " ".join(filter(is_question, sentences(rest)))
    if asked:
        answer = _conclusion(told, asked, tokenizer)
        return Content(f"{rest.strip()}\n{answer}" if answer else said, "user" if said else "assistant")
    if said or statements(prompt):
        known = specifics(prompt)
        told = [part for part in told if specifics(part) - known]
        return Content(f"{said}\n{_conclusion(told, said, tokenizer)}".strip(), "user" if said else "assistant")
    if prompt:
        told = [part for part in told if not is_filler(_DIGITS.sub("", part))]
        told = [part for part in told if specifics(part) or has_name(part) or len(content_words(part)) >= _MIN_WORDS]
    return Content(_conclusion(told, "", tokenizer), "assistant")


def _conclusion(told: list[str], question: str, tokenizer: str) -> str:
    """Return the sentences of a reply that answer a question best, in their order, or its first and last ones."""
    tokens = [count_tokens(sentence, tokenizer) for sentence in told]
    if sum(tokens) <= _CONCLUSION_TOKENS:
        return " ".join(told)
    wanted, known = content_words(question), specifics(question)

    def score(position: int) -> float:
        sentence = told[position]
        shared = len(wanted & content_words(sentence)) / (len(wanted) or 1)
        specific = bool(specifics(sentence) - known) or has_name(sentence)
        return shared + 0.5 * specific + 0.25 * (position in (0, len(told) - 1))

    scores = {position: score(position) for position in range(len(told))}
    chosen: list[int] = []
    left = _CONCLUSION_TOKENS
    for position in sorted(scores, key=lambda position: (-scores[position], position)):
        if not chosen and tokens[position] > left:
            return _shortened(told[position], tokenizer)
        if tokens[position] <= left:
            chosen.append(position)
            left -= tokens[position]
    return " ".join(told[position] for position in sorted(chosen))


def _shortened(sentence: str, tokenizer: str) -> str:
    while count_tokens(sentence, tokenizer) > _CONCLUSION_TOKENS:
        sentence = sentence[: len(sentence) * 9 // 10].rsplit(" ", 1)[0]
    return f"{sentence}…"
