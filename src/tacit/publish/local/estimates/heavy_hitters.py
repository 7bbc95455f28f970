"""The frequent ones among very many values: a tree of prefixes, with one report per person. Proof in heavy_hitters.md.

A value is a code below `size`, written with a fixed number of digits in base g, where g is the number of cells of the local hash.
Every person draws a level of the tree, each as likely as the others, and reports through `LocalHashing` the digits of their
own value down to that level: one report under epsilon in total. The collector walks down the tree and keeps, level by level, the
prefixes whose rate of support reaches a public threshold; children of other prefixes are never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import choice
from tacit.privacy.loss import CHANGE_ONE, Pure, positive_budget
from tacit.privacy.rounding import Number, as_text, exact, float_up, log_up
from tacit.publish.local.estimates.estimate import shares
from tacit.publish.local.estimates.intervals import Setting, deviation, divergence, read_miss, share_ends
from tacit.publish.local.estimates.results import Rows, table
from tacit.publish.local.randomizers.hashing import LocalHashing, digits_of, field_of, linear_hash, tally
from tacit.publish.local.randomizers.randomizer import read_codes, read_reports, read_size, report_array

Codes = NDArray[np.int64]
MOST_CHILDREN = 1 << 16  # of one prefix that is kept; fewer levels mean more people at each
LARGEST_DOMAIN = 1 << 36
CLOSE = Fraction(1, 10**4)  # how near the least share is found


@dataclass(frozen=True, init=False)
class PrefixTree:
    """The client side: a person's value is reported once, at a level drawn at random, under `epsilon`.

    >>> tree = PrefixTree(size=2**24, epsilon=2)
    >>> tree.cells, tree.cuts
    (8, (5, 8))
    >>> levels, reports = tree.randomize([5, 5, 77])
    >>> len(levels), set(levels.tolist()) <= {0, 1}
    (3, True)
    """

    size: int
    epsilon: Fraction

    def __init__(self, size: int, epsilon: Number) -> None:
        if read_size(size) > LARGEST_DOMAIN:
            raise InvalidInput(f"a prefix tree supports at most 2^36 values, not {size}; truncate long words, or hash them to 2^36")
        object.__setattr__(self, "size", int(size))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))

    @cached_property
    def cells(self) -> int:
        """The base of the digits."""
        return LocalHashing(2, self.epsilon).cells

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """How many digits are reported at each level; the last is all of them."""
        digits = digits_of(self.size, self.cells)
        step = digits_of(MOST_CHILDREN + 1, self.cells) - 1
        return (*range(step, digits, step), digits) if digits > step else (digits,)

    def oracle(self, level: int) -> LocalHashing:
        """The randomizer of a level."""
        return LocalHashing(self.prefixes(level), self.epsilon, self.cells)

    def prefixes(self, level: int) -> int:
        """How many prefixes there are at a level."""
        return int(self.prefix(np.array([self.size - 1]), level)[0]) + 1

    @property
    def loss(self) -> Pure:
        """One report each, so epsilon: the level is drawn without looking at the value."""
        return Pure(self.epsilon, CHANGE_ONE)

    def prefix(self, values: Codes, level: int) -> Codes:
        """The leading digits that a level asks for."""
        below: int = self.cells ** (self.cuts[-1] - self.cuts[level])
        return values // below

    def randomize(self, values: Any) -> tuple[Codes, Codes]:
        """For each value a level and a report of its prefix there."""
        codes, _ = read_codes(np.atleast_1d(values), self.size)
        levels = choice.uniform_integers(len(self.cuts), codes.size)
        reports = np.zeros(codes.size, dtype=np.int64)
        for level in range(len(self.cuts)):
            here = levels == level
            reports[here] = self.oracle(level).randomize(self.prefix(codes[here], level))
        return levels, reports


@dataclass(frozen=True, slots=True)
class Search:
    """The collector's promise, from public facts alone: the share that is listed for certain, and the threshold of every level.

    With probability `confidence` or more all of this holds together: every value with a share of at least `share` is listed, no
    value with a share below half of it is, and the true share of every value that is listed lies in its interval.
    """

    share: Fraction
    confidence: Fraction
    thresholds: tuple[float, ...]
    people: tuple[int, ...]


def search(tree: PrefixTree, people: Sequence[int], share: Number | None = None, confidence: Number = 0.95) -> Search:
    """The search for values of at least `share` with `people[level]` reports at each level; without a share, for the least one that
    can be promised. A smaller share is refused, and the message says which one is possible.

    >>> tree = PrefixTree(size=2**24, epsilon=2)
    >>> float(search(tree, people=[500_000, 500_000]).share)
    0.026554107666015625
    """
    miss = read_miss(confidence)
    if len(people) != len(tree.cuts):
        raise InvalidInput(f"the tree has {len(tree.cuts)} levels; give the number of reports per level")
    if not people or min(people) < 1 or not _separates(tree, people, Fraction(1), miss):
        raise InvalidInput("too few people to guarantee any share; use more people or a larger epsilon")
    wanted = _least_share(tree, people, miss) if share is None else exact(share, "share")
    if not 0 < wanted <= 1 or not _separates(tree, people, wanted, miss):
        least = as_text(_least_share(tree, people, miss))
        raise InvalidInput(f"with this number of people, the share must be from {least} to 1, not {as_text(wanted)}")
    thresholds = tuple(_threshold(tree, level, n, wanted, miss) for level, n in enumerate(people))
    return Search(wanted, exact(confidence, "confidence"), thresholds, tuple(people))


def _rate(oracle: LocalHashing, share: Fraction) -> Fraction:
    return oracle.false_hit + (oracle.hit - oracle.false_hit) * share


def _threshold(tree: PrefixTree, level: int, people: int, share: Fraction, miss: Fraction) -> float:
    """The rate that a prefix of this share fails to reach with a probability of miss / (4 levels values) at most."""
    chance = miss / (4 * len(tree.cuts) * int(1 / share))
    rate = _rate(tree.oracle(level), share)
    return float(rate) - deviation(float(1 - rate), float_up(log_up(1 / chance) / people))


def _separates(tree: PrefixTree, people: Sequence[int], share: Fraction, miss: Fraction) -> bool:
    """Whether at every level no prefix of half the share reaches the threshold, except with probability miss / 4 over all."""
    for level, count in enumerate(people):
        oracle = tree.oracle(level)
        threshold, half = _threshold(tree, level, count, share, miss), float(_rate(oracle, share / 2))
        chance = miss / (4 * len(people) * oracle.size)
        allowed = float_up(log_up(1 / chance) / count) * (1 + 1e-9)  # upward: the divergence is computed in floats
        if threshold <= half or float(divergence(np.array([threshold]), np.array([half]))[0]) < allowed:
            return False
    return True


def _least_share(tree: PrefixTree, people: Sequence[int], miss: Fraction) -> Fraction:
    """The least share, to one in ten thousand, that can be distinguished from half of it at every level."""
    low, high = Fraction(0), Fraction(1)
    while high - low > CLOSE * high:
        middle = ((low + high) / 2).limit_denominator(10**9)
        low, high = (low, middle) if _separates(tree, people, middle, miss) else (middle, high)
    return high


@dataclass(frozen=True, slots=True, eq=False)
class HeavyHitters(Rows):
    """The listed values, the most frequent first, with their shares and intervals."""

    columns: ClassVar = ("code", "share", "low", "high")
    codes: Codes
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    promised: Search

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each value."""
        columns = zip(self.codes, self.values, self.low, self.high, strict=True)
        return [{"code": int(c), "share": float(v), "low": float(a), "high": float(b)} for c, v, a, b in columns]

    def __str__(self) -> str:
        rows = [(str(row["code"]), *(f"{row[key]:.4f}" for key in ("share", "low", "high"))) for row in self.to_rows()]
        share, sure = as_text(self.promised.share), as_text(100 * self.promised.confidence)
        promise = f"{sure} %: all values of a share from {share} on are here, and none below half of that"
        return f"{table(self.columns, rows)}\n{sum(self.promised.people)} people; {promise}"


