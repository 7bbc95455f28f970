"""The margins behind synthetic rows: which were measured, with the intervals of their noise, and which analyses they carry.

Synthetic rows state everything about every column at once, and only a part of that was ever measured. The rest follows from a
model. Both look alike in the rows. This module tells them apart, from released numbers and public parameters alone:

    margins_of(measured)     every measured margin: noisy counts, and the half width of the interval of each
    support_of(...)          what carries an analysis of some columns: one margin, pairs of them, or the model alone

An interval here is that of the noise. It contains the count of the real rows (at most `max_rows` for each unit), with the stated
confidence at the time of the measurement, and says nothing about sampling.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput, UnknownName
from tacit.publish.synthetic.rows.marginals import Counts, Measured, Noise
from tacit.release.outputs import receipt_beside

CONFIDENCE = Fraction(95, 100)
MOST_LISTED = 6  # pairs in a sentence
MODEL_ALONE = "rests on the model alone"


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """A measured margin: places and names of its columns, noisy counts, and the noise; `times` is how often it was measured.

    Of several measurements the one with the least noise counts, and of equal ones the last: its noise is fresh.
    """

    places: tuple[int, ...]
    columns: tuple[str, ...]
    counts: Counts
    noise: Noise
    times: int = 1

    @property
    def half_width(self) -> int:
        """How far a noisy count may be from the exact one, on either side, for each cell by itself."""
        return round(self.noise.over(1).interval(CONFIDENCE).above)

    @property
    def simultaneous(self) -> int:
        """The same for all cells at once."""
        return round(self.noise.over(self.counts.size).simultaneous_interval(CONFIDENCE).above)

    def to_dict(self) -> dict[str, Any]:
        """The margin without its counts: public parameters, ready for JSON."""
        cells = {"cells": int(self.counts.size), "half_width": self.half_width, "half_width_of_all_cells": self.simultaneous}
        return {"columns": list(self.columns), **cells, "times": self.times}


def margins_of(measured: Measured) -> tuple[Margin, ...]:
    """Every measured margin once: the columns, then pairs and triples in the order in which they were first measured."""
    design, names = measured.design, [axis.name for axis in measured.design.axes]
    each: list[tuple[tuple[int, ...], Counts, Noise]] = [
        ((place,), counts[: axis.histograms[0]], design.single)  # of a grid its wide cells
        for place, (axis, counts) in enumerate(zip(design.axes, measured.singles, strict=True))
    ]
    if design.pair is not None:
        each += [(places, counts, design.pair) for places, counts in measured.pairs.items()]
    each += [(one.places, one.counts, one.noise) for one in measured.rounds]
    margins: dict[tuple[int, ...], Margin] = {}
    for places, counts, noise in each:
        before = margins.get(places)
        times = 1 if before is None else before.times + 1
        if before is not None and before.noise.budget > noise.budget:
            counts, noise = before.counts, before.noise
        margins[places] = Margin(places, tuple(names[at] for at in places), counts, noise, times)
    return tuple(margins.values())


# --- what carries an analysis ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Support:
    """The measured margins that carry an analysis of some columns together.

    `together` is the measured margin with all of them, if any, and `half_width` that of its cells. `measured` and `missing` are
    the pairs of the columns that are, and are not, in a measured margin.
    """

    table: str
    columns: tuple[str, ...]
    together: tuple[str, ...] | None
    half_width: int | None
    measured: tuple[tuple[str, str], ...]
    missing: tuple[tuple[str, str], ...]

    @property
    def carried(self) -> str:
        """`measured`, `pairs` (all pairs, but not all columns together) or `model` (at least one pair rests on the model alone)."""
        if self.together is not None:
            return "measured"
        return "model" if self.missing else "pairs"

    def carries(self, linear: bool = False) -> bool:
        """Whether measured margins carry the analysis; one that is linear needs pairs alone."""
        return self.carried == "measured" or (linear and self.carried == "pairs")

    @property
    def sentences(self) -> list[str]:
        """The same for people; the first is the verdict."""
        names, were = _and(self.columns), "was measured" if len(self.columns) == 1 else "were measured together"
        if self.half_width is not None:
            return [f"{names} {were}: each count is within {self.half_width:,} rows of the real one, with 95 % confidence"]
        if self.together is not None:
            return [f"{names} {were}, as a part of {_and(self.together)}: their counts are sums of its cells"]
        if not self.missing:
            return [
                f"{names} were not measured together, but all their pairs were",
                "carried by measured margins: means, correlations, and a linear regression without interactions",
                f"{MODEL_ALONE}: a table of these columns, interactions, and models that use them together, such as trees",
            ]
        others = f"; measured: {_pairs(self.measured)}" if self.measured else ""
        return [
            f"an analysis of {names} {MODEL_ALONE}",
            f"not measured: {_pairs(self.missing)}{others}",
            "the synthetic rows may show a relation that the data do not have, or hide one; no interval covers that",
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "table": self.table,
            "columns": list(self.columns),
            "carried_by": self.carried,
            "together": None if self.together is None else list(self.together),
            "half_width": self.half_width,
            "measured_pairs": [list(pair) for pair in self.measured],
            "missing_pairs": [list(pair) for pair in self.missing],
            "sentences": self.sentences,
        }


def support_of(margins: Iterable[Mapping[str, Any]], columns: Sequence[str], table: str = "") -> Support:
    """The margins that carry an analysis of some columns, from the margins of a receipt.

    >>> margins = [{"columns": [name], "half_width": 9} for name in ("sex", "age", "ill")]
    >>> margins += [{"columns": ["sex", "age"], "half_width": 12}, {"columns": ["age", "ill"], "half_width": 12}]
    >>> support_of(margins, ["age", "sex"]).sentences
    ['age and sex were measured together: each count is within 12 rows of the real one, with 95 % confidence']
    >>> support_of(margins, ["age", "sex", "ill"]).missing
    (('sex', 'ill'),)
    """
    listed = [(tuple(each["columns"]), int(each["half_width"])) for each in margins]
    known = {name for names, _ in listed for name in names}
    wanted = tuple(dict.fromkeys(name if name in known else name.strip().lower() for name in columns))
    if not wanted:
        raise InvalidInput("missing columns; name those that the analysis uses, for example --columns age,sex", argument="columns")
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"unknown column {unknown[0]}", remedy=f"expected one of: {', '.join(sorted(known))}")
    exact = [(width, names) for names, width in listed if set(names) == set(wanted)]
    within = exact or [(width, names) for names, width in listed if set(wanted) <= set(names)]
    width, together = min(within, default=(None, None), key=lambda each: (len(each[1]), each[0]))
    pairs = list(combinations(wanted, 2))
    measured = tuple(pair for pair in pairs if any(set(pair) <= set(names) for names, _ in listed))
    missing = tuple(pair for pair in pairs if pair not in measured)
    return Support(table, wanted, together, width if exact else None, measured, missing)


def support_in(rows: Path, columns: Sequence[str]) -> Support:
    """The same for a file of synthetic rows, from the receipt beside it."""
    place = rows if rows.name.endswith(".receipt.json") else receipt_beside(rows)
    try:
        receipt = json.loads(place.read_text(encoding="utf-8"))
        margins, table = receipt["margins"], str(receipt["table"])
    except OSError:
        raise InvalidInput(f"cannot read {place}; give the file of synthetic rows, with its receipt beside it") from None
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{place.name} is not a receipt of synthetic rows that lists its margins") from None
    return support_of(margins, columns, table)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{one} with {other}" for one, other in pairs[:MOST_LISTED])
    return f"{shown} and {len(pairs) - MOST_LISTED} more" if len(pairs) > MOST_LISTED else shown
