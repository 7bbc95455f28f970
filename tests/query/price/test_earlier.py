"""Answers that were paid for before joins cost the same in any order stay free, and as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit
from stored import write_csv
from tacit.query import offers, passes
from tacit.query.passes import Counting, declared_together, rewrite
from tacit.query.price import earlier, stability
from tacit.query.question import canonical_plan
from tacit.session import Session

CATALOG = """\
[budget]
epsilon = 1000
delta = 1e-6

[tables.customers]
source = "customers.csv"
unit = "row"
rows_at_most = 1000

[tables.customers.columns]
id = { key = true }
region = { values = ["n", "s"], unknown = "drop" }

[tables.orders]
source = "orders.csv"
unit = { column = "customer", references = "customers.id" }
max_rows = 12
rows_at_most = 1000

[tables.orders.columns]
id = { key = true }
state = { values = ["open", "paid"], unknown = "drop" }

[tables.lines]
source = "lines.csv"
unit = { column = "order_id", references = "orders.id" }
max_rows = 20
max_rows_per_group = 2
rows_at_most = 1000

[tables.lines.columns]
price = { bounds = [0, 500] }
"""
JOINED = "customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id"
REVENUE = f"SELECT SUM(l.price) AS revenue FROM {JOINED}"  # the plan is the same, the price is less
GROUPED = f"SELECT c.region, COUNT(*) AS n FROM {JOINED} GROUP BY c.region"  # the limit in a group counts now
TOTALS = f"SELECT SUM(t.total) AS total FROM (SELECT c.id, SUM(l.price) AS total FROM {JOINED} GROUP BY c.id) t"  # other ranges
COUNTED = (
    "SELECT state, SUM(n) AS n FROM (SELECT customer, state, COUNT(*) AS n FROM orders GROUP BY customer, state) t GROUP BY state"
)
UNTOUCHED = "SELECT SUM(l.price) FROM lines l JOIN orders o ON l.order_id = o.id"


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "tacit.toml").write_text(CATALOG)
    write_csv(tmp_path / "customers.csv", ["id", "region"], [[at, "ns"[at % 2]] for at in range(5)])
    write_csv(tmp_path / "orders.csv", ["id", "customer", "state"], [[at, at % 5, "paid"] for at in range(20)])
    write_csv(tmp_path / "lines.csv", ["order_id", "price"], [[at % 20, 100] for at in range(60)])
    with tacit.open(tmp_path / "tacit.toml", own_process=False) as data:
        data.prepare()
        data.begin_scratch("a test")
        yield data.session()


BEFORE = Counting(earlier._rows_of, earlier._copies, earlier._limited, declared_together)


def as_before(patch: pytest.MonkeyPatch) -> None:
    """Plan and price questions by the earlier rules."""
    patch.setattr(offers, "rewrite", lambda select, catalog, public: rewrite(select, catalog, public, BEFORE))
    for module in (stability, passes):
        patch.setattr(module, "rows_of", earlier._rows_of)


def numbers(answer: Any) -> list[Any]:
    return [(column.values, column.low, column.high) for column in answer.columns]


@pytest.mark.usefixtures("otherwise_priced")
@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"error": 100_000}], ids=["epsilon", "error"])
@pytest.mark.parametrize("text", [REVENUE, GROUPED, TOTALS, COUNTED, UNTOUCHED])
def test_a_kept_answer_stays_free_and_as_it_was(ana: Session, text: str, budget: dict[str, float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        kept = ana.sql(text, **budget)
    ana.data.remembered = offers.Remembered()  # as in another process
    spent = ana.data.ledger.spent()
    again = ana.sql(text, **budget)
    assert (again.receipt.again, again.receipt.entry, numbers(again)) == (True, kept.receipt.entry, numbers(kept))
    assert (again.receipt.epsilon, again.receipt.delta) == (kept.receipt.epsilon, kept.receipt.delta)
    assert ana.data.ledger.spent() == spent
    fresh = ana.sql(text + " -- later", epsilon=0.25, fresh=True)
    assert not fresh.receipt.again


def test_an_answer_with_groups_that_are_left_out_now_stays_free(ana: Session) -> None:
    text = "SELECT region, COUNT(*) AS n FROM customers WHERE region = 'n' GROUP BY region"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "PASSES", tuple(each for each in passes.PASSES if each is not passes.without_excluded))
        kept = ana.sql(text, epsilon=0.5)
    assert len(kept) == 2
    ana.data.remembered = offers.Remembered()
    again = ana.sql(text, epsilon=0.5)
    assert (again.receipt.again, numbers(again)) == (True, numbers(kept))
    assert len(ana.sql(text, epsilon=0.25)) == 1, "a new one has the groups that can be"


@pytest.mark.parametrize(("text", "same"), [(REVENUE, True), (GROUPED, False), (TOTALS, False), (UNTOUCHED, True)])
def test_plans_change_only_where_they_have_to(ana: Session, text: str, same: bool) -> None:
    select = ana._read(text, None).statement
    plans = [rewrite(select, ana.data.catalog, ana.data.public, counting) for counting in (None, BEFORE)]  # type: ignore[arg-type]
    assert (canonical_plan(plans[0]) == canonical_plan(plans[1])) is same
    offer = ana._offer(select, tacit.query.price.quote.request(epsilon=1), text)  # type: ignore[arg-type]
    assert bool(offer.older) is not same


def test_a_lookup_under_the_key_of_today_alone_is_caught(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: then the same question is charged twice, and has two answers."""
    with pytest.MonkeyPatch.context() as patch:
        as_before(patch)
        ana.sql(TOTALS, epsilon=0.5)
    ana.data.remembered = offers.Remembered()
    monkeypatch.setattr(offers, "_earlier", lambda *_: ())
    assert not ana.sql(TOTALS, epsilon=0.5).receipt.again


def test_joins_are_never_dearer_than_before(ana: Session) -> None:
    for text in (REVENUE, GROUPED, TOTALS, UNTOUCHED):
        plan = rewrite(ana._read(text, None).statement, ana.data.catalog, ana.data.public)  # type: ignore[arg-type]
        assert stability.rows_of(plan.group.child) <= earlier._rows_of(plan.group.child)
