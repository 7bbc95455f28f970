"""A certificate is refused after any edit; and where the edit is signed, because the numbers no longer follow from each other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from certified import Certified, certified, text_of
from tacit_certificate.check import Certificate
from tacit_certificate.document import Wrong, read_canonical

FOLLOWING = ("derivation", "mechanisms", "event", "price", "intervals")  # fields that follow from plan, facts and what was asked


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    with certified(tmp_path_factory.mktemp("edits")) as clinic:
        yield clinic


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all leaves; of an empty list or object, its own."""
    inner = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    if not inner:
        yield path
    for key, value in inner:
        yield from places(value, (*path, key))


def flipped(value: Any) -> Any:
    """Another value of the same type: the last digit or letter, the other truth, something where nothing was."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str) and value:
        return value[:-1] + ("1" if value[-1] == "0" else chr(ord(value[-1]) - 1) if value[-1] not in "aA" else "b")
    return "0" if isinstance(value, str) else ["0"] if isinstance(value, list) else {"new": 0}


def edited(document: Any, path: tuple[Any, ...]) -> Any:
    document = copy.deepcopy(document)
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = flipped(node[path[-1]])
    return document


def test_untouched_certificates_are_valid(made: Certified) -> None:
    for document in (*made.public, *made.auditor):
        report = Certificate(read_canonical(text_of(document))).check(made.keys)
        assert not report.wrong
        assert report.checked


@pytest.mark.parametrize("number", range(5))
def test_every_field_is_signed(made: Certified, number: int) -> None:
    for form in (made.public, made.auditor):
        found = list(places(form[number]))
        assert len(found) > 100
        for path in found:
            assert Certificate(edited(form[number], path)).check(made.keys).wrong, path


def test_a_missing_a_new_and_a_repeated_field_are_refused(made: Certified) -> None:
    document = made.public[0]
    for name in document:
        assert Certificate({key: value for key, value in document.items() if key != name}).check(made.keys).wrong, name
    assert Certificate({**document, "more": 1}).check(made.keys).wrong
    assert Certificate(made.signed({**document, "more": 1})).check(made.keys).wrong
    text = text_of(document)
    for other in (
        text[:-1],
        text + b"\n",
        b" " + text,
        text.replace(b'"way":', b'"way":"question","way":'),
        text.replace(b":", b": ", 1),
    ):
        with pytest.raises(Wrong):
            read_canonical(other)


@pytest.mark.parametrize("number", range(5))
def test_what_follows_is_derived_again_and_not_believed(made: Certified, number: int) -> None:
    """Each number of the derivation, the mechanisms, the events and the price, edited and signed by the right key."""
    words = {"proof", "rule", "because", "member", "dimension", "table", "candidates", "points", "branches", "confidence", "gamma"}
    passed = []
    for name in FOLLOWING:
        for path in places(made.public[number][name], (name,)):
            if words & {*path} or path in HARMLESS or path[:1] + path[2:] == ("mechanisms", "rows"):
                continue
            report = Certificate(made.signed(edited(made.public[number], path))).check(made.keys)
            if not report.wrong:
                passed.append(path)
    assert not passed, "\n".join(map(str, passed))


HARMLESS = {("price", "rho"), ("mechanisms", 0, "rho")}  # whose last digits are less than what they may be rounded by
LOOSER = [  # of the plan and the facts: what would make the true price higher
    (("plan", "parts", 0, "group", "child", "max_rows"), 0),
    (("facts", "tables", "visits", "columns", "cost", "points"), 0),
]


@pytest.mark.parametrize(("path", "number"), LOOSER)
def test_another_plan_has_another_price(made: Certified, path: tuple[Any, ...], number: int) -> None:
    assert Certificate(made.signed(edited(made.public[number], path))).check(made.keys).wrong


def test_a_limit_of_rows_is_at_most_the_declared_one(made: Certified) -> None:
    document = copy.deepcopy(made.public[0])
    document["facts"]["tables"]["visits"]["max_rows"] -= 1
    assert "rows of one unit; declared are 2" in Certificate(made.signed(document)).check(made.keys).wrong[0]


def test_an_unknown_key_is_refused(made: Certified) -> None:
    assert "not among the trusted" in Certificate(made.public[0]).check({}).wrong[0]


def test_half_widths_one_step_too_short_are_refused(made: Certified) -> None:
    document = copy.deepcopy(made.public[0])
    (law,) = [each for each in document["intervals"] if each["rule"] == "law-of-noise" and each["weight"] == "1"]
    law["half_width"] = str(int(law["half_width"]) - 1)
    assert any("misses more often" in text for text in Certificate(made.signed(document)).check(made.keys).wrong)


def test_a_value_that_is_not_in_the_middle_of_its_ends_is_refused(made: Certified) -> None:
    from tacit_certificate.document import digest

    document = copy.deepcopy(made.public[0])
    text = document["released"]["text"]
    low = text.index("[", text.index("[", text.index('"count"') + 8) + 1)  # the low ends of the first count
    changed = text[: low + 1] + "1" + text[low + 1 :]
    document["released"] |= {"text": changed, "sha256": digest(changed)}
    assert any("has ends" in reason for reason in Certificate(made.signed(document)).check(made.keys).wrong)