def heavy_hitters(
    tree: PrefixTree, levels: Any, reports: Any, share: Number | None = None, confidence: Number = 0.95
) -> HeavyHitters:
    """The frequent values, from the level and the report of each person, with the promise of `Search`."""
    drawn, given = report_array(levels), report_array(reports)
    if drawn.ndim != 1 or drawn.shape != given.shape or not np.isin(drawn, range(len(tree.cuts))).all():
        raise InvalidValue(f"every person requires one report and its level, from 0 to {len(tree.cuts) - 1}")
    batches = [_read(tree, level, given[drawn == level]) for level in range(len(tree.cuts))]
    promised = search(tree, [batch.size for batch in batches], share, confidence)
    kept, counts = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for level, batch in enumerate(batches):
        kept, counts = _children(tree, level, batch, kept, promised.thresholds[level])
    return _list_values(tree, kept, counts, promised)


def _read(tree: PrefixTree, level: int, reports: Any) -> Codes:
    """The reports of a level; raises for a report that its randomizer cannot make, since it would support unknown values."""
    oracle = tree.oracle(level)
    return read_reports(reports, oracle.hashes * oracle.cells)


def _children(tree: PrefixTree, level: int, reports: Codes, kept: Codes, threshold: float) -> tuple[Codes, Codes]:
    """The children of the kept prefixes that reach the threshold, with how many reports support each."""
    oracle, limit = tree.oracle(level), tree.prefixes(level)
    step = tree.cuts[level] - (tree.cuts[level - 1] if level else 0)
    reached = []
    for parent in kept.tolist():
        counts = _supports_of_children(oracle, reports, parent, step)
        first = parent * tree.cells**step
        here = np.flatnonzero(counts[: max(0, limit - first)] >= threshold * reports.size)
        reached.append((first + here, counts[here]))
    codes, counts = (np.concatenate([pair[at] for pair in reached] or [np.zeros(0, dtype=np.int64)]) for at in (0, 1))
    return codes, counts


