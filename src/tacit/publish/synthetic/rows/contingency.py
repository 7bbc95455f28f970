"""Synthetic rows of a small contingency table by Dirichlet resampling: rows drawn from an urn of real ones and fake ones.

All joint cells of the named columns are counted, each gets the same mass of fake rows, and a public number of rows is drawn from
the urn. It is pure: contingency.md. It keeps the whole joint distribution of the columns, and so is for few cells only: the fake
rows grow with the number of cells, and with the number of rows drawn.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.accounting.events import Resampling
from tacit.accounting.ledger.entries import event_json
from tacit.accounting.ledger.selling import Sale
from tacit.errors import InvalidInput, NoBudget, TooManyGroups
from tacit.mechanisms.dirichlet.resampling import DirichletResampling
from tacit.privacy.loss import Neighbours, positive_budget
from tacit.privacy.rounding import Number, as_text, decimal_text, exp_down, log_up
from tacit.publish.synthetic.rows.cells import Chosen, Codes, chosen_columns
from tacit.publish.synthetic.rows.certified import way_of_urn
from tacit.publish.synthetic.rows.inference import random_order, read_rows
from tacit.publish.synthetic.rows.marginals import count_marginal
from tacit.publish.synthetic.rows.never import possible_codes, rules_of
from tacit.publish.synthetic.rows.release import receipt_json, save_rows, values_of
from tacit.query.price.work import afford_counts
from tacit.release.answer import Later, Receipt
from tacit.release.certificates.certificate import Certificate
from tacit.release.once import Form, once
from tacit.release.reads import reads_of
from tacit.session import DataSet

MOST_CELLS = 10**5
MOST_EPSILON = 100  # of one row; beyond it, e^epsilon is too large to be meaningful
GRAIN = 1000  # noise is rounded up to a multiple of 1 / GRAIN, so that the urn's weights are short


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticContingency:
    """Released rows and their cost. All of it may be published."""

    chosen: Chosen
    urn: DirichletResampling
    counts: Codes
    columns: Mapping[str, Any] = field(repr=False)
    receipt: Receipt
    relation: Neighbours
    certified: Callable[[], Certificate] | None = field(default=None, repr=False)

    @property
    def certificate(self) -> Certificate:
        """Why the price of the rows is right, signed."""
        if self.certified is None:
            raise InvalidInput("these rows have no certificate: they were not released from a data set")
        return self.certified()

    @property
    def rows(self) -> int:
        """How many rows were drawn."""
        return self.urn.draws

    @property
    def claim(self) -> tuple[str, ...]:
        """The guarantee, whom it protects, and how many rows are fake."""
        most, ratio = self.chosen.table.max_rows, self.urn.ratio
        rows = "its row" if most == 1 else f"its rows (at most {most} are used)"
        fakes = self.urn.blocks * self.urn.noise
        return (
            f"{self.relation}, with {rows}: no output is more than {as_text(ratio**most)} times more or less likely, "
            f"epsilon {as_text(self.receipt.epsilon)}",
            f"one row added, removed or changed: ratio {as_text(ratio)}, epsilon {as_text(log_up(ratio))}; "
            f"the number of rows drawn, {self.rows:,}, is public",
            f"{as_text(self.urn.noise)} fake rows on each of {self.urn.blocks:,} cells: if the table itself has {self.rows:,} "
            f"rows, {float(fakes / (self.rows + fakes)):.1%} of the drawn rows are fake, fewer if it has more",
        )

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        import pyarrow as pa

        return pa.table(dict(self.columns))

    def save(self, path: str | Path) -> Path:
        """Write the rows as .parquet, .csv or .csv.gz, with receipt and certificate next to them; returns the receipt's path."""
        return save_rows(self.columns, self.to_dict(), Path(path), self.certified)

    def to_dict(self) -> dict[str, Any]:
        """The release and its cost, without the rows; budgets are exact texts."""
        return {
            "table": self.chosen.table.name,
            "rows": self.rows,
            "columns": [axis.name for axis in self.chosen.axes],
            "cells": self.urn.blocks,
            "fake_rows_on_each_cell": decimal_text(self.urn.noise),
            "claim": list(self.claim),
            **receipt_json(self.receipt),
            "max_rows": self.chosen.table.max_rows,
            "events": event_json(_event(self.urn, self.chosen, self.relation)),
        }


