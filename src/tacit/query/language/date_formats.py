"""How a date is written as text: the letters of TO_CHAR and of STRFTIME, to one form.

Only letters that mean the same wherever a function has them. The form is that of STRFTIME, with %Q for the quarter; names of months
and weekdays are English, whatever the machine speaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

from tacit.errors import NotAllowed

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
OF_SPARK = {"yyyy": "%Y", "MM": "%m", "dd": "%d"}
TOKENS = re.compile(r'"[^"]*"|FM[A-Za-z]+|IYYY|iyyy|[A-Za-z]+|[^A-Za-z"]+|"')


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
