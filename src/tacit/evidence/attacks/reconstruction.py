"""Reconstruction of secret bits from counts over subsets, by least squares and by linear programming.

Too many answers that are too exact give every row away: reconstruction from counts over subsets (Dinur and Nissim 2003).

Each of n people has a secret bit, and the attacker may ask how many ones a subset of them has: a harmless looking question, since
no subset is small. Over m random subsets the answers are m linear equations in n unknowns. Least squares solves them, noise and
all, and rounding at 1/2 gives the bits (Kasiviswanathan, Rudelson, Smith and Ullman 2010; Dwork, McSherry and Talwar 2007 by
linear programming). Noise of a few people per answer, that is below sqrt(n) / 2, does not help; noise that grows with the number
of answers does, and a ledger enforces it.

Here numbers are drawn from a seeded generator on purpose: they choose the attacker's questions. Noise is the answerer's business.

Reconstruction by linear programming: the shares that explain the answers best, solved with HiGHS.

Dinur and Nissim (2003) ask for any candidate whose counts all lie within a known bound of the answers (`consistent`). Dwork,
McSherry and Talwar (2007) minimize the sum of absolute errors (`least_absolute`), which needs no bound and survives a share of
answers that are wild: least squares does not. Rounding at 1/2 gives the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import erfc, inf, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import json_figures

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]
Subset = NDArray[np.intp]
ENTRIES = 2**21  # of the question matrix in memory at one time
COLOURS = {"no": "#4c78a8", "yes": "#e07a3f", "?": "#999999"}
PRECISE = 1e-7  # of the solver; rounding at 1/2 needs far less


class Queryable(Protocol):
    """Anything that answers how many of a subset (places from 0) have the secret bit, exactly or not."""

    def query(self, subset: Subset) -> float | None:
        """How many of the subset have the secret bit, exactly or not."""


Answerer = Queryable | Callable[[Subset], float | None]


@dataclass(frozen=True, slots=True)
class Subsets:
    """Random subsets of `people`, each person in each with chance 1/2. They are drawn again at every pass and never stored.

    >>> [subset.tolist() for subset in Subsets(people=5, questions=3, seed=1)]
    [[0, 1, 2, 3, 4], [0, 1, 2, 3], [1, 2]]
    """

    people: int
    questions: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.people < 1 or self.questions < 1:
            raise InvalidInput(f"people and questions must be at least 1, not {self.people} and {self.questions}")

    def __len__(self) -> int:
        return self.questions

    def __iter__(self) -> Iterator[Subset]:
        return (np.flatnonzero(row) for block in self.blocks() for row in block)

    def blocks(self) -> Iterator[NDArray[np.uint8]]:
        """The rows of the 0/1 matrix, a block of them at a time."""
        generator, width = np.random.default_rng(self.seed), 4 * -(-self.people // 32)  # whole words, so blocks do not matter
        most = max(1, ENTRIES // self.people)
        for start in range(0, self.questions, most):
            rows = min(most, self.questions - start)
            packed = np.frombuffer(generator.bytes(rows * width), np.uint8).reshape(rows, width)
            yield np.unpackbits(packed, axis=1, count=self.people)

    def operator(self) -> LinearOperator:
        """The matrix as a linear operator."""
        from scipy.sparse.linalg import LinearOperator

        def times(vector: Floats) -> Floats:
            return np.concatenate([block.astype(np.float64) @ vector.ravel() for block in self.blocks()])

        def transposed_times(vector: Floats) -> Floats:
            total, start = np.zeros(self.people), 0
            for block in self.blocks():
                total += vector.ravel()[start : start + len(block)] @ block.astype(np.float64)
                start += len(block)
            return total

        return LinearOperator((self.questions, self.people), matvec=times, rmatvec=transposed_times, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The attacker's conclusion from the answers: for each person an estimate, to be rounded at 1/2.

    `truth` (the real bits) and `deviation` (of the noise, per answer) are for those who judge an attack; the attacker has neither.
    """

    estimates: Floats
    questions: int
    truth: Bits | None = None
    deviation: float | None = None
    method: str = "least squares"

    @property
    def people(self) -> int:
        """How many people were attacked."""
        return len(self.estimates)

    @cached_property
    def bits(self) -> Bits:
        """The attacker's guess."""
        return self.estimates > 0.5

    @property
    def recovered(self) -> float | None:
        """The share of people whose bit is guessed right, where the truth is known; a coin gets one half."""
        return None if self.truth is None else float((self.bits == self.truth).mean())

    @property
    def predicted(self) -> float | None:
        """The share that theory expects, where the noise is known."""
        return None if self.deviation is None else predicted_share(self.people, self.questions, self.deviation)

    def summary(self) -> str:
        """The result in one or two sentences."""
        text = f"{self.questions:,} answers about subsets of {self.people:,} people, solved by {self.method}"
        if self.recovered is not None:
            text += f": {int((self.bits == self.truth).sum()):,} bits are right, {self.recovered:.1%} (a coin: 50%)"
        return text + (f". Theory expects {self.predicted:.1%}." if self.predicted is not None else ".")

    def to_dict(self) -> dict[str, Any]:
        """The figures, without the estimates."""
        return {
            "people": self.people,
            "questions": self.questions,
            "method": self.method,
            "deviation": self.deviation,
            "recovered": self.recovered,
            "predicted": self.predicted,
        }

    def chart(self, path: str | Path | None = None) -> Any:
        """An Altair chart of the estimates, apart by the true bit where it is known, saved if a path is given."""
        from tacit.chart import charting, save

        alt = charting()
        names = ["?"] * self.people if self.truth is None else ["yes" if bit else "no" for bit in self.truth]
        rows = [{"estimate": float(value), "bit": name} for value, name in zip(self.estimates, names, strict=True)]
        base = alt.Chart(alt.InlineData(values=rows), width=520, height=240, title=self._title(alt))
        legend = [name for name in COLOURS if name in names]
        colours = alt.Scale(domain=legend, range=[COLOURS[name] for name in legend])
        bars = base.mark_bar().encode(
            x=alt.X("estimate:Q", bin=alt.Bin(maxbins=40), title="estimate of a bit; above 1/2 counts as yes"),
            y=alt.Y("count():Q", title="people"),
            color=alt.Color("bit:N", title="in truth", scale=colours),
        )
        border = alt.Chart(alt.InlineData(values=[{"at": 0.5}])).mark_rule(strokeDash=[4, 3]).encode(x="at:Q")
        return save(bars + border, path)

    def _title(self, alt: Any) -> Any:
        share = "" if self.recovered is None else f", {self.recovered:.0%} of the bits recovered"
        return alt.TitleParams("Reconstruction from counts", subtitle=f"{self.questions:,} questions{share}", anchor="start")


