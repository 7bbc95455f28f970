"""Narrow tokens in the ledger: each spend counts against the presented token and all above it, in one transaction."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from ledgers import IDENTITY, opened, policy, pure
from tacit.accounting.ledger import pages
from tacit.accounting.ledger.entries import FORMAT, Charged, Counted, canonical_json, entry_from, hash_of
from tacit.accounting.ledger.selling import Bearer, Granted, Recalled, Sale, Token
from tacit.errors import BudgetExceeded, InvalidToken, StoreUnusable
from tacit.privacy.catalog import Analyst, Budget

TENTH = Fraction(1, 10)


def live() -> None:
    """A token that has not ended."""


def sale(*path: tuple[int, object], epsilon: object = "1/10", analyst: str = "ana", key: str = "") -> Sale:
    tokens = tuple(Token(number, None if most is None else Fraction(str(most))) for number, most in path)
    bearer = Bearer(tokens, live, (Fraction(str(epsilon)),)) if path else None
    return Sale((pure(epsilon),), analyst, "q", "v", key, bearer=bearer)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.sqlite")


ASKING = """
import sys
sys.path.insert(0, sys.argv[2])
from test_tokens import TENTH, opened, policy, sale, IDENTITY
from tacit.errors import BudgetExceeded
ledger, child, granted = opened(sys.argv[1], policy(100), IDENTITY), int(sys.argv[3]), 0
for turn in range(12):
    try:
        ledger.reserve(sale((child, 1), (1, 1)))
        granted += 1
    except BudgetExceeded:
        pass
