"""What `explain` says of a quantile: how it is released, and how far it may miss."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting.composition import loss
from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.smooth import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy.rounding import as_text
from tacit.query.price.drawn import rows_text
from tacit.query.price.price import FINEST_GRID, Rank


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


def noise_of_rank(part: Rank, confidence: Fraction) -> Noise:
    """How a quantile is released."""
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
        return _of_tree(part.mechanism)
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


def _of_tree(read: FromTree) -> Noise:
    tree = read.tree
    missed = None if read.confidence is None else 1 - read.confidence
    about = tree.error(read.q) if missed is None else tree.half_width(read.q, missed)
    return Noise(
        f"quantile {as_text(read.q)}",
        f"Laplace noise on a tree of counts: {tree.levels} levels of {tree.branches} branches",
        f"{rows_text(tree.sensitivity)} at each level",
        f"{as_text(tree.noise.scale)}; about {about:.4g} ranks to {_to(read)}",
        f"{tree.loss}, for all quantiles of this expression together",
        "chosen because one tree serves several quantiles: draws of their own would divide epsilon",
    )


def _to(read: FromTree) -> str:
    return "the quantile" if read.confidence is None else "the other end" if read.extreme else "each end"
