"""The pages of an analyst: a price first, one spend for one form, refusals with their remedies, and nobody else's answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from urllib.parse import unquote

import pytest

from served import Served, served
from tacit.doors.server import analysts
from tacit.doors.server.pages import asking
from tacit.doors.server.pages.asking import Wanted
from tacit.doors.server.pages.sessions import TOKEN
from tacit.doors.server.pages.views import amount, built, refusal_of
from tacit.doors.server.turns import Places
from tacit.query.language.sql import read as read_sql
from tacit.release.certificates.exports import export
from tacit_certificate.check import Certificate
from tacit_certificate.document import read_canonical, read_keys
from tacit_certificate.ledger import check
from visiting import Visitor, fields, read, visitor

OTHERS = count(1)


def new() -> str:
    """A question that was never asked."""
    return f"SELECT COUNT(*) AS n FROM visits WHERE cost < {next(OTHERS) + 0.5}"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        yield found


@pytest.fixture
def ana(hospital: Served) -> Visitor:
    return visitor(hospital, "ana")


def price(visitor: Visitor, sql: str, epsilon: str = "0.01", **more: str) -> dict:
    reply = visitor.post("/price", sql=sql, kind="epsilon", epsilon=epsilon, **more)
    assert reply.status_code == 200
    return reply.json()


# --- the price first ---------------------------------------------------------------------------------------------------------


def test_the_first_page_has_a_question_of_the_catalog_with_its_price(hospital, ana):
    page = ana.get("/")
    sql = fields(page.one("form", id="ask"))["sql"]
    line = page.one("span", id="price").text
    assert sql == "SELECT sex, COUNT(*) AS n\nFROM patients\nGROUP BY sex"
    assert line.startswith("ε 0.1 · n ± 30 · leaves ")
    assert page.one("button", id="spend").text == "Spend ε 0.1"
    assert hospital.data.ledger.head.questions == 0, "a price spends nothing"


def test_the_examples_are_answered(ana):
    page = ana.get("/")
    examples = [fields(form) for form in page.all("form", method="get", action="/")]
    assert len(examples) >= 4
    for each in examples:
        shown = ana.send("GET", "/", params=each)
        assert "no" not in read(shown.text).one("p", id="price-line").given["class"].split(), each


def test_a_price_is_what_is_spent_and_says_what_is_left(hospital, ana):
    sql = new()
    seen = price(ana, sql, "0.02")
    assert seen["price"]["button"] == "Spend ε 0.02"
    assert seen["price"]["line"].startswith("ε 0.02 · n ± 1,198 · leaves ")
    before = json.loads(hospital.call("budget").body)["analyst"]["left"]["epsilon"]
    page = ana.get(ana.answered(sql, "0.02"))
    after = json.loads(hospital.call("budget").body)["analyst"]["left"]["epsilon"]
    assert round(float(before) - float(after), 9) == 0.02
    assert page.one("button", id="spend").text == "Show again, free"
    assert price(ana, sql, "0.02")["price"]["line"].startswith("Free: you paid ε 0.02 for this answer")


def test_a_question_of_another_analyst_is_not_shown_as_paid(hospital, ana):
    """Whether somebody else has asked the same is nobody's business."""
    sql = new()
    visitor(hospital, "bob").answered(sql)
    assert price(ana, sql)["price"]["button"] == "Spend ε 0.01"


def test_accuracy_is_a_budget_too(ana):
    sql = new()
    reply = ana.post("/price", sql=sql, kind="error", error="400", epsilon="")
    assert reply.json()["price"]["line"].startswith("ε 0.0598 · n ± 400 · leaves ")
    key = fields(ana.get("/").one("form", id="ask"))["key"]
    assert ana.post("/ask", key=key, sql=sql, kind="error", error="400", epsilon="", action="spend").status_code == 303


def test_the_curve_falls(ana):
    curve = price(ana, new(), "0.04")["price"]["curve"]
    assert [epsilon for epsilon, _ in curve] == ["0.01", "0.02", "0.04", "0.08", "0.16"]
    assert [error for _, error in curve] == sorted((error for _, error in curve), key=lambda error: -float(error.replace(",", "")))


