"""Which two databases must look alike: the relation that every promise is about.

Add/remove: one row (unit, edge, node with all its edges) is in one database and not in the other; the size is private.
Change-one: one row (unit, edge) has another value; the size is public.

The relation is part of a loss: epsilon under one is not epsilon under the other. A change is a removal and an addition, so
epsilon under add/remove is at most 2 epsilon under change-one (group privacy of two).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeVar

from tacit.errors import InvalidBudget, InvalidInput, WrongRelation
from tacit.privacy.conversion import least_epsilon_up, pure_rho_up
from tacit.privacy.rounding import Number, as_text, brief, exact, exp_up, log_up, sqrt_up

Change = Literal["add-remove", "change-one"]
Protected = Literal["row", "unit", "edge", "node"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A neighbour relation: what may change, of what.

    >>> print(Neighbours("change-one", "unit"))
    change one unit
    """

    change: Change
    of: Protected = "row"

    def __post_init__(self) -> None:
        if self.change not in ("add-remove", "change-one"):
            raise InvalidInput(f"change must be 'add-remove' or 'change-one', not {self.change!r}")
        if self.of not in ("row", "unit", "edge", "node"):
            raise InvalidInput(f"of must be 'row', 'unit', 'edge' or 'node', not {self.of!r}", argument="of")

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have equally many rows."""
        return self.change == "change-one"

    @property
    def histogram_distance(self) -> int:
        """How far the histograms of two neighbours are apart in l1."""
        return 2 if self.change == "change-one" else 1

    def __str__(self) -> str:
        verb = "add or remove" if self.change == "add-remove" else "change"
        return f"{verb} one {self.of}"


def relation_text(relation: Neighbours) -> str:
    """A relation as the ledger writes it, for example `add-remove row`."""
    return f"{relation.change} {relation.of}"


@lru_cache(maxsize=64)
def relation_from(text: str) -> Neighbours:
    """The relation of a text.

    >>> relation_from("change-one unit") == Neighbours("change-one", "unit")
    True
    """
    change, _, of = text.partition(" ")
    return Neighbours(change, of)  # type: ignore[arg-type]  # checked by Neighbours itself


ADD_REMOVE = Neighbours("add-remove", "row")
CHANGE_ONE = Neighbours("change-one", "row")


# --- how much a release may tell ---------------------------------------------------------------------------------------------


def positive_budget(value: Number, name: str = "epsilon") -> Fraction:
    """An exact budget above zero; zero, negative, NaN and infinite ones are refused.

    >>> positive_budget(0.1)
    Fraction(1, 10)
    >>> positive_budget(0)
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidBudget: epsilon must be a finite number above 0, not 0; give for example epsilon=0.5
    """
    number = exact(value, name, InvalidBudget)
    if number <= 0:
        raise InvalidBudget(
            f"{name} must be a finite number above 0, not {brief(value)}; give for example {name}=0.5", argument=name
        )
    return number


def probability(value: Number, name: str = "delta") -> Fraction:
    """An exact number in [0, 1), such as a delta."""
    number = exact(value, name, InvalidBudget)
    if not 0 <= number < 1:
        raise InvalidBudget(
            f"{name} must be at least 0 and below 1, not {brief(value)}; give for example {name}=1e-6", argument=name
        )
    return number


def not_negative(value: Number, name: str) -> Fraction:
    """An exact number of at least zero."""
    number = exact(value, name, InvalidBudget)
    if number < 0:
        raise InvalidBudget(f"{name} must be at least 0, not {brief(value)}", argument=name)
    return number


@dataclass(frozen=True, slots=True)
class Pure:
    """Every output is at most e^epsilon times as likely under one neighbour as under the other (Dwork et al. 2006).

    >>> print(Pure(0.5) + Pure("1/4"))
    pure epsilon 0.75 (add or remove one row)
    """

    epsilon: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(self, epsilon: Number, neighbours: Neighbours = ADD_REMOVE) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon, "epsilon"))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def delta(self) -> Fraction:
        """0: a pure loss holds for every output."""
        return Fraction(0)

    def group(self, size: int) -> Pure:
        """The loss for `size` people together."""
        return Pure(_group_size(size) * self.epsilon, self.neighbours)

    def approximate(self) -> Approximate:
        """The same as (epsilon, 0)."""
        return Approximate(self.epsilon, 0, self.neighbours)

    def probabilistic(self) -> Probabilistic:
        """The same as a probabilistic loss with delta 0."""
        return Probabilistic(self.epsilon, 0, self.neighbours)

    def concentrated(self) -> Concentrated:
        """Pure epsilon is epsilon tanh(epsilon/2) concentrated, at most epsilon^2/2 (accounting/composition.md, section 2)."""
        return Concentrated(pure_rho_up(self.epsilon), 0, self.neighbours)

    def __add__(self, other: Pure) -> Pure:
        return Pure(self.epsilon + _like(self, other).epsilon, self.neighbours)

    def __str__(self) -> str:
        return f"pure epsilon {as_text(self.epsilon)} ({self.neighbours})"


@dataclass(frozen=True, slots=True)
class Approximate:
    """Every event's probability is at most e^epsilon times the neighbour's, plus delta.

    >>> print(Approximate(1, 1e-6).group(2))
    epsilon 2, delta 3.71828e-06 (add or remove one row)
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(self, epsilon: Number, delta: Number, neighbours: Neighbours = ADD_REMOVE) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta))
        object.__setattr__(self, "neighbours", neighbours)

    def group(self, size: int) -> Approximate:
        """(g epsilon, delta (1 + e^epsilon + ... + e^((g-1) epsilon))): delta is passed along a chain of g neighbours."""
        passed = sum((exp_up(step * self.epsilon) for step in range(1, _group_size(size))), start=Fraction(1))
        if self.delta * passed >= 1:
            raise InvalidBudget(f"for a group of {size}, delta would reach 1, which guarantees nothing; use a smaller delta")
        return Approximate(size * self.epsilon, self.delta * passed, self.neighbours)

    def __add__(self, other: Approximate) -> Approximate:
        _like(self, other)
        return Approximate(self.epsilon + other.epsilon, self.delta + other.delta, self.neighbours)

    def __str__(self) -> str:
        return f"epsilon {as_text(self.epsilon)}, delta {as_text(self.delta)} ({self.neighbours})"


