"""SUM (and AVG) over real values: the exact simulatable auditor, with its linear algebra (sums.md).

SUM (and AVG) over real values: the exact simulatable auditor. Claim and proof are in sums.md.

A value is determined if and only if its unit vector is a rational combination of the answered questions, whatever the answers were.
The combinations are computed modulo a random prime. An unlucky prime can only raise a false alarm: it never hides a combination.
So "answer" needs no second look; "refuse" and "this follows already" are confirmed in whole numbers before anything rests on them.

People who were always asked about together are one column of the table: a million rows with a few attributes are a few columns.

Linear algebra modulo a prime: the row space of the answered questions, in reduced echelon form. See sums.md.

Residues are held as doubles, which are exact here: the prime is below 2^26, so that a product is below 2^52, and sums stay below
2^53. This is the arithmetic of exact linear algebra libraries, and several times faster than integer remainders.

From a solution modulo a prime to the exact one: is a vector a rational combination of the answered questions? See sums.md.

The coefficients c of  c B = w  (B the columns of the pivots, w the vector there) are found to more and more digits in base p, as
Dixon 1982 does, and read as fractions of one denominator (Wang 1981). They are then checked in whole numbers on every column.
Yes is proved by the check. No is proved when the digits suffice for the largest fractions that determinants of zeros and ones
allow (Hadamard): the one solution at the pivots is then known, and fails elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil, gcd, isqrt, log2

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.rounding import counted
from tacit.publish.audited.auditor import check_aggregate
from tacit.publish.audited.question import Decision, Number, Question, Rows, questions_text

Residues = NDArray[np.float64]
Columns = NDArray[np.int64]
Bits = NDArray[np.bool_]
LARGEST_PRIME = 2**26
BLOCK = 1 << 16  # residues that are reduced at a time, so that they stay in the cache
PROBES = 16  # columns compared before whole rows are
MOST_ROWS = 8192  # so that sums of rows * rows * prime stay below 2^53


def random_prime() -> int:
    """A random prime between 2^25 and 2^26: about 1.9 million of them, so that no history is unlucky but by accident.

    >>> prime = random_prime()
    >>> 2**25 < prime < 2**26 and pow(2, prime - 1, prime) == 1
    True
    """
    while True:
        number = int(uniform_integers(LARGEST_PRIME // 4, 1)[0]) * 2 + LARGEST_PRIME // 2 + 1
        if all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2)):
            return number


def remainder(numbers: Residues, prime: int) -> Residues:
    """The numbers modulo the prime, from 0; exact for whole numbers of size up to 2^52 (sums.md).

    >>> remainder(np.array([-1.0, 7.0, 2.0**52]), 7)
    array([6., 0., 2.])
    """
    reduced: Residues = numbers - prime * np.floor(numbers / prime)
    return reduced


def product(vector: Residues, table: Residues) -> Residues:
    """The vector times the table, in one thread: threads of a linear algebra library wait for one another on a busy machine."""
    made: Residues = np.einsum("i,ij->j", vector, table)
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Echelon:
    """Rows that are independent modulo the prime: as asked, reduced, and how the reduced ones are made of the asked ones.

    `recipe @ asked = reduced` modulo the prime, and the columns `pivots` of `reduced` are those of the identity.
    """

    prime: int
    asked: Bits
    reduced: Residues
    recipe: Residues
    pivots: Columns

    @property
    def rank(self) -> int:
        """How many rows are independent."""
        return len(self.pivots)

    def residue(self, vector: Residues) -> Residues:
        """The vector minus the combination of rows that agrees with it at the pivots: zero if it is in the row space."""
        return remainder(vector - product(vector[self.pivots], self.reduced), self.prime)

    def with_one_more(self, asked: Bits, residue: Residues) -> Echelon:
        """The echelon with one more row, whose residue is not zero."""
        pivot = int(np.flatnonzero(residue)[0])
        inverse = pow(int(residue[pivot]), -1, self.prime)
        steps = product(asked[self.pivots].astype(np.float64), self.recipe)
        row = remainder(residue * inverse, self.prime)
        made = remainder(np.append(-remainder(steps, self.prime), 1.0) * inverse, self.prime)
        reduced = _eliminate(self.reduced, self.reduced[:, pivot], row, self.prime)
        wider = np.concatenate([self.recipe, np.zeros((self.rank, 1))], axis=1)
        recipe = _eliminate(wider, self.reduced[:, pivot], made, self.prime)
        return Echelon(self.prime, np.concatenate([self.asked, asked[None]]), reduced, recipe, np.append(self.pivots, pivot))

    def unit(self, asked: Bits, residue: Residues, column: int) -> Residues:
        """Coefficients, modulo the prime, of the unit vector of a column over the rows and one more, which `multiples` found."""
        pivot = int(np.flatnonzero(residue)[0])
        inverse = pow(int(residue[pivot]), -1, self.prime)
        steps = remainder(product(asked[self.pivots].astype(np.float64), self.recipe), self.prime)
        at = np.flatnonzero(self.pivots == column)
        if at.size == 0:
            return remainder(np.append(-steps, 1.0) * inverse, self.prime)
        share = float(int(self.reduced[at[0], pivot]) * inverse % self.prime)
        return remainder(np.append(self.recipe[at[0]] + remainder(share * steps, self.prime), -share), self.prime)

    def split(self, columns: Columns) -> Echelon:
        """The same questions where each of the columns stands for two groups of people, that were always asked together."""
        if not columns.size:
            return self
        asked = np.concatenate([self.asked, self.asked[:, columns]], axis=1)
        reduced = np.concatenate([self.reduced, self.reduced[:, columns]], axis=1)
        return Echelon(self.prime, asked, reduced, self.recipe, self.pivots)

    def multiples(self, residue: Residues) -> NDArray[np.int64]:
        """The rows that are a multiple of the residue but at their own pivot: with it in the space, a unit vector is."""
        pivot = int(np.flatnonzero(residue)[0])
        direction = remainder(residue * pow(int(residue[pivot]), -1, self.prime), self.prime)
        rows = np.flatnonzero(self.reduced[:, pivot])
        support = np.flatnonzero(direction)
        for columns in (support[:: max(1, support.size // PROBES)], np.arange(residue.size)):
            table = self.reduced[np.ix_(rows, columns)]
            table = np.where(columns[None, :] == self.pivots[rows, None], 0.0, table)
            expected = remainder(self.reduced[rows, pivot][:, None] * direction[columns], self.prime)
            rows = rows[(table == expected).all(axis=1)]
        return rows


def empty(columns: int, prime: int) -> Echelon:
    """No rows yet."""
    shape = (0, columns)
    return Echelon(prime, np.zeros(shape, dtype=np.bool_), np.zeros(shape), np.zeros((0, 0)), np.empty(0, dtype=np.int64))


def _eliminate(table: Residues, factors: Residues, row: Residues, prime: int) -> Residues:
    """The table with `row` below it, and minus its multiples, block by block."""
    result = np.empty((len(table) + 1, row.size))
    result[:-1], result[-1] = table, row
    touched = np.flatnonzero(factors)
    height = max(1, BLOCK // max(1, row.size))
    for start in range(0, touched.size, height):
        rows = touched[start : start + height]
        block = result[rows]
        block -= factors[rows, None] * row
        quotients = block / prime
        np.floor(quotients, out=quotients)
        quotients *= prime
        block -= quotients
        result[rows] = block
    return result


# --- from a solution modulo a prime to the exact one -------------------------------------------------------------------------


SMALL = 2**31  # numerators below this are checked in machine integers


@dataclass(frozen=True, slots=True)
class Combination:
    """The vector times `denominator` is the sum of `numerators[i]` times question i."""

    numerators: tuple[int, ...]
    denominator: int


def combination(echelon: Echelon, vector: Bits) -> Combination | None:
    """The vector as an exact rational combination of the rows; None if it is not one, which is proved too."""
    rest, most = vector[echelon.pivots].astype(np.float64), enough_digits(echelon.rank, echelon.prime)
    digits = [remainder(product(rest, echelon.recipe), echelon.prime)]
    if (solution := read(digits, echelon.prime, echelon.asked, vector)) or most == 1:
        return solution
    square = echelon.asked[:, echelon.pivots].astype(np.float64)
    while len(digits) < most:
        for _ in range(min(len(digits), most - len(digits))):
            rest = (rest - product(digits[-1], square)) / echelon.prime  # divisible, so that the quotient is exact
            digits.append(remainder(product(rest, echelon.recipe), echelon.prime))
        if solution := read(digits, echelon.prime, echelon.asked, vector):
            return solution
    return None


def read(digits: list[Residues], prime: int, asked: Bits, vector: Bits) -> Combination | None:
    """The coefficients with these digits in base p, if they are fractions whose combination of the rows is the vector; else
    None.
    """
    fractions = _fractions(_whole(digits, prime), prime ** len(digits))
    return fractions if fractions is not None and _holds(fractions, asked, vector.astype(np.int64)) else None


def enough_digits(rank: int, prime: int) -> int:
    """Enough digits to distinguish every solution: numerators and denominators are determinants of zeros and ones.

    >>> enough_digits(2, 5), enough_digits(1000, 2**25)
    (2, 320)
    """
    bits = (rank + 1) / 2 * log2(rank + 1) - rank  # |det| of a 0/1 matrix is at most (k+1)^((k+1)/2) / 2^k
    return ceil((2 * max(1.0, bits) + 2) / log2(prime))


def _whole(digits: list[Residues], prime: int) -> list[int]:
    """The numbers with these digits, the least significant first."""
    total = [0] * len(digits[0])
    for digit in reversed(digits):
        total = [number * prime + int(more) for number, more in zip(total, digit.tolist(), strict=True)]
    return total


def _fractions(residues: list[int], modulus: int) -> Combination | None:
    """The residues as fractions of one small denominator, with small numerators; None if no such fractions exist."""
    limit, denominator, numerators = isqrt((modulus - 1) // 2), 1, list[int]()
    for residue in residues:
        reduced = _center(residue * denominator, modulus)
        if abs(reduced) > limit:
            factor = _denominator(residue * denominator % modulus, modulus, limit)
            if factor is None or denominator * factor > limit:
                return None
            denominator, numerators = denominator * factor, [factor * number for number in numerators]
            reduced = _center(residue * denominator, modulus)
        numerators.append(reduced)
    common = gcd(denominator, *numerators)
    return Combination(tuple(number // common for number in numerators), denominator // common)


def _center(number: int, modulus: int) -> int:
    residue = number % modulus
    return residue - modulus if 2 * residue > modulus else residue


def _denominator(residue: int, modulus: int, limit: int) -> int | None:
    """The least denominator of a fraction with this residue and a numerator within the limit, by Euclid's algorithm."""
    (old, new), (old_factor, factor) = (modulus, residue), (0, 1)
    while new > limit:
        quotient = old // new
        old, new = new, old - quotient * new
        old_factor, factor = factor, old_factor - quotient * factor
    return abs(factor) if 0 < abs(factor) <= limit else None


