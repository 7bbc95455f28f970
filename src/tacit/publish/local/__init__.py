"""The untrusted collector: people randomize their own answers before anybody sees them.

    randomizer.py  channel.py        what a randomizer is; its exact matrix of probabilities
    categories.py  unary.py          one of k categories: kept or replaced; one bit for each
    hashing.py  hadamard.py          one of very many: hashed to a few (over fields.py); a column of a Hadamard matrix
    rappor.py  bloom.py              a permanent answer, and a fresh report of it every time
    numeric.py                       a number between bounds: one_bit.py, piecewise.py or folded_laplace.py
    sets.py  several.py              at most m items of many; several questions under one epsilon
    derived.py                       the permanent answer as a function of a secret and the true value

The proofs lie beside the code.
"""
