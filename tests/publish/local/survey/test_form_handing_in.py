"""Reports are handed in, by everybody once, and are estimated from end to end; in a real Chromium."""

import json
import random
import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chance import CHANCE
from filling import fill, keep, listening, opened, review, some_answers, written
from pages import tacit
from surveys import ANSWERS, EXAMPLE, TWO, every_method
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.local.survey.reports import Form

SURVEY = every_method()
TRUTH = {"home": 1, "way": 2, "minutes": 35.0, "missing": [0, 4]}


def test_a_report_is_sent_from_a_file_and_counts_once(browser, tmp_path):
    with listening(read_survey(EXAMPLE)) as (survey, store), opened(browser, written(survey, tmp_path)) as page:
        origins = []
        page.context.on("request", lambda request: origins.append(request.all_headers().get("origin")))
        fill(page, survey, TRUTH, group=2)
        told = review(page)
        page.locator("#send").click()
        page.locator("#status", has_text="Sent. Thank you.").wait_for()
        assert origins == ["null"]
        assert store.people(group=2) == store.people() == 1
        assert store.answers("way") == [told["answers"]["way"]]
        page.reload()
        fill(page, survey, TRUTH, group=2)
        assert review(page) == told


def test_sending_twice_is_recognized(browser, tmp_path):
    with listening(TWO) as (survey, store), browser.new_context() as context:
        page = context.new_page()
        keep(page, survey, bytes(range(32)).hex())
        page.goto(written(survey, tmp_path))
        for words in ("Sent. Thank you.", "it is counted once"):
            page.reload()
            fill(page, survey, {"yes": 1})
            review(page)
            page.locator("#send").click()
            page.locator("#status", has_text=words).wait_for()
        assert store.counts() == {"counted": 1, "malformed": 0, "foreign": 0, "late": 0, "duplicate": 1}


def test_another_answer_is_not_called_the_same_report(browser, tmp_path):
    secret = next(number.to_bytes(32, "big") for number in range(1, 99) if _answers_differ(number.to_bytes(32, "big")))
    with listening(TWO) as (survey, store), browser.new_context() as context:
        page = context.new_page()
        keep(page, survey, secret.hex())
        page.goto(written(survey, tmp_path))
        for answer, words in ((0, "Sent. Thank you."), (1, "only that one counts")):
            page.reload()
            fill(page, survey, {"yes": answer})
            review(page)
            page.locator("#send").dblclick()
            page.locator("#status", has_text=words).wait_for()
        assert store.counts() == {"counted": 1, "malformed": 0, "foreign": 0, "late": 0, "duplicate": 1}


def _answers_differ(secret):
    return Form.of(TWO).text_of({"yes": 0}, secret) != Form.of(TWO).text_of({"yes": 1}, secret)


def test_a_double_click_on_show_does_not_send(browser, tmp_path):
    """The second click may hit whatever stands in the place of the first: here the button that sends."""
    with listening(TWO) as (survey, store), opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, {"yes": 1})
        page.evaluate("() => { document.querySelector('form button[type=submit]').click(); element('send').click(); }")
        assert page.locator("#status").text_content() == ""
        page.locator("#send").click()  # a moment later it can be pressed
        page.locator("#status.done").wait_for()
        assert store.people() == 1


def test_the_wait_of_an_earlier_look_does_not_shorten_the_next(browser, tmp_path):
    with browser.new_context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(written(replace(TWO, send_to="https://a.example/"), tmp_path))
        page.clock.pause_at(datetime.now() + timedelta(hours=1))  # else it goes on by itself, as fast as the machine lets it
        fill(page, TWO, {"yes": 1})
        review(page)
        page.clock.run_for(500)
        page.evaluate("back()")
        review(page)
        page.clock.run_for(500)
        assert page.locator("#send").is_disabled()
        page.clock.run_for(200)
        assert page.locator("#send").is_enabled()


def test_whoever_goes_back_while_it_is_sent_is_not_led_off_the_page(browser, tmp_path):
    with browser.new_context() as context:
        page = context.new_page()
        url = written(replace(TWO, send_to="https://a.example/"), tmp_path)
        page.goto("about:blank")
        page.goto(url)
        page.evaluate("() => { globalThis.fetch = () => new Promise((_, fail) => { globalThis.fail = fail; }); }")
        fill(page, TWO, {"yes": 1})
        review(page)
        page.locator("#send").click()
        page.locator("#change").click()
        page.wait_for_function("!oneStep")
        assert page.locator("#review").is_visible(), "what is on its way cannot be changed"
        page.evaluate("fail(new Error('late'))")
        page.locator("#status.wrong").wait_for()
        page.locator("#change").click()
        page.locator("#form").wait_for(state="visible")
        assert page.url == url


def test_an_endpoint_that_is_gone_is_told_with_the_other_ways(browser, tmp_path):
    with listening(TWO) as (survey, _):
        pass
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(written(survey, tmp_path))
        fill(page, survey, {"yes": 1})
        review(page)
        page.locator("#send").click()
        page.locator("#status", has_text="(nobody answers there). Save it as a file or copy the code instead").wait_for()
        assert page.locator("#send").is_enabled()


