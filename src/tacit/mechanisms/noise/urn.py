"""Polya's urn over a large and mostly empty map: exact, and with a cost that does not grow with the map. Proof in urn.md.

An urn holds the real workers of a destination and `noise` fake workers on every kept block. A draw copies one of those, or one of
the draws before it, all shares alike: the counts of the draws have the Dirichlet-multinomial law. Blocks with a worker are always
kept; an empty block is kept with the chance of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue, NotAllowed
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.uniform import distinct_integers, uniform_below
from tacit.privacy.rounding import Number, as_text, exact

ONE = Fraction(1)
WORD = 64
MOST_WORKERS = 2.0**62
TOGETHER = 1 << 20  # draws picked at once: memory does not grow with those that follow
Blocks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BlockClass:
    """A number of blocks of a public map; each keeps its fake workers with chance `keep` where no worker lives in it.

    >>> BlockClass(8_000_000, "0.0378").keep
    Fraction(189, 5000)
    >>> BlockClass(10, 0)
    Traceback (most recent call last):
    ...
    tacit.errors.NotAllowed: keep must be above 0: with noise on occupied blocks only, a synthetic worker in a \
block proves that a real one lives there; give every empty block a keep probability above 0
    """

    blocks: int
    keep: Fraction = ONE

    def __init__(self, blocks: int, keep: Number = ONE) -> None:
        chance = exact(keep, "keep")
        if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 0:
            raise InvalidInput(f"blocks must be a whole number of at least 0, not {blocks!r}", argument="blocks")
        if chance == 0:
            raise NotAllowed(
                "keep must be above 0: with noise on occupied blocks only, "
                "a synthetic worker in a block proves that a real one lives there",
                remedy="give every empty block a keep probability above 0",
                argument="keep",
            )
        if not 0 < chance <= 1:
            raise InvalidInput(f"keep must be a probability above 0 and at most 1, not {keep}", argument="keep")
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "keep", chance)


def polya_urn(workers: tuple[Any, Any], noise: Fraction, classes: Sequence[BlockClass], draws: int) -> tuple[Blocks, Blocks]:
    """The blocks that are drawn at all, in order, and how often each is.

    `workers` is the blocks with a real worker and how many each has. Blocks are numbered from 0: first those of the first class,
    then those of the second, and so on. Time grows with the draws; memory with the blocks that are occupied or drawn, and with a
    million draws at most; a class of a million blocks that are kept by chance costs 250 kB of random bits.

    >>> blocks, counts = polya_urn(([2], [1]), Fraction(1, 2), [BlockClass(3)], draws=5)
    >>> int(counts.sum()), set(blocks.tolist()) <= {0, 1, 2}
    (5, True)
    """
    occupied, counts = _read(workers, classes)
    inside = _by_class(occupied, classes)
    kept = [binomial(each.blocks - there.size, each.keep) for each, there in zip(classes, inside, strict=True)]
    if draws and not (sum(kept) or occupied.size):
        raise InvalidInput("nothing to draw from: no workers and no kept empty blocks; give draws=0", argument="draws")
    drawn, times = _draw(counts, sum(kept), noise, draws)
    real = drawn < occupied.size
    fake = _place(drawn[~real] - occupied.size, kept, inside, classes)
    return _in_order(np.concatenate([occupied[drawn[real]], fake]), times)


def _draw(counts: Blocks, kept: int, noise: Fraction, draws: int) -> tuple[Blocks, Blocks]:
    """The slots that are drawn at all, in order, and how often: a slot is an occupied block, or after those a kept empty one.

    Draws, TOGETHER at a time; to the later ones, the earlier ones are workers like the real ones (urn.md, section 3).
    """
    slots, held = np.arange(counts.size), counts
    for done in range(0, draws, TOGETHER):
        named = _drawn_together((slots, held), noise, counts.size + kept, min(TOGETHER, draws - done))
        slots, held = _add((slots, held), *np.unique(named, return_counts=True))
    times = held.copy()
    times[: counts.size] -= counts
    return slots[times > 0], times[times > 0]


def _drawn_together(urn: tuple[Blocks, Blocks], noise: Fraction, kept: int, draws: int) -> Blocks:
    """The slot that each draw names, where these slots hold these workers, and each of the `kept` slots its fake ones."""
    (slots, held), share, fake_share = urn, noise.denominator, noise.numerator  # of a worker or a draw, and of a slot's fake ones
    real = share * int(held.sum())
    whole = real + fake_share * kept
    picked = _pick(whole, share, draws)
    of_worker, is_copy = picked < real, picked >= whole
    copied, named = np.arange(draws), np.zeros(draws, dtype=np.int64)
    copied[is_copy] = (picked[is_copy] - whole) // share
    named[of_worker] = slots[np.searchsorted(np.cumsum(held), (picked[of_worker] // share).astype(np.int64), side="right")]
    of_slot = ~of_worker & ~is_copy
    named[of_slot] = (picked[of_slot] - real) // fake_share
    return named[_first_of(copied)]


def _add(urn: tuple[Blocks, Blocks], drawn: Blocks, times: Blocks) -> tuple[Blocks, Blocks]:
    """The slots of either, in order, and what each then holds."""
    slots = np.union1d(urn[0], drawn)
    held = np.zeros(slots.size, dtype=np.int64)
    held[np.searchsorted(slots, urn[0])] = urn[1]
    held[np.searchsorted(slots, drawn)] += times
    return slots, held


def _pick(urn: int, share: int, draws: int) -> NDArray[Any]:
    """For draw number i one of the urn + i * share shares that it then holds."""
    small = urn + share * max(draws, 1) < 2**63
    numbers = np.arange(draws, dtype=np.uint64) if small else np.arange(draws).astype(object)
    return uniform_below(numbers * share + urn)


def _first_of(copied: Blocks) -> Blocks:
    """For each draw the first one of its chain of copies: every round halves the way that is left."""
    while True:
        further = copied[copied]
        if np.array_equal(further, copied):
            return copied
        copied = further


def _place(slots: Blocks, kept: Sequence[int], inside: Sequence[Blocks], classes: Sequence[BlockClass]) -> Blocks:
    """A block for each of the different `slots` of kept empty blocks; which block it is, is decided only now."""
    ends, starts = list(accumulate(kept)), [0, *accumulate(each.blocks for each in classes)]
    placed = np.empty(slots.size, dtype=np.int64)
    for number, (each, there) in enumerate(zip(classes, inside, strict=True)):
        mine = (slots >= ends[number] - kept[number]) & (slots < ends[number])
        own = slots[mine] - (ends[number] - kept[number])
        empty = each.blocks - there.size
        ranks = own if each.keep == 1 else distinct_integers(empty, own.size)
        placed[mine] = starts[number] + _empty_at(ranks, there)
    return placed


def _empty_at(ranks: Blocks, occupied: Blocks) -> Blocks:
    """The blocks at these ranks among those that are not `occupied` (in order): rank plus the occupied blocks before it."""
    blocks: Blocks = ranks + np.searchsorted(occupied - np.arange(occupied.size), ranks, side="right")
    return blocks


def _by_class(occupied: Blocks, classes: Sequence[BlockClass]) -> list[Blocks]:
    """The occupied blocks of each class, numbered from the start of the class."""
    ends = list(accumulate(each.blocks for each in classes))
    cuts = np.searchsorted(occupied, ends).tolist()
    starts = [end - each.blocks for end, each in zip(ends, classes, strict=True)]
    return [occupied[low:high] - start for low, high, start in zip([0, *cuts[:-1]], cuts, starts, strict=True)]


def _read(workers: tuple[Any, Any], classes: Sequence[BlockClass]) -> tuple[Blocks, Blocks]:
    """Blocks in order and their numbers of workers, all positive. A message quotes none of them: they are private."""
    blocks, counts = (np.asarray(part) for part in workers)
    if (
        blocks.shape != counts.shape
        or blocks.ndim != 1
        or not all(part.dtype.kind in "iu" or not part.size for part in (blocks, counts))
    ):
        raise InvalidValue("workers must be two arrays of whole numbers of equal length: block numbers, and workers per block")
    blocks, counts = _in_order(blocks.astype(np.int64), counts.astype(np.int64))
    blocks, counts = blocks[counts != 0], counts[counts != 0]
    if blocks.size and (counts.min() < 0 or np.any(np.diff(blocks) == 0)):
        raise InvalidValue("block numbers must be distinct, and the number of workers per block at least 0")
    if counts.sum(dtype=np.float64) >= MOST_WORKERS:
        raise InvalidValue("too many workers: their number must fit in 64 bits")
    if blocks.size and not 0 <= blocks[0] <= blocks[-1] < sum(each.blocks for each in classes):
        raise InvalidValue("unknown block: every worker's block must be on the map; count all others in a block `elsewhere`")
    return blocks, counts


def _in_order(blocks: Blocks, counts: Blocks) -> tuple[Blocks, Blocks]:
    order = np.argsort(blocks, kind="stable")
    return blocks[order], counts[order]


# --- heads among coins of one bias -------------------------------------------------------------------------------------------


def binomial(coins: int, bias: Fraction) -> int:
    """The number of heads among `coins` coins, each heads with exactly `bias`; about two random bits for each coin.

    Each coin compares a uniform number with the binary digits of the bias; all coins that are tied so far go on together.

    >>> binomial(10, Fraction(1)), binomial(10, Fraction(0)), binomial(0, Fraction(1, 3))
    (10, 0, 0)
    """
    if not 0 <= bias <= 1:
        raise InvalidInput(f"bias must be from 0 to 1, not {as_text(bias)}")
    if coins < 0:
        raise InvalidInput(f"coins must be at least 0, not {coins}")
    if bias == 1:
        return coins
    heads, tied, rest = 0, coins, bias
    while tied and rest:
        rest *= 2
        ones = fair_heads(tied)
        if rest >= 1:
            rest -= 1
            heads, tied = heads + tied - ones, ones  # a 0 where the bias has a 1 is below it
        else:
            tied -= ones  # a 1 where the bias has a 0 is above it
    return heads


def fair_heads(coins: int) -> int:
    """The number of ones among that many random bits."""
    words = bits.random_words(-(-coins // WORD))
    if spare := -coins % WORD:
        words[-1] >>= np.uint64(spare)
    return int(np.bitwise_count(words).sum(dtype=np.int64))
