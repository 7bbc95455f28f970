"""MST and AIM on the package mbi: `python -m benchmarks.peers.synthetic_mbi METHOD CODES RHO SEED OUT`.

Both follow the papers (McKenna, Miklau and Sheldon 2021; McKenna, Mullins, Sheldon and Miklau 2022) on mbi's models: Gaussian
noise by numpy, rho given by the caller, so that all methods of one table have the same. AIM has the workload of all pairs,
60 rounds, and models of at most 8 MB.

CODES is an .npz with `codes` (rows, columns) and `sizes`; OUT gets the codes of the synthetic rows.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys

import jax

jax.config.update("jax_enable_x64", True)
import mbi  # noqa: E402  # after the precision is set
import numpy as np  # noqa: E402
from mbi.junction_tree import hypothetical_model_size  # noqa: E402

Clique = tuple[str, ...]
ROUNDS, MEGABYTES, STEPS, RARE = 60, 8.0, 500, 3
GAIN = 1e-6  # relative, over fifty steps, below which a model between two rounds is taken as fitted


class Table:
    """Exact marginals of codes."""

    def __init__(self, codes: np.ndarray, sizes: list[int]) -> None:
        self.codes, self.sizes = codes, sizes
        self.names = [str(at) for at in range(len(sizes))]
        self.domain = mbi.Domain(self.names, sizes)

    def counts(self, clique: Clique) -> np.ndarray:
        places = [int(name) for name in clique]
        flat = np.ravel_multi_index(tuple(self.codes[:, at] for at in places), [self.sizes[at] for at in places])
        return np.bincount(flat, minlength=int(np.prod([self.sizes[at] for at in places]))).astype(float)


def project(model: mbi.Model, clique: Clique) -> np.ndarray:
    return np.asarray(model.project(clique).datavector())


def projections(model: mbi.Model, cliques: list[Clique]) -> dict[Clique, np.ndarray]:
    """The marginals of many cliques, by numpy: the package compiles a program for each, which takes most of the time of a run."""
    names = {name: at for at, name in enumerate(model.domain.attributes)}
    factors: list[object] = []
    for clique in model.potentials.cliques:
        potential = np.asarray(model.potentials[clique].values)
        factors += [np.exp(potential - potential.max()), [names[name] for name in clique]]
    found = {}
    for clique in cliques:
        joint = np.einsum(*factors, [names[name] for name in clique], optimize="greedy")
        found[clique] = joint.ravel() * (float(model.total) / joint.sum())
    return found


def choose(scores: np.ndarray, epsilon: float, sensitivity: float, generator: np.random.Generator) -> int:
    weights = np.exp(0.5 * epsilon / sensitivity * (scores - scores.max()))
    return int(generator.choice(scores.size, p=weights / weights.sum()))


def aim(table: Table, rho: float, generator: np.random.Generator) -> np.ndarray:
    """Rounds of choosing, measuring and fitting, with annealed budgets."""
    columns = [(name,) for name in table.names]
    pairs = list(itertools.combinations(table.names, 2))
    weights = {clique: float(sum(len(set(clique) & set(pair)) for pair in pairs)) for clique in [*columns, *pairs]}
    answers = {clique: table.counts(clique) for clique in weights}
    sigma, epsilon = np.sqrt(ROUNDS / (1.8 * rho)), np.sqrt(0.8 * rho / ROUNDS)
    used, cliques, log = 0.0, list(columns), []

    def measured(clique: Clique) -> None:
        log.append(mbi.LinearMeasurement(answers[clique] + generator.normal(0, sigma, answers[clique].size), clique, sigma))

    for clique in columns:
        measured(clique)
        used += 0.5 / sigma**2
    engine = mbi.estimation.MirrorDescent()
    model = engine.estimate(table.domain, log, iters=STEPS)
    last = False
    while not last:
        if rho - used < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
            left, last = rho - used, True
            sigma, epsilon = np.sqrt(1 / (1.8 * left)), np.sqrt(0.8 * left)
        used += epsilon**2 / 8 + 0.5 / sigma**2
        room = MEGABYTES * used / rho
        small = [c for c in weights if c in cliques or len(c) == 1 or hypothetical_model_size(table.domain, [*cliques, c]) <= room]
        bias = np.sqrt(2 / np.pi) * sigma
        guesses = projections(model, small)
        far = [weights[c] * (np.abs(answers[c] - guesses[c]).sum() - bias * answers[c].size) for c in small]
        clique = small[choose(np.array(far), epsilon, max(weights[c] for c in small), generator)]
        before = guesses[clique]
        jax.clear_caches()  # each model compiles programs of its own, until no memory can be mapped any more
        measured(clique)
        cliques.append(clique)
        model = engine.estimate(table.domain, log, iters=STEPS, warm_start=model, tol=GAIN)
        print(f"round {len(log) - len(columns)}: {used / rho:.3f} of rho", file=sys.stderr, flush=True)
        if np.abs(project(model, clique) - before).sum() <= bias * before.size:
            sigma, epsilon = sigma / 2, epsilon * 2
    model = engine.estimate(table.domain, log, iters=STEPS, warm_start=model)
    return rows_of(model, table)


def mst(table: Table, rho: float, generator: np.random.Generator) -> np.ndarray:
    """A third for columns, a third for the tree, a third for its pairs; rare values are merged."""
    number = len(table.sizes)
    sigma = np.sqrt(3 * number / (2 * rho))
    singles = [table.counts((name,)) for name in table.names]
    singles = [counts + generator.normal(0, sigma, counts.size) for counts in singles]
    groups = [merged(noisy, RARE * sigma) for noisy in singles]
    coarse = Table(np.stack([of[table.codes[:, at]] for at, of in enumerate(groups)], axis=1), [int(of.max()) + 1 for of in groups])
    log = []
    for name, noisy, of in zip(table.names, singles, groups, strict=True):
        together = np.bincount(of, weights=noisy)
        log.append(mbi.LinearMeasurement(together, (name,), sigma * np.sqrt(noisy.size / together.size)))
    engine = mbi.estimation.MirrorDescent()
    model = engine.estimate(coarse.domain, log, iters=STEPS)
    pairs = list(itertools.combinations(table.names, 2))
    far = {pair: np.abs(coarse.counts(pair) - project(model, pair)).sum() for pair in pairs}
    part, tree = {name: name for name in table.names}, []
    epsilon = np.sqrt(8 * rho / 3 / (number - 1))
    while joining := [pair for pair in pairs if part[pair[0]] != part[pair[1]]]:
        pair = joining[choose(np.array([far[pair] for pair in joining]), epsilon, 1.0, generator)]
        tree.append(pair)
        part = {name: part[pair[0]] if of == part[pair[1]] else of for name, of in part.items()}
    sigma = np.sqrt(3 * len(tree) / (2 * rho))
    for pair in tree:
        exact = coarse.counts(pair)
        log.append(mbi.LinearMeasurement(exact + generator.normal(0, sigma, exact.size), pair, sigma))
    model = engine.estimate(coarse.domain, log, iters=3 * STEPS)
    drawn = rows_of(model, coarse)
    for at, of in enumerate(groups):
        cells = [np.flatnonzero(of == group) for group in range(int(of.max()) + 1)]
        drawn[:, at] = [generator.choice(cells[group]) for group in drawn[:, at]]
    return drawn


def merged(noisy: np.ndarray, least: float) -> np.ndarray:
    rare = noisy < least
    return np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1) if rare.any() else np.arange(noisy.size)


def rows_of(model: mbi.Model, table: Table) -> np.ndarray:
    made = model.synthetic_data(rows=table.codes.shape[0]).to_dict()
    return np.stack([np.asarray(made[name]) for name in table.names], axis=1).astype(np.int64)


METHODS = {"aim": aim, "mst": mst}

if __name__ == "__main__":
    method, source, rho, seed, out = sys.argv[1:]
    given = np.load(source)
    np.random.seed(int(seed))  # mbi draws its rows from numpy's own generator
    table = Table(given["codes"].astype(np.int64), given["sizes"].tolist())
    drawn = METHODS[method](table, float(rho), np.random.default_rng(int(seed)))
    used = resource.getrusage(resource.RUSAGE_SELF)
    np.savez_compressed(out, codes=drawn.astype(np.int16))
    print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}))
