"""survey.toml: what it may say, and that everything wrong is told with its place and remedy."""

import contextlib
import json
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surveys import EXAMPLE, every_method
from tacit.errors import SurveyUnusable
from tacit.publish.local.survey.declaration import Choice, Number, SetOf, YesNo
from tacit.publish.local.survey.randomized import form_of, randomized
from tacit.publish.local.survey.reading import parse_survey, read_survey, schema
from tacit.publish.local.survey.texts import LANGUAGES, PROMISES, page_texts

LEAST = """
id = "bikes"
title = "Bicycles"
closes = 2030-01-31
epsilon = 1
"""
QUESTION = """
[questions.cycles]
ask = "Do you cycle?"
kind = "yes/no"
"""


def test_the_example_is_read():
    survey = read_survey(EXAMPLE)
    assert read_survey(str(EXAMPLE)) == survey
    assert [type(question) for question in survey.questions] == [YesNo, Choice, Number, SetOf]
    assert survey.closes == date(2030, 6, 30)
    assert survey.open_until == datetime(2030, 7, 1, 12, tzinfo=UTC), "the day ends last twelve hours west of Greenwich"
    assert sum(each.epsilon for each in randomized(survey)) == survey.epsilon == 4


def test_decimals_are_read_as_they_are_written():
    assert parse_survey(LEAST.replace("epsilon = 1", "epsilon = 0.1") + QUESTION).epsilon == Fraction(1, 10)


def told(text: str) -> str:
    with pytest.raises(SurveyUnusable) as wrong:
        parse_survey(text)
    assert all(problem.remedy for problem in wrong.value.problems), "every problem comes with what to do about it"
    return str(wrong.value)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("epsilon = 1", "epsilon = 0"), "line 5: epsilon is 0, which must be above 0"),
        (("epsilon = 1", "epsilon = nan"), "epsilon is NaN, not a finite number"),
        (('id = "bikes"', 'id = "My Bikes"'), 'line 2: id is "My Bikes", which does not fit'),
        (("closes = 2030-01-31", 'closes = "2030-02-31"'), "closes is '2030-02-31', which is not a valid date"),
        (("closes = 2030-01-31", "close = 2030-01-31"), "close is not a key that tacit knows; did you mean closes?"),
        (('title = "Bicycles"', 'title = ""'), "title is empty"),
        (('title = "Bicycles"', 'title = "B"\nsend_to = "http://example.org/"'), "send_to is"),
        (('title = "Bicycles"', 'title = "B"\nsend_to = "https://x.org/ \'unsafe-inline\'"'), "send_to is"),
        *(
            (('title = "Bicycles"', f'title = "B"\nsend_to = "{url}"'), "send_to is")
            for url in (
                "https://",
                "https:///x",
                "https://[",
                "https://*/x",
                "https://bank.example@evil.example/",
                "http://localhost:80@evil.example/",
                "https://a.example/\\n",
                "https://a.example:99999/",
                "javascript:alert(1)",
            )
        ),
        (('title = "Bicycles"', 'title = "B"\nlanguage = "en-x"'), 'language is "en-x", which does not fit'),
        (('id = "bikes"', 'id = "bikes\\n"'), "which does not fit"),
        (('title = "Bicycles"', 'title = "\\u001b[2J"'), "title contains an invisible character"),
        (('kind = "yes/no"', 'kind = "choice"\noptions = ["a", "\\u202eb"]'), "options contains an invisible character"),
        (('kind = "yes/no"', 'kind = "choice"\noptions = ["a", " "]'), "options contains an empty text"),
        (('title = "Bicycles"', 'title = "B"\nlanguage = "fr"'), "texts for language 'fr' must have all"),
        (('title = "Bicycles"', 'title = "B"\ntexts = { sendd = "x" }'), "sendd is not a text of the page; did you mean send?"),
        (
            ('title = "Bicycles"', 'title = "B"\ntexts = { too_many = "x" }'),
            "too_many has other placeholders than the original; keep {count}",
        ),
        (('kind = "yes/no"', 'kind = "maybe"'), 'kind is "maybe", not "yes/no" or "choice" or "number" or "set"'),
        (('kind = "yes/no"', 'kind = "choice"'), "questions.cycles.options is missing"),
        (('kind = "yes/no"', 'kind = "choice"\noptions = ["a", "a"]'), "options contains a duplicate"),
        (('kind = "yes/no"', 'kind = "yes/no"\noptions = ["a", "b"]'), "options is not supported for kind 'yes/no'"),
        (('kind = "yes/no"', 'kind = "choice"\noptions = ["a", "b"]\nmethod = "laplace"'), "method is 'laplace'"),
        (('kind = "yes/no"', 'kind = "number"\nbounds = [3, 1]'), "bounds must have the smaller number first"),
        (('kind = "yes/no"', 'kind = "number"\nbounds = [0.5, 1]'), "step is missing"),
        (
            ('kind = "yes/no"', 'kind = "number"\nbounds = [0, 1]\nstep = 0.3'),
            "step does not divide the distance between the bounds",
        ),
        (('kind = "yes/no"', 'kind = "number"\nbounds = [0, 1]\nstep = 1e-9'), "step gives more than"),
        (('kind = "yes/no"', 'kind = "set"\noptions = ["a", "b"]\nat_most = 3'), "at_most is 3, but there are only 2 options"),
        (("questions.cycles", "questions.Cycles"), "is not a valid question name"),
        (("questions.cycles", "questions.group"), "is not a valid question name"),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(change, what):
    assert what in told((LEAST + QUESTION).replace(*change))


