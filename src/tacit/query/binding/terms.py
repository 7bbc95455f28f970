"""Row expressions with their meaning and their range: builders that are total, and that refuse what could fail or overflow.

A number is k times a public step; every builder computes the range of k in advance, and refuses one that leaves the integers
below 2^53, which every engine holds exactly (also in a double). So no row can make an expression fail (rule 3 of the design).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd

from tacit.errors import RangeTooLarge, WrongType
from tacit.privacy.catalog import LARGEST, Value
from tacit.query.plan import (
    Add,
    All,
    Among,
    BooleanType,
    CategoryType,
    Choose,
    Column,
    Compare,
    Condition,
    DateType,
    Either,
    IsNull,
    Literal,
    Lookup,
    Multiply,
    Negation,
    NumberType,
    Quotient,
    Ratio,
    Row,
    Term,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
    Type,
)

Constant = Value | Fraction
FINEST_RATIO = 10**6  # a quotient of two columns is kept to a millionth, where its range allows


# --- integers ----------------------------------------------------------------------------------------------------------------


def checked(low: int, high: int) -> None:
    """Refuses a range that leaves the integers held exactly."""
    if max(abs(low), abs(high)) >= LARGEST:
        raise RangeTooLarge(
            "the range of the expression exceeds 2^53 steps, the limit of exact arithmetic",
            remedy="use coarser steps, tighter bounds, or a simpler expression",
        )


def plus(left: Row, right: Row) -> Row:
    """left + right; a constant 0 changes nothing.

    >>> plus(Literal(2), Literal(3))
    Literal(value=5)
    """
    if isinstance(left, Literal) and isinstance(right, Literal):
        return Literal(None if left.value is None or right.value is None else left.value + right.value)
    if Literal(None) in (left, right):
        return Literal(None)
    if right == Literal(0):
        return left
    if left == Literal(0):
        return right
    low, high = left.low + right.low, left.high + right.high
    checked(low, high)
    return Add(left, right, low, high, left.nullable or right.nullable)


def times(left: Row, right: Row) -> Row:
    """left times right."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return Literal(None if left.value is None or right.value is None else left.value * right.value)
    if Literal(None) in (left, right):
        return Literal(None)
    if right == Literal(1):
        return left
    if left == Literal(1):
        return right
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    checked(min(corners), max(corners))
    if not any(corners):  # also where the other factor is too large to be written
        return where_known((left, right), 0)
    return Multiply(left, right, min(corners), max(corners), left.nullable or right.nullable)


