"""Hostile files are refused with a reason and within bounded work: none of them is a crash, a long wait or a large number."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from certified import Certified, certified, text_of
from tacit_certificate import numbers
from tacit_certificate.__main__ import main
from tacit_certificate.check import Certificate
from tacit_certificate.document import MOST_BYTES, Wrong, rational, read, read_canonical, read_keys

PROCESSOR_SECONDS = 5  # a check of the largest of these takes a tenth of it; unbounded work takes hours


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    with certified(tmp_path_factory.mktemp("hostile")) as clinic:
        yield clinic


TEXTS = {
    "nested": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n",
    "a key twice": b'{"a":1,"a":2}\n',
    "not a number": b'{"a":NaN}\n',
    "infinite": b'{"a":Infinity}\n',
    "a float": b'{"a":1.5}\n',
    "a gigabyte exponent": b'{"a":1e999999999}\n',
    "a million digits": b'{"a":' + b"9" * 1_000_000 + b"}\n",
    "not ASCII": '{"a":"é"}\n'.encode(),
    "blanks": b'{"a": 1}\n',
    "keys in another order": b'{"b":1,"a":2}\n',
    "no line feed": b'{"a":1}',
    "two line feeds": b'{"a":1}\n\n',
    "cut": b'{"a":',
    "another escape": b'{"\\u0061":1}\n',
    "nothing": b"",
}


@pytest.mark.parametrize("name", TEXTS)
def test_such_a_text_is_refused(name: str) -> None:
    begun = time.process_time()
    with pytest.raises(Wrong):
        read_canonical(TEXTS[name])
    assert time.process_time() - begun < PROCESSOR_SECONDS


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(Wrong, match="bytes"):
        read(b'"' + b"a" * MOST_BYTES + b'"')


@pytest.mark.parametrize(
    "text", ["1e9", "1.5", " 1", "2/4", "1/0", "1/-2", "+1", "01", "1/01", "-0", "１", "9" * 2001, "", "nan", None, 1, "1/1"]
)
def test_such_a_rational_is_refused(text: Any) -> None:
    with pytest.raises((Wrong, ZeroDivisionError)):
        rational(text)


HUGE = "1" + "0" * 900
EDITS: list[tuple[tuple[Any, ...], Any]] = [
    (("event", "events", 0, "scale"), "1/" + HUGE),
    (("event", "events", 0, "sensitivity"), HUGE),
    (("event", "events", 0, "scale"), "-1"),
    (("event", "events", 0, "kind"), "free"),
    (("event", "events"), []),
    (("price", "epsilon"), HUGE),
    (("cap", "epsilon"), "0"),
    (("cap", "split"), "2"),
    (("asked", "confidence"), "1"),
    (("plan", "parts"), []),
    (("plan", "parts", 0, "group", "child"), {"is": "Scan", "table": "visits", "source": 0}),
    (("plan", "parts", 0, "group", "child"), {"is": "Everything"}),
    (("plan", "parts", 0, "group", "moments", 0, "kind"), "secret"),
    (("plan", "parts", 0, "group", "keys"), [{}] * 100_000),
    (("plan", "parts", 0, "group", "per_group"), 0),
    (("facts", "tables"), {}),
    (("facts", "tables", "visits", "max_rows"), -1),
    (("derivation",), []),
    (("mechanisms",), []),
    (("mechanisms", 0, "part"), -1),
    (("mechanisms", 0, "events"), [0, 0]),
    (("intervals", 1, "half_width"), HUGE),
    (("released", "text"), "NaN"),
    (("released",), None),
    (("signature",), {}),
]


@pytest.mark.parametrize(("path", "value"), EDITS, ids=[f"{path}"[:60] for path, _ in EDITS])
def test_such_a_field_is_refused_though_it_is_signed(made: Certified, path: tuple[Any, ...], value: Any) -> None:
    document = copy.deepcopy(made.public[0])
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    begun = time.process_time()
    report = Certificate(document if path == ("signature",) else made.signed(document)).check(made.keys)
    assert report.wrong
    assert all(len(text) < 3000 for text in report.wrong)
    assert time.process_time() - begun < PROCESSOR_SECONDS


def test_a_plan_that_takes_long_is_bounded(made: Certified) -> None:
    """CASE with many branches in CASE: each branch is looked at under the conditions of all those before it."""
    document = copy.deepcopy(made.public[0])
    group = document["plan"]["parts"][0]["group"]
    moment = next(each for each in group["moments"] if each["kind"] == "sum")
    column, ends = moment["value"], {"low": 0, "high": 4999, "nullable": True}
    for depth in range(12):
        tests = [{"is": "Compare", "operator": "<", "left": column, "right": {"is": "Literal", "value": at}} for at in range(20)]
        branches = [[test, {"is": "Add", "left": column, "right": {"is": "Literal", "value": depth}, **ends}] for test in tests]
        moment["value"] = {"is": "Choose", "branches": branches, "otherwise": moment["value"], **ends}
    begun = time.process_time()
    assert Certificate(made.signed(document)).check(made.keys).wrong
    assert time.process_time() - begun < PROCESSOR_SECONDS


def test_joins_of_too_many_members_are_refused(made: Certified) -> None:
    document = copy.deepcopy(made.public[0])
    group = document["plan"]["parts"][0]["group"]
    joined = group["child"]
    for at in range(12):
        other = {"is": "Bound", "max_rows": 3, "child": {"is": "Scan", "table": "visits", "source": 10 + 2 * at}}
        joined = {
            "is": "UnitJoin",
            "child": joined,
            "other": other,
            "pairs": [],
            "kind": "inner",
            "once": False,
            "here": 11 + 2 * at,
        }
    group["child"] = joined
    assert "relations are joined" in Certificate(made.signed(document)).check(made.keys).wrong[0]


@pytest.mark.parametrize("exponent", [10**6, -(10**6)])
def test_exponents_are_limited(exponent: int) -> None:
    from fractions import Fraction

    with pytest.raises(Wrong):
        numbers.exp(Fraction(exponent))


def test_hostile_keys_are_refused(made: Certified, tmp_path: Any) -> None:
    listed = json.loads(made.key_file.read_text())
    own = listed["keys"][0]
    for keys in (
        {**listed, "keys": [{**own, "id": "0" * 16}]},
        {**listed, "keys": [{**own, "public": "00"}]},
        {**listed, "keys": [own, {**own, "signed_by": own["id"], "value": "0" * 128}]},
        {**listed, "keys": [own, {**own, "signed_by": None}]},
    ):
        with pytest.raises((Wrong, ValueError, TypeError)):
            read_keys(json.dumps(keys).encode())
        (tmp_path / "keys.json").write_text(json.dumps(keys))
        (tmp_path / "c.json").write_bytes(text_of(made.public[0]))
        assert main([str(tmp_path / "c.json"), "--key", str(tmp_path / "keys.json")]) == 1
    with pytest.raises(Wrong):
        read_keys(b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")


def test_exit_codes(made: Certified, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(text_of(made.public[0]))
    key = str(made.key_file)
    assert main([str(file), "--key", key]) == 0
    assert "valid:" in capsys.readouterr().out
    assert main([str(file), "--key", key, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] is True
    file.write_bytes(text_of(made.public[0]).replace(b'"rows":3', b'"rows":2'))
    assert main([str(file), "--key", key]) == 1
    assert "WRONG" in capsys.readouterr().out
    assert main([str(tmp_path / "missing.json"), "--key", key]) == 2
    with pytest.raises(SystemExit) as usage:
        main(["--key", key])
    assert usage.value.code == 2
