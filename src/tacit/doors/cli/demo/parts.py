"""The parts of the demonstration; each can be printed for people or returned as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tacit.accounting.ledger.caps import at_most
from tacit.privacy.rounding import as_text, decimal_text

if TYPE_CHECKING:
    from tacit.accounting.ledger.accounts import Account
    from tacit.errors import Refused
    from tacit.evidence.attacks.reconstruction import Reconstruction
    from tacit.evidence.attacks.samplers import FloatingPoint
    from tacit.release.answer import Answer, Column

BLOCKS = "▁▂▃▄▅▆▇█"
Told = dict[str, Any]


class Part(Protocol):
    """One part of the demonstration."""

    def show(self) -> Iterator[Any]:
        """Yields what is printed, piece by piece."""

    def tell(self, told: Told) -> None:
        """Adds its content to the plain values."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The hospital, generated and prepared."""

    rows: Mapping[str, int]
    generating: float
    preparing: float

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        patients, visits, wards = (f"{self.rows[name]:,}" for name in ("patients", "visits", "wards"))
        yield _title("A generated hospital")
        yield _inset(
            f"{patients} patients with {visits} visits, private; {wards} wards, public. All of them are fictional. "
            f"Generated in {self.generating:.1f} s; prepared in {self.preparing:.1f} s: cleaned once, ready for every query."
        )
        yield _inset(
            "The guarantee, over all releases to all analysts together: if one patient and all their visits are added or removed, "
            "no outcome becomes more than e^3 times as likely (epsilon 3), except with probability 1e-7 (delta)."
        )
        yield _inset("In the tables below, (exact) is the true answer. Only a demonstration may show it.")

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        told["hospital"] = dict(self.rows)