print(granted)
"""


def test_ten_children_of_one_parent_in_processes_spend_what_the_parent_has(file):
    opened(file, policy(100), IDENTITY)
    here = str(Path(__file__).parent)
    support = str(Path(__file__).parents[2] / "support")
    script = f"import sys; sys.path.insert(0, {support!r})" + ASKING
    commands = [[sys.executable, "-c", script, file, here, str(child)] for child in range(2, 12)]
    granted = []
    for few in (commands[:4], commands[4:7], commands[7:]):
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in few]
        granted += [int(process.communicate()[0]) for process in started]
    ledger = opened(file, policy(100), IDENTITY)
    sums = ledger.token_sums("ana", range(1, 12))
    assert (sum(granted), sums[1]) == (10, 1)
    assert sum(sums.values()) - sums[1] == 1
    assert all(sums[child] == TENTH * count for child, count in zip(range(2, 12), granted, strict=True))
    assert ledger.verify().whole


def test_threads_at_the_last_spend_never_exceed_it(file):
    ledger = opened(file, policy(100), IDENTITY)

    def ask(child: int) -> int:
        try:
            ledger.reserve(sale((child, 1), (1, "0.3")))
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, [2, 3, 4, 5] * 4)) == 3
    assert ledger.token_sums("ana", [1]) == {1: Fraction(3, 10)}


def test_a_planted_ledger_that_counts_the_presented_token_alone_is_caught(file, monkeypatch):
    """What the test above would see: ten children spend ten times the limit of their parent; `verify` says so too."""
    whole = pages.Page.token_sum
    monkeypatch.setattr(pages.Page, "token_sum", lambda page, who, number: Fraction(0) if number == 1 else whole(page, who, number))
    ledger = opened(file, policy(100), IDENTITY)
    for child in range(2, 12):
        ledger.reserve(sale((child, 1), (1, 1), epsilon="1/2"))
    assert not ledger.verify().whole


def test_every_token_of_the_path_and_the_account_are_charged(file):
    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale((3, None), (2, 1), (1, 2)))
    ledger.reserve(sale((1, 2), epsilon="1/2"))
    ledger.reserve(sale(epsilon=1))
    ledger.reserve(sale((1, 5), analyst="bob", epsilon=2))
    assert ledger.token_sums("ana", [1, 2, 3]) == {1: Fraction(3, 5), 2: TENTH, 3: TENTH}
    assert (ledger.token_sums("bob", [1]), ledger.last_token("ana"), ledger.last_token("bob"), ledger.last_token("cyd")) == (
        {1: 2}, 3, 1, 0,
    )  # fmt: skip
    assert ledger.spent("ana").epsilon == Fraction(8, 5)
    assert ledger.token_left("ana", sale((3, None), (2, 1), (1, 2)).bearer) == Fraction(9, 10)
    assert ledger.token_left("ana", sale((3, None)).bearer) is None
    assert ledger.verify().whole


def test_a_refusal_names_the_token_the_rest_and_the_remedy_and_spends_nothing(file):
    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale((2, None), (1, "0.25")))
    with pytest.raises(BudgetExceeded, match=r"0\.15 of 0\.25 remains") as no:
        ledger.reserve(sale((2, None), (1, "0.25"), epsilon="0.2"))
    assert "epsilon=0.15 or less" in no.value.remedy
    assert ledger.head.number == 1
    ledger.reserve(sale((2, None), (1, "0.25"), epsilon="0.15"))
    with pytest.raises(BudgetExceeded, match=r"0 of 0\.25 remains; use"):
        ledger.reserve(sale((2, None), (1, "0.25"), epsilon="0.0001"))


def test_an_exhausted_token_learns_nothing_of_other_budgets(file):
    """The tokens are asked before every cap: else their holder would search, for nothing, what the data set still admits."""
    declared = policy(1, 0, Analyst("ana", Budget(Fraction(1), Fraction(0))), Analyst("bob", None))
    ledger, texts = opened(file, declared, IDENTITY), set()
    spent = sale((1, "0.1"), epsilon="0.1")
    ledger.reserve(spent)
    for other in ("0.3", "0.59", "0.01"):
        with pytest.raises(BudgetExceeded) as refused:
            ledger.reserve(sale((1, "0.1"), epsilon="0.5"))
        texts.add(str(refused.value))
        ledger.reserve(sale(analyst="bob", epsilon=other))
    assert len(texts) == 1


def test_a_token_that_ended_between_admission_and_spend_spends_nothing(file):
    ledger, ended = opened(file, policy(1), IDENTITY), sale((1, 1))

    def revoked() -> None:
        raise InvalidToken("revoked")

    asked = Sale(ended.offers, "ana", "q", "v", bearer=Bearer(ended.bearer.path, revoked, ended.bearer.asked))
    with pytest.raises(InvalidToken):
        ledger.reserve(asked)
    assert ledger.head.number == 0


def test_failed_questions_count_and_repeats_of_the_account_do_not(file):
    ledger = opened(file, policy(100), IDENTITY)
    granted = ledger.reserve(sale((1, 1), key="aa"))
    assert isinstance(granted, Granted)
    ledger.failed(granted, "timed out")
    assert ledger.token_sums("ana", [1]) == {1: TENTH}
    again = ledger.reserve(sale((1, 1), key="aa"))
    assert isinstance(again, Granted)
    ledger.answered(again, "text")
    for asked in (sale((1, 1), key="aa"), sale((2, "0.01"), key="aa"), sale(key="aa")):
        free = ledger.recalled(asked)
        assert isinstance(free, Recalled)
        assert free.own
    assert ledger.token_sums("ana", [1, 2]) == {1: 2 * TENTH, 2: 0}
    assert ledger.verify().whole


def test_an_answer_of_another_analyst_counts_as_a_new_one(file):
    ledger = opened(file, policy(100), IDENTITY)
    first = ledger.reserve(sale(analyst="bob", key="aa"))
    ledger.answered(first, "text")
    with pytest.raises(BudgetExceeded, match="token 1 does not admit"):
        ledger.reserve(sale((1, "0.05"), key="aa"))
    recalled = ledger.reserve(sale((1, "0.1"), key="aa"))
    assert isinstance(recalled, Recalled)
    assert not recalled.own
    assert ledger.token_sums("ana", [1]) == {1: TENTH}
    assert ledger.verify().whole


def test_a_refusal_comes_at_once_while_another_analyst_is_answered(file):
    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale(analyst="bob", key="aa"))
    with pytest.raises(BudgetExceeded, match="token 1 does not admit"):
        ledger.reserve(sale((1, "0.05"), key="aa"), patience=0)


DAMAGES = {
    "no record": ("DELETE FROM tacit_askers WHERE \"key\" = 'token 1'", "asked with token 1 by entry 2 is missing"),
    "an older entry": ("UPDATE tacit_askers SET entry = 1 WHERE \"key\" = 'token 1'", "entry 1 is not the last entry of token 1"),
    "a token that never was": ("INSERT INTO tacit_askers VALUES ('token 9', 'ana', 1)", "entry 1 is not the last entry of token 9"),
}


@pytest.mark.parametrize("which", DAMAGES)
def test_a_changed_record_of_tokens_is_found(file, which):
    statement, problem = DAMAGES[which]
    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale((1, 1)))
    ledger.reserve(sale((1, 1)))
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    assert any(problem in each for each in ledger.verify().problems)


def test_an_entry_that_does_not_count_the_token_is_not_believed(file):
    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale((1, 1)))
    ledger.reserve(sale())
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE tacit_askers SET entry = 2 WHERE \"key\" = 'token 1'")
    with pytest.raises(StoreUnusable, match="token 1 of ana has asked"):
        ledger.reserve(sale((1, 1)))


def rewritten(file: str, change) -> None:
    """The last entry with its fields changed, and hashes that agree with it."""
    with sqlite3.connect(file) as connection:
        number, text = connection.execute("SELECT number, text FROM tacit_entries ORDER BY number DESC LIMIT 1").fetchone()
        document = json.loads(text)
        change(document)
        text = canonical_json(document)
        connection.execute("UPDATE tacit_entries SET text = ?, hash = ? WHERE number = ?", [text, hash_of(text), number])
        connection.execute("UPDATE tacit_books SET hash = ?", [hash_of(text)])


def test_forged_sums_limits_and_fields_of_an_entry_are_found(file):
    def sums(document):
        document["more"]["tokens"]["path"][0]["asked"] = "1/20"

    def limit(document):
        document["more"]["tokens"]["path"][0]["most"] = "1/20"

    def field(document):
        document["more"]["seasons"] = ["2026-09"]

    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale((1, 1)))
    rewritten(file, sums)
    assert "the sum of token 1 of ana after it is wrong" in str(ledger.verify().problems)
    rewritten(file, lambda document: document["more"]["tokens"]["path"][0].update(asked="1/10"))
    assert ledger.verify().whole
    rewritten(file, limit)
    assert "beyond the limit of token 1 of ana" in str(ledger.verify().problems)
    rewritten(file, field)
    assert "unknown field 'seasons', which a newer version wrote; update tacit" in str(ledger.verify().problems)
    with pytest.raises(StoreUnusable, match="unknown field 'seasons'"):
        ledger.reserve(sale((1, 1)))


# --- the format --------------------------------------------------------------------------------------------------------------


MORE = '"more":{"tokens":{"epsilon":"1/10","path":[{"asked":"1/10","most":null,"number":3},{"asked":"1/2","most":"1","number":1}]}}'


def test_an_entry_has_one_text_with_its_named_fields(file):
    ledger = opened(file, policy(100), IDENTITY)
    ledger.reserve(sale((1, 1), epsilon="2/5"))
    granted = ledger.reserve(sale((3, None), (1, 1)))
    entry = granted.entry
    assert MORE in entry.text
    assert entry_from(entry.text) == entry
    assert entry.charged == Charged(TENTH, (Counted(3, TENTH, None), Counted(1, Fraction(1, 2), Fraction(1))))
    assert (entry.format, json.loads(entry.text)["format"], FORMAT) == (3, 3, 3)
    assert '"more":{}' in next(ledger.entries()).text


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda document: document["more"].update(signature="00"), "signature"),
        (lambda document: document.update(approved="x"), "approved"),
        (lambda document: document.update(more=[]), "more"),
    ],
)
def test_a_field_of_a_newer_version_is_refused_by_its_name(file, change, name):
    ledger = opened(file, policy(100), IDENTITY)
    document = json.loads(ledger.reserve(sale((1, 1))).entry.text)
    change(document)
    with pytest.raises(StoreUnusable, match=f"unknown field '{name}', which"):
        entry_from(canonical_json(document))


KEPT = Path(__file__).parents[2] / "kept"


def test_a_ledger_of_before_opens_unchanged_and_goes_on_with_tokens(file):
    shutil.copy(KEPT / "format-2" / "half.sqlite", file)
    known = json.loads((KEPT / "format-2" / "half.json").read_text())
    ledger = opened(file, policy(1, "1e-6"), IDENTITY)
    before = [entry.text for entry in ledger.entries()]
    assert (len(before), hash_of(before[-1]), ledger.verify().whole) == (known["entries"], known["head"], True)
    ledger = opened(file, policy(100, "1e-6", units=ledger.policy.units), IDENTITY)
    ledger.note("curator", "a new version")
    texts = [entry.text for entry in ledger.entries()]
    assert texts[:-1] == before
    assert [json.loads(text)["format"] for text in texts] == [2] * len(before) + [3]
    assert ledger.verify().whole


def test_a_kept_ledger_of_format_3_opens(file):
    shutil.copy(KEPT / "format-3" / "tokens.sqlite", file)
    known = json.loads((KEPT / "format-3" / "tokens.json").read_text())
    ledger = opened(file, policy(100), IDENTITY)
    assert (ledger.verify().problems, ledger.head.number + 1, ledger.head.hash) == ((), known["entries"], known["head"])
    sums = {name: ledger.token_sums(name, map(int, numbers)) for name, numbers in known["sums"].items()}
    assert {name: {str(at): str(one) for at, one in each.items()} for name, each in sums.items()} == known["sums"]
    paths = [entry.charged and [one.number for one in entry.charged.path] for entry in ledger.entries()]
    assert (paths, [entry.kind for entry in ledger.entries()]) == (known["charged"], known["kinds"])
    ledger.reserve(sale((3, None), (2, "1/2"), (1, 1), epsilon="1/100"))
    assert ledger.verify().whole
