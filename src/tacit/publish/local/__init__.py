"""The untrusted collector: each person randomizes their own answer before it leaves their device.

`randomizers/`, the code on a respondent's device
    randomizer.py                        the interface of a randomizer; its exact matrix of probabilities
    categories.py  unary.py              one of k categories: kept or replaced; one bit for each
    hashing.py  hadamard.py              one of very many: hashed to a few; a column of a Hadamard matrix
    rappor.py                            a permanent answer, and a fresh report of it every time
    numeric.py                           a number between bounds: one bit, piecewise, or folded Laplace noise
    sets.py  several_questions.py        at most m items of many; several questions under one epsilon
    longitudinal.py                      the same person asked again: permanent answers, and an account

`estimates/`, the collector's inference from the reports
    estimate.py  results.py              shares and means without bias; their published form
    intervals.py  concentration.py       bounds of shares; bounds of means, differences and sums
    consistent.py                        shares that are not negative and sum to one
    compare.py  planning.py              two groups; how many people for a half-width
    choose.py  posterior.py              which randomizer, and why; the posterior of one person's answer
    quantiles.py                         quantiles of a randomized histogram; how far sums of shares stray
    heavy_hitters.py                     the frequent ones of very many values
    simulate.py                          surveys on made-up people: the error by theory and by trial; p of 0 and of 1/2

`survey/`, a survey from end to end: declaration, page, reports, store, results. The proofs are beside the code.
"""