@pytest.mark.parametrize(
    "url",
    ["https://a.example", "https://a.example:8443/in?x=1", "http://localhost:8765/", "http://[::1]:65000/r", "https://10.0.0.1/"],
)
def test_addresses_that_reports_are_sent_to(url):
    assert parse_survey(LEAST + f'send_to = "{url}"\n' + QUESTION).send_to == url


def test_all_problems_are_told_at_once():
    text = told(LEAST.replace("epsilon = 1", "epsilon = -1").replace("2030", "1230") + "[questions.a]\nask = 3\nkind = 'set'")
    assert text.startswith("survey.toml has 3 problems")


def test_a_survey_without_questions_is_none():
    assert "questions is missing" in told(LEAST)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(SurveyUnusable, match="survey declaration not found"):
        read_survey(tmp_path / "survey.toml")
    (tmp_path / "survey.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SurveyUnusable, match="not UTF-8"):
        read_survey(tmp_path / "survey.toml")
    with pytest.raises(SurveyUnusable, match="cannot read"):
        read_survey(tmp_path)


@given(st.text(max_size=200))
def test_no_text_raises_anything_else(text):
    with contextlib.suppress(SurveyUnusable):
        parse_survey(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5
    )
)
def test_no_value_raises_anything_else(value):
    written = repr(value).replace("None", "nan").replace("True", "true").replace("False", "false")
    for key in ("id", "epsilon", "closes", "questions", "group", "texts"):
        with contextlib.suppress(SurveyUnusable):
            parse_survey(f"{key} = {written}\n")


def test_languages_have_the_same_texts_with_the_same_blanks():
    import re

    english = page_texts("en")
    for language in LANGUAGES:
        other = page_texts(language)
        assert other.keys() == english.keys()
        for key, text in english.items():
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", other[key])), key
    assert page_texts("de")["yes"] == "Ja"


def test_another_language_can_be_given_whole():
    texts = "\n".join(f'{key} = """{text} (fr)"""' for key, text in page_texts("en").items())
    survey = parse_survey(LEAST.replace("closes", 'language = "fr"\ncloses') + f"[texts]\n{texts}\n" + QUESTION)
    assert page_texts(survey.language, survey.texts)["send"] == "Send (fr)"


@pytest.mark.parametrize("language", ["en", "de", "de-AT"])
@pytest.mark.parametrize("key", sorted(PROMISES))
def test_what_is_protected_and_what_is_not_stays_in_the_words_of_tacit(key, language):
    """Otherwise a declaration could call the group protected, on a page that is tacit's own letter by letter."""
    text = page_texts(language)[key] + " (or so)"
    declared = LEAST.replace("closes", f'language = "{language}"\ncloses') + f"[texts]\n{key} = {json.dumps(text)}\n" + QUESTION
    with pytest.raises(SurveyUnusable, match=f"texts.{key} states what is protected"):
        parse_survey(declared)


@pytest.mark.parametrize(
    ("key", "lie"),
    [
        ("promise", "Nothing that you answer is sent to anybody."),
        ("public", "Protected by chance"),
        ("review", "Drawn anew every time: look until you like it."),
        ("shared", "Remember me on this device"),
    ],
)
def test_a_declaration_cannot_lie_about_what_is_protected(key, lie):
    with pytest.raises(SurveyUnusable, match=f"texts.{key} states what is protected"):
        parse_survey(LEAST + f"[texts]\n{key} = {json.dumps(lie)}\n" + QUESTION)


def test_other_texts_can_be_put_in_other_words():
    survey = parse_survey(LEAST + '[texts]\nsend = "Off it goes"\n' + QUESTION)
    assert survey.texts == {"send": "Off it goes"}


def test_the_form_changes_with_what_is_asked_and_not_with_titles():
    plain = form_of(every_method())
    assert form_of(every_method(title='"Another title"', closes="2080-01-01")) == plain
    assert form_of(every_method(epsilon="7")) != plain
    assert form_of(every_method(id='"other"')) != plain
    assert form_of(every_method(share='"sample"')) != plain
    assert len(plain) == 32


def test_the_schema_describes_every_key_with_an_example():
    def keys(rule):
        for name, part in rule.get("properties", {}).items():
            assert part["description"]
            assert part["examples"], name
            keys(part)

    keys(schema())
    keys(schema()["properties"]["questions"]["additionalProperties"])


def test_methods_are_chosen_by_error_and_explained():
    survey = parse_survey(Path(EXAMPLE).read_text().replace("epsilon = 4", "epsilon = 16"))
    methods = {each.question.id: (type(each.randomizer).__name__, each.why) for each in randomized(survey)}
    assert methods["minutes"][0] == "Piecewise"
    assert "with one-bit" in methods["minutes"][1]
    assert methods["way"][0] == "KAry"
    wide = parse_survey(LEAST + '[questions.a]\nask="?"\nkind="choice"\noptions=[' + ",".join(f'"{n}"' for n in range(60)) + "]")
    assert type(randomized(wide)[0].randomizer).__name__ == "Unary"
    assert "unary" in randomized(wide)[0].why
