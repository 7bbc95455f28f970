"""The client on a real server with TLS: the same answers, the same refusals, and one debit whatever is lost."""

from __future__ import annotations

import gzip
import json
import socketserver
import ssl
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import tacit
from served import Served, listening, self_signed, served
from tacit.doors.cli import app
from tacit.doors.client import MOST_REPLY, Remote, _body, checked_url, raised
from tacit.doors.server import desk
from tacit.doors.server.turns import Places
from tacit.errors import BudgetExceeded, InvalidInput, InvalidToken, StoreUnusable, UnknownName

WARDS = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str, Path]]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        certificate = self_signed(tmp_path_factory.mktemp("tls"))
        with listening(found.desk, certificate) as url:
            yield found, url, certificate[0]


def run(*words: str, text: str | None = None) -> Any:
    return CliRunner().invoke(app, words, input=text, prog_name="tacit")


def test_an_answer_is_that_of_a_session(server):
    found, url, ca = server
    with tacit.connect(url, found.tokens["ana"], ca=ca) as ana:
        answer = ana.sql(WARDS, epsilon=0.25)
        assert isinstance(answer, tacit.Answer)
        again = found.data.session("ana").sql(WARDS, epsilon=0.25)
        assert (answer.columns, answer.confidence, answer.notes, answer.limits) == (
            again.columns, again.confidence, again.notes, again.limits,
        )  # fmt: skip
        assert again.receipt.again
        assert ana.answer(answer.receipt.entry).columns == answer.columns
        local = found.data.session("ana").explain(WARDS, epsilon=0.25)
        assert ana.explain(WARDS, epsilon="0.25").to_dict() == local.to_dict()
        several = {"epsilons": [0.1, "0.5"], "group_rows": 200}
        assert ana.explain(WARDS, **several) == found.data.session("ana").explain(WARDS, **several)
        assert ana.budget()["analyst"]["spent"]["epsilon"] == "0.25"
        assert [each["question"] for each in ana.history()] == [WARDS]
        filled = ana.sql(
            "SELECT COUNT(*) AS n FROM visits WHERE cost > :c AND day < :d", params={"c": 10.5, "d": "2024-01-31"}, epsilon=0.01
        )
        assert len(filled) == 1
        assert ana.sql("SELECT MEDIAN(cost) AS m FROM visits", epsilon=0.01, interval=False).column("m").values
        assert ana.sql("SELECT ward FROM wards ORDER BY ward")["ward"] == ("east", "north", "south", "west")


def test_a_certificate_is_that_of_the_own_entry(server):
    """Of a statement made of several answers, the reply names the entry of each: none is passed off as that of the statement."""
    found, url, ca = server
    some, every = "(SELECT COUNT(*) AS n FROM visits WHERE cost > 9) AS a", "(SELECT COUNT(*) AS n FROM visits) AS b"
    several = f"SELECT a.n - b.n AS apart FROM {some}, {every}"
    with tacit.connect(url, found.tokens["ana"], ca=ca) as ana, tacit.connect(url, found.tokens["bob"], ca=ca) as bob:
        answer = ana.sql(WARDS, epsilon=0.02)
        entry = answer.receipt.entry
        made = found.data.session("ana").certificate(entry).to_json()
        assert answer.certificate.to_json() == ana.certificate(entry).to_json() == made
        assert ana.answer(entry).certificate.to_json() == made
        with pytest.raises(InvalidInput):
            bob.certificate(entry)
        apart = ana.sql(several, epsilon=0.02)
        local = found.data.session("ana").sql(several, epsilon=0.02)
        assert apart.receipt.entries == local.receipt.entries
        assert len(apart.receipt.entries) == 2
        assert [each.to_json() for each in apart.certificates] == [each.to_json() for each in local.certificates]
        with pytest.raises(InvalidInput, match=r"answer\.certificates"):
            _ = apart.certificate
        free = ana.sql("SELECT ward FROM wards")
        with pytest.raises(InvalidInput, match="no certificate"):
            _ = free.certificate


