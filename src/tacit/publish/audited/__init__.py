"""Exact answers or refusals, and refusals that tell nothing: query auditing. None of it is differentially private.

    auditor.py               the protocol of an auditor: decisions from the history and the question alone
    maximum.py               MAX, or MIN
    max_min.py               both, where values differ, or may be equal (sound; the exact question is NP-hard)
    sums.py                  SUM and AVG, by linear algebra modulo a prime
    bounded_sums.py          SUM where a bound is known, or where values are 0 or 1
    probabilistic_max.py     MAX with partial disclosure
    value_based.py           the bad example: an auditor that looks
    desk.py                  the desk that takes questions: predicate.py, data.py, history.py, named.py
    examples.py              the examples of the textbooks; how many questions are answered

The proofs are beside the code; simulatable.md has the part that all of them share.
"""
