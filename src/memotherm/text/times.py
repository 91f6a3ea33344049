"""Time expressions in a query, as spans of days.

Relative expressions such as "last week" are resolved against the date that is passed in. Of other languages than
English, words for yesterday, for the day before, and for months are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from memotherm.text.relative_days import past_days

Span = tuple[date, date]

#: Not from `calendar`, whose names depend on the locale.
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTHS = {form: number for number, name in enumerate(_MONTH_NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
#: Months in other languages, by the words that stand before one in the past: "im März".
_FOREIGN_MONTHS = {
    "im|letzten|vergangenen": "januar februar märz april mai juni juli august september oktober november dezember",
    "en": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "in|a|nel": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "em": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "in|afgelopen": "januari februari maart april mei juni juli augustus september oktober november december",
    "w": "styczniu lutym marcu kwietniu maju czerwcu lipcu sierpniu wrześniu październiku listopadzie grudniu",
    "в": "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре",
}
_FOREIGN = {name: place % 12 + 1 for names in _FOREIGN_MONTHS.values() for place, name in enumerate(names.split())}
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {name: number for number, name in enumerate(_DAY_NAMES)}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBERS |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}

#: Every time expression contains a digit or one of these words.
_TIME_WORDS = frozenset((*_MONTHS, *_FOREIGN, *_WEEKDAYS, *_UNITS, *(f"{unit}s" for unit in _UNITS)))
_TIME_WORDS |= {"yesterday", "today", "tonight", "morning"}
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")

_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_COUNT = r"(\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_FOREIGN_MONTH = "|".join(
    rf"\b(?:{before})\s+({'|'.join(names.split())})\b" for before, names in _FOREIGN_MONTHS.items()
)
_UNIT = r"(day|week|month|year)s?"


def spans(query: str, today: date) -> list[Span]:
    """Return the spans of days named in a query."""
    return cut_spans(query, today)[0]


def cut_spans(query: str, today: date) -> tuple[list[Span], str]:
    """Return the spans of days named in a query, and the query without them, but for words such as "yesterday".

    Text matched by one pattern is not matched by a later one.
    """
    result = [(day, day) for day in past_days(query, today)]
    if not _may_name_a_time(query) or re.search(_ANY, query, re.IGNORECASE) is None:
        return result, query
    rest = query
    for pattern, parse in _PATTERNS:

        def replace(match: re.Match[str], parse: Callable[[re.Match[str], date], Span | None] = parse) -> str:
            span = parse(match, today)
            if span is not None:
                result.append(span)
            return " "

        rest = re.sub(pattern, replace, rest, flags=re.IGNORECASE)
    return result, rest


def first_day(text: str, today: date) -> date | None:
    """Return the day that a text names, such as "yesterday" or "2 weeks ago", or the first one of "last week"."""
    if (days := past_days(text.strip(), today)) and len(text.split()) == 1:
        return days[0]
    for phrase in (text.strip(), f"on {text.strip()}", f"in {text.strip()}"):
        for pattern, parse in _PATTERNS:
            match = re.fullmatch(pattern, phrase, re.IGNORECASE)
            span = parse(match, today) if match else None
            if span is not None:
                first, last = span
                # "2 weeks ago" is a span around that day.
                return first + (last - first) / 2 if parse is _ago else first
    return None


def _may_name_a_time(query: str) -> bool:
    """Return whether a query may name a time: it contains a digit or a time word. Most contain neither."""
    return _DIGIT.search(query) is not None or not _TIME_WORDS.isdisjoint(_LETTERS.findall(query.casefold()))


def _on(year: int, month: int, day: int) -> Span | None:
    try:
        on = date(year, month, day)
    except ValueError:
        return None
    return on, on


def _latest(month: int, today: date) -> int:
    """Return the year of the most recent such month."""
    return today.year if month <= today.month else today.year - 1


def _whole_month(year: int, month: int) -> Span | None:
    if not 1 <= year <= 9999:
        return None
    from calendar import monthrange

    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _latest_month(month: int, today: date) -> Span | None:
    return _whole_month(_latest(month, today), month)


def _named_day(month: str, day: str, year: str | None, today: date) -> Span | None:
    number = _MONTHS[month.lower()]
    return _on(int(year) if year else _latest(number, today), number, int(day))


def _ago(match: re.Match[str], today: date) -> Span | None:
    days = _UNITS[match[2].lower()]
    return _around(today, _count(match[1]) * days, days // 2)


def _past(match: re.Match[str], today: date) -> Span | None:
    count = _count(match[1]) if match[1] else 2
    return _around(today, count * _UNITS[match[2].lower()], None)


def _around(today: date, days: int, slack: int | None) -> Span | None:
    """Return the days around a date in the past, or all days since then."""
    try:
        middle = today - timedelta(days=days)
    except OverflowError:
        return None
    if slack is None:
        return middle, today
    return middle - timedelta(days=slack), middle + timedelta(days=slack)


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _weekday(match: re.Match[str], today: date) -> Span:
    days = (today.weekday() - _WEEKDAYS[match[1].lower()]) % 7 or 7
    last = today - timedelta(days=days)
    return last, last


#: Compiled, and cached by `re`, when a text may name a time: a short process rarely sees one.
_PATTERNS: tuple[tuple[str, Callable[[re.Match[str], date], Span | None]], ...] = (
    (r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b", lambda m, _: _on(int(m[1]), int(m[2]), int(m[3]))),
    (
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(\d{{4}}))?\b",
        lambda m, today: _named_day(m[2], m[1], m[3], today),
    ),
    (rf"\b{_MONTH},?\s+(?:of\s+)?(\d{{4}})\b", lambda m, _: _whole_month(int(m[2]), _MONTHS[m[1].lower()])),
    (
        rf"\b{_MONTH}\s+{_DAY}\b(?:,?\s+(\d{{4}}))?",
        lambda m, today: _named_day(m[1], m[2], m[3], today),
    ),
    (
        r"\b(?:in|during|of|since)\s+((?:19|20)\d\d)\b",
        lambda m, _: (date(int(m[1]), 1, 1), date(int(m[1]), 12, 31)),
    ),
    (
        rf"\b(?:in|during|since|of|last|this|early|late|mid)[ -]{_MONTH}(?=\W|$)",
        lambda m, today: _latest_month(_MONTHS[m[1].lower()], today),
    ),
    (_FOREIGN_MONTH, lambda m, today: _latest_month(_FOREIGN[m[m.lastindex or 0].lower()], today)),
    (rf"\b{_COUNT}\s+{_UNIT}\s+ago\b", _ago),
    (rf"\b(?:last|past|previous)\s+(?:{_COUNT}\s+)?{_UNIT}\b", _past),
    (r"\b(?:last|this past|on)\s+(" + "|".join(_WEEKDAYS) + r")\b", _weekday),
    (r"\bthis week\b", lambda _, today: (today - timedelta(days=today.weekday()), today)),
    (r"\b(?:today|this morning|tonight)\b", lambda _, today: (today, today)),
)
#: All patterns in one: one search is faster than one per pattern.
_ANY = rf"\b(?:{'|'.join(pattern for pattern, _ in _PATTERNS)})"