@pytest.mark.parametrize("typed", ["", "x", "-1", "1e999", "0.1; DROP", "NaN", "9" * 40])
def test_what_is_not_a_number_is_no_budget(hospital, ana, typed):
    head = hospital.data.ledger.head.number
    reply = ana.spend(new(), typed)
    assert reply.status_code in (200, 422)
    assert read(reply.text).one("button", id="spend").given.get("disabled") == ""
    assert hospital.data.ledger.head.number == head


def test_public_tables_are_free_and_have_no_price(hospital, ana):
    head = hospital.data.ledger.head.number
    assert price(ana, "SELECT ward, beds FROM wards")["price"]["button"] == "Get the answer, free"
    page = read(ana.spend("SELECT ward, beds FROM wards ORDER BY ward").text)
    assert [cell.text for cell in page.one("section", id="answer").all("td")][:2] == ["east", "24"]
    assert hospital.data.ledger.head.number == head


# --- one spend ---------------------------------------------------------------------------------------------------------------


def spends(hospital: Served) -> int:
    return hospital.data.ledger.head.questions


def test_a_form_spends_once_however_often_it_is_sent(hospital, ana):
    """A double click, a reload, and the way back: the same form, with the same question."""
    given = {"key": fields(ana.get("/").one("form", id="ask"))["key"], "sql": new(), "kind": "epsilon", "epsilon": "0.01"}
    before = spends(hospital)
    form = {"data": {**given, "action": "spend"}}
    replies = ana.all_at_once(*[("POST", "/ask", form)] * 3, ("POST", "/ask", form))
    replies += [ana.post("/ask", **given, action="spend")]
    assert len({(reply.status_code, reply.headers["location"]) for reply in replies}) == 1
    assert spends(hospital) == before + 1


def test_the_same_question_in_two_tabs_is_paid_once(hospital, ana):
    keys = [fields(ana.get("/").one("form", id="ask"))["key"] for _ in range(2)]
    assert keys[0] != keys[1], "a key belongs to its form"
    before, sql = spends(hospital), new()
    replies = [ana.spend(sql, key=key) for key in keys]
    assert len({reply.headers["location"] for reply in replies}) == 1
    assert spends(hospital) == before + 1


def test_a_lost_reply_is_fetched_with_the_same_form(hospital, ana, monkeypatch):
    """The entry is written, the reply is lost with the clerk, and the browser sends the form again."""
    key, sql, before = fields(ana.get("/").one("form", id="ask"))["key"], new(), spends(hospital)

    def lost(*_: object) -> None:
        raise KeyboardInterrupt

    wanted = Wanted(sql, "epsilon", "0.01", "", key)
    with monkeypatch.context() as patch:
        patch.setattr(hospital.office.requests, "finish", lost)
        with pytest.raises(KeyboardInterrupt):
            hospital.call("ask", key=wanted.request_key, sql=sql, epsilon="0.01")
    assert ana.spend(sql, key=key).status_code == 303
    assert spends(hospital) == before + 1


def test_another_question_in_an_old_form_is_another_request(hospital, ana):
    key, before = fields(ana.get("/").one("form", id="ask"))["key"], spends(hospital)
    for sql in (new(), new()):
        assert ana.spend(sql, key=key).status_code == 303
    assert spends(hospital) == before + 2


def test_a_key_that_is_not_made_with_the_form_is_caught(hospital, ana, monkeypatch):
    """Planted: the key is made anew for each request. Nothing but the stored answer then keeps a double click from paying twice."""
    fresh = count()
    monkeypatch.setattr(Wanted, "request_key", property(lambda _: f"key{next(fresh)}"))
    seen: list[str] = []
    asked = analysts.ask
    monkeypatch.setattr(
        analysts, "ask", lambda office, account, given, key: (seen.append(key), asked(office, account, given, key))[1]
    )
    operation = hospital.desk.operations["ask"]
    monkeypatch.setitem(hospital.desk.operations, "ask", type(operation)(analysts.ask, operation.model, operation.roles))
    key, sql = fields(ana.get("/").one("form", id="ask"))["key"], new()
    for _ in range(2):
        ana.spend(sql, key=key)
    assert len(set(seen)) == 2, "the test above sees one key"


@pytest.mark.parametrize("key", ["", "short", "k" * 65, "k k" * 10, "é" * 30])
def test_without_the_key_of_a_form_nothing_is_spent(hospital, ana, key):
    before = spends(hospital)
    reply = ana.post("/ask", key=key, sql=new(), kind="epsilon", epsilon="0.01", action="spend")
    assert reply.status_code == 200
    assert spends(hospital) == before