def against(
    answerer: Answerer,
    people: int,
    questions: int,
    *,
    seed: int = 0,
    truth: ArrayLike | None = None,
    deviation: float | None = None,
) -> Reconstruction:
    """Ask random subset questions of anything that answers them, and rebuild every bit. `seed` rules the questions alone.

    Exact answers give all away. Where all questions together may cost epsilon 1, each answer is nearly all noise:

    >>> bits = np.random.default_rng(7).integers(0, 2, size=64)
    >>> against(lambda subset: bits[subset].sum(), people=64, questions=128, truth=bits).recovered
    1.0
    >>> from tacit.mechanisms.laplace import Laplace
    >>> noise = Laplace(sensitivity=1, epsilon="1/128", step=1, on_grid=True)
    >>> private = against(lambda subset: noise.release(bits[subset].sum()), people=64, questions=128, truth=bits)
    >>> private.recovered < 0.9
    True
    """
    subsets = Subsets(people, questions, seed)
    ask: Callable[[Subset], float | None] = getattr(answerer, "query", answerer)  # type: ignore[arg-type]
    answers = [_require_answer(ask(subset)) for subset in subsets]
    return reconstruct(subsets, answers, truth=truth, deviation=deviation)


def _require_answer(answer: float | None) -> float:
    if answer is None:
        raise InvalidInput("a query was not answered; ask fewer, or spend less budget on each")
    return float(answer)


def reconstruct(
    questions: Subsets | ArrayLike,
    answers: Sequence[float] | ArrayLike,
    *,
    truth: ArrayLike | None = None,
    deviation: float | None = None,
) -> Reconstruction:
    """The bits that fit the answers best, by least squares around 1/2. `questions` are subsets, or rows of zeros and ones.

    Fewer questions than people are allowed: bits that they leave open stay at 1/2.

    >>> reconstruct([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 2, 1]).bits
    array([False,  True,  True])
    """
    from scipy.sparse.linalg import lsqr

    given = questions.operator() if isinstance(questions, Subsets) else np.asarray(questions, dtype=np.float64)
    matrix, numbers, real = check_shapes(given, answers, truth)
    centre = np.full(matrix.shape[1], 0.5)
    moved = lsqr(matrix, numbers - matrix @ centre, atol=PRECISE, btol=PRECISE)[0]
    return Reconstruction(centre + moved, len(numbers), real, deviation)


def predicted_share(people: int, questions: int, deviation: float) -> float | None:
    """The share of bits that least squares is expected to recover, where more questions are asked than there are people.

    The estimates' covariance is deviation^2 (A'A)^-1, whose diagonal is about 4 / (m - n) for m random 0/1 rows in n unknowns; a
    bit is lost where its error passes 1/2. So the share is Phi(sqrt(m - n) / (4 deviation)).

    >>> [round(predicted_share(128, 512, ratio * sqrt(128) / 2), 3) for ratio in (0.25, 0.5, 1, 2, 4)]
    [1.0, 0.958, 0.807, 0.667, 0.586]
    """
    if questions <= people:
        return None
    spread = inf if deviation == 0 else sqrt(questions - people) / (4 * deviation)
    return erfc(-spread / sqrt(2)) / 2


