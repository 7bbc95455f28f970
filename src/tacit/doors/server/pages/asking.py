"""The pages of an analyst: ask, an answer by its address, the catalog, the history and the budget.

The key of a question is made with the form: pressing twice, going back, reloading, or asking in two tabs spends once. The key that
the clerk gets also depends on what is asked, so that another question in an old form is another request. An answer has an address
of its own, to which the reply to a paid question leads; loading it again asks for nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import sha256
from math import floor
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, RedirectResponse, Response

from tacit.doors.server.models import AMOUNT
from tacit.doors.server.pages import views
from tacit.doors.server.pages.frame import Frame, Lines
from tacit.doors.server.pages.sessions import Problem, Visit, form_of
from tacit.doors.server.settings import Settings
from tacit.privacy.rounding import decimal_text

FIRST_EPSILON = Fraction(1, 10)
MOST_SQL = 65_536
KEY = re.compile(r"[A-Za-z0-9_-]{20,64}")
CURVE = (Fraction(1), Fraction(1, 4), Fraction(1, 2), Fraction(2), Fraction(4))
TOLD = ("message", "remedy", "mended", "use", "epsilon")
DOWNLOADS = {"csv": "csv", "json": "json", "arrow": "arrow", "svg": "svg", "certificate": "certificate.json"}
"""The forms of an answer as a file, each with the ending of its name."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form of a question: the SQL and a budget, which is an epsilon or an error."""

    sql: str
    kind: str = "epsilon"
    epsilon: str = ""
    error: str = ""
    key: str = ""

    @property
    def budget(self) -> dict[str, str]:
        """The budget as a request has it."""
        return {"error": self.error, "confidence": "0.95"} if self.kind == "error" else {"epsilon": self.epsilon}

    @property
    def is_amount(self) -> bool:
        """Whether the budget is a number of the form that the API takes."""
        given = self.error if self.kind == "error" else self.epsilon
        return len(given) <= 32 and re.fullmatch(AMOUNT, given) is not None

    @property
    def request_key(self) -> str:
        """The Idempotency-Key of this question in this form."""
        digest = sha256(json.dumps([self.sql, self.budget]).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.key}.{digest[:40]}"


def wanted_of(given: dict[str, str]) -> Wanted:
    """The form as it was sent; a number may have a comma, blanks around it, or nothing before its point."""
    amounts = {name: given.get(name, "").strip().replace(",", ".") for name in ("epsilon", "error")}
    amounts = {name: f"0{text}" if text.startswith(".") else text for name, text in amounts.items()}
    kind = "error" if given.get("kind") == "error" else "epsilon"
    key = given.get("key", "")
    return Wanted(given.get("sql", ""), kind, amounts["epsilon"], amounts["error"], key if KEY.fullmatch(key) else "")


@dataclass(frozen=True, slots=True)
class Seen:
    """The price of a question, or why it has none."""

    price: views.Price | None = None
    refusal: views.Refusal | None = None


