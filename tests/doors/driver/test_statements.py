"""The statements of BI tools through the driver: which are free, which are priced, and which are refused with a remedy.

`statements.toml` has them with their origin. What is priced here is explained, and not paid for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital import hospital_session
from tacit import dbapi
from tacit.errors import Refused
from tacit.session import Session

TOOLS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "statements.toml").read_text("utf-8"))
CASES = [pytest.param(each, id=f"{tool}: {each['what']}") for tool, described in TOOLS.items() for each in described["statements"]]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with hospital_session(tmp_path_factory.mktemp("tools")) as session:
        yield session


def outcome_of(session: Session, sql: str) -> tuple[str, str]:
    """Whether a statement is free, priced or refused, and the code of a refusal; nothing is paid for."""
    try:
        explanation = session.explain(sql, epsilon=1)
    except Refused as refusal:
        return "refused", refusal.code if refusal.remedy else "without a remedy"
    return ("free" if explanation.epsilon == 0 else "priced"), ""


@pytest.mark.parametrize("case", CASES)
def test_a_statement_has_its_outcome(ana: Session, case: dict[str, str]) -> None:
    outcome, code = outcome_of(ana, case["sql"])
    assert (outcome, code) == (case["outcome"], case.get("code", ""))


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0]["outcome"] == "free"])  # type: ignore[index, call-overload]
def test_a_free_statement_needs_no_budget_and_leaves_no_entry(ana: Session, case: dict[str, str]) -> None:
    before = ana.data.ledger.head.number
    with dbapi.connect(session=ana) as connection:  # an address without epsilon
        cursor = connection.cursor().execute(case["sql"])
        assert cursor.description
        assert cursor.answer.receipt.entry is None
        connection.session = None  # the fixture closes the data
    assert ana.data.ledger.head.number == before


def test_every_statement_names_its_origin() -> None:
    for described in TOOLS.values():
        assert described["version"]
        for each in described["statements"]:
            assert each["origin"].split(",")[0].split(" ")[0].endswith((".py", ".clj"))
            assert each["outcome"] in ("free", "priced", "refused")
