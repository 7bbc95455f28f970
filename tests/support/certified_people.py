"""A small data set for tests of certificates: people, their visits, and wards that are public."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.accounting.ledger.entries import canonical_json, hash_of
from tacit.release import noisy
from tacit.release.elsewhere.packed import LENGTH

CATALOG = """
[budget]
epsilon = 1000
delta = 0.01

[analysts.ana]
[analysts.bob]

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 1000
[tables.patients.columns]
id = { key = true }
sex = { values = ["F", "M"] }

[tables.visits]
source = "visits.csv"
unit = { column = "person", references = "patients.id" }
max_rows = 3
max_rows_per_group = 2
rows_at_most = 1000
[tables.visits.columns]
ward = { values = ["a", "b", "c"] }
cost = { bounds = [0, 50], step = 0.01 }
age = { bounds = [-3, 7] }
diagnosis = { keys = "private" }

[tables.wards]
source = "wards.csv"
public = true
"""


def written(folder: Path, people: list[int], like: Path | None = None) -> Path:
    folder.mkdir()
    if like is not None:
        (folder / ".tacit").mkdir(mode=0o700)
        shutil.copy(like / ".tacit" / "rank.key", folder / ".tacit" / "rank.key")
    rows = [(person, at) for person in people for at in range(3)]
    visits = [f"{person},{'abc'[(person + at) % 3]},{person + at}.25,{at},{'flu' if person % 2 else 'cold'}" for person, at in rows]
    (folder / "visits.csv").write_text("\n".join(["person,ward,cost,age,diagnosis", *visits]) + "\n")
    (folder / "patients.csv").write_text("\n".join(["id,sex", *(f"{person},{'FM'[person % 2]}" for person in people)]) + "\n")
    (folder / "wards.csv").write_text("ward,site\na,N\nb,S\nc,S\n")
    (folder / "tacit.toml").write_text(CATALOG)
    return folder / "tacit.toml"


def opened(catalog: Path) -> tacit.session.DataSet:
    data = tacit.open(catalog, own_process=False)
    data.prepare(new_ledger=True, reason="a test of neighbours", yes=True)
    return data


def asked_of_both(two: tuple[Any, Any], text: str, budget: dict[str, Any]) -> tuple[Any, Any]:
    """The answer on the table; and on the neighbour, with the numbers put in place that the table released."""
    full, other = two
    released: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full.runner, "observers", [lambda quote, exact, numbers: released.append(numbers)])
        first = full.session("ana").sql(text, **budget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noisy, "noised", lambda quote, exact, observers: released.pop(0))
        second = other.session("ana").sql(text, **budget)
    return first, second


def without_what_may_differ(document: dict[str, Any]) -> bytes:
    """The canonical text without the signature, the version of the data and the hash of the entry."""
    for name in ("signature", "data_version", "entry"):
        assert isinstance(document[name], dict if name == "signature" else str)
    left = {name: value for name, value in document.items() if name not in ("signature", "data_version", "entry")}
    released = json.loads(document["released"]["text"])
    assert hash_of(document["released"]["text"]) == document["released"]["sha256"]
    released["parts"] = released["parts"][LENGTH:]  # before it stands a fingerprint of plan, noise and the version of the data
    left["released"] = {"values": released, "names": document["released"]["names"]}
    return canonical_json(left).encode("ascii")