class Asking:
    """The pages of an analyst."""

    def __init__(self, frame: Frame, settings: Settings) -> None:
        self.frame, self.settings, self.texts = frame, settings, frame.texts

    # --- ask ---------------------------------------------------------------------------------------------------------------------

    async def ask(self, visit: Visit) -> Response:
        """The first page: a question of the catalog, already priced; or one that a link names."""
        query = visit.request.query_params
        catalog, budget = await visit.facts("catalog"), await visit.facts("budget")
        epsilon = _first_epsilon(budget)
        known = views.examples(catalog["tables"], epsilon)
        sql = query.get("sql", "").replace("\r\n", "\n") or (known[0][0] if known else "")
        named = wanted_of(dict(query))
        is_named = len(named.epsilon) <= 32 and re.fullmatch(AMOUNT, named.epsilon) is not None
        wanted = Wanted(sql, named.kind, named.epsilon if is_named else epsilon, named.error)
        return await self.form(visit, wanted, await self._seen(visit, wanted), catalog=catalog, known=known)

    async def send(self, visit: Visit) -> Response:
        """The form: its price, or its answer."""
        given = await form_of(visit.request)
        wanted = wanted_of(given)
        if given.get("action") == "mend":
            wanted = Wanted(given.get("mended", ""), wanted.kind, given.get("less", "") or wanted.epsilon, wanted.error, wanted.key)
        if given.get("action") != "spend" or not wanted.key or not wanted.is_amount:
            return await self.form(visit, wanted, await self._seen(visit, wanted))
        reply = await visit.call("ask", key=wanted.request_key, sql=wanted.sql, **wanted.budget)
        content = json.loads(reply.body)
        if reply.status != 200:
            if reply.status in (403, 429, 503):
                raise Problem(reply)
            return await self.form(visit, wanted, Seen(refusal=views.refusal_of(content["error"], wanted.sql)), reply.status)
        if content["entry"] is not None:
            return RedirectResponse(f"/answers/{int(content['entry'])}", 303, {"cache-control": "no-store"})
        return await self.form(visit, wanted, await self._seen(visit, wanted), answer=content)

    async def build(self, visit: Visit) -> Response:
        """A question that was put together without SQL, in the editor."""
        sql = views.built((await visit.facts("catalog"))["tables"], visit.request.query_params)
        return RedirectResponse("/" if sql is None else f"/?sql={quote(sql)}", 303, {"cache-control": "no-store"})

    async def price(self, visit: Visit) -> Response:
        """The price while it is typed, for the script."""
        seen = await self._seen(visit, wanted_of(await form_of(visit.request)))
        shown = {} if seen.price is None else asdict(seen.price)
        refused = {} if seen.refusal is None else {name: getattr(seen.refusal, name) for name in TOLD}
        place = None if seen.refusal is None else seen.refusal.place
        return JSONResponse({"price": shown, "refusal": refused, "place": place}, headers={"cache-control": "no-store"})

    async def _seen(self, visit: Visit, wanted: Wanted) -> Seen:
        if not wanted.sql.strip():
            return Seen(refusal=views.Refusal(self.texts["no_question"]))
        if len(wanted.sql.encode("utf-8", "surrogatepass")) > MOST_SQL:
            return Seen(refusal=views.Refusal(self.texts["long_question"]))
        if not wanted.is_amount:
            return Seen(refusal=views.Refusal(self.texts["no_amount"]))
        budget: dict[str, Any] = dict(wanted.budget)
        if wanted.kind == "epsilon" and Fraction(wanted.epsilon):
            own = Fraction(wanted.epsilon)
            budget = {"epsilons": [wanted.epsilon, *(decimal_text(own * each) for each in CURVE[1:])]}
        reply = await visit.call("preview", sql=wanted.sql, **budget)
        content = json.loads(reply.body)
        if reply.status == 200:
            return Seen(views.price_of(content, self.texts))
        if reply.status in (403, 429, 503):
            raise Problem(reply)
        return Seen(refusal=views.refusal_of(content["error"], wanted.sql))

    async def form(self, visit: Visit, wanted: Wanted, seen: Seen, status: int = 200, **more: Any) -> Response:
        """The page to ask on, with an answer if there is one."""
        catalog = more.get("catalog") or await visit.facts("catalog")
        known = more.get("known") or views.examples(catalog["tables"], wanted.epsilon or "0.1")
        answer, entry = more.get("answer"), more.get("entry")
        table = None if answer is None else views.table_of(answer)
        budget = {**wanted.budget} if wanted.is_amount else {"epsilon": "0.1"}
        url = f"{self.settings.scheme}://{visit.request.headers['host']}"
        drawn = entry is not None and table is not None and table.is_drawn
        facts: dict[str, Any] = {
            "wanted": wanted, "sql": Lines(wanted.sql), "seen": seen, "key": visit.key, "tables": catalog["tables"],
            "known": [(Lines(sql), each) for sql, each in known], "facts_of": views.facts_of, "sql_name": views.sql_name,
            "answer": answer, "table": table, "entry": entry, "is_drawn": drawn, "offered": more.get("offered"),
            "paid_at": more.get("paid_at", ""), "failed": more.get("failed", False), "words": completions(catalog["tables"]),
            "copies": [(name, Lines(text)) for name, text in views.copies(wanted.sql, budget, url)] if answer else [],
            "mended": Lines(seen.refusal.mended) if seen.refusal else "",
        }  # fmt: skip
        return self.frame.page("ask.html", status, visit.nonce, who=visit.who, at="ask", **facts)

    # --- answers -----------------------------------------------------------------------------------------------------------------

    async def answer(self, visit: Visit) -> Response:
        """An answer that was paid for, at its own address; for free, as often as one likes."""
        entry = int(visit.request.path_params["entry"])
        history = await visit.facts("history", last=1, before=entry + 1)
        own = next((each for each in history["entries"] if each["entry"] == entry and each["kind"] == "spend"), None)
        reply = await visit.call("answer", entry=entry)
        if own is None:
            raise Problem(reply)
        epsilon = (
            views.amount(own["price"]["epsilon"], 12) if own["price"]["epsilon"] else _first_epsilon(await visit.facts("budget"))
        )
        wanted = Wanted(own["question"], "epsilon", epsilon.replace(",", ""))
        if reply.status == 404:  # paid for, and not finished
            return await self.form(visit, wanted, await self._seen(visit, wanted), 404, failed=True)
        if reply.status != 200:
            raise Problem(reply)
        offers = await visit.facts("offered")
        title = next((each["title"] for each in offers["offers"] if each["entry"] == entry), None)
        more = {"answer": json.loads(reply.body), "entry": entry, "offered": title, "paid_at": views.moment(own["at"])}
        return await self.form(visit, wanted, await self._seen(visit, wanted), **more)

    async def download(self, visit: Visit, form: str) -> Response:
        """An answer as a file; the picture is shown in the page too."""
        entry = int(visit.request.path_params["entry"])
        reply = await visit.call("answer", entry=entry, form=form)
        if reply.status != 200:
            raise Problem(reply)
        headers = {
            "content-type": reply.media,
            "cache-control": "no-store",
            "content-security-policy": "default-src 'none'; sandbox",
        }
        if "show" not in visit.request.query_params or form != "svg":
            headers["content-disposition"] = f'attachment; filename="answer-{entry}.{DOWNLOADS[form]}"'
        return Response(reply.body, 200, headers)

    async def certificate(self, visit: Visit) -> Response:
        """The certificate of an answer, line by line."""
        entry = int(visit.request.path_params["entry"])
        shown = await visit.facts("certified", entry=entry)
        return self.frame.page("certificate.html", who=visit.who, at="ask", entry=entry, **shown)

    async def keys(self, visit: Visit) -> Response:
        """The public keys as a file; for every role."""
        reply = await visit.call("keys")
        if reply.status != 200:
            raise Problem(reply)
        headers = {"content-type": "application/json", "content-disposition": 'attachment; filename="keys.json"'}
        return Response(reply.body, 200, headers | {"cache-control": "no-store"})

    async def offer(self, visit: Visit) -> Response:
        """Offer an answer for publication, or take the offer back."""
        given, entry = await form_of(visit.request), int(visit.request.path_params["entry"])
        await visit.facts("offer", entry=entry, title=given.get("title", "")[:200], withdraw=given.get("action") == "withdraw")
        return RedirectResponse(f"/answers/{entry}", 303, {"cache-control": "no-store"})

    # --- the catalog, the history and the budget ---------------------------------------------------------------------------------

    async def catalog(self, visit: Visit) -> Response:
        """The declarations, as a diagram and as tables; for every role."""
        catalog = await visit.facts("catalog")
        facts: dict[str, Any] = {"diagram": views.diagram_of(catalog["tables"]), "facts_of": views.facts_of, "catalog": catalog}
        return self.frame.page("catalog.html", who=visit.who, at="catalog", amount=views.amount, sql_name=views.sql_name, **facts)

    async def history(self, visit: Visit) -> Response:
        """Own questions, the latest first."""
        before = visit.request.query_params.get("before", "")
        more = {"before": int(before)} if re.fullmatch(r"[0-9]{1,15}", before) else {}
        page = await visit.facts("history", last=50, **more)
        failed = {each["about"] for each in page["entries"] if each["kind"] == "failure"}
        facts: dict[str, Any] = {
            "entries": page["entries"],
            "before": page["before"],
            "failed": failed,
            "moment": views.moment,
            "amount": views.amount,
        }
        return self.frame.page("history.html", who=visit.who, at="history", **facts)

    async def show_waiting(self, visit: Visit) -> Response:
        """Own questions that wait for a curator, and what became of them."""
        seen = await visit.facts("waiting")
        return self.frame.page("waiting.html", who=visit.who, at="waiting_nav", questions=seen["questions"], moment=views.moment)

    async def withdraw(self, visit: Visit) -> Response:
        """One of them waits no longer; one that was decided meanwhile is shown as it is."""
        given = await form_of(visit.request)
        reply = await visit.call("withdraw", number=int(given.get("number", "")))
        if reply.status in (403, 429, 503):
            raise Problem(reply)
        return RedirectResponse("/waiting", 303, {"cache-control": "no-store"})

    async def budget(self, visit: Visit) -> Response:
        """The remaining budget, and how it was spent."""
        budget, page = await visit.facts("budget"), await visit.facts("history", last=200)
        own, whole = budget["analyst"], budget["data_set"]
        left = Fraction(own["left"]["epsilon"])
        gauges = [views.gauge_of(self.texts["your_budget"], (own["cap"] or whole["cap"])["epsilon"], own["left"]["epsilon"])]
        gauges.append(views.gauge_of(self.texts["whole_budget"], whole["cap"]["epsilon"], whole["left"]["epsilon"]))
        points = views.over_time(page["entries"])
        room = [(views.amount(each), f"{floor(left / each):,}") for each in (Fraction(1, 100), Fraction(1, 10), Fraction(1))]
        cap = (own["cap"] or whole["cap"])["epsilon"]
        periods = [
            (views.gauge_of(each["periods"], cap, each["left"]["epsilon"]), each["questions"]) for each in budget.get("periods", ())
        ]
        facts: dict[str, Any] = {"gauges": gauges, "points": points, "path": views.stairs(points), "room": room, "budget": budget}
        facts |= {"periods": periods[::-1]}
        return self.frame.page("budget.html", who=visit.who, at="budget", amount=views.amount, **facts)


def _first_epsilon(budget: dict[str, Any]) -> str:
    """A small price that the analyst may pay."""
    most = budget["analyst"]["epsilon_per_query"]
    return decimal_text(min(FIRST_EPSILON, Fraction(most))) if most else decimal_text(FIRST_EPSILON)


def completions(tables: list[dict[str, Any]]) -> str:
    """The tables with their columns, for the editor, as JSON."""
    return json.dumps({each["name"]: [column["name"] for column in each["columns"]] for each in tables}, ensure_ascii=True)