@pytest.mark.parametrize("entries", [7, "7", ["7"], [True], [1] * 10_000, {"1": 1}])
def test_entries_of_a_hostile_server_are_one_error(server, entries):
    found, url, ca = server
    with tacit.connect(url, found.tokens["ana"], ca=ca) as ana:
        entry = ana.sql(WARDS, epsilon=0.02).receipt.entry
        honest = json.loads(ana._send("GET", f"/v1/answers/{entry}?form=exact"))
    honest["receipt"]["entries"] = entries
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=honest))
    with Remote("https://x.org", "t", transport=transport) as hostile, pytest.raises(StoreUnusable, match="words of tacit"):
        hostile.answer(entry)


def test_a_server_of_an_earlier_version_leaves_newer_fields_out():
    noise = {"what": "count", "mechanism": "Laplace", "sensitivity": "1", "scale": "1", "cost": "1", "why": ""}
    old = {
        "tree": ["all rows together"], "groups": "one", "noise": [noise], "errors": [{"column": "n", "error": "± 3"}],
        "price": {"epsilon": "1/2", "delta": "0"}, "confidence": 0.95, "left": "",
    }  # fmt: skip
    with Remote("https://x.org", "t", transport=httpx.MockTransport(lambda _: httpx.Response(200, json=old))) as ana:
        told = ana.explain(WARDS, epsilon=0.5)
    assert (told.columns, told.parameters, told.budgets, told.takes, told.errors[0].half_width) == ((), (), (), (), None)
    assert told.epsilon == Fraction(1, 2)


def test_a_frame_is_sent_as_sql(server):
    found, url, ca = server
    with tacit.connect(url, found.tokens["ana"], ca=ca) as ana:
        frames = [
            each.table("visits").where("cost > 10").group_by("ward").agg(n="COUNT(*)") for each in (ana, found.data.session("ana"))
        ]
        there, here = (frame.release(epsilon=0.02) for frame in frames)
        assert there.columns == here.columns
        assert here.receipt.again
        assert frames[0].explain().to_dict() == frames[1].explain().to_dict()


def charged_for(found: Served, client: Remote, text: str, **budget: Any) -> set[str]:
    """What is charged for a question: an entry of the ledger, and a price."""
    entries, balance = len(list(found.data.ledger.entries())), client.budget()
    answer = client.sql(text, **budget)
    charged = set[str]()
    if len(list(found.data.ledger.entries())) != entries or answer.receipt.entry is not None:
        charged.add("an entry")
    if client.budget() != balance or answer.receipt.epsilon:
        charged.add("a price")
    return charged


@pytest.mark.parametrize("end", ["LIMIT 0", "FETCH FIRST 0 ROWS ONLY"])
def test_a_question_for_no_rows_is_free(server, end):
    """The columns are those of a local session, and neither the ledger nor the balance changes."""
    found, url, ca = server
    text = f"SELECT kind, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY kind {end}"
    with tacit.connect(url, found.tokens["ana"], ca=ca) as ana:
        for budget in ({}, {"epsilon": 0.25}, {"error": 10, "confidence": 0.9}):
            assert charged_for(found, ana, text, **budget) == set()
            answer = ana.sql(text, **budget)
            assert [column.name for column in answer.columns] == ["kind", "n", "cost"]
            assert (len(answer), answer.receipt.epsilon, answer.receipt.delta, answer.receipt.entry) == (0, 0, 0, None)
            assert answer.columns == found.data.session("ana").sql(text, **budget).columns
        assert ana.explain(text).epsilon == 0
        assert str(ana.explain(text)) == str(found.data.session("ana").explain(text))


def test_a_question_for_one_row_is_charged(server):
    """So the check above can fail."""
    found, url, ca = server
    with tacit.connect(url, found.tokens["ana"], ca=ca) as ana:
        paid = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind FETCH FIRST 1 ROWS ONLY"
        assert charged_for(found, ana, paid, epsilon=0.01) == {"an entry", "a price"}


