"""How a date is written as text: the letters of TO_CHAR and of STRFTIME, to one form.

Only letters that mean the same wherever a function has them. The form is that of STRFTIME, with %Q for the quarter; names of months
and weekdays are English, whatever the machine speaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time

from tacit.errors import NotAllowed, WrongType

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LONGEST = 60

WRITTEN: Mapping[str, Callable[[date], str]] = {
    "Y": lambda day: f"{day.year:04d}",
    "y": lambda day: f"{day.year % 100:02d}",
    "m": lambda day: f"{day.month:02d}",
    "d": lambda day: f"{day.day:02d}",
    "j": lambda day: f"{day.timetuple().tm_yday:03d}",
    "b": lambda day: MONTHS[day.month - 1][:3],
    "B": lambda day: MONTHS[day.month - 1],
    "a": lambda day: WEEKDAYS[day.weekday()][:3],
    "A": lambda day: WEEKDAYS[day.weekday()],
    "u": lambda day: str(day.isoweekday()),
    "G": lambda day: f"{day.isocalendar()[0]:04d}",
    "V": lambda day: f"{day.isocalendar()[1]:02d}",
    "Q": lambda day: str((day.month + 2) // 3),
    "%": lambda _: "%",
}
SHORT = {"F": "%Y-%m-%d"}
OF_MYSQL = frozenset("Yymdjba%")  # the letters of DATE_FORMAT that STRFTIME reads in the same way
OF_POSTGRES = {
    "YYYY": "%Y", "yyyy": "%Y", "YY": "%y", "yy": "%y", "MM": "%m", "mm": "%m", "DDD": "%j", "ddd": "%j", "DD": "%d", "dd": "%d",
    "Q": "%Q", "q": "%Q", "IYYY": "%G", "iyyy": "%G", "IW": "%V", "iw": "%V",
    "Mon": "%b", "Dy": "%a", "FMMonth": "%B", "FMDay": "%A",
}  # fmt: skip
TIMES = {"HH24": "%H", "hh24": "%H", "MI": "%M", "mi": "%M", "SS": "%S", "ss": "%S", "US": "%f", "us": "%f"}
OF_SPARK = {"yyyy": "%Y", "MM": "%m", "dd": "%d"}
TOKENS = re.compile(r'"[^"]*"|(?:HH|hh)24|FM[A-Za-z]+|IYYY|iyyy|[A-Za-z]+|[^A-Za-z"]+|"')


def of_strftime(form: str, letters: frozenset[str] = frozenset(WRITTEN)) -> str:
    """The form of STRFTIME and FORMAT_DATE, its short forms written out.

    >>> of_strftime("%F (week %V)")
    '%Y-%m-%d (week %V)'
    """
    _check_length(form)
    spelling = re.sub("%(.?)", lambda code: SHORT.get(code[1], code[0]), form, flags=re.DOTALL)
    for code in re.findall("%(.?)", spelling, flags=re.DOTALL):
        if code not in letters:
            supported = ", ".join(f"%{letter}" for letter in sorted(letters - {"%"}, key=str.lower))
            raise NotAllowed(f"%{code} in a date format is not supported", remedy=f"supported are: {supported}")
    return spelling


def of_date_format(form: str) -> str:
    """The form of DATE_FORMAT: MySQL's letters, or Spark's, whichever it is written with."""
    return of_strftime(form, OF_MYSQL) if "%" in form else _translate(form, OF_SPARK)


def of_to_char(form: str) -> str:
    """The form of TO_CHAR.

    >>> of_to_char('YYYY"-Q"Q'), of_to_char("Mon YYYY")
    ('%Y-Q%Q', '%b %Y')
    """
    return _translate(form, OF_POSTGRES)


def of_to_date(form: str) -> str:
    """The form of TO_DATE and TO_TIMESTAMP; a time of day is read, and must be midnight.

    >>> of_to_date("YYYY-MM-DD HH24:MI:SS.US")
    '%Y-%m-%d %H:%M:%S.%f'
    """
    return _translate(form, OF_POSTGRES | TIMES)


def read_as(text: str, form: str) -> date:
    """The date that a text is, in a form that this module gives.

    >>> read_as("29.02.2024", "%d.%m.%Y")
    datetime.date(2024, 2, 29)
    """
    if not {"%Y", "%m", "%d"} <= set(re.findall("%.", form)) <= {"%Y", "%m", "%d", "%%", *TIMES.values()}:
        raise NotAllowed("the format of a date must have its year, month and day in digits", remedy="write 'YYYY-MM-DD'")
    if not text.isascii() or len(text) > LONGEST:
        raise WrongType("the text is not a date in this format", remedy="write DATE '2024-05-01'")
    try:
        moment = datetime.strptime(text, form)  # a day has no time zone
    except ValueError:
        raise WrongType("the text is not a date in this format", remedy="write DATE '2024-05-01'") from None
    return midnight(moment)


def day_in(text: str) -> date | None:
    """The day that a text is, also with a time of day that is midnight, as programs write a day; None for any other text.

    >>> day_in("2024-05-01"), day_in("2024-05-01 00:00:00.000000"), day_in("2024-05-01 12:30:00")
    (datetime.date(2024, 5, 1), datetime.date(2024, 5, 1), None)
    """
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0{1,6})?)?(?:Z|[+-]00(?::?00)?)?", text, re.ASCII)
    try:
        return date.fromisoformat(text if match is None else match[1])
    except ValueError:
        return None


def midnight(moment: datetime) -> date:
    """The day that begins at a moment; refused where the moment is later."""
    if moment.time() != time.min:
        raise NotAllowed("tacit has dates only: a time of day must be midnight", remedy="write DATE '2024-05-01'")
    return moment.date()


def _translate(form: str, codes: Mapping[str, str]) -> str:
    _check_length(form)
    parts = []
    for token in TOKENS.findall(form):
        if len(token) > 1 and token[0] == '"':
            parts.append(token[1:-1].replace("%", "%%"))
        elif token[0].isalpha():
            parts += _letters(token, codes)
        else:
            parts.append(token.replace("%", "%%"))
    return "".join(parts)


def _letters(token: str, codes: Mapping[str, str]) -> list[str]:
    """Patterns that stand side by side, such as YYYYMM: the longest first."""
    letters = []
    while token:
        pattern = next((each for each in sorted(codes, key=len, reverse=True) if token.startswith(each)), None)
        if pattern is None:
            remedy = f"supported are: {', '.join(codes)}"
            raise NotAllowed(f"{token!r} in a date format is not supported", remedy=remedy)
        letters.append(codes[pattern])
        token = token.removeprefix(pattern)
    return letters


def _check_length(form: str) -> None:
    if len(form) > LONGEST:
        raise NotAllowed(f"a date format has at most {LONGEST} characters", remedy="write a shorter one")


def written_as(day: date, form: str) -> str:
    """The text of a date, in the form that this module gives.

    >>> written_as(date(2024, 2, 29), "%b %d, %Y: Q%Q")
    'Feb 29, 2024: Q1'
    """
    return re.sub("%(.)", lambda code: WRITTEN[code[1]](day), form)
