"""A classifier of a table in the catalog, on one screen: refuse, price, spend, train. Its accuracy is a release of its own.

The ledger entry is written before a row is read, and contains everything that runs. The coefficients alone are kept and released:
the same request again costs nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tacit.accounting.ledger.entries import event_json
from tacit.accounting.ledger.selling import Sale
from tacit.errors import InvalidInput
from tacit.files import write
from tacit.privacy.arguments import text_of, whole_of
from tacit.privacy.catalog import Value, day_of
from tacit.privacy.rounding import Number, as_text, decimal_text
from tacit.publish.trained.features import Feature, inputs_of, plain
from tacit.publish.trained.steps import (
    LARGEST_WEIGHT,
    WEIGHT,
    Design,
    Told,
    Trained,
    curvature_plan,
    designs_for,
    expected_noise,
    gradient_plan,
    train,
)
from tacit.query.language.sql import quoted_name
from tacit.query.price.price import request
from tacit.query.price.work import afford_sums
from tacit.release.answer import Answer, Later, Receipt
from tacit.release.certificates.certificate import Certificate
from tacit.release.certificates.ways import Way, certificate_beside, facts_of
from tacit.release.once import Form, once
from tacit.release.reads import reads_of
from tacit.session import DataSet, Session

MOST_ROWS = 10**12
STEP_OF_SCORE = 1000  # a coefficient in SQL is rounded so that no row's score moves by more than a thousandth by it
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Term:
    """One coefficient: of a column for each unit of it (each day), of a value of a category, or the intercept (no column).

    A date counts days after `since`.
    """

    column: str | None
    value: Value | None
    since: str | None
    coefficient: float
    reach: float

    @property
    def name(self) -> str:
        """The name of the column, with the value of a category."""
        if self.column is None:
            return "intercept"
        return self.column if self.value is None else f"{self.column} = {plain(self.value)}"

    @property
    def sql(self) -> str:
        """The part of the score as SQL, in decimals."""
        amount = _decimal(self.coefficient, max(1.0, self.reach))
        if self.column is None:
            return amount
        column = quoted_name(self.column)
        if self.value is not None:
            return f"CASE WHEN {column} = {_literal(self.value)} THEN {amount} ELSE 0 END"
        return f"{amount} * {column}" if self.since is None else f"{amount} * DATE_DIFF('day', DATE '{self.since}', {column})"

    def of(self, value: Any) -> float:
        """The part of the score of a row with this value."""
        if self.column is None:
            return self.coefficient
        if self.value is not None:
            return self.coefficient if value == self.value else 0.0
        if self.since is not None:
            return self.coefficient * (date.fromisoformat(str(value)[:10]) - date.fromisoformat(self.since)).days
        return self.coefficient * float(value)


@dataclass(frozen=True, slots=True)
class Classifier:
    """A released model: a row is of the class `label` if its score is above 0. All of it may be published."""

    table: str
    label: tuple[str, Value]
    terms: tuple[Term, ...]
    rows: float
    receipt: Receipt
    events: Mapping[str, Any] = field(repr=False)
    certified: Callable[[], Certificate] | None = field(default=None, repr=False)

    @property
    def certificate(self) -> Certificate:
        """Why the price of the model is right, signed."""
        if self.certified is None:
            raise InvalidInput("this model has no certificate: it was read from a file; see the file beside it")
        return self.certified()

    @property
    def coefficients(self) -> dict[str, float]:
        """The coefficients by name: for each unit of a column, or for a value against the first one of its category."""
        return {term.name: term.coefficient for term in self.terms}

    @property
    def score(self) -> str:
        """The score of a row as an SQL expression: above 0, the class is predicted."""
        return " + ".join(term.sql for term in self.terms)

    @property
    def columns(self) -> list[str]:
        """The columns of the features, in order."""
        return list(dict.fromkeys(term.column for term in self.terms if term.column is not None))

    def probabilities(self, rows: Mapping[str, Sequence[Any]]) -> list[float]:
        """The probability of the class for each row of a frame, or of a mapping from columns to values."""
        missing = [name for name in self.columns if name not in rows]
        if missing:
            raise InvalidInput(f"missing column {missing[0]}; the model needs {', '.join(self.columns)}")
        by_name = [self.terms[0].of(None) + 0 * at for at in range(len(rows[self.columns[0]]))]
        for term in self.terms[1:]:
            by_name = [score + term.of(value) for score, value in zip(by_name, rows[term.column or ""], strict=True)]
        return [_logistic(score) for score in by_name]

    def accuracy_sql(self) -> str:
        """The question for the share of rows that the model predicts rightly, and for the share of the class."""
        name, value = self.label
        known = " AND ".join(f"{quoted_name(each)} IS NOT NULL" for each in (*self.columns, name))
        is_class = f"{quoted_name(name)} = {_literal(value)}"
        right = f"AVG(CASE WHEN ({self.score} > 0) = ({is_class}) THEN 1 ELSE 0 END) AS accuracy"
        share = f"AVG(CASE WHEN {is_class} THEN 1 ELSE 0 END) AS class_share"
        return f"SELECT {right}, {share} FROM {quoted_name(self.table)} WHERE {known}"  # noqa: S608  # quoted, and parsed by tacit

    def accuracy(self, session: Session, **budget: Any) -> Answer:
        """The accuracy on the data, with its interval: a release of its own, paid for with its own budget as in `session.sql`.

        Beside it the share of the class, which tells what predicting the more frequent class alone would reach.
        """
        return session.sql(self.accuracy_sql(), **budget)

    def save(self, path: str | Path) -> Path:
        """Write the model as JSON, with its certificate beside it; returns the path."""
        out = write(path, json.dumps(self.to_dict(), indent=1) + "\n")
        if self.certified is not None:
            self.certified().save(certificate_beside(out))
        return out

    def to_dict(self) -> dict[str, Any]:
        """The model and its cost; budgets are exact texts."""
        receipt = self.receipt
        price = {"epsilon": decimal_text(receipt.epsilon), "delta": decimal_text(receipt.delta)}
        return {
            "kind": "classifier",
            "format": FORMAT,
            "table": self.table,
            "label": {"column": self.label[0], "value": self.label[1]},
            "terms": [asdict(term) for term in self.terms],
            "rows": self.rows,
            "score": self.score,
            "price": price,
            "entry": receipt.entry,
            "data_version": receipt.data_version,
            **({"periods": receipt.periods} if receipt.periods else {}),
            "events": self.events,
        }

    def __str__(self) -> str:
        width = max(len(term.name) for term in self.terms)
        lines = [f"{term.name:<{width}}  {term.coefficient: .5g}" for term in self.terms]
        return "\n".join([f"logistic regression for {self.label[0]} = {plain(self.label[1])} of {self.table}", *lines])


@dataclass(frozen=True, slots=True)
class Training:
    """The steps and the cost of a training: everything that is known before anything is spent."""

    design: Design
    rows: int | None

    @property
    def noise(self) -> dict[str, float] | None:
        """The standard deviation of the noise in each coefficient, for the assumed number of rows; None without one."""
        if self.rows is None:
            return None
        noise = expected_noise(self.design, self.rows)
        return {f.name: float(each) * _per_unit(f) for f, each in zip(self.design.inputs.features, noise, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        design = self.design
        return {
            "table": design.inputs.table.name,
            "label": str(design.inputs.label),
            "price": {"epsilon": decimal_text(design.epsilon), "delta": decimal_text(design.delta)},
            "steps": design.steps,
            "coefficients": [feature.name for feature in design.inputs.features],
            "noise_of_gradient": design.noise_of_gradient,
            "rows": self.rows,
            "noise": self.noise,
            "events": event_json(design.event),
        }

    def __str__(self) -> str:
        design, table = self.design, self.design.inputs.table
        law = "Gaussian" if design.law.concentrated else "Laplace"
        delta = f", delta {as_text(design.delta)}" if design.delta else ""
        rows = f"{table.max_rows} row" + "s" * (table.max_rows > 1)
        lines = [
            f"logistic regression for {design.inputs.label} of {table.name}: {design.size} coefficients",
            f"price: epsilon {as_text(design.epsilon)}{delta}, for at most {rows} of one unit; nothing is spent yet",
            f"runs: one matrix of second moments, then {design.steps} gradient steps, each sum with {law} noise",
            f"noise of the mean gradient: {design.noise_of_gradient:.3g} rows (standard deviation)",
        ]
        if self.noise is None:
            return "\n".join([*lines, "noise of the coefficients: depends on the number of rows; assume one with rows=10000"])
        lines.append(f"noise of the coefficients (standard deviation) for {self.rows:,} rows, spread evenly over what is declared:")
        width = max(map(len, self.noise))
        return "\n".join([*lines, *(f"  {name:<{width}}  ± {noise:.3g}" for name, noise in self.noise.items())])


def train_classifier(
    data: DataSet,
    table: str,
    label: str,
    features: Sequence[str] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    periods: str | None = None,
    analyst: str | None = None,
    told: Told | None = None,
) -> Classifier:
    """Logistic regression for a label, (epsilon, delta) for each unit: a fixed number of noisy gradient steps, paid as one event.

    `label` is a column of two declared values, or "column=value". `features` are columns with declared bounds or values; all that
    can be used if omitted. Rows in which one of these is NULL do not count. Where the budget is one of each period, `periods` names
    those that are read and pay, "2026-09" or "2026-01..2026-09".
    """
    designs = _offered(data, table, label, features, epsilon, delta)
    session, inputs = data.session(analyst), designs[0].inputs
    what = f"a classifier of {inputs.table.name}: {inputs.label} by {', '.join(column.name for column in inputs.columns)}"
    reads = reads_of(data.as_prepared, inputs.table, data.version, periods)
    events, key = tuple(design.event for design in designs), _fingerprint(designs, reads.key)
    sale = Sale(events, session.analyst, what, reads.version, key, (inputs.table.name,), charge=reads.charge(events))
    kept: Form[Trained] = Form(lambda trained: _record(trained, designs, what), lambda text: _read_record(text, designs))
    sold = once(data.till, sale, lambda granted: train(designs[granted.offer], reads.engine(data.engine), told), kept)
    design, left = designs[sold.offer], sold.left
    receipt = Receipt(design.epsilon, design.delta, left.epsilon, left.delta, sold.entry, reads.version, sold.repeated)
    receipt = replace(receipt, periods=reads.words)
    certified = Later(partial(data.certified, sold.entry, session.analyst)) if reads.runs is None else None
    return replace(_model(sold.value, receipt), certified=certified)


def explain_classifier(
    data: DataSet,
    table: str,
    label: str,
    features: Sequence[str] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rows: int | None = None,
) -> Training:
    """The price, the steps, and the noise of the coefficients for an assumed number of rows; spends nothing and reads no row."""
    assumed = None if rows is None else whole_of(rows, "rows", 1, MOST_ROWS)
    return Training(_offered(data, table, label, features, epsilon, delta)[0], assumed)


def read_classifier(path: str | Path) -> Classifier:
    """A model that `save` wrote."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
        if (document["kind"], document["format"]) != ("classifier", FORMAT):
            raise ValueError
        price = document["price"]
        receipt = Receipt(
            Fraction(price["epsilon"]), Fraction(price["delta"]), None, None, document["entry"], document["data_version"]
        )
        label, terms = document["label"], tuple(Term(**term) for term in document["terms"])
        return Classifier(
            document["table"], (label["column"], label["value"]), terms, document["rows"], receipt, document["events"]
        )
    except (ValueError, LookupError, TypeError):
        raise InvalidInput(f"{path} is not a model; expected a file that `tacit train classifier` wrote") from None


