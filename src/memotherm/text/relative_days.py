"""Words such as "tomorrow" and "until Friday", with the dates that they meant when they were written.

And the day until which a task is to be done, whose text names a month as well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from datetime import date, timedelta

from memotherm.text.patterns import lazy_pattern

#: Words for days, by their distance from today. Left out are words with another common meaning: the French "hier" is
#: "here" in German, the Hindi word for yesterday is the one for tomorrow. Today needs no date: it is that of the text.
_DAYS = {
    -2: "vorgestern anteayer avant-hier eergisteren позавчера 前天 一昨日 그저께",
    -1: "yesterday gestern ayer ieri ontem gisteren wczoraj dün вчера вчора أمس אתמול χθες 昨天 昨日 어제 kemarin",
    1: "tomorrow morgen mañana demain domani amanhã jutro yarın завтра غدا מחר αύριο 明天 明日 내일 besok",
    2: "übermorgen overmorgen après-demain dopodomani pojutrze послезавтра 后天 明後日 모레",
}
#: The same, one text for each distance.
DAY_WORDS = tuple(_DAYS.values())
#: Names of weekdays from Monday to Sunday, in the form that follows the words for "until" and "by".
_WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "segunda terça quarta quinta sexta sábado domingo",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "poniedziałku wtorku środy czwartku piątku soboty niedzieli",
    "понедельника вторника среды четверга пятницы субботы воскресенья",
    "понедельнику вторнику среде четвергу пятнице субботе воскресенью",
)
#: Words for "until", "by" and "before".
_UNTIL = (
    "until", "till", "by", "before", "due", "bis", "vor", "hasta", "antes", "para", "jusqu'à", "avant", "d'ici",
    "entro", "fino", "até", "tot", "voor", "do", "przed", "до", "к",
)  # fmt: skip
#: Words between those and the weekday: articles, "next", "this".
_BETWEEN = (
    "the", "on", "next", "this", "zum", "nächsten", "kommenden", "el", "del", "próximo", "a", "al", "de", "volgende",
    "następnego", "следующей",
)  # fmt: skip
#: Chinese, Japanese and Korean: the name of a weekday, and a word for "until" after it.
_EAST_ASIAN = (
    r"(?:到(?:周|星期|礼拜)|(?:周|星期|礼拜)(?=.(?:之?前|截止)))([一二三四五六日天])(?:之?前|截止)?"
    r"|([月火水木金土日])曜日?まで|([월화수목금토일])요일까지"
)
#: What is before the Spanish "mañana" if it is a morning.
_DETERMINER = lazy_pattern(r"(?<!\S)(?:la|esta|cada)\s+$")
_LONGEST_DETERMINER = 10
_EAST_ASIAN_DAYS = ("一二三四五六日", "月火水木金土日", "월화수목금토일")


#: A date after one of those words that say how long something holds, and not only when it is due.
_HOLDS_UNTIL = lazy_pattern(
    r"(?:(?<!\w)(?:until|till|bis|hasta|jusqu'à|fino|até|tot|do|до) (?:\w+ ){0,3}\(?|到\S{2,3} \(|(?:まで|까지) \()"
    r"(\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)

#: One of these is in every text with such a word: a word, with or without punctuation, or a part of an unspaced text.
_WORDS = frozenset(word + mark for word in " ".join((*_DAYS.values(), *_WEEKDAYS)).split() for mark in ("", *".,;:!?)"))
_UNSPACED = (*(word for word in _WORDS if word > "\u3000"), "周", "星期", "礼拜", "曜", "요일")


def with_dates(text: str, written: date) -> str:
    """Return a text in which such words are followed by the dates that they meant on the day it was written."""
    # The pattern takes a hundred times as long, and most texts have no such word.
    if _WORDS.isdisjoint(text.lower().split()) and (text.isascii() or not any(sign in text for sign in _UNSPACED)):
        return text
    distances, weekdays, pattern = _tables()

    def with_date(match: re.Match[str]) -> str:
        found, weekday = match[0], match[1]
        if weekday is not None:
            days = _days_until(weekdays[weekday.lower()], written)
        elif found.lower() in distances:
            days = 0 if _is_morning(match) else distances[found.lower()]
        else:
            names, name = next(pair for pair in zip(_EAST_ASIAN_DAYS, match.groups()[1:], strict=True) if pair[1])
            days = _days_until(names.index(name.replace("天", "日")), written)
        try:
            return f"{found} ({written + timedelta(days=days)})" if days else found
        except OverflowError:
            return found

    return pattern.sub(with_date, text)


def last_day(text: str, written: date) -> date | None:
    """Return the day until which a text of that date says that something holds: a weekday, tomorrow, or a date."""
    found = _HOLDS_UNTIL.search(with_dates(text, written))
    try:
        return None if found is None else date.fromisoformat(found[1])
    except ValueError:
        return None


def past_days(text: str, today: date) -> list[date]:
    """Return the days that a text names by words such as "yesterday", in any of the languages."""
    if _WORDS.isdisjoint(text.lower().split()) and (text.isascii() or not any(sign in text for sign in _UNSPACED)):
        return []
    distances, _, pattern = _tables()
    found = (distances.get(match[0].lower(), 0) for match in pattern.finditer(text))
    return [today + timedelta(days=days) for days in found if days < 0 and today.toordinal() + days > 0]


@functools.cache
def _tables() -> tuple[dict[str, int], dict[str, int], re.Pattern[str]]:
    """Return the words for days and their distances, the weekdays and their numbers, and a pattern for both."""
    distances = {word: distance for distance, words in _DAYS.items() for word in words.split()}
    weekdays = {name: number for names in _WEEKDAYS for number, name in enumerate(names.split())}
    spaced, unspaced = [word for word in distances if word < "\u3000"], [word for word in distances if word > "\u3000"]
    pattern = (
        rf"(?<!\w)(?:{_any(spaced)})(?![\w'])|{_any(unspaced)}"
        rf"|(?<!\w)(?:{_any(_UNTIL)})(?: (?:{_any(_BETWEEN)}))* ({_any(weekdays)})(?!\w)|{_EAST_ASIAN}"
    )
    return distances, weekdays, re.compile(pattern, re.IGNORECASE)


def _any(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, longer ones first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _days_until(weekday: int, written: date) -> int:
    return (weekday - written.weekday()) % 7 or 7


def _is_morning(match: re.Match[str]) -> bool:
    """Return whether the German "Morgen" or the Spanish "mañana" is a morning."""
    start = match.start()
    determined = _DETERMINER.search(match.string, max(0, start - _LONGEST_DETERMINER), start)
    return match[0] == "Morgen" or (match[0].lower() == "mañana" and determined is not None)


# Deadlines: "by Friday", "before the 30th", "bis Ende Mai", "月底前"

#: A longer text is a report.
_MAX_CHARS = 400
#: Words for the months, each in several languages.
_MONTHS = (
    "january jan januar janvier enero gennaio janeiro januari stycznia января січня ocak tammikuu ledna ianuarie gener",
    (
        "february feb februar février febrero febbraio fevereiro februari lutego февраля лютого şubat helmikuu února"
        " febrer"
    ),
    "march mar märz mars marzo março maart marca марта березня mart maaliskuu března martie març",
    "april apr avril abril aprile kwietnia апреля квітня nisan huhtikuu dubna aprilie",
    "may mai mayo maggio maio mei maj maja мая травня mayıs toukokuu května maig",
    "june jun juni juin junio giugno junho czerwca июня червня haziran kesäkuu června iunie juny",
    "july jul juli juillet julio luglio julho lipca июля липня temmuz heinäkuu července iulie juliol",
    "august aug août agosto augustus sierpnia augusti августа серпня ağustos elokuu srpna agost",
    "september sep sept septembre septiembre settembre setembro września сентября вересня eylül syyskuu září setembre",
    "october oct oktober octobre octubre ottobre outubro października oktober октября жовтня ekim lokakuu října",
    "november nov novembre noviembre novembro listopada ноября листопада kasım marraskuu listopadu noiembrie",
    "december dec dezember décembre diciembre dicembre dezembro grudnia декабря грудня aralık joulukuu prosince",
)
_ISO = lazy_pattern(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_EAST_ASIAN_DAY = lazy_pattern(r"(?:(\d{1,2})\s*[月월]\s*)?(\d{1,2})\s*[日号號일]")
#: A day of the month alone: "the 14th", "bis zum 20.", "le 14", "el día 14".
_DAY_ALONE = lazy_pattern(
    r"(?<![\w.:])(?:the (\d{1,2})(?:st|nd|rd|th)|(?:bis|vor|zum|am|den|dem) (?:zum |dem )?(\d{1,2})\.(?!\d)"
    r"|(?:avant|pour|jusqu'au|d'ici) le (\d{1,2})|(?:el|del|al) (?:día )?(\d{1,2})(?= |$|[,.])|(?:o|até o|até|no) dia"
    r" (\d{1,2})"
    r"|(?:entro|prima del?|per) (?:il )?(\d{1,2})|(?:voor|uiterlijk|tegen) de (\d{1,2})e?|до"
    r" (\d{1,2})(?:-?го)?)(?![\w:%])",
    re.IGNORECASE,
)
_MONTH_END = lazy_pattern(
    r"end of (?:the |this )?month|month.?end|monatsende|ende des monats|fin (?:du|de) mois|fin(?:al(?:es)?)? de mes"
    r"|fine (?:del )?mese"
    r"|fi(?:m|nal) do mês|eind van de maand|konca miesiąca|кон(?:ца|ец) месяца|кінця місяця|ay sonu|月底|月末|월말",
    re.IGNORECASE,
)
_THIS_WEEK = lazy_pattern(
    r"(?:this|end of (?:the )?) ?week|diese(?:r)? woche|ende der woche|cette semaine|fin de (?:la"
    r" )?semaine|esta semana"
    r"|fin de (?:la )?semana|questa settimana|fine settimana|deze week|w tym tygodniu|на этой неделе|до конца недели"
    r"|цього тижня"
    r"|bu hafta|den här veckan|denne uge|denne uken|tällä viikolla|tento týden|ezen a héten|這周|这周|本周|这个星期"
    r"|今週|이번 주",
    re.IGNORECASE,
)
_END = r"(?:end of|by the end of|ende|fin|fin de|finales de|final de|fine|fim de|final de|eind|konca|конца|кінця)"


def due_day(text: str, written: date) -> date | None:
    """Return the day until which a task is to be done, as its text of that date says it; None if it names none."""
    if len(text) > _MAX_CHARS:
        return None
    try:
        return _due_day(with_dates(text, written), written)
    except (ValueError, OverflowError):
        return None


def _due_day(text: str, written: date) -> date | None:
    if found := _ISO.search(text):
        return date(*map(int, found.groups()))
    numbers, end_of_month, day_first, month_first = _named_months()
    if found := end_of_month.search(text):
        return _month_end(written, numbers[found[1].lower()])
    for pattern in (day_first, month_first):
        if found := pattern.search(text):
            named = found.groupdict()
            return _next_day(written, int(named["day"]), numbers[named["month"].lower()], named["year"])
    if found := _EAST_ASIAN_DAY.search(text):
        return _next_day(written, int(found[2]), int(found[1]) if found[1] else None)
    if found := _DAY_ALONE.search(text):
        return _next_day(written, int(next(filter(None, found.groups()))), None)
    if _MONTH_END.search(text):
        return _month_end(written, written.month)
    if _THIS_WEEK.search(text):
        return written + timedelta(days=6 - written.weekday())
    return None


def _next_day(written: date, day: int, month: int | None, year: str | None = None) -> date:
    """Return the next such day, today included."""
    if year:
        return date(int(year), month or written.month, day)
    if month is not None:
        found = date(written.year, month, day)
        return found if found >= written else date(written.year + 1, month, day)
    if day >= written.day and day <= _days_of(written.year, written.month):
        return written.replace(day=day)
    first = (written.replace(day=1) + timedelta(days=32)).replace(day=1)
    return first.replace(day=day)


def _month_end(written: date, month: int) -> date:
    year = written.year if month >= written.month else written.year + 1
    return date(year, month, _days_of(year, month))


def _days_of(year: int, month: int) -> int:
    """Return the number of days of a month."""
    # Imported here, because few texts name a month, and every hook imports this module.
    from calendar import monthrange

    return monthrange(year, month)[1]


@functools.cache
def _named_months() -> tuple[dict[str, int], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the numbers of the months, and patterns for the end of a month, and for a day before or after its name."""
    numbers = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
    month = "|".join(sorted(map(re.escape, numbers), key=len, reverse=True))
    year = r"(?:,? (?:de )?(?P<year>\d{4}))?"
    return (
        numbers,
        re.compile(rf"(?<!\w){_END} ({month})(?!\w)", re.IGNORECASE),
        re.compile(
            rf"(?<![\w.:])(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)? (?:of |de )?(?P<month>{month})(?!\w){year}",
            re.IGNORECASE,
        ),
        re.compile(rf"(?<!\w)(?P<month>{month})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]){year}", re.IGNORECASE),
    )
