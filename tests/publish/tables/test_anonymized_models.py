"""What every anonymizer publishes passes the checkers, which read the published texts and know nothing of how they were made."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.tables.anonymized import anonymize
from tacit.publish.tables.models.closeness import DeltaDisclosure
from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity
from tacit.publish.tables.models.named import closeness, diversity
from tacit.publish.tables.models.rows import rows_of
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Table

AGES = ("intervals", ([5, 10, 20], 0))
ASKED = Requirements(("age", "sex"), ("ill",), k=3, suppress=Fraction(1, 4), made={"age": AGES, "sex": ("flat", ())})
MODELS = [
    {},
    {"l": "distinct:2"},
    {"l": "entropy:2"},
    {"l": "frequency:1.3"},
    {"l": "recursive:2:2"},
    {"t": "0.25"},
    {"t": "ordered:0.2"},
    {"alpha": "3/4"},
    {"delta": "1.2"},
]
MADE = {"l": diversity, "t": closeness, "alpha": lambda text: AlphaK(text, 3), "delta": DeltaDisclosure}


def people(seed: int, rows: int = 60) -> Table:
    random = np.random.default_rng(seed)
    ill = random.integers(0, 3, rows) * random.integers(0, 2, rows)
    pay = random.integers(1, 5, rows)
    return Table.of({"age": random.integers(20, 60, rows), "sex": random.choice(["F", "M"], rows), "ill": ill, "pay": pay})


def failing(published: Table, asked: Requirements, models: dict[str, str]) -> list[str]:
    columns = {name: published[name].texts() for name in (*asked.quasi, *asked.sensitive)}
    rows = rows_of(columns, asked.quasi, asked.sensitive)
    checkers = [KAnonymity(asked.k), *(MADE[option](text) for option, text in models.items())]
    return [str(each) for checker in checkers for each in checker.check(rows, asked.strict) if not each.passes]


@pytest.mark.parametrize("method", ["lattice", "local", "mondrian", "mondrian-relaxed"])
@pytest.mark.parametrize("models", MODELS, ids=lambda models: ", ".join(models.values()) or "k")
def test_what_is_published_passes(method, models):
    passed = 0
    for seed in range(2):
        for sensitive, strict in ((("ill",), True), (("ill", "pay"), True), (("ill", "pay"), False)):
            asked = replace(ASKED, method=method, sensitive=sensitive, strict=strict, **models)
            try:
                made = anonymize(people(seed), asked)
            except InvalidInput:  # nothing satisfies what is asked
                continue
            passed += 1
            assert failing(made.table, asked, models) == [], (seed, sensitive, strict)
    assert passed >= 2


def test_a_row_in_a_group_of_its_own_is_seen():
    made = anonymize(people(0), ASKED)
    column = made.table["age"]
    codes = np.append(column.codes[1:], len(column.values)).astype(np.int32)
    spoilt = Table((replace(column, values=(*column.values, "alone"), codes=codes), *made.table.columns[1:]))
    assert failing(made.table, ASKED, {}) == []
    assert "k-anonymity" in failing(spoilt, ASKED, {})[0]


@pytest.mark.parametrize(("seed", "models"), [(14, {"t": "0.25"}), (0, {"t": "ordered:0.2"})])
def test_a_model_that_needs_the_suppressed_rows_is_refused_without_them(seed, models):
    """t-closeness compares with the whole table: what is left of it after dropping rows may be another one."""
    asked = replace(ASKED, method="lattice", **models)
    assert failing(anonymize(people(seed), asked).table, asked, models) == []
    with pytest.raises(InvalidInput, match="holds with the suppressed rows"):
        anonymize(people(seed), replace(asked, suppressed="drop"))
