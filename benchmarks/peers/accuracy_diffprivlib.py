"""diffprivlib's answers: `python accuracy_diffprivlib.py VALUES.npy EPSILON ROWS_A_PERSON TIMES` prints JSON lists.

It takes the number of rows as public and protects the change of one row: a person of several rows gets a part of epsilon for each.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib import tools
from diffprivlib.mechanisms import GaussianAnalytic

BOUNDS = (0.0, 1000.0)


def main(path, epsilon, per_person, times):
    warnings.simplefilter("ignore")
    values = np.load(path) / 100
    share = epsilon / per_person

    def asked(ask):
        return [float(ask(values, epsilon=share, bounds=BOUNDS)) for _ in range(times)]

    released = {"sum": asked(tools.sum), "mean": asked(tools.mean), "variance": asked(tools.var), "median": asked(tools.median)}
    released["gaussian"] = [GaussianAnalytic(epsilon=budget, delta=1e-6, sensitivity=1)._scale for budget in (0.1, 1.0)]
    print(json.dumps(released))


main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