def test_keys_of_two_questions_differ_and_fit_the_header():
    one, other = (Wanted(sql, "epsilon", "0.1", "", "k" * 32).request_key for sql in ("SELECT 1", "SELECT 2"))
    assert one != other
    assert len(one) <= 128
    assert Wanted("SELECT 1", "epsilon", "0.2", "", "k" * 32).request_key != one


# --- refusals ----------------------------------------------------------------------------------------------------------------


def test_a_refusal_marks_the_word_and_offers_the_remedy(hospital, ana):
    before = spends(hospital)
    page = read(ana.spend("SELECT ward,\n  SUM(cots) AS c FROM visits GROUP BY ward").text)
    assert page.one("mark").text == "cots"
    (mend,) = [form for form in page.all("form", action="/ask") if form.all("button", value="mend")]
    assert mend.one("button", value="mend").text == "Use cost"
    assert fields(mend)["mended"] == "SELECT ward,\n  SUM(cost) AS c FROM visits GROUP BY ward"
    page = read(ana.post("/ask", **fields(mend), action="mend").text)
    assert page.one("button", id="spend").text == "Spend ε 0.01"
    assert fields(page.one("form", id="ask"))["sql"] == "SELECT ward,\n  SUM(cost) AS c FROM visits GROUP BY ward"
    assert spends(hospital) == before


def test_too_much_offers_what_still_fits(ana):
    reply = ana.spend(new(), "50")
    page = read(reply.text)
    assert reply.status_code == 409
    (mend,) = [form for form in page.all("form", action="/ask") if form.all("button", value="mend")]
    page = read(ana.post("/ask", **fields(mend), action="mend").text)
    assert page.one("button", id="spend").text.startswith("Spend ε ")
    assert "disabled" not in page.one("button", id="spend").given


@pytest.mark.parametrize(
    ("error", "sql"),
    [
        ({"message": "m", "line": 99, "column": 1}, "SELECT 1"),
        ({"message": "m", "line": 1, "column": 99}, "SELECT 1"),
        ({"message": "m", "line": "1", "column": None}, "SELECT 1"),
        ({"message": "m", "remedy": "did you mean a, b?", "line": 1, "column": 8}, "SELECT x"),
    ],
)
def test_a_place_that_is_not_in_the_text_marks_nothing_wrong(error, sql):
    refusal = refusal_of(error, sql)
    assert refusal.message == "m"
    assert not refusal.mended


# --- whose answers -----------------------------------------------------------------------------------------------------------


def test_an_answer_of_another_is_as_absent_as_none(hospital, ana):
    sql = "SELECT COUNT(*) AS secret_alias FROM visits WHERE cost < 4999.25"
    address = visitor(hospital, "bob").answered(sql)
    for more in ("", ".csv", ".json", ".arrow", ".svg"):
        own, absent = (ana.send("GET", f"{place}{more}") for place in (address, "/answers/88888"))
        assert (own.status_code, own.text) == (404, absent.text)
        assert absent.status_code == 404
    offer = [ana.post(f"{place}/offer", title="mine", action="offer") for place in (address, "/answers/88888")]
    assert [each.status_code for each in offer] == [404, 404]


def test_no_page_of_an_analyst_names_another(hospital, ana):
    bob = visitor(hospital, "bob")
    address = bob.answered("SELECT COUNT(*) AS bobs_alias FROM visits WHERE cost < 4999.5", "0.017")
    bob.post(f"{address}/offer", title="bobs title", action="offer")
    mine = ana.answered(new())
    for path in ("/", "/catalog", "/history", "/budget", mine, "/?sql=SELECT"):
        text = ana.send("GET", path).text
        for word in ("bob", "4999.5", "0.017"):
            assert word not in text, path
    assert "bobs_alias" in bob.send("GET", "/history").text, "where it belongs, it is seen"


PAGES = {
    "/": {"analyst"}, "/catalog": {"analyst", "curator", "auditor"}, "/history": {"analyst"}, "/budget": {"analyst"},
    "/owner": {"curator"}, "/publish": {"curator"}, "/auditor": {"auditor"}, "/auditor/head.json": {"auditor"},
    "/keys.json": {"analyst", "curator", "auditor"},
}  # fmt: skip


