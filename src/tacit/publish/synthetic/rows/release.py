"""Synthetic rows of any table of a catalog, on one screen: refuse, price, spend, measure, fit, draw.

The ledger entry is written before the data is read, as for a query, and contains everything that runs. The measurements are stored
under the fingerprint of the request: the same request again, for any number of rows, draws from them and costs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.accounting.ledger.entries import event_json
from tacit.accounting.ledger.selling import Sale
from tacit.errors import InvalidInput, NoBudget, StoppedAfterSpending
from tacit.privacy.loss import Change
from tacit.privacy.rounding import Number, as_text, decimal_text
from tacit.publish.synthetic.rows.cells import Axis, Chosen, Codes, chosen_columns
from tacit.publish.synthetic.rows.certified import way_of
from tacit.publish.synthetic.rows.copies import read_copies, varied
from tacit.publish.synthetic.rows.grids import numbers_of
from tacit.publish.synthetic.rows.inference import Model, drawn_codes, fit, read_rows, require_mbi, usual_rows
from tacit.publish.synthetic.rows.marginals import (
    COLUMNS_TOGETHER,
    RARE,
    Design,
    Measured,
    Round,
    Told,
    independent_designs,
    measure,
    tree_designs,
)
from tacit.publish.synthetic.rows.margins import Margin, Support, margins_of, support_of
from tacit.publish.synthetic.rows.never import left_out
from tacit.publish.synthetic.rows.population import CLOSE, Population, require_numba
from tacit.publish.synthetic.rows.rounds import Aim, measure_rounds, rounds_designs
from tacit.query.engines.engine import Engine
from tacit.query.price.price import Request, request
from tacit.query.price.work import afford_counts
from tacit.release.answer import Later, Receipt
from tacit.release.certificates.certificate import Certificate
from tacit.release.certificates.ways import certificate_beside
from tacit.release.once import Form, once
from tacit.release.outputs import check_output, write_output
from tacit.release.reads import Reads, reads_of
from tacit.session import DataSet, Session

Designer = Callable[[Any, Sequence[Axis], Request, Change], tuple[Design, ...]]
SHOWN = 14  # pairs in the line that is printed
COPY = "copy {} of {}, from counts with fresh noise: estimate on each copy, and combine the estimates (tacit.synthesize.combine)"
ALONE = "rows are drawn one by one: the synthetic data does not keep which rows belong to one person"


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable:
    """Released rows, the measurements they were drawn from, and the cost. All of it may be published.

    `codes` are the cells of every column, `columns` the values as Arrow arrays.
    """

    chosen: Chosen
    measured: Measured
    model: Model | Population = field(repr=False)
    codes: tuple[Codes, ...] = field(repr=False)
    columns: Mapping[str, Any] = field(repr=False)
    receipt: Receipt
    certified: Callable[[], Certificate] | None = field(default=None, repr=False)
    copy: tuple[int, int] | None = None

    @property
    def certificate(self) -> Certificate:
        """Why the price of the rows is right, signed."""
        if self.certified is None:
            raise InvalidInput("these rows have no certificate: they were not released from a data set")
        return self.certified()

    @property
    def recalled(self) -> bool:
        """Whether the same analyst had this measured before: then nothing was spent."""
        return self.receipt.again

    @property
    def rows(self) -> int:
        """How many rows were drawn."""
        return int(self.codes[0].size)

    @property
    def pairs(self) -> tuple[tuple[str, ...], ...]:
        """The measured marginals of two or three columns, each once, in the order of their choice."""
        chosen = [*self.measured.pairs, *(each.places for each in self.measured.rounds)]
        return tuple(tuple(self.chosen.axes[at].name for at in places) for places in dict.fromkeys(chosen))

    @property
    def noise(self) -> dict[str, float | None]:
        """The standard deviation of the noise in one cell: of columns, and of pairs; of rounds, the largest and the least."""
        design = self.measured.design
        pairs = [design.pair] if design.pair else [each.noise for each in self.measured.rounds]
        spread = sorted({round(noise.deviation, 2) for noise in pairs})
        told: dict[str, float | None] = {"column": round(design.single.deviation, 2), "pair": spread[-1] if spread else None}
        return {**told, "last": spread[0]} if len(spread) > 1 else told

    @property
    def numbers(self) -> dict[str, dict[str, list[Any]]]:
        """Of each column with privately chosen bins, mean and quartiles: 95 % intervals, for the noise alone."""
        design = self.measured.design
        pairs = zip(design.axes, self.measured.singles, strict=True)
        return {axis.name: numbers_of(axis, released, design.single) for axis, released in pairs if axis.width}

    def redrawn(self, rows: int | None = None) -> SyntheticTable:
        """Other rows from the same released marginals, in any number: post-processing, which costs nothing."""
        number = read_rows(rows)
        number = usual_rows(self.measured) if number is None else number
        codes = drawn_codes(self.measured, self.model, number)
        return replace(self, codes=codes, columns=values_of(self.chosen, codes))

    def copies(self, number: int = 5, rows: int | None = None) -> tuple[SyntheticTable, ...]:
        """Copy 0 from the released marginals, and `number` copies from these with fresh noise: `combine` makes intervals of them.

        Post-processing, which costs nothing. Without `rows`, the number of rows varies too. The rule and its proof: copies.md.
        """
        number, rows = read_copies(number), read_rows(rows)
        return tuple(replace(self._copy(at > 0, rows), copy=(at, number)) for at in range(number + 1))

    def _copy(self, anew: bool, rows: int | None) -> SyntheticTable:
        """One copy, whose relations are as near to the marginals as rows come."""
        measured = varied(self.measured) if anew else self.measured
        number = usual_rows(measured) if rows is None else rows
        model = fit(measured, number, CLOSE)
        codes = drawn_codes(measured, model, number)
        return replace(self, model=model, codes=codes, columns=values_of(self.chosen, codes))

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Every measured margin, with the interval of its noise; what is not in one of them follows from the model alone."""
        return margins_of(self.measured)

    def support(self, columns: Sequence[str]) -> Support:
        """The support of an analysis of some columns together: a measured margin, pairs, or the model alone."""
        return support_of([margin.to_dict() for margin in self.margins], columns, self.chosen.table.name)

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        import pyarrow as pa

        return pa.table(dict(self.columns))

    def to_pandas(self) -> Any:
        """The rows as a data frame."""
        return self.to_arrow().to_pandas()

    def save(self, path: str | Path) -> Path:
        """Write the rows as .parquet, .csv or .csv.gz, with receipt and certificate next to them; returns the receipt's path."""
        return save_rows(self.columns, self.to_dict(), Path(path), self.certified)

    def to_dict(self) -> dict[str, Any]:
        """The release and its cost, without the rows; budgets are exact texts."""
        design, receipt = self.measured.design, self.receipt
        return {
            "table": self.chosen.table.name,
            "rows": self.rows,
            "columns": [axis.name for axis in self.chosen.axes],
            "left_out": dict(self.chosen.left_out),
            "pairs": [list(pair) for pair in self.pairs],
            "noise": self.noise,
            **({"numbers": self.numbers} if self.numbers else {}),
            "margins": [margin.to_dict() for margin in self.margins],
            **({} if self.copy is None else {"copy": {"number": self.copy[0], "of": self.copy[1]}}),
            **receipt_json(receipt),
            "max_rows": self.chosen.table.max_rows,
            "events": event_json(design.event),
            "notes": self.notes,
        }

    @property
    def notes(self) -> list[str]:
        """Facts that a reader must know about the rows, in sentences."""
        words = [f"{name} is left out: {reason}" for name, reason in self.chosen.left_out.items()]
        words += [ALONE] if self.chosen.table.max_rows > 1 else []
        kept = left_out(self.chosen.table, [axis.name for axis in self.chosen.axes])
        words += [f"never = {text!r} is not applied: a column of it is left out" for text in kept]
        words += [COPY.format(*self.copy)] if self.copy and self.copy[0] else []
        return [*words, "measured before: nothing was spent"] if self.recalled else words

    def __str__(self) -> str:
        receipt = self.receipt
        delta = f", delta {as_text(receipt.delta)}" if receipt.delta else ""
        spent = "nothing, because it was measured before" if self.recalled else f"epsilon {as_text(receipt.epsilon)}{delta}"
        where = f" in each of {receipt.periods}" if receipt.periods and not self.recalled else ""
        shown = [" and ".join(places) for places in self.pairs]
        more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN + 1 else ""
        listed = ", ".join(shown[:SHOWN] if more else shown) or "none"
        return f"{self.rows:,} synthetic rows of {self.chosen.table.name}; pairs measured: {listed}{more}; spent {spent}{where}"


