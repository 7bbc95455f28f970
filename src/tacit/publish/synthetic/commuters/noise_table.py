"""How many fake workers a block needs at each ratio: the table of the tutorial, for any destination.

The tutorial prints one such table (17.5, 5.5, 2.16 and 0.74 for a million workers and a delta of 1e-5) without the number of
blocks. No condition proved here gives that row: 17.5 would need a few thousand blocks, 5.5 some 40,000, and 2.16 and 0.74 some
100,000. So it is neither reproduced nor claimed; these are tacit's own values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.mechanisms.dirichlet.calibration import PublicFacts, allowed_ratio, probable_noise, pure_noise
from tacit.mechanisms.dirichlet.dropping import dropping
from tacit.privacy.rounding import Number, log_up
from tacit.publish.synthetic.commuters.model import require_promise

RATIOS = (5, 10, 20, 50)
RELATION = "One job moves from one block to another; the workers and the synthetic workers of a destination are public."


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """The noise per block for one ratio: pure, probabilistic, and probabilistic with the fake workers of certain blocks counted on.

    `blocks` is the number of blocks: the noise of one times that is the total. `fakes` is the share of fake workers in the urn with
    the probabilistic noise if every block is kept. `extra` is the part of epsilon that dropping then adds, 0 if nothing is dropped.
    """

    ratio: Fraction
    blocks: int
    pure: Fraction
    probable: Fraction
    counted: Fraction
    fakes: Fraction
    extra: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The logarithm of the ratio, rounded up."""
        return log_up(self.ratio)

    @property
    def whole(self) -> Fraction:
        """The total epsilon of the noise and the dropping."""
        return self.epsilon + self.extra


def noise_table(facts: PublicFacts, delta: Number, ratios: Sequence[Number] = RATIOS) -> tuple[NoiseRow, ...]:
    """One row for each ratio.

    >>> from tacit.mechanisms.noise.urn import BlockClass
    >>> for row in noise_table(PublicFacts(10**6, 10**6, (BlockClass(10**5),)), delta=1e-5):
    ...     print(row.ratio, written_up(row.pure), written_up(row.probable), written_up(row.counted))
    5 250000 21.50 9.250
    10 111112 5.667 4.112
    20 52632 2.158 1.843
    50 20409 0.735 0.694
    """
    allowed = [allowed_ratio(ratio) for ratio in ratios]
    for ratio in allowed:
        require_promise(log_up(ratio))
    return tuple(_row(facts, ratio, delta) for ratio in allowed)


def written_up(noise: Fraction) -> str:
    """A noise as printed, rounded up: an integer from 1000 on, two decimals from 10 on, else three.

    >>> written_up(Fraction(10**6, 9)), written_up(Fraction(86, 4)), written_up(Fraction(36, 49))
    ('111112', '21.50', '0.735')
    """
    places = 0 if noise >= 1000 else 2 if noise >= 10 else 3
    whole = math.ceil(noise * 10**places)
    return f"{whole / 10**places:.{places}f}" if places else str(whole)


def total_up(noise: Fraction, blocks: int) -> str:
    """The fake workers of all blocks together, in words, rounded up to three digits from a million on.

    The tutorial has eight million blocks: 160 billion fake workers with the 20,000 per block that pure privacy needs at ratio 50,
    and 6 million with 0.74 per block.

    >>> total_up(Fraction(20_000), 8 * 10**6), total_up(Fraction(74, 100), 8 * 10**6), total_up(Fraction(1, 3), 1000)
    ('160 billion', '5.92 million', '334')
    """
    total = math.ceil(noise * blocks)
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if total >= size:
            places = max(0, 3 - len(str(total // size)))
            return f"{math.ceil(Fraction(total, size) * 10**places) / 10**places:,.{places}f} {word}"
    return f"{total:,}"


def fake_share(facts: PublicFacts, noise: Fraction) -> Fraction:
    """k a / (n + k a): the share of fake workers in the urn if every block is kept.

    The tutorial's eight million blocks with 0.74 fake workers each: six in seven.

    >>> from tacit.mechanisms.noise.urn import BlockClass
    >>> round(float(fake_share(PublicFacts(10**6, 10**6, (BlockClass(8 * 10**6),)), Fraction(74, 100))), 3), round(6 / 7, 3)
    (0.855, 0.857)
    """
    return facts.blocks * noise / (facts.workers + facts.blocks * noise)


def _row(facts: PublicFacts, ratio: Fraction, delta: Number) -> NoiseRow:
    plain = PublicFacts(facts.workers, facts.draws, facts.classes)
    counting = PublicFacts(facts.workers, facts.draws, facts.classes, count_noise=True)
    noise = probable_noise(plain, ratio, delta)
    counted = probable_noise(counting, ratio, delta)
    extra = dropping(plain, noise).epsilon
    return NoiseRow(ratio, facts.blocks, pure_noise(facts.draws, ratio), noise, counted, fake_share(facts, noise), extra)
