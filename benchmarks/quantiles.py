"""Designs of a median with its interval, compared at one epsilon: `python -m benchmarks quantiles`.

20,000 rows on 10,001 grid points; the design of the package on 100,001, too. A design is judged by the 95th percentile of the rank
error of its value, by the median half-width of its interval in ranks, by how often the interval holds the true median, and by the
concentrated loss that a ledger counts. All draws are by the exponential mechanism of the package, and the tree of counts is that of
the package; the counts that verify ends get simulated Laplace noise from numpy.
The tree serves any number of quantiles at once: it is compared with as many as share epsilon otherwise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine, markdown, write_table
from tacit.chart import save
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.tree.quantiles import Counts, FromTree, enclosed
from tacit.mechanisms.tree.shape import fitting
from tacit.privacy.loss import ADD_REMOVE

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "quantile-designs.svg"
EPSILON, CONFIDENCE, HALF = Fraction(1, 10), Fraction(95, 100), Fraction(1, 2)
POINTS, FINER, SIZE, TIMES = 10_001, 10, 20_000, 400
LARGEST, FARTHEST = 550, 340  # half-width and error that are drawn, in ranks
NUMBERS, TREES = (1, 2, 3, 5, 7, 9, 12, 15, 20), 40  # quantiles at once, and how often
GENERATOR = np.random.default_rng(20)  # data, and noise that is simulated
TACIT = "tacit: both ends in one draw, their middle; a value apart for few rows"

Found = tuple[float, float, float]
Design = Callable[[Blocks], Found]


def rows() -> np.ndarray[Any, Any]:
    """Costs with a moderate skew, sorted."""
    return np.sort(np.clip(np.round(GENERATOR.gamma(4.0, 1000.0, SIZE)), 0, POINTS - 1).astype(np.int64))


def finer() -> list[list[str]]:
    """The design of the package on ten times as many points, for the amounts of `benchmarks/accuracy.py`, whose skew is larger."""
    from benchmarks.accuracy import amounts

    data, points = np.sort(amounts()), FINER * (POINTS - 1) + 1
    lines = []
    for per_person in (1, 10):
        median = QuantileWithInterval(HALF, 0, points - 1, 1, EPSILON, CONFIDENCE, per_person)
        blocks = Blocks.of(median.grid.rows(data), points)
        error, half, covered = measured(median.draw_from, blocks, data, TIMES)
        lines.append([f"{per_person}", f"{error:,.0f}", f"{half:,.0f}", f"{covered:.3f}"])
    return lines


def draw(per_person: int, share: Fraction, shift: int = 0) -> Quantile:
    """One draw at a rank, with a share of epsilon."""
    return Quantile(HALF, 0, POINTS - 1, 1, EPSILON * share, per_person, shift)


def margin(per_person: int, share: Fraction) -> int:
    """How far an end aims that holds with 97.5 % whatever the data."""
    return math.ceil(math.log(POINTS / 0.025) * float(draw(per_person, share).spread / (EPSILON * share)) + 0.5)


def one_draw(per_person: int) -> Design:
    alone = draw(per_person, Fraction(1))
    return lambda blocks: (alone.draw_from(blocks), math.nan, math.nan)


def as_in_tacit(per_person: int) -> Design:
    return QuantileWithInterval(HALF, 0, POINTS - 1, 1, EPSILON, CONFIDENCE, per_person).draw_from


def two_draws(per_person: int) -> Design:
    half = Fraction(1, 2)
    away = margin(per_person, half)
    low, high = draw(per_person, half, -away), draw(per_person, half, away)

    def drawn(blocks: Blocks) -> Found:
        ends = sorted(end.draw_from(blocks) for end in (low, high))
        return (ends[0] + ends[1]) // 2, ends[0], ends[1]

    return drawn


def three_draws(per_person: int, value: Fraction) -> Design:
    end = (1 - value) / 2
    away = margin(per_person, end)
    draws = draw(per_person, value), draw(per_person, end, -away), draw(per_person, end, away)

    def drawn(blocks: Blocks) -> Found:
        middle, *ends = (each.draw_from(blocks) for each in draws)
        return min(max(middle, min(ends)), max(ends)), min(ends), max(ends)

    return drawn


def verified(per_person: int, end: Fraction) -> Design:
    """Ends that aim nearer, and noisy counts below and between them: an end that the counts do not verify is the bound.

    Each row is in one of three cells, so U = (rows below - rows above) / 2 and B = rows between cost epsilon together, with scales
    of 1/2 and 1. The value is read between the ends at the rank that the counts give them.
    """
    counts = 1 - 2 * end
    scale, spread = 0.5 * per_person / float(EPSILON * counts), float(per_person / (EPSILON * end))
    sure = _two_laplace(0.025) * scale
    away = math.ceil(2 * sure + spread * math.log(0.5 / 0.025))
    low, high = draw(per_person, end, -away), draw(per_person, end, away)

    def drawn(blocks: Blocks) -> Found:
        first, last = sorted(each.draw_from(blocks) for each in (low, high))
        below, through = _rank(blocks, first - 1), _rank(blocks, last)
        noisy = (below - (blocks.size - through)) / 2 + GENERATOR.laplace(0, scale)
        between = (through - below) / 2 + GENERATOR.laplace(0, scale)
        part = min(max((between - noisy) / (2 * between), 0), 1) if between > 0 else 0.5
        value = first + part * (last - first)
        return value, first if noisy - between < -sure - 1 else 0, last if noisy + between > sure + 1 else POINTS - 1

    return drawn


def _two_laplace(miss: float) -> float:
    """What the sum of two Laplace variables of scale 1 exceeds with probability `miss`."""
    tried = np.linspace(0, 50, 200_001)
    return float(tried[np.argmax(np.exp(-tried) * (2 + tried) / 4 <= miss)])


def _rank(blocks: Blocks, offset: float) -> int:
    """How many rows are at or below an offset."""
    return int(blocks.through[np.searchsorted(blocks.edges[1:-1], offset, side="right")])


def tree(per_person: int) -> Design:
    """The median by a tree of counts."""
    return lambda blocks: tree_of(per_person, blocks, [HALF])[0]


def tree_of(per_person: int, blocks: Blocks, shares: Sequence[Fraction]) -> list[Found]:
    """Several quantiles by the tree of the package."""
    shape = fitting(POINTS, EPSILON, per_person, ADD_REMOVE)
    counts = Counts(shape, blocks)
    return [enclosed(counts, FromTree(share, CONFIDENCE, shape)) for share in shares]


def several(blocks: Blocks, data: np.ndarray[Any, Any]) -> list[list[str]]:
    """As many quantiles of one expression as share epsilon, by draws of their own and by one tree; 1 row a person."""
    lines = []
    for number in NUMBERS:
        shares = [Fraction(place, number + 1) for place in range(1, number + 1)]
        each = [QuantileWithInterval(q, 0, POINTS - 1, 1, EPSILON / number, CONFIDENCE, 1) for q in shares]
        own = [[mechanism.draw_from(blocks) for mechanism in each] for _ in range(TREES)]
        counted = [tree_of(1, blocks, shares) for _ in range(TREES)]
        lines.append([f"{number}", *_judged(own, shares, data), *_judged(counted, shares, data)])
    return lines


def _judged(drawn: Sequence[Sequence[Found]], shares: Sequence[Fraction], data: np.ndarray[Any, Any]) -> list[str]:
    """The 95th percentile of the error and the mean half-width, in ranks, over all quantiles."""
    value, low, high = (np.array([[found[end] for found in each] for each in drawn]) for end in range(3))
    aims = np.array([float(share) * SIZE for share in shares])
    off = np.maximum(np.searchsorted(data, value, "left") - aims, aims - np.searchsorted(data, value, "right"))
    wide = (np.searchsorted(data, high, "right") - np.searchsorted(data, low, "left")) / 2
    return [f"{np.quantile(np.maximum(off, 0), 0.95):,.0f}", f"{wide.mean():,.0f}"]


def designs(per_person: int) -> dict[str, tuple[Design, Sequence[float]]]:
    """All designs, with the parts of epsilon that go to draws and, last, to counts."""
    third, listed = Fraction(1, 3), {}
    listed["one draw, no interval"] = one_draw(per_person), (1, 0)
    listed[TACIT] = as_in_tacit(per_person), (1 / 25, 24 / 25, 0)
    listed["two draws, their middle"] = two_draws(per_person), (0.5, 0.5, 0)
    for share in (Fraction(1, 5), third, Fraction(1, 2)):
        rest = float((1 - share) / 2)
        listed[f"three draws, {share} for the value"] = three_draws(per_person, share), (float(share), rest, rest, 0)
    for end in (Fraction(1, 5), Fraction(3, 10), Fraction(2, 5)):
        parts = (float(end), float(end), float(1 - 2 * end))
        listed[f"two draws of {end}, verified by counts"] = verified(per_person, end), parts
    levels = fitting(POINTS, EPSILON, per_person, ADD_REMOVE).levels
    listed["tree of counts"] = tree(per_person), (1 / math.sqrt(levels),)
    return listed


def measured(design: Design, blocks: Blocks, data: np.ndarray[Any, Any], times: int) -> tuple[float, float, float]:
    """The 95th percentile of the rank error, the median half-width in ranks, and the coverage."""
    middle, errors, widths, held = SIZE / 2, [], [], 0
    truth = data[[SIZE // 2 - 1, SIZE // 2]]
    for _ in range(times):
        value, low, high = design(blocks)
        errors.append(max(0.0, np.searchsorted(data, value, "left") - middle, middle - np.searchsorted(data, value, "right")))
        width = (np.searchsorted(data, high, "right") - np.searchsorted(data, low, "left")) / 2
        widths.append(math.nan if math.isnan(low) else width)
        held += low <= truth[0] and truth[1] <= high
    return float(np.quantile(errors, 0.95)), float(np.median(widths)), held / times


def rho(parts: Sequence[float]) -> float:
    """The concentrated loss over epsilon^2: an eighth for draws, a half for counts."""
    return sum(part**2 for part in parts[:-1]) / 8 + parts[-1] ** 2 / 2


def picture(points: Sequence[tuple[str, float, float, float]]) -> None:
    """The frontier as an SVG, at equal epsilon and at an equal loss in the ledger, with the design of the package marked."""
    import altair as alt

    own = next(loss for name, _, _, loss in points if name == TACIT)

    def panel(title: str, scaled: bool) -> Any:
        shown = []
        for name, error, half, loss in points:
            factor = math.sqrt(loss / own) if scaled else 1.0
            label = "tacit: both ends in one draw" if name == TACIT else name
            shown.append({"design": label, "error": error * factor, "half": half * factor, "own": name == TACIT})
        shapes = alt.condition("datum.own", alt.value("diamond"), alt.value("circle"))
        sizes = alt.condition("datum.own", alt.value(220), alt.value(80))
        drawn = alt.Chart(
            alt.InlineData(values=[each for each in shown if each["half"] < LARGEST and each["error"] < FARTHEST])
        ).encode(
            x=alt.X("error:Q", title="error of the value: 95th percentile, ranks", scale=alt.Scale(domain=[0, FARTHEST])),
            y=alt.Y("half:Q", title="half-width of the interval, ranks", scale=alt.Scale(domain=[150, LARGEST])),
            color=alt.Color("design:N", title=None, scale=alt.Scale(scheme="category10"), legend=alt.Legend(labelLimit=300)),
            shape=shapes,
            size=sizes,
        )
        return drawn.mark_point(filled=True, opacity=1).properties(
            title=alt.TitleParams(title, anchor="start", fontSize=12), width=340, height=300
        )

    panels = alt.hconcat(panel("at the same epsilon, 0.1", scaled=False), panel("at the same loss in a ledger (rho)", scaled=True))
    save(panels.configure_view(stroke=None), PICTURE)


def run() -> None:
    """Measures, prints, and writes the table and the picture."""
    data = rows()
    values, counts = np.unique(data, return_counts=True)
    lines, points = [], []
    for per_person in (1, 10):
        blocks = Blocks.of(draw(1, Fraction(1)).grid.rows_of_units((values, counts)), POINTS)
        for name, (design, parts) in designs(per_person).items():
            error, half, covered = measured(design, blocks, data, TIMES // 20 if name.startswith("tree") else TIMES)
            ends = ["-", "-"] if math.isnan(half) else [f"{half:,.0f}", f"{covered:.3f}"]
            lines.append([f"{per_person}", name, f"{error:,.0f}", *ends, f"{rho(parts):.3f}"])
            print("  ".join(lines[-1]), file=sys.stderr, flush=True)
            if per_person == 1 and not math.isnan(half):
                points.append((name, error, half, rho(parts)))
    picture(points)
    headers = ["rows a person", "design", "error, ranks", "half-width, ranks", "coverage", "rho / epsilon^2"]
    note = f"Epsilon {float(EPSILON)}, {SIZE:,} rows, {POINTS:,} grid points, {TIMES} repetitions (tree: {TIMES // 20})."
    fine = markdown(["rows a person", "error, ranks", "half-width, ranks", "coverage"], finer())
    text = f"The design of tacit on {FINER * (POINTS - 1) + 1:,} grid points, gamma of order 2:"
    compared = markdown(["quantiles", "draws: error", "half-width", "tree: error", "half-width"], several(blocks, data))
    title = f"Several quantiles at once, {POINTS:,} points, 1 row a person, {TREES} repetitions:"
    parts = [f"{machine()} {note}", markdown(headers, lines), text, fine, title, compared]
    write_table("quantiles", "\n\n".join(parts))


if __name__ == "__main__":
    run()
