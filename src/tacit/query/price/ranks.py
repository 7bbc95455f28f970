"""What `explain` says of a quantile: how it is released, and how far it may miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting.composition import loss
from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.smooth import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy.rounding import as_text, counted
from tacit.query.price.drawn import rows_text
from tacit.query.price.price import FINEST_GRID, Rank

NAMED = 6  # quantiles or columns in one line


@dataclass(frozen=True, slots=True)
class Noise:
    """One released vector: its content, the mechanism, its sensitivity and scale, and its cost."""

    what: str
    mechanism: str
    sensitivity: str
    scale: str
    cost: str
    why: str = ""
    share: str = ""


def released_together(ranks: Sequence[Rank]) -> list[tuple[Rank, ...]]:
    """The quantiles that one release serves: those that are read from one tree, and each of the others alone."""
    found: dict[int | Rank, list[Rank]] = {}
    for rank in ranks:
        found.setdefault(rank.place if isinstance(rank.mechanism, FromTree) else rank, []).append(rank)
    return [tuple(each) for each in found.values()]


def noise_of_ranks(parts: Sequence[Rank], confidence: Fraction) -> Noise:
    """How quantiles that one release serves are released."""
    read = [part.mechanism for part in parts if isinstance(part.mechanism, FromTree)]
    return _of_tree(read) if len(read) > 1 else _alone(parts[0], confidence)


def first_and_last(names: Sequence[str]) -> str:
    """All names, or the first two and the last, where there are more than a line has room for.

    >>> first_and_last(list("abcdefgh"))
    'a, b, ..., h'
    """
    return ", ".join(names if len(names) <= NAMED else [*names[:2], "...", names[-1]])


def _alone(part: Rank, confidence: Fraction) -> Noise:
    if isinstance(part.mechanism, SmoothQuantile):
        return Noise(
            f"quantile {as_text(part.mechanism.q)}",
            "smooth sensitivity",
            "private",
            "private",
            str(loss(part.event)),
            f"chosen because the column has over 2^{FINEST_GRID.bit_length() - 1} possible values; its error bar is the bounds",
        )
    if isinstance(part.mechanism, FromTree):
        return _of_tree([part.mechanism])
    if isinstance(part.mechanism, Quantile):
        return Noise(
            f"quantile {as_text(part.mechanism.q)}",
            "exponential mechanism, one draw without an interval",
            f"{as_text(part.mechanism.sensitivity)} ranks",
            f"{part.mechanism.rank_error(confidence):.4g} ranks from its aim",
            str(part.mechanism.loss),
            "asked for without an interval: all of epsilon goes to the value",
        )
    extreme, ends, both = part.mechanism.extreme, max(part.mechanism.margins), part.mechanism.of_many
    drawn = "one draw of both ends" if both.together else "a draw of each end"
    return Noise(
        f"quantile {as_text(part.mechanism.q)}",
        f"exponential mechanism, {'one draw' if extreme else f'{drawn}, and one of the value for few rows'}",
        f"{as_text(both.low.sensitivity)} ranks",
        f"{ends} ranks to {'the other end' if extreme else 'each end'}",
        str(part.mechanism.loss),
        "chosen because its interval comes from draws of its own; smooth sensitivity has a private scale, so no interval"
        if extreme
        else f"few rows: below about {part.mechanism.many:,}, which a draw of its own tells; the interval comes from the draws",
    )


def _of_tree(read: Sequence[FromTree]) -> Noise:
    tree, shares = read[0].tree, sorted({each.q for each in read})
    levels = f"{counted(tree.levels, 'level')} of {tree.branches} branches"
    return Noise(
        f"quantile{'s' if len(shares) > 1 else ''} {first_and_last([as_text(share) for share in shares])}",
        f"Laplace noise on one tree of counts: {levels}",
        f"{rows_text(tree.sensitivity)}{' at each level' if tree.levels > 1 else ''}",
        f"{as_text(tree.noise.scale)}; about {_ranks(read)}",
        str(tree.loss),
        "chosen because one tree serves all quantiles of this expression: draws of their own would divide epsilon",
    )


def _ranks(read: Sequence[FromTree]) -> str:
    """How far the values, or the ends of the intervals, are expected to be from the quantiles: of all that are read."""
    tree, enclosed = read[0].tree, read[0].confidence is not None
    away = [tree.error(each.q) if each.confidence is None else tree.half_width(each.q, 1 - each.confidence) for each in read]
    shown = list(dict.fromkeys(f"{each:.4g}" for each in (min(away), max(away))))
    return f"{' to '.join(shown)} ranks to {'an end of the interval' if enclosed else 'the quantile'}"
