"""PyDP's answers: `python accuracy_pydp.py VALUES.npy EPSILON ROWS_A_PERSON TIMES` prints JSON lists of released numbers.

Also the scale of its Gaussian noise for sensitivity 1 at (0.1, 1e-6) and (1, 1e-6).
"""

import json
import sys

import numpy as np
from pydp.algorithms import laplacian
from pydp.algorithms.numerical_mechanisms import GaussianMechanism

LOWEST, HIGHEST = 0.0, 1000.0


def main(path, epsilon, per_person, times):
    values = [float(value) / 100 for value in np.load(path)]
    limits = {"l0_sensitivity": 1, "linf_sensitivity": per_person}
    bounds = {"lower_bound": LOWEST, "upper_bound": HIGHEST, "dtype": "float"}

    def asked(kind, **options):
        return [kind(epsilon=epsilon, **limits, **options).quick_result(values) for _ in range(times)]

    released = {
        "count": asked(laplacian.Count, dtype="float"),
        "sum": asked(laplacian.BoundedSum, **bounds),
        "mean": asked(laplacian.BoundedMean, **bounds),
        "variance": asked(laplacian.BoundedVariance, **bounds),
        "median": asked(laplacian.Median, **bounds),
        "gaussian": [GaussianMechanism(budget, 1e-6, 1.0).std for budget in (0.1, 1.0)],
    }
    print(json.dumps(released))


main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
