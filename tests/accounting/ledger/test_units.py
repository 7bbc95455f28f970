"""A ledger knows whose rows its prices count for: other units are refused, and old prices are restated one by one."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import IDENTITY, UNIT, events, opened, policy, pure, spend
from tacit.accounting.composition import Cost, cost, cost_under, costs_under, counted_at
from tacit.accounting.events import Batch, GaussianNoise, LaplaceNoise, ThresholdedKeys
from tacit.accounting.filter import NOTHING_SPENT, Filter
from tacit.accounting.ledger import units as restate
from tacit.accounting.ledger.caps import order_of
from tacit.accounting.ledger.entries import HALF
from tacit.accounting.ledger.selling import Sale
from tacit.accounting.ledger.units import NO_UNITS, Units, declared_units, restated_price
from tacit.data.catalog import parse_catalog
from tacit.errors import BudgetExceeded, InvalidInput, UnitsChanged
from tacit.mechanisms.selection import GaussianKeyThreshold
from tacit.privacy.loss import Neighbours

ROWS = Units((("visits", '["row",null]'),), public=("wards",))
PEOPLE = Units((("visits", '["pid",null,"drop"]'),), public=("wards",))


@pytest.fixture
def file(tmp_path) -> str:
    return str(tmp_path / "ledger.sqlite")


# --- what a unit is --------------------------------------------------------------------------------------------------------------

BASE = '[budget]\nepsilon = 8\n[tables.visits]\nsource = "visits.csv"\n{visits}\n[tables.people]\nsource = "people.csv"\n{people}\n'
PERSON = 'unit = "row"\n[tables.people.columns]\nid = { key = true }'
OWNED = 'unit = { column = "pid", references = "people.id" }\nmax_rows = 3'


def units(visits: str = OWNED, people: str = PERSON) -> Units:
    return declared_units(parse_catalog(BASE.format(visits=visits, people=people)))


DECLARATIONS = {
    "rows": units('unit = "row"'),
    "a column": units('unit = { column = "pid" }\nmax_rows = 3'),
    "a reference": units(),
    "own rows": units('unit = { column = "pid" }\nmax_rows = 3\nno_unit = "own"'),
    "public": units("public = true"),
    "no key": units('unit = { column = "pid" }\nmax_rows = 3', 'unit = "row"\n[tables.people.columns]\nage = { bounds = [0, 9] }'),
}


def test_every_declaration_of_units_has_its_own_fingerprint():
    assert len({found.fingerprint for found in DECLARATIONS.values()}) == len(DECLARATIONS)


def test_what_does_not_change_units_changes_no_fingerprint():
    more = 'unit = { column = "pid", references = "people.id" }\nmax_rows = 9\nmin_people = 4'
    assert units(more).fingerprint == units().fingerprint


def test_what_goes_on_and_what_does_not():
    assert ROWS.differences(ROWS) == []
    assert ROWS.differences(Units(public=("wards", "visits"))) == [], "a table that becomes public, or is left out"
    assert ROWS.differences(replace(ROWS, public=("wards", "towns"))) == [], "one more public table"
    assert ROWS.differences(PEOPLE) == ["the unit of visits has changed"]
    assert NO_UNITS.differences(ROWS) == ["visits is a new private table"]
    assert ROWS.differences(replace(ROWS, private=(*ROWS.private, ("wards", '["row",null]')))) == [
        "wards was public and is now private"
    ]


# --- another unit over an old ledger ---------------------------------------------------------------------------------------------


def test_another_unit_is_refused_until_the_data_owner_says_how_many(file):
    ledger = opened(file, policy(8, units=ROWS))
    spend(ledger, pure(7))
    people = opened(file, policy(8, units=PEOPLE))
    with pytest.raises(UnitsChanged, match=r"the unit of visits has changed"):
        spend(people, pure("1/2"))
    assert people.accept_units(10, "curator", "nobody has more than ten rows").spent.epsilon == 70
    with pytest.raises(BudgetExceeded):
        spend(people, pure("1/1000"))
    assert people.verify().whole
    with pytest.raises(UnitsChanged):
        spend(ledger, pure("1/1000"))


def test_counting_on_under_another_unit_is_seen_by_the_chain(file):
    """The planted bug: a ledger that does not look at its units. The entry names others than those before it."""
    spend(opened(file, policy(8, units=ROWS)), pure(1))
    careless = opened(file, policy(8, units=PEOPLE))
    with careless._store._database.pool.connect() as connection:
        from tacit.accounting.ledger.pages import Page, entry_after

        page = Page(connection)
        page.append(entry_after(page.books, careless.policy.budget, "answer", {}, units=PEOPLE.fingerprint, about=1))
    assert "it counts for other units than the entries before it" in str(careless.verify().problems)


def test_a_table_that_was_public_stays_closed(file):
    spend(opened(file, policy(8, units=ROWS)), pure(1))
    private = replace(ROWS, private=(*ROWS.private, ("wards", '["row",null]')), public=())
    now = opened(file, policy(8, units=private))
    with pytest.raises(UnitsChanged, match="wards was public"):
        spend(now, pure(1))
    now.accept_units(1, "curator", "wards are people now")
    assert now.reserve(Sale((pure(1),), "curator", "q", "v", tables=("visits",))).entry.spent.epsilon == 2
    with pytest.raises(UnitsChanged, match="exact values of it were released"):
        now.reserve(Sale((pure(1),), "curator", "q", "v", tables=("wards",)))


def test_tables_that_become_public_are_noted_by_themselves(file):
    """Else nobody would know later that exact values of them were told."""
    ledger = opened(file, policy(8, units=replace(ROWS, public=())))
    spend(ledger, pure(1))
    with_wards = opened(file, policy(8, units=ROWS))
    spend(with_wards, pure(1))
    assert [entry.kind for entry in with_wards.entries()] == ["begin", "spend", "units", "spend"]
    assert (with_wards.spent().epsilon, with_wards.verify().whole) == (2, True)
    private = replace(ROWS, private=(*ROWS.private, ("wards", '["row",null]')), public=())
    assert opened(file, policy(8, units=private)).changed_units() == ["wards was public and is now private"]


def test_to_change_one_counts_at_least_twice_and_there_is_no_way_back(file):
    spend(opened(file, policy(8, units=ROWS)), pure(1))
    changed = opened(file, policy(8, units=ROWS, change="change-one"))
    with pytest.raises(InvalidInput, match="at least 2"):
        changed.accept_units(1, "curator", "")
    assert changed.accept_units(2, "curator", "").spent.epsilon == 2
    spend(changed, pure("1/2"))
    assert (changed.spent().epsilon, changed.verify().whole) == (3, True)
    with pytest.raises(UnitsChanged, match="was released as public"):
        opened(file, policy(8, units=ROWS)).accept_units(2, "curator", "")


def counted_today(event, steps, order):
    """The price of an event for other units, at an order: the law of the event counts only while its units are the same."""
    price = restated_price(event, cost_under(event, UNIT), steps)
    if steps > 1:
        return counted_at(price, order)
    return replace(price, counted=min(price.rho, sum(part.at_order for part in costs_under(event, UNIT, order))))


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(events, st.sampled_from(["ana", "ben"])), min_size=1, max_size=5),
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
)
def test_sums_after_changes_of_units_are_those_of_entries_restated_one_by_one(tmp_path_factory, spends, changes):
    file = str(tmp_path_factory.mktemp("units") / "ledger.sqlite")
    ledger = opened(file, policy(10**9, "1/2", units=ROWS))
    paid = []
    for place, (event, analyst) in enumerate(spends):
        if ledger.admits(event, analyst):
            spend(ledger, event, analyst)
            paid.append([event, analyst, 1])
        if place < len(changes):
            ledger = opened(file, policy(10**9, "1/2", units=PEOPLE if place % 2 == 0 else ROWS))
            ledger.accept_units(changes[place], "curator", "")
            paid = [[event, analyst, steps * changes[place]] for event, analyst, steps in paid]
    order = order_of([policy(10**9, "1/2").budget], HALF)
    whole = Filter(10**9, Fraction(1, 2), neighbours=UNIT, order=order)
    expected = NOTHING_SPENT
    for event, _, steps in paid:
        expected = whole.after(expected, counted_today(event, steps, order))
    assert ledger.spent() == expected
    assert ledger.verify().whole


# --- the numbers ---------------------------------------------------------------------------------------------------------------


def laplace_ratio(scale: Fraction, shift: int) -> float:
    """The largest log-ratio of two discrete Laplace laws at a distance, over everything that can come out."""
    return max(abs(abs(k) - abs(k - shift)) for k in range(-60, 60)) / float(scale)


def gaussian_rho(scale: Fraction, shift: int) -> float:
    """The supremum over orders of the Renyi divergence of discrete Gaussians at a distance, over the order."""
    exponents = {k: -(k**2) / (2 * float(scale) ** 2) for k in range(-400, 401)}
    total = math.log(sum(map(math.exp, exponents.values())))

    def renyi(order: float) -> float:
        terms = [order * exponents[k] + (1 - order) * exponents[k - shift] - total for k in range(-300, 301)]
        return math.log(sum(map(math.exp, terms))) / (order - 1)

    return max(renyi(order) / order for order in (1.5, 2, 4, 16))


def threshold_weight(scale: Fraction, threshold: int, people: int) -> float:
    """How likely a key that only these people have is shown: what a neighbour without them never shows."""
    ratio = math.exp(-1 / float(scale))
    above = [ratio ** abs(k) for k in range(threshold - people, threshold + 400)]
    return sum(above) * (1 - ratio) / (1 + ratio)


def broken_restatements(price_of) -> list[str]:
    """Which exact group losses exceed their restated price: of noise on counts, Gaussian noise, and keys with a threshold."""
    found = []
    for steps in (2, 3, 7):
        pure_price = price_of(LaplaceNoise(Fraction(1), Fraction(5), UNIT), steps)
        if laplace_ratio(Fraction(5), steps) > float(pure_price.epsilon) * (1 + 1e-12):
            found.append(f"epsilon at {steps}")
        gaussian = price_of(GaussianNoise(Fraction(1), Fraction(9), Fraction(0), UNIT), steps)
        if gaussian_rho(Fraction(9), steps) > float(gaussian.rho) * (1 + 1e-9):
            found.append(f"rho at {steps}")
        delta = Fraction(threshold_weight(Fraction(2), 30, 1)).limit_denominator(10**18)
        keys = price_of(ThresholdedKeys(Fraction(1, 2), delta, 1, 30, UNIT), steps)
        if threshold_weight(Fraction(2), 30, steps) > float(keys.delta) * (1 + 1e-9):
            found.append(f"delta at {steps}")
        alone = GaussianKeyThreshold(Fraction(1, 50), Fraction(1, 10**6), 1, neighbours=UNIT)
        keys = price_of(alone.event, steps)
        shown = 1 - float(alone.law({"a": steps}, missing=Fraction(1, 10**30)).probabilities[()])
        if shown > float(keys.delta) * (1 + 1e-9):
            found.append(f"moved weight at {steps}")
    return found


def honest(event, steps) -> Cost:
    return restated_price(event, cost(event), steps)


PLANTS = {
    "epsilon": lambda event, steps: replace(honest(event, steps), epsilon=cost(event).epsilon),
    "rho": lambda event, steps: replace(honest(event, steps), rho=steps * cost(event).rho),
    "delta": lambda event, steps: replace(honest(event, steps), delta=steps * cost(event).delta),
    "moved weight": lambda event, steps: replace(honest(event, steps), delta=steps * cost(event).delta),
}


def test_a_restated_price_covers_the_exact_loss_of_a_group():
    assert broken_restatements(honest) == []


@pytest.mark.parametrize("name", PLANTS)
def test_planted_restatements_are_caught(name):
    assert any(found.startswith(name) for found in broken_restatements(PLANTS[name]))


def test_the_parts_of_a_batch_are_restated_one_by_one():
    """The sum of the deltas of the parts at their own epsilons, not of all at the sum of epsilons."""
    keys = ThresholdedKeys(Fraction(1), Fraction(1, 10**9), 1, 20, UNIT)
    noise = LaplaceNoise(Fraction(1), Fraction(1, 5), UNIT)
    both = Batch((keys, noise))
    apart = restated_price(keys, cost(keys), 4)
    assert restated_price(both, cost(both), 4).delta == apart.delta
    assert restated_price(None, cost(both), 4).delta > 10**6 * apart.delta


def test_a_truncation_is_recomputed_and_not_multiplied():
    event = GaussianNoise(Fraction(1), Fraction(20), Fraction(1, 10**30), UNIT)
    found = restated_price(event, cost(event), 10)
    assert found.rho == Fraction(100, 800)
    assert found.delta < Fraction(1, 10**25)
    assert found.delta < restated_price(None, cost(event), 10).delta < Fraction(1, 10**20)


def test_a_delta_without_an_epsilon_that_promises_nothing_is_one():
    assert restated_price(None, Cost(None, Fraction(1), Fraction(1, 10**9), UNIT), 10**9).delta == 1


def test_what_promises_nothing_is_said_so():
    assert restated_price(None, Cost(Fraction(2), Fraction(2), Fraction(1, 10**9)), 1000).delta == 1
    assert restate.under(Cost(Fraction(1), Fraction(1), Fraction(0), UNIT), Neighbours("change-one", "unit")).neighbours.change == (
        "change-one"
    )


def test_a_changed_number_of_steps_shows(file):
    import json
    import sqlite3
    from contextlib import closing

    from tacit.accounting.ledger.entries import hash_of

    spend(opened(file, policy(8, units=ROWS)), pure(1))
    ledger = opened(file, policy(8, units=PEOPLE))
    ledger.accept_units(5, "curator", "five rows")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        known = json.loads(connection.execute("SELECT text FROM tacit_entries WHERE number = 2").fetchone()[0])
        known["details"]["steps"] = "1"
        text = json.dumps(known, sort_keys=True, separators=(",", ":"))
        connection.execute("UPDATE tacit_entries SET text = ?, hash = ? WHERE number = 2", [text, hash_of(text)])
        connection.execute("UPDATE tacit_books SET hash = ?", [hash_of(text)])
    assert ledger.verify().problem == "entry 2: the restated sums after it are wrong"
    assert ledger.identity == IDENTITY


# --- a source under another name -------------------------------------------------------------------------------------------------

ON = '[budget]\nepsilon = 8\n[tables.visits]\nsource = "visits.csv"\nunit = "row"\n[tables.{name}]\nsource = {source}\n{kind}\n'

POSTGRES = '{{ postgres = "postgresql://{}/hospital", table = "{}" }}'


def on_source(folder, name: str, source: str, kind: str = 'unit = "row"') -> Units:
    written = source if source.startswith("{") else f'"{source}"'
    return declared_units(parse_catalog(ON.format(name=name, source=written, kind=kind), folder / "tacit.toml"))


@pytest.mark.parametrize("source", ["towns.csv", "./towns.csv", "sub/../towns.csv", "link.csv"])
def test_a_public_source_that_comes_back_private_under_another_name_is_closed(tmp_path, file, source):
    (tmp_path / "towns.csv").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to("towns.csv")
    spend(opened(file, policy(8, units=on_source(tmp_path, "towns", "towns.csv", "public = true"))), pure(1))
    now = opened(file, policy(8, units=on_source(tmp_path, "people", source)))
    assert now.changed_units() == ["people was public and is now private under another name"]
    now.accept_units(1, "curator", "towns are people now")
    assert now.reserve(Sale((pure(1),), "curator", "q", "v", tables=("visits",)))
    with pytest.raises(UnitsChanged, match="exact values of it were released"):
        now.reserve(Sale((pure(1),), "curator", "q", "v", tables=("people",)))


def test_another_source_is_a_new_private_table(tmp_path, file):
    spend(opened(file, policy(8, units=on_source(tmp_path, "towns", "towns.csv", "public = true"))), pure(1))
    now = opened(file, policy(8, units=on_source(tmp_path, "people", "people.csv")))
    assert now.changed_units() == ["people is a new private table"]
    now.accept_units(1, "curator", "more people")
    assert now.reserve(Sale((pure(1),), "curator", "q", "v", tables=("people",)))


def test_names_alone_let_a_public_source_come_back(tmp_path, file):
    """Planted: the ledger as it was, without marks of sources."""
    spend(opened(file, policy(8, units=replace(on_source(tmp_path, "towns", "towns.csv", "public = true"), opened=()))), pure(1))
    now = opened(file, policy(8, units=on_source(tmp_path, "people", "towns.csv")))
    assert now.changed_units() == ["people is a new private table"]


def test_a_public_and_a_private_table_on_one_source(tmp_path, file):
    both = on_source(tmp_path, "towns", "visits.csv", "public = true")
    assert both.closed == ("visits",)
    with pytest.raises(UnitsChanged, match="exact values of it were released"):
        opened(file, policy(8, units=both)).reserve(Sale((pure(1),), "curator", "q", "v", tables=("visits",)))


def test_an_older_ledger_notes_public_sources_with_its_next_entry(tmp_path, file):
    now = on_source(tmp_path, "towns", "towns.csv", "public = true")
    before = replace(now, opened=())
    assert "opened" not in before.text
    spend(opened(file, policy(8, units=before)), pure(1))
    ledger = opened(file, policy(8, units=now))
    spend(ledger, pure(1))
    spend(ledger, pure(1))
    assert [entry.kind for entry in ledger.entries()] == ["begin", "spend", "units", "spend", "spend"]
    assert (ledger.spent().epsilon, ledger.verify().whole) == (3, True)


def test_databases_are_marked_by_server_and_table_without_a_password(tmp_path):
    one = on_source(tmp_path, "towns", POSTGRES.format("ana:secret@db", "towns"), "public = true")
    two = on_source(tmp_path, "people", POSTGRES.format("bob@DB:5432", "public.towns"))
    other = on_source(tmp_path, "people", POSTGRES.format("bob@db", "people"))
    assert one.differences(two) == ["people was public and is now private under another name"]
    assert one.differences(other) == ["people is a new private table"]
