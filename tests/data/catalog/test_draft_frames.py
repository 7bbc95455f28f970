"""`tacit.init(frame)`: a draft from names and types alone."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit

COLUMNS = {"Person_ID": [1, 2], "cost": [1.5, 2.5], "sex": ["secret-f", "secret-m"], "ok": [True, False]}


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)], ids=["pandas", "polars", "arrow"]
)
def test_a_frame_gives_a_draft_without_its_values(frame):
    text = tacit.init(frame)
    assert 'source = "memory"' in text
    assert 'cost = { bounds = "?", step = "?" }  # double' in text
    assert "ok = { values = [false, true] }" in text
    assert "secret" not in text


def test_several_frames_have_names():
    text = tacit.init(visits=pd.DataFrame(COLUMNS), patients=pl.DataFrame({"id": [1]}))
    assert "[tables.visits]" in text
    assert "[tables.patients]" in text
    with pytest.raises(tacit.errors.InvalidInput, match="no frame given"):
        tacit.init()
    with pytest.raises(tacit.errors.InvalidInput, match="unsupported type"):
        tacit.init({"cost": [1]})
