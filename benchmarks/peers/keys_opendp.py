"""OpenDP's private keys: `python keys_opendp.py COUNTS.npy GROUPS EPSILON DELTA` prints how many keys it shows, as JSON.

Its thresholds for Laplace and for Gaussian noise, each the least that its own map admits; of Gaussian noise half of delta is for
the conversion of its rho, and half for the threshold.
"""

import json
import math
import sys

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")


def least(holds, low, high, steps=60):
    """The least number at which a monotone test holds, nearly."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def main(path, groups, epsilon, delta):
    counts = {f"k{place}": int(count) for place, count in enumerate(np.load(path)) if count}
    keys = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    first = keys, dp.l01inf_distance(dp.absolute_distance(T=int))
    second = keys, dp.l02inf_distance(dp.absolute_distance(T=int))

    def laplace(threshold):
        return dp.m.make_laplace_threshold(*first, scale=groups / epsilon, threshold=threshold)

    def gaussian(scale, threshold):
        return dp.m.make_gaussian_threshold(*second, scale=scale, threshold=threshold)

    def spent(threshold):
        return laplace(int(threshold)).map((groups, groups, 1))

    def rho(scale, threshold):
        return gaussian(scale, int(threshold)).map((groups, math.isqrt(groups), 1))

    def converted(scale):
        return dp.c.make_zCDP_to_approxDP(
            dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale)
        )

    scale = least(lambda each: converted(each).map(groups**0.5).epsilon(delta / 2) <= epsilon, 0.5, 1e4)
    tau = least(lambda each: spent(each)[0] <= epsilon * (1 + 1e-9) and spent(each)[1] <= delta, 2, 1e5, 30)
    tau_gaussian = least(lambda each: rho(scale, each)[1] <= delta / 2, 2, 1e5, 30)
    shown = {"laplace": len(laplace(int(tau))(counts)), "gaussian": len(gaussian(scale, int(tau_gaussian))(counts))}
    print(json.dumps({**shown, "thresholds": [int(tau), int(tau_gaussian)], "scale": scale}))


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
