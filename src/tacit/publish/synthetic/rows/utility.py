"""The accuracy of synthetic rows, for the data owner: total variation of all marginals of one, two and three columns.

Everything here is computed from the real rows, and so is as private as they are: see curators.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np

from tacit.chart import charting, svg
from tacit.privacy.catalog import Catalog
from tacit.publish.synthetic.rows.cells import Axis, Chosen, Codes
from tacit.publish.synthetic.rows.margins import Margin
from tacit.publish.synthetic.rows.release import SyntheticTable
from tacit.query.engines import check_tallies, engine_for
from tacit.query.engines.engine import TALLY
from tacit.query.plan import Bound, Scan
from tacit.release.curators import curators_page, for_the_owner, paragraph, table, write_for_curator
from tacit.release.reads import reads_of
from tacit.untrusted import distinct, for_chart, for_html, in_columns

MOST_MARGINALS = 500  # of three columns; if there are more, an evenly spaced selection is taken
WAYS = (1, 2, 3)
MANY_BARS = 30
WIDEST_LABEL = 32  # columns


@dataclass(frozen=True, slots=True)
class Error:
    """The distance of one marginal from the real one: half the sum of the differences of shares, from 0 to 1."""

    columns: tuple[str, ...]
    variation: float


@dataclass(frozen=True, slots=True)
class Workload:
    """For the data owner alone: the errors of all marginals, by their number of columns."""

    table: str
    rows: int
    errors: tuple[Error, ...]
    skipped: int
    real: tuple[Codes, ...] = field(repr=False, compare=False)
    many: Codes = field(repr=False, compare=False)

    def of(self, ways: int) -> list[Error]:
        """The errors of the marginals of the given number of columns."""
        return [error for error in self.errors if len(error.columns) == ways]

    def mean(self, ways: int) -> float:
        """The mean total variation of the marginals of the given number of columns; NaN if there are no such marginals."""
        return float(np.mean([error.variation for error in self.of(ways)])) if self.of(ways) else float("nan")

    def worst(self, ways: int) -> Error:
        """The largest error of the marginals of the given number of columns."""
        return max(self.of(ways), key=lambda error: error.variation)

    def to_dict(self) -> dict[str, Any]:
        """The errors as plain values, ready for JSON."""
        return {
            "for_the_curator_alone": {
                str(ways): {"marginals": len(self.of(ways)), "mean": self.mean(ways), "worst": list(self.worst(ways).columns)}
                for ways in WAYS
                if self.of(ways)
            }
        }


def workload(catalog: Catalog, made: SyntheticTable, periods: str | None = None) -> Workload:
    """The errors of synthetic rows; the real rows that marginals count are read from the prepared store."""
    (real, many), axes = real_cells(catalog, made.chosen, periods), made.chosen.axes
    errors = [
        Error(tuple(axes[place].name for place in places), _variation(axes, places, real, many, made.codes))
        for ways in WAYS
        for places in _marginals(len(axes), ways)
    ]
    skipped = sum(comb(len(axes), ways) for ways in WAYS) - len(errors)
    return Workload(made.chosen.table.name, made.rows, tuple(errors), skipped, real, many)


def real_cells(catalog: Catalog, chosen: Chosen, periods: str | None = None) -> tuple[tuple[Codes, ...], Codes]:
    """For the data owner: cells that occur in the real rows, column by column, and how many rows each stands for."""
    table, names = chosen.table, [axis.name for axis in chosen.axes]
    check_tallies(catalog, table, names)
    with closing(engine_for(catalog)) as engine:
        reads = reads_of(catalog, table, "", periods)
        rows = for_the_owner(reads.engine(engine).tallies(Bound(Scan(table), table.max_rows), names))
    cells = []
    for axis in chosen.axes:
        column = rows.column(axis.name).combine_chunks()
        missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        offsets = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
        cells.append(axis.codes(offsets, missing))
    return tuple(cells), np.asarray(rows.column(TALLY).to_numpy()).astype(np.int64)


def _marginals(columns: int, ways: int) -> Iterator[tuple[int, ...]]:
    every = -(-comb(columns, ways) // MOST_MARGINALS) if comb(columns, ways) else 1
    return islice(combinations(range(columns), ways), 0, None, every)


def _variation(axes: Sequence[Axis], places: Sequence[int], real: Sequence[Codes], many: Codes, drawn: Sequence[Codes]) -> float:
    """Half the l1 distance of the shares; if there are more cells than rows, only over cells that occur, which takes a sort."""
    whole = [_joint_codes(axes, places, codes) for codes in (real, drawn)]
    cells, rows = prod(axes[place].size for place in places), sum(codes.size for codes in whole)
    if cells > rows:
        occurring, where = np.unique(np.concatenate(whole), return_inverse=True)
        cells, whole = occurring.size, np.split(where, [whole[0].size])
    one = np.bincount(whole[0], many, cells) / max(1, many.sum())
    other = np.bincount(whole[1], minlength=cells) / max(1, whole[1].size)
    return float(np.abs(one - other).sum()) / 2


def _joint_codes(axes: Sequence[Axis], places: Sequence[int], codes: Sequence[Codes]) -> Codes:
    codes_of_rows = np.zeros(codes[0].size, dtype=np.int64)
    for place in places:
        codes_of_rows = codes_of_rows * axes[place].size + codes[place]
    return codes_of_rows


# --- the owner's page --------------------------------------------------------------------------------------------------------


def write_report(errors: Workload, made: SyntheticTable, place: Path) -> Path:
    """Write the self-contained page with numbers and charts; `curators_place` decides where."""
    title = f"Synthetic rows of {errors.table}: distance from the real data"
    parts = [_summary(errors, made), _margins(errors, made), _charts(errors, made)]
    return write_for_curator(curators_page(title, "\n".join(parts)), place)


def _summary(errors: Workload, made: SyntheticTable) -> str:
    rows = "".join(
        f"<tr><td>{ways}</td><td>{len(errors.of(ways))}</td><td>{errors.mean(ways):.4f}</td>"
        f"<td>{errors.worst(ways).variation:.4f}</td><td>{for_html(', '.join(errors.worst(ways).columns))}</td></tr>"
        for ways in WAYS
        if errors.of(ways)
    )
    skipped = f"<p>{errors.skipped:,} marginals were skipped at even intervals, to limit the work.</p>" if errors.skipped else ""
    head = "<tr><th>columns</th><th>marginals</th><th>mean error</th><th>worst error</th><th>of</th></tr>"
    meaning = (
        "The error is the total variation of a marginal in the declared cells, from 0 (the same) to 1 (nothing in common), "
        "between the synthetic rows and the real rows that answers use."
    )
    return f"<p>{for_html(str(made))}.</p><p>{meaning}</p><table>{head}{rows}</table>{skipped}"


def _margins(errors: Workload, made: SyntheticTable) -> str:
    """Every measured margin with its interval, and how many of the real counts are inside; then all pairs, by what carries them."""
    listed = []
    for margin in made.margins:
        inside = float(np.mean(np.abs(_real_counts(errors, made, margin) - margin.counts) <= margin.half_width))
        error = next(
            (f"{each.variation:.4f}" for each in errors.errors if set(each.columns) == set(margin.columns)), "not computed"
        )
        listed.append((" x ".join(margin.columns), f"{margin.counts.size:,}", f"{margin.half_width:,}", f"{inside:.0%}", error))
    apart = {True: list[float](), False: list[float]()}
    for each in errors.of(2):
        apart[made.support(each.columns).together is not None].append(each.variation)
    pairs = [
        (name, f"{len(apart[carried]):,}", f"{np.mean(apart[carried]):.4f}", f"{max(apart[carried]):.4f}")
        for name, carried in (("measured", True), ("model only", False))
        if apart[carried]
    ]
    heads = ("measured margin", "cells", "± rows at 95 %", "real counts inside", "error of the rows")
    words = "The interval of a measured margin is that of its noise. What is not listed rests on the model alone."
    return f"{paragraph(words)}{table(heads, listed)}{table(('pairs', 'number', 'mean error', 'worst error'), pairs)}"


def _real_counts(errors: Workload, made: SyntheticTable, margin: Margin) -> np.ndarray[Any, Any]:
    """The exact counts of a margin, in the cells in which it was measured."""
    merged, flat, size = made.measured.merged_groups, np.zeros(errors.real[0].size, dtype=np.int64), 1
    for place in margin.places:
        groups = merged[place] if len(margin.places) > 1 else made.chosen.axes[place].counted_groups
        flat, size = flat * (int(groups.max()) + 1) + groups[errors.real[place]], size * (int(groups.max()) + 1)
    return np.bincount(flat, errors.many, size)


def _charts(errors: Workload, made: SyntheticTable) -> str:
    alt = charting()
    charts = [_errors_chart(alt, errors), _pairs_chart(alt, errors), *_columns_charts(alt, errors, made)]
    return "\n".join(f"<figure>{svg(chart)}</figure>" for chart in charts)


def _errors_chart(alt: Any, workload: Workload) -> Any:
    points = [{"columns": str(len(error.columns)), "error": error.variation} for error in workload.errors]
    return (
        alt.Chart(alt.Data(values=points), title="Errors of all marginals, by their number of columns")
        .mark_tick(thickness=2, opacity=0.5, color="#00897b")
        .encode(x=alt.X("error:Q", title="total variation"), y=alt.Y("columns:N", title="columns"))
        .properties(width=640, height=110)
    )


def _pairs_chart(alt: Any, workload: Workload) -> Any:
    names = dict.fromkeys(name for error in workload.errors for name in error.columns)
    shown = dict(zip(names, _distinct_labels(names), strict=True))
    cells = [
        {"one": shown[a], "other": shown[b], "error": error.variation}
        for error in workload.of(2)
        for a, b in (error.columns, error.columns[::-1])
    ]
    order = [shown[error.columns[0]] for error in workload.of(1)]
    return (
        alt.Chart(alt.Data(values=cells), title="Pairs of columns")
        .mark_rect()
        .encode(
            x=alt.X("one:N", sort=order, title=None),
            y=alt.Y("other:N", sort=order, title=None),
            color=alt.Color("error:Q", title="error", scale=alt.Scale(scheme="tealblues")),
        )
        .properties(width=24 * max(4, len(order)), height=24 * max(4, len(order)))
    )


def _columns_charts(alt: Any, workload: Workload, made: SyntheticTable) -> Iterator[Any]:
    """Each column's shares, real next to synthetic; with many cells, the first ones and all others together."""
    for axis, truth, drawn in zip(made.chosen.axes, workload.real, made.codes, strict=True):
        labels, cells = _bar_labels(axis.counted.labels), axis.counted_groups
        bars = [
            {"cell": label, "rows": name, "share": float(many[np.minimum(codes, MANY_BARS) == cell].sum() / max(1, many.sum()))}
            for cell, label in enumerate(labels)
            for name, codes, many in (("real", cells[truth], workload.many), ("synthetic", cells[drawn], np.ones_like(drawn)))
        ]
        yield (
            alt.Chart(alt.Data(values=bars), title=axis.name)
            .mark_bar()
            .encode(
                x=alt.X("cell:N", sort=None, title=None),
                xOffset=alt.XOffset("rows:N"),
                y=alt.Y("share:Q", title="share", axis=alt.Axis(format="%")),
                color=alt.Color("rows:N", title=None, scale=alt.Scale(domain=["real", "synthetic"], range=["#9aa0a6", "#00897b"])),
            )
            .properties(width=max(160, 26 * len(labels)), height=160)
        )


def _bar_labels(labels: Sequence[str]) -> list[str]:
    """The cells that have a bar of their own; the rest of a long axis shares the last one, so that no row is left out."""
    others = len(labels) - MANY_BARS
    shown = [*labels[:MANY_BARS], f"{others} others"] if others > 0 else labels
    return _distinct_labels(shown)


def _distinct_labels(labels: Iterable[str]) -> list[str]:
    return list(distinct({at: in_columns(for_chart(label), WIDEST_LABEL) for at, label in enumerate(labels)}).values())
