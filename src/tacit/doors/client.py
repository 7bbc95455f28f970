"""A session on a server: the same questions and the same `Answer`, over HTTPS.

    ana = tacit.connect("https://stats.example.org", token="tacit_...")
    ana.sql("SELECT COUNT(*) FROM visits", epsilon=0.5)

Every question has an Idempotency-Key of its own. If the connection is lost, the same request is sent again under the same key, and
is paid for once. A refusal is the same exception as that of a session on this machine.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit import errors
from tacit.doors.exact_form import MEDIA, answer_from, answers_from, check_answer, exact_number, is_list, table_from
from tacit.errors import InvalidInput, InvalidToken, Refused, StoreUnusable, TacitError
from tacit.mechanisms.noise import bits
from tacit.privacy.arguments import truth_of, whole_of
from tacit.privacy.rounding import decimal_text, exact
from tacit.query.price.quote import read_weights
from tacit.release.answer import Answer, Later
from tacit.release.certificates.certificate import Certificate, certificate_from

if TYPE_CHECKING:
    from tacit.query.language.frame import Frame
    from tacit.query.language.nodes import Parameters
    from tacit.query.price.explanation import AtBudget, Explanation, StreamPrice
    from tacit.release.answers import Answers

Made = TypeVar("Made")
MOST_REPLY = 80 * 2**20  # bytes: more than a server of tacit sends
WAIT = 660.0  # seconds for a reply: more than a question may take
PAUSES = (0.2, 1.0, 3.0)  # seconds before a request is sent again whose reply was lost
BUDGET = ("epsilon", "delta", "error", "confidence")
ARGUMENTS = (*BUDGET, "groups", "simultaneous")  # that a refusal of the server may name
REFUSALS = {kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Refused)}
NO_URL = "the server must be a URL such as https://stats.example.org"
NOT_UNDERSTOOD = "check the URL; if the server has a newer version, update tacit here"
LOCAL = ("http://localhost", "http://127.0.0.1", "http://[::1]")


def connect(url: str, token: str, *, ca: str | Path | None = None) -> Remote:
    """The session of a token's account on a server.

    `ca` is a file with the certificate to trust instead of those of this machine: that of an authority, or the server's own.
    """
    return Remote(url, token, ca)


@dataclass(frozen=True, slots=True)
class NarrowToken:
    """A new narrow token with its limits. Its text never appears in its repr, and the server does not show it again."""

    number: int
    token: str = field(repr=False)
    expires: str
    most: str | None
    operations: tuple[str, ...]


class Remote:
    """One analyst's questions to a server."""

    def __init__(
        self, url: str, token: str, ca: str | Path | None = None, *, transport: Any = None, pauses: Sequence[float] = PAUSES
    ) -> None:
        httpx = _httpx()
        self._pauses, self._ca, self._transport = pauses, ca, transport
        self._ends: tuple[Remote, int] | None = None  # the narrow token of this session, and the session that ends it
        address = checked_url(url)
        headers = {"Authorization": f"Bearer {_checked_token(token)}", "User-Agent": "tacit", "Accept-Encoding": "identity"}
        verify = _certificates(ca) if address.startswith("https://") else True
        self.url = address
        try:
            self._client = httpx.Client(
                base_url=address, headers=headers, timeout=WAIT, verify=verify, transport=transport, trust_env=False
            )
        except (httpx.InvalidURL, ValueError):
            raise InvalidInput(NO_URL) from None

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"  # never the token

    def _repr_html_(self) -> str | None:
        """The declared tables, by one free request; None, and so the plain text, if the server does not reply."""
        from tacit.query.declared import tables_for_html

        with suppress(TacitError), _in_words():
            return tables_for_html(f"{self!r}: ask with .sql(..., epsilon=0.1), price with .explain(...)", self.tables())
        return None

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the narrow token of a session that made one ends."""
        self._client.close()
        if self._ends is not None:
            (parent, number), self._ends = self._ends, None
            with suppress(TacitError):  # it ends by itself, and its text is forgotten here
                parent.revoke(number)
            parent.close()

    # --- questions -----------------------------------------------------------------------------------------------------------

    def sql(
        self, question: str, *, params: Parameters = None, groups: int | None = None, tidy: bool = False, **budget: Any
    ) -> Answer:
        """The answer to SQL: `epsilon=` (and `delta=`), or `error=` with `confidence=`; a budget written in the SQL counts.

        With `tidy`, the released numbers are made tidy here, as `Answer.tidy` does.
        """
        asked = {**_request(question, params, budget), **({} if groups is None else {"groups": groups})}
        key = bits.random_bytes(24).hex()
        answer = self._answer_from(self._send("POST", "/v1/questions", asked, {"Accept": MEDIA, "Idempotency-Key": key}))
        return answer.tidy() if truth_of(tidy, "tidy") else answer

    def ask(self, questions: str | Sequence[str], *, params: Parameters = None, tidy: bool = False, **more: Any) -> Answers:
        """The answers to several questions at one price: one entry of the ledger, all of them or none; sent under one key."""
        groups = more.pop("groups", None)
        asked = _request([questions] if isinstance(questions, str) else questions, params, more)
        asked |= {} if groups is None else {"groups": groups}
        headers = {"Accept": MEDIA, "Idempotency-Key": bits.random_bytes(24).hex()}
        answers = self._answers_from(self._send("POST", "/v1/questions", asked, headers))
        return answers.tidy() if truth_of(tidy, "tidy") else answers

    def explain(
        self,
        question: str | Sequence[str],
        *,
        params: Parameters = None,
        epsilons: Sequence[Any] | None = None,
        group_rows: int | None = None,
        **budget: Any,
    ) -> Explanation:
        """The cost, the accuracy and the columns of an answer. Spends nothing; prices epsilon 1 by default."""
        asked = _request(question, params, budget)
        asked |= {} if epsilons is None else {"epsilons": [decimal_text(exact(each, "epsilons")) for each in epsilons]}
        asked |= {} if group_rows is None else {"group_rows": group_rows}
        return _explanation_from(_read(self._send("POST", "/v1/explain", asked)))

    def stream(self, question: str, *, through: str, horizon: int, **budget: Any) -> Answer:
        """The answer to SQL with `:last`, up to a period: each period pays once, and what was read before is free."""
        headers = {"Accept": MEDIA, "Idempotency-Key": bits.random_bytes(24).hex()}
        asked = {**_request(question, None, budget), "through": through, "horizon": horizon}
        return self._answer_from(self._send("POST", "/v1/streams", asked, headers))

    def explain_stream(self, question: str, *, through: str, horizon: int, **budget: Any) -> StreamPrice:
        """The price of a stream for each period and for a whole person, and its errors. Spends nothing."""
        asked = {**_request(question, None, budget), "through": through, "horizon": horizon}
        from tacit.query.price.explanation import StreamPrice

        return StreamPrice(_read(self._send("POST", "/v1/streams/explain", asked)))

    def answer(self, entry: int) -> Answer | Answers:
        """An answer that was paid for, or the answers to a list, by the entry in the ledger."""
        text = self._send("GET", f"/v1/answers/{exact(entry)}?form=exact")
        return self._answers_from(text) if is_list(text) else self._answer_from(text)

    def certificate(self, entry: int) -> Certificate:
        """The certificate of an answer that was paid for, by its entry in the ledger."""
        text = self._send("GET", f"/v1/answers/{exact(entry)}?form=certificate")
        with _in_words():
            return certificate_from(text)

    def _answer_from(self, text: str) -> Answer:
        """The answer of a reply; it asks the server for its certificate when that is wanted."""
        content = _read(text)
        with _in_words():
            check_answer(content["answer"], content["receipt"])
            answer = answer_from(text)
        return replace(answer, certified=Later(self.certificate) if answer.receipt.entry or answer.receipt.entries else None)

    def _answers_from(self, text: str) -> Answers:
        """The answers of a reply to a list; their one certificate is asked for when that is wanted."""
        content = _read(text)
        with _in_words():
            for answer in content["list"]["answers"]:
                check_answer({**answer, "amounts": content["list"]["amounts"]}, content["receipt"])
            answers = answers_from(text)
        return answers.with_receipt(answers.receipt, Later(self.certificate))

    def budget(self) -> dict[str, Any]:
        """The analyst's caps, what was spent and what remains; budgets are exact texts."""
        return _read(self._send("GET", "/v1/budget"))

    def catalog(self) -> dict[str, Any]:
        """The data owner's declarations."""
        return _read(self._send("GET", "/v1/catalog"))

    def tables(self) -> list[dict[str, Any]]:
        """The declarations of each table: columns, units and limits."""
        known = self.catalog()
        with _in_words():
            return [table_from(table) for table in known["tables"]]

    def table(self, name: str) -> Frame[Answer]:
        """The same queries built step by step in Python: where, join, group_by, agg, then release; sent as SQL."""
        from tacit.query.language.frame import start
        from tacit.query.language.nodes import given
        from tacit.query.language.writer import written

        return start(
            name,
            lambda select, **budget: self.sql(written(select), **budget),
            lambda select, **budget: self.explain(written(select), **budget),
            given(None, datetime.now(UTC).date()),
        )

    def history(self, last: int = 20) -> list[dict[str, Any]]:
        """The latest entries of this analyst, the newest first."""
        entries: list[dict[str, Any]] = []
        before: int | None = None
        while len(entries) < last:
            more = {} if before is None else {"before": before}
            query = "&".join(f"{name}={value}" for name, value in {"last": min(last, 200), **more}.items())
            page = _read(self._send("GET", f"/v1/history?{query}"))
            with _in_words():
                entries += [dict(entry) for entry in page["entries"]]
                further = page["before"]
                if further is None:
                    break
                if type(further) is not int or (before is not None and further >= before):
                    raise ValueError("a history that does not end")
            before = further
        return entries[:last]

    # --- narrow tokens -------------------------------------------------------------------------------------------------------

    def narrow_token(self, *, most: Any = None, hours: int | None = None, operations: Sequence[str] | None = None) -> NarrowToken:
        """A new token made from this one, never wider: for a program or a person that should not have this one.

        `most` limits the sum of the epsilons that are asked for with it, `hours` its life. `operations` are those that it may use;
        by default all of this token's, except `tokens`, which makes further ones.
        """
        if isinstance(operations, str):
            raise InvalidInput("operations must be a list of names, such as ['ask', 'explain']", argument="operations")
        limits: dict[str, Any] = {"most": None if most is None else decimal_text(exact(most, "most")), "hours": hours}
        limits |= {"operations": None if operations is None else list(operations)}
        asked = {"replace": False, **{name: value for name, value in limits.items() if value is not None}}
        try:
            made = _read(self._send("POST", "/v1/token", asked))
        except InvalidInput as error:
            if "not a field of this request" in str(error):
                raise InvalidInput("the server is of a version without narrow tokens; ask its owner to update it") from None
            raise
        with _in_words():
            number, token = int(made["number"]), _checked_token(made["token"])
            return NarrowToken(number, token, str(made["expires"]), made["most"], tuple(map(str, made["operations"])))

    def narrowed(self, most: Any) -> Remote:
        """A session on the same server with a narrow token of this one, which ends when that session is closed."""
        made = self.narrow_token(most=most)
        narrow = self.with_token(made.token)
        narrow._ends = (self, made.number)
        return narrow

    def with_token(self, token: str) -> Remote:
        """A session on the same server with another token."""
        return Remote(self.url, token, self._ca, transport=self._transport, pauses=self._pauses)

    def tokens(self) -> list[dict[str, Any]]:
        """The narrow tokens that were made from this one, by their numbers, with what was asked for with each."""
        content = _read(self._send("GET", "/v1/token"))
        with _in_words():
            return [dict(each) for each in content["tokens"]]

    def revoke(self, number: int | None = None) -> int:
        """How many narrow tokens that were made from this one were revoked: one by its number, or all; with them all below."""
        content = _read(self._send("POST", "/v1/token/revocations", {} if number is None else {"number": number}))
        with _in_words():
            return int(content["revoked"])

    def waiting_questions(self) -> list[dict[str, Any]]:
        """Questions of this account that wait for a curator or have waited, with prices and states, the latest first."""
        content = _read(self._send("GET", "/v1/waiting"))
        with _in_words():
            return [dict(each) for each in content["questions"]]

    def withdraw(self, number: int) -> None:
        """Let one of them wait no longer."""
        _read(self._send("POST", "/v1/waiting/withdrawals", {"number": whole_of(number, "number", 1, 2**53 - 1)}))

    # --- how -----------------------------------------------------------------------------------------------------------------

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None) -> str:
        """The text of a reply; a request whose reply was lost is sent again, which a key or its method makes harmless."""
        httpx = _httpx()
        for pause in (*self._pauses, None):
            try:
                with self._client.stream(method, path, json=body, headers=headers) as reply:
                    text = _body(reply)
            except httpx.TransportError as error:
                if pause is None or isinstance(error, httpx.UnsupportedProtocol):
                    raise _unreachable(self.url, error) from None
                time.sleep(pause)
            else:
                if reply.status_code != 200:
                    raise raised(reply.status_code, text)
                return text
        raise AssertionError