def _holds(solution: Combination, asked: Bits, target: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> bool:
    """Whether the combination is the target at every column, in whole numbers."""
    used = [row for row, number in enumerate(solution.numerators) if number]
    kind = np.int64 if max(map(abs, solution.numerators), default=0) < SMALL else object
    numerators = np.array([solution.numerators[row] for row in used], dtype=kind)
    made = numerators @ asked[used].astype(kind) if used else np.zeros(target.size, dtype=np.int64)
    return bool((made == target.astype(kind) * solution.denominator).all())


# --- sUM (and AVG) over real values ------------------------------------------------------------------------------------------


MOST_CELLS = 60_000_000  # of the table: half a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The state of answers to SUM: people in groups that were always asked together, and the space of the questions."""

    groups: NDArray[np.int64]  # the group of each row
    sizes: NDArray[np.int64]
    echelon: Echelon
    numbers: tuple[int, ...]  # which answered question each line of the echelon is
    answers: int

    def row(self, group: int) -> int:
        """The first row of a group."""
        return int(np.flatnonzero(self.groups == group)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """The place of a question in the history: the state with groups split by the question, and the combinations that it allows."""

    state: Sums
    vector: Bits
    residue: Residues
    follows: Combination | None = None
    unit: tuple[int, Combination] | None = None  # a group of one person, and how the question would give it away
    unlucky: bool = False


@dataclass(frozen=True, slots=True)
class SumAuditor:
    """Refuses a SUM that would determine a person's value.

    >>> from tacit.publish.audited.question import question
    >>> auditor = SumAuditor()
    >>> known = auditor.learn(auditor.begin(3), question("sum", [0, 1]), 30)
    >>> known = auditor.learn(known, question("sum", [1, 2]), 50)
    >>> print(auditor.decide(known, question("sum", [0, 2])).reason)
    together with questions 1, 2 it would give row 1
    """

    name = "sum"
    aggregates = frozenset({"sum"})
    facts = "any real values"

    def begin(self, people: int) -> Sums:
        """The state before any answer."""
        return Sums(np.zeros(people, dtype=np.int64), np.array([people]), empty(1, random_prime()), (), 0)

    def decide(self, state: Sums, question: Question) -> Decision:
        """Whether the question is answered, and why, from the history alone."""
        finding = find(state, check_aggregate(self, question).members)
        if finding.follows is not None:
            used = questions_text(_questions_used(finding.state, finding.follows.numerators))
            return Decision(True, f"it follows from {used}", known=True)
        if finding.unit is not None:
            return Decision(False, _would_give(finding.state, *finding.unit))
        echelon = finding.state.echelon
        if echelon.rank >= MOST_ROWS or (echelon.rank + 1) * finding.vector.size > MOST_CELLS:
            return Decision(False, f"the history holds {echelon.rank:,} independent sums, which is the limit")
        return Decision(True, "no value is a combination of the sums")

    def learn(self, state: Sums, question: Question, answer: Number) -> Sums:
        """The state after one more sum; the answer itself does not matter."""
        finding = find(state, question.members)
        after = replace(finding.state, answers=state.answers + 1)
        if finding.follows is not None:
            return replace(state, answers=state.answers + 1)
        if finding.unlucky:
            asked = np.concatenate([after.echelon.asked, finding.vector[None]])
            return replace(after, echelon=_echelon_of(asked, finding.vector.size), numbers=(*state.numbers, state.answers))
        return replace(
            after,
            echelon=after.echelon.with_one_more(finding.vector, finding.residue),
            numbers=(*state.numbers, state.answers),
        )

    def summary(self, state: Sums) -> str:
        """The number of answers, and of independent ones among them, in words."""
        people, rank = len(state.groups), state.echelon.rank
        return (
            f"{counted(state.answers, 'answer')}; {rank:,} of them independent, of at most {people - 1:,} that can ever be answered"
        )


def find(state: Sums, members: Rows) -> Finding:
    """Whether the question follows from the history, and whose value it would disclose; exact, whatever the prime."""
    state, vector = _split(state, members)
    residue = state.echelon.residue(vector.astype(np.float64))
    if not residue.any():
        if follows := combination(state.echelon, vector):
            return Finding(state, vector, residue, follows)
        state = replace(state, echelon=_echelon_of(state.echelon.asked, vector.size))  # the prime was unlucky
        return find(state, members)
    alarms = _alarms(state, residue)
    for group in alarms:
        if solution := _unit_combination(state.echelon, vector, residue, group):
            return Finding(state, vector, residue, unit=(group, solution))
    return Finding(state, vector, residue, unlucky=bool(alarms))


def _unit_combination(echelon: Echelon, vector: Bits, residue: Residues, group: int) -> Combination | None:
    """The unit vector of a group as a combination of the questions and the new one; None if it is not one."""
    unit, asked = np.arange(vector.size) == group, np.concatenate([echelon.asked, vector[None]])
    small = read([echelon.unit(vector, residue, group)], echelon.prime, asked, unit)  # so it is nearly always
    return small or combination(echelon.with_one_more(vector, residue), unit)


def _split(state: Sums, members: Rows) -> tuple[Sums, Bits]:
    """The state with groups split so that the members are whole groups, and the question as zeros and ones over them."""
    asked = np.bincount(state.groups[members], minlength=state.sizes.size)
    parted = np.flatnonzero((asked > 0) & (asked < state.sizes))
    vector = np.concatenate([asked == state.sizes, np.ones(parted.size, dtype=np.bool_)])
    if not parted.size:
        return state, vector
    names = np.arange(state.sizes.size)
    names[parted] = state.sizes.size + np.arange(parted.size)
    groups = state.groups.copy()
    groups[members] = names[groups[members]]
    sizes = np.bincount(groups, minlength=vector.size)
    return replace(state, groups=groups, sizes=sizes, echelon=state.echelon.split(parted)), vector


def _alarms(state: Sums, residue: Residues) -> list[int]:
    """Groups of one person whose unit vector the question would bring into the space, modulo the prime."""
    alone = np.flatnonzero(residue)
    groups = state.echelon.pivots[state.echelon.multiples(residue)].tolist() + alone.tolist() * (alone.size == 1)
    return [group for group in groups if state.sizes[group] == 1]


def _echelon_of(asked: Bits, columns: int) -> Echelon:
    """The echelon of independent questions, modulo a prime that keeps them so."""
    while True:
        echelon = empty(columns, random_prime())
        for vector in asked:
            residue = echelon.residue(vector.astype(np.float64))
            if not residue.any():
                break
            echelon = echelon.with_one_more(vector, residue)
        else:
            return echelon


def _questions_used(state: Sums, numerators: Iterable[int]) -> list[int]:
    """The numbers of the questions that a combination uses; the new question, which comes last, has none yet."""
    return [number for number, factor in zip(state.numbers, numerators, strict=False) if factor]


def _would_give(state: Sums, group: int, solution: Combination) -> str:
    row, used = state.row(group) + 1, _questions_used(state, solution.numerators)
    if not used:
        return f"the answer would be the value of row {row}"
    return f"together with {questions_text(used)} it would give row {row}"
