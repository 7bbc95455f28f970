"""From reports to results: what was answered is estimated, by question and by group, and nothing else is compared."""

import csv
import io
import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from chance import CHANCE
from surveys import EXAMPLE, every_method
from tacit.errors import InvalidInput
from tacit.publish.local.estimates.concentration import SUM_BOUNDS
from tacit.publish.local.estimates.estimate import Request
from tacit.publish.local.estimates.intervals import BOUNDS
from tacit.publish.local.estimates.results import Frequencies, Mean
from tacit.publish.local.survey.chart import chart, chart_texts
from tacit.publish.local.survey.reading import parse_survey, read_survey
from tacit.publish.local.survey.reports import Form, Store
from tacit.publish.local.survey.results import comparisons, labels, results, to_csv

OPEN = datetime(2029, 1, 1, tzinfo=UTC)
SURE = Request(confidence=1 - CHANCE / 50)  # fewer than fifty intervals are looked at
PEOPLE = 3000


def person(number):
    """Everybody at Harbour can work from home, and nobody else; a third cycles and the others drive; twenty minutes on average."""
    draw = random.Random(number)
    group = number % 3
    return {
        "home": int(group == 2),
        "way": 1 if number % 3 == 0 else 3,
        "minutes": 10 * (1 + number % 3),
        "missing": [0] + [3] * (draw.random() < 0.5),
    }, group


def filled(survey, people=PEOPLE):
    store, form = Store(None, survey), Form.of(survey)
    texts = []
    for number in range(people):
        answers, group = person(number)
        texts.append(form.text_of(answers, number.to_bytes(32, "big"), group if survey.group else None).encode())
    assert sum(1 for _ in store.take_all(texts, OPEN)) == people
    assert store.people() == people
    return store


@pytest.fixture(scope="module")
def store():
    with filled(parse_survey(EXAMPLE.read_text().replace("epsilon = 4", "epsilon = 12"))) as made:
        yield made


def test_every_question_is_estimated_with_an_interval_that_holds_the_truth(store):
    home, way, minutes, missing = (each.estimate for each in results(store, SURE))
    assert isinstance(home, Frequencies)
    assert home.names == ("No", "Yes")
    assert home.low[1] <= 1 / 3 <= home.high[1]
    assert way.low[1] <= 1 / 3 <= way.high[1]
    assert way.low[3] <= 2 / 3 <= way.high[3]
    assert way.high[0] < 0.2
    assert isinstance(minutes, Mean)
    assert minutes.low <= 20 <= minutes.high
    assert missing.low[0] > 0.5 > missing.high[1], "everybody chose the first, nobody the second"
    assert not missing.exclusive, "shares of sets do not sum to one"
    assert way.exclusive


