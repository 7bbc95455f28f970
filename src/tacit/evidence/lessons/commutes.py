"""Which commutes does a synthetic map overestimate? Expected averages on a made-up state whose flows follow distance.

The setting of a tutorial (Machanavajjhala and others, 2009): 120,690 origins within 100 miles of a destination, ratio 100,
delta 1e-5, and as many synthetic workers as real ones. It reports that short commutes have low error in sparse and dense regions,
and that long commutes in sparse regions are overestimated, on data that is not published with it. Here blocks lie evenly on a disc,
and the share of a destination's workers on a block at distance d falls as e^(-d/reach); a share `far` lives anywhere. Nothing is
drawn: synthetic workers are real or fake in proportion to their mass in the urn, and averages are those of the expected map.

>>> found = commutes(reach=5).to_dict()
>>> found["sparse short"]["error"] < 0.3 < 2 < found["sparse long"]["error"]
True
"""

from __future__ import annotations

import math

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.lessons.blackboard import Example
from tacit.mechanisms.dirichlet.calibration import PublicFacts, allowed_ratio, probable_noise
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.loss import positive_budget, probability
from tacit.privacy.rounding import Number, as_text

ORIGINS = 120_690
RADIUS = 160.934  # 100 miles in kilometers
SHORT = 10.0  # kilometers
JOBS = {"sparse": 200, "dense": 20_000}
RINGS = 4000


def commutes(ratio: Number = 100, delta: Number = "1e-5", reach: float = 5.0, far: float = 0.0) -> Example:
    """The expected error of the average commute, short and long, of a destination with few jobs and of one with many.

    `reach` is in kilometers. An error is (synthetic - real)/real of the averages.
    """
    allowed, chance = allowed_ratio(ratio), probability(positive_budget(delta, "delta"))
    if not 0.1 <= reach <= 1000:
        raise InvalidInput(f"reach must be from 0.1 to 1000 kilometers, not {reach:g}", argument="reach")
    if not 0 <= far <= 1:
        raise InvalidInput(f"far, a share, must be from 0 to 1, not {far:g}", argument="far")
    edges = np.linspace(0, RADIUS, RINGS + 1)
    distance = (edges[:-1] + edges[1:]) / 2
    blocks = ORIGINS * np.diff(edges**2) / RADIUS**2
    near = blocks * np.exp(-distance / reach)
    shares = (1 - far) * near / near.sum() + far * blocks / ORIGINS
    figures: dict[str, dict[str, float]] = {}
    lines = [
        f"{ORIGINS:,} origins within {RADIUS:.0f} km, ratio {as_text(allowed)}, delta {as_text(chance)}; commutes become e times "
        f"as rare over {reach:g} km, and {far:.0%} of them do not follow distance.",
        "  destination       fake per block  fake share  short (to 10 km)         long",
    ]
    for kind, jobs in JOBS.items():
        noise = float(probable_noise(PublicFacts(jobs, jobs, (BlockClass(ORIGINS),)), allowed, chance))
        real, fake = jobs * shares, noise * blocks
        cells = []
        for name, chosen in (("short", distance < SHORT), ("long", distance >= SHORT)):
            truth, made = (_mean(distance, mass, chosen) for mass in (real, real + fake))
            figures[f"{kind} {name}"] = {"real": truth, "synthetic": made, "error": made / truth - 1}
            cells.append(f"{truth:5.1f} km {made / truth - 1:+8.1%}")
        share = fake.sum() / (jobs + fake.sum())
        figures[kind] = {"noise": noise, "fake_share": float(share)}
        lines.append(f"  {kind:6} {jobs:>6,} jobs {noise:>17.3f} {share:>11.1%}  {cells[0]:>16}  {cells[1]:>16}")
    lines += _verdict(figures, reach)
    return Example(tuple(lines), figures)


def _mean(distance: np.ndarray, mass: np.ndarray, chosen: np.ndarray) -> float:
    weight = mass[chosen].sum()
    return float((distance[chosen] * mass[chosen]).sum() / weight) if weight else math.nan


def _verdict(figures: dict[str, dict[str, float]], reach: float) -> list[str]:
    short, *long = (figures[name]["error"] for name in ("sparse short", "sparse long", "dense long"))
    low = "low" if abs(short) < 0.25 else "not low"
    return [
        f"Short commutes to a sparse destination have an error that is {low} ({short:+.0%}).",
        f"Long commutes to a sparse destination are {_direction(long[0])}, to a dense one {_direction(long[1])}.",
        f"It depends on the reach of {reach:g} km beside the {SHORT:g} km of a short commute, and on the fake workers per job: "
        f"fake homes up to {SHORT:g} km away are {SHORT * 2 / 3:.1f} km away on average, wherever the real ones are.",
    ]


def _direction(error: float) -> str:
    return (
        f"overestimated ({error:+.0%})"
        if error > 0.05
        else f"underestimated ({error:+.0%})"
        if error < -0.05
        else f"right ({error:+.0%})"
    )