def synthesize_table(
    data: DataSet,
    table: str,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    bins: int | None = None,
    aim: Aim | None = None,
    periods: str | None = None,
    analyst: str | None = None,
    told: Told | None = None,
) -> SyntheticTable:
    """Synthetic rows whose columns and chosen marginals resemble the real table's; (epsilon, delta) for each unit.

    Rounds as in McKenna, Mullins, Sheldon and Miklau 2022. `rows` defaults to the noisy total. The price is under the catalog's
    relation. `bins` is a number of even bins for columns of many values that have none in the catalog; `aim` says what the rows
    are for. Where the budget is one of each period, `periods` names those that are read and pay, "2026-09" or "2026-01..2026-09".
    """
    return rows_for(data.session(analyst), (table, columns, bins, periods), epsilon, delta, rows=rows, aim=aim, told=told)


Wanted = tuple[str, Sequence[str] | None, int | None, str | None]  # a table, its columns, bins, and the periods that are read


def rows_for(
    session: Session,
    wanted: Wanted,
    epsilon: Number | None = None,
    delta: Number = 0,
    *,
    rows: int | None = None,
    aim: Aim | None = None,
    told: Told | None = None,
) -> SyntheticTable:
    """The same for a session, whose request the entry names: one that ended and is resumed pays only once."""
    require_numba()
    return _synthesize(partial(rounds_designs, aim=aim), session, _read_request(session.data, wanted, epsilon, delta, rows), told)


