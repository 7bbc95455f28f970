"""A small clinic with answers that have certificates: the folder, the data set, its keys, and an export of its ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tacit
from tacit.accounting.ledger.entries import canonical_json
from tacit.release.certificates.exports import export, head_of
from tacit.release.certificates.keys import OF_CERTIFICATES, OF_HEADS, Signer, public_keys
from tacit_certificate.document import Keys, read_keys

CATALOG = """
[budget]
epsilon = 100
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
"""
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("SELECT ward, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY ward", {"epsilon": 1}),
    ("SELECT sex, AVG(cost) AS c, MEDIAN(age) AS m FROM visits v JOIN patients p ON v.person = p.id GROUP BY sex", {"epsilon": 1}),
    ("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis", {"epsilon": 2, "delta": 1e-4}),
    ("SELECT ward, age, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, age)", {"epsilon": 1, "delta": 1e-6}),
    ("SELECT MODE(ward) AS most, MIN(cost) AS least FROM visits", {"epsilon": 1}),
    ("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis", {"epsilon": 20, "delta": 1e-4}),
]


@dataclass(frozen=True)
class Certified:
    """The certificates of answers in both forms, the keys, and what an auditor gets."""

    data: Any
    folder: Path
    signer: Signer
    keys: Keys
    public: list[dict[str, Any]]
    auditor: list[dict[str, Any]]
    export: Path

    @property
    def key_file(self) -> Path:
        return self.folder / "keys.json"

    def signed(self, document: dict[str, Any]) -> dict[str, Any]:
        """A document with another text, signed by the right key."""
        unsigned = {name: value for name, value in document.items() if name != "signature"}
        return self.signer.signed(unsigned, OF_HEADS if document.get("kind") == "head" else OF_CERTIFICATES)

    def head(self) -> dict[str, Any]:
        return head_of(self.data)

    def exported(self, name: str) -> Path:
        return export(self.data, self.folder / name)


def text_of(document: dict[str, Any]) -> bytes:
    return f"{canonical_json(document)}\n".encode()


@contextmanager
def certified(folder: Path) -> Iterator[Certified]:
    """The clinic, prepared; every question of `ASKED` was answered."""
    people = range(60)
    visits = [f"{p},{'abc'[(p + at) % 3]},{(p + at) % 50}.25,{at},{'flu' if p % 2 else 'cold'}" for p in people for at in range(3)]
    (folder / "visits.csv").write_text("\n".join(["person,ward,cost,age,diagnosis", *visits]) + "\n")
    (folder / "patients.csv").write_text("\n".join(["id,sex", *(f"{p},{'FM'[p % 2]}" for p in people)]) + "\n")
    (folder / "tacit.toml").write_text(CATALOG)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        data.prepare(new_ledger=True, reason="a test", yes=True)
        entries = [data.session("ana").sql(text, **budget).receipt.entry for text, budget in ASKED]
        forms = [[data.certificate(entry, auditor=auditor).to_dict() for entry in entries] for auditor in (False, True)]
        keys = json.dumps(public_keys(data.catalog.kept)).encode()
        (folder / "keys.json").write_bytes(keys)
        yield Certified(data, folder, data.signer, read_keys(keys), *forms, export(data, folder / "ledger.jsonl"))