def test_weights_go_with_a_question_and_tidying_is_done_here(server):
    found, url, ca = server
    asked, heavy = "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward", {"cost": 3}
    with tacit.connect(url, found.tokens["bob"], ca=ca) as bob:
        weighed = bob.explain(asked, epsilon=0.1, weights=heavy).to_dict()
        assert weighed == found.data.session("bob").explain(asked, epsilon=0.1, weights=heavy).to_dict()
        assert weighed != bob.explain(asked, epsilon=0.1).to_dict()
        answer = bob.sql(asked, epsilon=0.1, weights=heavy, tidy=True)
        assert answer.tidied
        again = found.data.session("bob").sql(asked, epsilon=0.1, weights=heavy, tidy=True)
        assert again.receipt.again
        assert again.columns == answer.columns
        with pytest.raises(InvalidInput, match="must lie between"):
            bob.sql(asked, epsilon=0.1, weights={"cost": 0})


def test_refusals_are_the_same_exceptions(server):
    found, url, ca = server
    with tacit.connect(url, found.tokens["bob"], ca=ca) as bob:
        with pytest.raises(UnknownName) as refused:
            bob.sql("SELECT COUNT(*) FROM nowhere", epsilon=0.1)
        with pytest.raises(UnknownName) as local:
            found.data.session("bob").sql("SELECT COUNT(*) FROM nowhere", epsilon=0.1)
        assert (str(refused.value), refused.value.at) == (str(local.value), local.value.at)
        with pytest.raises(BudgetExceeded, match="bob's own budget"):
            bob.sql("SELECT COUNT(*) FROM visits", epsilon=1.5)
        with pytest.raises(InvalidInput, match="unknown argument 'budget'"):
            bob.sql("SELECT COUNT(*) FROM visits", budget=1)
    with tacit.connect(url, f"tacit_{'x' * 43}", ca=ca) as nobody, pytest.raises(InvalidInput, match="does not accept the token"):
        nobody.budget()


def test_a_certificate_that_nobody_vouches_for_is_refused(server):
    found, url, _ = server
    remote = Remote(url, found.tokens["ana"], pauses=())
    with remote, pytest.raises(StoreUnusable, match="certificate is not trusted"):
        remote.budget()
    assert found.tokens["ana"] not in repr(remote)


def test_lost_replies_are_paid_for_once(server):
    """The server answers, and the connection breaks before the client reads it."""
    found, url, ca = server

    class Losing(httpx.HTTPTransport):
        lost = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            reply = super().handle_request(request)
            if self.lost < 2:
                self.lost += 1
                reply.read()
                raise httpx.ReadError("lost")
            return reply

    before = found.data.ledger.head.questions
    context = ssl.create_default_context(cafile=str(ca))
    with Remote(url, found.tokens["ana"], ca, transport=Losing(verify=context), pauses=(0.0, 0.0)) as ana:
        answer = ana.sql("SELECT COUNT(*) AS n FROM visits WHERE cost > 1", epsilon=0.01)
    assert found.data.ledger.head.questions == before + 1
    assert not answer.receipt.again, "the same reply, byte for byte"


def test_the_command_line_asks_a_server(server, tmp_path, monkeypatch):
    found, url, ca = server
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run("budget", "--server", url).exit_code == 2, "without a login there is no token"
    given = tmp_path / "given.pem"
    given.write_bytes(ca.read_bytes())
    logged = run("login", url, "--ca", str(given), text=found.tokens["ana"] + "\n")
    given.unlink()  # the login keeps a copy
    assert logged.exit_code == 0, logged.output
    assert (tmp_path / "tacit" / "logins.json").stat().st_mode & 0o777 == 0o600
    asked = run("sql", "SELECT COUNT(*) AS n FROM patients", "--epsilon", "0.1", "--server", url, "--json")
    assert asked.exit_code == 0, asked.output
    assert json.loads(asked.output)["price"] == {"epsilon": "0.1", "delta": "0"}
    assert "price: epsilon 0.1" in run("explain", "SELECT COUNT(*) FROM patients", "--epsilon", "0.1", "--server", url).output
    assert "ana" in run("budget", "--server", url).output
    assert "SELECT COUNT(*) AS n FROM patients" in run("history", "--server", url).output
    assert run("sql", "SELECT nothing", "--epsilon", "0.1", "--server", url).exit_code == 3
    assert run("login", url, "--ca", str(ca), text="tacit_wrong\n").exit_code == 2
    assert run("login", url, "--ca", str(ca), text="\n").exit_code == 2


