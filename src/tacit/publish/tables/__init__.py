"""Tables made anonymous the older, syntactic way, required by law and habit. None of it is differentially private.

The table
    table.py         columns of integer codes with their values     hierarchy.py     values and their coarser forms, drawn as a tree
    ranges.py        hierarchies of intervals, dates and prefixes   grouping.py      rows that are equal, by one integer key
What is asked
    requirements.py  columns, models, suppression and measure       wanted.py        models in words such as entropy:2
    conditions.py    models as tests of groups, exact on the edge   measures.py      seven losses, with range_queries.py
Anonymizers
    lattice.py       full-domain generalizations and their groups   search.py        the best of them, by tagging and bounds
    local.py         the search again, for the rows that are left   mondrian.py      cuts at medians, with boxes.py
    mdav.py          means of k near neighbours                     recoded.py       what each of them gives back
What leaves
    anonymized.py    the whole road, and the published table        report.py        the data owner's page, with pictures.py
    configuration.py the TOML that declares all of it               checked.py       judged by the checkers before it leaves
Checkers
    models/          one for each model; shares no code with the anonymizers
    risk.py          how likely a row is re-identified              sampling.py      how likely a random sample gives nobody away
What is left to see
    blind.py         decisions by the quasi-identifiers alone       consistent.py    what is true in all databases that fit
    adversary/       epsilon-privacy: beliefs with and without a row  cells/         exact marginals and the cells behind them
"""