def check_shapes(matrix: Any, answers: ArrayLike, truth: ArrayLike | None) -> tuple[Any, Floats, Bits | None]:
    """The questions, the answers and the true bits as arrays that fit together; else an error that says what does not."""
    shape, numbers = matrix.shape, np.asarray(answers, dtype=np.float64)
    if len(shape) != 2 or numbers.shape != shape[:1]:
        raise InvalidInput(
            f"expected one row per question and one answer each; questions have shape {shape}, answers {numbers.shape}"
        )
    if not np.isfinite(numbers).all():
        raise InvalidInput("answers must be finite numbers; remove the question whose answer is not", argument="answers")
    if truth is not None and np.shape(truth) != shape[1:]:
        raise InvalidInput(f"the truth has shape {np.shape(truth)}, but the questions are about {shape[1]} people")
    return matrix, numbers, None if truth is None else np.asarray(truth).astype(np.bool_)


# --- reconstruction by linear programming ------------------------------------------------------------------------------------


def least_absolute(
    questions: Subsets | ArrayLike, answers: ArrayLike, *, truth: ArrayLike | None = None, deviation: float | None = None
) -> Reconstruction:
    """The candidate in [0, 1]^n with the least sum of absolute errors.

    Solved in its dual, which has n rows instead of m: maximize a'y - sum max(0, A'y) over |y| <= 1. The candidate is the vector
    of the rows' prices. An answer that is far off has no more weight than one that is a little off:

    >>> rows = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0]]
    >>> least_absolute(rows, [1, 2, 900, 0, 1]).bits
    array([False,  True,  True])
    """
    matrix, numbers, real = check_shapes(_rows(questions), answers, truth)
    count, people = matrix.shape
    solved = _solve(
        np.concatenate([-numbers, np.ones(people)]),
        A_ub=np.hstack([matrix.T, -np.eye(people)]),
        b_ub=np.zeros(people),
        bounds=[(-1, 1)] * count + [(0, None)] * people,
    )
    return Reconstruction(-solved.ineqlin.marginals, count, real, deviation, "linear programming")


def consistent(
    questions: Subsets | ArrayLike, answers: ArrayLike, bound: float, *, truth: ArrayLike | None = None
) -> Reconstruction | None:
    """A candidate in [0, 1]^n all of whose counts are within `bound` of the answers, or None if no such bits exist.

    >>> consistent([[1, 1], [1, 0]], [1.1, 0.1], bound=0.2).bits
    array([False,  True])
    >>> consistent([[1, 1], [1, 0], [0, 1]], [2, 0, 0], bound=0.25) is None
    True
    """
    matrix, numbers, real = check_shapes(_rows(questions), answers, truth)
    people = matrix.shape[1]
    solved = _solve(
        np.zeros(people),
        A_ub=np.vstack([matrix, -matrix]),
        b_ub=np.concatenate([numbers + bound, bound - numbers]),
        bounds=[(0, 1)] * people,
        may_fail=True,
    )
    return None if solved is None else Reconstruction(solved.x, len(numbers), real, None, "a consistent candidate")


def _rows(questions: Subsets | ArrayLike) -> Floats:
    if isinstance(questions, Subsets):
        return np.concatenate([block.astype(np.float64) for block in questions.blocks()])
    return np.asarray(questions, dtype=np.float64)


def _solve(cost: Floats, may_fail: bool = False, **constraints: Any) -> Any:
    from scipy.optimize import linprog

    solved = linprog(cost, method="highs-ipm", **constraints)
    if solved.status == 2 and may_fail:
        return None
    if solved.status != 0:
        raise InvalidInput(f"the linear program has no solution: {solved.message}")
    return solved


# --- the same reconstruction several times over ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Several reconstructions of one kind, each of other bits with other questions; `answers` says who answered.

    >>> one = Reconstruction(np.array([0.9, 0.2]), 12, np.array([True, False]), deviation=0.75)
    >>> print(Trials("exact counts", (one, one)).summary())
    12 answers about subsets of 2 people, from exact counts, solved by least squares, 2 runs:
    100.0% of the bits recovered (a coin: 50%). Theory expects 85.4%.
    """

    answers: str
    runs: tuple[Reconstruction, ...]

    @property
    def recovered(self) -> float:
        """The mean share of bits right."""
        return float(np.mean([run.recovered for run in self.runs if run.recovered is not None]))

    @property
    def predicted(self) -> float | None:
        """The share that theory predicts for one run."""
        return self.runs[0].predicted

    def summary(self) -> str:
        """The result in two sentences."""
        one = self.runs[0]
        text = (
            f"{one.questions:,} answers about subsets of {one.people:,} people, from {self.answers}, solved by {one.method}, "
            f"{len(self.runs)} run{'s' if len(self.runs) > 1 else ''}:\n{self.recovered:.1%} of the bits recovered (a coin: 50%)."
        )
        return text if self.predicted is None else f"{text} Theory expects {self.predicted:.1%}."

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        one = self.runs[0]
        shares = [run.recovered for run in self.runs]
        return json_figures(
            people=one.people,
            questions=one.questions,
            answers=self.answers,
            method=one.method,
            runs=len(self.runs),
            recovered=self.recovered,
            predicted=self.predicted,
            shares=shares,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The estimates of the first run."""
        return self.runs[0].chart(path)