def test_a_narrow_token_from_python(server):
    found, url, ca = server
    with tacit.connect(url, found.tokens["bob"], ca=ca) as bob:
        made = bob.narrow_token(most=0.2, hours=8, operations=["ask", "tokens", "budget"])
        assert (made.most, made.operations, made.token in repr(made)) == ("0.2", ("ask", "budget", "tokens"), False)
        with tacit.connect(url, made.token, ca=ca) as narrow:
            assert narrow.sql("SELECT COUNT(*) FROM visits WHERE cost > 71", epsilon=0.1).receipt.left_epsilon == Fraction(1, 10)
            with pytest.raises(BudgetExceeded, match=r"0\.1 of 0\.2 remains"):
                narrow.sql("SELECT COUNT(*) FROM visits WHERE cost > 72", epsilon=0.2)
            with pytest.raises(InvalidInput, match="made without it; use"):
                narrow.history()
            with pytest.raises(InvalidInput, match=r"most must be at most 0.2"):
                narrow.narrow_token(most=1)
            with pytest.raises(InvalidInput, match="list of names"):
                narrow.narrow_token(operations="ask")
            assert bob.tokens()[-1]["asked"] == "0.1"
            assert bob.revoke(made.number) == 1
            with pytest.raises(InvalidToken, match="revoked; ask the curator"):
                narrow.budget()


def test_a_server_without_narrow_tokens_says_so():
    body = b'{"error": {"code": "invalid_request", "message": "body.replace is not valid: it is not a field of this request"}}'
    transport = httpx.MockTransport(lambda request: httpx.Response(422, content=body))
    with pytest.raises(InvalidInput, match="a version without narrow tokens"):
        Remote("https://x.example", "tacit_x", transport=transport).narrow_token(most=1)


@pytest.mark.parametrize("reply", [b"{}", b'{"number": 1, "token": "a b", "expires": "", "most": null, "operations": []}', b"[]"])
def test_a_narrow_token_of_a_hostile_server_is_one_error(reply):
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=reply))
    remote = Remote("https://x.example", "tacit_x", transport=transport)
    for act in (remote.narrow_token, remote.tokens, remote.revoke):
        with pytest.raises(StoreUnusable, match="words of tacit"):
            act()


