"""Grouping sets that share measurements: when they do, what one unit moves, how far the numbers miss, and the checker's opinion."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from checked import checked, report_on, unsigned
from stored import catalog, category, number, table
from tacit.accounting.composition import cost
from tacit.errors import InvalidInput, InvalidSQL, NotAllowed, TooMuchWork
from tacit.mechanisms.residual import rounded
from tacit.privacy.catalog import Column, Owner
from tacit.query.language.margins import margins_sql
from tacit.query.language.sql import read
from tacit.query.language.writer import written
from tacit.query.price.price import price, request
from tacit.query.price.shared import Sharing
from tacit.query.price.stability import reach
from tacit.release.answer import Receipt
from tacit.release.elsewhere.packed import packed, unpacked
from tacit.release.elsewhere.quotes import quote_read, quote_written
from tacit.release.noisy import ran, released
from tacit.release.tabulate import answer
from worlds import ranked, without, world_in_memory

FOLDER = Path("/nowhere")
COLUMNS = (
    Column("person", "key"),
    category("a", "p", "q", "r"),
    category("b", *"stuvw", nulls="drop", unknown="drop"),
    category("c", "x", "y", nulls="drop", unknown="drop"),
    category("d", *"0123456789", nulls="drop", unknown="drop"),
    number("cost", -2, 5, nulls="drop"),
)
NAMES = ("a", "b", "c", "d")
MANY = margins_sql("visits", NAMES, 2)
SUMMED = margins_sql("visits", NAMES, 2, sums=["cost"])
PURE, BOTH = request(epsilon=1), request(epsilon=1, delta=Fraction(1, 10**6))


def visits(**declared):
    return catalog(
        FOLDER, table("visits", FOLDER / "visits.csv", *COLUMNS, unit=Owner("person"), max_rows=2, rows_at_most=1000, **declared)
    )


def rows():
    rng = np.random.default_rng(4)
    units = [
        [
            {"a": int(rng.integers(3)) if rng.random() < 0.9 else None, "b": int(rng.integers(5)), "c": int(rng.integers(2)),
             "d": int(rng.integers(10)), "cost": int(rng.integers(8))}
            for _ in range(int(rng.integers(1, 3)))
        ]
        for _ in range(40)
    ]  # fmt: skip
    return ranked(units)


@pytest.fixture(scope="module")
def world():
    with world_in_memory(visits(), {"visits": rows()}) as made:
        yield made


def sharing(world, text, asked=BOTH, loss="squares", change="add-remove"):
    """The quotes of a question that share measurements, the best first."""
    quotes = price(world.plan(text), replace(asked, loss=loss), change)
    return [quote for quote in quotes if quote.workloads]


# --- when --------------------------------------------------------------------------------------------------------------------


def test_many_margins_share_measurements_and_one_does_not(world):
    assert sharing(world, MANY)
    assert not sharing(world, "SELECT a, b, COUNT(*) FROM visits GROUP BY a, b")
    for text in (
        "SELECT a, b, AVG(cost) FROM visits GROUP BY CUBE (a, b)",
        "SELECT a, b, COUNT(*) / 2 FROM visits GROUP BY CUBE (a, b)",
        "SELECT a, b, COUNT(DISTINCT c) FROM visits GROUP BY CUBE (a, b)",
        "SELECT a, COUNT(*) FROM visits GROUP BY a UNION ALL SELECT b, COUNT(*) FROM visits WHERE c = 'x' GROUP BY b",
    ):
        plan = world.plan(text)
        assert Sharing.of(plan, [reach(part) for part in plan.parts]) is None


def test_a_limit_of_rows_in_a_group_is_for_one_set_of_keys():
    with world_in_memory(visits(max_rows_per_group=1), {"visits": rows()}) as limited:
        assert not sharing(limited, MANY)


def test_the_quote_that_is_expected_to_miss_by_less_comes_first(world):
    shared = price(world.plan(MANY), replace(BOTH, loss="squares"))[0]
    assert shared.workloads
    plain = price(world.plan("SELECT a, c, COUNT(*) AS n FROM visits GROUP BY ROLLUP (a, c)"), PURE)[0]
    assert not plain.workloads


def test_loss_names_are_few():
    with pytest.raises(InvalidInput, match="loss must be one of"):
        request(epsilon=1, loss="cubes")


# --- what one unit moves -----------------------------------------------------------------------------------------------------


def exact_numbers(world, quote):
    """What gets noise, for every measurement of every workload."""
    shared = ran(quote, world.engine.run)[len(quote.parts) :]
    found = []
    for workload in quote.workloads:
        places = [group.moments.index(workload.moment) for group in quote.sources]
        given = dict(zip(workload.sources, [one.moments[at] for one, at in zip(shared, places, strict=True)], strict=True))
        found += [(each, workload.strategy._exact(each, given)) for each in workload.strategy.measurements]
    return found


def moved(world, quote, unit):
    """The loss between the data and its neighbour without one unit: epsilon for Laplace noise, rho for Gaussian."""
    before = exact_numbers(world, quote)
    after = exact_numbers(world.with_rows("visits", without(world.tables["visits"], unit)), quote)
    world.with_rows("visits", world.tables["visits"])
    total = 0.0
    for (each, one), (_, other) in zip(before, after, strict=True):
        change = [int(number) for number in one - other]
        square = sum(number**2 for number in change) / (2 * float(each.noise.scale) ** 2)
        total += square if each.noise.concentrated else sum(map(abs, change)) / float(each.noise.scale)
    return total


@pytest.mark.parametrize("text", [MANY, SUMMED])
@pytest.mark.parametrize("asked", [PURE, BOTH])
def test_no_unit_moves_the_measurements_by_more_than_the_price(world, text, asked):
    """On neighbouring tables through the engine; half of the noise (planted) is caught."""
    quote = sharing(world, text, asked)[0]
    priced = cost(quote.event)
    most = float(priced.rho if quote.workloads[0].strategy.measurements[0].noise.concentrated else priced.epsilon)
    losses = [moved(world, quote, unit) for unit in range(6)]
    assert 0 < max(losses) <= most * (1 + 1e-9)
    if text == MANY:
        assert max(losses) > 0.5 * most  # a unit of two rows is among them


def test_the_sums_of_a_price_are_those_of_its_event(world):
    for quote in sharing(world, SUMMED):
        assert quote.delta in (0, BOTH.delta)
        assert len(quote.workloads) == 2
        events = [event for workload in quote.workloads for event in workload.strategy.event.events]
        inside = quote.event.events[-1].events if quote.stated else quote.event.events
        assert list(inside) == events
    pure = sharing(world, SUMMED, PURE)[0]
    assert cost(pure.event).epsilon == 1


# --- answers -----------------------------------------------------------------------------------------------------------------


def parts_of(world, quote):
    """The released and the exact numbers of every part."""
    noisy = released(quote, ran(quote, world.engine.run))
    for part, numbers in zip(quote.parts, noisy.parts, strict=True):
        yield part, numbers, world.exact(part.question)


@pytest.mark.parametrize("loss", ["squares", "largest", None])
def test_totals_agree_and_intervals_hold(world, loss):
    """At 1 - 1e-9 for each of 180 numbers: a miss by chance is less likely than 1e-6."""
    asked = replace(BOTH, confidence=1 - Fraction(1, 10**9))
    quote = price(world.plan(SUMMED), replace(asked, loss=loss))[0]
    assert quote.workloads
    totals = set()
    for part, numbers, exact in parts_of(world, quote):
        for shared in part.shared:
            values = np.asarray(numbers.sums[shared.place][1])
            width = float(shared.mechanism.interval(asked.confidence).above)
            assert values.dtype == np.int64
            assert np.abs(values - numbers.centres[shared.place]).max() <= rounded(shared.mechanism.axes)
            assert np.abs(values - exact[shared.place]).max() <= width + rounded(shared.mechanism.axes)
            totals.add((shared.moment.kind, int(values.sum())))
    assert len(totals) == 2
    made = answer(quote, released(quote, ran(quote, world.engine.run)), Receipt(quote.epsilon, quote.delta))
    column = made.column("n")
    assert len(made) == sum(part.cells for part in quote.parts)
    assert all(
        low <= value <= high and low == int(low) for value, low, high in zip(column.values, column.low, column.high, strict=True)
    )


def test_a_part_with_its_keys_in_another_order_has_its_own_cells(world, monkeypatch):
    """Without noise the exact numbers come out, whatever the order of the keys."""
    for kind in ("laplace", "gaussian"):
        monkeypatch.setattr(f"tacit.mechanisms.{kind}.discrete.draw_{kind}", lambda scale, size: np.zeros(size, dtype=np.int64))
    text = (
        "SELECT a, b, d, COUNT(*) AS n, SUM(cost) AS t FROM visits GROUP BY GROUPING SETS ((d, a), (b, d), (b, a), (d), (a), (b))"
    )
    quote = sharing(world, text)[0]
    for part, numbers, exact in parts_of(world, quote):
        for shared in part.shared:
            assert np.asarray(numbers.sums[shared.place][1]).tolist() == np.asarray(exact[shared.place]).tolist()


def test_numbers_and_quotes_come_back_from_another_process(world):
    quote = sharing(world, SUMMED)[0]
    assert quote_read(quote_written(quote)) == quote
    noisy = released(quote, ran(quote, world.engine.run))
    again = unpacked(quote, packed(quote, noisy))
    for one, other in zip(noisy.parts, again.parts, strict=True):
        assert [numbers.tolist() for _, numbers in one.sums.values()] == [numbers.tolist() for _, numbers in other.sums.values()]
        assert all(np.allclose(one.centres[place], other.centres[place]) for place in one.centres)


def names_of(select):
    return [[key.parts for key in keys] for keys in select.sets]


# --- MARGINS -----------------------------------------------------------------------------------------------------------------


def test_margins_are_all_sets_of_few_columns(world):
    select = read("SELECT a, b, c, COUNT(*) AS n FROM visits GROUP BY MARGINS (2, a, b, c)").statement
    assert [len(keys) for keys in select.sets] == [1, 1, 1, 2, 2, 2]
    assert names_of(read(written(select)).statement) == names_of(select)


@pytest.mark.parametrize("wrong", ["MARGINS (0, a, b)", "MARGINS (3, a, b)", "MARGINS (a, b)", "MARGINS ('2', a, b)", "MARGINS ()"])
def test_wrong_margins_are_refused(wrong):
    with pytest.raises((InvalidSQL, NotAllowed), match=r"MARGINS|invalid SQL"):
        read(f"SELECT a, COUNT(*) FROM visits GROUP BY {wrong}")


def test_there_is_a_limit_of_margins():
    names = ", ".join(f"c{at}" for at in range(60))
    with pytest.raises(TooMuchWork, match="more than 1,500 sets"):
        read(f"SELECT COUNT(*) FROM visits GROUP BY MARGINS (2, {names})")
    with pytest.raises(InvalidInput, match="the limit is 1,500"):
        margins_sql("visits", [f"c{at}" for at in range(60)])
    with pytest.raises(InvalidInput, match="given twice"):
        margins_sql("visits", ["a", "A"])
    with pytest.raises(InvalidInput, match="must be a list"):
        margins_sql("visits", "a")


def test_seventy_eight_margins_are_asked_by_few_statements():
    """More sets than can be asked apart: the sources contain every part, and the written text is read again."""
    wide = [category(f"c{at}", "x", "y", "z", nulls="drop", unknown="drop") for at in range(12)]
    declared = catalog(FOLDER, table("visits", FOLDER / "visits.csv", *wide, rows_at_most=100))
    stored = [
        {"tacit_unit": at, "tacit_rank": 0, **{column.name: (at * place) % 3 for place, column in enumerate(wide)}}
        for at in range(9)
    ]
    text = margins_sql("visits", [column.name for column in wide])
    with world_in_memory(declared, {"visits": stored}) as many:
        plan = many.plan(text)
        assert len(plan.parts) == 78
        select = read(text).statement
        assert "MARGINS (2," in written(select)
        assert names_of(read(written(select)).statement) == names_of(select)
        quotes = price(plan, replace(BOTH, groups=10**6))
        assert all(quote.workloads for quote in quotes)
        sources = quotes[0].workloads[0].sources
        shares = Sharing.of(plan, [reach(part) for part in plan.parts])
        assert all(any(set(axes) <= set(source) for source in sources) for axes in shares.parts)
        assert len(sources) < 30
        assert not report_on(quotes[0]).wrong
        with pytest.raises(NotAllowed, match="COUNT and SUM"):
            price(many.plan(text.replace("COUNT(*)", "COUNT(DISTINCT c0)")), replace(PURE, groups=10**6))


# --- certificates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [PURE, BOTH])
@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_the_checker_derives_the_price_of_every_measurement(world, asked, change):
    for quote in sharing(world, SUMMED, asked, change=change):
        report = report_on(quote, change)
        assert not report.wrong
        count = sum(len(workload.strategy.measurements) for workload in quote.workloads)
        assert sum("shared by all parts" in line for line in report.checked) == count


def spoiled(world):
    """What somebody could write into a certificate to have less noise, and the answer that is left out."""

    def changed(at, **fields):
        def apply(document):
            document["mechanisms"][at] |= fields
            return document

        return apply

    def dropped(document):
        kept = [each for each in document["mechanisms"] if not (each["releases"] == "shared" and each["axes"] == [0, 1])]
        return document | {"mechanisms": kept}

    yield changed(1, centred=False)
    yield changed(3, axes=[0])
    yield changed(3, sensitivity="1")
    yield changed(5, dimension=1)
    yield changed(-1, axes=[0])
    yield changed(-1, **{"from": 0})
    yield dropped


def test_wrong_statements_about_measurements_are_found(world):
    quote = next(each for each in sharing(world, SUMMED) if each.delta)
    assert not checked(unsigned(quote)).wrong
    for spoil in spoiled(world):
        assert checked(spoil(unsigned(quote))).wrong


def test_less_noise_than_the_price_is_found(world):
    """Planted: every measurement at the noise of one row, where a unit has two."""
    document = unsigned(sharing(world, MANY, PURE)[0])
    noise = [each for each in document["mechanisms"] if each["releases"] == "shared"] + document["event"]["events"]
    for each in noise:
        each |= {name: str(Fraction(each[name]) / 2) for name in ("sensitivity", "scale")}
    assert checked(document).wrong
