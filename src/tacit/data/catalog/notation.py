"""How a source writes its values: the keys `decimal`, `thousands`, `format`, `missing` and `encoding` of a table or a column."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tacit.data.declaration.lines import value_text
from tacit.data.declaration.problems import Wrong
from tacit.privacy.catalog import PLAIN, Notation, canonical

Declared = Mapping[str, Any]

KEYS = ("decimal", "thousands", "format", "missing")
LETTERS = "YymdbBjHIMSpf%"  # strftime codes that identify a day, and codes for times, which are skipped
YEARS, DAYS = ({"Y"}, {"y"}), ({"m", "d"}, {"b", "d"}, {"B", "d"}, {"j"})
DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
# Encodings in which no row can change how the next one is read: without lasting states (ISO 2022, UTF-7), and without a lead
# byte that swallows a line end. EUC-KR has an eight-byte character that does; its superset does not.
INSTEAD = {"euc_kr": "cp949"}
ROW_BY_ROW = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154|hp-roman8|tis-620|mac-\w+"
    r"|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|shift_jisx0213|shift_jis_2004|euc_jp|euc_jisx0213|euc_jis_2004|johab"
)


def read_notation(declared: Declared, inherited: Notation = PLAIN) -> Notation:
    """What is declared here, and the inherited value for everything else; or `Wrong`.

    >>> table = read_notation({"decimal": ",", "missing": ["N", -9]})
    >>> read_notation({"thousands": "."}, table)
    Notation(decimal=',', thousands='.', format=None, missing=('N', '-9'))

    If the thousands separator is a point, the decimal sign is a comma unless another is declared.
    """
    given = {key: declared[key] for key in KEYS if key in declared}
    if "missing" in given:
        given["missing"] = tuple(str(canonical(str(code))) for code in given["missing"])
        if "" in given["missing"]:
            raise Wrong("missing", "has a blank text, which is missing in any case", "take it away")
    if "format" in given:
        _check_format(given["format"])
    if given.get("thousands") == "." and inherited.decimal == ".":
        given = {"decimal": ",", **given}  # the point cannot be both; a source that uses it for thousands has a decimal comma
    found = replace(inherited, **given)
    if found.decimal == found.thousands:
        key = "thousands" if "thousands" in given else "decimal"
        raise Wrong(key, f"is {value_text(given[key])}, as the other sign is", "declare two different signs, decimal and thousands")
    return found


def _check_format(written: str) -> None:
    found = DIRECTIVE.findall(written)
    wrong = [letter for letter in found if not letter or letter not in LETTERS]
    if wrong:
        raise Wrong("format", f"has %{wrong[0]}; expected one of {' '.join(f'%{each}' for each in LETTERS)}", EXAMPLE)
    letters = set(found)
    if "\0" in written or not any(each <= letters for each in YEARS) or not any(each <= letters for each in DAYS):
        raise Wrong("format", f"is {value_text(written)}, which does not tell year, month and day", EXAMPLE)


EXAMPLE = 'write for example format = "%d.%m.%Y"'


def read_encoding(declared: str) -> str:
    """The canonical name of an encoding's codec, or `Wrong`.

    >>> read_encoding("Windows-1252"), read_encoding("latin1")
    ('cp1252', 'iso8859-1')
    """
    try:
        name = codecs.lookup(declared).name
        name = INSTEAD.get(name, name)
    except (LookupError, ValueError):
        raise Wrong("encoding", f"is {value_text(declared)}, which is not a known encoding", ENCODINGS) from None
    if ROW_BY_ROW.fullmatch(name) is None:
        raise Wrong("encoding", f"is {value_text(declared)}, in which one row can change how others are read", ENCODINGS)
    return name


ENCODINGS = 'write for example encoding = "windows-1252", "iso-8859-15" or "utf-16"'
