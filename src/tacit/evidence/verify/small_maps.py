"""Synthetic maps small enough to list every output for every neighbour, and wrong ones planted among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.accounting.events import Resampling
from tacit.evidence.verify.case import Case, Contracted, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.trial import Pair
from tacit.mechanisms.dirichlet.calibration import PublicFacts, bad_weight_up, excess_up, pure_noise
from tacit.mechanisms.dirichlet.dropping import dropping
from tacit.mechanisms.dirichlet.law import Chances, listed, resampling_chances, urn_chances
from tacit.mechanisms.dirichlet.resampling import DirichletResampling, ProbableDirichlet
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.law import Law
from tacit.privacy.loss import CHANGE_ONE, Loss
from tacit.privacy.rounding import as_text, exp_up
from tacit.privacy.universe import Universe

PURE, DROPPED, PROBABLE = "Synthetic map", "Synthetic map, empty blocks dropped", "Synthetic map, probabilistic"
TWO_BLOCKS, SPARSE = "Synthetic map, all neighbours at once", "Synthetic map, dropped, all neighbours at once"
PRIOR = "Synthetic map with a prior"
WHOLE = DirichletResampling(blocks=3, noise="0.7", draws=4)
DROPPING = ProbableDirichlet(PublicFacts(2, 3, (BlockClass(1), BlockClass(2, "1/2"))), Fraction(3, 4), Fraction(5))
Homes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A small map, its noise, and its claim: outside outputs of probability `delta`, no neighbour differs by more than `ratio`."""

    facts: PublicFacts
    noise: Fraction
    within: Fraction
    delta: Fraction

    @property
    def ratio(self) -> Fraction:
        """The ratio that is claimed, dropping included."""
        extra = dropping(self.facts, self.noise).epsilon
        return self.within * exp_up(extra) if extra else self.within

    def check(self) -> Check:
        """The probability of outputs beyond the ratio, and whether it is within the claim."""
        weight = worst_weight(laws(self.facts, self.noise), self.ratio)
        said = f"outputs that exceed the ratio have probability {as_text(weight)}, where delta is {as_text(self.delta)}"
        return Check("loss", weight <= self.delta, said, float(weight), float(weight / self.delta))

    def __str__(self) -> str:
        return f"delta {float(self.delta):.4g} at ratio {float(self.ratio):.4g}"


@dataclass(frozen=True, slots=True)
class Likely:
    """A small map whose cells have `weights` times the noise, and its claim of a ratio for every neighbour."""

    weights: tuple[int, ...]
    noise: Fraction
    within: Fraction
    workers: int
    draws: int

    def check(self) -> Check:
        """The largest ratio over all outputs and neighbours, and whether it is within the claim."""
        masses = [weight * self.noise for weight in self.weights]
        everybody = [homes.counts for homes in Universe(tuple(range(len(masses)))).databases(self.workers)]
        law = {homes: urn_chances([n + mass for n, mass in zip(homes, masses, strict=True)], self.draws) for homes in everybody}
        worst = max(
            chance / law[other][output]
            for homes in everybody
            for other in neighbours_of(homes)
            for output, chance in law[homes].items()
        )
        said = f"the largest ratio of two neighbours is {as_text(worst)}, where {as_text(self.within)} is claimed"
        return Check("loss", worst <= self.within, said, float(worst), float(worst / self.within))

    def __str__(self) -> str:
        return f"ratio {float(self.within):.4g}"


def laws(facts: PublicFacts, noise: Fraction) -> dict[Homes, Chances]:
    """The law of the output for every way in which the workers can live."""
    keeps = [each.keep for each in facts.classes for _ in range(each.blocks)]
    everybody = Universe(tuple(range(facts.blocks))).databases(facts.workers)
    return {homes.counts: resampling_chances(homes.counts, noise, keeps, facts.draws) for homes in everybody}


def worst_weight(laws_of: Mapping[Homes, Chances], ratio: Fraction) -> Fraction:
    """The largest chance, over all ways to live, of an output that some neighbour gives more or less often by more than `ratio`."""
    return max(
        _bad_weight(chances, [laws_of[other] for other in neighbours_of(homes)], ratio) for homes, chances in laws_of.items()
    )


def neighbours_of(homes: Homes) -> Iterator[Homes]:
    """Every way to live after one worker moved."""
    yield from (other.counts for other in Universe(tuple(range(len(homes)))).database(_rows(homes)).neighbours(CHANGE_ONE))


def _bad_weight(chances: Chances, others: Sequence[Chances], ratio: Fraction) -> Fraction:
    def exceeds(output: Homes, chance: Fraction) -> bool:
        return any(chance > ratio * other[output] or other[output] > ratio * chance for other in others)

    return sum((chance for output, chance in chances.items() if chance and exceeds(output, chance)), Fraction(0))


def _rows(homes: Homes) -> list[int]:
    return [block for block, count in enumerate(homes) for _ in range(count)]