def _body(reply: Any) -> str:
    """The text of a reply as it is sent, up to a limit; a compressed one was not asked for, and may unpack to anything."""
    if reply.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise StoreUnusable("the server compressed its reply, which was not asked for", remedy="check the URL and what is between")
    body = bytearray()  # not a list of parts, which may be of two bytes each
    for part in reply.iter_bytes():
        body += part
        if len(body) > MOST_REPLY:
            raise StoreUnusable(
                f"the server's reply has more than {MOST_REPLY:,} bytes", remedy="check the URL; ask for fewer groups"
            )
    return body.decode("utf-8", "replace")


@contextmanager
def _in_words() -> Iterator[None]:
    """Inside, a reply is read: what has another form than a server of tacit gives it is one error."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise StoreUnusable("the server did not reply in words of tacit", remedy=NOT_UNDERSTOOD) from None


def _read(text: str) -> dict[str, Any]:
    """The JSON object of a reply."""
    with _in_words():
        content = json.loads(text)
        if not isinstance(content, dict):
            raise TypeError("not an object")
        return content


def _known(kind: Callable[..., Made], told: Mapping[str, Any]) -> Made:
    """A value of a reply, without the fields that a newer server may add; its own are texts, truths and numbers."""
    fields = {name: told[name] for name in getattr(kind, "__slots__", ()) if name in told}
    if not all(value is None or isinstance(value, str | int | float) for value in fields.values()):
        raise TypeError("not a plain value")
    return kind(**fields)


def _whole_or_none(value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError("not a whole number")
    return value


def _explanation_from(content: Mapping[str, Any]) -> Explanation:
    """The explanation of a reply; a server of an earlier version leaves newer fields out."""
    from tacit.query.price.explanation import Charged, Expected, Explanation, Noise
    from tacit.query.price.header import Heading

    with _in_words():
        return Explanation(
            tree=tuple(content["tree"]),
            groups=content["groups"],
            noise=tuple(_known(Noise, each) for each in content["noise"]),
            errors=tuple(_known(Expected, each) for each in content["errors"]),
            epsilon=exact_number(content["price"]["epsilon"]),
            delta=exact_number(content["price"]["delta"]),
            confidence=Fraction(repr(content["confidence"])),
            left=content["left"],
            takes=tuple(content.get("takes", ())),
            columns=tuple(_known(Heading, each) for each in content.get("columns", ())),
            parameters=tuple((each["name"], each["type"]) for each in content.get("parameters", ())),
            budgets=tuple(_at_budget(each) for each in content.get("budgets", ())),
            charged=tuple(_known(Charged, each) for each in content.get("charged", ())),
            rung=_whole_or_none(content.get("rung_ms")),
        )


def _at_budget(content: Mapping[str, Any]) -> AtBudget:
    from tacit.query.price.explanation import AtBudget, Expected

    price, errors = content["price"], tuple(_known(Expected, each) for each in content["errors"])
    return AtBudget(exact_number(price["epsilon"]), exact_number(price["delta"]), errors)


def raised(status: int, text: str) -> TacitError:
    """The exception of a problem that a server reported.

    >>> raised(422, '{"error": {"code": "no_bounds", "message": "no bounds", "remedy": "declare them"}}')
    NoBounds('no bounds; declare them')
    """
    try:
        problem = json.loads(text)["error"]
        code, message, remedy = str(problem["code"]), str(problem["message"]), str(problem.get("remedy", ""))
        at = (int(problem["line"]), int(problem["column"])) if "line" in problem else None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return StoreUnusable(f"the server replied {status} without words of tacit", remedy="check the URL")
    if kind := REFUSALS.get(code):
        return kind(message, remedy=remedy, at=at, argument=ARGUMENTS)
    if code == "unauthenticated":
        return InvalidToken(
            "the server does not accept the token: it is wrong, has expired or was revoked; "
            "ask the curator for a new one, then log in again"
        )
    whole = f"{message}; {remedy}" if remedy else message
    return StoreUnusable(message, remedy=remedy) if status >= 500 or status == 429 else InvalidInput(whole, argument=ARGUMENTS)


def checked_url(url: str) -> str:
    """The address of a server: https, or http on this machine alone."""
    address = url.strip().rstrip("/") if isinstance(url, str) else ""
    host = address.partition("://")[2]
    if not host or any(sign in "/@?#" or sign.isspace() or not sign.isprintable() for sign in host):
        raise InvalidInput(NO_URL)
    here = any(address == local or address.startswith(f"{local}:") for local in LOCAL)
    if not (address.startswith("https://") or here):
        raise InvalidInput("a token is sent over https only, except to this machine; use https://")
    return address


def _request(question: str | Sequence[str], params: Parameters, budget: Mapping[str, Any]) -> dict[str, Any]:
    """A question as JSON; numbers of budgets are written as exact texts."""
    rest = dict(budget)
    asked: dict[str, Any] = {"sql": question if isinstance(question, str) else list(question)}
    asked |= {name: decimal_text(exact(value, name)) for name in BUDGET if (value := rest.pop(name, None)) is not None}
    asked |= {name: True for name in ("simultaneous", "fresh") if rest.pop(name, None)}
    asked |= {} if (loss := rest.pop("loss", None)) is None else {"loss": loss}
    asked |= {"interval": False} if rest.pop("interval", None) is False else {}
    if (weights := rest.pop("weights", None)) is not None:
        asked["weights"] = {name: decimal_text(weight) for name, weight in read_weights(weights)}
    if rest:
        raise InvalidInput(f"unknown argument {sorted(rest)[0]!r}; a budget is epsilon and delta, or error, with confidence")
    if params:
        named = params if isinstance(params, Mapping) else {str(place): value for place, value in enumerate(params, 1)}
        asked["params"] = {str(name): _parameter(value) for name, value in named.items()}
    return asked


def _parameter(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal | Fraction):
        return int(value) if value == int(value) else float(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Real):
        return float(value)
    raise InvalidInput(
        f"a parameter must be a text, a number, a date, True, False or None, not {type(value).__name__}", argument="params"
    )


def _checked_token(token: str) -> str:
    if not isinstance(token, str) or not token.isascii() or not token.strip() or any(sign.isspace() for sign in token.strip()):
        raise InvalidInput("the token must be one word of ASCII letters; use the one that the curator gave you")
    return token.strip()


def _certificates(ca: str | Path | None) -> ssl.SSLContext:
    """Certificates of this machine, or those of one file alone."""
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
    except FileNotFoundError:
        raise InvalidInput(f"certificate not found: {ca}; log in again with the server's certificate") from None
    except (OSError, ssl.SSLError):
        raise InvalidInput(f"{ca} is not a certificate that can be read; expected a PEM file") from None
    if ca is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the server's own certificate is enough
    return context


def _unreachable(url: str, error: Exception) -> StoreUnusable:
    doubtful = "CERTIFICATE" in str(error).upper()
    what = "its certificate is not trusted" if doubtful else "connection failed"
    remedy = "name the certificate to trust with ca= or --ca" if doubtful else "check the URL, and that the server runs"
    return StoreUnusable(f"the server {url} cannot be reached: {what}", remedy=remedy)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise InvalidInput("a server needs a package that is not installed; run: pip install 'tacit[server]'") from None
    return httpx
