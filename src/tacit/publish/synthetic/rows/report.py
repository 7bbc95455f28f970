"""The public report of synthetic rows: what was measured, how far the noise may have moved it, and what is the model alone.

Everything on the page and in the JSON beside it is made from released counts, from the synthetic rows and from public parameters,
never from real rows: to publish it costs nothing. The page is self-contained, as other published pages are. The data owner's report
(`utility.py`) compares with the real rows and stays with the owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.files import check, check_links, write_together
from tacit.privacy.rounding import decimal_text
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.margins import CONFIDENCE, Margin
from tacit.publish.synthetic.rows.release import SyntheticTable
from tacit.release.curators import PAGES
from tacit.release.drawing import Part, beside, dot, filled, picture, rectangle, text
from tacit.release.plots import Drawing, Mark, Panel, svg
from tacit.release.published import whole_page
from tacit.untrusted import for_chart, for_html, for_json

MOST_BARS = 24  # of a column
MOST_CELLS = 10_000  # of a margin whose counts are listed in the JSON
LEVELS = ((0.005, "within 0.5 % of all rows", 0.95), (0.02, "within 2 %", 0.6), (float("inf"), "wider", 0.28))
SMALLEST, LARGEST, TOGETHER, GAP, NAME = 15.0, 44.0, 480.0, 3.0, 13.0  # squares, all squares of a row, and names
GREY = 5  # of the colours of pictures
STYLE = """
.lead { font-size: 1.125rem; color: var(--soft); }
.warn { border-inline-start: .3rem solid #b8540c; }
.grid { display: grid; gap: 1.1rem; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); }
.grid { margin: 0; padding: 0; list-style: none; }
.grid b { display: block; font-size: 1.7rem; line-height: 1.2; letter-spacing: -.02em; color: var(--accent); }
code { font: .9em ui-monospace, "DejaVu Sans Mono", monospace; }
"""


@dataclass(frozen=True)
class Report:
    """The numbers of the page, from a release that may be published."""

    made: SyntheticTable

    @property
    def total(self) -> int:
        """The noisy number of real rows."""
        return round(self.made.measured.total)

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The measured margins."""
        return self.made.margins

    @cached_property
    def missing(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns that are in no measured margin."""
        names = [axis.name for axis in self.made.chosen.axes]
        return tuple(pair for pair in combinations(names, 2) if not self.holding(pair))

    def holding(self, pair: Sequence[str]) -> list[Margin]:
        """The measured margins with a pair of columns, those with the fewest columns first."""
        return sorted(
            (margin for margin in self.margins if set(pair) <= set(margin.columns)), key=lambda margin: len(margin.columns)
        )

    def synthetic(self, margin: Margin) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The counts of the synthetic rows in the cells of a margin, brought to the noisy number of real rows."""
        groups = self.made.measured.merged_groups
        flat, size = np.zeros(self.made.rows, dtype=np.int64), 1
        for place in margin.places:
            several = len(margin.places) > 1
            axis, codes = self.made.chosen.axes[place], self.made.codes[place]
            cells = int(groups[place].max()) + 1 if several else axis.counted.size
            flat, size = flat * cells + (groups[place] if several else axis.counted_groups)[codes], size * cells
        scale: float = self.made.measured.total / max(1, self.made.rows)
        return np.asarray(np.bincount(flat, minlength=size) * scale, dtype=np.float64)

    def inside(self, margin: Margin) -> float:
        """The share of cells in which the synthetic rows are within the interval of the noisy count."""
        apart = np.abs(self.synthetic(margin) - margin.counts)
        return float(np.mean(apart <= margin.half_width))

    def cells(self, axis: Axis, place: int) -> list[str]:
        """Labels of the groups of a column's cells, in which pairs are counted."""
        groups = self.made.measured.merged_groups[place]
        if axis.width:
            return list(axis.joined(groups).labels)
        inside = [
            [label for label, group in zip(axis.labels, groups, strict=True) if group == at] for at in range(groups.max() + 1)
        ]
        return [" or ".join(labels) for labels in inside]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        made, axes = self.made, self.made.chosen.axes
        return {
            "what": "a public report of synthetic rows, from released numbers alone",
            "noisy_rows": self.total,
            "confidence": float(CONFIDENCE),
            **made.to_dict(),
            "margins": [self._margin(margin) for margin in self.margins],
            "cells": {axis.name: list(axis.counted.labels) for axis in axes},
            "groups_in_pairs": {axis.name: self.cells(axis, place) for place, axis in enumerate(axes)},
            "model_only": {"pairs": [list(pair) for pair in self.missing], "also": "every table of columns not measured together"},
        }

    def _margin(self, margin: Margin) -> dict[str, Any]:
        told = {**margin.to_dict(), "synthetic_cells_inside": self.inside(margin)}
        if margin.counts.size > MOST_CELLS:
            return told
        return {**told, "noisy": margin.counts.tolist(), "synthetic": [round(float(each), 2) for each in self.synthetic(margin)]}


def check_public_report(place: Path) -> Path:
    """The path, if the page and the JSON beside it can be written there; call it before anything is spent."""
    if place.suffix.lower() not in PAGES:
        raise InvalidInput(f"the report is a page of HTML; give it a name that ends in .html, and not as {place.name} does")
    for each in (place, place.with_suffix(".json")):
        check_links(each)
        check(each)
    return place


def write_public_report(made: SyntheticTable, place: Path) -> Path:
    """Write the page, and the same as JSON under the same name."""
    report = Report(made)
    files: dict[Path, Any] = {place: page_of(report), place.with_suffix(".json"): f"{for_json(report.to_dict(), indent=1)}\n"}
    write_together(files, after="the synthetic data is written, and paid for; its public report is not")
    return place


# --- the page ----------------------------------------------------------------------------------------------------------------


def page_of(report: Report) -> str:
    """The page as text."""
    title = f"Synthetic rows of {report.made.chosen.table.name}"
    lead = (
        "These rows are made up. They follow counts that were measured with noise, so that nobody can learn much about any one "
        "person. This page says which counts were measured, and which relations rest on a model."
    )
    sections = [_facts(report), _reading(report), _pairs(report), _measured(report), *_columns(report), _rests(report), _copies()]
    head = f'<header><h1>{for_html(title)}</h1><p class="lead">{for_html(lead)}</p></header>'
    body = f"{head}<main>{''.join(sections)}</main>"
    return whole_page(title, body, style=STYLE)


def _facts(report: Report) -> str:
    made, receipt = report.made, report.made.receipt
    pairs = len(list(combinations(made.chosen.axes, 2)))
    facts = [
        (f"{made.rows:,}", "synthetic rows"),
        (f"{report.total:,}", "real rows, with noise"),
        (f"{len(made.chosen.axes)}", "columns, all measured"),
        (f"{pairs - len(report.missing)} of {pairs}", "pairs measured"),
    ]
    shown = "".join(f"<li><b>{for_html(number)}</b>{for_html(words)}</li>" for number, words in facts)
    delta = f" and delta {decimal_text(receipt.delta)}" if receipt.delta else ""
    price = f"All measurements together cost epsilon {decimal_text(receipt.epsilon)}{delta}: entry {receipt.entry} of the ledger."
    most = made.chosen.table.max_rows
    limit = "" if most == 1 else f" At most {most} rows of one person or other unit are counted."
    fine = f'<p class="fine" style="margin:.9rem 0 0">{for_html(price + limit)}</p>'
    return f'<section class="card"><ul class="grid">{shown}</ul>{fine}</section>'


def _reading(report: Report) -> str:
    words = (
        "An interval belongs to each measured count. In about 95 of 100 cases it contains the count of the real rows: it covers "
        "the noise, and not the sampling of the people. A count of a relation that was not measured has no interval, because "
        "nothing limits how far the model is from the data."
    )
    return f'<section class="promise"><h2>How to read this</h2><p>{for_html(words)}</p></section>'


def _pairs(report: Report) -> str:
    if len(report.made.chosen.axes) < 2:
        return ""
    triples = [margin for margin in report.margins if len(margin.columns) > 2]
    several = f"{len(triples)} margins of three columns were" if len(triples) > 1 else "One margin of three columns was"
    more = f" {several} measured as well, as the table below shows." if triples else ""
    words = "A filled square is a measured pair; a stronger color means less noise. A dot is a pair that rests on the model alone."
    return (
        f'<section class="card"><h2>Pairs of columns</h2><p>{for_html(words + more)}</p>'
        f'<div class="chart scroll" tabindex="0" role="group" aria-label="pairs of columns">{_matrix(report)}</div></section>'
    )


def _matrix(report: Report) -> str:
    """The pairs as a triangle: each column has its name where its row ends and its squares below begin."""
    names = [axis.name for axis in report.made.chosen.axes]
    elements: list[str] = []
    size = max(SMALLEST, min(LARGEST, TOGETHER / len(names)))
    for row, name in enumerate(names):
        top = row * (size + GAP)
        elements.append(text(for_chart(name), row * (size + GAP) + 4, top + size / 2 + NAME / 3, NAME, "strong"))
        elements += [_square(report, (names[column], name), (column * (size + GAP), top), size) for column in range(row)]
    side = len(names) * (size + GAP)
    longest = max(len(name) for name in names) * NAME * 0.7
    return picture("", (), [_legend(), Part((), 0, 10), Part(tuple(elements), side + longest, side)], ())


def _square(report: Report, pair: tuple[str, str], corner: tuple[float, float], size: float) -> str:
    (left, top), holding = corner, report.holding(pair)
    names = f"{for_chart(pair[0])} and {for_chart(pair[1])}"
    if not holding:
        return filled(dot(left + size / 2, top + size / 2, 2.5), GREY, 0.6, f"{names}: model only")
    margin = holding[0]
    exact = len(margin.columns) == 2
    words = f"± {margin.half_width:,} rows for each cell" if exact else f"part of {for_chart(', '.join(margin.columns))}"
    opacity = next(shade for most, _, shade in LEVELS if margin.half_width <= most * report.total)
    return filled(rectangle(left, top, left + size, top + size), 0, opacity, f"{names}: {words}")


def _legend() -> Part:
    parts = [
        Part((filled(rectangle(0, 0, 14, 14), 0, shade, ""), text(words, 20, 11.5, 12, "soft")), 20 + 6.4 * len(words), 16)
        for _, words, shade in LEVELS
    ]
    model = Part((filled(dot(7, 7, 2.5), GREY, 0.6, ""), text("model only", 20, 11.5, 12, "soft")), 90, 16)
    return beside([*parts, model], 14)


def _measured(report: Report) -> str:
    listed = [margin for margin in report.margins if len(margin.columns) > 1]
    if not listed:
        return ""
    heads = ("margin", "cells", "± rows, each cell", "± rows, all cells", "synthetic inside")
    head = "".join(f'<th scope="col" class="{"key" if at == 0 else "number"}">{words}</th>' for at, words in enumerate(heads))
    rows = "".join(
        f'<tr><td class="key">{for_html(" × ".join(margin.columns))}</td><td class="number">{margin.counts.size:,}</td>'
        f'<td class="number">{margin.half_width:,}</td><td class="number">{margin.simultaneous:,}</td>'
        f'<td class="number">{report.inside(margin):.0%}</td></tr>'
        for margin in listed
    )
    words = (
        "The width of an interval is the same for all cells of a margin. The last column is the share of its cells in which the "
        "synthetic rows, brought to the number of real rows, are within the interval of the noisy count."
    )
    return (
        f'<section class="card"><h2>Measured together</h2><p>{for_html(words)}</p><div class="scroll" tabindex="0" role="group" '
        f'aria-label="measured margins"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def _columns(report: Report) -> Iterator[str]:
    for place, axis in enumerate(report.made.chosen.axes):
        margin = report.margins[place]
        drawn = report.synthetic(margin)
        title = "Rows: measured with noise, and synthetic"
        picture_of = svg(Drawing("bars", title, (Panel("rows", _marks(axis, margin, drawn)),), along=axis.name))
        width = f"Each measured count is within {margin.half_width:,} rows of the real one, with 95 % confidence."
        yield (
            f'<section class="card"><h2>{for_html(axis.name)}</h2><div class="chart scroll" tabindex="0" role="group" '
            f'aria-label="chart">{picture_of}</div><p class="fine">{width}</p></section>'
        )


def _marks(axis: Axis, margin: Margin, drawn: np.ndarray[Any, Any]) -> tuple[Mark, ...]:
    """Two bars for each cell; of a long column, the cells with most synthetic rows."""
    shown = np.sort(np.argsort(-drawn, kind="stable")[:MOST_BARS])
    width = margin.half_width
    marks = []
    for at in shown.tolist():
        label, noisy = axis.labels[at], int(margin.counts[at])
        marks.append(Mark(label, noisy, noisy - width, noisy + width, "measured with noise"))
        marks.append(Mark(label, float(drawn[at]), series="synthetic rows"))
    return tuple(marks)


def _rests(report: Report) -> str:
    missing = report.missing
    listed = "".join(f"<li>{for_html(f'{one} with {other}')}</li>" for one, other in missing)
    pairs = (
        f"<details><summary>{len(missing):,} pairs that rest on the model alone</summary><ul>{listed}</ul></details>"
        if missing
        else ""
    )
    words = [
        "A mean, a correlation or a linear regression without interactions needs every pair of its columns. A table of three "
        "columns, an interaction, or a model such as a tree needs all of its columns in one measured margin.",
        "Where that is not so, the result is a property of the model: the synthetic rows may show a relation that the data do not "
        "have, or hide one. No interval of the synthetic rows covers that. Ask the data owner for a private answer instead.",
    ]
    command = f"tacit synthesize check-analysis ROWS --columns {','.join(axis.name for axis in report.made.chosen.axes[:3])}"
    said = "".join(f"<p>{for_html(each)}</p>" for each in words)
    check_it = f"<p>To check an analysis: <code>{for_html(command)}</code></p>"
    return f'<section class="card warn"><h2>What an analysis rests on</h2>{said}{check_it}{pairs}</section>'


def _copies() -> str:
    words = (
        "The standard errors that a program states for one synthetic table ignore the noise. With several copies, "
        "estimate on each and combine the estimates: tacit.synthesize.combine gives an interval that covers the noise, for "
        "measured margins and what is linear in them. Copies are made from the same measurements, and cost nothing."
    )
    return f'<section class="card"><h2>Intervals of estimates</h2><p>{for_html(words)}</p></section>'