def test_the_command_line_makes_lists_and_revokes_narrow_tokens(server, tmp_path, monkeypatch):
    found, url, ca = server
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run("login", url, "--ca", str(ca), text=found.tokens["bob"] + "\n").exit_code == 0
    made = json.loads(run("token", "narrow", "--server", url, "--most", "0.1", "--hours", "2", "--json").output)
    assert (made["most"], "tokens" in made["operations"]) == ("0.1", False)
    words = run("token", "narrow", "--server", url, "--operations", "ask, explain").output
    assert "it is shown only now:\ntacit_" in words
    listed = json.loads(run("token", "list", "--server", url, "--json").output)["tokens"]
    assert [(each["number"], each["live"]) for each in listed][-2:] == [(made["number"], True), (made["number"] + 1, True)]
    assert "ask explain" in " ".join(run("token", "list", "--server", url).output.split())
    monkeypatch.setenv("TACIT_TOKEN", made["token"])
    asked = run("shell", "--server", url, "--epsilon", "0.1", text="SELECT COUNT(*) FROM visits WHERE cost > 81;")
    assert asked.exit_code == 0, asked.output
    shown = [line.split() for line in run("budget", "--server", url).output.splitlines()]
    assert ["│", "token", str(made["number"]), "│", "0.1", "│", "-", "│", "0.1", "│", "0", "│", "-", "│"] in shown
    refused = run("shell", "--server", url, "--epsilon", "0.1", text="SELECT COUNT(*) FROM visits WHERE cost > 82;")
    assert (refused.exit_code, "does not admit this question" in str(refused.output) + str(refused.exception)) == (3, True)
    no_mint = run("shell", "--server", url, "--most", "0.05", "--epsilon", "0.1", text="SELECT 1;")
    assert "was made without it" in no_mint.output + str(no_mint.exception)
    monkeypatch.delenv("TACIT_TOKEN")
    limited = run(
        "shell", "--server", url, "--most", "0.05", "--epsilon", "0.1", text="SELECT COUNT(*) FROM visits WHERE cost > 83;"
    )
    assert limited.exit_code == 3
    listed = json.loads(run("token", "list", "--server", url, "--json").output)["tokens"]
    assert [(each["most"], each["asked"], each["live"]) for each in listed][-1] == ("0.05", "0", False)
    assert json.loads(run("token", "revoke", "--server", url, "--narrow", str(made["number"]), "--json").output) == {"revoked": 1}
    for wrong in (("revoke",), ("revoke", "bob", "--server", url), ("revoke", "--server", url, "--number", "1"), ("narrow",)):
        assert run("token", *wrong).exit_code != 0


def test_the_owner_makes_narrow_tokens_on_the_machine_of_the_server(server):
    found, url, ca = server
    catalog = ("--catalog", str(found.folder / "tacit.toml"))
    made = json.loads(run("token", "narrow", "bob", "--most", "0.1", "--operations", "ask,budget", "--json", *catalog).output)
    with tacit.connect(url, made["token"], ca=ca) as narrow:
        assert narrow.budget()["token"]["most"] == "0.1"
    assert f"narrow {made['number']}" in run("token", "list", *catalog).output
    assert run("token", "revoke", "bob", "--narrow", str(made["number"]), *catalog).output == "revoked: 1 token\n"
    with tacit.connect(url, made["token"], ca=ca) as narrow, pytest.raises(InvalidToken):
        narrow.budget()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "stats.example.org",
        "http://stats.example.org",
        "https://",
        "https://a/b",
        "https://u:p@h",
        "http://localhost.evil",
        3,
        "https://a\tb",
        "https://a b",
        "https://a\nb",
        "https://a\x00b",
    ],
)
def test_a_token_goes_over_https_or_stays_on_this_machine(url):
    with pytest.raises(InvalidInput, match="https"):
        checked_url(url)
    assert checked_url("http://localhost:8000/") == "http://localhost:8000"


@pytest.mark.parametrize("url", ["https://[::1", "https://example.org:port"])
def test_an_address_that_cannot_be_read_is_said_so(url):
    with pytest.raises(InvalidInput, match="URL such as"):
        Remote(url, "tacit_x")


@contextmanager
def replying(headers: str, body: bytes) -> Iterator[str]:
    """A server on this machine that replies the same to the first request of each connection."""

    class Reply(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            with suppress(OSError):  # the client may close before it has read all
                self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n".encode())
                self.wfile.write(body)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Reply) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_reply_unpacks_to_nothing_large(monkeypatch):
    """Sixty kilobytes of gzip that are 64 megabytes: they are not unpacked, and no compressed reply is asked for."""
    with replying("Content-Encoding: gzip\r\n", gzip.compress(bytes(64 * 2**20))) as url, Remote(url, "tacit_x", pauses=()) as ana:
        tracemalloc.start()
        with pytest.raises(StoreUnusable, match="compressed its reply"):
            ana.budget()
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
        tracemalloc.stop()
        assert ana._client.headers["Accept-Encoding"] == "identity"
    monkeypatch.setattr("tacit.doors.client.MOST_REPLY", 1000)
    with (
        replying("", b'{"a": 1}' + b" " * 2000) as url,
        Remote(url, "tacit_x", pauses=()) as ana,
        pytest.raises(StoreUnusable, match="bytes"),
    ):
        ana.budget()


