"""The untrusted collector: people randomize their own answers before anybody sees them.

    randomizer.py  channel.py        what a randomizer is; its exact matrix of probabilities
    categories.py  unary.py          one of k categories: kept or replaced; one bit for each
    hashing.py  hadamard.py          one of very many: hashed to a few; one row of a Hadamard matrix
    rappor.py                        a permanent answer, and a fresh report of it every time
    numeric.py                       a number between bounds
    sets.py  several.py              at most m items of many; several questions under one epsilon
    derived.py                       the permanent answer as a function of a secret and the true value

The proofs lie beside the code.
"""
