"""pure-ldp: one person after the other through its client, one report after the other through its server, then all estimates."""

import json
import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

EPSILON = 1.0


def plain(code):
    return code


def protocols(size):
    """Name, client, server; codes are already indexes."""
    unary = {"index_mapper": plain}
    yield "k-ary", DEClient(EPSILON, size, plain), DEServer(EPSILON, size, plain)
    yield "unary, optimized", UEClient(EPSILON, size, use_oue=True, **unary), UEServer(EPSILON, size, use_oue=True, **unary)
    yield "unary, symmetric", UEClient(EPSILON, size, **unary), UEServer(EPSILON, size, **unary)
    server = HadamardResponseServer(EPSILON, size, plain)
    yield "Hadamard", HadamardResponseClient(EPSILON, size, server.get_hash_funcs(), plain), server
    yield "hashing", LHClient(EPSILON, size, use_olh=True, **unary), LHServer(EPSILON, size, use_olh=True, **unary)


def main(size, most, most_hashed):
    seconds = {}
    for name, client, server in protocols(size):
        people = most_hashed if name == "hashing" else most
        codes = [person % size for person in range(people)]
        start = time.process_time()
        reports = [client.privatise(code) for code in codes]
        drawn = time.process_time()
        server.aggregate_all(reports)
        shares = np.array(server.estimate_all(range(size), suppress_warnings=True)) / people
        seconds[name] = [drawn - start, time.process_time() - drawn]
        assert np.abs(shares - 1 / size).max() < 10 * (8 / people) ** 0.5, name
    print(json.dumps(seconds))


main(*map(int, sys.argv[1:4]))