def synthesize_contingency(
    data: DataSet,
    table: str,
    columns: Sequence[str],
    *,
    epsilon: Number,
    rows: int,
    bins: int | None = None,
    periods: str | None = None,
    analyst: str | None = None,
) -> SyntheticContingency:
    """`rows` synthetic rows of the named columns: pure epsilon for each unit, under the catalog's relation."""
    chosen, number = chosen_columns(data.as_prepared, table, columns, bins), read_rows(rows)
    if number is None:
        raise InvalidInput("missing number of rows: resampling needs a public one; give for example rows=1000", argument="rows")
    urn, relation = urn_for(chosen, epsilon, number), data.catalog.neighbours
    afford_counts(chosen.table, [axis.cell() for axis in chosen.axes], len(chosen.axes), data.catalog.cores)
    event, what = _event(urn, chosen, relation), f"synthetic rows of {chosen.table.name} by resampling"
    reads = reads_of(data.as_prepared, chosen.table, data.version, periods)
    key, charge = _fingerprint(chosen, urn, reads.key), reads.charge([event])
    sale = Sale((event,), data.session(analyst).analyst, what, reads.version, key, (chosen.table.name,), charge=charge)
    way = way_of_urn(urn, chosen, event, what).kept
    kept: Form[Codes] = Form(lambda counts: json.dumps({"counts": counts.tolist(), "certificate": way}), _read_counts)
    sold = once(data.till, sale, lambda _: urn.release(count_marginal(chosen.table, chosen.axes, reads.engine(data.engine))), kept)
    left, paid = sold.left, (event.epsilon, Fraction(0))
    receipt = Receipt(*paid, left.epsilon, left.delta, sold.entry, reads.version, sold.repeated)
    receipt = replace(receipt, periods=reads.words)
    certified = Later(partial(data.certified, sold.entry, sale.analyst)) if reads.runs is None else None
    return replace(_release_rows(chosen, urn, sold.value, receipt, relation), certified=certified)


def _read_counts(text: str) -> Codes:
    """The counts as they are kept; earlier versions kept nothing else."""
    kept = json.loads(text)
    return np.array(kept["counts"] if isinstance(kept, dict) else kept, dtype=np.int64)


def urn_for(chosen: Chosen, epsilon: Number, rows: int) -> DirichletResampling:
    """The urn with the fewest fake rows, up to rounding, whose loss for all rows of a unit is within epsilon."""
    cells = math.prod(axis.size for axis in chosen.axes)
    if cells > MOST_CELLS:
        raise TooManyGroups(
            f"the columns have {cells:,} joint cells; resampling allows at most {MOST_CELLS:,}",
            remedy="name fewer columns or declare fewer bins; marginals are for tables of many columns",
        )
    each = positive_budget(epsilon) / chosen.table.max_rows
    if each > MOST_EPSILON:
        raise NoBudget(
            f"an epsilon above {MOST_EPSILON} for one row is not a meaningful guarantee",
            remedy="give for example epsilon=1",
            argument="epsilon",
        )
    least = Fraction(rows) / (exp_down(each) - 1) if exp_down(each) > 1 else None
    if least is None:
        raise NoBudget("the budget is too small: only noise would be left", remedy="give for example epsilon=1", argument="epsilon")
    urn = DirichletResampling(cells, Fraction(max(1, math.ceil(least * GRAIN)), GRAIN), rows)
    # The logarithm is rounded up too: if that exceeds epsilon in the last digit, one more grain does not.
    return urn if urn.epsilon <= each else DirichletResampling(cells, urn.noise + Fraction(1, GRAIN), rows)


def _event(urn: DirichletResampling, chosen: Chosen, relation: Neighbours) -> Resampling:
    """The ledger event: a unit with at most max_rows rows is at most max_rows steps away, under either relation: contingency.md."""
    return Resampling(chosen.table.max_rows * urn.epsilon, Fraction(0), relation)


def _release_rows(
    chosen: Chosen, urn: DirichletResampling, counts: Codes, receipt: Receipt, relation: Neighbours
) -> SyntheticContingency:
    cells = random_order(np.repeat(np.arange(counts.size), counts))
    sizes = tuple(axis.size for axis in chosen.axes)
    drawn = [np.asarray(code, dtype=np.int64) for code in np.unravel_index(cells, sizes)]
    shares = [np.bincount(each, minlength=size) for each, size in zip(drawn, sizes, strict=True)]
    columns = values_of(chosen, possible_codes(rules_of(chosen.table, chosen.axes), drawn, shares))
    return SyntheticContingency(chosen, urn, counts, columns, receipt, relation)


def _fingerprint(chosen: Chosen, urn: DirichletResampling, version: str) -> str:
    columns = [(axis.name, axis.begins, axis.size) for axis in chosen.axes]
    told = ("resampled", version, chosen.table.name, columns, repr(urn), chosen.table.max_rows)
    return hashlib.sha256(repr(told).encode()).hexdigest()
