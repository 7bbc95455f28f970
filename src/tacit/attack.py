"""Attacks on weaker ways to publish, and on tacit itself. Each has its claim, its citation and an example that runs.

`tacit attack` does the same on the command line, with charts. Attackers ask an *answerer*: one of those here, or anything with
`query(subset)`.

>>> from tacit.attack import Exact, Rounding, fair_bits, reconstruction
>>> bits = fair_bits(64, seed=1)
>>> reconstruction(Exact(bits), people=64, questions=128, truth=bits).recovered
1.0
>>> reconstruction(Rounding(bits, to=5), people=64, questions=1024, truth=bits).recovered
1.0
"""

from __future__ import annotations

from tacit.evidence.attacks import hostile_key
from tacit.evidence.attacks.against_session import attack_session as session
from tacit.evidence.attacks.answerers import Exact, MinimumSize, Noise, Noisy, Rounding, Suppressing, fair_bits
from tacit.evidence.attacks.definitions import told_apart
from tacit.evidence.attacks.floating_point import floating_point
from tacit.evidence.attacks.isolation import averaging, differencing, tracker
from tacit.evidence.attacks.posterior import posterior_of as posterior
from tacit.evidence.attacks.questioner import Target
from tacit.evidence.attacks.reconstruction import against as reconstruction
from tacit.evidence.attacks.tables.downcoding import downcode
from tacit.evidence.attacks.tables.homogeneity import homogeneity
from tacit.evidence.attacks.tables.linkage import Person, link
from tacit.evidence.attacks.tables.minimality import Attacker
from tacit.evidence.attacks.tables.minimality import against as minimality
from tacit.evidence.attacks.tables.publishers import BlackBox, FullDomain, LocalRecoding
from tacit.evidence.attacks.tables.rebuild import rebuild
from tacit.evidence.attacks.tables.rules import DifferentValues, GroupSize, MostShare
from tacit.evidence.attacks.tracing import against as tracing

__all__ = [
    "Attacker",
    "BlackBox",
    "DifferentValues",
    "Exact",
    "FullDomain",
    "GroupSize",
    "LocalRecoding",
    "MinimumSize",
    "MostShare",
    "Noise",
    "Noisy",
    "Person",
    "Rounding",
    "Suppressing",
    "Target",
    "averaging",
    "differencing",
    "downcode",
    "fair_bits",
    "floating_point",
    "homogeneity",
    "hostile_key",
    "link",
    "minimality",
    "posterior",
    "rebuild",
    "reconstruction",
    "session",
    "told_apart",
    "tracing",
    "tracker",
]


def __dir__() -> list[str]:
    return __all__
