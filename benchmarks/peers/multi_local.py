"""multi-freq-ldpy: its compiled clients for one person after the other, then its aggregators; compiled before the clock starts."""

import json
import sys
import time

import numpy as np
from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Aggregator_MI, L_SUE_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

EPSILON = 1.0
PERMANENT, ONCE = 2.0, 1.0


def protocols(size):
    """Name, what a person runs, what the collector runs."""
    yield "k-ary", lambda code: GRR_Client(code, size, EPSILON), lambda reports: GRR_Aggregator_MI(reports, size, EPSILON)
    for name, optimal in (("unary, optimized", True), ("unary, symmetric", False)):
        yield (
            name,
            lambda code, optimal=optimal: UE_Client(code, size, EPSILON, optimal),
            lambda reports, optimal=optimal: UE_Aggregator_MI(reports, EPSILON, optimal),
        )
    yield (
        "RAPPOR, both stages",
        lambda code: L_SUE_Client(code, size, PERMANENT, ONCE),
        lambda reports: L_SUE_Aggregator_MI(reports, PERMANENT, ONCE),
    )
    yield "hashing", lambda code: LH_Client(code, size, EPSILON), lambda reports: LH_Aggregator_MI(reports, size, EPSILON)


def main(size, most, most_hashed):
    seconds = {}
    for name, client, aggregator in protocols(size):
        people = most_hashed if name == "hashing" else most
        codes = [person % size for person in range(people)]
        client(0)
        start = time.process_time()
        reports = [client(code) for code in codes]
        drawn = time.process_time()
        shares = np.array(aggregator(reports))
        seconds[name] = [drawn - start, time.process_time() - drawn]
        assert np.abs(shares - 1 / size).max() < 10 * (8 / people) ** 0.5, name
    print(json.dumps(seconds))


main(*map(int, sys.argv[1:4]))
