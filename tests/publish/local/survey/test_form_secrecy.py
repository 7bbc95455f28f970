"""What is answered stays on the page: nothing but the report leaves, and nothing but a secret is kept."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest

from filling import LEFT_BEHIND, by_python, fill, keep, kept_secret, listening, opened, overheard, review, written
from surveys import ANSWERS, EXAMPLE, TWO, every_method
from tacit.publish.local.survey.declaration import Choice
from tacit.publish.local.survey.form import build_form
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.local.survey.reports import Form

SURVEY = every_method()
TRUTH = {"home": 1, "way": 2, "minutes": 35.0, "missing": [0, 4]}


# --- answers stay ------------------------------------------------------------------------------------------------------------


def a_secret_that_tells_nothing(survey):
    """A secret with which yes and no lead to the very same report."""
    form = Form.of(survey)
    every = (number.to_bytes(32, "big") for number in range(1, 100))
    return next(secret for secret in every if form.text_of({"yes": 0}, secret) == form.text_of({"yes": 1}, secret))


def observed(browser, url, survey, secret, answer):
    """What the browser shows of a person who answers, looks, changes nothing and sends: requests and what is left."""
    with browser.new_context() as context:
        page = context.new_page()
        keep(page, survey, secret.hex())
        page.goto(url)
        asked = []
        context.on("request", lambda request: asked.append((request.method, request.url, request.headers)))
        fill(page, survey, {"yes": answer})
        review(page)
        page.locator("#send").click()
        page.locator("#status", has_text=re.compile("Sent|could not")).wait_for()
        left = [page.evaluate(LEFT_BEHIND), page.evaluate(BACK), page.evaluate(LEFT_BEHIND)]
        return asked, left, context.cookies()


# To where the page was before it showed the report: "back", or a word if there is no such place.
BACK = """() => new Promise((done) => {
  addEventListener("popstate", () => done("back"), { once: true });
  history.back();
  setTimeout(done, 120_000, "nowhere");
})"""

LEAKS = {
    "nothing": ("", ""),
    "a draft in the session": ('  tell("");', "  tell(\"\");\n  sessionStorage.setItem('draft', found[0][1]);"),
    "the answer beside the report": ("survey: survey.id, form", "survey: survey.id, answer: found[0][1], form"),
    "the answer in the address": ("  review();", "  location.hash = found[0][1];\n  review();"),
    "the answer in the history": (
        "  review();",
        "  history.replaceState(found[0][1], '');\n  review();",
    ),
    "the answer in the query": ("fetch(survey.send_to,", "fetch(`${survey.send_to}?${chosen('yes')}`,"),
    "the answer in a header": ('"Content-Type": "application/json"', '"Content-Type": `text/plain;x=${chosen("yes")}`'),
    "the answer in a second request": (
        "  tell(texts.sending);",
        "  tell(texts.sending);\n  navigator.sendBeacon(survey.send_to, chosen('yes'));",
    ),
}


QUICKLY = ("nothing", "a draft in the session", "the answer in the address", "the answer in a second request")


@pytest.mark.parametrize("leak", [each if each in QUICKLY else pytest.param(each, marks=pytest.mark.slow) for each in LEAKS])
def test_nothing_but_the_report_leaves_the_page(leak, browser, tmp_path, monkeypatch):
    """Of two people with different answers whose reports happen to be the same, nothing at all tells who is who.

    What leaves is read twice: as the browser tells of its requests, and byte by byte where they arrive.
    """
    from tacit.publish.local.survey import form

    plain, planted = LEAKS[leak]
    parts = form._part
    assert not plain or any(plain in parts(name) for name in form.SCRIPTS), "the leak is planted"
    monkeypatch.setattr(form, "_part", lambda name: parts(name).replace(plain, planted) if plain else parts(name))
    seen, secret = [], a_secret_that_tells_nothing(TWO)
    for answer in (0, 1):
        with listening(TWO) as (sent_to, _), overheard(sent_to) as (survey, heard):
            url = written(survey, tmp_path)
            asked, left, cookies = observed(browser, url, TWO, secret, answer)
        # The same address for both, so that what is seen can be compared: the port is left out.
        port = re.search(r":(\d+)/", survey.send_to)[1]
        seen.append(
            (json.dumps(asked).replace(port, "PORT"), left, cookies, [each.replace(port.encode(), b"PORT") for each in heard])
        )
        if leak == "nothing":
            assert [each[:2] for each in asked] == [("POST", survey.send_to)]
            assert cookies == []
            assert_only_the_report(heard, Form.of(TWO).text_of({"yes": answer}, secret))
            assert_only_the_secret(left, secret, url)
    assert (seen[0] == seen[1]) == (leak == "nothing")


def assert_only_the_report(heard, report):
    """One question of the browser whether the page may send, and one report; nothing else came to the collector."""
    lines = [each.split(b"\r\n", 1)[0] for each in heard]
    assert lines == [b"OPTIONS /reports HTTP/1.1", b"POST /reports HTTP/1.1"]
    headers, _, body = heard[1].partition(b"\r\n\r\n")
    assert body == report.encode()
    assert b"\r\nContent-Length: %d\r\n" % len(body) in headers
    assert not re.search(rb"(?i)\r\n(cookie|referer|authorization):", heard[0] + headers)
    assert heard[0].endswith(b"\r\n\r\n"), "the question has no body"


def assert_only_the_secret(left, secret, url):
    assert left[1] == "back"
    for told in map(json.loads, left[::2]):
        assert told["local"] == [["tacit survey two", secret.hex()]]
        assert [told[name] for name in ("session", "cookies", "databases", "name", "state")] == [[], "", [], "", None]
        assert told["url"] == url


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


def test_the_way_back_leads_to_the_answers_and_not_off_the_page(browser, tmp_path):
    with opened(browser, written(TWO, tmp_path)) as page:
        fill(page, TWO, {"yes": 1})
        for leave in (page.go_back, page.locator("#change").click):
            told = review(page)
            leave()
            page.locator("#form").wait_for(state="visible")
            assert page.locator("input:checked").get_attribute("value") == "1"
            assert review(page) == told
            page.locator("#change").click()


def test_after_sending_the_way_back_does_not_lead_to_another_report(browser, tmp_path):
    with listening(TWO) as (survey, _), opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, {"yes": 1})
        review(page)
        page.locator("#send").click()
        page.locator("#status.done").wait_for()
        assert page.evaluate(BACK) == "back"
        assert page.locator("#form").is_hidden()
        assert page.locator("#status").inner_text() == "Sent. Thank you."


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


@pytest.mark.parametrize("share", ["split", "sample"])
def test_two_pages_that_drew_at_the_same_moment_go_on_as_one_person(share, browser, tmp_path):
    """The first page sees no secret of the second, as if both had looked before either wrote."""
    survey = every_method(share=f'"{share}"')
    with browser.new_context() as context:
        pages = []
        for _ in range(2):
            pages.append(context.new_page())
            pages[0].evaluate("localStorage.clear()") if len(pages) == 2 else None
            pages[-1].goto(written(survey, tmp_path))
        secret = kept_secret(pages[1], survey)
        pages[0].wait_for_function("(kept) => hexOf(secret) === kept", arg=secret.hex())
        for page in pages:
            fill(page, survey, ANSWERS)
            assert review(page) == by_python(survey, ANSWERS, secret)


def test_a_page_that_keeps_nothing_takes_no_secret_of_another_page(browser, tmp_path):
    with browser.new_context() as context:
        first, second = context.new_page(), context.new_page()
        first.goto(written(SURVEY, tmp_path))
        own = kept_secret(first, SURVEY)
        first.locator("#shared").check()
        second.goto(written(SURVEY, tmp_path))
        other = kept_secret(second, SURVEY)
        first.evaluate("(key) => dispatchEvent(new StorageEvent('storage', { key }))", f"tacit survey {SURVEY.id}")
        fill(first, SURVEY, ANSWERS)
        assert own != other
        assert review(first) == by_python(SURVEY, ANSWERS, own)


def test_a_page_that_keeps_again_does_not_write_over_what_another_page_keeps(browser, tmp_path):
    """The other page may have sent its report already: a second secret would be a second report of one person."""
    with browser.new_context() as context:
        first, second = context.new_page(), context.new_page()
        first.goto(written(SURVEY, tmp_path))
        first.locator("#shared").check()
        second.goto(written(SURVEY, tmp_path))
        other = kept_secret(second, SURVEY)
        seen = "([place, kept]) => localStorage.getItem(place) === kept"  # pages may be in two processes
        first.wait_for_function(seen, arg=[f"tacit survey {SURVEY.id}", other.hex()])
        first.locator("#shared").uncheck()
        assert kept_secret(first, SURVEY) == other
        fill(first, SURVEY, ANSWERS)
        assert review(first) == by_python(SURVEY, ANSWERS, other)


def test_a_page_that_missed_what_another_one_keeps_asks_before_it_draws(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [f"tacit survey {SURVEY.id}", bytes(range(32)).hex()])
        fill(page, SURVEY, ANSWERS)
        assert review(page) == by_python(SURVEY, ANSWERS, bytes(range(32))), "a page hears nothing of what it wrote itself"


def test_what_another_page_forgets_is_not_said_to_be_kept(browser, tmp_path):
    with browser.new_context() as context:
        first, second = context.new_page(), context.new_page()
        for page in (first, second):
            page.goto(written(SURVEY, tmp_path))
        assert "keeps one random number" in first.locator("#keeps").text_content()
        second.locator("#shared").check()
        first.locator("#keeps", has_text="keeps nothing on this device").wait_for()


def test_two_surveys_have_two_secrets(browser, tmp_path):
    with browser.new_context() as context:
        page = context.new_page()
        for survey in (SURVEY, TWO):
            page.goto(written(survey, tmp_path))
        assert kept_secret(page, SURVEY) != kept_secret(page, TWO)
        page.locator("#shared").check()
        assert page.evaluate("localStorage.length") == 1, "only the secret of this survey goes"


def test_a_form_that_changed_is_drawn_from_another_stream_for_the_same_person(browser, tmp_path):
    changed = every_method(epsilon="9")
    with browser.new_context() as context:
        page = context.new_page()
        reports = []
        for survey in (SURVEY, changed):
            page.goto(written(survey, tmp_path))
            fill(page, survey, ANSWERS)
            reports.append(review(page))
            assert reports[-1] == by_python(survey, ANSWERS, kept_secret(page, survey))
        assert reports[0]["person"] == reports[1]["person"]
        assert reports[0]["form"] != reports[1]["form"]


def test_a_broken_secret_is_replaced(browser, tmp_path):
    with opened(browser, written(SURVEY, tmp_path)) as page:
        keep(page, SURVEY, "zz")
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
