"""People can use the page, and see what it does; in a real Chromium."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from filling import codes, fill, keep, listening, opened, review, written
from surveys import ANSWERS, EXAMPLE, TWO, every_method
from tacit.publish.local.survey.declaration import Choice, Group, SetOf, YesNo
from tacit.publish.local.survey.form import build_form
from tacit.publish.local.survey.reading import parse_survey, read_survey
from tacit.publish.local.survey.reports import Form

SURVEY = every_method()
TRUTH = {"home": 1, "way": 2, "minutes": 35.0, "missing": [0, 4]}


def test_the_page_says_what_it_does_not_protect(browser, tmp_path):
    for survey, said in ((read_survey(EXAMPLE), True), (TWO, False)):
        with opened(browser, written(survey, tmp_path)) as page:
            promise = page.locator(".promise").inner_text()
            assert ("One exception" in promise) == said
            assert "times as likely with yours" in promise, "how strong it is can be read without a click"


@pytest.mark.parametrize(
    ("language", "declared", "told"),
    [
        ("en", {"closes": "2020-01-01"}, "This survey closed on January 1, 2090."),
        ("de", {"epsilon": "5"}, "Dieses Formular ist nicht mehr das aktuelle"),
    ],
)
def test_a_report_that_no_way_would_bring_in_is_told_in_the_words_of_the_page(language, declared, told, browser, tmp_path):
    page_of = every_method(closes="2090-01-01", language=f'"{language}"')
    with listening(every_method(**declared)) as (elsewhere, store), browser.new_context() as context:
        page = context.new_page()
        page.goto(written(replace(page_of, send_to=elsewhere.send_to), tmp_path))
        fill(page, page_of, ANSWERS)
        review(page)
        page.locator("#send").click()
        page.locator("#status.wrong", has_text=told).wait_for()
        assert page.locator("#save, #change").evaluate_all("(all) => all.some((each) => each.checkVisibility())") is False
        assert store.people() == 0


def test_people_hear_of_it_where_chance_changes_little(browser, tmp_path):
    for epsilon, told in (("24", False), ("24.1", True)):  # for eight answers
        survey = replace(SURVEY, epsilon=Fraction(epsilon))
        with opened(browser, written(survey, tmp_path)) as page:
            assert ("Chance changes little" in page.locator(".promise").inner_text()) == told


def test_what_is_missing_or_too_much_is_told_at_the_question(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        page.locator("form button[type=submit]").click()
        assert page.locator("#review").is_hidden()
        assert page.locator(".error:visible").count() == 6, "sets may be empty"
        assert page.evaluate("document.activeElement.name") == "question-yes"
        fill(page, SURVEY, ANSWERS | {"some": [0, 1, 2], "bit": 11})
        page.locator("form button[type=submit]").click()
        told = page.locator(".error:visible").all_text_contents()
        assert told == ["Please give a number from 0 to 10.", "Please choose at most 2."]
        assert page.locator("[aria-invalid]").count() == 5


def test_an_error_goes_away_with_its_reason(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        page.locator("form button[type=submit]").click()
        fill(page, SURVEY, ANSWERS)
        assert page.locator(".error:visible").count() == page.locator("[aria-invalid]").count() == 0
        page.locator('[data-question="some"] input').first.check()
        assert page.locator(".error:visible").all_text_contents() == ["Please choose at most 2."], "too many are told at once"
        page.locator('[data-question="some"] input').first.uncheck()
        assert page.locator(".error:visible").count() == 0


def test_the_first_that_is_missing_on_the_page_is_looked_at(browser, tmp_path):
    with opened(browser, written(read_survey(EXAMPLE), tmp_path)) as page:
        page.locator("form button[type=submit]").click()
        assert page.evaluate("document.activeElement.name") == "question-group"


def test_what_is_sent_is_shown_with_what_could_have_been(browser, tmp_path):
    form = Form.of(SURVEY)
    with opened(browser, written(SURVEY, tmp_path)) as page:
        fill(page, SURVEY, ANSWERS)
        told = review(page)["answers"]
        card = page.locator('[data-answer="few"]')
        names = ["north", "east", "south", "west"]
        assert card.locator(".leaves strong").text_content() == names[told["few"]]
        assert "south" in card.locator(".pair > div").first.text_content()
        shown = card.locator("li").evaluate_all(
            "(all) => all.map((each) => [each.children[1].textContent, parseFloat(each.lastChild.textContent)])"
        )
        chances = form.questions["few"].randomizer.channel.row(2)
        assert [name for name, _ in shown] == names
        assert [likely for _, likely in shown] == pytest.approx([100 * float(p) for p in chances], rel=0.02)
        assert card.locator("li.drawn").count() == 1
        tagged = {tag: card.locator("li", has_text=tag).locator(".words").all_text_contents() for tag in ("Is sent", "Your answer")}
        assert tagged == {"Is sent": [names[told["few"]]], "Your answer": ["south"]}
        for id in form.questions:
            some = page.locator(f'[data-answer="{id}"]')
            assert some.locator("li, rect").count() > 1
        sums = page.evaluate(
            """(answers) => survey.questions.filter(({how}) => !JSON.stringify(how).includes("unary")).map((question) =>
              SHOWN[question.how.method].could(question, question.how, answers[question.id], 0)
                .reduce((sum, [, likely]) => sum + likely, 0))""",
            codes(SURVEY, ANSWERS),
        )
        assert sums == pytest.approx([1] * 6, abs=1e-6), "what could have been sent is everything that could"


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "You wrote 7.4. It counts as 5 minutes"), ("de", "Sie haben 7,4 geschrieben. Das zählt als 5 minutes")],
)
def test_the_page_says_when_it_rounds(language, told, browser, tmp_path):
    survey = every_method(language=f'"{language}"')
    with opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, ANSWERS | {"noisy": 7.4, "bit": 2.5, "near": 1.75})
        review(page)
        assert page.locator('[data-answer="noisy"] .notice').text_content().startswith(told)
        assert "3" in page.locator('[data-answer="bit"] .notice').text_content(), "a tie counts as the upper one"
        assert page.locator("[data-answer] .notice").count() == 2, "what is on the grid is not rounded"


def test_shown_probabilities_are_those_of_the_channel(browser, tmp_path):
    form = Form.of(SURVEY)
    with opened(browser, written(SURVEY, tmp_path)) as page:
        for id, value in (("bit", 7), ("near", 5), ("noisy", 1), ("yes", 1)):
            shown = page.evaluate(
                """([id, value]) => { const question = survey.questions.find((each) => each.id === id);
                return SHOWN[question.how.method].could(question, question.how, value, 0).map(([, likely]) => likely) }""",
                [id, value],
            )
            expected = [float(p) for p in form.questions[id].randomizer.channel.row(value)]
            assert shown == pytest.approx(expected[::-1] if id == "bit" else expected, abs=1e-6)


def test_a_number_is_marked_where_it_lies_among_what_could_be_sent(browser, tmp_path):
    """The window of likely reports lies around the number, and noise is likeliest there."""
    survey = parse_survey(NUMBERS)
    with opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, {"near": 0.5, "noisy": 40})
        review(page)
        for id in ("near", "noisy"):
            line, highest = page.locator(f'[data-answer="{id}"] svg').evaluate(
                """(svg) => { const all = [...svg.querySelectorAll("rect")];
                const top = Math.max(...all.map((r) => r.getAttribute("height")));
                const high = all.filter((r) => r.getAttribute("height") > 0.999 * top).map((r) => Number(r.getAttribute("x")) + 4);
                return [Number(svg.querySelector(".own").getAttribute("x1")), high.reduce((a, b) => a + b) / high.length] }"""
            )
            assert line == pytest.approx(highest, abs=10), "at most a column aside"
        assert page.locator('[data-answer="noisy"] .key').inner_text().split("\n")[-1].endswith("40 kg")


NUMBERS = """
id = "numbers"
title = "Numbers"
closes = 2090-01-31
epsilon = 12
[questions.near]
ask = "Near?"
kind = "number"
bounds = [-1, 2]
step = 0.01
method = "piecewise"
[questions.noisy]
ask = "Noisy?"
kind = "number"
bounds = [0, 100]
unit = "kg"
method = "laplace"
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1200])
def test_the_page_passes_axe_and_fits_a_phone(scheme, width, browser, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    survey = read_survey(EXAMPLE)
    with opened(browser, written(survey, tmp_path), color_scheme=scheme, viewport={"width": width, "height": 800}) as page:
        fits = "document.documentElement.scrollWidth <= window.innerWidth"
        page.locator("form button[type=submit]").click()  # with its errors shown
        assert page.evaluate(fits)
        assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()
        fill(page, survey, TRUTH, group=0)
        page.locator("summary").first.click()
        review(page)
        page.locator(".whole summary").click()
        assert page.evaluate(fits)
        assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_comes_after_passes_axe_too(scheme, browser, tmp_path):
    """Sent; refused; closed. With a survey whose chance changes little, which is told."""
    from axe_playwright_python.sync_playwright import Axe

    weak = replace(TWO, epsilon=Fraction(5))
    with listening(weak) as (survey, _), browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        for sent_to, state in ((survey, "done"), (replace(survey, id="other"), "wrong")):
            page.goto(written(sent_to, tmp_path))
            assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()
            fill(page, survey, {"yes": 1})
            review(page)
            page.locator("#send").click()
            page.locator(f"#status.{state}").wait_for()
            assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()
        page.goto(written(replace(survey, closes=date(2020, 1, 1)), tmp_path))
        assert page.locator("#notice").is_visible()
        assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()


LETTERS = "Donaudampfschifffahrtsgesellschaftskapitän" * 6  # no browser knows where to break it


def test_long_words_and_a_hundred_options_fit_a_phone_and_a_sheet_of_paper(browser, tmp_path):
    options = (LETTERS, *(f"option {number}" for number in range(99)))
    asked = (Choice("one", LETTERS, options, "k-ary"), SetOf("some", LETTERS, options, 3), YesNo("yes", LETTERS, LETTERS))
    survey = replace(TWO, title=LETTERS, about=LETTERS, group=Group(LETTERS, (LETTERS, "b")), questions=asked)
    fits = "document.documentElement.scrollWidth <= window.innerWidth"
    with opened(browser, written(survey, tmp_path), viewport={"width": 320, "height": 800}) as page:
        assert page.evaluate(fits)
        fill(page, survey, {"one": 0, "some": [0, 50], "yes": 0}, group=0)
        review(page)
        assert page.evaluate(fits)
        cut = "[...document.querySelectorAll('.outcomes')].map((each) => each.scrollHeight > each.clientHeight)"
        assert page.evaluate(cut) == [True, True, False], "long lists are scrolled on the screen"
        page.emulate_media(media="print")
        assert page.evaluate(cut) == [False] * 3, "and whole on paper"


@pytest.mark.parametrize(("language", "direction"), [("ar", "rtl"), ("en", "ltr")])
def test_the_page_runs_in_the_direction_of_its_language(language, direction, browser, tmp_path):
    survey = replace(read_survey(EXAMPLE), language=language)
    with opened(browser, written(survey, tmp_path), viewport={"width": 320, "height": 800}) as page:
        fill(page, survey, TRUTH, group=0)
        review(page)
        assert page.locator("html").get_attribute("dir") == direction
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        sides = page.locator(".bar").first.evaluate(
            "(bar) => { const [inner, outer] = [bar, bar.parentNode].map((each) => each.getBoundingClientRect());"
            " return [Math.round(inner.left - outer.left), Math.round(outer.right - inner.right)] }"
        )
        assert (sides[1] == 0, sides[0] == 0) == (direction == "rtl", direction == "ltr"), "bars begin where words begin"


def test_axe_sees_a_page_that_is_bad(browser, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, written(SURVEY, tmp_path)) as page:
        page.evaluate("document.querySelectorAll('legend').forEach((each) => { each.style.color = '#eee' })")
        assert Axe().run(page).violations_count > 0


def test_all_of_it_can_be_done_with_a_keyboard(browser, tmp_path):
    with listening(TWO) as (survey, store), opened(browser, written(survey, tmp_path)) as page:
        page.locator("#form input").first.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        page.locator("#review").wait_for(state="visible")
        assert page.evaluate("document.activeElement.id") == "review-title"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        page.locator("#send:enabled").wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "send"
        page.keyboard.press("Enter")
        page.locator("#status.done").wait_for()
        assert store.people() == 1


def test_whoever_uses_a_keyboard_sees_where_they_are(browser, tmp_path):
    with opened(browser, written(read_survey(EXAMPLE), tmp_path)) as page:
        seen = set()
        for _ in range(14):
            page.keyboard.press("Tab")
            around = page.evaluate(
                """() => { const here = document.activeElement, label = here.closest("label") ?? here;
                const lined = ({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
                return [here.tagName, [here, label].some((each) => lined(getComputedStyle(each)))] }"""
            )
            assert around[1] or around[0] == "BODY", around
            seen.add(around[0])
        assert {"SUMMARY", "INPUT", "BUTTON"} <= seen


def test_the_page_speaks_german(browser, tmp_path):
    survey = every_method(language='"de"')
    with opened(browser, written(survey, tmp_path)) as page:
        assert page.locator("html").get_attribute("lang") == "de"
        assert page.locator("#closes").text_content() == "Offen bis 31. Januar 2090"
        assert page.locator('[data-question="yes"]').inner_text().split() == ["Yes", "or", "no?", "Ja", "Nein"]


def test_a_survey_that_is_closed_takes_no_answers(browser, tmp_path):
    survey = every_method(closes="2020-02-29")
    with opened(browser, written(survey, tmp_path)) as page:
        assert page.locator("#notice").text_content() == "This survey closed on February 29, 2020. Reports are no longer taken."
        assert page.locator("form").is_hidden()
        assert page.evaluate("localStorage.length") == 0
        said = page.locator("body").inner_text()
        assert "Open until" not in said
        assert "keeps one random number" not in said, "since it keeps none"
        keep(page, survey, "ab" * 32)
        page.reload()
        page.locator("#shared").check()
        assert page.evaluate("localStorage.length") == 0, "what an earlier visit left can be removed"


def test_a_browser_without_secure_chance_sends_nothing(browser, tmp_path):
    with browser.new_context() as context:
        context.add_init_script("Object.defineProperty(window, 'crypto', { value: undefined })")
        page = context.new_page()
        page.goto(written(SURVEY, tmp_path))
        assert page.locator("#notice").text_content().startswith("This browser has no secure source of chance")
        assert page.locator("form").is_hidden()


def test_a_browser_that_does_not_run_the_script_shows_why(browser, tmp_path):
    """As one that is too old for it would do; here the policy stops a script that was changed."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(written(SURVEY, tmp_path, build_form(SURVEY).replace('"use strict";', '"use strict"; ')))
        assert page.locator("#no-script").is_visible()
        assert page.locator("form").is_hidden()
    with opened(browser, written(SURVEY, tmp_path)) as page:
        assert page.locator("#no-script").is_hidden()


def test_without_script_the_page_says_why_it_is_empty(browser, tmp_path):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(written(SURVEY, tmp_path))
        assert page.locator("#no-script").is_visible()
        assert page.locator("form").is_hidden()