def test_a_report_is_saved_and_copied(browser, tmp_path):
    form = Form.of(SURVEY)
    with opened(browser, written(SURVEY, tmp_path)) as page:
        fill(page, SURVEY, ANSWERS)
        told = review(page)
        with page.expect_download() as download:
            page.locator("#save").click()
        assert re.fullmatch(r"every-method-[0-9a-f]{8}\.json", download.value.suggested_filename)
        download.value.save_as(tmp_path / "saved.json")
        saved = (tmp_path / "saved.json").read_bytes()
        page.locator("#copy").click()
        page.locator("#code").wait_for(state="visible")
        code = page.locator("#code").input_value()
        assert json.loads(saved) == told
        read = [form.read(text, form.survey.open_until.replace(year=2080)) for text in (saved, code.encode())]
        assert read[0] == read[1]
        assert read[0].person == told["person"]


def test_a_sent_report_is_not_followed_by_another_answer(browser, tmp_path):
    with listening(TWO) as (survey, _), opened(browser, written(survey, tmp_path)) as page:
        fill(page, survey, {"yes": 1})
        review(page)
        assert page.locator("#change").is_visible()
        page.locator("#send").click()
        page.locator("#status", has_text="Sent.").wait_for()
        assert page.locator("#change").is_hidden()
        assert page.locator("#send").is_hidden()
        assert page.locator("#review-title").text_content() == "This is what was sent"
        assert page.evaluate("document.activeElement.id") == "status", "a screen reader is not left on a button that is gone"


# --- from end to end ---------------------------------------------------------------------------------------------------------

ANSWER = """async ([answers, group, sends]) => {
  for (const [id, value] of Object.entries({ ...answers, group })) {
    const fields = document.querySelectorAll(`[data-question="${id}"] input`);
    if (fields[0].type === "number") fields[0].value = String(value);
    else for (const code of [value].flat()) document.querySelector(`[data-question="${id}"] input[value="${code}"]`).click();
  }
  document.querySelector("form button[type=submit]").click();
  const status = document.querySelector("#status");
  if (sends) send(); // and not by a click, which would have to wait until it cannot be the second of two
  const ended = () => !sends || /^Sent|could not/.test(status.textContent);
  for (let tries = 0; !ended() && tries < 4000; tries++) await new Promise((done) => setTimeout(done, 5));
  localStorage.clear();  // the next visitor is another person
  return [status.textContent, document.querySelector("#report").textContent, code()];
}"""


@pytest.mark.parametrize(("count", "epsilon"), [(45, 20), pytest.param(200, 4, marks=pytest.mark.slow)])
def test_people_answer_and_are_estimated(count, epsilon, browser, tmp_path, monkeypatch):
    """The example: `tacit survey form`, filled many times in the browser, collected in three ways, and estimated.

    Fewer people tell as much at a larger epsilon.
    """
    monkeypatch.chdir(tmp_path)
    declaration = EXAMPLE.read_text().replace("epsilon = 4\n", f"epsilon = {epsilon}\n")
    (tmp_path / "survey.toml").write_text(declaration)
    survey, draw = read_survey(tmp_path / "survey.toml"), random.Random(5)
    people = [some_answers(survey, draw) | {"home": int(number < 0.6 * count)} for number in range(count)]
    with listening(survey, tmp_path / "answers.sqlite") as (sent_to, _):
        sent = declaration.replace('share = "split"', f'share = "split"\nsend_to = "{sent_to.send_to}"')
        (tmp_path / "survey.toml").write_text(sent)
        code, printed = tacit("survey", "form", "survey.toml", "--out", "form.html")
        assert code == 0, printed
        (tmp_path / "codes").mkdir()
        with opened(browser, (tmp_path / "form.html").as_uri()) as page, (tmp_path / "reports.jsonl").open("w") as lines:
            for number, answers in enumerate(people):
                page.reload(wait_until="commit")
                page.wait_for_function("() => document.querySelector('#form')?.hidden === false", polling=5)
                status, line, code = page.evaluate(ANSWER, [answers, number % 3, number % 3 == 0])
                assert status == ("Sent. Thank you." if number % 3 == 0 else "")
                if number % 3 == 1:
                    lines.write(line + "\n")
                elif number % 3 == 2:
                    (tmp_path / "codes" / f"{number}.txt").write_text(code)
    code, printed = tacit("survey", "collect", "survey.toml", "reports.jsonl", "codes", "--json")
    told = json.loads(printed)
    assert (code, told["counted"], told["set_aside_now"]) == (0, count, []), printed
    code, printed = tacit(
        "survey", "estimate", "survey.toml", "--csv", "e.csv", "--chart", "e.svg", "--confidence", str(1 - CHANCE), "--json"
    )
    assert code == 0, printed
    found = {row["category"]: row for row in json.loads(printed)["results"][0]["rows"]}
    assert found["Yes"]["low"] <= 0.6 <= found["Yes"]["high"]  # a guarantee at that confidence
    assert found["Yes"]["high"] - found["Yes"]["low"] < 0.9
    assert (tmp_path / "e.csv").read_text().count("\n") == 1 + 2 + 5 + 1 + 6
    assert "<svg" in (tmp_path / "e.svg").read_text()