@pytest.mark.parametrize(("who", "role"), [("ana", "analyst"), ("cara", "curator"), ("otto", "auditor")])
def test_every_page_is_for_its_roles(hospital, who, role):
    guest = visitor(hospital, who)
    for path, roles in PAGES.items():
        status = guest.send("GET", path).status_code
        assert status == (200 if role in roles else 303 if path == "/" else 404), path
    for path in ("/ask", "/price"):
        assert (guest.post(path, sql="x").status_code == 404) == (role != "analyst"), path
    for path in ("/owner/invite", "/owner/revoke", "/owner/cap", "/owner/resume", "/publish"):
        assert (guest.post(path).status_code == 404) == (role != "curator"), path


def test_downloads_are_files(ana):
    address = ana.answered(new())
    types = {"csv": "text/csv", "json": "application/json", "arrow": "application/vnd.apache.arrow.stream", "svg": "image/svg+xml"}
    for form, media in types.items():
        reply = ana.send("GET", f"{address}.{form}")
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith(media)
        assert reply.headers["content-disposition"].startswith("attachment")
        assert reply.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert "content-disposition" not in ana.send("GET", f"{address}.svg?show").headers


def test_an_answer_has_its_certificate_as_a_page_and_as_a_file(hospital, ana):
    """What is downloaded is valid for the keys that are downloaded beside it; another analyst gets neither."""
    address = ana.answered(new())
    reply = ana.send("GET", f"{address}.certificate")
    assert reply.headers["content-disposition"].endswith('.certificate.json"')
    keys = read_keys(ana.send("GET", "/keys.json").content)
    report = Certificate(read_canonical(reply.content)).check(keys)
    assert not report.wrong
    page = ana.send("GET", f"{address}/certificate").text
    assert f'href="{address}/certificate"' in ana.send("GET", address).text
    for words in ("It cannot show that the program drew its noise", "Why one unit cannot change more", "laplace", address):
        assert words in page
    bob = visitor(hospital, "bob")
    assert [bob.send("GET", f"{address}{ending}").status_code for ending in (".certificate", "/certificate")] == [404, 404]


def test_the_head_that_an_auditor_takes_is_signed(hospital, ana, tmp_path):
    ana.answered(new())
    otto = visitor(hospital, "otto")
    head, keys = otto.send("GET", "/auditor/head.json").content, read_keys(otto.send("GET", "/keys.json").content)
    lines = export(hospital.data, tmp_path / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    report = check(lines, [head], keys)
    assert not report.wrong
    assert any("it extends the head" in text for text in report.checked)


def test_the_page_of_a_problem_leads_back(ana):
    reply = ana.send("GET", "/answers/99999")
    assert reply.status_code == 404
    assert "<nav" in reply.text


def test_no_token_is_in_any_page(hospital, ana):
    address = ana.answered(new())
    for path in ("/", "/catalog", "/history", "/budget", address):
        text = ana.send("GET", path).text
        assert ana.cookies["session"] not in text
        assert TOKEN.search(text) is None, path
    assert TOKEN.search(hospital.tokens["ana"])


# --- hostile names -----------------------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "</textarea><img src=x onerror=alert(1)>",
    '" onfocus="alert(1)" autofocus x="',
    "=cmd|' /C calc'!A0",
    "\x1b[2J\u202e",
    "{{ 7*7 }}{% raw %}",
    "&lt;b&gt;",
    "javascript:alert(1)",
    "</title><svg onload=alert(1)>",
    "\u2066a\u200b\u0000",
]


@pytest.mark.parametrize("alias", HOSTILE)
def test_hostile_names_add_no_element_and_no_attribute(hospital, ana, alias):
    def page(name: str) -> tuple[list, str]:
        quoted = name.replace('"', '""')
        limit = next(OTHERS) + 0.25
        reply = ana.spend(f'SELECT ward, COUNT(*) AS "{quoted}" FROM visits WHERE cost < {limit} GROUP BY ward')
        if reply.status_code == 303:
            reply = ana.send("GET", reply.headers["location"])
        outside = read(reply.text)
        for area in outside.all("textarea"):
            area.inside.clear()  # what is in a field is sent back as it is
        return outside.tags, "".join(each.text for each in outside.all("main"))

    (tags, text), (plain, _) = page(alias), page("harmless")
    assert [tag for tag, _ in tags if tag == "script"] == [tag for tag, _ in plain if tag == "script"]
    assert not {"\x1b", "\u202e", "\u2066", "\u200b", "\x00"} & set(text)
    if len(tags) == len(plain):
        assert tags == plain
    else:
        assert "Not answered" in text, "a name that SQL refuses"
    names = {name for _, given in tags for name in given}
    assert not {name for name in names if name.startswith("on") or name == "style"}


