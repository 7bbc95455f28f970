"""Questions with wrong arguments: every function that SQL has, with every number and kind of arguments, in every clause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

from sqlglot import exp

from tacit.query.language.expressions import READERS
from tacit.query.language.nodes import CASTS, NAMED

CATALOG = """
[budget]
epsilon = 1000000
delta = 0.001

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 3

[tables.visits.columns]
person = { key = true }
cost = { bounds = [0, 100], step = 0.5 }
ward = { values = ["north", "south", ""] }
code = { values = [1, 2, 3] }
flag = { values = [true, false] }
day = { type = "date", bounds = ["2020-01-01", "2021-12-31"] }
note = { keys = "private" }
seen = {}

[tables.wards]
source = "wards.csv"
public = true
"""
VISITS = (
    "person,cost,ward,code,flag,day,note,seen\n1,2.5,north,1,true,2020-05-06,flu,x\n2,,south,2,false,,,\n3,7,,,,2021-01-01,flu,y\n"
)
WARDS = "ward,beds\nnorth,10\nsouth,20\n"

# What stands in an argument's place: columns of every kind, constants, things that belong elsewhere.
ARGUMENTS = (
    "cost", "ward", "code", "flag", "day", "note", "person", "seen", "nobody",
    "1", "-1", "0", "0.5", "1e39", "123456789012345678", "'a'", "''", "'1'", "'month'", "'2020-01-01'", "DATE '2020-02-29'",
    "NULL", "TRUE", "*", "DISTINCT cost", "DISTINCT person", "COUNT(*)", "INTERVAL 7 DAY", "cost > 1", "(SELECT 1)", "visits.cost",
)  # fmt: skip
FEW = ("cost", "ward", "day", "note", "person", "1", "'a'", "NULL", "*", "COUNT(*)")
CLAUSES = (
    "SELECT {} FROM visits",
    "SELECT SUM({}) FROM visits",
    "SELECT COUNT({}) AS n FROM visits",
    "SELECT COUNT(*) FROM visits WHERE {}",
    "SELECT COUNT(*) FROM visits WHERE {} > 1",
    "SELECT COUNT(*) FROM visits GROUP BY {}",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING {} > 1",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING {}",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY {}",
    "SELECT ward, AVG(cost) FILTER (WHERE {}) FROM visits GROUP BY ward",
    "SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = {}",
)
OPERATORS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} = {}", "{} <> {}", "{} < {}", "{} >= {}", "{} AND {}", "{} OR {}",
    "{} || {}", "NOT {}", "- {}", "{} IS NULL", "{} IS NOT NULL", "{} IS TRUE", "{} IS {}", "{} IN ({})", "{} IN ({}, {})",
    "{} IN ()", "{} NOT IN ({})", "{} BETWEEN {} AND {}", "{} LIKE {}", "{} NOT LIKE {}", "{} ILIKE {}", "{} LIKE {} ESCAPE {}",
    "CASE WHEN {} THEN {} ELSE {} END", "CASE {} WHEN {} THEN {} END", "CASE WHEN {} THEN {} END", "EXTRACT({} FROM {})",
    "EXTRACT(YEAR FROM {})", "EXTRACT(CENTURY FROM {})", "INTERVAL {} DAY", "INTERVAL '{}' MONTH", "{} + INTERVAL 99999999 DAY",
    "PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY {})", "PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY {}, {})",
    "PERCENTILE_DISC({}) WITHIN GROUP (ORDER BY {} DESC)", "SUM({}) WITHIN GROUP (ORDER BY {})", "COUNT({}) FILTER (WHERE {})",
    "{} FILTER (WHERE {})", "SUM({}) OVER ()", "TRIM({} FROM {})", "TRIM(LEADING {} FROM {})", "SUBSTRING({} FROM {} FOR {})",
    "POSITION({} IN {})", "{}::{}", "{}[{}]", "{} COLLATE {}", "({}, {})", "ARRAY[{}, {}]", "EXISTS ({})", "{} AT TIME ZONE {}",
    *(f"CAST({{}} AS {kind})" for kind in (*CASTS, "DECIMAL(3, 1)", "VARCHAR(3)", "TIMESTAMP", "nobody", "INT[]")),
    *(f"TRY_CAST({{}} AS {kind})" for kind in ("INT", "DATE")),
)  # fmt: skip


def answered() -> tuple[str, ...]:
    """The names of the functions that may be asked, under every name that SQL has for them."""
    kinds = [kind for kind in READERS if issubclass(kind, exp.Func)]
    return tuple(sorted({name for kind in kinds for name in kind.sql_names()} | {name.upper() for name in NAMED}))


def known() -> tuple[str, ...]:
    """Every function that the parser knows by name."""
    return tuple(sorted({name for kind in exp.ALL_FUNCTIONS for name in kind.sql_names()} | {"NOBODY_KNOWS"}))


def calls(names: Sequence[str], kinds: Sequence[str], most: int) -> Iterator[str]:
    """Every function with every choice of up to `most` arguments."""
    for name in names:
        for count in range(most + 1):
            for given in product(kinds, repeat=count):
                yield f"{name}({', '.join(given)})"


def operations(kinds: Sequence[str]) -> Iterator[str]:
    """Every operator and construct with every choice of operands."""
    for pattern in OPERATORS:
        for given in product(kinds, repeat=pattern.count("{}")):
            yield pattern.format(*given)


def long_calls(names: Sequence[str], draw: Random, each: int) -> Iterator[str]:
    """Functions with three to six arguments, and one inside another, at random."""
    for name in names:
        for _ in range(each):
            given = draw.choices(ARGUMENTS, k=draw.randint(3, 6))
            yield f"{name}({', '.join(given)})"
            yield f"{name}({draw.choice(names)}({draw.choice(ARGUMENTS)}))"


def quick_questions(seed: int = 0) -> Iterator[str]:
    """Every function with 0 to 4 arguments and every operator, each in a clause or two, of kinds that a fixed seed chooses."""
    draw = Random(seed)
    for name in answered():
        for count in range(5):
            for _ in range(1 if count == 0 else 4):
                given = ", ".join(draw.choices(ARGUMENTS, k=count))
                yield draw.choice(CLAUSES).format(f"{name}({given})")
        yield f"SELECT {name}() FROM visits"
    for pattern in OPERATORS:
        for _ in range(4):
            yield draw.choice(CLAUSES).format(pattern.format(*draw.choices(ARGUMENTS, k=pattern.count("{}"))))
    for name in draw.sample(known(), 150):
        yield draw.choice(CLAUSES).format(f"{name}({', '.join(draw.choices(ARGUMENTS, k=draw.randint(0, 3)))})")


def all_questions(seed: int = 1) -> Iterator[str]:
    """Every function with every choice of up to two arguments in SELECT and WHERE, fewer kinds in all clauses, and long calls."""
    draw = Random(seed)
    for call in calls(answered(), ARGUMENTS, 2):
        yield from (clause.format(call) for clause in (CLAUSES[0], CLAUSES[3]))
    for call in calls(answered(), FEW, 1):
        yield from (clause.format(call) for clause in CLAUSES)
    for call in operations(FEW):
        yield draw.choice(CLAUSES).format(call)
    for call in calls(known(), FEW[:4], 1):
        yield draw.choice(CLAUSES).format(call)
    for call in long_calls(answered(), draw, 40):
        yield draw.choice(CLAUSES).format(call)
