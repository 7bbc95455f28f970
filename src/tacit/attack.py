"""Attacks on weaker ways to publish, and on tacit itself. Each has its claim, its citation and an example that runs.

`tacit attack` does the same on the command line, with charts. Attackers ask an *answerer*: one of those here, or anything with
`query(subset)`.

>>> from tacit.attack import Exact, Rounding, fair_bits, reconstruction
>>> bits = fair_bits(64, seed=1)
>>> reconstruction(Exact(bits), people=64, questions=128, truth=bits).recovered
1.0
>>> reconstruction(Rounding(bits, to=5), people=64, questions=1024, truth=bits).recovered
1.0

Those on published graphs take a `tacit.graphs.Graph`. Two people who know their own contacts name two more:

>>> from tacit.attack import collude, email_graph
>>> graph, names = email_graph()
>>> contacts = {who: [names[node] for node in graph.neighbours(names.index(who))] for who in ("Alice", "Cathy")}
>>> collude(graph, contacts).edges
(('Bob', 'Ed'),)
"""

from __future__ import annotations

from tacit.evidence.attacks import hostile_key
from tacit.evidence.attacks.against_session import attack_session as session
from tacit.evidence.attacks.answerers import Exact, MinimumSize, Noise, Noisy, Rounding, Suppressing, fair_bits
from tacit.evidence.attacks.definitions import told_apart
from tacit.evidence.attacks.graphs.coalition import attempt as coalition
from tacit.evidence.attacks.graphs.collusion import collude, email_graph
from tacit.evidence.attacks.graphs.grouping import Grouping
from tacit.evidence.attacks.graphs.grouping import attack_grouping as grouping
from tacit.evidence.attacks.graphs.planted import aims
from tacit.evidence.attacks.graphs.planted import attack as planted
from tacit.evidence.attacks.graphs.planting import simple_plan, walk_plan
from tacit.evidence.attacks.graphs.recovery import Tolerance
from tacit.evidence.attacks.graphs.reidentify import re_identify
from tacit.evidence.attacks.isolation import averaging, differencing, tracker
from tacit.evidence.attacks.posterior import posterior_of as posterior
from tacit.evidence.attacks.questioner import Target
from tacit.evidence.attacks.reconstruction import against as reconstruction
from tacit.evidence.attacks.samplers import floating_point
from tacit.evidence.attacks.tables.downcoding import downcode
from tacit.evidence.attacks.tables.linkage import Person, homogeneity, link
from tacit.evidence.attacks.tables.marginals import rebuild
from tacit.evidence.attacks.tables.minimality import Attacker
from tacit.evidence.attacks.tables.minimality import against as minimality
from tacit.evidence.attacks.tables.publishers import BlackBox, DifferentValues, FullDomain, GroupSize, LocalRecoding, MostShare
from tacit.evidence.attacks.tracing import against as tracing

__all__ = [
    "Attacker",
    "BlackBox",
    "DifferentValues",
    "Exact",
    "FullDomain",
    "GroupSize",
    "Grouping",
    "LocalRecoding",
    "MinimumSize",
    "MostShare",
    "Noise",
    "Noisy",
    "Person",
    "Rounding",
    "Suppressing",
    "Target",
    "Tolerance",
    "aims",
    "averaging",
    "coalition",
    "collude",
    "differencing",
    "downcode",
    "email_graph",
    "fair_bits",
    "floating_point",
    "grouping",
    "homogeneity",
    "hostile_key",
    "link",
    "minimality",
    "planted",
    "posterior",
    "re_identify",
    "rebuild",
    "reconstruction",
    "session",
    "simple_plan",
    "told_apart",
    "tracing",
    "tracker",
    "walk_plan",
]
