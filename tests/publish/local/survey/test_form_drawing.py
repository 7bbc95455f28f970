"""The page draws as Python does: the same reports from the same secrets, and the exact channel from fresh ones."""

import hmac
import json
import random
import re
from fractions import Fraction
from importlib.resources import files

import pytest

from chance import classes_fit, plausible_hits
from filling import by_python, codes, fill, kept_secret, opened, review, some_answers, written
from surveys import ANSWERS, every_method
from tacit.publish.local.survey.form import SCRIPTS
from tacit.publish.local.survey.randomized import recipe
from tacit.publish.local.survey.reading import parse_survey
from tacit.publish.local.survey.reports import Form

SURVEY = every_method()


# --- it draws as Python does -------------------------------------------------------------------------------------------------


def test_hmac_is_that_of_python(browser, tmp_path):
    draw = random.Random(1)
    cases = [(draw.randbytes(draw.choice([16, 32, 64, 65, 200])), draw.randbytes(length)) for length in range(140)]
    with opened(browser, written(SURVEY, tmp_path)) as page:
        found = page.evaluate(
            "(cases) => cases.map(([key, message]) => hexOf(hmac(bytesOf(key), bytesOf(message))))",
            [(key.hex(), message.hex()) for key, message in cases],
        )
    assert found == [hmac.digest(key, message, "sha256").hex() for key, message in cases]


def test_permanent_reports_are_those_of_python(browser, tmp_path):
    draw, form = random.Random(2), Form.of(SURVEY)
    cases = [(draw.randbytes(32), some_answers(SURVEY, draw)) for _ in range(150)]
    expected = [json.loads(form.text_of(answers, secret)) for secret, answers in cases]
    with opened(browser, written(SURVEY, tmp_path)) as page:
        found = page.evaluate(
            """(cases) => cases.map(([secret, answers]) => ({person: pseudonym(bytesOf(secret)), answers: Object.fromEntries(
              survey.questions.map(({how, id}) => [id, permanent(how, answers[id], bytesOf(secret), survey.stream, id)]))}))""",
            [(secret.hex(), codes(SURVEY, answers)) for secret, answers in cases],
        )
    assert found == [{"person": each["person"], "answers": each["answers"]} for each in expected]


FINE = """
id = "fine"
title = "A fine grid, and a budget that hardly says anything"
closes = 2090-01-01
epsilon = 0.000001

[questions.noisy]
ask = "A number with noise?"
kind = "number"
bounds = [0, 10000]
method = "laplace"

[questions.steps]
ask = "One of a few?"
kind = "number"
bounds = [0, 3]
method = "laplace"
"""


def test_noise_far_wider_than_the_grid_is_drawn_as_python_does(browser, tmp_path):
    """Walking one coin after the other, as many as the points of the grid over epsilon, would take an hour."""
    survey, draw = parse_survey(FINE), random.Random(3)
    cases = [(draw.randbytes(32), code) for code in (0, 1, 5000, 9999, 10_000) for _ in range(4)]
    form = Form.of(survey)
    expected = [json.loads(form.text_of({"noisy": code, "steps": code % 4}, secret))["answers"] for secret, code in cases]
    with opened(browser, written(survey, tmp_path)) as page:
        found = page.evaluate(
            """(cases) => cases.map(([secret, code]) => Object.fromEntries(survey.questions.map(({how, id}) =>
              [id, permanent(how, id === "noisy" ? code : code % 4, bytesOf(secret), survey.stream, id)])))""",
            [(secret.hex(), code) for secret, code in cases],
        )
    assert found == expected
    assert {report["noisy"] for report in expected} == {0, 10_000}


