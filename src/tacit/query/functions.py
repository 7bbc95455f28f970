"""The functions of the language, one row each: over the rows of a table, and over released numbers with both ends of an interval.

A new function is a row here: how it is written, its rule on terms of a row (binding/functions.py), its node over released numbers
with the rule for both ends (intervals/functions.py) if it has one, and whether public tables answer it. `language/` reads its words
from here, `binding/` its meaning, `released/` and `intervals/` its values. Aggregates are in intervals/aggregates.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.query.binding import curves, dates, terms
from tacit.query.binding import functions as rows
from tacit.query.intervals import functions as ends
from tacit.query.intervals.aggregates import WRITTEN
from tacit.query.intervals.bands import Numbers
from tacit.query.language.syntax import ONE, SEVERAL, TWO, Form
from tacit.query.plan import BooleanType, DateType
from tacit.query.question import Arithmetic, Coalesced, Extreme, Mapped, NullIf, Power, Rounded

OWN = Form((), 1, None)  # read by a reader of its own, which counts its arguments


@dataclass(frozen=True, slots=True)
class Function:
    """The rule on rows, how it is written, the node over released numbers with its ends, and whether public tables answer it.

    `whole` says that its released numbers are whole, whatever they are made of. An operator is written without its name.
    """

    rows: rows.Rule
    form: Form | None = OWN
    out: type | None = None
    ends: Callable[..., Numbers] | None = None
    public: bool = True
    whole: bool = False


FUNCTIONS: Mapping[str, Function] = {
    "+": Function(rows.add, None, Arithmetic),
    "-": Function(rows.subtract, None, Arithmetic),
    "*": Function(rows.of_numbers(terms.multiply, 2), None, Arithmetic),
    "/": Function(rows.of_numbers(terms.divide, 2), None, Arithmetic),
    "%": Function(rows.of_numbers(terms.modulo, 2), None),
    "negate": Function(rows.of_numbers(terms.negate, 1), None),
    "abs": Function(rows.of_numbers(terms.absolute, 1), ONE, Mapped, ends.absolute),
    "sign": Function(rows.of_numbers(terms.sign, 1), ONE, Mapped, ends.rising(np.sign), whole=True),
    "floor": Function(rows.of_numbers(terms.floor, 1), ONE, Mapped, ends.rising(np.floor), whole=True),
    "ceil": Function(rows.of_numbers(terms.ceil, 1), ONE, Mapped, ends.rising(np.ceil), whole=True),
    "round": Function(rows.to_decimals, Form(("this", "decimals"), 1, 2), Rounded),
    "power": Function(rows.power, TWO, Power),
    "sqrt": Function(rows.of_numbers(curves.root, 1), ONE, Mapped, ends.from_zero(np.sqrt, zero=True), public=False),
    "ln": Function(rows.of_numbers(curves.logarithm("e"), 1), ONE, Mapped, ends.from_zero(np.log, zero=False), public=False),
    "log10": Function(
        rows.of_numbers(curves.logarithm("10"), 1), Form(()), Mapped, ends.from_zero(np.log10, zero=False), public=False
    ),
    "exp": Function(rows.of_numbers(curves.exponential, 1), ONE, Mapped, ends.rising(np.exp), public=False),
    "width_bucket": Function(rows.bucket, Form(("this", "min_value", "max_value", "num_buckets"), 4, 4), public=False),
    "nullif": Function(rows.null_if, TWO, NullIf),
    "coalesce": Function(rows.first_known, SEVERAL, Coalesced),
    "least": Function(rows.extreme(greatest=False), SEVERAL, Extreme, ends.least),
    "greatest": Function(rows.extreme(greatest=True), SEVERAL, Extreme, ends.greatest),
    "interval": Function(rows.interval),
    "lower": Function(rows.of_values(str.lower), ONE),
    "upper": Function(rows.of_values(str.upper), ONE),
    "trim": Function(rows.of_values(str.strip), ONE),
    "length": Function(rows.of_values(len), ONE),
    "substring": Function(rows.of_values(rows.cut_text), Form(("this", "start", "length"), 2, 3, "write SUBSTRING(column, 1, 3)")),
    "concat": Function(lambda given, _: rows.concatenate(given), Form((), 2, 2)),
    "concat_all": Function(lambda given, _: rows.joined_whole(given)),
    "strftime": Function(rows.strftime),
    "date_trunc": Function(rows.truncate),
    **{name: Function(rows.part(name), OWN if name == "isodow" else ONE) for name in dates.PARTS},
    "cast_integer": Function(rows.of_numbers(terms.rounded, 1), out=Rounded),
    "cast_number": Function(rows.cast_number),
    "cast_date": Function(rows.cast_same(DateType, "DATE")),
    "cast_text": Function(lambda given, _: rows.as_text(given[0])),
    "cast_boolean": Function(rows.cast_same(BooleanType, "BOOLEAN")),
}
FORMS: Mapping[str, Form] = {**{name: row.form for name, row in FUNCTIONS.items() if row.form is not None}, **WRITTEN}
"""How each function and aggregate is written, operators aside."""
OF_ONE_COLUMN = frozenset(name for name, form in WRITTEN.items() if form.least == 1)  # aggregates beside which FILTER may stand
