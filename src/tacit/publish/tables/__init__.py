"""Tables made anonymous the older, syntactic way, required by law and habit. None of it is differentially private.

The table
    table.py        columns of integer codes with their values      hierarchy.py    values and their coarser forms, drawn as a tree
    ranges.py       hierarchies of intervals, dates and prefixes    blind.py        decisions by the quasi-identifiers alone
    consistent.py   what is true in all databases that fit          adversary/      epsilon-privacy
    cells/          exact marginals and the cells behind them
"""
