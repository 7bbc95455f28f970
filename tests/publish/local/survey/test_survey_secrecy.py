"""What is answered stays on the page: nothing but the report leaves, and nothing but a secret is kept."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest
from filling import LEFT_BEHIND, by_python, fill, kept_secret, listening, opened, review, written
from surveys import ANSWERS, EXAMPLE, TWO, every_method

from tacit.publish.local.survey.declaration import Choice
from tacit.publish.local.survey.form import build_form
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.local.survey.report import Form

SURVEY = every_method()
TRUTH = {"home": 1, "way": 2, "minutes": 35.0, "missing": [0, 4]}


# --- answers stay ------------------------------------------------------------------------------------------------------------


def a_secret_that_tells_nothing(survey):
    """A secret with which yes and no lead to the very same report."""
    form = Form.of(survey)
    every = (number.to_bytes(32, "big") for number in range(1, 100))
    return next(secret for secret in every if form.text_of({"yes": 0}, secret) == form.text_of({"yes": 1}, secret))


def observed(browser, url, survey, secret, answer):
    """All that can be seen from outside of a person who answers, looks, changes nothing and sends: requests and what is left."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(url)
        page.evaluate("([name, secret]) => localStorage.setItem(name, secret)", [f"tacit survey {survey.id}", secret.hex()])
        page.reload()
        asked = []
        context.on("request", lambda request: asked.append((request.method, request.url, request.post_data, request.headers)))
        fill(page, survey, {"yes": answer})
        review(page)
        page.locator("#send").click()
        page.wait_for_function("() => /Sent|could not/.test(document.querySelector('#status').textContent)")
        return asked, page.evaluate(LEFT_BEHIND), context.cookies()


LEAKS = {
    "nothing": ("", ""),
    "a draft in the session": ('  tell("");', "  tell(\"\");\n  sessionStorage.setItem('draft', found[0][1]);"),
    "the answer beside the report": ("survey: survey.id, form", "survey: survey.id, answer: found[0][1], form"),
    "the answer in the address": ("  turn(true);", "  location.hash = found[0][1];\n  turn(true);"),
    "the answer in the history": (
        "  turn(true);",
        "  history.replaceState(found[0][1], '');\n  turn(true);",
    ),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_nothing_but_the_report_leaves_the_page(leak, browser, tmp_path, monkeypatch):
    """Of two people with different answers whose reports happen to be the same, nothing at all tells who is who."""
    from tacit.publish.local.survey import form

    plain, planted = LEAKS[leak]
    parts = form._part
    monkeypatch.setattr(form, "_part", lambda name: parts(name).replace(plain, planted) if plain else parts(name))
    seen = []
    for answer in (0, 1):
        with listening(TWO) as (survey, _):
            # The same address for both, so that what is seen can be compared: the port is left out.
            url = written(survey, tmp_path)
            secret = a_secret_that_tells_nothing(TWO)
            asked, left, cookies = observed(browser, url, TWO, secret, answer)
            port = re.search(r":(\d+)/", survey.send_to)[1]
            seen.append((json.dumps(asked).replace(port, "PORT"), left, cookies))
            if leak == "nothing":
                assert [method for method, *_ in asked] == ["POST"]
                assert asked[0][1] == survey.send_to
                assert asked[0][2] == Form.of(TWO).text_of({"yes": answer}, secret)
                assert cookies == []
                told = json.loads(left)
                assert told["local"] == [["tacit survey two", secret.hex()]]
                assert [told[name] for name in ("session", "cookies", "databases", "name", "state")] == [[], "", [], "", None]
                assert told["url"] == url
    assert (seen[0] == seen[1]) == (leak == "nothing")


def test_nothing_is_loaded_and_nothing_is_asked_of_the_network(browser, tmp_path):
    survey = read_survey(EXAMPLE)
    with browser.new_context(offline=True) as context:
        asked = []
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        url = written(survey, tmp_path)
        page.goto(url)
        fill(page, survey, TRUTH, group=1)
        review(page)
        assert asked == [url]


def test_the_policy_lets_no_other_script_run_and_no_other_request_out(browser, tmp_path):
    with listening(TWO) as (survey, _), browser.new_context() as context:
        page = context.new_page()
        page.goto(written(survey, tmp_path))
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))")
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 2\">')")
        blocked = """async (url) => { try { await fetch(url); return "sent"; } catch { return "blocked"; } }"""
        elsewhere = survey.send_to.replace("/reports", "/elsewhere")
        assert [page.evaluate(blocked, url) for url in (elsewhere, "https://example.org/", "data:,x")] == ["blocked"] * 3
        assert page.evaluate(blocked, survey.send_to) == "sent", "the check can see a request that is let out"
        assert page.evaluate("window.ran") is None


