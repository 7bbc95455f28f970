"""Tables made anonymous the older, syntactic way, required by law and habit. None of it is differentially private.

The table
    table.py         columns of integer codes with their values     hierarchy.py     values and their coarser forms
    grouping.py      rows that are equal, by one integer key
The requirements
    requirements.py  columns, models in words, suppression          configuration.py the TOML that declares all of it
    conditions.py    models as tests of groups, exact on the edge   measures.py      seven losses, better when smaller
Anonymizers
    lattice.py       full-domain generalizations and their groups   search.py        the best of them, or of what is left
    partitions.py    cuts at medians, or means of near neighbours   recoded.py       the result of each of them
The published table
    anonymized.py    the whole road, and the published table        report.py        the data owner's page, with its pictures
Checkers
    models/          one for each model; shares no code with the anonymizers
    risk.py          how likely a row is re-identified, or a random sample gives a person away
Disclosure that remains
    blind.py         decisions by the quasi-identifiers alone       consistent.py    facts true in all databases that fit
    adversary/       epsilon-privacy: beliefs with and without a row  cells/         exact marginals and the cells behind them
"""