def test_a_reply_may_be_as_large_as_a_server_sends():
    assert MOST_REPLY > desk.MOST_REPLY


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 100_000, b'"' + bytes([255]) + b'"'])
def test_a_reply_that_is_not_of_tacit_is_said_so(body):
    with replying("", body) as url, Remote(url, "tacit_x", pauses=()) as ana:
        for ask in (ana.budget, ana.catalog, ana.history, lambda: ana.sql("SELECT 1", epsilon=1), lambda: ana.explain("SELECT 1")):
            with pytest.raises(StoreUnusable, match="words of tacit"):
                ask()


FORMS = [
    b"{}",
    b'{"answer": {}, "receipt": 1, "entries": 1, "noise": 1}',
    b'{"answer": [], "receipt": {"left": ["1/0", "0"]}, "entries": [1], "noise": [], "errors": [], "price": {"epsilon": "1/0"}}',
    b'{"entries": [], "before": "x", "noise": [{"of": "x"}], "answer": null}',
    b'{"entries": [], "before": 7, "noise": [], "errors": [], "price": 1, "answer": "x"}',
]


@pytest.mark.parametrize("body", FORMS)
def test_a_reply_of_another_form_is_said_so(body):
    """Also a history that goes on before the same entry without end."""
    with replying("", body) as url, Remote(url, "tacit_x", pauses=()) as ana:
        for ask in (ana.history, lambda: ana.answer(1), lambda: ana.sql("SELECT 1", epsilon=1), lambda: ana.explain("SELECT 1")):
            with pytest.raises(StoreUnusable, match="words of tacit"):
                ask()


def test_a_reply_in_small_parts_takes_no_more_memory_than_its_limit(monkeypatch):
    """A list of its parts would take thirty times as much."""
    monkeypatch.setattr("tacit.doors.client.MOST_REPLY", 2**20)
    reply = SimpleNamespace(headers={}, iter_bytes=lambda: (bytes((at % 251, 7)) for at in range(2**20)))
    tracemalloc.start()
    with pytest.raises(StoreUnusable, match="bytes"):
        _body(reply)
    assert tracemalloc.get_traced_memory()[1] < 6 * 2**20
    tracemalloc.stop()


def test_a_token_goes_to_no_other_host():
    """A reply that says where to go instead is an error, and is not followed."""
    gone = list[bool]()
    with replying("", b"{}") as other:
        elsewhere = httpx.MockTransport(
            lambda asked: (gone.append(asked.url.host == "127.0.0.1"), httpx.Response(307, headers={"Location": other}))[1]
        )
        with Remote("https://stats.example.org", "tacit_x", transport=elsewhere, pauses=()) as ana, pytest.raises(StoreUnusable):
            ana.sql("SELECT 1", epsilon=1)
    assert gone == [False]


def test_what_is_not_a_server_of_tacit_is_said_so():
    endless = '{"error": {"code": "x", "message": "m", "line": 1e999, "column": 1}}'
    for text in ("<html>", "[]", "[" * 100_000, '{"error": 1}', '{"error": {"code": "x"}}', endless):
        assert "without words of tacit" in str(raised(502, text))
    assert isinstance(raised(422, '{"error": {"code": "of_tomorrow", "message": "m"}}'), InvalidInput)


def test_an_analyst_named_beside_a_server_is_refused(server, monkeypatch):
    """The token says who asks: another name must not be charged to its owner."""
    monkeypatch.delenv("TACIT_ANALYST", raising=False)
    result = run("sql", "SELECT COUNT(*) FROM visits", "--epsilon", "0.1", "--server", server[1], "--analyst", "mallory")
    assert result.exit_code == 2
    assert "leave out --analyst" in result.output
