"""The disclosure of a reply's time: whether the person that a question is about is in the data.

An engine takes longer if a filter leaves a row than if it leaves none, so the time of a reply can depend on one person, whatever
noise the answer has (Haeberlen, Pierce and Narayan 2011). One server is asked about a person who is in the data and about one
who is not: no other difference between two servers can be taken for the person. The attacker learns a threshold from the first half
of the replies and guesses for each other one. The share of right guesses is binomial, so its interval is exact (Clopper and Pearson
1934). A small advantage is not a small loss: an attacker who may ask often adds the times up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, json_figures, lines
from tacit.evidence.verify.clock import Timed, epsilon_with_clock
from tacit.evidence.verify.proportion import proportion_down, proportion_up

CHEAPEST = Fraction(1, 10**4)  # the least cost of a question
APART = Fraction(1, 10**9)  # between two budgets, so that no two questions are the same and none is a stored answer
WARM_UP = 5  # questions of each side
REST = 0.06  # seconds before each question: below the rate of an account
FEWEST = 20  # replies of each side
ERROR, NORMAL = 0.05, 1.96  # of an interval
SHOWN = 50  # points of a curve
Ask = Callable[[Fraction], object]
Spent = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Sides:
    """Seconds of each reply about a person in the data and about one who is not, in the order in which they were asked."""

    present: tuple[float, ...]
    absent: tuple[float, ...]

    @property
    def auc(self) -> float:
        """The probability that a reply about the present takes longer than one about the absent, ties half (Mann and Whitney 1947).

        >>> Sides((3.0, 4.0), (1.0, 2.0)).auc, Sides((1.0, 2.0), (1.0, 2.0)).auc
        (1.0, 0.5)
        """
        return float(self._longer().mean())

    @property
    def auc_interval(self) -> tuple[float, float]:
        """Approximate interval for `auc` at 95 % confidence: normal, with the variance of DeLong et al. 1988.

        >>> Sides((1.0, 3.0) * 50, (2.0, 2.0) * 50).auc_interval
        (0.4015..., 0.5984...)
        """
        longer = self._longer()
        spread = NORMAL * float(np.sqrt(sum(longer.mean(axis=axis).var(ddof=1) / longer.shape[1 - axis] for axis in (0, 1))))
        return max(0.0, self.auc - spread), min(1.0, self.auc + spread)

    def _longer(self) -> NDArray[np.float64]:
        """For each pair of replies: 1 if the one about the present took longer, 1/2 if both took the same."""
        one, other = np.array(self.present)[:, None], np.array(self.absent)[None, :]
        return np.asarray((one > other) + (one == other) / 2)

    @property
    def guesses(self) -> tuple[int, int]:
        """Right guesses and guesses about the second half, by the threshold and direction that were best on the first."""
        half = min(len(self.present), len(self.absent)) // 2
        at, sign = _threshold(np.array(self.present[:half]), np.array(self.absent[:half]))
        longer = (sign * np.array(self.present[half:]) > sign * at).sum()
        shorter = (sign * np.array(self.absent[half:]) <= sign * at).sum()
        return int(longer + shorter), len(self.present) + len(self.absent) - 2 * half

    @property
    def advantage(self) -> float:
        """Twice the share of right guesses, less one: 0 for a coin, 1 for certainty."""
        right, tried = self.guesses
        return 2 * right / tried - 1

    @property
    def interval(self) -> tuple[float, float]:
        """An interval for the advantage of this threshold, at 95 % confidence."""
        right, tried = self.guesses
        low, high = proportion_down(right, tried, ERROR / 2), proportion_up(right, tried, ERROR / 2)
        return 2 * float(low) - 1, 2 * float(high) - 1

    @property
    def resolution(self) -> float:
        """The smallest advantage that this number of guesses would have distinguished from none."""
        tried = self.guesses[1]
        right = next(each for each in range(tried // 2, tried + 1) if 2 * float(proportion_down(each, tried, ERROR / 2)) > 1)
        return 2 * right / tried - 1

    @property
    def epsilon(self) -> float:
        """The time of one reply loses at least this epsilon, at confidence 0.999."""
        one, other = (Timed(["reply"] * len(each), np.array(each)) for each in (self.present, self.absent))
        return epsilon_with_clock(one, other).bound

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        medians = {f"median_{name}": float(np.median(getattr(self, name))) for name in ("present", "absent")}
        figures = {
            "auc": self.auc,
            "auc_interval": self.auc_interval,
            "advantage": self.advantage,
            "interval": self.interval,
            "resolution": self.resolution,
        }
        return json_figures(**medians, **figures, epsilon_at_least=self.epsilon)


def _threshold(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, int]:
    """The time, and 1 if longer replies mean the first side (-1 if shorter ones do), that guess most of these right."""
    places = np.unique(np.concatenate([one, other]))
    right = [((one > at).mean() + (other <= at).mean(), float(at), 1) for at in places]
    right += [((one < at).mean() + (other >= at).mean(), float(at), -1) for at in places]
    _, at, sign = max(right)
    return at, sign


@dataclass(frozen=True, slots=True)
class ReplyTimes:
    """Replies about a person in the data and one who is not: by the analyst's clock, and the processor if it was watched."""

    question: str
    epsilon: Fraction
    wall: Sides
    processor: Sides | None = None

    def summary(self) -> str:
        """The result in sentences."""
        count = (
            f"{len(self.wall.present):,} replies about somebody in the data and {len(self.wall.absent):,} about somebody who is not"
        )
        said = [f"Of {count}, the clock of the analyst tells: {_side_text(self.wall)}"]
        if self.processor is not None:
            said.append(f"The processor time of the server, which a quiet machine would show: {_side_text(self.processor)}")
        price = f"Each question was paid for with epsilon {float(self.epsilon):.4g}, which covers its answer and not its time."
        return "\n".join([*said, price])

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        processor = None if self.processor is None else self.processor.to_dict()
        return json_figures(question=self.question, epsilon=self.epsilon, wall=self.wall.to_dict(), processor=processor)

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of the replies that take at most each time, for each of the two; saved if a path is given."""
        rows = _curves(self.wall, "")
        if self.processor is not None:
            rows += _curves(self.processor, ", processor time")
        return lines(rows, Axes("milliseconds", "share of replies", logarithmic_x=True, share=True), "What the clock tells", path)


def _side_text(sides: Sides) -> str:
    low, high = sides.interval
    times = " and ".join(f"{float(np.median(each)) * 1e3:.1f} ms" for each in (sides.present, sides.absent))
    whole = "{:.2f} ({:.2f} to {:.2f})".format(sides.auc, *sides.auc_interval)
    times_text = f"medians {times}, AUC {whole}, advantage {sides.advantage:+.2f} ({low:+.2f} to {high:+.2f}; 95 % confidence each)"
    seen = f"a loss of at least epsilon {sides.epsilon:.2f}" if sides.epsilon else "no loss of epsilon that is certain"
    return f"{times_text}, {seen}. An advantage below {sides.resolution:.2f} would not have been noticed."


def _curves(sides: Sides, of: str) -> list[dict[str, Any]]:
    shares = np.linspace(0, 1, SHOWN + 1)
    named = (("in the data", sides.present), ("not in the data", sides.absent))
    return [
        {"x": float(at) * 1e3, "y": float(share), "series": f"{name}{of}"}
        for name, times in named
        for share, at in zip(shares, np.quantile(np.array(times), shares), strict=True)
    ]


def reply_times(
    question: str, asks: tuple[Ask, Ask], count: int, spent: Spent | None = None, rest: float | None = None
) -> ReplyTimes:
    """Ask about a person in the data (the first of `asks`) and about one who is not, `count` times each, in a random order.

    Every question has a budget of its own, so that none is a stored answer. `spent` has the processor seconds of the server so far,
    if they can be watched.
    """
    if count < FEWEST:
        raise InvalidInput(f"too few replies: the smallest count is {FEWEST}; raise --count")
    turns = np.repeat([0, 1], count)
    np.random.default_rng().shuffle(turns)  # the order of a measurement; nothing is released with it
    budgets = (CHEAPEST + APART * number for number in range(1, 2 * (count + WARM_UP) + 1))
    for turn in [0, 1] * WARM_UP:
        asks[turn](next(budgets))
    clock: tuple[list[float], list[float]] = ([], [])
    busy: tuple[list[float], list[float]] = ([], [])
    for turn in turns.tolist():
        time.sleep(REST if rest is None else rest)
        before = spent() if spent else 0.0
        begun = time.perf_counter()
        asks[turn](next(budgets))
        clock[turn].append(time.perf_counter() - begun)
        if spent:
            busy[turn].append(spent() - before)
    processor = Sides(tuple(busy[0]), tuple(busy[1])) if spent else None
    return ReplyTimes(question, CHEAPEST, Sides(tuple(clock[0]), tuple(clock[1])), processor)