@dataclass(frozen=True, slots=True)
class Probabilistic:
    """With probability at least 1 - delta the output is one whose ratio is at most e^epsilon (Machanavajjhala et al. 2008)."""

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE

    def __init__(self, epsilon: Number, delta: Number, neighbours: Neighbours = ADD_REMOVE) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta))
        object.__setattr__(self, "neighbours", neighbours)

    def approximate(self) -> Approximate:
        """Split an event into its good and its bad outputs; the bad ones weigh at most delta."""
        return Approximate(self.epsilon, self.delta, self.neighbours)

    def __add__(self, other: Probabilistic) -> Probabilistic:
        _like(self, other)
        return Probabilistic(self.epsilon + other.epsilon, self.delta + other.delta, self.neighbours)

    def __str__(self) -> str:
        return f"probabilistic epsilon {as_text(self.epsilon)}, delta {as_text(self.delta)} ({self.neighbours})"


@dataclass(frozen=True, slots=True)
class Concentrated:
    """Zero-concentrated: Renyi divergence of every order a > 1 at most rho a; delta is the weight of a branch left out.

    Bun and Steinke 2016, Definitions 1.1 and 8.1.

    >>> print(Concentrated("1/2").approximate(1e-6))
    epsilon 5.22153, delta 1e-06 (add or remove one row)
    """

    rho: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours = ADD_REMOVE

    def __init__(self, rho: Number, delta: Number = 0, neighbours: Neighbours = ADD_REMOVE) -> None:
        object.__setattr__(self, "rho", not_negative(rho, "rho"))
        object.__setattr__(self, "delta", probability(delta))
        object.__setattr__(self, "neighbours", neighbours)

    def group(self, size: int) -> Concentrated:
        """g^2 rho (Bun and Steinke 2016, Proposition 1.9); the theorem has no delta, so convert first if there is a delta."""
        if self.delta:
            raise InvalidInput("group privacy of a concentrated loss requires delta 0; call .approximate(delta) first")
        return replace(self, rho=_group_size(size) ** 2 * self.rho)

    def approximate(self, delta: Number) -> Approximate:
        """(epsilon, d + own delta) by the tight conversion at d, the rest of `delta` (Canonne, Kamath and Steinke 2020)."""
        total = probability(delta)
        rest = total - self.delta
        if rest <= 0:
            raise InvalidBudget(
                f"delta must exceed the {as_text(self.delta)} that the loss has of its own, and be above 0; "
                f"give for example delta={as_text(self.delta + Fraction(1, 10**6))}",
                argument="delta",
            )
        return Approximate(least_epsilon_up(self.rho, rest), total, self.neighbours)

    def __add__(self, other: Concentrated) -> Concentrated:
        _like(self, other)
        return Concentrated(self.rho + other.rho, self.delta + other.delta, self.neighbours)

    def __str__(self) -> str:
        delta = f", delta {as_text(self.delta)}" if self.delta else ""
        return f"concentrated rho {as_text(self.rho)}{delta} ({self.neighbours})"


