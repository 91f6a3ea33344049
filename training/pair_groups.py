"""The groups of lines in `training/pairs`, a file for each language, and the pairs of texts that they give.

The first letter of a line says what it is, and its number belongs to an older line:

    # community garden
    S1 the water tap is behind the tool shed
    T1 ask the council about the second gate
    U1 (The tap is behind the shed.) no, next to the greenhouse
    B1 at my uncle's allotment the tap is by the road
    D1 got an answer from the council re gate no 2
"""

from __future__ import annotations

import json
import lzma
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memotherm.statements.pairs import Effect

__all__ = ["ENDS", "FOLDER", "Group", "Line", "Pair", "groups", "of_others", "pairs_of"]

FOLDER = Path(__file__).parent / "pairs"
#: Letters of older lines: statements and rules, and tasks.
_STATEMENTS, _TASKS = "SR", "T"
#: Letters of newer lines about a statement or rule: it no longer holds, or it still does.
_ABOUT_STATEMENTS = "UB"
#: What a newer line does to the older one with its number; B and N, which is about a task, do nothing.
_EFFECTS = {"U": Effect.REPLACED, "D": Effect.DONE, "C": Effect.CANCELLED}
ENDS = (Effect.DONE, Effect.CANCELLED)
_LINE = re.compile(r"(?P<kind>[SRTUBDCN])(?P<number>\d+) (?P<text>\S.*)")
#: What the agent said, in front of a newer line.
_ANSWERED = re.compile(r"[(（](?P<answered>.+?)[)）]\s*(?P<text>\S.*)")
#: One group of so many is not learned.
_HELD_OUT = 7
#: Of the texts of others, those with words between these numbers, in stores of at least so many, a few pairs of each.
_FEWEST_WORDS, _MOST_WORDS, _LEAST_TEXTS, _OF_STORE, _OF_OTHERS = 3, 39, 6, 5, 9000
#: The newer text is one of so many that share the most words with the older one.
_NEAREST = 4


class Line(NamedTuple):
    """A line of a group."""

    kind: str
    number: int
    text: str
    answered: str = ""

    @property
    def is_older(self) -> bool:
        """Whether it is a statement, a rule or a task."""
        return self.kind in _STATEMENTS + _TASKS

    def is_about(self, older: Line) -> bool:
        """Return whether this newer line is about an older one."""
        return self.number == older.number and (self.kind in _ABOUT_STATEMENTS) == (older.kind in _STATEMENTS)


class Group(NamedTuple):
    """Lines of one person on one situation."""

    language: str
    situation: str
    lines: list[Line]

    @property
    def is_held_out(self) -> bool:
        """Whether it is not learned; groups on one situation are learned together or not at all."""
        return _is_held_out(f"{self.language} / {self.situation}")


class Pair(NamedTuple):
    """An older text and a newer one."""

    old: str
    new: str
    #: What the newer one answers, if anything.
    answered: str
    effect: Effect
    #: The letter of a newer line about the older one, or: "other line" for one about another line, "older line" for
    #: another older line, "itself", and "others" for texts of others.
    kind: str
    language: str
    is_held_out: bool


def groups() -> Iterator[Group]:
    """Yield the groups of the files.

    Raises:
        ValueError: If a line is malformed.
    """
    for path in sorted(FOLDER.glob("*.txt")):
        group: Group | None = None
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("# "):
                if group is not None:
                    yield group
                group = Group(path.stem, line.removeprefix("# "), [])
            elif group is None:
                raise ValueError(f"{path.name} does not begin with a situation")
            else:
                group.lines.append(_line(line, path))
        if group is not None:
            yield group


def _line(line: str, path: Path) -> Line:
    read = _LINE.fullmatch(line)
    if read is None:
        raise ValueError(f"{path.name}: not a line of a group: {line}")
    found = Line(read["kind"], int(read["number"]), read["text"])
    answer = None if found.is_older else _ANSWERED.fullmatch(found.text)
    return found if answer is None else found._replace(text=answer["text"], answered=answer["answered"])


def pairs_of(group: Group) -> Iterator[Pair]:
    """Yield each older line of a group with each of its lines."""
    for old in (line for line in group.lines if line.is_older):
        for line in group.lines:
            effect = Effect.NOTHING
            if line.is_older:
                kind = "itself" if line.text == old.text else "older line"
            elif line.is_about(old):
                kind, effect = line.kind, _EFFECTS.get(line.kind, effect)
            else:
                kind = "other line"
            yield Pair(old.text, line.text, line.answered, effect, kind, group.language, group.is_held_out)


def of_others(questions: Path) -> list[Pair]:
    """Return pairs of texts of others that share words: none has an effect on another."""
    chosen, found = random.Random(7), list[Pair]()
    with lzma.open(questions, "rt", encoding="utf-8") as lines:
        for line in lines:
            said = [text.partition(": ")[2] or text for text in json.loads(line)["texts"]]
            found += _near([text for text in said if _FEWEST_WORDS <= len(text.split()) <= _MOST_WORDS], chosen)
    chosen.shuffle(found)
    return found[:_OF_OTHERS]


def _near(texts: Sequence[str], chosen: random.Random) -> Iterator[Pair]:
    words = [set(re.findall(r"\w{4,}", text.lower())) for text in texts]
    for _ in range(_OF_STORE if len(texts) >= _LEAST_TEXTS else 0):
        one = chosen.randrange(len(texts))
        others = [place for place, text in enumerate(texts) if text != texts[one]]
        others.sort(key=lambda place: -len(words[one] & words[place]) / (1 + len(words[place])))
        if others:
            first, second = sorted((one, chosen.choice(others[:_NEAREST])))
            old = texts[first]
            yield Pair(old, texts[second], "", Effect.NOTHING, "others", "others", _is_held_out(old))


def _is_held_out(name: str) -> bool:
    return zlib.crc32(name.encode()) % _HELD_OUT == 0