def test_the_policy_names_the_script_and_style_of_the_page():
    page = build_form(SURVEY)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#x27;", "'")
    for tag in ("script", "style"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=|url\(|@import", page.replace("navigator.clipboard", "")), "nothing is loaded"


def test_fields_are_not_remembered_by_the_browser(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        fields = page.locator("input, textarea, form").evaluate_all("(all) => all.map((each) => each.getAttribute('autocomplete'))")
        assert len(fields) > 50
        assert set(fields) == {"off"}
        fill(page, SURVEY, ANSWERS)
        page.reload()
        assert page.locator("input:checked").count() == 0
        assert page.locator("input[type=number]").evaluate_all("(all) => all.map((each) => each.value).join('')") == ""


def test_a_hostile_declaration_stays_text(browser, tmp_path):
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&quot;'\\u003c{count}$title"
    survey = every_method()
    survey = replace(survey, title=nasty, about=nasty, questions=tuple(replace(each, ask=nasty) for each in survey.questions))
    with opened(browser, written(survey, tmp_path)) as page:
        dialogs = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        assert page.locator("h1").text_content() == nasty
        fill(page, survey, ANSWERS)
        review(page)
        assert page.locator("article h3").first.text_content() == nasty
        assert dialogs == []


@pytest.mark.parametrize("id", ["reset", "hidden", "action", "submit", "constructor"])
def test_no_name_of_a_question_stands_in_the_way_of_the_page(id, browser, tmp_path):
    survey = replace(TWO, questions=(replace(TWO.questions[0], id=id),))
    with opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, {id: 1})
        assert review(page)["answers"].keys() == {id}
        page.locator("#shared").check()
        assert page.evaluate("localStorage.length") == 0


def test_options_are_shown_as_they_were_written(browser, tmp_path):
    options = ("US$$ 5", "$& x", "$' y", "{option}")
    survey = replace(TWO, questions=(Choice("q", "How much?", options, "unary"),))
    with opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, {"q": 1})
        review(page)
        shown = page.locator("li > span:nth-child(2)").all_text_contents()
        assert [text.rsplit(": ", 1)[0] for text in shown] == list(options)


def test_a_page_that_comes_back_from_the_history_is_empty(browser, tmp_path):
    """Playwright's Chromium keeps no page alive in the history; the event that a browser fires then is fired here."""
    with opened(browser, written(TWO, tmp_path)) as page:
        fill(page, TWO, {"yes": 1})
        review(page)
        with page.expect_navigation():
            page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        assert page.locator("#review").is_hidden()
        assert page.locator("input:checked").count() == 0


# --- the secret --------------------------------------------------------------------------------------------------------------


def test_a_second_visit_gives_the_same_report_and_another_answer_another(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        fill(page, SURVEY, ANSWERS)
        first, secret = review(page), kept_secret(page, SURVEY)
        page.locator("#change").click()
        assert review(page) == first
        page.reload()
        fill(page, SURVEY, ANSWERS | {"few": 0})
        again = review(page)
        assert kept_secret(page, SURVEY) == secret
        assert again == by_python(SURVEY, ANSWERS | {"few": 0}, secret)
        assert again["person"] == first["person"]
    with opened(browser, written(SURVEY, tmp_path)) as page:
        assert kept_secret(page, SURVEY) != secret, "another person has another secret"


@pytest.mark.parametrize("storage", ["throws", "is missing", "is full"])
def test_a_browser_that_keeps_nothing_works_all_the_same(storage, browser, tmp_path):
    getter = {"throws": "throw new Error('no')", "is missing": "return undefined", "is full": "return full"}[storage]
    with browser.new_context() as context:
        context.add_init_script(
            "const full = { getItem: () => null, setItem: () => { throw new Error('quota') }, removeItem: () => {} };"
            f"Object.defineProperty(window, 'localStorage', {{ get() {{ {getter} }} }});"
        )
        page = context.new_page()
        page.goto(written(SURVEY, tmp_path))
        assert "hand in one only" in page.locator("#keeps").text_content()
        fill(page, SURVEY, ANSWERS)
        assert len(review(page)["person"]) == 32


def test_nothing_is_kept_on_a_shared_device(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        secret = kept_secret(page, SURVEY)
        assert "keeps one random number" in page.locator("#keeps").text_content()
        page.locator("#shared").check()
        assert "hand in one only" in page.locator("#keeps").text_content()
        assert page.evaluate("localStorage.length") == 0
        fill(page, SURVEY, ANSWERS)
        assert review(page) == by_python(SURVEY, ANSWERS, secret)
        assert page.evaluate("localStorage.length") == 0
        page.locator("#shared").uncheck()
        assert kept_secret(page, SURVEY) == secret


def test_a_broken_secret_is_replaced(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        page.evaluate("(name) => localStorage.setItem(name, 'zz')", "tacit survey every-method")
        page.reload()
        assert len(kept_secret(page, SURVEY)) == 32


def test_with_sample_the_question_of_the_secret_is_asked(browser, tmp_path):
    survey = every_method(share='"sample"')
    asked = set()
    for _ in range(4):
        with opened(browser, written(survey, tmp_path)) as page:
            secret = kept_secret(page, survey)
            shown = page.locator("fieldset:visible").evaluate_all("(all) => all.map((each) => each.dataset.question)")
            assert tuple(shown) == Form.of(survey).asked(secret)
            fill(page, survey, ANSWERS)
            assert review(page) == by_python(survey, ANSWERS, secret)
            asked |= set(shown)
    assert asked <= set(Form.of(survey).questions)
