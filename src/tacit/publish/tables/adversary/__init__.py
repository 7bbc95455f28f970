"""epsilon-privacy: what an adversary with a Dirichlet prior believes of a person with their row in a group, and without it.

    beliefs.py      beliefs with and without the row              classes.py    adversary Classes I to IV and their verdicts
    known_rows.py   adversaries who know some of the rows         limits.py     what follows for independent entries
    numeric.py      numbers, by conjugate priors (Class I)        groups.py     every group of a published table
    picture.py      both limits side by side                      report.py     several adversaries and one group

beliefs.md has the derivations. This is not differential privacy.
"""
