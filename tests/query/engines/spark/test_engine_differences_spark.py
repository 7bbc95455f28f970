"""What engines differ in, each by its name: the answers are equal, and with a planted bug they are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ibis
import ibis.expr.types as ir
import pytest
from hypothesis import HealthCheck, given, settings

import tacit.query.engines.compile as compiled
from clusters import SPARK
from extremes import Both, clinic_visits, every_kind
from questions import clinic_questions
from tacit.errors import Refused

pytestmark = SPARK
SLOW = pytest.mark.slow
DIFFERENCES = {
    "integer overflow": "SELECT SUM(wide), AVG(wide), VAR_POP(millions), COVAR_POP(millions, wide) FROM t",
    "integer overflow between": "SELECT SUM(below * below), SUM((small + 2147483647) * 2), SUM(2147483647 * signed) FROM t",
    "division": "SELECT SUM(small % 7), SUM(FLOOR(below / 7)), SUM(cents / 0.07), SUM(signed / 3), SUM(FLOOR(-small / 4)) FROM t",
    "division by zero": "SELECT SUM(small / signed), COUNT(cents / signed), AVG(below / NULLIF(small, 10)) FROM t",
    "clip": "SELECT SUM(small / signed), COUNT(small / signed), AVG(LN(cents + 1)), SUM(SQRT(cents)), AVG(LN(-below)) FROM t",
    "CASE and NULL": "SELECT SUM(CASE WHEN wide > 0 THEN wide END), COUNT(NULLIF(small, 10)), SUM(COALESCE(wide, 3)) FROM t",
    "LEAST and NULL": "SELECT COUNT(LEAST(signed, small)), SUM(GREATEST(signed, cents, 2)), SUM(LEAST(signed, 0)) FROM t",
    "the ends of a range": "SELECT MIN(wide), MAX(wide), MEDIAN(millions), MODE(fruit) FROM t",
    "dates": "SELECT EXTRACT(ISODOW FROM day), EXTRACT(QUARTER FROM seen), COUNT(*) FROM t GROUP BY 1, 2",
    "dates apart": "SELECT SUM(day - seen), MAX(day), COUNT(DISTINCT DATE_TRUNC('week', seen)), AVG(EXTRACT(DOY FROM day)) FROM t",
    "enum codes": "SELECT code, fruit, COUNT(*), MEDIAN(thirds) FROM t GROUP BY code, fruit",
    "enum codes in a list": "SELECT SUM(LENGTH(fruit || flag || fruit)), COUNT(DISTINCT SUBSTRING(fruit, 2, 3)) FROM t",
    "truths": "SELECT flag, small > 3, COUNT(*), SUM(CASE WHEN flag THEN signed END) FROM t GROUP BY 1, 2",
    "text collation": "SELECT note, COUNT(*), SUM(cents) FROM t GROUP BY note",
    "equality of texts": "SELECT COUNT(DISTINCT note), COUNT(DISTINCT fruit), COUNT(note) FROM t WHERE note <> 'E'",
    "LIKE": "SELECT note, MEDIAN(small) FROM t WHERE note LIKE '%e%' OR note LIKE '_' GROUP BY note",
    "LIKE and signs": "SELECT COUNT(*) FROM t WHERE note LIKE '%''%' OR note LIKE '%${%}%' OR note NOT LIKE '%_%[%'",
    "margins": "SELECT code, flag, COUNT(*), AVG(cents) FROM t GROUP BY ROLLUP (code, flag)",
    "models": "SELECT LINREG(cents, small, signed), LINREG_SLOPE(2, wide, millions, below) FROM t",
    "products": "SELECT CORR(wide, millions), REGR_SLOPE(cents, small), COVAR_POP(wide, below) FROM t",
}
QUICK = ("integer overflow", "clip", "dates", "text collation", "LIKE")
NAMED = [pytest.param(asked, id=name, marks=() if name in QUICK else SLOW) for name, asked in DIFFERENCES.items()]
JOINED = " JOIN wards ON visits.ward = wards.ward"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Both]:
    with every_kind(tmp_path_factory.mktemp("kinds"), spark) as both:
        yield both


@pytest.fixture(scope="module", params=[pytest.param(None, marks=SLOW), 1, pytest.param(2, marks=SLOW)])
def visits(tmp_path_factory: pytest.TempPathFactory, spark: Any, request: pytest.FixtureRequest) -> Iterator[Both]:
    with clinic_visits(tmp_path_factory.mktemp("clinic"), spark, request.param) as both:
        yield both


@pytest.mark.parametrize("question", NAMED)
def test_what_engines_differ_in(kinds: Both, question: str) -> None:
    kinds(question)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(f"SELECT visits.ward, SUM(beds), COUNT(site) FROM visits{JOINED} GROUP BY visits.ward", id="NULL order"),
        pytest.param("SELECT age > 2, SUM(cost), COUNT(DISTINCT person) FROM visits GROUP BY age > 2", id="per_group", marks=SLOW),
        pytest.param("SELECT diagnosis, SUM(cost), MEDIAN(age) FROM visits GROUP BY diagnosis", id="private keys", marks=SLOW),
    ],
)
def test_limits_in_each_group(visits: Both, question: str) -> None:
    visits(question)


@pytest.mark.parametrize("examples", [1, pytest.param(25, marks=SLOW)])
def test_questions_of_the_clinic(visits: Both, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(clinic_questions(private_keys=True))
    def check(question: str) -> None:
        try:
            visits(question)
        except Refused:
            return

    check()


# --- planted bugs ----------------------------------------------------------------------------------------------------------------


@SLOW
def test_another_order_of_null_is_seen(tmp_path: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that are left in each group are others where NULL comes first."""
    real = ibis.window

    def first(group_by: Any, order_by: Any) -> Any:
        return real(group_by=group_by, order_by=[ibis.asc(each, nulls_first=True) for each in order_by])

    with clinic_visits(tmp_path, spark, 1) as both:
        asked = f"SELECT visits.ward, SUM(beds), COUNT(site) FROM visits{JOINED} GROUP BY visits.ward"
        assert both.sees(asked, lambda: monkeypatch.setattr(compiled.ibis, "window", first))


@SLOW
def test_another_clip_is_seen(kinds: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """GREATEST and LEAST leave NULL out, so that a division by zero would count as the lowest value."""

    def bare(self: Any, lower: Any, upper: Any) -> Any:
        return ibis.least(ibis.greatest(self, lower), upper)

    assert kinds.sees(DIFFERENCES["clip"], lambda: monkeypatch.setattr(ir.NumericValue, "clip", bare))


@SLOW
def test_another_collation_is_seen(kinds: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ir.Table.order_by

    def folded(self: Any, keys: Any) -> Any:
        return real(self, [self[each].lower() for each in keys])

    assert kinds.sees(DIFFERENCES["text collation"], lambda: monkeypatch.setattr(ir.Table, "order_by", folded))


@SLOW
def test_products_that_overflow_are_seen(kinds: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ANSI errors, what overflows is another number."""

    def whole(one: Any, other: Any, *_: int) -> list[tuple[str, Any]]:
        return [("A0", one * other)]

    assert kinds.sees(DIFFERENCES["integer overflow"], lambda: monkeypatch.setattr(compiled, "_product_limbs", whole))
