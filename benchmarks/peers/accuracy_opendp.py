"""OpenDP's answers: `python accuracy_opendp.py VALUES.npy EPSILON ROWS_A_PERSON TIMES` prints JSON lists of released numbers.

It has no interval for any of them. A variance needs the number of rows as a public fact, which no other system here is given.
"""

import json
import sys

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
LOWEST, HIGHEST, STEP = 0, 100_000, 1  # in hundredths


def main(path, epsilon, per_person, times):
    values = [int(value) for value in np.load(path)]
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def measured(transformation, share):
        return dp.binary_search_chain(
            lambda scale: transformation >> dp.m.then_laplace(scale), d_in=per_person, d_out=epsilon * share
        )

    counting = space >> dp.t.then_count()
    adding = space >> dp.t.then_clamp((LOWEST, HIGHEST)) >> dp.t.then_sum()
    count, total = measured(counting, 1.0), measured(adding, 1.0)
    half_count, half_total = measured(counting, 0.5), measured(adding, 0.5)
    candidates = list(range(LOWEST, HIGHEST + 1, STEP))
    scores = space >> dp.t.then_quantile_score_candidates(candidates, 0.5)
    median = dp.binary_search_chain(
        lambda scale: scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True), d_in=per_person, d_out=epsilon
    )
    released = {"count": [count(values) for _ in range(times)], "sum": [total(values) / 100 for _ in range(times)]}
    released["mean"] = [half_total(values) / 100 / max(half_count(values), 1) for _ in range(times)]
    released["median"] = [candidates[median(values)] / 100 for _ in range(times)]
    print(json.dumps(released))


main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
