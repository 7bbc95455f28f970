"""For the data owner: which kinds, formats and encodings fit the values of a file (`tacit init --kinds`).

This reads rows. The result names forms from a public list (whole number, day before month, decimal comma) and never a value, a
bound or a count. A form fits a column if at least 95 % of at least 100 filled values have it, and an encoding if 95 % of at least
20 lines that are not ASCII do. As long as a column is not within one person's rows of such a limit, that person changes nothing.
A column can stand exactly at a limit, so the result is for the owner, and only lines that the owner confirms are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tacit.data.files.csv_rows import CsvRows, csv_header
from tacit.data.files.kinds import Field, kind_of, line_blocks, unreadable
from tacit.errors import InvalidCatalog, InvalidInput

UTF8: Mapping[str, str] = {}  # nothing declared: UTF-8, and the separator of the header
NEARLY_ALL = (19, 20)  # of the filled values
FEWEST_VALUES = 100
FEWEST_LINES = 20  # that are not ASCII, before they say anything of the encoding
MOST_DECIMALS = 6
WORDS = {"number": "number", "date": "day", "truth": "true or false", "text": "text"}
NAMES_OF_SIGNS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", ".": "point", " ": "blank", "'": "apostrophe"}


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write values: its kind, a regular expression (RE2), how the catalog says it, and its words."""

    kind: str
    pattern: str
    words: str
    notation: Mapping[str, str] = field(default_factory=dict)
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class Fit:
    """The form that fits a column, or why none does."""

    words: str
    kind: str = ""
    notation: Mapping[str, str] = field(default_factory=dict)
    step: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Fits:
    """The forms that fit a file: its columns by name, its encoding if it is not UTF-8, and its separator in words."""

    columns: Mapping[str, Fit]
    encoding: str | None = None
    separator: str = ""


D, M, Y = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "(1[5-9]|20)[0-9]{2}"
TIME = "([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9:]+)?)?"
DATES = (
    Form("date", f"^{Y}-{M}-{D}{TIME}$", "day, year first"),
    Form("date", f"^{D}[.]{M}[.]{Y}$", "day.month.year", {"format": "%d.%m.%Y"}),
    Form("date", f"^{D}/{M}/{Y}$", "day/month/year", {"format": "%d/%m/%Y"}),
    Form("date", f"^{M}/{D}/{Y}$", "month/day/year", {"format": "%m/%d/%Y"}),
    Form("date", f"^{D}-{M}-{Y}$", "day-month-year", {"format": "%d-%m-%Y"}),
    Form("date", "^(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$", "yearmonthday", {"format": "%Y%m%d"}),
)
TRUTH = Form("truth", "^(?i:true|false)$", "true or false")
WHOLE = Form("number", "^[+-]?[0-9]{1,18}$", "whole number")
SIGNS = ((".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", "'"))  # decimal sign, thousands


def _numbers() -> Iterator[Form]:
    yield WHOLE
    for sign, thousands in SIGNS:
        whole = f"[0-9]{{1,3}}([{thousands}][0-9]{{3}})*" if thousands else "[0-9]{1,18}"
        notation = ({"decimal": sign} if sign != "." else {}) | ({"thousands": thousands} if thousands else {})
        grouped = f", {NAMES_OF_SIGNS[thousands]} between thousands" if thousands else ""
        for decimals in range(MOST_DECIMALS + 1) if thousands else range(1, MOST_DECIMALS + 1):
            fraction = f"([{sign}][0-9]{{1,{decimals}}})?" if decimals else ""
            words = f"number with {decimals} decimals, decimal {NAMES_OF_SIGNS[sign]}" if decimals else "whole number"
            yield Form("number", f"^[+-]?{whole}{fraction}$", words + grouped, notation, decimals)


FORMS = (*DATES, TRUTH, *_numbers())


def fits_of(path: Path, fields: Sequence[Field], declared: Mapping[str, str] = UTF8) -> Fits:
    """The forms that fit the columns of a CSV file, and of the text columns of a Parquet file.

    `declared` has the encoding and the separator of a CSV file, where the data owner has said them.
    """
    kind = kind_of(path)
    if kind == "csv":
        encoding = declared.get("encoding") or _encoding(path)
        header = csv_header(path, encoding, declared.get("separator"))
        batches = CsvRows([path], header, False, range(len(header.names)), encoding).batches(lambda _: None)
        names = dict(zip((f"c{place}" for place in range(len(header.written))), header.written, strict=True))
        return Fits(_fit_columns(batches, names), encoding, NAMES_OF_SIGNS.get(header.delimiter, header.delimiter))
    texts = [each.name for each in fields if each.type == "VARCHAR"]
    return Fits(_fit_columns(_parquet(path, texts), {name: name for name in texts}) if kind == "parquet" and texts else {})


def _parquet(path: Path, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as opened:
            yield from opened.iter_batches(columns=list(names))
    except (pa.ArrowException, OSError):
        raise unreadable(path, "parquet") from None


def _fit_columns(batches: Any, names: Mapping[str, str]) -> dict[str, Fit]:
    """How many filled values of each column have each form, then the form that nearly all have; the counts stay here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = dict.fromkeys(names, 0)
    counts = {name: [0] * len(FORMS) for name in names}
    try:
        for batch in batches:
            for column in names:
                texts = pc.utf8_trim_whitespace(batch.column(column).cast(pa.large_string()))
                texts = texts.filter(pc.fill_null(pc.not_equal(texts, ""), False))
                filled[column] += len(texts)
                values, times = texts.value_counts().flatten()  # equal texts are matched once
                for place, form in enumerate(FORMS):
                    counts[column][place] += pc.sum(times.filter(pc.match_substring_regex(values, form.pattern))).as_py() or 0
    except pa.ArrowException:
        raise InvalidInput("the rows cannot be read as text; declare the kinds yourself") from None
    except InvalidCatalog as error:
        raise InvalidInput(error.message) from None
    return {names[column]: fit(filled[column], counts[column]) for column in names}


def fit(filled: int, counts: Sequence[int]) -> Fit:
    """The form that nearly all of the filled values have; `counts` follow FORMS.

    >>> fit(200, [0] * 7 + [199] * (len(FORMS) - 7)).words, fit(99, [99] * len(FORMS)).words
    ('whole number', 'too few values to tell')
    """
    if filled < FEWEST_VALUES:
        return Fit("too few values to tell")
    share, whole = NEARLY_ALL
    fitting = [form for form, count in zip(FORMS, counts, strict=True) if whole * count >= share * filled]
    if not fitting:
        return Fit("text, or several forms", "text")
    form = fitting[0]
    if {"%d/%m/%Y", "%m/%d/%Y"} <= {each.notation.get("format") for each in fitting}:
        return Fit("date, but day and month cannot be told apart", "date")
    step = Decimal(1).scaleb(-form.decimals) if form.decimals else None
    return Fit(form.words, form.kind, form.notation, step)


def _encoding(path: Path) -> str | None:
    """Windows-1252 if nearly all lines that are not ASCII are that and not UTF-8; else None, for UTF-8."""
    seen = other = 0
    for block in line_blocks(path):
        if block.isascii():
            continue
        for line in block.splitlines():
            if not line.isascii():
                seen += 1
                other += _is_western(line)
    return "windows-1252" if seen >= FEWEST_LINES and NEARLY_ALL[1] * other >= NEARLY_ALL[0] * seen else None


def _is_western(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return not any(byte in line for byte in b"\x81\x8d\x8f\x90\x9d")
    return False
