"""Private keys shown of a power law of 100,000 keys, beside OpenDP: `python -m benchmarks keys`. About ten seconds."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.tables import machine, markdown, write_table
from tacit import GaussianKeyThreshold, KeyThreshold
from tacit.accounting.gaussian_curve import calibrated_rho
from tacit.query.price.price import moves_of_keys

KEYS, PEOPLE, POWER = 100_000, 100_000, 1.1
EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
GROUPS = (1, 4, 16, 64)
PEER = Path(__file__).parent / "peers" / "keys_opendp.py"


def counts_of(groups: int) -> np.ndarray:
    """How many people have each key: each person has up to `groups` keys, drawn by a power law."""
    generator = np.random.default_rng(20261119)
    weights = 1 / np.arange(1, KEYS + 1) ** POWER
    drawn = np.sort(generator.choice(KEYS, size=(PEOPLE, groups), p=weights / weights.sum()), axis=1)
    first = np.ones_like(drawn, dtype=bool)
    first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    return np.bincount(drawn[first], minlength=KEYS)


def run() -> None:
    """Print the table, and write it between its marks in the README."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for groups in GROUPS:
            counts = counts_of(groups)
            np.save(path := Path(folder) / "counts.npy", counts)
            keys = range(KEYS)
            rho = calibrated_rho((moves_of_keys(groups),), (Fraction(1),), EPSILON, DELTA / 2)
            made = KeyThreshold(EPSILON, DELTA, groups), GaussianKeyThreshold(rho, DELTA / 2, groups)
            shown = [len(each.release((keys, counts))) for each in made]
            given = [sys.executable, str(PEER), str(path), str(groups), str(float(EPSILON)), str(float(DELTA))]
            peer = json.loads(subprocess.run(given, capture_output=True, check=True, text=True).stdout)
            chosen = max(range(2), key=lambda at: -made[at].threshold)
            texts = [f"{number:,} ({each.threshold:,})" for number, each in zip(shown, made, strict=True)]
            texts[chosen] = f"**{texts[chosen]}**"
            others = [f"{peer[name]:,} ({at:,})" for name, at in zip(("laplace", "gaussian"), peer["thresholds"], strict=True)]
            rows.append((str(groups), f"{np.count_nonzero(counts):,}", *texts, *others))
    head = ("keys a person", "keys that occur", "tacit, Laplace", "tacit, Gaussian", "OpenDP, Laplace", "OpenDP, Gaussian")
    write_table("keys", f"{machine('opendp')}\n\n{markdown(head, rows)}")


if __name__ == "__main__":
    run()