# --- decided before anything is spent ----------------------------------------------------------------------------------------


def _offered(
    data: DataSet, table: str, label: str, features: Sequence[str] | None, epsilon: Number | None, delta: Number
) -> tuple[Design, ...]:
    catalog = data.as_prepared
    inputs = inputs_of(catalog, text_of(table, "table"), text_of(label, "label"), features)
    designs = designs_for(inputs, request(epsilon=epsilon, delta=delta), catalog.change)
    for plan in (curvature_plan(inputs, designs[0].pairs), gradient_plan(inputs, [LARGEST_WEIGHT * WEIGHT] * designs[0].size)):
        afford_sums(plan, inputs.table, catalog.cores)
    return designs


def _fingerprint(designs: Sequence[Design], version: str) -> str:
    """The identity of a request: columns, label, budget and the prepared data."""
    inputs = designs[0].inputs
    declared = [(column.name, column.kind, column.points, str(column.bounds), column.domain) for column in inputs.columns]
    priced = [event_json(design.event) for design in designs]
    asked = (str(designs[0].epsilon), str(designs[0].delta), inputs.label.column.name, inputs.label.code)
    return hashlib.sha256(repr(("classifier", FORMAT, version, inputs.table.name, declared, asked, priced)).encode()).hexdigest()


def way_of(design: Design, what: str) -> Way:
    """The content of the certificate: how far a unit moves the matrix and each sum of gradients, and the noise for it."""
    inputs, columns = design.inputs, [column.name for column in design.inputs.columns]
    table = inputs.table
    plan = {"table": table.name, "label": str(inputs.label), "columns": columns, "coefficients": design.size, "steps": design.steps}
    way = Way("classifier", what, plan, facts_of(table, [*columns, inputs.label.column.name]))
    told = {"table": table.name, "columns": columns, "max_rows": table.max_rows}
    of_curvature, of_step = way.step("second-moments", told), way.step("gradient", told)
    way.noise("second-moments", of_curvature, design.of_curvature)
    for _ in range(design.steps):
        way.noise("gradient", of_step, design.of_step)
    return way