def _supports_of_children(oracle: LocalHashing, reports: Codes, parent: int, step: int) -> Codes:
    """How many reports support each child: the hash is linear, so the parent's part is taken off and the last digits tallied."""
    cells, order = oracle.cells, oracle.cells**step
    drawn, cell = np.divmod(reports, cells)
    low, high = drawn % order, drawn // order
    part = linear_hash(high, parent, cells, max(oracle.digits - step, 0)) if parent else np.zeros(drawn.shape, dtype=np.int64)
    rest = _minus(cell, part, cells)
    counts = np.bincount(low * cells + rest, minlength=order * cells)
    return tally(counts.reshape(order, cells), step)


def _minus(one: Codes, other: Codes, cells: int) -> Codes:
    """The difference of two elements of the field."""
    sums = field_of(cells).sums
    return np.asarray(sums[one, np.argmax(sums == 0, axis=1)[other]], dtype=np.int64)


def _list_values(tree: PrefixTree, codes: Codes, counts: Codes, promised: Search) -> HeavyHitters:
    """The values of the last level with shares and intervals that hold for every value that there is."""
    oracle, people = tree.oracle(len(tree.cuts) - 1), promised.people[-1]
    miss = (1 - promised.confidence) / (2 * tree.size)
    setting = Setting(oracle.hit, oracle.false_hit, people, miss, sampled=True)
    low, high = share_ends(setting, "chernoff", counts)
    values = shares(oracle, counts, people)
    order = np.argsort(-values, kind="stable")
    return HeavyHitters(codes[order], values[order], low[order], high[order], promised)


# --- short words as codes, so that the frequent ones among all possible words can be found -----------------------------------


LETTERS = "abcdefghijklmnopqrstuvwxyz"
BLANK = "␣"


@dataclass(frozen=True, slots=True)
class Words:
    """All words of up to `length` letters of an alphabet; a code is the word in base letters + 1, filled up with blanks.

    Codes with a blank between letters are of no word; a false report may claim one, and it is shown with the blank.

    The first letters are the leading digits, so that words with a common beginning lie together in a tree of prefixes.

    >>> words = Words(length=7)
    >>> words.size, words.code("tacit"), words.word(words.code("tacit"))
    (10460353203, 7764544737, 'tacit')
    """

    length: int
    alphabet: str = LETTERS

    def __post_init__(self) -> None:
        whole = isinstance(self.length, int) and not isinstance(self.length, bool) and self.length >= 1
        if not whole or len(set(self.alphabet)) != len(self.alphabet) or not self.alphabet or BLANK in self.alphabet:
            raise InvalidInput(f"words require a length of at least 1 and an alphabet of distinct letters other than {BLANK}")

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int((len(self.alphabet) + 1) ** self.length)

    def code(self, word: str) -> int:
        """The code of a word; longer ones count as their beginning, and a letter that is not in the alphabet is refused."""
        number = 0
        for letter in word[: self.length]:
            place = self.alphabet.find(letter)
            if place < 0:
                raise InvalidValue("the word contains a letter that is not in the alphabet")
            number = number * (len(self.alphabet) + 1) + place + 1
        return int(number * (len(self.alphabet) + 1) ** max(0, self.length - len(word)))

    def word(self, code: int) -> str:
        """The word of a code."""
        if not 0 <= code < self.size:
            raise InvalidInput(f"the code of a word must be from 0 to {self.size - 1}")
        letters = []
        for _ in range(self.length):
            code, place = divmod(code, len(self.alphabet) + 1)
            letters.append(self.alphabet[place - 1] if place else BLANK)
        return "".join(reversed(letters)).rstrip(BLANK)
