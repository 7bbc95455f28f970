"""What `tacit verify` runs: every mechanism of tacit on neighbours that try it hardest, and, if asked, one planted bug."""

from __future__ import annotations

from tacit.errors import InvalidInput
from tacit.evidence.verify.case import Case
from tacit.evidence.verify.plants import PLANTED
from tacit.evidence.verify.subjects import sound
from tacit.evidence.verify.trial import Effort

QUICK = Effort(samples=1_000)
FULL = Effort(samples=50_000)


def cases(plant: str | None = None) -> list[Case]:
    """All cases; with a plant, its case in place of the sound one that it spoils.

    >>> len(cases("noise")) == len(cases()), cases("noise")[0].name
    (True, 'Laplace, a count, noise 10% too small (planted)')
    """
    if plant is None:
        return sound()
    if plant not in PLANTED:
        raise InvalidInput(f"plant must be one of {', '.join(PLANTED)}, not {plant!r}")
    spoiled, planted = PLANTED[plant]
    usual = sound()
    if spoiled not in {case.name for case in usual}:
        raise InvalidInput(f'{spoiled!r} requires the package numba, which is not installed; run: pip install "tacit[graphs]"')
    return [planted if case.name == spoiled else case for case in usual]