Loss = Pure | Approximate | Probabilistic | Concentrated
AnyLoss = TypeVar("AnyLoss", Pure, Approximate, Probabilistic, Concentrated)


def concentrated_epsilon_up(rho: Fraction, delta: Fraction) -> Fraction:
    """rho + 2 sqrt(rho ln(1/delta)), rounded up: the closed form (Bun and Steinke 2016, Proposition 1.3), above the tight one.

    >>> float(concentrated_epsilon_up(Fraction(1, 2), Fraction(1, 10**6)))
    5.756521769756932
    """
    return rho + 2 * sqrt_up(rho * log_up(1 / delta)) if rho else Fraction(0)


def weakened(loss: Loss, delta: Number = 0) -> Approximate:
    """Any loss as (epsilon, delta); a concentrated one is converted at `delta`, the others keep their own."""
    return (
        loss
        if isinstance(loss, Approximate)
        else (loss.approximate(delta) if isinstance(loss, Concentrated) else loss.approximate())
    )


def implies(strong: Loss, weak: Loss) -> bool:
    """Whether a theorem used here makes `weak` follow from `strong`.

    >>> implies(Pure(0.5), Approximate(0.5, 1e-6)), implies(Approximate(0.5, 1e-6), Pure(0.5))
    (True, False)
    """
    if strong.neighbours != weak.neighbours:
        return False
    match strong, weak:
        case Concentrated(), Concentrated():
            return strong.rho <= weak.rho and strong.delta <= weak.delta
        case Pure(), Concentrated():
            return pure_rho_up(strong.epsilon) <= weak.rho
        case Concentrated(), Approximate() if strong.rho == 0:
            return strong.delta <= weak.delta  # but for a branch of probability delta the laws are the same: total variation
        case Concentrated(), Approximate():
            return strong.delta < weak.delta and strong.approximate(weak.delta).epsilon <= weak.epsilon
        case Concentrated(), _:
            return strong.rho == 0 and strong.delta == 0  # a branch of probability delta can raise the ratio of any output
        case _, Concentrated():
            return False
        case _, Pure():
            return strong.delta == 0 and strong.epsilon <= weak.epsilon
        case Approximate(), Probabilistic():
            return strong.delta == 0 and strong.epsilon <= weak.epsilon
        case _:
            return strong.epsilon <= weak.epsilon and strong.delta <= weak.delta


def for_change_one(loss: Pure | Approximate | Concentrated) -> Pure | Approximate | Concentrated:
    """A loss under add/remove, restated for change-one: one change is a removal and an addition, a group of two."""
    if loss.neighbours.change != "add-remove":
        raise WrongRelation(
            f"the loss is already stated for '{loss.neighbours}'; only an add/remove loss can be restated as change-one"
        )
    return replace(loss.group(2), neighbours=Neighbours("change-one", loss.neighbours.of))


def largest_concentrated_down(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, whose conversion at `delta` is at most `epsilon`.

    It is (sqrt(L + epsilon) - sqrt L)^2 with L = ln(1/delta): solve rho + 2 sqrt(rho L) = epsilon.

    >>> rho = largest_concentrated_down(Fraction(1), Fraction(1, 10**6))
    >>> concentrated_epsilon_up(rho, Fraction(1, 10**6)) <= 1, round(float(rho), 6)
    (True, 0.017469)
    """
    log = log_up(1 / delta)
    root_down = epsilon / (sqrt_up(log + epsilon) + sqrt_up(log))  # sqrt(L + e) - sqrt(L), without cancellation
    return root_down**2 * (1 - Fraction(1, 10**50))  # so that the conversion, itself rounded up, stays within


def _like(one: AnyLoss, other: AnyLoss) -> AnyLoss:
    if type(one) is not type(other):
        raise WrongRelation(
            f"{type(one).__name__} and {type(other).__name__} losses cannot be added; convert both to one kind first, "
            "for example with .approximate(...)"
        )
    if one.neighbours != other.neighbours:
        raise WrongRelation(
            f"losses of different relations cannot be added: one is for '{one.neighbours}', the other for '{other.neighbours}'; "
            "restate one with for_change_one(...)"
        )
    return other


def _group_size(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InvalidInput(f"size must be a whole number of at least 1, not {size!r}")
    return size
