"""Certificates and ledgers that somebody with the right key writes, to make a release look safer or more exact than it is."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from certified import Certified, certified, text_of
from tacit_certificate.__main__ import text as text_of_report
from tacit_certificate.check import Certificate, Report
from tacit_certificate.document import digest
from tacit_certificate.ledger import Chain, check
from tacit_certificate.price import leaves

PROCESSOR_SECONDS = 5  # a check of the largest of these takes a tenth of it; unbounded work takes hours
COUNTS, MEAN, GAUSSIAN_KEYS, CUBE, _, KEYS = range(6)  # of the questions in `ASKED`
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    with certified(tmp_path_factory.mktemp("forged")) as clinic:
        yield clinic


def report_on(made: Certified, number: int, change: Change) -> Report:
    document = copy.deepcopy(made.public[number])
    change(document)
    begun = time.process_time()
    report = Certificate(made.signed(document)).check(made.keys)
    assert time.process_time() - begun < PROCESSOR_SECONDS
    return report


def released(change: Change) -> Change:
    """A change of the released values, with their new hash."""

    def changed(document: dict[str, Any]) -> None:
        answer = json.loads(document["released"]["text"])
        change(answer)
        document["released"] |= {"text": json.dumps(answer), "sha256": digest(json.dumps(answer))}

    return changed


def test_released_values_can_be_written_anew(made: Certified) -> None:
    """The forgeries below are refused for what they change."""
    assert not report_on(made, COUNTS, released(lambda answer: None)).wrong


def rule(name: str) -> Change:
    return lambda document: document["intervals"].__setitem__(1, {"column": 1, "rule": name})


def other_noise(document: dict[str, Any]) -> None:
    """The sum has the interval of the count, in its steps: the noise of another mechanism, which is smaller."""
    count, total = document["intervals"][1], document["intervals"][2]
    half = int(count["half_width"]) / 100
    total |= {"mechanism": count["mechanism"], "half_width": f"{int(count['half_width'])}/100".replace("18/100", "9/50")}

    def narrower(answer: dict[str, Any]) -> None:
        column = answer["columns"][2]
        column[3], column[4] = ([value + sign * half for value in column[2]] for sign in (-1, 1))

    released(narrower)(document)


def sum_of_another(document: dict[str, Any]) -> None:
    """The plan says SUM(age), and what was measured and paid for is SUM(cost)."""
    call = document["plan"]["parts"][0]["calls"][1]
    call["over"]["node"] = {**call["over"]["node"], "name": "age", "low": -3, "high": 7}


def of_groups(groups: int) -> Change:
    def changed(document: dict[str, Any]) -> None:
        (keys,) = [each for each in document["mechanisms"] if each["releases"] == "keys"]
        event = next(each for each in leaves(document["event"]) if "max_groups" in each)
        event["max_groups"] = keys["max_groups"] = groups
        if keys["kind"] == "key-threshold":
            keys["scale"] = str(Fraction(groups) / Fraction(keys["epsilon"]))

    return changed


def keys_with(**parts: Any) -> Change:
    """Other numbers of the keys, in the mechanism and in its event."""

    def changed(document: dict[str, Any]) -> None:
        (keys,) = [each for each in document["mechanisms"] if each["releases"] == "keys"]
        for node in (keys, next(each for each in leaves(document["event"]) if "max_groups" in each)):
            node |= {name: value for name, value in parts.items() if name in node}

    return changed


FORGED: dict[str, tuple[int, Change]] = {
    "no intervals": (COUNTS, lambda document: document.update(intervals=[])),
    "the last interval is missing": (COUNTS, lambda document: document["intervals"].pop()),
    "a noisy column that is said to be exact": (COUNTS, rule("exact")),
    "a column with ends that is said to have none": (COUNTS, rule("none")),
    "the noise of another sum": (COUNTS, other_noise),
    "another name": (COUNTS, lambda document: document["released"]["names"].append("more")),
    "a column that was not asked for": (COUNTS, released(lambda answer: answer["columns"].append(answer["columns"][1]))),
    "a column that is missing": (COUNTS, released(lambda answer: answer["columns"].pop())),
    "another confidence": (COUNTS, released(lambda answer: answer.update(confidence="99/100"))),
    "a number of a million digits": (
        COUNTS,
        released(lambda answer: answer["columns"][1][2].__setitem__(0, {"decimal": "1e999999999"})),
    ),
    "a sum that was not measured": (COUNTS, sum_of_another),
    "an aggregate that there is not": (COUNTS, lambda document: document["plan"]["parts"][0]["calls"][0].update(name="exact")),
    "steps that are missing": (MEAN, lambda document: document["derivation"].pop(0)),
    "another first line": (COUNTS, lambda document: document.update(about="This certificate shows everything.")),
    "the threshold of fewer groups": (KEYS, of_groups(2)),
    "a threshold that is too low for so many groups": (KEYS, of_groups(10**9)),
    "a Gaussian threshold that is one lower": (GAUSSIAN_KEYS, keys_with(threshold=25)),
    "a Gaussian threshold of fewer groups": (GAUSSIAN_KEYS, of_groups(2)),
    "Gaussian noise on keys for one group": (GAUSSIAN_KEYS, keys_with(sensitivity="1")),
    "Gaussian noise on keys of half the scale": (GAUSSIAN_KEYS, keys_with(scale="3")),
    "a Gaussian threshold with less delta": (GAUSSIAN_KEYS, keys_with(delta="1/100000")),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_certificate_is_refused_though_it_is_signed(made: Certified, name: str) -> None:
    assert report_on(made, *FORGED[name]).wrong


def test_no_text_of_a_file_commands_a_terminal(made: Certified) -> None:
    """Neither before the signature is checked nor after."""
    unsigned = {**made.public[0], "signature": {"algorithm": "ed25519", "key": "\x1b[2J\u202e", "value": "0" * 128}}
    stated = made.signed({**made.public[0], "stated": ["\x1b]0;valid\x07\nvalid: everything"]})
    for document, valid in ((unsigned, False), (stated, True)):
        report = Certificate(document).check(made.keys)
        assert (not report.wrong) is valid
        printed = text_of_report(report)
        assert all(line.isprintable() for line in printed.split("\n"))
        assert not any(line.startswith("valid: everything") for line in printed.split("\n"))


def test_other_values_than_the_chain_has_are_refused(made: Certified) -> None:
    """Valid by themselves, and signed: the chain has the hash of what was released."""

    def one_more(answer: dict[str, Any]) -> None:
        column = answer["columns"][1]
        column[2:5] = [[value + 1 for value in values] for values in column[2:5]]

    lines = [json.loads(line) for line in made.export.read_bytes().splitlines()]
    assert not check(map(text_of, lines), [], made.keys).wrong
    at = next(number for number, line in enumerate(lines) if "certificate" in line)
    released(one_more)(lines[at]["certificate"])
    lines[at]["certificate"] = made.signed(lines[at]["certificate"])
    assert not Certificate(lines[at]["certificate"]).check(made.keys).wrong
    assert "whose hash the chain has" in check(map(text_of, lines), [], made.keys).wrong[0]


# --- chains ------------------------------------------------------------------------------------------------------------------


def spent(epsilon: str) -> dict[str, str]:
    return {"epsilon": epsilon, "rho": "0" if epsilon == "0" else "1/4", "delta": "0"}


def entry(number: int, kind: str, price: str, after: str, **more: Any) -> dict[str, Any]:
    said = {"ledger": "x", "number": number, "kind": kind, "split": "1/2", "analyst": "ana", "analyst_spent": None, "event": None}
    price_of = {**spent(price), "neighbours": "add-remove unit"}
    return {**said, "cap": {"epsilon": "9", "delta": "0"}, "price": price_of, "spent": spent(after), **more}


def chained(made: Certified, *entries: dict[str, Any]) -> Report:
    """The report on a chain of these entries."""
    from tacit_certificate.document import Wrong, canonical

    chain = Chain(made.keys)
    chain.line({"format": 1, "kind": "export", "ledger": "x"})
    try:
        for each in entries:
            chain.line({"entry": canonical({**each, "previous": chain.hashes[-1]})})
    except Wrong as reason:
        chain.report.wrong.append(str(reason))
    return chain.report


BEGIN = entry(0, "begin", "0", "0")
PAID = entry(1, "spend", "1", "1", questions=1)


def test_an_entry_without_its_event_is_listed_as_stated(made: Certified) -> None:
    report = chained(made, BEGIN, PAID)
    assert not report.wrong
    assert any("entry 1 has no event" in text for text in report.stated)


@pytest.mark.parametrize(("after", "steps", "valid"), [("1", "1", True), ("3", "3", True), ("0", "1", False), ("1", "3", False)])
def test_other_units_cannot_lower_the_sums(made: Certified, after: str, steps: str, valid: bool) -> None:
    sums = {"spent": {**spent(after), "rho": "9/4" if valid else "0"}, "details": {"steps": steps}}
    assert (not chained(made, BEGIN, PAID, entry(2, "units", "0", "0", **sums)).wrong) is valid


def test_another_cap_is_told(made: Certified) -> None:
    raised = entry(2, "note", "0", "1", cap={"epsilon": "100", "delta": "0"})
    told = [text for text in chained(made, BEGIN, PAID, raised).checked if "the cap from entry" in text]
    assert told == ["the cap from entry 0 on: epsilon 9, delta 0", "the cap from entry 2 on: epsilon 100, delta 0"]


def test_the_first_sum_of_an_analyst_covers_the_price(made: Certified) -> None:
    assert not chained(made, BEGIN, {**PAID, "analyst_spent": spent("1")}).wrong
    assert chained(made, BEGIN, {**PAID, "analyst_spent": spent("0")}).wrong
