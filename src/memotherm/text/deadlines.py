"""The day until which a task is to be done: "by Friday", "before the 30th", "bis Ende Mai", "月底前"."""

from __future__ import annotations

import functools
import re
from datetime import date, timedelta

from memotherm.text.relative_days import with_dates

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
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_EAST_ASIAN_DAY = re.compile(r"(?:(\d{1,2})\s*[月월]\s*)?(\d{1,2})\s*[日号號일]")
#: A day of the month alone: "the 14th", "bis zum 20.", "le 14", "el día 14".
_DAY_ALONE = re.compile(
    r"(?<![\w.:])(?:the (\d{1,2})(?:st|nd|rd|th)|(?:bis|vor|zum|am|den|dem) (?:zum |dem )?(\d{1,2})\.(?!\d)"
    r"|(?:avant|pour|jusqu'au|d'ici) le (\d{1,2})|(?:el|del|al) (?:día )?(\d{1,2})(?= |$|[,.])|(?:o|até o|até|no) dia"
    r" (\d{1,2})"
    r"|(?:entro|prima del?|per) (?:il )?(\d{1,2})|(?:voor|uiterlijk|tegen) de (\d{1,2})e?|до"
    r" (\d{1,2})(?:-?го)?)(?![\w:%])",
    re.IGNORECASE,
)
_MONTH_END = re.compile(
    r"end of (?:the |this )?month|month.?end|monatsende|ende des monats|fin (?:du|de) mois|fin(?:al(?:es)?)? de mes"
    r"|fine (?:del )?mese"
    r"|fi(?:m|nal) do mês|eind van de maand|konca miesiąca|кон(?:ца|ец) месяца|кінця місяця|ay sonu|月底|月末|월말",
    re.IGNORECASE,
)
_THIS_WEEK = re.compile(
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
            return _next(written, int(named["day"]), numbers[named["month"].lower()], named["year"])
    if found := _EAST_ASIAN_DAY.search(text):
        return _next(written, int(found[2]), int(found[1]) if found[1] else None)
    if found := _DAY_ALONE.search(text):
        return _next(written, int(next(filter(None, found.groups()))), None)
    if _MONTH_END.search(text):
        return _month_end(written, written.month)
    if _THIS_WEEK.search(text):
        return written + timedelta(days=6 - written.weekday())
    return None


def _next(written: date, day: int, month: int | None, year: str | None = None) -> date:
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
