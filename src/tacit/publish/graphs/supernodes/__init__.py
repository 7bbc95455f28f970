"""k-sized grouping: a graph published as groups of at least k nodes, and the numbers of edges inside and between them.

blocks.py      edges between groups, and how many graphs have them    state.py      a grouping that is being changed
proposals.py   changes of a grouping and their cost                      search.py     which of them are tried, and made
start.py       the grouping that the search starts from                bisection.py  most of it
annealing.py   the search, at a falling temperature
published.py   the published groups, check and warnings             worlds.py     random graphs that have the published counts
"""
