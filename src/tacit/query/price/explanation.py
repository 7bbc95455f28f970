"""An explanation as a value: the plan, noise, errors, price and columns of a question, in words and as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy.rounding import as_text, counted, decimal_text
from tacit.query.price.header import Heading
from tacit.untrusted import for_html, for_terminal, table_for_html


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


@dataclass(frozen=True, slots=True)
class Expected:
    """The interval of a column, if it is public in advance: in words, and its half width as a decimal text."""

    column: str
    error: str
    half_width: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The same as plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class AtBudget:
    """The price of a question at one of several epsilons, and its errors there."""

    epsilon: Fraction
    delta: Fraction
    errors: tuple[Expected, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        price = {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}
        return {"price": price, "errors": [expected.to_dict() for expected in self.errors]}


@dataclass(frozen=True, slots=True)
class Charged:
    """The periods that a question is charged to, each with the whole price; its price for a person in all of them, in words.

    `left` is the largest epsilon of a further question that all of them admit; None where no ledger has begun.
    """

    periods: str
    lifetime: str
    left: str | None = None

    def __str__(self) -> str:
        return f"charged to each of {self.periods or 'no period'}; for a person in all of them: {self.lifetime}"

    def to_dict(self) -> dict[str, str | None]:
        """The same as plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan as a tree with the rows of one unit at each step, then noise, errors and price."""

    tree: tuple[str, ...]
    groups: str
    noise: tuple[Noise, ...]
    errors: tuple[Expected, ...]
    epsilon: Fraction
    delta: Fraction
    confidence: Fraction
    left: str = ""
    takes: tuple[str, ...] = ()
    columns: tuple[Heading, ...] = ()
    parameters: tuple[tuple[str, str | None], ...] = ()
    budgets: tuple[AtBudget, ...] = ()
    charged: tuple[Charged, ...] = ()  # of each question of a statement, where the budget is one of each period
    rung: int | None = None  # milliseconds to the reply of a server that hides its clock; None for what is free

    def __str__(self) -> str:
        noises = [line for noise in self.noise for line in _noise_lines(noise)]
        errors = [f"{expected.column}: {expected.error}" for expected in self.errors]
        price = f"epsilon {as_text(self.epsilon)}" + (f", delta {as_text(self.delta)}" if self.delta else "")
        priced = [f"price: {price}" + (f"; {self.left}" if self.left else ""), *self.takes]
        priced += [] if self.rung is None else [f"rung: {self.rung:,} ms, after which a server that hides its clock replies"]
        sections = ([*self.tree, f"groups: {self.groups}"], noises, errors, priced, _budget_lines(self.budgets))
        return "\n\n".join("\n".join(map(for_terminal, lines)) for lines in sections if lines)  # a name has no line of its own

    def _repr_html_(self) -> str:
        """The price and the errors in a table, and all of the text behind a line to click on."""
        price = f"Price: epsilon {as_text(self.epsilon)}" + (f", delta {as_text(self.delta)}" if self.delta else "")
        lines = [price + (f"; {self.left}" if self.left else ""), *self.takes, f"Groups: {self.groups}", "Nothing was spent."]
        rows = [(expected.column, expected.error) for expected in self.errors]
        table = table_for_html([("column", False), ("expected error", False)], rows, lines)
        text = f"<summary>Plan and noise</summary><pre>{for_html(str(self))}</pre>"
        return f'{table}<details style="margin: 0.4em 0.8em">{text}</details>'

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "tree": list(self.tree),
            "groups": self.groups,
            "noise": [{name: getattr(noise, name) for name in Noise.__slots__} for noise in self.noise],
            "errors": [expected.to_dict() for expected in self.errors],
            "price": {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)},
            "confidence": float(self.confidence),
            "left": self.left,
            "takes": list(self.takes),
            "columns": [heading.to_dict() for heading in self.columns],
            "parameters": [{"name": name, "type": named} for name, named in self.parameters],
            "budgets": [each.to_dict() for each in self.budgets],
            "rung_ms": self.rung,
            **({"charged": [each.to_dict() for each in self.charged]} if self.charged else {}),
        }


def _noise_lines(noise: Noise) -> list[str]:
    drawn = f"{noise.what}: {noise.mechanism}, sensitivity {noise.sensitivity}, scale {noise.scale}, {noise.cost}"
    return [drawn, *(f"    {text}" for text in (noise.share, noise.why) if text)]


def _budget_lines(budgets: Sequence[AtBudget]) -> list[str]:
    """One line for each epsilon: the half widths that are known in advance."""
    return [
        f"epsilon {as_text(each.epsilon)}: " + ", ".join(f"{known.column} {_half_width(known)}" for known in each.errors)
        for each in budgets
    ]


def _half_width(expected: Expected) -> str:
    if expected.half_width is not None:
        return f"± {float(expected.half_width):.6g}"
    return "needs --group-rows" if expected.error.startswith("needs") else "not known in advance"


@dataclass(frozen=True, slots=True)
class StreamPrice:
    """The price of a stream in each period and for a person in all of them, and its errors, as plain values and in words."""

    told: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The plain values; budgets are exact texts."""
        return dict(self.told)

    def __str__(self) -> str:
        told = self.told
        horizon, price, word = told["horizon"], told["price"], told["per"] if told["per"].isalpha() else "period"
        rho, whole, alone = (told[name] for name in ("rho", "rho_lifetime", "rho_lifetime_of_independent"))
        epsilon, delta = (as_text(Fraction(price[name])) for name in ("epsilon", "delta"))
        lines = [
            f"stream of {horizon} periods from {told['first']} on, each measured with all periods before it",
            f"price: epsilon {epsilon}, delta {delta} (rho {rho:.4g}) in each period, paid when it is first read, for all "
            f"{horizon} measurements",
            f"price for a person with rows in each of {horizon} periods: rho {whole:.4g}, paid measurement by measurement; "
            f"independent answers cost rho {alone:.4g}, {whole / alone:.3g} times less",
        ]
        for each in told["errors"]:
            width, added = f"± {each['half_width']:.3g}", f"± {each['added_up']:.3g}"
            total = f"total of {counted(each['periods'], word)}"
            lines.append(f"{total}: {width} ({100 * told['confidence']:g} %); {added} by independent answers added up")
        return "\n".join(map(for_terminal, lines))
