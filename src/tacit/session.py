"""The whole process on one screen: a query becomes a plan, a quote, a ledger entry, sealed integers, and an answer.

The store and the ledger are opened in `data_set.py`, which also has the data owner's actions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.by_period import StandingInPeriods
from tacit.accounting.ledger.caps import Standing, at_most
from tacit.accounting.ledger.selling import Bearer, Granted, Sale
from tacit.data.catalog import read_catalog, stamp_of
from tacit.data.store import swept
from tacit.data_set import Opened
from tacit.errors import InvalidInput, TacitError
from tacit.privacy.arguments import text_of, truth_of, whole_of
from tacit.privacy.catalog import analyst_name
from tacit.privacy.periods import named
from tacit.privacy.rounding import Number
from tacit.query.free import free_columns, may_select_from_answers
from tacit.query.language.margins import in_intervals, margins_sql, of_plain_margins
from tacit.query.language.nodes import Parameters, given
from tacit.query.language.sql import Written, check_text, explained_text, is_list, pointing, read
from tacit.query.language.syntax import Select, Statement
from tacit.query.language.writer import written
from tacit.query.offers import Asker, Offer, Paying, Seen, asked_by_place, explained, free_explanation, offered, share_of, stated_in
from tacit.query.parameters import completed, named_types, parameters_of
from tacit.query.price.quote import Quote, Request, or_one, request_of, weights_comment
from tacit.release.answer import NO_QUANTILE, Answer, Later, Receipt, record_for_all, recorded, with_names
from tacit.release.elsewhere.packed import parts_text
from tacit.release.noisy import Paid
from tacit.release.once import Form, Sold, all_once, once, one_exit
from tacit.release.tabulate import answer, answer_without_rows, free_answer, labels_of

if TYPE_CHECKING:
    from tacit.accounting.filter import Left
    from tacit.query.answers.plan import Derivation
    from tacit.query.intervals.bands import Noisy
    from tacit.query.language.frame import Frame
    from tacit.query.price.explanation import Explanation
    from tacit.release.answers import Answers
    from tacit.release.bounds import BoundsProposal
    from tacit.release.certificates.certificate import Certificate
    from tacit.release.implied import Implied
    from tacit.release.stream import Explained

BIASES = "error bars cover the noise; what limits of rows, bounds and unknown values leave out is not in them"
MOST_ENTRIES = 1_000_000
MOST_SHOWN = 10**6  # cells of margins
KEPT = Form(record_for_all, recorded)


class Session:
    """One analyst's questions. Every answer is paid for from the one budget of the data set."""

    def __init__(self, data: DataSet, analyst: str, clock: Callable[[], datetime] | None = None, request: str = "") -> None:
        self.data, self.analyst, self.clock = data, analyst, clock or partial(datetime.now, UTC)
        self.request = request  # what the ledger is told of a request that must not be paid for twice
        self.resumes = False
        self._bearer: Bearer | None = None

    def for_request(self, request: str, resumes: bool = False) -> Session:
        """The same session for one request of a door, which its entry names; it `resumes` one that ended and showed nothing."""
        session = Session(self.data, self.analyst, self.clock, request).with_tokens(self._bearer)
        session.resumes = resumes
        return session

    def with_tokens(self, bearer: Bearer | None) -> Session:
        """The same session, whose questions are also charged to the narrow tokens that a door was shown."""
        session = Session(self.data, self.analyst, self.clock, self.request)
        session._bearer = bearer
        return session

    @property
    def kept(self) -> Path:
        """The folder of the data owner's log of unforeseen failures."""
        return self.data.catalog.kept

    @one_exit
    def sql(self, question: str, *, params: Parameters = None, **budget: Any) -> Answer:
        """The answer to SQL: `epsilon=` (and `delta=`), or `error=` with `confidence=`; a budget written in the SQL counts.

        `params` has the values of `?`, `$1` and `:name`; they are literals of the question, and recorded as such. A question of
        public tables or the catalog alone is free, and so is what follows from answers that this analyst has paid for, at least as
        exactly (`fresh=True` pays for new numbers). With `tidy=True` counts are whole, not negative, and agree with their totals.
        """
        with pointing(question):
            if (select := explained_text(question)) is not None:
                return self._lines_explained(select, params, budget)
            asked = self._read(question, params)
            text = check_text(written(asked.statement)) if asked.filled and isinstance(asked.statement, Select) else question
            return self._answer_to(asked.statement, budget, text)

    def _lines_explained(self, select: str, params: Parameters, budget: Mapping[str, Any]) -> Answer:
        """EXPLAIN SELECT ...: the lines of its explanation as rows, which are free."""
        given = {name: value for name, value in budget.items() if name not in ("tidy", "fresh")}
        return free_answer((("explanation", tuple(str(self.explain(select, params=params, **given)).splitlines())),))

    def _read(self, question: str, params: Parameters) -> Written:
        """The statement of a text; without parameters, it follows from the text and the date."""
        today = self._today()
        if params is not None or not isinstance(question, str):
            return read(question, given(params, today))
        return self.data.remembered.of(question, ("read", self.analyst, today), lambda: read(question, given(None, today)))

    def _answer_to(self, asked: Statement, budget: Mapping[str, Any], text: str | None = None) -> Answer:
        self.data.refresh()
        if (columns := free_columns(asked, self.data.catalog, lambda: self.data.public)) is not None:
            return free_answer(columns)
        assert isinstance(asked, Select)  # noqa: S101  # all else is free
        if may_select_from_answers(asked) and (derivation := self._derivation(asked)) is not None:
            return self._derived(derivation, asked, budget, text)
        tidy, fresh = (truth_of(budget.get(name, False), name) for name in ("tidy", "fresh"))
        priced = {name: value for name, value in budget.items() if name not in ("tidy", "fresh")}
        if asked.limit == 0:
            wanted = request_of(asked.options, or_one(asked.options, priced))
            return answer_without_rows(asked, wanted, self.data.as_prepared, self.data.public)
        answer = self.answer(asked, request_of(asked.options, priced), text, fresh)
        return answer.tidy() if tidy else answer

    def _derivation(self, asked: Select) -> Derivation | None:
        """The plan of a SELECT from answers; None for a question by itself."""
        from tacit.query.answers.levels import derivation_of

        return derivation_of(asked, self.data.as_prepared, self.data.public)

    def _derived(self, derivation: Derivation, asked: Select, budget: Mapping[str, Any], text: str | None) -> Answer:
        """The answer to a SELECT from answers: its questions share the budget, and are admitted in one transaction."""
        from tacit.release.derived import Deriving, derived_answer, empty_answer, together

        tidy = truth_of(budget.get("tidy", False), "tidy")
        priced = {name: each for name, each in budget.items() if name not in ("tidy", "fresh")}
        if asked.limit == 0:
            return empty_answer(derivation, request_of(asked.options, or_one(asked.options, priced)))
        wanted = request_of(asked.options, priced)
        share = share_of(wanted, derivation)
        released, receipt = together(self._parts_sold(derivation, share), self.data.version)
        answer = derived_answer(derivation, Deriving(released, wanted), receipt)
        answer = replace(answer, asked=text or "", certified=Later(self.certificate))
        return answer.tidy() if tidy else answer

    def _parts_sold(self, derivation: Derivation, share: Request) -> list[tuple[Offer, Sale, Sold[Answer]]]:
        """The questions of a statement, all admitted or none, with the entries that this analyst paid for them."""
        data, number = self.data, len(derivation.questions)
        data.runner.start()
        texts = [written(select) for select in derivation.questions]
        offers = [self._offer(select, share, text) for select, text in zip(derivation.questions, texts, strict=True)]
        till = replace(data.till, ready=partial(data.runner.open, *(offer.question for offer in offers)))
        try:
            asked = zip(offers, texts, strict=True)
            sales = [till.under(self.sale(offers, offer, share, text, number), offer.older) for offer, text in asked]

            def run(place: int, granted: Granted) -> Answer:
                data.runner.open()  # again: a question before it may have ended the process that answers
                return self._release(offers[place], granted, texts[place])

            return list(zip(offers, sales, all_once(till, sales, run, KEPT), strict=True))
        finally:
            data.runner.free()

    def sale(self, statement: Sequence[Offer], offer: Offer, asked: Request, text: str, among: int = 0) -> Sale:
        """The sale of a question of a statement: its price, and who pays."""
        question = text + weights_comment(asked)
        sale = Sale(offer.events, self.analyst, question, offer.version, offer.key, offer.tables, self.request)
        stated = stated_in(statement) if self.data.ledger.caps.is_limited(self.analyst) else None
        sale = replace(sale, charge=offer.charge, among=among, resumes=self.resumes, stated=stated)
        if self._bearer is not None:
            sale = replace(sale, bearer=replace(self._bearer, asked=tuple(quote.epsilon for quote in offer.quotes)))
        return sale

    def margins(
        self, table: str, columns: Sequence[str], *, ways: int = 2, sums: Sequence[str] = (), where: str = "", **budget: Any
    ) -> Answer:
        """Counts (and `sums`) by every set of at most `ways` of the columns: one question, whose noise is shaped to all of them.

        `loss` is "squares" (the default: the squared errors of all cells together) or "largest". A row has NULL in the columns
        that its set does not have. Totals agree with their parts, and the whole has one price. A column of numbers or dates may be
        in intervals of several widths, "age:5/10"; along `prefixes`, a list of such columns, counts are cumulative.
        """
        if in_intervals(columns, budget):
            from tacit.release.ranges import margins_in_intervals

            return margins_in_intervals(self, self._offer, (table, columns, ways, sums, where), {"groups": MOST_SHOWN, **budget})
        return self.sql(
            margins_sql(table, columns, ways, sums, where), **{"loss": "squares", "groups": MOST_SHOWN, **of_plain_margins(budget)}
        )

    def explain_margins(
        self, table: str, columns: Sequence[str], *, ways: int = 2, sums: Sequence[str] = (), where: str = "", **budget: Any
    ) -> Explanation:
        """The cost and the error of every margin, for epsilon 1 by default. Spends nothing and opens no private data."""
        if in_intervals(columns, budget):
            from tacit.release.ranges import explained_in_intervals

            return explained_in_intervals(self, (table, columns, ways, sums, where), budget)
        return self.explain(margins_sql(table, columns, ways, sums, where), **{"loss": "squares", **of_plain_margins(budget)})

    @one_exit
    def ask(self, questions: str | Sequence[str], *, params: Parameters = None, **budget: Any) -> Answers:
        """The answers to several questions at one price: one entry of the ledger, all of them or none.

        `questions` are texts, or one text with a semicolon after each. Numbers that agree share measurements; `loss` says
        which error is made small, "squares" of all numbers or the "largest". One question that is refused refuses the list.
        """
        from tacit.query.listed import checked_list, request_of_list, text_of_list

        tidy, priced = truth_of(budget.pop("tidy", False), "tidy"), budget
        with text_of_list(questions) as text:
            self.data.refresh()
            parameters = given(params, self._today())
            select, shown = checked_list(questions, text, parameters, self.data.catalog, lambda: self.data.public)
            answers = self._answers(select, request_of_list(priced), shown)
        return answers.tidy() if tidy else answers

    def _answers(self, select: Select, asked: Request, text: str) -> Answers:
        """The answers to a list that was checked."""
        from tacit.release.answers import KEPT_LIST, Answers, answers_of, named_answers, names_of

        if not select.also:
            alone = self.answer(select, asked, text)
            return Answers((alone,), alone.receipt, alone.certified)
        offer = self._offer(select, asked, text)
        sold = self._sold(offer, asked, text, lambda *paid: answers_of(self._run(*paid)), KEPT_LIST)
        certified = Later(partial(self.data.certified, analyst=self.analyst, quote=offer.quotes[sold.offer], sold=sold))
        named = named_answers(sold.value, names_of(offer.question, select))
        return named.with_receipt(self._receipt(sold.value.receipt, sold, offer), certified)

    def _sold(
        self, offer: Offer, asked: Request, text: str, run: Callable[[Offer, Granted, str], Any], form: Form[Any]
    ) -> Sold[Any]:
        """A released value for a plan: paid for, then run; or the one that was released for it before."""
        self.data.runner.start()
        sale = self.sale([offer], offer, asked, text)
        till = replace(self.data.till, ready=partial(self.data.runner.open, offer.question))
        try:
            sale = till.under(sale, offer.older)
            return once(till, sale, lambda granted: run(offer, granted, text), form)
        finally:
            self.data.runner.free()

    @one_exit
    def answer(self, select: Select, asked: Request, text: str | None = None, fresh: bool = False) -> Answer:
        """Answer one query within `asked`; the ledger records the cost, with the query as SQL, before any data is read."""
        self.data.refresh()
        text = written(select) if text is None else text
        offer = self._offer(select, asked, text)
        without = [NO_QUANTILE] if offer.without_rank else []
        if not fresh and (implied := self._implied(offer)) is not None and implied.is_free:
            left = self.data.ledger.left(self.analyst, offer.charge)
            return replace(implied.answer(left, offer, [BIASES, *without]), asked=text, certified=Later(self.certificate))
        sold = self._sold(offer, asked, text, self._release, KEPT)
        names = [output.name for output in offer.question.outputs]
        notes = dict.fromkeys((*sold.value.notes, *without))
        certified = Later(partial(self.data.certified, analyst=self.analyst, quote=offer.quotes[sold.offer], sold=sold))
        receipt = self._receipt(sold.value.receipt, sold, offer)
        released = replace(sold.value, receipt=receipt, notes=tuple(notes), asked=text, certified=certified, requested=None)
        return with_names(released, names, labels_of(offer.question))

    def _implied(self, offer: Offer) -> Implied | None:
        """The answer that this analyst's entries imply to a question that they do not have; by the plan and those entries alone."""
        calls = {call.name for part in offer.question.parts for call in part.calls}
        if not calls <= {"count", "sum"} or not self.data.has_ledger or not self.data.ledger.paid_entries(self.analyst, 1):
            return None
        from tacit.release.implied import implied_unless_paid

        return implied_unless_paid(self.data, offer, self.analyst)

    @one_exit
    def stream(self, question: str, *, through: str, horizon: int, **budget: Any) -> Answer:
        """The answer to SQL with `:last`, up to a period: one more measurement for each that was not read before."""
        from tacit.release.stream import asked_for, stream_answer

        return stream_answer(self, asked_for(question, through, horizon, budget), lambda of, *more: self.sale([of], of, *more))

    @one_exit
    def explain_stream(self, question: str, *, through: str, horizon: int, **budget: Any) -> Explained:
        """The price of a stream for each period and for a whole person, and its errors. Spends nothing and reads no rows."""
        from tacit.release.stream import asked_for, explanation

        return explanation(self, asked_for(question, through, horizon, budget))

    @one_exit
    def is_paid(self, question: str, *, params: Parameters = None, **budget: Any) -> bool:
        """Whether this analyst has paid for the answer, which is then free; another analyst's answer makes no difference."""
        offers = [offer for offer, *_ in self.questions_in(question, params, budget)]
        if len(offers) == 1 and (implied := self._implied(offers[0])) is not None and implied.is_free:
            return True
        return bool(offers) and all(self.data.ledger.is_paid((offer.key, *offer.older), self.analyst) for offer in offers)

    def questions_in(self, question: str | Sequence[str], params: Parameters, budget: Mapping[str, Any]) -> list[Paying]:
        """The questions that a statement pays for, each with its offers, its budget and its text; none if it is free."""
        if not isinstance(question, str):
            from tacit.query.listed import checked_list, request_of_list, text_of_list

            wanted, values = request_of_list(budget), given(params, self._today())
            with text_of_list(question) as text:
                select, shown = checked_list(question, text, values, self.data.catalog, lambda: self.data.public)
                return [(self._offer(select, wanted, shown), wanted, shown)]
        with pointing(question):
            if explained_text(question) is not None:
                return []
            asked = self._read(question, params).statement
            if not isinstance(asked, Select) or asked.limit == 0:
                return []
            if free_columns(asked, self.data.catalog, lambda: self.data.public) is not None:
                return []
            wanted, texts = request_of(asked.options, budget), {question: asked}
            if may_select_from_answers(asked) and (derivation := self._derivation(asked)) is not None:
                wanted, texts = share_of(wanted, derivation), {written(each): each for each in derivation.questions}
            return [(self._offer(each, wanted, text), wanted, text) for text, each in texts.items()]

    def _offer(self, select: Select, asked: Request, text: str) -> Offer:
        """The quotes for the question that a text asks; remembered by all that they follow from."""
        remembered = self.data.remembered  # read before the catalog: what an older one says is never put into a newer memory
        version, public, catalog = self.data.version, self.data.public, self.data.as_prepared
        key = ("offer", self.analyst, asked, version)
        return remembered.of(text, key, lambda: offered(select, asked, catalog, public, version))

    def _run(self, offer: Offer, granted: Granted, text: str) -> tuple[Quote, Noisy, Receipt, list[str]]:
        """The released numbers of a quote, and what else an answer is made of."""
        quote = offer.quotes[granted.offer]
        return quote, self.data.runner.noisy(quote, Paid(text, granted.entry.number)), Receipt(quote.epsilon, quote.delta), [BIASES]

    def _release(self, offer: Offer, granted: Granted, text: str) -> Answer:
        quote, noisy, receipt, notes = self._run(offer, granted, text)
        made = answer(quote, noisy, receipt, notes)
        return replace(made, parts=parts_text(quote, noisy, offer.version), requested=asked_by_place(quote))

    def _receipt(self, paid: Receipt, sold: Sold[Any], offer: Offer) -> Receipt:
        """The price at which the answer was released, whatever the question would cost now, and the remaining budget."""
        left = sold.left
        made = Receipt(paid.epsilon, paid.delta, left.epsilon, left.delta, sold.entry, offer.version, sold.repeated)
        per = self.data.catalog.per
        return made if per is None or offer.charge is None else replace(made, periods=named(offer.charge.runs, per.calendar))

    @one_exit
    def explain(self, question: str | Select | Sequence[str], *, params: Parameters = None, **budget: Any) -> Explanation:
        """The cost, the error and the columns of the answer. Spends nothing and opens no private data.

        Prices epsilon 1 by default, or each of at most 20 `epsilons`. `group_rows` is a size of groups that you assume, for the
        errors of averages and variances. A parameter without a value is explained with a declared one, if it is compared with a
        column. A list of questions is explained as `ask` would answer it.
        """
        if not isinstance(question, Select) and (not isinstance(question, str) or is_list(question)):
            from tacit.query.listed import explained_texts

            asker = Asker(self.analyst, self.data.as_prepared, lambda: self.data.public_if_prepared, None)
            return explained_texts(question, given(params, self._today()), budget, asker, self._ledger_view)
        with pointing(question):
            if (select := explained_text(question)) is not None:
                return free_explanation(self._lines_explained(select, params, budget).flat(), self._ledger_view().left)
            parameters = parameters_of(question, self.data.catalog, self._today())
            values, lines = completed(parameters, params)
            asked = question if isinstance(question, Select) else self._read(question, values).statement
            remembered = self.data.remembered  # read before the catalog, as in _offer
            short = remembered if isinstance(question, str) and remembered.keeps(question) else None
            asker = Asker(self.analyst, self.data.as_prepared, lambda: self.data.public_if_prepared, short)
            explanation = explained(asked, budget, asker, self._ledger_view)
            if self.data.has_ledger and self.data.ledger.paid_entries(self.analyst, 1):
                from tacit.release.implied import with_words

                explanation = with_words(explanation, self.data, lambda *of: self._implied(self._offer(*of)), asked, budget)
            return replace(explanation, tree=(*lines, *explanation.tree), parameters=named_types(parameters, params))

    def _ledger_view(self) -> Seen:
        """The ledger as this analyst may see it; before it begins, nothing is spent and nothing is promised."""
        if not self.data.has_ledger:
            from tacit.query.price.planned import NO_LEDGER

            return NO_LEDGER
        return self._seen(self.data.ledger.standing(self.analyst))

    def _seen(self, now: Standing) -> Seen:
        door = self.data.door
        standing = door.seen(now)
        left = self.within_tokens(door.balance(standing))
        within = (lambda runs: self._seen(now.within(runs))) if isinstance(now, StandingInPeriods) else None
        words = f"remaining: epsilon {at_most(left.epsilon)}, delta {at_most(left.delta)}"
        return Seen(standing.admitted, door.remaining(), words, within, left)

    def within_tokens(self, left: Left) -> Left:
        """The remaining budget, under the limits of the narrow tokens too."""
        rest = None if self._bearer is None or not self._bearer.path else self.data.ledger.token_left(self.analyst, self._bearer)
        return left if rest is None else replace(left, epsilon=min(left.epsilon, rest))

    def questions_left(self, epsilon: Number, delta: Number = 0) -> int:
        """How many further questions of `epsilon` (and `delta`) this analyst may ask, if no other analyst asks any."""
        return self.data.questions_left(epsilon, delta, self.analyst)

    def budget(self) -> dict[str, Any]:
        """The analyst's caps, what was spent and what remains; budgets are exact texts."""
        from tacit.accounting.ledger.statement import Shown, budget_statement

        ledger, door = self.data.ledger, self.data.door
        seen = door.seen(ledger.standing(self.analyst))
        periods = seen.each(door.balance) if isinstance(seen, StandingInPeriods) else None
        shown = Shown(self.within_tokens(door.balance(seen)), door.shared(seen), door.shown(), periods)
        return budget_statement(ledger, self.analyst, shown, self._bearer)

    def history(self, last: int = 20) -> list[dict[str, Any]]:
        """The latest entries of this analyst, the newest first."""
        from tacit.accounting.ledger.statement import whole_history

        return whole_history(self.data.ledger, self.analyst, whole_of(last, "last", 1, MOST_ENTRIES))

    @one_exit
    def certificate(self, entry: int) -> Certificate:
        """The certificate of an answer that this analyst has paid for, by its entry in the ledger."""
        return self.data.certified(whole_of(entry, "entry", 0, MOST_ENTRIES), self.analyst)

    def tables(self) -> list[dict[str, Any]]:
        """The declarations of each table: columns, units and limits."""
        from tacit.query.declared import declared_tables

        self.data.refresh()
        return declared_tables(self.data.catalog, self.data.public)

    def __repr__(self) -> str:
        return f"Session({self.analyst!r})"

    def _repr_html_(self) -> str:
        from tacit.query.declared import tables_for_html

        return tables_for_html(f"{self!r}: ask with .sql(..., epsilon=0.1), price with .explain(...)", self.tables())

    def table(self, name: str) -> Frame[Answer]:
        """The same queries built step by step in Python: where, join, group_by, agg, then release."""
        from tacit.query.language.frame import start

        return start(name, lambda select, **budget: self._answer_to(select, budget), self.explain, given(None, self._today()))

    def _today(self) -> date:
        """Today's date in UTC, by the clock of this session."""
        return self.clock().astimezone(UTC).date()