@dataclass(frozen=True, slots=True)
class Question:
    """A query of ana, with its budget and its heading."""

    why: str
    sql: str
    budget: Mapping[str, str]

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        from rich.syntax import Syntax

        asked = ", ".join(f"{name} {value}" for name, value in self.budget.items())
        yield _title(self.why, f"analyst ana, {asked}")
        yield _inset(Syntax(self.sql, "sql", theme="ansi_dark", background_color="default"))

    def tell(self, told: Told, **outcome: Any) -> None:
        """Adds this part to what `--json` prints."""
        told["questions"].append({"sql": self.sql, "asked": dict(self.budget), **outcome})


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and beside it what the exact numbers are, which only a demonstration may show."""

    question: Question
    answer: Answer
    exact: Sequence[tuple[Any, ...]]

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        yield from self.question.show()
        yield _inset(self._table())
        yield _inset(_style((self.answer.footer(), "dim")), above=0)
        for limit in self.answer.limits:
            if limit.endswith("are not shown"):
                hidden = len(self.exact) - len(self.answer)
                yield _inset(f"The threshold: {limit}, because a text of few people would identify them. Not shown here: {hidden}.")

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        self.question.tell(told, answer=self.answer.to_dict(), exact=[list(row) for row in self.exact])

    def _table(self) -> Any:
        from tacit.release.answer import heading

        columns = self.answer.columns
        table = _plain_table()
        for column in columns:
            table.add_column(heading(column), justify="left" if column.is_key else "right")
            if not column.is_key:
                table.add_column("(exact)", justify="right", style="dim")
        keys = [place for place, column in enumerate(columns) if column.is_key]
        exact = {tuple(row[place] for place in keys): row for row in self.exact}
        for at in range(len(self.answer)):
            row = exact[tuple(columns[place].values[at] for place in keys)]
            table.add_row(*(cell for column, number in zip(columns, row, strict=True) for cell in _cells(column, at, number)))
        return table


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """A question that is refused."""

    question: Question
    refusal: Refused

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        yield from self.question.show()
        yield _inset(_style(*_refusal_parts(self.refusal)))

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        refusal = {"code": self.refusal.code, "message": self.refusal.message, "remedy": self.refusal.remedy}
        self.question.tell(told, refused=refusal)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An answer by month, drawn into a file, and as blocks on the screen."""

    question: Question
    answer: Answer
    chart: Path

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        months, values = self.answer["month"], self.answer["visits"]
        low, high = min(values), max(values)
        years: dict[str, str] = {}
        for month, value in zip(months, values, strict=True):
            height = round((value - low) / max(1, high - low) * (len(BLOCKS) - 1))
            years[month[:4]] = years.get(month[:4], "") + BLOCKS[height]
        yield from self.question.show()
        yield _inset(_style(*(part for year, blocks in years.items() for part in ((year, "dim"), f" {blocks}   "))))
        months_told = f"{len(values)} months, from {low:,} to {high:,} visits; with intervals in "
        yield _inset(_style(months_told, (self.chart.name, "bold"), ", which --folder keeps"), above=0)
        yield _inset(_style((self.answer.footer(), "dim")), above=0)

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        self.question.tell(told, answer=self.answer.to_dict(), chart=self.chart.name)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Caps and what remains of them, by name."""

    accounts: Sequence[Account]

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        table = _plain_table("", "epsilon", "remaining")
        for account in self.accounts:
            table.add_row(account.name, as_text(account.cap.epsilon), at_most(account.left.epsilon))
        yield _title("The budget", "one ledger for all analysts; nothing resets it")
        yield _inset(table)

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        told["budget"] = {
            account.name: {"epsilon": decimal_text(account.cap.epsilon), "left": decimal_text(account.left.epsilon)}
            for account in self.accounts
        }


@dataclass(frozen=True, slots=True)
class Attacked:
    """Diagnoses reconstructed from exact counts, and from private ones."""

    question: str
    exact: Reconstruction
    private: Reconstruction
    epsilon: Fraction
    error: int
    refusal: Refused

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        people, questions = self.exact.people, self.exact.questions
        yield _title("An attack: reconstruct diagnoses from counts", "after Dinur and Nissim 2003")
        yield _inset(
            f"{people} of the patients work here, and mallory knows their badges. She asks for {questions} counts, each over about "
            "half of these people. Each count looks harmless; together they reveal who has a chronic diagnosis."
        )
        yield _inset(_style((f"{', '.join(self.question.split(', ')[:8])}, ...)", "cyan")))
        table = _plain_table("answers", "error per answer", "correct diagnoses")
        table.add_row("exact, from a plain engine", "none", _style((f"{_right(self.exact)} of {people}", "red")))
        table.add_row(
            f"from tacit, epsilon {as_text(self.epsilon)} for all of them",
            f"± {self.error:,}",
            _style((f"{_right(self.private)} of {people}", "green")),
        )
        table.add_row("none, guessing at random", "", f"{people // 2} ± {people**0.5:.0f} of {people}", style="dim")
        yield _inset(table)
        yield _inset(_style(f"Her question {questions + 1} is ", *_refusal_parts(self.refusal)))

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        told["reconstruction"] = {
            "people": self.exact.people,
            "questions": self.exact.questions,
            "epsilon": decimal_text(self.epsilon),
            "error": self.error,
            "exact": {"recovered": self.exact.recovered, "predicted": self.exact.predicted},
            "private": {"recovered": self.private.recovered, "predicted": self.private.predicted},
            "next": self.refusal.code,
        }


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How often an output of textbook noise and of tacit identifies the database."""

    attack: FloatingPoint

    def show(self) -> Iterator[Any]:
        """The printed pieces of this part."""
        yield _title("An attack: noise with a fingerprint", "after Mironov 2012")
        yield _inset("Some outputs can come from only one of two neighbouring databases. A single one identifies the database.")
        table = _plain_table("noise", "draws", "identified")
        drawn = f"{2 * self.attack.draws:,}"
        table.add_row("textbook floating-point Laplace", drawn, _style((f"{self.attack.textbook:.1%}", "red")))
        table.add_row("tacit: integers on a public grid", drawn, _style((f"{self.attack.ours:.0%}", "green")))
        yield _inset(table)

    def tell(self, told: Told) -> None:
        """Adds this part to what `--json` prints."""
        told["floating_point"] = {"draws": self.attack.draws, "textbook": self.attack.textbook, "ours": self.attack.ours}


def _title(words: str, aside: str = "") -> Any:
    return _style("\n", (words, "bold"), (f" · {aside}" if aside else "", "dim"))


def _style(*parts: Any) -> Any:
    from tacit.doors.cli.screen import styled

    return styled(*parts)


def _inset(piece: Any, above: int = 1) -> Any:
    from rich.padding import Padding

    return Padding(piece, (above, 0, 0, 2), expand=False)


def _plain_table(*columns: str) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    return table


def _refusal_parts(refusal: Refused) -> tuple[tuple[str, str], str]:
    return (f"refused ({refusal.code})", "yellow"), f": {refusal}"


def _cells(column: Column, at: int, exact: Any) -> list[str]:
    from tacit.release.answer import cell_text

    return [cell_text(column, at)] if column.is_key else [cell_text(column, at), _number(exact)]


def _right(attack: Reconstruction) -> int:
    return round((attack.recovered or 0) * attack.people)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}".removesuffix(".0")
