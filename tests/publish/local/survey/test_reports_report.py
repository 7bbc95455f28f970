"""Reports: the ones that the page makes are read back; everything else is set aside with a reason, whatever it is."""

import base64
import json
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import fewest_hits
from surveys import ANSWERS, EXAMPLE, answers_to, every_method, secrets
from tacit.publish.local.randomizers.categories import Binary
from tacit.publish.local.randomizers.longitudinal import permanent
from tacit.publish.local.survey.randomized import from_json, recipe, to_json
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.local.survey.reports import LARGEST, Form, Report, SetAside, pseudonym

SURVEY = every_method()
FORM = Form.of(SURVEY)
SAMPLED = Form.of(every_method(share='"sample"'))
OPEN = datetime(2080, 1, 1, tzinfo=UTC)
SECRET = bytes(range(32))
GOOD = FORM.text_of(ANSWERS, SECRET)


def changed(**changes: object) -> bytes:
    return json.dumps(json.loads(GOOD) | changes).encode()


def answered(**changes: object) -> bytes:
    return changed(answers=json.loads(GOOD)["answers"] | changes)


@given(answers_to(SURVEY), secrets)
@settings(max_examples=40)
def test_what_the_page_makes_is_read_back(answers, secret):
    text = FORM.text_of(answers, secret)
    read = FORM.read(text.encode(), OPEN)
    assert isinstance(read, Report), read
    assert read.answers == json.loads(text)["answers"]
    code = b"tacit1." + base64.urlsafe_b64encode(text.encode()).rstrip(b"=")
    assert FORM.read(code, OPEN) == FORM.read(b"  " + text.encode() + b"\r\n", OPEN) == read


@given(answers_to(SURVEY), answers_to(SURVEY), secrets)
@settings(max_examples=40)
def test_a_report_is_permanent_and_follows_each_value_alone(one, other, secret):
    """The same value gives the same report, whatever else is answered: asking again tells nothing new."""
    first, second = (json.loads(FORM.text_of(each, secret)) for each in (one, other))
    assert first == json.loads(FORM.text_of(one, secret))
    assert first["person"] == second["person"]
    for id in one:
        if (sorted(one[id]) if isinstance(one[id], list) else one[id]) == (
            sorted(other[id]) if isinstance(other[id], list) else other[id]
        ):
            assert first["answers"][id] == second["answers"][id]


@given(answers_to(SURVEY), secrets)
@settings(max_examples=40)
def test_with_sample_one_question_is_answered_whatever_the_answers_are(answers, secret):
    told = json.loads(SAMPLED.text_of(answers, secret))
    assert list(told["answers"]) == list(SAMPLED.asked(secret)) == list(json.loads(SAMPLED.text_of(ANSWERS, secret))["answers"])
    assert isinstance(SAMPLED.read(json.dumps(told).encode(), OPEN), Report)
    assert SAMPLED.questions["yes"].epsilon == Fraction(8)


def test_the_sampled_question_is_every_question_for_somebody():
    drawn = {SAMPLED.asked(number.to_bytes(32, "big"))[0] for number in range(200)}
    assert drawn == set(SAMPLED.questions)  # missed with probability 8 (7/8)^200 < 1e-10, and the numbers are fixed


def test_persons_differ_by_secret_and_by_survey():
    other = every_method(id='"another"')
    assert len({pseudonym(survey, secret) for survey in (SURVEY, other) for secret in (SECRET, bytes(32))}) == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"null", "malformed"),
        (b"[]", "malformed"),
        (b"{}", "malformed"),
        (GOOD.encode()[:-1], "malformed"),
        (GOOD.encode() * 2, "malformed"),
        (b"tacit1.", "malformed"),
        (b"tacit1.!!!!", "malformed"),
        (b"tacit1." + base64.urlsafe_b64encode(GOOD.encode())[:-9], "malformed"),
        (GOOD.replace('"person":', '"person":"x","person":').encode(), "malformed"),
        (GOOD.replace('"yes":', '"yes":0,"yes":').encode(), "malformed"),
        (changed(person="g" * 32), "malformed"),
        (changed(person=7), "malformed"),
        (changed(group=1), "malformed"),
        (changed(time="now"), "malformed"),
        (changed(tacit="survey report 2"), "malformed"),
        (changed(answers={}), "malformed"),
        (changed(answers=[]), "malformed"),
        (changed(answers={"yes": 1}), "malformed"),
        (answered(yes=2), "malformed"),
        (answered(yes=True), "malformed"),
        (answered(yes=1.0), "malformed"),
        (answered(yes=-1), "malformed"),
        (answered(yes="1"), "malformed"),
        (answered(few=4), "malformed"),
        (answered(many="1" * 8), "malformed"),
        (answered(many="012345678"), "malformed"),
        (answered(many="\u0661" * 9), "malformed"),
        (answered(bit=2), "malformed"),
        (answered(noisy=7), "malformed"),
        (answered(another=1), "malformed"),
        (changed(survey="other"), "foreign"),
        (changed(survey=["every-method"]), "foreign"),
        (changed(form="0" * 32), "foreign"),
        (b"[" * 100_000, "malformed"),
        (b'{"a":' * 5000, "malformed"),
        (b"[" * 5000 + b"]" * 5000, "malformed"),
        (GOOD.replace('"yes":1', '"yes":' + "9" * 5000).replace('"yes":0', '"yes":' + "9" * 5000).encode(), "malformed"),
        (GOOD.replace('"yes":1', '"yes":NaN').replace('"yes":0', '"yes":Infinity').encode(), "malformed"),
        (GOOD.replace('"yes":1', '"yes":1e999').replace('"yes":0', '"yes":-1e999').encode(), "malformed"),
        (GOOD.replace('"yes"', '"\\ud800"').encode(), "malformed"),
        (GOOD.encode().ljust(LARGEST + 2, b"x"), "malformed"),
    ],
)
def test_what_is_no_report_is_set_aside(text, reason):
    told = FORM.read(text, OPEN)
    assert isinstance(told, SetAside)
    assert told.reason == reason
    assert told.why