def test_texts_that_are_not_escaped_are_caught(hospital, ana, monkeypatch):
    """Planted: a template that trusts a name."""
    from markupsafe import Markup

    kept = asking.views.table_of

    def trusting(answer: dict) -> object:
        table = kept(answer)
        headings = [(Markup(name), is_number) for name, is_number in table.headings]  # noqa: S704  # the bug
        return type(table)(headings, table.rows, table.total)

    monkeypatch.setattr(asking.views, "table_of", trusting)
    address = ana.answered(f'SELECT COUNT(*) AS "<b id=planted>" FROM visits WHERE cost < {next(OTHERS) + 0.75}')
    assert "<b id=planted>" in ana.send("GET", address).text


# --- without SQL -------------------------------------------------------------------------------------------------------------


def test_a_question_without_sql_shows_the_sql_that_it_makes(hospital, ana):
    page = ana.get("/")
    form = next(form for form in page.all("form", action="/build") if fields(form)["table"] == "visits")
    given = {**fields(form), "number": "AVG cost", "group": "ward", "where": "day", "is": ">=", "value": "2021-01-01"}
    reply = ana.send("GET", "/build", params=given)
    wanted = "SELECT ward, AVG(cost) AS mean\nFROM visits\nWHERE day >= DATE '2021-01-01'\nGROUP BY ward"
    assert unquote(reply.headers["location"]) == f"/?sql={wanted}"
    page = ana.get(reply.headers["location"])
    assert fields(page.one("form", id="ask"))["sql"] == wanted
    assert page.one("button", id="spend").text == "Spend ε 0.1"


@pytest.mark.parametrize("value", ["' OR 1=1 --", "x'; DROP TABLE visits; --", "''", "\\'", "1) OR (1=1", "1e5 OR true", "é\n'"])
def test_a_value_is_a_literal_whatever_is_in_it(hospital, value):
    tables = json.loads(hospital.call("catalog").body)["tables"]
    for column in ("ward", "cost", "day"):
        sql = built(tables, {"table": "visits", "where": column, "is": "=", "value": value})
        harmless = built(tables, {"table": "visits", "where": column, "is": "=", "value": "x"})
        assert sql is not None
        literal = "'" + value.replace("'", "''") + "'"
        assert sql.replace(literal, "'x'") == harmless
        if "\n" not in value and "\\" not in value:
            assert type(read_sql(sql.replace("DATE ", "")).statement).__name__ == "Select"


def test_only_declared_names_are_built(hospital):
    tables = json.loads(hospital.call("catalog").body)["tables"]
    good = {"table": "visits", "number": "AVG cost", "group": "ward", "where": "ward", "is": "=", "value": "north"}
    assert built(tables, good) is not None
    for name, bad in (
        ("table", "x"),
        ("number", "AVG x"),
        ("number", "EXEC cost"),
        ("group", "1; DROP"),
        ("where", "x"),
        ("is", "OR"),
    ):
        assert built(tables, {**good, name: bad}) is None


# --- history and budget ------------------------------------------------------------------------------------------------------


def test_the_history_leads_to_answers_again_for_free(hospital, ana):
    address, before = ana.answered(new()), spends(hospital)
    page = ana.get("/history")
    assert address in {link.given["href"] for link in page.all("a")}
    assert ana.get(address).all("section", id="answer")
    assert spends(hospital) == before


def test_the_gauges_say_what_the_budget_says(hospital, ana):
    ana.answered(new())
    budget = json.loads(hospital.call("budget").body)
    left = budget["analyst"]["left"]["epsilon"]
    own, whole = (figure.text for figure in ana.get("/budget").all("figure")[:2])
    assert f"{amount(left)} left" in own
    assert f"{amount(budget['data_set']['left']['epsilon'])} left" in whole
