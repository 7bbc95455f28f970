"""Draws the charts of the gallery of attacks: `python docs/.hooks/attack_charts.py`. Seeded, but for tacit's own noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.evidence.attacks.answerers import fair_bits
from tacit.evidence.attacks.definitions import released_sample
from tacit.evidence.attacks.exponential_adversary import HalfWay, exponential_adversary
from tacit.evidence.attacks.graphs.collusion import EMAIL, collude, email_graph
from tacit.evidence.attacks.graphs.planted import SuccessCurve, aims, attack, points_of
from tacit.evidence.attacks.graphs.planting import relabel, walk_plan
from tacit.evidence.attacks.graphs.power_law import power_law
from tacit.evidence.attacks.graphs.reidentify import re_identify
from tacit.evidence.attacks.isolation import Gallery, gallery
from tacit.evidence.attacks.local_sensitivity import local_sensitivity
from tacit.evidence.attacks.longest_commute import longest_commute
from tacit.evidence.attacks.posterior import auxiliary, posterior_of, wrong_prior
from tacit.evidence.attacks.questioner import isolate_people
from tacit.evidence.attacks.reconstruction_curves import feasible, over_noise, regimes
from tacit.evidence.attacks.samplers import samplers
from tacit.evidence.attacks.tables.downcoding import downcode, made_output
from tacit.evidence.attacks.tables.linkage import demonstration, example, homogeneity
from tacit.evidence.attacks.tables.marginals import attack_blocks, hair_and_eyes, made_blocks
from tacit.evidence.attacks.tables.minimality import tutorial
from tacit.evidence.attacks.tracing import tracing
from tacit.mechanisms.laplace import Laplace
from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.model import Terms, offered
from tacit.publish.tables.adversary.report import group_report

FOLDER = Path(__file__).parent.parent / "ideas" / "attacks"


def main() -> None:
    """Write every chart into the folder of the gallery."""
    weak = gallery("tracker", targets=16)
    unit = 5000**0.5 / 100
    bits = fair_bits(40, seed=0)
    state = made_state()
    totals = state.totals(state.blocks.zones("tract"))
    count = Laplace(sensitivity=1, epsilon=1, step=1, on_grid=True)
    charts = {
        "reconstruction": over_noise(128, 512, runs=10),
        "feasible": feasible(128, [256 * 2**power for power in range(8)]),
        "tracing": tracing(100, 5000, [unit * multiple for multiple in (0, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 4)], runs=5),
        "regimes": regimes(100, (200, 500, 1000, 2000, 5000), runs=1),
        "isolation": Gallery("tracker", {**weak.found, "a session of ours": isolate_people("tracker", 64, 16, epsilon=1)}),
        "floating-point": samplers(100_000, 2_000),
        "local-sensitivity": local_sensitivity(1),
        "definitions": released_sample(100, 10, 20),
        "posterior": posterior_of(count, {"yes": 11, "no": 10}, {"yes": "0.1", "no": "0.9"}),
        "wrong-prior": wrong_prior(),
        "exponential": exponential_adversary(bits, 1, HalfWay.worst(bits, 1)),
        "auxiliary": auxiliary([45, 55, 60, 40, 50] * 200, (0, 200)),
        "longest-commute": longest_commute(
            offered(totals, state.blocks.zones("blockgroup"), Terms(20, 1e-9)), state.homes(totals), 20
        ),
    }
    charts |= of_tables() | of_graphs()
    for name, result in charts.items():
        result.chart(str(FOLDER / f"{name}.svg"))


def of_graphs() -> dict[str, Any]:
    """The attacks on published graphs, on one of the size of the Enron graph."""
    network = power_law(36_692, 184_000, seed=1)
    colluders = {name: EMAIL[name] for name in ("Alice", "Cathy")}
    planted = attack(network, walk_plan(network.nodes, 10, aims(network, 50, 1), 1), 1)
    return {
        "graph-candidates": re_identify(network, ["degree", "neighbours", "neighbourhood", "hubs"]),
        "graph-collusion": collude(relabel(email_graph()[0], 1).graph, colluders),
        "graph-planted-curve": SuccessCurve(planted, tuple(points_of(network, 20, 1))),
    }


def of_tables() -> dict[str, Any]:
    """The attacks on published tables."""
    output, leaves, _ = made_output(60, 3)
    return {
        "minimality": tutorial(),
        "linkage": demonstration()[0],
        "homogeneity": homogeneity(example()),
        "downcoding": downcode(output, leaves, 3),
        "cells": hair_and_eyes(),
        "rebuild": attack_blocks(made_blocks(40)),
        "../../guides/epsilon-privacy": group_report([8, 2, 2], [0.1], ["10"]),
    }


if __name__ == "__main__":
    main()
