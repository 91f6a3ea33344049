"""Kinds of statements: what users say about themselves, preferences, decisions, tasks with deadlines, corrections.

A statement is recognised by phrases, which `word_lists.json` lists by kind and language. It is never reworded.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from memotherm.text.language import WORD_LISTS
from memotherm.text.phrases import listed_phrases, phrase_pattern, plain_text, sentences
from memotherm.text.relative_days import last_day
from memotherm.text.words import is_unspaced


class Kind(NamedTuple):
    """The kind of a statement."""

    #: preference, fact, decision or task.
    name: str
    #: Whether it is about the user, and not about a project.
    about_user: bool = False
    #: Whether it says that something has changed.
    correction: bool = False


#: A longer sentence is a report, even if it also contains a decision.
_MAX_CHARS = 400
#: The names in the lists, the first that applies decides.
_KINDS = {
    "about_user": Kind("fact", about_user=True),
    "preference": Kind("preference", about_user=True),
    "decision": Kind("decision"),
    "task": Kind("task"),
    "correction": Kind("fact"),
}
_WE = frozenset(WORD_LISTS["other"]["we"].split())
_DEADLINE = re.compile(
    rf" (?:{'|'.join(WORD_LISTS['other']['until'].split())}) (?:\S+ ){{0,2}}"
    rf"(?:{'|'.join(WORD_LISTS['other']['days'].split())}|\d{{4}} \d\d \d\d) "
    "|(?:周[一二三四五六日天末]|星期.|\\d[日号]|明天|后天|月底|下周.?)(?:之前|以前|前)"
    "|(?:曜日?|\\d日|明日|今週中|月末)まで|(?:요일|\\d일|내일|이번 주)까지"
)


def kind_of(sentence: str) -> Kind | None:
    """Return the kind of a statement; None if no phrase marks one."""
    if len(sentence) > _MAX_CHARS:
        return None
    plain = f" {plain_text(sentence)} "
    marked = {name for name, pattern in _patterns().items() if pattern.search(plain)}
    if _DEADLINE.search(plain):
        marked.add("task")
    name = next((name for name in _KINDS if name in marked), None)
    if name is None:
        return None
    kind = _KINDS[name]
    if name == "preference" and any(word in plain if is_unspaced(word) else f" {word} " in plain for word in _WE):
        # What a team does is not a preference of the user.
        kind = _KINDS["decision"]
    return kind._replace(correction="correction" in marked)


def holds_until(text: str, written: date) -> datetime | None:
    """Return the end of the day until which a text says that something holds ("until Friday").

    A task has a deadline instead, and is open when it has passed. Of several sentences, one does not speak for all.
    """
    if len(list(sentences(text.strip()))) > 1:
        return None
    day = None if _patterns()["task"].search(f" {plain_text(text)} ") else last_day(text, written)
    return None if day is None else datetime.combine(day + timedelta(days=1), time(), UTC)


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the phrases of each kind."""
    return {name: phrase_pattern(listed_phrases(name)) for name in _KINDS}