def test_a_report_that_comes_after_the_end_is_late():
    assert isinstance(FORM.read(GOOD.encode(), SURVEY.open_until.replace(hour=11)), Report)
    assert FORM.read(GOOD.encode(), SURVEY.open_until) == SetAside("late", "it arrived after the survey closed on 2090-01-31")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_raise(text):
    assert isinstance(FORM.read(text, OPEN), SetAside)


@given(JSON, st.sampled_from(["tacit", "survey", "form", "person", "answers", "group", *FORM.questions]))
def test_no_json_raises_and_none_but_a_report_is_one(value, key):
    document = json.loads(GOOD)
    inside = document["answers"] if key in FORM.questions else document
    untouched = inside.get(key) == value and type(inside.get(key)) is type(value)
    inside[key] = value
    read = FORM.read(json.dumps(document).encode("utf-8", "surrogatepass"), OPEN)
    if isinstance(read, Report) and not untouched:
        each = FORM.questions[key]  # only another report that the randomizer can make
        assert to_json(each.randomizer, from_json(each.randomizer, value)) == value


@given(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=3))
def test_no_damage_raises(place, damage):
    text = GOOD.encode()
    read = FORM.read(text[:place] + damage + text[place + len(damage) :], OPEN)
    assert isinstance(read, Report | SetAside)


def test_groups_are_codes_of_the_declared_ones():
    form = Form.of(read_survey(EXAMPLE))
    text = form.text_of({"home": 1, "way": 2, "minutes": 35, "missing": [0]}, SECRET, group=2)
    assert form.read(text.encode(), datetime(2030, 1, 1, tzinfo=UTC)).group == 2
    for wrong in ("3", "-1", "true", '"North"', "null"):
        told = form.read(text.replace('"group":2', f'"group":{wrong}').encode(), datetime(2030, 1, 1, tzinfo=UTC))
        assert told.reason == "malformed"


def test_the_page_is_told_every_probability_as_whole_numbers():
    for each in FORM.questions.values():
        told = recipe(each.randomizer)
        for name, value in (told | told.get("inner", {})).items():
            assert isinstance(value, int | str | dict), f"{name} is no float: rounding would change the law"
            if name in ("hit", "false_hit", "near", "decay"):
                assert 0 < Fraction(value) < 1


def pairs(streams):
    """How often a yes and a no, asked twice with epsilon 1/2 and 2, are reported as which pair, over many secrets."""
    channels = Binary("1/2"), Binary(2)
    found = {truth: Counter() for truth in (0, 1)}
    for truth, number in product((0, 1), range(1500)):
        secret = number.to_bytes(32, "big")
        found[truth][tuple(permanent(each, truth, secret, name, "yes") for each, name in zip(channels, streams, strict=True))] += 1
    return found


def test_the_same_coins_for_two_forms_would_prove_an_answer():
    """Planted: streams that are named by the survey alone. With the form in the name every pair comes from both answers."""
    shared = pairs(("survey", "survey"))
    assert shared[0][1, 0] >= fewest_hits(1500, 0.378 - 0.120)
    assert shared[1][1, 0] == 0, "only a no is reported as yes at first and as no then"
    names = [Form.of(every_method(epsilon=epsilon)).stream for epsilon in ("4", "16")]
    apart = pairs(names)
    assert names[0] != names[1]
    rarest = fewest_hits(1500, 0.377 * 0.119, among=8)
    assert all(apart[truth][pair] >= rarest > 0 for truth in (0, 1) for pair in product((0, 1), repeat=2))
