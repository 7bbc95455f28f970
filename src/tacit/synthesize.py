"""Synthetic data with a stated guarantee: a map of commuters, any table of a catalog, or a small contingency table.

`tacit synthesize` does the same on the command line. `offered` decides and prices a map from public numbers alone:

>>> from tacit.synthesize import Terms, made_state, offered
>>> state = made_state(blocks=200, workplaces=4, jobs=500)
>>> offer = offered(state.totals(state.blocks.zones("tract")), state.blocks.origins("tract"), Terms(ratio=20, delta=1e-5))
>>> offer.claim()[0]
'Probabilistic differential privacy: ratio 20 (epsilon 2.99574), exceeded with probability at most 1e-05.'
"""

from __future__ import annotations

from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.model import Terms, offered, undropped
from tacit.publish.synthetic.commuters.release import synthesize_map as map  # noqa: A004  # read as tacit.synthesize.map
from tacit.publish.synthetic.commuters.utility import fake_share
from tacit.publish.synthetic.rows.contingency import synthesize_contingency as contingency
from tacit.publish.synthetic.rows.copies import combine
from tacit.publish.synthetic.rows.family import synthesize_family as tables
from tacit.publish.synthetic.rows.margins import support_in as check_analysis
from tacit.publish.synthetic.rows.release import synthesize_independent as independent
from tacit.publish.synthetic.rows.release import synthesize_table as table
from tacit.publish.synthetic.rows.release import synthesize_tree as tree
from tacit.publish.synthetic.rows.report import write_public_report
from tacit.publish.synthetic.rows.rounds import Aim
from tacit.publish.synthetic.rows.utility import workload

__all__ = [
    "Aim",
    "Terms",
    "check_analysis",
    "combine",
    "contingency",
    "fake_share",
    "independent",
    "made_state",
    "map",
    "offered",
    "table",
    "tables",
    "tree",
    "undropped",
    "workload",
    "write_public_report",
]
