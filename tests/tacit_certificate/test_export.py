"""A ledger with all its certificates: an auditor notices one that was cut, rewritten, restored or priced wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from certified import ASKED, Certified, certified, text_of
from tacit.accounting.ledger.entries import canonical_json, hash_of
from tacit_certificate.__main__ import main
from tacit_certificate.ledger import check

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    with certified(tmp_path_factory.mktemp("export")) as clinic:
        yield clinic


def lines_of(made: Certified) -> Lines:
    return [json.loads(line) for line in made.export.read_bytes().splitlines()]


def wrong(made: Certified, lines: Lines, *heads: dict[str, Any]) -> list[str]:
    return check(map(text_of, lines), map(text_of, heads), made.keys).wrong


def test_an_export_is_valid_and_extends_its_head(made: Certified) -> None:
    lines, head = lines_of(made), made.head()
    report = check(map(text_of, lines), [text_of(head)], made.keys)
    assert not report.wrong
    assert any(f"{len(ASKED)} valid certificates" in text for text in report.checked)
    assert main(["--ledger", str(made.export), "--key", str(made.key_file)]) == 0


def entries(lines: Lines) -> list[dict[str, Any]]:
    return [json.loads(line["entry"]) for line in lines if "entry" in line]


def rewritten(made: Certified, lines: Lines, change: Callable[[list[dict[str, Any]]], object]) -> Lines:
    """The chain as a forger with the signing key writes it anew: hashes, links and head fit; the certificates are left out."""
    found = entries(lines)
    change(found)
    previous, made_anew = "0" * 64, []
    for number, entry in enumerate(found):
        entry["number"], entry["previous"] = number, previous
        previous = hash_of(canonical_json(entry))
        made_anew.append({"entry": canonical_json(entry)})
    paid = [entry["number"] for entry in found if entry["kind"] in ("spend", "recall")]
    missing = [{"missing": number, "why": "forged"} for number in paid]
    head = made.signed({**lines[-1]["head"], "number": len(found) - 1, "hash": previous})
    return [lines[0], *made_anew, *missing, {"head": head}]


def first_spend(found: list[dict[str, Any]]) -> dict[str, Any]:
    return next(entry for entry in found if entry["kind"] == "spend")


def cheaper(found: list[dict[str, Any]]) -> None:
    first_spend(found)["price"]["epsilon"] = "1/2"


def noisier(found: list[dict[str, Any]]) -> None:
    first_spend(found)["event"]["events"][0]["scale"] = "1"


def forgotten(found: list[dict[str, Any]]) -> None:
    found.remove(first_spend(found))


def beyond(found: list[dict[str, Any]]) -> None:
    for entry in found:
        entry["cap"] = {"epsilon": "1/10", "delta": "1/1000000"}


def split(found: list[dict[str, Any]]) -> None:
    found[-1]["split"] = "1/3"


def free(found: list[dict[str, Any]]) -> None:
    spent = first_spend(found)
    spent["spent"] = found[spent["number"] - 1]["spent"]


def counted(found: list[dict[str, Any]]) -> None:
    found[-1]["questions"] -= 1


FORGED = [cheaper, noisier, forgotten, beyond, split, free, counted]


def test_a_chain_written_anew_without_a_change_is_whole(made: Certified) -> None:
    assert not wrong(made, rewritten(made, lines_of(made), lambda found: None))


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_chain_is_noticed_though_it_is_signed(made: Certified, forge: Callable[[Any], object]) -> None:
    assert wrong(made, rewritten(made, lines_of(made), forge))


def test_lines_that_are_changed_cut_or_exchanged(made: Certified) -> None:
    lines = lines_of(made)
    places = {name: next(at for at, line in enumerate(lines) if name in line) for name in ("entry", "certificate", "head")}
    for name, at in places.items():
        assert wrong(made, lines[:at] + lines[at + 1 :]), name
        assert wrong(made, lines[: at + 1] + lines[at:]), name
    second = places["entry"] + 1
    assert wrong(made, [*lines[:second], lines[second + 1], lines[second], *lines[second + 2 :]])
    assert wrong(made, lines[1:])
    assert wrong(made, [])
    assert wrong(made, [*lines, lines[1]])


def test_a_kept_head_tells_a_restored_and_a_rewritten_ledger(made: Certified) -> None:
    lines, head = lines_of(made), made.head()
    longer = made.signed({**head, "number": head["number"] + 5})
    assert "its end is missing" in wrong(made, lines, longer)[0]
    other = made.signed({**head, "hash": "0" * 64})
    assert "written anew" in wrong(made, lines, other)[0]
    assert "another ledger" in wrong(made, lines, made.signed({**head, "ledger": "x"}))[0]
    assert "signature" in wrong(made, lines, {**head, "number": 0})[0]
    with_change = rewritten(made, lines, lambda found: found[-1].update(at="2000-01-01"))
    assert not wrong(made, with_change)
    assert "written anew" in wrong(made, with_change, head)[0]


def test_later_ledgers_extend_earlier_heads(made: Certified) -> None:
    head = made.head()
    made.data.session("bob").sql("SELECT COUNT(*) AS n FROM patients", epsilon=1)
    later = [json.loads(line) for line in made.exported("later.jsonl").read_bytes().splitlines()]
    assert not wrong(made, later, head, made.head())
    assert made.head()["number"] > head["number"]
    assert wrong(made, lines_of(made), made.head())


def test_the_sums_are_those_of_the_ledger(made: Certified) -> None:
    report = check(map(text_of, lines_of(made)), [], made.keys)
    spent = entries(lines_of(made))[-1]["spent"]
    assert any(f"epsilon {Fraction(spent['epsilon'])}" in text for text in report.checked if "together" in text)