def synthesize_tree(
    data: DataSet,
    table: str,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    bins: int | None = None,
    periods: str | None = None,
    analyst: str | None = None,
    told: Told | None = None,
) -> SyntheticTable:
    """The same with pairs along one tree: McKenna, Miklau and Sheldon 2021 (MST). The tree is all that the rows keep."""
    require_mbi()
    asked = _read_request(data, (table, columns, bins, periods), epsilon, delta, rows)
    return _synthesize(tree_designs, data.session(analyst), asked, told)


def synthesize_independent(
    data: DataSet,
    table: str,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    periods: str | None = None,
    analyst: str | None = None,
) -> SyntheticTable:
    """The baseline: the whole budget for the single columns, and rows in which they are independent."""
    asked = _read_request(data, (table, columns, None, periods), epsilon, delta, rows)
    return _synthesize(independent_designs, data.session(analyst), asked, None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that the catalog allows."""

    chosen: Chosen
    budget: Request
    rows: int | None
    reads: Reads


def _read_request(data: DataSet, wanted: Wanted, epsilon: Number | None, delta: Number, rows: int | None) -> Asked:
    if epsilon is None:
        raise NoBudget("missing budget for synthetic rows", remedy="give for example epsilon=1", argument="epsilon")
    table, columns, bins, periods = wanted
    chosen = chosen_columns(data.as_prepared, table, columns, bins, grids=True)
    reads = reads_of(data.as_prepared, chosen.table, data.version, periods)
    return Asked(chosen, request(epsilon=epsilon, delta=delta), read_rows(rows), reads)


def _synthesize(designer: Designer, session: Session, asked: Asked, told: Told | None) -> SyntheticTable:
    """Everything up to the spend is a function of the request, the catalog and the ledger; after it, of released numbers."""
    data, chosen = session.data, asked.chosen
    designs = designer(chosen.table, chosen.axes, asked.budget, data.catalog.change)
    afford_counts(chosen.table, [axis.cell() for axis in chosen.axes], 2 * COLUMNS_TOGETHER, data.catalog.cores)
    reads, what = asked.reads, f"synthetic rows of {chosen.table.name}"
    key, events = _fingerprint(designs, asked), tuple(design.event for design in designs)
    sale = Sale(events, session.analyst, what, reads.version, key, (chosen.table.name,), session.request)
    sale = replace(sale, charge=reads.charge(events), resumes=session.resumes)
    kept: Form[Measured] = Form(lambda measured: _record(measured, designs, what), lambda text: _read_record(text, designs))
    sold = once(data.till, sale, lambda granted: measure_by(designs[granted.offer], reads.engine(data.engine), told), kept)
    design, left = designs[sold.offer], sold.left
    receipt = Receipt(design.epsilon, design.delta, left.epsilon, left.delta, sold.entry, reads.version, sold.repeated)
    receipt = replace(receipt, periods=reads.words)
    certified = Later(partial(data.certified, sold.entry, session.analyst)) if reads.runs is None else None
    return replace(_draw(chosen, sold.value, receipt, asked.rows, told), certified=certified)


def measure_by(design: Design, engine: Engine, told: Told | None = None) -> Measured:
    """The released marginals of a design, by rounds or along a tree."""
    return (measure if design.rounds is None else measure_rounds)(design, engine, told)


def _draw(chosen: Chosen, measured: Measured, receipt: Receipt, rows: int | None, told: Told | None) -> SyntheticTable:
    say = told or (lambda words, share: None)
    try:
        say("fitting a model", 0.9)
        number = usual_rows(measured) if rows is None else rows
        model = fit(measured, number)
        say("drawing rows", 0.98)
        codes = drawn_codes(measured, model, number)
    except KeyboardInterrupt:
        kept = f"stopped; entry {receipt.entry} of the ledger stays spent, and its result is kept: repeat the request at no cost"
        raise StoppedAfterSpending(kept) from None
    return SyntheticTable(chosen, measured, model, codes, values_of(chosen, codes), receipt)


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt as plain values; budgets are exact texts."""
    left = {"epsilon": decimal_text(receipt.left_epsilon or Fraction(0)), "delta": decimal_text(receipt.left_delta or Fraction(0))}
    price = {"epsilon": decimal_text(receipt.epsilon), "delta": decimal_text(receipt.delta)}
    periods = {"periods": receipt.periods} if receipt.periods else {}
    return {"price": price, "left": left, "entry": receipt.entry, "data_version": receipt.data_version, **periods}


def save_rows(
    columns: Mapping[str, Any], receipt: Mapping[str, Any], path: Path, certified: Callable[[], Certificate] | None = None
) -> Path:
    """Write Arrow arrays as .parquet, .csv or .csv.gz, receipt and certificate next to them; returns the receipt's path."""
    out = check_output(path)
    plain = columns if out.suffix == ".parquet" else {name: column.to_pylist() for name, column in columns.items()}
    written = write_output(plain, receipt, out)
    if certified is not None:
        certified().save(certificate_beside(out))
    return written


def values_of(chosen: Chosen, codes: Sequence[Codes]) -> dict[str, Any]:
    """Arrow arrays of values, one for each column."""
    return {axis.name: axis.fill(cells) for axis, cells in zip(chosen.axes, codes, strict=True)}


# --- a release stays the same forever ----------------------------------------------------------------------------------------


def _fingerprint(designs: Sequence[Design], asked: Asked) -> str:
    """The identity of a request: cells, budget, kind of design and the prepared data; not the number of rows."""
    columns = [(axis.name, axis.begins, axis.size, *([axis.width] * bool(axis.width))) for axis in asked.chosen.axes]
    priced = [(repr(design.single), repr(design.pair), str(design.choice), *_told_rounds(design)) for design in designs]
    told = ("synthetic", RARE, asked.reads.key, asked.chosen.table.name, columns, repr(asked.budget), priced)
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _told_rounds(design: Design) -> tuple[str, ...]:
    return () if design.rounds is None else (repr(design.rounds),)


def _record(measured: Measured, designs: Sequence[Design], what: str) -> str:
    kept = {
        "certificate": way_of(measured, what).kept,
        "design": designs.index(measured.design),
        "singles": [single.tolist() for single in measured.singles],
        "pairs": [[*pair, counts.tolist()] for pair, counts in measured.pairs.items()],
        "rounds": [
            {
                "places": each.places,
                "choice": str(each.choice),
                "budget": str(each.noise.budget),
                "counts": each.counts.tolist(),
            }
            for each in measured.rounds
        ],
    }
    return json.dumps(kept)


def _read_record(text: str, designs: Sequence[Design]) -> Measured:
    kept: Mapping[str, Any] = json.loads(text)
    pairs = {(one, other): np.array(counts, dtype=np.int64) for one, other, counts in kept["pairs"]}
    singles = tuple(np.array(single, dtype=np.int64) for single in kept["singles"])
    design = designs[kept["design"]]
    return Measured(design, singles, pairs, tuple(_read_round(each, design) for each in kept.get("rounds", ())))


def _read_round(kept: Mapping[str, Any], design: Design) -> Round:
    noise = replace(design.single, budget=Fraction(kept["budget"]))
    return Round(tuple(kept["places"]), np.array(kept["counts"], dtype=np.int64), Fraction(kept["choice"]), noise)
