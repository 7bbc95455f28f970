"""epsilon-privacy: the beliefs of an adversary with a Dirichlet prior about a person, with the person's row in a group and without
it.

    beliefs.py      beliefs with and without the row, adversary Classes I to IV, and every group of a published table
    numeric.py      numbers, by conjugate priors (Class I)
    report.py       several adversaries and one group; both limits side by side

beliefs.md has the derivations. This is not differential privacy.
"""