def pairs(facts: PublicFacts) -> tuple[Pair, ...]:
    """Every pair of neighbours, each once."""
    everybody = [homes.counts for homes in Universe(tuple(range(facts.blocks))).databases(facts.workers)]
    return tuple((homes, other) for homes in everybody for other in neighbours_of(homes) if homes < other)


def contracted_cases() -> list[Contracted]:
    """Under the whole contract, on every pair of neighbours."""
    two = _two_blocks()
    probable = ProbableDirichlet(two.facts, two.noise, two.within, two.delta)
    return [
        Contracted(PURE, WHOLE, pairs(PublicFacts(2, WHOLE.draws, WHOLE.classes))),
        Contracted(DROPPED, DROPPING, pairs(DROPPING.facts)),
        Contracted(PROBABLE, probable, pairs(probable.facts)),
    ]


def exhaustive() -> list[Exhaustive]:
    """The stronger claim: the bad outputs of all neighbours together weigh no more than delta."""
    two, sparse = _two_blocks(), _sparse()
    apart = "the claim assumes the worst tails of the counts and the worst price of dropping, and no output here has both"
    likely = _likely()
    return [
        Exhaustive(TWO_BLOCKS, str(two), two.check),
        Exhaustive(SPARSE, str(sparse), sparse.check, unreached=apart),
        Exhaustive(PRIOR, str(likely), likely.check),
    ]


def _likely() -> Likely:
    """Three cells of weights 1, 1 and 4, with the noise of the smallest."""
    return Likely((1, 1, 4), pure_noise(4, 5), Fraction(5), workers=2, draws=4)


def _two_blocks() -> Claim:
    """Four workers, two blocks: the block of two workers is the one most often drawn too often."""
    facts, noise, ratio = PublicFacts(4, 4, (BlockClass(2),), count_noise=True), Fraction(6), Fraction(3, 2)
    return Claim(facts, noise, ratio, bad_weight_up(facts, noise, ratio))


def _sparse() -> Claim:
    """Four workers, one block kept for certain and two that are kept one time in twenty where they are empty."""
    facts, noise, ratio = PublicFacts(4, 8, (BlockClass(1), BlockClass(2, "1/20")), count_noise=True), Fraction(7), Fraction(2)
    return Claim(facts, noise, ratio, bad_weight_up(facts, noise, ratio))


@dataclass(frozen=True)
class PlantedMap:
    """Lists and draws from wrong noise or wrong chances, and claims the loss of `claim`. Nothing releases a map with it."""

    claim: DirichletResampling | ProbableDirichlet
    noise: Fraction
    keeps: tuple[Fraction, ...]
    draws: int

    @property
    def event(self) -> Resampling:
        """The event that the ledger records for one release."""
        return self.claim.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return self.claim.loss

    def release(self, workers: Any) -> Homes:
        """The likeliest output: the bug shows in the law."""
        chances = resampling_chances(workers, self.noise, self.keeps, self.draws)
        return max(chances, key=lambda output: chances[output])

    def law(self, workers: Any) -> Law:
        """The law of the synthetic counts."""
        return listed(resampling_chances(workers, self.noise, self.keeps, self.draws))


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    for plant, (spoiled, what, wrong) in {
        "fakes": (PURE, "noise 5% too small", PlantedMap(WHOLE, WHOLE.noise * Fraction(19, 20), (Fraction(1),) * 3, WHOLE.draws)),
        "occupied": (DROPPED, "noise on occupied blocks only", PlantedMap(DROPPING, DROPPING.noise, (Fraction(0),) * 3, 3)),
    }.items():
        sound = next(case for case in contracted_cases() if case.name == spoiled)
        yield plant, (spoiled, Contracted(f"{spoiled}, {what} (planted)", wrong, sound.pairs))
    claims: dict[str, tuple[str, str, Claim | Likely]] = {
        "counted": (SPARSE, "dropped noise counted on", _noise_counted_on()),
        "tails": (TWO_BLOCKS, "the first two tails only", _first_tails()),
        "prior": (PRIOR, "noise for the prior's mean", replace(_likely(), noise=_likely().noise / 2)),
    }
    for plant, (spoiled, what, claim) in claims.items():
        yield plant, (spoiled, Exhaustive(f"{spoiled}, {what} (planted)", str(claim), claim.check))


def _noise_counted_on() -> Claim:
    """The delta as it would be if every block's fake workers were in the urn."""
    right = _sparse()
    all_kept = PublicFacts(right.facts.workers, right.facts.draws, (BlockClass(right.facts.blocks),), count_noise=True)
    return Claim(right.facts, right.noise, right.within, bad_weight_up(all_kept, right.noise, right.within))


def _first_tails() -> Claim:
    """The delta from blocks with no worker and with one, as if those were always the worst."""
    right = _two_blocks()
    tails = [excess_up(right.facts, right.noise, right.within, workers) for workers in (0, 1)]
    return Claim(right.facts, right.noise, right.within, right.facts.blocks * Fraction(max(tails)))
