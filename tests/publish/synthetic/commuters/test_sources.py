"""Maps of declared tables: what is refused before the ledger is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.errors import TooMuchWork
from tacit.publish.synthetic.commuters.flows import Columns
from tacit.publish.synthetic.commuters.sources import DeclaredFlows
from worlds import clinic


def test_a_map_that_could_fill_the_driver_of_a_cluster_is_refused_before_the_spend(tmp_path: Path) -> None:
    """The totals are read first; neither the ledger nor the engine is reached, which these data do not even have."""
    declared = clinic(tmp_path)
    visits = replace(declared.tables["visits"], rows_at_most=10**9)
    catalog = replace(declared, store_engine="spark", tables={**declared.tables, "visits": visits})
    data: Any = SimpleNamespace(catalog=catalog)
    nothing: Any = None
    flows = DeclaredFlows(data, "visits", Columns("diagnosis", "ward"), "wards", "ana")
    with pytest.raises(TooMuchWork, match="combinations of values"):
        flows.totals(nothing, nothing)
