"""The pages of the data owner and of the auditor, and the page that publishes answers.

A session cannot issue tokens: to invite an analyst, the data owner types their own token once more, and it is used for that request
alone. So a stolen session makes no account. Nothing here shows an answer that its analyst has not offered.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from starlette.responses import RedirectResponse, Response

from tacit.doors.server.calls import Reply
from tacit.doors.server.models import AMOUNT
from tacit.doors.server.pages import views
from tacit.doors.server.pages.frame import Frame
from tacit.doors.server.pages.sessions import Problem, Visit, fields_of, form_of
from tacit.doors.server.settings import Settings

PAGE = 100  # entries of the ledger
AT_ONCE = 20_000  # entries that are verified when the page is opened; beyond that, a button does
WHOLE = re.compile(r"[0-9]{1,15}")
DONE = {"cache-control": "no-store"}


class Offices:
    """The pages of curators and auditors."""

    def __init__(self, frame: Frame, settings: Settings) -> None:
        self.frame, self.settings, self.texts = frame, settings, frame.texts

    # --- the data owner ----------------------------------------------------------------------------------------------------------

    async def owner(self, visit: Visit, status: int = 200, **more: Any) -> Response:
        """The remaining budget, the questions of today, failures, and the accounts."""
        seen, accounts, caps = await visit.facts("overview"), await visit.facts("accounts"), await visit.facts("caps")
        day = datetime.fromisoformat(seen["now"]) - timedelta(hours=24)
        asked = [each for each in seen["entries"] if each["kind"] in ("spend", "recall")]
        today = [each for each in asked if datetime.fromisoformat(each["at"]) >= day]
        failures = [each for each in seen["entries"] if each["kind"] == "failure"][: seen["failures"]]
        gauges = [
            views.gauge_of(each["name"], each["cap"], str(Fraction(each["cap"]) - Fraction(each["spent"] or 0)))
            for each in seen["analysts"]
        ]
        lifetime = seen.get("lifetime")
        facts = {
            "lifetime": lifetime and views.gauge_of(self.texts["lifetime"], lifetime["cap"], lifetime["left"]),
            "seen": seen, "today": today, "failures": failures, "gauges": sorted(gauges, key=lambda each: -each.percent),
            "whole": views.gauge_of(self.texts["whole_budget"], seen["cap"]["epsilon"], seen["left"]),
            "periods": [views.gauge_of(each["periods"], seen["cap"]["epsilon"], each["left"]) for each in seen.get("periods", ())],
            "accounts": accounts["accounts"], "caps": {each["name"]: each for each in caps["caps"]},
            "url": f"{self.settings.scheme}://{visit.request.headers['host']}", "moment": views.moment,
            "amount": views.amount, "session": visit.who["number"],
        }  # fmt: skip
        shown = {"issued": None, "wrong": "", "said": "", **more}
        return self.frame.page("owner.html", status, who=visit.who, at="owner", **facts, **shown)

    async def invite(self, visit: Visit) -> Response:
        """A new account, with the token that was typed for it; the new token is shown this once."""
        given = await form_of(visit.request)
        name, role, days, cap = (given.get(each, "").strip() for each in ("name", "role", "days", "cap"))
        if not WHOLE.fullmatch(days) or (cap and not re.fullmatch(AMOUNT, cap)):
            return await self.owner(visit, 422, wrong=self.texts["wrong_invitation"])
        wanted = {"name": name, "role": role, "days": int(days)}
        reply = await visit.asks.reply("add_account", given.get("token", "").strip(), wanted, visit.request)
        content = json.loads(reply.body)
        if reply.status != 200:
            wrong = self.texts["wrong_confirmation"] if reply.status in (401, 403) else content["error"]["message"]
            return await self.owner(visit, 403 if reply.status == 401 else reply.status, wrong=wrong)
        wrong = ""
        if cap and role == "analyst":
            lowered = await visit.call("set_caps", name=name, epsilon=cap)
            wrong = "" if lowered.status == 200 else json.loads(lowered.body)["error"]["message"]
        return await self.owner(visit, issued=content, wrong=wrong)

    async def revoke(self, visit: Visit) -> Response:
        """End a token of an account, or all of them."""
        given = await form_of(visit.request)
        numbers: dict[str, Any] = {each: int(given[each]) for each in ("number", "narrow") if each in given}
        return await self._done(visit, await visit.call("revoke", name=given.get("name", ""), **numbers))

    async def lower(self, visit: Visit) -> Response:
        """Lower the cap of an analyst, or return to that of the catalog."""
        given = await form_of(visit.request)
        cap = given.get("cap", "").strip()
        if cap and not re.fullmatch(AMOUNT, cap):
            return await self.owner(visit, 422, wrong=self.texts["no_amount"])
        return await self._done(
            visit, await visit.call("set_caps", name=given.get("name", ""), **({"epsilon": cap} if cap else {}))
        )

    async def resume(self, visit: Visit) -> Response:
        """Let questions go on after failures, for a reason that the ledger records."""
        given = await form_of(visit.request)
        return await self._done(visit, await visit.call("resume", reason=given.get("reason", "").strip()[:500]))

    async def _done(self, visit: Visit, reply: Reply) -> Response:
        if reply.status == 200:
            return RedirectResponse("/owner", 303, DONE)
        if reply.status in (403, 429, 503):
            raise Problem(reply)
        return await self.owner(visit, reply.status, wrong=json.loads(reply.body)["error"]["message"])

    # --- approvals ---------------------------------------------------------------------------------------------------------------

    async def approvals(self, visit: Visit) -> Response:
        """The questions that wait, and what was decided lately."""
        every = (await visit.facts("approvals"))["questions"]
        waiting = [each for each in every if each["state"] == "waiting"]
        ended = [each for each in every if each["state"] != "waiting"]
        facts: dict[str, Any] = {"open": waiting, "ended": ended, "wrong": "", "moment": views.moment}
        return self.frame.page("approvals.html", who=visit.who, at="approvals", **facts)

    async def approval(self, visit: Visit, status: int = 200, wrong: str = "", at: tuple[str, int] | None = None) -> Response:
        """One of them, with the derivation of its price."""
        name, number = at or (visit.request.path_params["name"], visit.request.path_params["number"])
        questions = (await visit.facts("approvals", name=name, number=number))["questions"]
        if not questions:
            return RedirectResponse("/approvals", 303, DONE)
        texts = [questions[0]["sql"]] if isinstance(questions[0]["sql"], str) else questions[0]["sql"]
        facts: dict[str, Any] = {"one": questions[0], "texts": texts, "wrong": wrong, "moment": views.moment}
        return self.frame.page("approval.html", status, who=visit.who, at="approvals", **facts)

    async def decide(self, visit: Visit) -> Response:
        """Approve, reduce or refuse a question."""
        given = await form_of(visit.request)
        name, number, decision = given.get("name", ""), int(given.get("number", "")), given.get("decision", "")
        most = given.get("epsilon", "").strip()
        if decision == "reduced" and not re.fullmatch(AMOUNT, most):
            return await self.approval(visit, 422, self.texts["no_amount"], (name, number))
        more = {"epsilon": most} if decision == "reduced" else {}
        told: dict[str, Any] = {
            "name": name,
            "number": number,
            "decision": decision,
            "reason": given.get("reason", "").strip()[:500],
        }
        reply = await visit.call("decide", **told, **more)
        if reply.status == 200:
            return RedirectResponse("/approvals", 303, DONE)
        if reply.status in (403, 429, 503):
            raise Problem(reply)
        return await self.approval(visit, reply.status, json.loads(reply.body)["error"]["message"], (name, number))

    # --- publishing --------------------------------------------------------------------------------------------------------------

    async def publish(self, visit: Visit, status: int = 200, wrong: str = "") -> Response:
        """The answers that analysts offer."""
        offers = await visit.facts("offers")
        return self.frame.page(
            "publish.html", status, who=visit.who, at="publish", offers=offers["offers"], wrong=wrong, moment=views.moment
        )

    async def published(self, visit: Visit) -> Response:
        """The page with the picked answers, as a file."""
        fields = await fields_of(visit.request)
        given, entries = dict(fields), [int(value) for name, value in fields if name == "entry" and WHOLE.fullmatch(value)]
        title = given.get("title", "").strip()[:200]
        if not entries or not title:
            return await self.publish(visit, 422, self.texts["nothing_picked"])
        reply = await visit.call("publish", entries=entries[:100], title=title, words=given.get("words", "")[:4000])
        if reply.status != 200:
            raise Problem(reply)
        headers = {"content-type": reply.media, "content-disposition": 'attachment; filename="published.html"', **DONE}
        return Response(reply.body, 200, headers | {"content-security-policy": "default-src 'none'; sandbox"})

    # --- the auditor -------------------------------------------------------------------------------------------------------------

    async def auditor(self, visit: Visit) -> Response:
        """The chain, verified; its head, its sums against the caps, and a page of entries."""
        head, first = await visit.facts("head"), visit.request.query_params.get("first", "")
        begin = int(first) if WHOLE.fullmatch(first) else max(0, head["number"] + 1 - PAGE)
        page = await visit.facts("ledger", first=begin, count=PAGE)
        verified = None
        if head["number"] < AT_ONCE or "verify" in visit.request.query_params:
            verified = await visit.facts("verification")
        catalog = await visit.facts("catalog")
        cap, spent = Fraction(catalog["budget"]["epsilon"]), Fraction(head["spent"]["epsilon"] or 0)
        facts = {
            "head": head, "verified": verified, "entries": page["entries"][::-1], "begin": begin, "page": PAGE,
            "gauge_whole": views.gauge_of(self.texts["whole_budget"], str(cap), str(cap - spent)), "moment": views.moment,
            "amount": views.amount, "plan_of": views.plan_of,
        }  # fmt: skip
        return self.frame.page("auditor.html", who=visit.who, at="auditor", **facts)

    async def head(self, visit: Visit) -> Response:
        """The signed head of the ledger as a file, to be kept elsewhere."""
        reply = await visit.call("take_head")
        if reply.status != 200:
            raise Problem(reply)
        headers = {"content-type": "application/json", "content-disposition": 'attachment; filename="ledger-head.json"', **DONE}
        return Response(reply.body, 200, headers)
