"""The untrusted collector: people randomize their own answers before anybody sees them.

`randomizers/`, what runs on a respondent's device
    randomizer.py                        what a randomizer is; its exact matrix of probabilities
    categories.py  unary.py              one of k categories: kept or replaced; one bit for each
    hashing.py  hadamard.py              one of very many: hashed to a few; a column of a Hadamard matrix
    rappor.py                            a permanent answer, and a fresh report of it every time
    numeric.py                           a number between bounds: one bit, piecewise, or folded Laplace noise
    sets.py  several_questions.py        at most m items of many; several questions under one epsilon
    longitudinal.py                      the same person asked again: permanent answers, and an account

`estimates/`, what a collector learns from the reports
    estimate.py  results.py              shares and means without bias; what is published of them
    intervals.py  concentration.py       bounds of shares; bounds of means, differences and sums
    consistent.py                        shares that are not negative and sum to one
    compare.py  planning.py              two groups; how many people for a half-width
    choose.py  posterior.py              which randomizer, and why; what one report tells of one person
    quantiles.py                         quantiles of a randomized histogram; how far sums of shares stray
    heavy_hitters.py                     the frequent ones of very many values
    simulate.py                          surveys on made-up people: the error by theory and by trial; p of 0 and of 1/2

`survey/`, a survey from end to end: declaration, page, reports, store, results. The proofs lie beside the code.
"""