def floor_by(child: Row, divisor: int) -> Row:
    """floor(child / divisor), divisor > 0."""
    if isinstance(child, Literal):
        return Literal(None if child.value is None else child.value // divisor)
    low, high = child.low // divisor, child.high // divisor
    if divisor == 1:
        return child
    if low == high:
        return where_known((child,), low)
    if divisor >= LARGEST:  # the range has both signs, and no more
        return choose([(Compare("<", child, Literal(0)), Literal(-1))], where_known((child,), 0))
    checked(0, child.high - low * divisor)
    return Quotient(child, divisor, low, high, child.nullable)


def choose(branches: Sequence[tuple[Condition, Row]], otherwise: Row) -> Choose:
    """The value of the first true condition, else `otherwise`."""
    values = [row for _, row in branches] + [otherwise]
    real = [row for row in values if row != Literal(None)] or [Literal(0)]
    low, high = min(row.low for row in real), max(row.high for row in real)
    checked(low, high)
    return Choose(tuple(branches), otherwise, low, high, any(row.nullable for row in values))


def where_known(rows: Iterable[Row], value: int) -> Row:
    """A constant, NULL where one of the rows is."""
    checked(value, value)
    missing: list[tuple[Condition, Row]] = [(IsNull(row), Literal(None)) for row in rows if row.nullable]
    return choose(missing, Literal(value)) if missing else Literal(value)


def truth_value(condition: Condition) -> Term:
    """A condition as 0 or 1, NULL where it is unknown."""
    if not may_be_unknown(condition):
        return Term(choose([(condition, Literal(1))], Literal(0)), BooleanType())
    return Term(choose([(condition, Literal(1)), (Negation(condition), Literal(0))], Literal(None)), BooleanType())


def may_be_unknown(condition: Condition) -> bool:
    """Whether a condition can be neither true nor false."""
    match condition:
        case Compare():
            return condition.left.nullable or condition.right.nullable
        case Among() | TextIs() | TextLike():
            return condition.child.nullable
        case All() | Either():
            return any(may_be_unknown(part) for part in condition.parts)
        case Negation():
            return may_be_unknown(condition.part)
        case Truth():
            return condition.value is None
        case IsNull():
            return False


# --- numbers -----------------------------------------------------------------------------------------------------------------


def constant(value: Fraction) -> Term:
    """A constant number: one step of its own size."""
    return Term(Literal(0 if value == 0 else (1 if value > 0 else -1)), NumberType(abs(value) or Fraction(1)))


def constant_of(term: Term) -> Fraction | None:
    """The value of a constant number; None where it is not constant."""
    if isinstance(term.node, Literal) and isinstance(term.type, NumberType) and term.node.value is not None:
        return term.node.value * term.type.step
    return None


def common_step(one: Fraction, other: Fraction) -> Fraction:
    """The largest step such that both are whole multiples of it.

    >>> common_step(Fraction(1, 2), Fraction(1, 3))
    Fraction(1, 6)
    """
    return Fraction(gcd(one.numerator * other.denominator, other.numerator * one.denominator), one.denominator * other.denominator)


def on_step(term: Term, step: Fraction) -> Row:
    """The integer of a number on a finer step."""
    return times(number_node(term), Literal(int(number_step(term) / step)))


def number_node(term: Term) -> Row:
    """The integer of a number."""
    if not isinstance(term.type, NumberType) or isinstance(term.node, TextColumn):
        raise WrongType("a number is required here", remedy="use a column with bounds, or a constant")
    return term.node


def number_step(term: Term) -> Fraction:
    """The step of a number."""
    number_node(term)
    return term.type.step if isinstance(term.type, NumberType) else Fraction(1)


def add(left: Term, right: Term) -> Term:
    """left + right on the common step."""
    if constant_of(left) is not None and constant_of(right) is not None:
        return constant((constant_of(left) or 0) + (constant_of(right) or Fraction(0)))
    step = common_step(number_step(left), number_step(right))
    return Term(plus(on_step(left, step), on_step(right, step)), NumberType(step))


def negate(term: Term) -> Term:
    return Term(times(number_node(term), Literal(-1)), term.type)


def subtract(left: Term, right: Term) -> Term:
    return add(left, negate(right))


def multiply(left: Term, right: Term) -> Term:
    """left times right; a constant factor changes the step and not the integer."""
    for factor, other in ((constant_of(left), right), (constant_of(right), left)):
        if factor is not None:
            return _by_constant(other, factor)
    return Term(times(number_node(left), number_node(right)), NumberType(number_step(left) * number_step(right)))


def _by_constant(term: Term, factor: Fraction) -> Term:
    if factor == 0:
        return Term(where_known((number_node(term),), 0), NumberType(Fraction(1)))
    node = number_node(term) if factor > 0 else times(number_node(term), Literal(-1))
    return Term(node, NumberType(number_step(term) * abs(factor)))


def divide(left: Term, right: Term) -> Term:
    """left / right, NULL where right is 0. By a constant it is exact; by a column it is rounded down on a public step."""
    divisor = constant_of(right)
    if divisor is not None:
        return _by_constant(left, 1 / divisor) if divisor else Term(Literal(None), left.type)
    above, below = number_node(left), number_node(right)
    scale = FINEST_RATIO
    while scale > 1 and max(abs(above.low), abs(above.high)) * scale >= LARGEST // 4:
        scale //= 10
    corners = [Fraction(a * scale, b) for a in (above.low, above.high) for b in _nearest_to_zero(below)] or [Fraction(0)]
    low, high = min(corners).__floor__() - 1, max(corners).__floor__() + 1  # one more on each side for the rounding of a double
    checked(low, high)
    step = number_step(left) / (number_step(right) * scale)
    return Term(Ratio(above, below, scale, low, high, True), NumberType(step))


def _nearest_to_zero(row: Row) -> list[int]:
    ends = {row.low, row.high, -1 if row.low < 0 else row.low, 1 if row.high > 0 else row.high}
    return sorted(end for end in ends if end != 0 and row.low <= end <= row.high)


def floor(term: Term) -> Term:
    """The whole number at or below."""
    step = number_step(term)
    return Term(floor_by(times(number_node(term), Literal(step.numerator)), step.denominator), NumberType(Fraction(1)))


def ceil(term: Term) -> Term:
    return negate(floor(negate(term)))


def rounded(term: Term, decimals: int = 0) -> Term:
    """Rounded half up to a number of decimals."""
    unit = Fraction(1, 10) ** decimals
    shifted = add(_by_constant(term, 1 / unit), constant(Fraction(1, 2)))
    return _by_constant(floor(shifted), unit)


def modulo(left: Term, right: Term) -> Term:
    """left - right floor(left / right), for left >= 0 and a positive constant right."""
    divisor = constant_of(right)
    if divisor is None or divisor <= 0 or number_node(left).low < 0:
        raise WrongType("% requires a number that is not negative and a positive constant", remedy="shift the number up first")
    rest = subtract(left, _by_constant(floor(_by_constant(left, 1 / divisor)), divisor))
    return narrowed(rest, 0, int(divisor / number_step(rest)) - 1)  # in steps of the rest, which are finer than those of `left`


def narrowed(term: Term, low: int, high: int) -> Term:
    """The same expression with a tighter range that the caller has proved; a column's range is also how it is stored."""
    if isinstance(term.node, Literal | TextColumn | Column):
        return term
    return replace(term, node=replace(term.node, low=max(low, term.node.low), high=min(high, term.node.high)))


def absolute(term: Term) -> Term:
    node = number_node(term)
    if node.low >= 0:
        return term
    positive = choose([(Compare("<", node, Literal(0)), times(node, Literal(-1)))], node)
    low = 0 if node.high >= 0 else -node.high
    return narrowed(Term(positive, term.type), low, max(abs(node.low), abs(node.high)))


def sign(term: Term) -> Term:
    node = number_node(term)
    signs = [(Compare("<", node, Literal(0)), Literal(-1)), (Compare("<", Literal(0), node), Literal(1))]
    return Term(choose(signs, where_known((node,), 0)), NumberType(Fraction(1)), points=(-1, 0, 1))


def power(term: Term, exponent: int) -> Term:
    """term to a small whole power, by repeated multiplication; an even power is not negative."""
    result = term
    for _ in range(exponent - 1):
        result = multiply(result, term)
    even = exponent % 2 == 0 and not isinstance(result.node, Literal)
    return narrowed(result, 0, number_node(result).high) if even else result


def extreme(terms: Sequence[Term], greatest: bool) -> Term:
    """The least or the greatest of several numbers or dates, NULLs left out; halved, since each side is used several times.

    It is at least (or at most) what every argument that cannot be NULL is: GREATEST(x, 1) starts at 1.
    """
    if not terms[1:]:
        return terms[0]
    half = len(terms) // 2
    left, right, meaning = on_one_step(extreme(terms[:half], greatest), extreme(terms[half:], greatest))
    missing = [(IsNull(one), other) for one, other in ((left, right), (right, left)) if one.nullable]
    test = Compare("<=", right, left) if greatest else Compare("<=", left, right)
    keep = choose([*missing, (test, left)], right)
    never_null = [row for row in (left, right) if not row.nullable]
    low = max([keep.low, *(row.low for row in never_null)]) if greatest else keep.low
    high = keep.high if greatest else min([keep.high, *(row.high for row in never_null)])
    return Term(replace(keep, low=low, high=high, nullable=left.nullable and right.nullable), meaning)


def first_known(terms: Sequence[Term]) -> Term:
    """The first of several terms that is not NULL."""
    if not terms[1:]:
        return terms[0]
    chosen = cases([(Negation(IsNull(term.node)), term) for term in terms[:-1]], terms[-1])
    never_null = isinstance(chosen.node, Choose) and not all(term.nullable for term in terms)
    return replace(chosen, node=replace(chosen.node, nullable=False)) if never_null else chosen  # type: ignore[arg-type]


def width_bucket(term: Term, low: Fraction, high: Fraction, buckets: int) -> Term:
    """0 below `low`, 1..buckets in between, buckets + 1 from `high` on."""
    inside = add(floor(_by_constant(subtract(term, constant(low)), buckets / (high - low))), constant(Fraction(1)))
    kept = number_node(narrowed(inside, 1, buckets))
    outside: list[tuple[Condition, Row]] = [
        (compare("<", term, constant(low)), Literal(0)),
        (compare("<=", constant(high), term), Literal(buckets + 1)),
    ]
    return narrowed(Term(choose(outside, kept), NumberType(Fraction(1))), 0, buckets + 1)


# --- meeting of two terms ----------------------------------------------------------------------------------------------------


def on_one_step(left: Term, right: Term) -> tuple[Row, Row, Type]:
    """Two terms as integers of one meaning, so that they can be compared or chosen between."""
    one, other = left.type, right.type
    if left.node == Literal(None) or right.node == Literal(None):
        return _row(left), _row(right), other if left.node == Literal(None) else one
    if isinstance(one, NumberType) and isinstance(other, NumberType):
        step = common_step(one.step, other.step)
        return on_step(left, step), on_step(right, step), NumberType(step)
    if isinstance(one, CategoryType) and isinstance(other, CategoryType):
        places = {kind_and_value(value): code for code, value in enumerate(one.values)}
        for value in other.values:
            places.setdefault(kind_and_value(value), len(places))
        moved = lookup(right, [places[kind_and_value(value)] for value in other.values])
        added = tuple(value for value in other.values if places[kind_and_value(value)] >= len(one.values))
        return _row(left), moved, CategoryType((*one.values, *added))
    if type(one) is type(other) and isinstance(one, DateType | BooleanType):
        return _row(left), _row(right), one
    raise WrongType(f"{word(one)} and {word(other)} cannot be compared", remedy="compare like with like")


def word(meaning: Type) -> str:
    """The word for a type in a message."""
    return {"NumberType": "a number", "CategoryType": "a category", "DateType": "a date", "BooleanType": "a condition"}.get(
        type(meaning).__name__, "private text"
    )


def _row(term: Term) -> Row:
    if isinstance(term.node, TextColumn):
        raise WrongType("private text can be compared with constants only", remedy="declare the column's values in the catalog")
    return term.node


def lookup(term: Term, table: Sequence[int | None]) -> Row:
    """The integer table[k]."""
    node, real = _row(term), [entry for entry in table if entry is not None] or [0]
    if list(table) == list(range(len(table))):
        return node
    return Lookup(node, tuple(table), min(real), max(real), node.nullable or None in table)


def compare(operator: str, left: Term, right: Term) -> Condition:
    """left operator right, for numbers, dates and conditions; against a constant the border is moved to the grid."""
    if operator in (">", ">="):
        return compare("<" if operator == ">" else "<=", right, left)
    if operator == "<>":
        return Negation(compare("=", left, right))
    for constant_side, other in ((left, right), (right, left)):
        value = constant_of(constant_side)
        if value is not None and isinstance(other.type, NumberType):
            return _against_constant(operator, other, value, constant_side is left)
    one, two, _ = on_one_step(left, right)
    return Compare(operator, one, two)  # type: ignore[arg-type]


def _against_constant(operator: str, term: Term, value: Fraction, constant_is_left: bool) -> Condition:
    node, border = number_node(term), value / number_step(term)
    below, above = border.__floor__(), border.__ceil__()
    if operator == "=":
        return Compare("=", node, Literal(within(node, below) if below == above else node.high + 1))
    if constant_is_left:  # value < k step, or value <= k step
        return Compare("<=", Literal(within(node, below + 1 if operator == "<" else above)), node)
    return Compare("<=", node, Literal(within(node, above - 1 if operator == "<" else below)))


def within(node: Row, border: int) -> int:
    """A border moved next to the range, so that constants stay small; no comparison with a value in the range changes."""
    return min(max(border, node.low - 1), node.high + 1)


def among(term: Term, values: Iterable[Constant]) -> Condition:
    """A category is one of `values`, by equality of the public values."""
    if not isinstance(term.type, CategoryType):
        raise WrongType("a category is required here", remedy="use a column with declared values")
    wanted = {kind_and_value(value) for value in values}
    codes = [code for code, value in enumerate(term.type.values) if kind_and_value(value) in wanted]
    return Among(_row(term), tuple(codes)) if codes else never(term)


def kind_and_value(value: Constant) -> tuple[str, Constant]:
    """A public value that equals another only where both are texts, truths or numbers: in Python 1 is True.

    >>> kind_and_value(1) == kind_and_value(True), kind_and_value(1) == kind_and_value(Fraction(1))
    (False, True)
    """
    return ("truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number", value)


def never(term: Term) -> Condition:
    """False where the term has a value, unknown where it is NULL."""
    node = _row(term)
    return Compare("=", node, Literal(node.high + 1)) if node.nullable else Truth(False)


def holds(term: Term) -> Condition:
    """A condition held as a value: true where it is 1."""
    if isinstance(term.type, BooleanType):
        return Compare("=", _row(term), Literal(1))
    if isinstance(term.type, CategoryType) and set(term.type.values) <= {True, False}:
        return among(term, [True])
    raise WrongType(f"a condition is required here, not {word(term.type)}", remedy="compare it with something")


def cases(branches: Sequence[tuple[Condition, Term]], otherwise: Term) -> Term:
    """CASE: all results brought to one meaning; constants only give a finite list of points."""
    results = [term for _, term in branches] + [otherwise]
    typed_results = [term for term in results if term.node != Literal(None)] or results
    meaning = typed_results[0]
    for term in typed_results[1:]:
        _, node, kind = on_one_step(meaning, term)
        meaning = Term(node, kind)
    rows = [_as(term, meaning.type) for term in results]
    node = choose([(condition, row) for (condition, _), row in zip(branches, rows, strict=False)], rows[-1])
    fixed = all(isinstance(row, Literal) for row in rows)
    points = sorted({row.value for row in rows if isinstance(row, Literal) and row.value is not None}) if fixed else None
    return Term(node, meaning.type, tuple(points) if points else None)


def _as(term: Term, meaning: Type) -> Row:
    """A term's integer in a meaning that includes its own."""
    if isinstance(term.node, Literal) and term.node.value is None:
        return term.node
    if isinstance(meaning, NumberType):
        return on_step(term, meaning.step)
    if isinstance(meaning, CategoryType) and isinstance(term.type, CategoryType):
        places = {kind_and_value(value): code for code, value in enumerate(meaning.values)}
        codes = [places[kind_and_value(value)] for value in term.type.values]
        if isinstance(term.node, Literal):
            return Literal(codes[term.node.value or 0])
        return lookup(term, codes)
    return _row(term)


def all_of(conditions: Sequence[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else All(tuple(conditions))