def _record(trained: Trained, designs: Sequence[Design], what: str) -> str:
    kept = {"certificate": way_of(trained.design, what).kept, "design": designs.index(trained.design)}
    return json.dumps({**kept, "rows": trained.rows, "weights": trained.weights})


def _read_record(text: str, designs: Sequence[Design]) -> Trained:
    kept: Mapping[str, Any] = json.loads(text)
    return Trained(designs[kept["design"]], kept["rows"], tuple(kept["weights"]))


# --- the model in the units of the columns -----------------------------------------------------------------------------------


def _model(trained: Trained, receipt: Receipt) -> Classifier:
    inputs = trained.design.inputs
    first, *others = [_term(feature, weight) for feature, weight in zip(inputs.features, trained.weights, strict=True)]
    moved = sum(term.coefficient * float(_origin(feature)) for term, feature in zip(others, inputs.features[1:], strict=True))
    terms = (replace(first, coefficient=first.coefficient - moved), *others)
    label = (inputs.label.column.name, inputs.label.value)
    return Classifier(inputs.table.name, label, terms, trained.rows, receipt, event_json(trained.design.event))


def _term(feature: Feature, weight: float) -> Term:
    column = feature.column
    if column is None:
        return Term(None, None, None, weight, 1.0)
    if column.kind == "category":
        return Term(column.name, feature.value, None, weight, 1.0)
    since = None if column.kind != "date" or column.bounds is None else day_of(int(column.bounds[0])).isoformat()
    middle, half = feature.middle_and_half
    reach = 2 * half if since is not None else abs(middle) + half
    return Term(column.name, None, since, weight * _per_unit(feature), float(reach))


def _origin(feature: Feature) -> Any:
    """The middle of a declared range in the units of the score: days after its first one for a date; 0 for a category."""
    if feature.column is None or feature.code is not None:
        return 0
    middle, half = feature.middle_and_half
    return half if feature.column.kind == "date" else middle


def _per_unit(feature: Feature) -> float:
    """How much of a feature's way from 0 to 1 is one unit of its column."""
    return 1.0 if feature.column is None or feature.code is not None else float(1 / feature.middle_and_half[1])


def _logistic(score: float) -> float:
    return 1 / (1 + math.exp(-score)) if score > -700 else 0.0


def _decimal(number: float, reach: float) -> str:
    """A decimal that is off by at most a thousandth over a reach of values; negative ones in parentheses.

    >>> _decimal(0.0123456, 90), _decimal(-2, 1)
    ('0.012346', '(-2.0000)')
    """
    digits = max(0, math.ceil(math.log10(STEP_OF_SCORE * reach)))
    text = f"{number:.{digits + 1}f}"
    return f"({text})" if text.startswith("-") else text


def _literal(value: Value) -> str:
    return plain(value).upper() if isinstance(value, bool) else str(value) if isinstance(value, int) else _text(value)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
