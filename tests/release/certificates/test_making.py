"""Certificates of every way to publish: made, signed, saved, and made again from the ledger; keys and their rotation."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import tacit
from certified_people import opened, written
from tacit.accounting.ledger.entries import canonical_json, event_from, hash_of
from tacit.errors import InvalidInput, StoreUnusable
from tacit.publish.synthetic.rows.release import synthesize_table, synthesize_tree
from tacit.query import offers
from tacit.release.answer import record, recorded
from tacit.release.certificates import keys
from tacit.release.certificates.certificate import ABOUT, read_certificate
from tacit.release.certificates.exports import export, head_of
from tacit.release.once import Form
from tacit_certificate.check import Certificate as Checking
from tacit_certificate.document import read_keys

FIELDS = {
    "about", "asked", "cap", "data_version", "derivation", "entry", "event", "facts", "form", "format", "intervals", "kind",
    "mechanisms", "plan", "price", "relation", "released", "signature", "software", "stated", "way",
}  # fmt: skip
LARGEST = 20_000  # bytes of a certificate with a hundred groups
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tacit.session.DataSet]:
    with opened(written(tmp_path_factory.mktemp("made") / "set", list(range(60)))) as data:
        yield data


def has_signature(document: dict[str, Any], public: str, of: bytes) -> bool:
    """Whether a public key signed a document."""
    signed = {name: value for name, value in document.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(document["signature"]["value"]), of + canonical_json(signed).encode())
    except InvalidSignature:
        return False
    return True


def public_key(data: tacit.session.DataSet, key: str) -> str:
    listed = keys.public_keys(data.catalog.kept)["keys"]
    return next(str(each["public"]) for each in listed if each["id"] == key)


# --- a question --------------------------------------------------------------------------------------------------------------


def test_a_certificate_says_what_was_paid_for(data: tacit.session.DataSet) -> None:
    answer = data.session("ana").sql(COUNT, epsilon="0.5")
    document = answer.certificate.to_dict()
    entry = next(data.ledger.entries(first=answer.receipt.entry))
    assert document.keys() == FIELDS
    assert document["entry"] == entry.hash
    assert event_from(canonical_json(document["event"])) == entry.event
    assert Fraction(document["price"]["epsilon"]) == entry.price.epsilon == Fraction(1, 2)
    kept = json.loads(document["released"]["text"])
    assert [column[2] for column in kept["columns"]] == [list(column.values) for column in answer.columns]
    assert document["released"]["sha256"] == hash_of(document["released"]["text"])
    assert {each["kind"] for each in document["mechanisms"]} == {"laplace"}
    assert document["intervals"][1]["half_width"] == str(answer.column("n").values[0] - answer.column("n").low[0])
    assert has_signature(document, public_key(data, document["signature"]["key"]), keys.OF_CERTIFICATES)


def test_the_hash_of_the_released_values_is_in_the_chain(data: tacit.session.DataSet) -> None:
    answer = data.session("ana").sql(COUNT, epsilon="0.51")
    (said,) = (entry for entry in data.ledger.entries() if entry.kind == "answer" and entry.about == answer.receipt.entry)
    assert answer.certificate.to_dict()["released"]["sha256"] == said.answer


def test_it_is_made_again_from_the_ledger_byte_for_byte(data: tacit.session.DataSet) -> None:
    ana = data.session("ana")
    for text, budget in (
        (COUNT, {"error": 30, "confidence": "0.9"}),
        ("SELECT AVG(cost) AS c, MEDIAN(age) AS m FROM visits", {"epsilon": 1, "weights": {"m": 3}}),
        ("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis", {"epsilon": 1, "delta": 1e-5}),
        ("SELECT MAX(age) AS m FROM visits", {"epsilon": 1, "interval": False}),
        ("SELECT COUNT(*) AS n FROM visits", {"epsilon": "0.25", "simultaneous": True}),
        ("SELECT ward AS w, SUM(cost) AS s, COUNT(*) * 2 AS n FROM visits GROUP BY ward", {"epsilon": "0.26"}),
        ("SELECT ward, COUNT(DISTINCT person) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5", {"epsilon": 1, "delta": 1e-5}),
    ):
        answer = ana.sql(text, **budget)
        entry = answer.receipt.entry
        assert ana.certificate(entry).to_json() == data.certificate(entry).to_json() == answer.certificate.to_json(), text


def test_at_once_nothing_is_read_again(data: tacit.session.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry, hash and text are known when the answer is made; of a recalled one the ledger is read."""
    ana, sql = data.session("ana"), "SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward"
    made, recalled = (ana.sql(sql, epsilon="0.27") for _ in range(2))
    later = ana.certificate(made.receipt.entry).to_json()
    with monkeypatch.context() as patch:
        patch.delattr("tacit.accounting.ledger.tables.Store.look")
        patch.delattr("tacit.accounting.ledger.tables.Store.lines")
        assert made.certificate.to_json() == later
        with pytest.raises(AttributeError):
            _ = recalled.certificate
    assert recalled.certificate.to_json() == later