def test_a_page_that_is_filled_in_makes_the_report_of_python(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        fill(page, SURVEY, ANSWERS)
        assert review(page) == by_python(SURVEY, ANSWERS, kept_secret(page, SURVEY))


DRAW = """([question, value, count]) => {
  const {how, id} = survey.questions.find((each) => each.id === question);
  const seen = {};
  for (let i = 0; i < count; i++) {
    const report = permanent(how, value, freshSecret(), survey.stream, id);
    for (const key of typeof report === "string" ? [...report].flatMap((bit, at) => (bit === "1" ? [at] : [])) : [report])
      seen[key] = (seen[key] ?? 0) + 1;
  }
  return seen;
}"""


def fits(randomizer, value, seen, count):
    """Whether what was seen follows the exact channel: each bit of a report, or the classes of all reports."""
    told = recipe(randomizer)
    if told.get("inner", told)["method"] == "unary":
        bits = told.get("inner", told)
        truth = value if isinstance(value, int) else value[0] if value else told["size"]
        chances = [float(Fraction(bits["hit" if at == truth else "false_hit"])) for at in range(bits["size"])]
        return plausible_hits([seen.get(str(at), 0) for at in range(bits["size"])], count, chances, among=len(CELLS))
    row = randomizer.channel.row(tuple(sorted(value)) if isinstance(value, list) else value)
    counts = [seen.get(str(at), 0) for at in range(len(row))]
    assert sum(counts) == count
    return classes_fit(counts, row, among=len(CELLS))


CELLS = [
    ("yes", 0),
    ("yes", 1),
    ("few", 3),
    ("many", 4),
    ("bit", 0),
    ("bit", 7),
    ("near", 5),
    ("noisy", 6),
    ("some", [2]),
    ("wide", [7]),
]


def misfits(page, count):
    form = Form.of(SURVEY)
    drawn = [(id, value, page.evaluate(DRAW, [id, value, count])) for id, value in CELLS]
    return [(id, value, seen) for id, value, seen in drawn if not fits(form.questions[id].randomizer, value, seen, count)]


def test_the_browser_draws_from_the_exact_channel(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        assert misfits(page, 3000) == []


@pytest.mark.slow
def test_the_browser_draws_from_the_exact_channel_in_full(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        assert misfits(page, 40_000) == []


SWAPPED = "const fair = Coins.prototype.coin; Coins.prototype.coin = function (p) { return !fair.call(this, p); };"
PLANTS = {  # with a question that shows it
    "p and 1 - p swapped": ("yes", 1, SWAPPED),
    "the whole channel swapped": ("many", 4, SWAPPED),
    "coins of three bits": (
        "yes",
        0,
        "Coins.prototype.coin = function ([top, low]) { return this.number(3) < (top * 8n) / low; };",
    ),
    "no rejection": ("few", 3, "Coins.prototype.below = function (bound) { return Number(this.number(2)) % bound; };"),
    "the place of a set is the first": ("some", [2], "Coins.prototype.below = () => 0;"),
    "the true value always": ("few", 1, "DERIVE['k-ary'] = (how, value) => value;"),
    "a one-bit answer without chance": ("bit", 7, "DERIVE['one-bit'] = (how, index) => (index > 5 ? 1 : 0);"),
    "noise in one direction": ("noisy", 3, "DERIVE.laplace = (how, index, coins) => Math.min(index + coins.below(3), 6);"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_biased_draw_is_caught(plant, browser, tmp_path):
    id, value, script = PLANTS[plant]
    with opened(browser, written(SURVEY, tmp_path)) as page:
        page.evaluate(f"() => {{ {script} }}")
        seen = page.evaluate(DRAW, [id, value, 3000])
    assert not fits(Form.of(SURVEY).questions[id].randomizer, value, seen, 3000)


def test_no_script_uses_a_source_of_chance_but_the_secure_one():
    drawing, *others = (files("tacit.publish.local.survey").joinpath("page", name).read_text("utf-8") for name in SCRIPTS)
    code = re.sub(r"//.*", "", drawing)
    assert "Math.random" not in code + "".join(others)
    assert "subtle" not in code, "a page opened from a file or over plain http may not have it"
    assert code.count("getRandomValues(") == 1
    assert "crypto.getRandomValues(new Uint8Array(32))" in code
    assert "getRandomValues(" not in "".join(others), "the page asks whether there is one, and leaves the drawing to the other file"