class DataSet(Opened):
    """A catalog with its prepared data and its ledger, and the sessions of its analysts."""

    def propose_bounds(self, column: str, epsilon: Number, *, analyst: str | None = None, periods: str = "") -> BoundsProposal:
        """Bounds of `table.column`, proposed privately for the data owner; spends epsilon, also where none are found.

        `analyst` is whose budget pays; required if the catalog declares several. `periods` names those that are read and pay.
        """
        from tacit.query.price.price import request
        from tacit.release.bounds import propose_bounds

        paying, budget = Sale((), self.session(analyst).analyst, "", self.source_version), request(epsilon, 0).epsilon or 0
        return propose_bounds(self.source_till, self.as_prepared, text_of(column, "column"), budget, paying, periods or None)

    def certified(self, entry: int, analyst: str, quote: Quote | None = None, sold: Sold[Any] | None = None) -> Certificate:
        """The certificate of an analyst's entry; `quote` is what was run, where it is known, and `sold` what was released."""
        from tacit.release.certificates.answers import certified, certified_at_once

        self.refresh()
        if quote is None or sold is None or sold.kept is None:
            return certified(self, entry, analyst, quote)
        return certified_at_once(self, sold.kept, quote, sold.value)

    def certificate(self, entry: int, *, auditor: bool = False) -> Certificate:
        """The certificate of any paid entry; for an auditor with its place in the ledger and the sums of the data set."""
        from tacit.release.certificates.answers import of_entry

        self.refresh()
        return of_entry(self, whole_of(entry, "entry", 0, MOST_ENTRIES), truth_of(auditor, "auditor"))

    def session(self, analyst: str | None = None) -> Session:
        """The session of one analyst: the named one, else the only one declared, else "curator"."""
        declared = sorted(self.catalog.analysts)
        wanted = None if analyst is None else analyst_name(text_of(analyst, "analyst"))
        name = wanted or (declared[0] if len(declared) == 1 else None) or (None if declared else "curator")
        if name is None or (declared and name not in declared):
            raise InvalidInput(f"missing analyst; the catalog declares: {', '.join(declared)}")
        return Session(self, name)

    def __repr__(self) -> str:
        return f"DataSet({str(self.catalog.path)!r})"

    def _repr_html_(self) -> str | None:
        from tacit.query.declared import declared_tables, tables_for_html

        try:
            return tables_for_html(f"{self!r}: ask with .session(ANALYST)", declared_tables(self.catalog, self.public))
        except TacitError:  # not prepared yet, so that no public table can be described
            return None


def open(path: str | Path = "tacit.toml", own_process: bool | None = None) -> DataSet:  # noqa: A001  # read as tacit.open
    """The data set that a catalog declares; with `own_process=False`, queries run in this process, where nothing can end them."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidInput(f"the catalog must be a path, not {type(path).__name__}; give for example 'tacit.toml'")
    read_at = stamp_of(Path(path))
    return DataSet(swept(read_catalog(Path(path))), own_process, read_at)