def test_an_answer_that_the_ledger_did_not_keep_has_none(data: tacit.session.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another process took the question over in the meantime: its own answer is the one in the chain."""
    monkeypatch.setattr("tacit.accounting.ledger.selling.keep_released_answer", lambda *_: False)
    answer = data.session("ana").sql(COUNT, epsilon="0.28")
    with pytest.raises(InvalidInput, match="was not kept"):
        _ = answer.certificate


def test_a_recalled_answer_has_the_askers_own_entry(data: tacit.session.DataSet) -> None:
    first = data.session("ana").sql(COUNT, epsilon="0.3")
    second = data.session("bob").sql("SELECT ward AS w, COUNT(*) AS m FROM visits GROUP BY ward", epsilon="0.3")
    one, other = first.certificate.to_dict(), second.certificate.to_dict()
    assert one["entry"] != other["entry"]
    assert other["released"]["names"] == ["w", "m"]
    assert "ana" not in second.certificate.to_json()
    same = ("price", "event", "mechanisms", "derivation", "intervals", "facts", "form")
    assert all(one[name] == other[name] for name in same)
    assert one["released"]["text"] == other["released"]["text"]


@pytest.mark.parametrize("version", ["now", "earlier"])
def test_no_name_of_the_first_asker_is_in_the_certificate_of_the_second(
    data: tacit.session.DataSet, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Else the name tells that somebody had asked, and whatever else they wrote into it; an earlier version kept names."""
    if version == "earlier":
        monkeypatch.setattr("tacit.session.KEPT", Form(record, recorded))
    epsilon = {"now": "0.4", "earlier": "0.41"}[version]
    for asked in ("COUNT(*)", "AVG(cost)", "MEDIAN(age)", "MAX(age)", "COUNT(*) * 2"):
        ana, bob = (data.session(who).sql(f"SELECT {asked} AS {name} FROM visits", epsilon=epsilon, fresh=True)
                    for who, name in (("ana", "words_of_ana"), ("bob", "m")))  # fmt: skip
        told = bob.certificate.to_json()
        assert "words_of_ana" not in told
        assert "words_of_ana" not in str(bob.to_dict())
        assert "words_of_ana" in ana.certificate.to_json(), "one's own are told"
        with monkeypatch.context() as patch:  # planted
            patch.setattr("tacit.release.certificates.answers.without_names", lambda text, _: text)
            caught = "words_of_ana" in data.session("bob").certificate(bob.receipt.entry).to_json()
        assert caught == (version == "earlier")


def test_an_entry_of_somebody_else_is_as_absent_as_none(data: tacit.session.DataSet) -> None:
    entry = data.session("ana").sql(COUNT, epsilon="0.31").receipt.entry
    for number in (entry, 10**5):
        with pytest.raises(InvalidInput, match="not a paid question"):
            data.session("bob").certificate(number)
    with pytest.raises(InvalidInput, match="no entry"):
        data.certificate(10**5)


def test_a_free_answer_and_a_copy_have_none(data: tacit.session.DataSet) -> None:
    free = data.session("ana").sql("SELECT ward FROM wards")
    copied = pickle.loads(pickle.dumps(data.session("ana").sql(COUNT, epsilon="0.32")))  # noqa: S301  # made here
    for answer in (free, copied):
        with pytest.raises(InvalidInput, match="no certificate"):
            _ = answer.certificate
    assert copied.columns


SEVERAL = (
    "SELECT a.n - b.n AS apart FROM (SELECT COUNT(*) AS n FROM visits WHERE age < 3) AS a, (SELECT COUNT(*) AS n FROM visits) AS b"
)


def test_a_statement_of_several_answers_has_a_certificate_for_each(data: tacit.session.DataSet) -> None:
    """None of them is that of the statement, whose entry is that of its last question: it says where they are."""
    ana = data.session("ana")
    answer = ana.sql(SEVERAL, epsilon=1)
    first, second = answer.receipt.entries
    assert answer.receipt.entry == second
    with pytest.raises(InvalidInput, match=rf"entries {first} and {second}; answer\.certificates"):
        _ = answer.certificate
    made = answer.certificates
    assert [each.to_json() for each in made] == [ana.certificate(entry).to_json() for entry in (first, second)]
    documents = [each.to_dict() for each in made]
    assert [each["entry"] for each in documents] == [next(data.ledger.entries(first=entry)).hash for entry in (first, second)]
    assert sum(Fraction(each["price"]["epsilon"]) for each in documents) == answer.receipt.epsilon == 1
    assert ["age" in canonical_json(each["plan"]) for each in documents] == [True, False], "in the order of the statement"
    for document in documents:
        assert not Checking(document).contents().wrong
        assert has_signature(document, public_key(data, document["signature"]["key"]), keys.OF_CERTIFICATES)
    again = ana.sql(SEVERAL, epsilon=1)
    assert (again.receipt.again, again.receipt.entries) == (True, (first, second))
    assert answer.to_dict()["entries"] == [first, second]
    single = ana.sql(COUNT, epsilon="0.41")
    assert "entries" not in single.to_dict()
    assert [each.to_json() for each in single.certificates] == [single.certificate.to_json()]
    alone = ana.sql("SELECT a.n * 2 AS twice FROM (SELECT COUNT(*) AS n FROM visits WHERE age < 2) AS a", epsilon=1)
    with pytest.raises(InvalidInput, match=rf"the answers of entry {alone.receipt.entry}\b"):
        _ = alone.certificate  # whose released values are not those of the statement


def test_an_answer_from_before_requests_were_kept_has_one_or_says_why_not(
    data: tacit.session.DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version kept the answer alone: its price and confidence leave few requests, and the key says which it was."""
    with monkeypatch.context() as patch:
        patch.setattr("tacit.session.KEPT", Form(lambda answer: record(replace(answer, requested=None)), recorded))
        plain = data.session("ana").sql(COUNT, epsilon="0.33").receipt.entry
        hidden = data.session("ana").sql(COUNT, epsilon="0.34", delta=1e-7).receipt.entry  # priced without its delta
    made = data.certificate(plain).to_dict()
    assert made["asked"]["epsilon"] == "33/100"
    with pytest.raises(InvalidInput, match="has no certificate"):
        data.certificate(hidden)
    assert recorded(record(data.session("ana").sql(COUNT, epsilon="0.33"))).columns


def test_a_changed_price_is_said_and_not_signed(data: tacit.session.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that prices otherwise cannot certify what was paid before it."""
    answer = data.session("ana").sql(COUNT, epsilon="0.35")
    honest = offers.price
    monkeypatch.setattr(
        offers, "price", lambda question, asked, *more: honest(question, offers.replace(asked, epsilon=Fraction(1)), *more)
    )
    with pytest.raises(InvalidInput, match="has no certificate"):
        data.certificate(answer.receipt.entry)


def test_a_hundred_groups_fit_into_20_kilobytes(tmp_path: Path) -> None:
    catalog = written(tmp_path / "wide", list(range(20)))
    text = catalog.read_text().replace("age = { bounds = [-3, 7] }", 'age = { bounds = [0, 99], nulls = "drop" }')
    catalog.write_text(text)
    with opened(catalog) as data:
        answer = data.session("ana").sql(
            "SELECT age, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS c FROM visits GROUP BY age", epsilon=1
        )
        assert len(answer) == 100
        assert len(answer.certificate.to_json()) <= LARGEST


def test_it_is_saved_byte_for_byte_and_read_for_people(data: tacit.session.DataSet, tmp_path: Path) -> None:
    certificate = data.session("ana").sql(COUNT, epsilon="0.36").certificate
    place = certificate.save(tmp_path / "n.json")
    assert place.read_bytes() == f"{certificate.to_json()}\n".encode("ascii")
    assert read_certificate(place).to_json() == certificate.to_json()
    lines = str(certificate).splitlines()
    assert lines[0] == ABOUT, "the first line says what it cannot show"
    assert any("sensitivity" in line for line in lines)
    (tmp_path / "other.json").write_text('{"kind": "head", "format": 1}')
    with pytest.raises(InvalidInput, match="is not a certificate"):
        read_certificate(tmp_path / "other.json")


# --- other ways --------------------------------------------------------------------------------------------------------------


def test_rounds_have_a_certificate_whose_budgets_are_added_up(data: tacit.session.DataSet) -> None:
    """What ran is within the totals of the event. Planted: one round more, and noise for one row where a unit has three."""
    made = synthesize_table(data, "visits", epsilon=2, columns=["ward", "age", "cost"], bins=5, rows=9, analyst="ana")
    document = made.certificate.to_dict()
    trusted = read_keys(json.dumps(keys.public_keys(data.catalog.kept)).encode())
    report = Checking(document).check(trusted)
    assert not report.wrong
    assert any(line.startswith(f"rounds of visits, {len(made.measured.rounds)} rounds cost epsilon") for line in report.checked)
    assert "choices divide their scores by 3, 3 rows of one unit, weights to 1" in report.stated
    assert data.certificate(made.receipt.entry).to_json() == made.certificate.to_json()
    for planted in ("round", "noise"):
        changed = json.loads(made.certificate.to_json())
        (rounds,) = (node["rounds"] for node in changed["mechanisms"] if node["kind"] == "rounds")
        if planted == "round":
            rounds.append(rounds[-1])
        else:
            rounds[0]["noise"]["sensitivity"] = "1"
        assert Checking(changed).contents().wrong


def test_marginals_have_a_certificate_that_is_checked(data: tacit.session.DataSet, tmp_path: Path) -> None:
    """Noise of single columns and of pairs is checked against max_rows; the choices of pairs are listed as stated."""
    made = synthesize_tree(data, "visits", epsilon=2, columns=["ward", "age", "cost"], bins=5, analyst="ana")
    document = made.certificate.to_dict()
    assert document["way"] == "synthetic-rows"
    releases = [each["releases"] for each in document["mechanisms"]]
    assert (releases.count("marginal"), releases.count("choice"), releases.count("pair")) == (3, 2, 2)
    trusted = read_keys(json.dumps(keys.public_keys(data.catalog.kept)).encode())
    report = Checking(document).check(trusted)
    assert not report.wrong
    assert sum("3 rows of one unit" in line for line in report.checked) == 5
    assert sum(line.startswith("choice, farthest") for line in report.stated) == 2
    made.save(tmp_path / "rows.csv")
    beside = read_certificate(tmp_path / "rows.csv.certificate.json")
    assert beside.to_json() == made.certificate.to_json() == data.certificate(made.receipt.entry).to_json()
    for fact in ("max_rows", "scale"):
        changed = json.loads(made.certificate.to_json())
        if fact == "max_rows":
            changed["facts"]["tables"]["visits"]["max_rows"] += 1
        else:
            changed["mechanisms"][0]["scale"] = "1"
        assert Checking(changed).contents().wrong, fact


# --- for the data owner ------------------------------------------------------------------------------------------------------


def test_the_auditors_form_has_the_position_and_the_sums(data: tacit.session.DataSet) -> None:
    answer = data.session("ana").sql(COUNT, epsilon="0.37")
    document = data.certificate(answer.receipt.entry, auditor=True).to_dict()
    ledger = document["ledger"]
    assert document.keys() == FIELDS | {"ledger"}
    assert hash_of(ledger["text"]) == document["entry"]
    after, before = Fraction(ledger["after"]["rho"]), Fraction(ledger["before"]["rho"])
    (_, counted) = json.loads(ledger["text"])["more"]["orders"]["sums"]
    assert 0 <= after - before - Fraction(counted) < Fraction(1, 10**30)
    assert Fraction(counted) < Fraction(document["price"]["rho"])
    assert ledger["number"] == answer.receipt.entry


def test_an_export_has_the_whole_chain_and_every_certificate(data: tacit.session.DataSet, tmp_path: Path) -> None:
    out = export(data, tmp_path / "ledger.jsonl")
    assert out.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in out.read_text("ascii").splitlines()]
    texts = [line["entry"] for line in lines if "entry" in line]
    previous = ["0" * 64, *(sha256(text.encode()).hexdigest() for text in texts)]
    assert [json.loads(text)["previous"] for text in texts] == previous[:-1]
    head = lines[-1]["head"]
    assert (head["hash"], head["number"], head["ledger"]) == (previous[-1], len(texts) - 1, lines[0]["ledger"])
    assert has_signature(head, public_key(data, head["signature"]["key"]), keys.OF_HEADS)
    paid = [number for number, text in enumerate(texts) if json.loads(text)["kind"] in ("spend", "recall")]
    certified = [line["certificate"]["ledger"]["number"] for line in lines if "certificate" in line]
    missing = [line["missing"] for line in lines if "missing" in line]
    assert sorted(certified + missing) == paid
    assert head_of(data) == head


# --- keys --------------------------------------------------------------------------------------------------------------------


def test_the_key_is_its_owners_and_old_certificates_stay_checkable(tmp_path: Path) -> None:
    with opened(written(tmp_path / "rotated", list(range(5)))) as data:
        kept = data.catalog.kept
        assert not (kept / keys.FOLDER).exists(), "made when it is first needed"
        before = data.session("ana").sql(COUNT, epsilon=1).certificate.to_dict()
        secret = kept / keys.FOLDER / keys.SECRET
        assert secret.stat().st_mode & 0o777 == 0o600
        assert secret.parent.stat().st_mode & 0o777 == 0o700
        assert secret.read_text().strip() not in repr(data.signer)
    new = keys.rotate(kept)
    with tacit.open(data.catalog.path, own_process=False) as again:
        after = again.session("ana").sql(COUNT, epsilon=1).certificate.to_dict()
    first, second = keys.public_keys(kept)["keys"]
    assert (before["signature"]["key"], after["signature"]["key"]) == (first["id"], second["id"]) == (first["id"], new)
    assert {**before, "signature": None} == {**after, "signature": None}
    for document, key in ((before, first), (after, second)):
        assert has_signature(document, key["public"], keys.OF_CERTIFICATES)
        assert not has_signature({**document, "entry": "0" * 64}, key["public"], keys.OF_CERTIFICATES)
    vouched = Ed25519PublicKey.from_public_bytes(bytes.fromhex(first["public"]))
    vouched.verify(bytes.fromhex(second["value"]), keys.OF_KEYS + second["public"].encode())
    assert second["signed_by"] == first["id"]


def test_a_lost_key_begins_a_new_list_and_the_old_one_stays(tmp_path: Path) -> None:
    first = keys.signer_in(tmp_path).key
    (tmp_path / keys.FOLDER / keys.SECRET).unlink()
    second = keys.signer_in(tmp_path).key
    assert [each["id"] for each in keys.public_keys(tmp_path)["keys"]] == [second]
    assert (tmp_path / keys.FOLDER / f"keys-until-{first}.json").exists()


def test_a_damaged_key_is_said(tmp_path: Path) -> None:
    keys.signer_in(tmp_path)
    (tmp_path / keys.FOLDER / keys.SECRET).write_text("not a key")
    with pytest.raises(StoreUnusable, match="cannot be read"):
        keys.signer_in(tmp_path)
    assert os.listdir(tmp_path / keys.FOLDER)
