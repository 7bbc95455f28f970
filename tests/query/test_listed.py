"""A list of questions as one plan: whose part is whose, what the list costs, which shares, and what refuses it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from checked import checked, report_on, unsigned
from stored import catalog, category, number, table
from tacit.accounting.composition import cost
from tacit.errors import NotAllowed, Refused, TooMuchWork
from tacit.privacy.catalog import Column, Owner
from tacit.query.intervals.bands import ends_of
from tacit.query.intervals.misses import missed_by
from tacit.query.language.sql import is_list, parse, read
from tacit.query.language.writer import written
from tacit.query.listed import members, members_of, questions_of, read_list, text_of_list
from tacit.query.price import shared
from tacit.query.price.price import price, request
from tacit.query.price.shared import Sharing
from tacit.query.price.stability import reach
from tacit.query.question import canonical_plan
from tacit.release.answer import Receipt
from tacit.release.answers import answers_of, record_answers, recorded_answers
from tacit.release.elsewhere.packed import packed, unpacked
from tacit.release.elsewhere.quotes import quote_read, quote_written
from tacit.release.noisy import ran, released
from worlds import ranked, without, world_in_memory

FOLDER = Path("/nowhere")
COLUMNS = (
    Column("person", "key"),
    category("a", "p", "q", "r", nulls="drop", unknown="drop"),
    category("b", *"stuvw", nulls="drop", unknown="drop"),
    number("cost", -2, 5, nulls="drop"),
    number("age", 0, 9),
)
OF_A = "SELECT a, COUNT(*) AS n FROM visits GROUP BY a"
OF_B = "SELECT b, SUM(cost) AS c, COUNT(*) AS n FROM visits GROUP BY b"
OF_BOTH = "SELECT b, a, COUNT(*) AS n FROM visits GROUP BY b, a"
TOTAL = "SELECT SUM(cost) AS c FROM visits"
SHARE = "SELECT a, COUNT(*) / (SELECT COUNT(*) FROM visits) AS s FROM visits GROUP BY a"
MEDIAN = "SELECT MEDIAN(cost) AS m, AVG(cost) AS mean FROM visits WHERE a = 'p'"
CUBE = "SELECT a, b, COUNT(*) AS n FROM visits GROUP BY CUBE (a, b)"
CHEAP, OLD = "SELECT COUNT(*) AS n FROM visits WHERE cost < 2", "SELECT COUNT(*) AS n FROM visits WHERE age > 4"
OVERLAP = (
    CHEAP,
    OLD,
    "SELECT a, COUNT(*) AS n, SUM(cost) AS c FROM visits WHERE age > 4 AND cost < 2 GROUP BY a",
    "SELECT COUNT(*) AS n FROM visits WHERE NOT age > 4",
    "SELECT COUNT(*) AS n FROM visits WHERE age IN (1, 2, 7) OR cost = 3",
    "SELECT SUM(cost) AS c FROM visits",
    "SELECT b, COUNT(*) AS n FROM visits WHERE cost < 2 GROUP BY b",
)
LISTS = [OVERLAP, (OF_A, OF_B), (OF_A, OF_BOTH, OF_B, TOTAL), (TOTAL, SHARE, SHARE), (MEDIAN, OF_A, CUBE), (SHARE, MEDIAN, SHARE)]
PURE, BOTH = request(epsilon=1), request(epsilon=1, delta=Fraction(1, 10**6))


def visits(most=1000):
    return catalog(FOLDER, table("visits", FOLDER / "v.csv", *COLUMNS, unit=Owner("person"), max_rows=2, rows_at_most=most))


def rows():
    rng = np.random.default_rng(5)

    def row():
        age = int(rng.integers(10)) if rng.random() < 0.8 else None
        return {"a": int(rng.integers(3)), "b": int(rng.integers(5)), "cost": int(rng.integers(8)), "age": age}

    return ranked([[row() for _ in range(int(rng.integers(1, 3)))] for _ in range(40)])


@pytest.fixture(scope="module")
def world():
    with world_in_memory(visits(), {"visits": rows()}) as made:
        yield made


# --- texts -------------------------------------------------------------------------------------------------------------------


def test_a_list_is_written_as_it_is_read():
    select = read(f"{OF_A};\n-- the second\n{MEDIAN} ; ;", several=True).statement
    assert [written(each) for each in questions_of(select)] == [OF_A, written(parse(MEDIAN))]
    assert read(written(select), several=True).statement.also
    assert is_list(written(select))


@pytest.mark.parametrize(
    "text",
    ["SELECT ';'", "SELECT 1;", "SELECT 1; -- 2", "SELECT 1; /* 2 */ ;", "SELECT 1 -- ; SELECT 2", "SELECT 'a; SELECT 2", ";", 5],
)
def test_one_question_is_no_list(text):
    assert not is_list(text)


@pytest.mark.parametrize("end", [" -- all", ";", "; -- all", "; /* all */", "; -- all\n; -- done"])
def test_a_comment_after_the_end_is_no_question(end):
    assert written(parse(OF_A + end)) == OF_A
    assert len(questions_of(read(f"{OF_A}; {OF_B}{end}", several=True).statement)) == 2


def test_only_where_it_is_meant_a_text_has_several_questions():
    with pytest.raises(NotAllowed, match="expected one statement, not 2"):
        parse(f"{OF_A}; {OF_B}")


def test_a_name_of_with_is_one_of_its_own_question():
    text = "WITH t AS (SELECT a FROM visits) SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t"
    one, other = questions_of(read(text, several=True).statement)
    assert one.table != other.table


@pytest.mark.parametrize(
    ("texts", "says", "at"),
    [
        ([OF_A, "SELECT COUNT(*)\nFROM vists"], "question 2: ", None),
        ([OF_A, "SELECT a,\nCOUNT(* FROM visits"], "question 2: ", (2, 9)),
        ([OF_A, "SELECT a.*.b FROM visits", OF_B], "question 2: ", None),
        ([OF_A, "DROP TABLE visits"], "question 2 is not a SELECT", None),
        ([f"{OF_A}; {OF_B}", OF_B], "each text of a list must be one question", None),
        ([OF_A, ""], "question 2: the question is empty", None),
        ([OF_A, 3], "question 2: the question must be a string", None),
    ],
)
def test_a_refusal_says_of_which_question_and_where(world, texts, says, at):
    with pytest.raises(Refused, match=says) as caught, text_of_list(texts) as text:  # noqa: PT012  # a list is refused anywhere
        asked = read_list(texts, text, None)
        world.plan_of_list(*[written(each) for each in questions_of(asked.statement)])
    assert at is None or caught.value.at == at


# --- plans -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", LISTS)
def test_every_question_of_a_list_is_as_it_is_by_itself(world, asked):
    whole = world.plan_of_list(*asked)
    assert sum(whole.listed) == len(whole.shown)
    assert len(whole.listed) == len(asked)
    for text, (start, end) in zip(asked, whole.spans, strict=True):
        alone = world.plan(text)
        assert len(alone.shown) == end - start
        for one, other in zip(whole.shown[start:end], alone.shown, strict=True):
            assert (one.group, one.calls, one.among) == (other.group, other.calls, other.among)
            assert [output.name for output in one.outputs] == [output.name for output in other.outputs]
    beside = [part.calls for text in asked for part in world.plan(text).beside]
    assert [part.calls for part in whole.beside] == beside


def test_lists_of_other_questions_or_in_another_order_are_other_plans(world):
    lists = [(OF_A, OF_B), (OF_B, OF_A), (OF_A, OF_B, OF_A), (OF_A, CUBE), (f"{OF_A} UNION ALL {OF_A}", OF_B), (OF_A, OF_A)]
    stacked = world.plan(f"{OF_A} UNION ALL {OF_A}")
    plans = {canonical_plan(world.plan_of_list(*asked)) for asked in lists} | {canonical_plan(stacked)}
    assert len(plans) == len(lists) + 1


def test_a_list_has_a_limit_of_parts(world):
    with pytest.raises(TooMuchWork, match="65 parts: the limit is 64"):
        world.plan_of_list(*[TOTAL] * 65)
    assert len(world.plan_of_list(*[TOTAL] * 64).shown) == 64


def test_work_is_that_of_all_questions_together(world):
    large = world.with_catalog(visits(3 * 10**7))
    price(large.plan_of_list(OF_B, OF_BOTH), PURE)
    with pytest.raises(TooMuchWork, match="the worst case takes"):
        price(large.plan_of_list(*[OF_B, OF_BOTH] * 30), PURE)


# --- prices ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", LISTS)
@pytest.mark.parametrize("budget", [PURE, BOTH])
def test_the_price_is_that_of_all_questions(world, asked, budget):
    """Every sum, quantile and measurement of every question is in the event; the checker derives the same."""
    for quote in price(world.plan_of_list(*asked), budget):
        assert quote.question.listed
        charged = cost(quote.event)
        assert charged.epsilon is None or charged.epsilon <= 1
        assert not report_on(quote).wrong
        if not quote.workloads:
            assert all(part.measured or part.margins for part in quote.parts)


def test_an_event_that_is_left_out_is_found(world):
    """Planted: the last question of a list is not counted."""
    quote = price(world.plan_of_list(OF_A, MEDIAN, OF_B), PURE)[0]
    document = unsigned(quote)
    document["event"] = {**document["event"], "events": document["event"]["events"][:-1]}
    assert checked(document).wrong


@pytest.mark.parametrize("listed", [[1, 1], [1, 1, 2], [1, 2, 0], [3, 1, -1], ["1", 1, 1]])
def test_the_parts_of_a_list_cannot_be_others(world, listed):
    document = unsigned(price(world.plan_of_list(OF_A, OF_A, OF_B), PURE)[0])
    document["plan"]["listed"] = listed
    assert checked(document).wrong


def test_questions_with_parts_in_common_share_measurements_whatever_sums_each_has(world):
    quote = next(each for each in price(world.plan_of_list(OF_A, OF_BOTH, OF_B, TOTAL), BOTH) if each.workloads)
    assert [len(workload.parts) for workload in quote.workloads] == [3, 2]
    assert not report_on(quote).wrong
    assert quote_read(quote_written(quote)) == quote
    alone = price(world.plan_of_list(OF_A, OF_BOTH, OF_B, TOTAL), PURE)[0]
    assert cost(alone.event).epsilon == 1


def exact_numbers(world, quote):
    """What gets noise, for every measurement of every workload."""
    shared = ran(quote, world.engine.run)[len(quote.parts) :]
    for workload in quote.workloads:
        given = {
            axes: one.moments[group.moments.index(workload.moment)]
            for axes, group, one in zip(workload.sources, quote.sources, shared, strict=True)
            if workload.moment in group.moments
        }
        for each in workload.strategy.measurements:
            yield each.noise, workload.strategy._exact(each, given)


def exchanged(rows, unit):
    """The neighbour in which one unit has the rows of another one."""
    other = [{**row, "tacit_unit": unit} for row in rows if row["tacit_unit"] == unit + 8]
    return [*without(rows, unit), *other]


def greatest_loss(world, quote, neighbour=without):
    """The largest loss between the data and its neighbours, and the price: both epsilon, or both rho."""
    everyone, losses = world.tables["visits"], []
    concentrated = quote.workloads[0].strategy.measurements[0].noise.concentrated
    before = list(exact_numbers(world, quote))
    for unit in range(8):
        after = exact_numbers(world.with_rows("visits", neighbour(everyone, unit)), quote)
        total = Fraction(0)
        for (noise, one), (_, other) in zip(before, after, strict=True):
            change = [int(each) for each in one - other]
            squares = sum(each**2 for each in change) / (2 * noise.scale**2)
            total += squares if concentrated else sum(map(abs, change)) / noise.scale
        losses.append(total)
    world.with_rows("visits", everyone)
    priced = cost(quote.event)
    return max(losses), priced.rho if concentrated else priced.epsilon


def sharing(world, texts, asked, change="add-remove"):
    return [quote for quote in price(world.plan_of_list(*texts), replace(asked, loss="squares"), change) if quote.workloads]


@pytest.mark.parametrize("texts", [(OF_A, OF_BOTH, OF_B, TOTAL), OVERLAP])
@pytest.mark.parametrize("asked", [PURE, BOTH])
def test_no_unit_moves_a_list_by_more_than_its_price(world, texts, asked):
    """Through the engine, on tables without one unit, for every quote that shares measurements."""
    for quote in sharing(world, texts, asked):
        most, priced = greatest_loss(world, quote)
        assert priced / 8 < most <= priced * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("asked", [PURE, BOTH])
def test_no_unit_that_changes_moves_a_list_by_more_than_its_price(world, asked):
    """Through the engine, on tables in which one unit has other rows; the price of one that comes or goes (planted) is too low."""
    for texts in ((OF_A, OF_BOTH, OF_B, TOTAL), OVERLAP):
        for quote in sharing(world, texts, asked, "change-one"):
            most, priced = greatest_loss(world, quote, exchanged)
            assert priced / 8 < most <= priced * (1 + Fraction(1, 10**9))
    worst = max(
        Fraction(most, 1) / priced
        for most, priced in (greatest_loss(world, each, exchanged) for each in sharing(world, (OF_A, OF_BOTH, OF_B, TOTAL), PURE))
    )
    assert worst > 1


@pytest.mark.usefixtures("disagreeing")
def test_a_price_for_one_row_of_a_unit_is_caught(world, monkeypatch):
    """Planted: the sensitivity of one row where a unit has two."""
    usual = shared.contribution
    monkeypatch.setattr(shared, "contribution", lambda moment, touched: replace(usual(moment, touched), rows=1))
    most, priced = greatest_loss(world, sharing(world, (CHEAP, OLD), PURE)[0])
    assert most > priced


@pytest.mark.usefixtures("disagreeing")
def test_a_question_that_overlaps_and_is_not_counted_is_caught(world):
    """Planted: a measurement that no event pays for."""
    quote = sharing(world, OVERLAP, PURE)[0]
    workload = quote.workloads[0]
    paid = replace(workload.strategy, measurements=workload.strategy.measurements[1:])
    lacking = replace(quote, workloads=(replace(workload, strategy=paid), *quote.workloads[1:]))
    assert cost(lacking.event).epsilon < cost(quote.event).epsilon
    document = unsigned(quote)
    document["event"] = unsigned(lacking)["event"]
    assert checked(document).wrong


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_the_checker_agrees_on_lists_with_conditions(world, change):
    for texts in [OVERLAP, (CHEAP, OLD), (CHEAP, f"{OLD} AND cost < 2"), (OLD, "SELECT a, COUNT(*) AS n FROM visits GROUP BY a")]:
        for asked in (PURE, BOTH):
            for quote in sharing(world, texts, asked, change):
                assert not report_on(quote, change).wrong


def test_conditions_that_all_have_are_those_of_the_rows(world):
    """COUNT(*) of rows that every question takes is a margin of them, and no condition."""
    whole = world.plan_of_list(f"{OLD} AND cost < 2", CHEAP)
    found = Sharing.of(whole, [reach(part) for part in whole.parts])
    assert [condition is None for condition in found.conditions] == [False, True]
    assert found.rows == whole.below[0].group.child
    apart = world.plan_of_list(
        OLD, "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS k FROM visits GROUP BY person) AS t WHERE k > 1"
    )
    assert Sharing.of(apart, [reach(part) for part in apart.parts]) is None


def test_overlapping_counts_miss_by_less_than_one_by_one(world):
    texts = [f"SELECT COUNT(*) AS n FROM visits WHERE cost > {low}" for low in range(-1, 5)] + [OLD, CHEAP]
    together = sharing(world, texts, PURE)[0]
    alone = price(world.plan(texts[0]), replace(PURE, epsilon=Fraction(1, len(texts))))[0]
    widths = [float(each.mechanism.interval(Fraction(95, 100)).above) for part in together.parts for each in part.shared]
    assert len(widths) == len(texts)
    assert max(widths) < 0.8 * float(alone.sums[0].mechanism.interval(Fraction(95, 100)).above)


def test_intervals_of_overlapping_counts_hold(world):
    """At 1 - 1e-9 for each of the numbers: a miss by chance is less likely than 1e-6."""
    for asked in (PURE, BOTH):
        quote = sharing(world, OVERLAP, replace(asked, confidence=1 - Fraction(1, 10**9)))[0]
        noisy = released(quote, ran(quote, world.engine.run))
        for part, numbers in zip(quote.parts, noisy.parts, strict=True):
            exact = world.exact(part.question)
            for each in part.shared:
                low, high = ends_of(numbers, each.place, Fraction(1, 10**9))
                assert (low <= np.asarray(exact[each.place])).all()
                assert (np.asarray(exact[each.place]) <= high).all()


# --- answers -----------------------------------------------------------------------------------------------------------------


def test_intervals_hold_together_over_the_whole_list(world):
    """The chances of a miss of all numbers of all questions add up to no more than the confidence leaves."""
    asked = replace(PURE, simultaneous=True)
    for texts in LISTS:
        whole, total = world.plan_of_list(*texts), Fraction(0)
        for part in whole.shown:
            cells = int(np.prod([3 if key.name == "a" else 5 for key in part.group.keys], dtype=int))
            noisy = [output for output in part.outputs if "Result" in repr(output.value)]
            total += sum((missed_by(output.value, part, asked, cells) * cells for output in noisy), start=Fraction(0))
            alone = sum((missed_by(output.value, part, PURE, cells) for output in noisy), start=Fraction(0))
            assert alone >= Fraction(5, 100) / 4
        assert 0 < total <= Fraction(5, 100)
        apart = [world.plan(text) for text in texts]
        every = [out.value for part in apart for out in part.outputs if "Result" in repr(out.value)]
        assert len(every) > 1  # planted: each question by itself would leave the whole chance to every one
        assert sum(Fraction(5, 100) for _ in apart) > Fraction(5, 100)


@pytest.mark.parametrize("asked", LISTS)
def test_answers_are_those_of_the_questions_in_their_order(world, asked, monkeypatch):
    """Without noise, every answer is the exact one; and it comes back from another process, and from the ledger's text."""
    for kind in ("laplace", "gaussian"):
        monkeypatch.setattr(f"tacit.mechanisms.{kind}.discrete.draw_{kind}", lambda scale, size: np.zeros(size, dtype=np.int64))
    quote = price(world.plan_of_list(*asked), replace(BOTH, loss="squares"))[0]
    noisy = released(quote, ran(quote, world.engine.run))
    made = answers_of((quote, unpacked(quote, packed(quote, noisy)), Receipt(quote.epsilon, quote.delta), []))
    assert len(made) == len(asked) == len(members(quote)) == len(members_of(noisy, quote.question))
    for text, answer in zip(asked, made, strict=True):
        alone = price(world.plan(text), BOTH)[0]
        exact = answers_of((alone, released(alone, ran(alone, world.engine.run)), Receipt(alone.epsilon, alone.delta), []))[0]
        for column, wanted in zip(answer.columns, exact.columns, strict=True):
            assert column.name == wanted.name
            if column.kind not in ("quantile",):
                assert column.values == wanted.values
    again = recorded_answers(record_answers(made))
    for one, other in zip(made, again, strict=True):
        assert [column.values for column in one.columns] == [column.values for column in other.columns]
        assert [column.low for column in one.columns] == [column.low for column in other.columns]


def test_what_a_list_may_not_have_is_said(world):
    from tacit.query.listed import checked as may_be_asked

    for text, says in [
        ("SELECT 1; SELECT 2", "question 1: it is free"),
        (f"{OF_A}; SELECT DISTINCT a FROM visits", "question 2: it is free"),
        (f"{OF_A}; SELECT a FROM visits LIMIT 0", "question 2: LIMIT 0"),
        (f"{OF_A}; SELECT * FROM ({OF_A}) AS t", "question 2: a SELECT from answers"),
        (f"{OF_A}; SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM visits", "question 2: a budget is written"),
    ]:
        asked = read(text, several=True)
        with pytest.raises(NotAllowed, match=says):
            may_be_asked(asked.statement, world.catalog, lambda: world.facts)
