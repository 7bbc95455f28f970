"""Synthetic data with a stated guarantee: a map of commuters by Dirichlet resampling, and any table by noisy marginals.

The map (`commuters/`)
    flows.py         origins, destinations, jobs (CSV or Parquet)       geography.py      blocks, coarsening, distances
    empty_cells.py   keep probabilities of empty blocks, public         model.py          the run over all destinations
    release.py       the whole process: offer, pay, read, draw, write   sources.py        a file or a declared table; the ledger
    utility.py       accuracy of a map, for the data owner              report.py         the owner's page, with pictures
    prior.py         where fake workers are likely, from public files   example_state.py a simulated state to try on

Any table of a catalog (`rows/`)
    release.py       refuse, price, spend, measure, fit, draw           cells.py          columns in public cells
    rounds.py        the marginal that is most wrong, chosen and measured round after round, within one total
    grids.py         bins that are chosen privately, for columns of many values that declare none
    never.py         declared conditions that no synthetic row meets
    population.py    rows that settle on noisy marginals, whichever they are; steps.py has the compiled loop
    marginals.py     the split of the budget, its noise, and pairs of columns along a tree
    inference.py     one model of all noisy marginals, and rows from it, by secure randomness; for a tree by package mbi
    margins.py       which margins were measured, with intervals, and which analyses they carry
    copies.py        copies from varied counts, and one interval from an estimate on each
    report.py        the public page of measured margins, from released numbers alone
    family.py        parents, and children for each of them
    contingency.py   the joint table of few cells, by Dirichlet resampling
    utility.py       accuracy of the rows, for the data owner

>>> from tacit.publish.synthetic import synthesize_table
>>> synthesize_table.__module__
'tacit.publish.synthetic.rows.release'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.publish.synthetic.commuters.release import synthesize_map as synthesize_map
    from tacit.publish.synthetic.rows.contingency import synthesize_contingency as synthesize_contingency
    from tacit.publish.synthetic.rows.release import synthesize_independent as synthesize_independent
    from tacit.publish.synthetic.rows.release import synthesize_table as synthesize_table
    from tacit.publish.synthetic.rows.release import synthesize_tree as synthesize_tree

HOMES = {
    "synthesize_map": "commuters.release",
    "synthesize_table": "rows.release",
    "synthesize_tree": "rows.release",
    "synthesize_independent": "rows.release",
    "synthesize_contingency": "rows.contingency",
}


def __getattr__(name: str) -> Any:
    """The entry points, loaded on first use: importing a module of the map does not load the tables."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
