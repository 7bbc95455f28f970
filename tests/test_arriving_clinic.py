"""The example of a clinic whose data arrive every day: processes are killed at random, and nothing is lost or paid twice."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import closing
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import tacit
from sources import ROOT
from tacit.data.store import attach_parts, open_store, store_file, store_info
from tacit.privacy.catalog import Catalog

EACH = Fraction("0.5")  # of a month: the three releases of the example


def example() -> Any:
    spec = spec_from_file_location("arriving_clinic", ROOT / "examples" / "arriving_clinic.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(catalog: Catalog) -> Counter[tuple[Any, ...]]:
    """The stored rows, but for the codes of their units."""
    with closing(open_store(store_file(catalog))) as engine:
        info = store_info(catalog)
        assert info is not None
        if info.added:
            attach_parts(engine, catalog.store_folder)
        return Counter(engine.execute("SELECT * EXCLUDE (tacit_unit) FROM visits").fetchall())


def lived(folder: Path, months: int, kill: float) -> int:
    """A life of some months, checked; returns how many processes were killed."""
    clinic, out = example(), folder / "clinic"
    killed: int = clinic.run(out, months, kill, seed=3)
    with tacit.open(out / "tacit.toml", own_process=False) as data:
        assert [period.closed for period in data.periods()] == [True] * months
        accounts = {each.name: each.spent.epsilon for each in data.accounts()}
        assert list(accounts.values()) == [EACH, EACH * months], "each month once, and the lifetime all of them"
        entries = [entry.question for entry in data.ledger.entries() if entry.kind == "spend"]
        assert len(entries) == len(set(entries)) == 3 * months
        rows = stored(data.catalog)
    for name in ("visits", "patients", "waiting"):
        assert len(list((out / "site" / name).glob("*/index.html"))) == months
        table = json.loads((out / "site" / name / "data.json").read_text("utf-8"))
        assert table
    whole = folder / "whole"
    shutil.copytree(out, whole, ignore=shutil.ignore_patterns(".tacit", "site", "state"))
    (whole / ".tacit").mkdir()
    shutil.copy(out / ".tacit" / "rank.key", whole / ".tacit" / "rank.key")
    text = (whole / "tacit.toml").read_text("utf-8").replace(f"arrivals/{clinic.FIRST:%Y-%m}-*.csv", "arrivals/*.csv")
    (whole / "tacit.toml").write_text(text, "utf-8")
    with tacit.open(whole / "tacit.toml", own_process=False) as data:
        data.prepare(through=f"{clinic.month_of(months - 1):%Y-%m}", reason="the same rows at once")
        assert stored(data.catalog) == rows, "the store is that of all files prepared at once"
    return killed


def test_a_clinic_lives_for_some_months(tmp_path):
    lived(tmp_path, 2, kill=0.4)


@pytest.mark.slow
def test_a_clinic_lives_for_three_years(tmp_path):
    assert lived(tmp_path, 36, kill=0.3) > 5
