"""At most m of k items: one place of a padded list is sampled, and the item in it randomized. Proof in sets.md.

A list of fewer than m items is filled up with blanks, one kind for each place. With the k-ary inner randomizer the sampling pays:
the item sampled may be kept with a larger probability, since any one item was sampled with probability 1/m only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import grid
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.randomizer import Channel, Codes, Coins, LocalMechanism, ratio_within, read_codes, read_size
from tacit.publish.local.randomizers.unary import Unary

Inner = KAry | Unary | LocalHashing
By = Literal["k-ary", "unary", "hashing"]


@dataclass(frozen=True, init=False)
class Sets(LocalMechanism):
    """Reports on a set of at most `most` of `size` items through an inner randomizer of size + most categories.

    `hit` and `false_hit` are for the question whether the set holds an item, so that the usual estimate is the share of people
    whose set holds it; the shares do not sum to one. Padding and sampling: Qin et al. 2016.

    >>> answer = Sets(size=4, most=2, epsilon=1)
    >>> answer.inner, answer.channel.within(1)
    (KAry(size=6, epsilon=Fraction(..., ...)), True)
    >>> len(answer.randomize([{0, 3}, (), [2]]))
    3
    """

    exclusive: ClassVar[bool] = False  # a person may hold several items, so that shares do not sum to one

    size: int
    most: int
    epsilon: Fraction
    inner: Inner = field(repr=False)

    def __init__(self, size: int, most: int, epsilon: Number, by: By | None = None) -> None:
        items, budget = read_size(size, least=1), positive_budget(epsilon)
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= items:
            raise InvalidInput(
                f"most, the maximum number of items in a set, must be a whole number from 1 to {items}, not {most!r}"
            )
        object.__setattr__(self, "size", items)
        object.__setattr__(self, "most", most)
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "inner", _inner(items, most, budget, by))

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports an item of the set."""
        return self.false_hit + (self.inner.hit - self.inner.false_hit) / self.most

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another given category."""
        return self.inner.false_hit

    def randomize(self, values: Any) -> Any:
        """One report of the inner randomizer for each set; sets are given as collections of codes, or as rows of zeros and ones.

        A collection of codes alone is one set, and so is an empty one.
        """
        given = _as_collection(values)
        if _is_one_set(given):
            return self.inner.randomize(int(self._sample_place([given])[0]))
        return self.inner.randomize(self._sample_place(given))

    def derive(self, value: Iterable[int], coins: Coins) -> Any:
        """A number below `most` is the place; the item there (from least to largest) or the blank goes to the inner `derive`."""
        items = self._items(value)
        place = coins.below(self.most)
        return self.inner.derive(items[place] if place < len(items) else self.size + place, coins)

    def written(self, value: Any) -> str:
        """The codes from least to largest, with commas."""
        return ",".join(map(str, self._items(value)))

    @cached_property
    def channel(self) -> Channel:
        """Over all sets, as tuples of codes from least to largest."""
        sets = [items for count in range(self.most + 1) for items in combinations(range(self.size), count)]
        inner = self.inner.channel
        rows = {code: inner.row(code) for code in inner.inputs}
        place = {report: at for at, report in enumerate(inner.outputs)}
        return Channel.of(sets, inner.outputs, lambda items, report: self._mixture(items, rows, place[report]))

    def _mixture(self, items: Any, rows: dict[Any, Any], at: int) -> Fraction:
        padded = (*items, *range(self.size + len(items), self.size + self.most))
        return sum((rows[code][at] for code in padded), start=Fraction(0)) / self.most

    def input_of(self, value: Any) -> tuple[int, ...]:
        """The codes from least to largest."""
        return tuple(self._items(value))

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """How many reports support each item."""
        return self.inner.supports(reports)[: self.size]

    def _sample_place(self, values: Any) -> Codes:
        """The code of one place of each padded set, all places equally likely."""
        codes, counts = self._list_items(values)
        places = uniform_integers(self.most, counts.size)
        starts = np.cumsum(counts) - counts
        real = places < counts
        return np.where(real, np.append(codes, 0)[np.where(real, starts + places, 0)], self.size + places)

    def _list_items(self, values: Any) -> tuple[Codes, Codes]:
        """The items of all sets one after the other, and how many each set has."""
        if isinstance(values, np.ndarray) and values.ndim == 2:
            held = grid.read_array(values) != 0
            counts = np.count_nonzero(held, axis=1)
            if values.shape[1] != self.size or (held != values).any() or (counts > self.most).any():
                raise InvalidValue(f"every row of sets must be {self.size} zeros and ones, with at most {self.most} ones")
            return np.flatnonzero(held) % self.size, counts
        sets = [self._items(each) for each in values]
        codes = np.array([code for items in sets for code in items], dtype=np.int64)
        return codes, np.array([len(items) for items in sets], dtype=np.int64)

    def _items(self, value: Iterable[int]) -> list[int]:
        given = list(_as_collection(value))
        if any(isinstance(code, bool | np.bool_) for code in given):
            raise InvalidValue("a set must be a collection of item codes; give rows of zeros and ones as a matrix")
        codes = sorted(set(read_codes(given, self.size)[0].tolist()))
        if len(codes) > self.most:
            raise InvalidValue(f"a set must contain at most {self.most} items")
        return codes


def _as_collection(values: Any) -> Any:
    """The same value, or a list of an iterator's items, which can be read only once."""
    if hasattr(values, "__array__"):
        grid.read_array(values)
    if not hasattr(values, "__iter__") or (isinstance(values, np.ndarray) and not values.ndim):
        raise InvalidValue("a set must be a collection of item codes, such as {0, 3}")
    return list(values) if isinstance(values, Iterator) else values


def _is_one_set(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and values.dtype != object
    return isinstance(values, set | frozenset) or all(isinstance(code, int | np.integer) for code in values)


def _inner(size: int, most: int, epsilon: Fraction, by: By | None) -> Inner:
    """The inner randomizer that is asked for, else the one of smallest variance at f = 0."""
    ratio, padded = ratio_within(epsilon), size + most
    makers: dict[str, Callable[[], Inner]] = {
        "k-ary": lambda: KAry.with_ratio(padded, most * (ratio - 1) + 1),
        "unary": lambda: Unary(padded, epsilon),
        "hashing": lambda: LocalHashing(padded, epsilon),
    }
    if by is not None and by not in makers:
        raise InvalidInput(f"by must be one of {', '.join(makers)}, not {by!r}", argument="by")
    return makers[by]() if by else min((makers["k-ary"](), makers["unary"]()), key=_variance)


def _variance(inner: Inner) -> Fraction:
    return inner.false_hit * (1 - inner.false_hit) / (inner.hit - inner.false_hit) ** 2