def test_groups_are_estimated_apart_and_compared(store):
    found = {(each.asked.question.id, each.group): each.estimate for each in results(store, SURE, by_group=True)}
    assert found["home", "Harbour"].low[1] > 0.8 > 0.2 > found["home", "North"].high[1]
    assert {estimate.people for estimate in found.values()} == {PEOPLE // 3}
    differences = {each.asked.question.id: each for each in comparisons(store, "Harbour", "South", SURE)}
    assert differences["home"].difference.low[1] > 0.5
    assert differences["home"].groups == ("Harbour", "South")
    assert differences["minutes"].difference.low[0] <= 10 <= differences["minutes"].difference.high[0]


@pytest.mark.parametrize(("pair", "why"), [(("North", "East"), "unknown group 'East'"), (("North", "North"), "must differ")])
def test_only_declared_groups_are_compared(store, pair, why):
    with pytest.raises(InvalidInput, match=why):
        comparisons(store, *pair, SURE)


def test_without_declared_groups_nobody_is_told_apart():
    with Store(None, every_method()) as store, pytest.raises(InvalidInput, match=r"declares no \[group\]"):
        results(store, SURE, by_group=True)


def test_questions_without_reports_have_no_estimate():
    with Store(None, read_survey(EXAMPLE)) as store:
        found = results(store, SURE)
        assert [each.estimate for each in found] == [None] * 4
        assert [row for each in found for row in each.to_rows()] == []
        with pytest.raises(InvalidInput, match="no reports"):
            chart(found, [], store.form.survey)


def test_with_sample_each_person_counts_for_one_question():
    text = EXAMPLE.read_text().replace('"split"', '"sample"')
    with filled(parse_survey(text), people=600) as store:
        found = results(store, Request(1 - CHANCE, sampled=True))
    assert sum(each.estimate.people for each in found) == 600
    assert all(each.asked.epsilon == Fraction(4) for each in found)
    assert found[0].estimate.low[1] <= 1 / 3 <= found[0].estimate.high[1]


def test_csv_has_the_same_columns_for_every_kind(store, tmp_path):
    text = to_csv(results(store, SURE), path=tmp_path / "found.csv")
    lines = text.splitlines()
    assert lines[0] == "question,kind,group,people,category,estimate,low,high,consistent"
    assert len(lines) == 1 + 2 + 5 + 1 + 6
    assert all(line.count(",") >= 8 for line in lines)
    assert (tmp_path / "found.csv").read_text() == text


def test_a_declared_option_is_no_formula_in_a_spreadsheet():
    survey = parse_survey(EXAMPLE.read_text().replace('"On foot"', '"=1+1"'))
    with filled(survey, people=10) as store:
        assert "'=1+1" in to_csv(results(store, SURE))


def test_line_ends_before_a_formula_do_not_hide_it():
    survey = parse_survey(EXAMPLE.read_text().replace('"On foot"', r'"\n=1+1"'))
    with filled(survey, people=10) as store:
        text = to_csv(results(store, SURE))
    assert r",\n=1+1," in text  # it is shown, and begins with a backslash
    assert {len(row) for row in csv.reader(text.splitlines())} == {9}


def test_labels_are_in_the_language_of_the_survey():
    survey = parse_survey(EXAMPLE.read_text().replace('language = "en"', 'language = "de"'))
    assert labels(survey.question("home"), survey) == ("Nein", "Ja")


def test_differences_follow_in_the_csv_with_what_was_taken_from_what(store):
    found, differences = results(store, SURE), comparisons(store, "Harbour", "South", SURE)
    rows = list(csv.DictReader(io.StringIO(to_csv(found, differences))))
    assert list(rows[0])[-3:] == ["less", "less_people", "differs"]
    assert {row["less"] for row in rows[:14]} == {""}, "estimates come first, and are of one group"
    assert len(rows) == 14 + 14
    yes = next(row for row in rows[14:] if (row["question"], row["category"]) == ("home", "Yes"))
    assert (yes["group"], yes["less"], yes["people"], yes["less_people"]) == ("Harbour", "South", "1000", "1000")
    assert 0.5 < float(yes["low"]) < float(yes["estimate"]), "unbiased, and so perhaps above 1"
    assert yes["differs"] == "True"
    assert [row["category"] for row in rows[14:] if row["kind"] == "number"] == [""]


def drawn_by(store, survey, path, *groups, request=SURE):
    chart(results(store, request), comparisons(store, *groups, request) if groups else [], survey, path)
    return path.read_text("utf-8")


def test_a_chart_is_drawn(store, tmp_path):
    drawn = drawn_by(store, store.form.survey, tmp_path / "found.svg")
    assert "How do you come to work on most days?" in drawn
    assert "By bicycle" in drawn
    assert ">120<" in drawn, "numbers on the axis are written out"
    assert "e+" not in re.sub(r"<[^>]*>", "", drawn)
    assert "of those who answered" in drawn, "which intervals they are"
    assert "everybody: 3,000 reports" in drawn
    assert "less" not in drawn


def test_a_chart_shows_the_differences_of_two_groups(store, tmp_path):
    drawn = drawn_by(store, store.form.survey, tmp_path / "found.svg", "Harbour", "South")
    assert "Harbour minus South: 1,000 and 1,000 reports" in drawn
    assert "difference, in percentage points" in drawn
    assert "difference, minutes" in drawn
    assert ">\u2212100<" in drawn
    assert ">100<" in drawn
    assert "e+" not in re.sub(r"<[^>]*>", "", drawn)


def test_a_chart_speaks_the_language_of_the_survey(store, tmp_path):
    """A published chart is read by those who were asked."""
    german = replace(store.form.survey, language="de-AT")
    drawn = drawn_by(store, german, tmp_path / "g.svg", "Harbour", "South", request=Request("0.995", "chebyshev", True))
    said = "99,5 % für alle Zahlen zusammen, Tschebyscheff, unter denen, die geantwortet haben"
    assert f"alle: 3.000 Meldungen; {said}" in drawn
    assert "Harbour minus South: 1.000 und 1.000 Meldungen" in drawn
    assert "Unterschied in Prozentpunkten" in drawn
    assert "Anteil" in drawn
    for word in ("share", "everybody", "reports", "less", "answered", "estimate", "difference"):
        assert word not in re.sub(r"<[^>]*>", " ", drawn)


def test_every_language_has_every_word_of_the_chart_with_the_same_blanks():
    english, german = chart_texts("en"), chart_texts("de")
    assert english.keys() == german.keys()
    for key, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", german[key])), key
    assert {bound.replace(" ", "_") for bound in (*BOUNDS, *SUM_BOUNDS)} <= english.keys()
    assert chart_texts("fr") == english


def test_one_report_is_one_report_on_the_chart(tmp_path):
    survey = read_survey(EXAMPLE)
    with filled(survey, people=1) as store:
        assert "everybody: 1 report;" in drawn_by(store, survey, tmp_path / "one.svg")
