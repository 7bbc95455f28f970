"""Arguments that nobody should give: whatever they are, they are refused in words, and nothing raw leaves.

`make test` tries a few thousand; `make verify` tries all of them and prints how many.
"""

from __future__ import annotations

import datetime
import os
import pathlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import arguments
import tacit
from tacit.doors.cli import app
from tacit.errors import TacitError, Unforeseen
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.language import nodes
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.explain import explained
from tacit.query.price.price import price, request

COUNT = "SELECT COUNT(*) FROM visits"
KEYS = "SELECT note, COUNT(*), MEDIAN(cost) FROM visits GROUP BY note"
Told = dict[str, list[str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tacit.DataSet:
    folder = tmp_path_factory.mktemp("arguments")
    for name, content in (("visits.csv", arguments.VISITS), ("wards.csv", arguments.WARDS), ("tacit.toml", arguments.CATALOG)):
        (folder / name).write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        found = tacit.open(folder / "tacit.toml")
        found.prepare(new_ledger=True)
    return found


def raw(work: Callable[[], Any]) -> str:
    """The kind of an exception that is not of the closed list; nothing for a result or an error of tacit's own."""
    try:
        work()
    except Unforeseen:
        return "Unforeseen"
    except TacitError:
        return ""
    except Exception as error:
        return type(error).__name__
    return ""


def found_raw(calls: Iterable[tuple[str, Callable[[], Any]]]) -> tuple[int, Told]:
    """How many calls there were, and by kind of exception those that were not answered or refused."""
    found: Told = {}
    count = 0
    for words, work in calls:
        count += 1
        if kind := raw(work):
            found.setdefault(kind, []).append(words)
    return count, found


# --- SQL ---------------------------------------------------------------------------------------------------------------------


def planned(data: tacit.DataSet, question: str) -> Callable[[], Any]:
    """Everything that happens to a question before it is paid for, without the one exit at the end of it."""

    def plan() -> None:
        asked = request(epsilon=1, delta="1e-9")
        quote = price(rewrite(parse(question), data.catalog, data.public), asked, data.catalog.change)[0]
        str(explained(quote, ""))

    return plan


def questions(data: tacit.DataSet, texts: Iterable[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    return ((text, planned(data, text)) for text in texts)


def test_every_function_with_wrong_arguments_is_refused_in_words(data: tacit.DataSet) -> None:
    count, found = found_raw(questions(data, arguments.quick_questions()))
    assert found == {}
    assert count > 1500


@pytest.mark.slow
def test_every_function_with_all_arguments_is_refused_in_words(data: tacit.DataSet, capsys: pytest.CaptureFixture[str]) -> None:
    count, found = found_raw(questions(data, arguments.all_questions()))
    with capsys.disabled():
        print(f"\n{count:,} questions with wrong arguments, {sum(map(len, found.values()))} unforeseen")
    assert found == {}
    assert count > 150_000


@pytest.mark.slow
def test_what_is_not_refused_is_answered(data: tacit.DataSet) -> None:
    """Whatever has a price can be answered: no question that was paid for ends in an error of the engine."""
    session, kinds = data.session(), Counter[str]()
    for text in dict.fromkeys(arguments.all_questions()):
        if priced(data, text):
            try:
                session.sql(text, epsilon=1, delta="1e-9")
                kinds["answered"] += 1
            except TacitError as error:
                kinds[type(error).__name__] += 1
    assert kinds["answered"] > 500
    assert set(kinds) == {"answered"}


def priced(data: tacit.DataSet, text: str) -> bool:
    try:
        planned(data, text)()
    except TacitError:
        return False
    return True


def test_a_function_without_its_number_of_arguments_is_found(data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: nobody counts."""
    monkeypatch.setattr(nodes, "TAKES", dict.fromkeys(nodes.TAKES, (0, 9)))
    texts = [text for text in arguments.quick_questions() if "COUNT()" in text or "QUANTILE_CONT()" in text]
    _, found = found_raw(questions(data, [*texts, "SELECT COUNT(*) FROM visits WHERE SUBSTRING(ward) = 'a'"]))
    assert len(found["IndexError"]) >= 2
    assert len(found["TypeError"]) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("COUNT()", "COUNT takes 1 argument, not 0; write COUNT(*) or COUNT(column)"),
        ("QUANTILE_CONT()", "QUANTILE takes 2 arguments, not 0; write QUANTILE_CONT(column, 0.5)"),
        ("COUNT(SUBSTRING(ward))", "SUBSTRING takes 2 to 3 arguments, not 1; write SUBSTRING(column, 1, 3)"),
        ("SUM(VAR_MAP(cost))", "invalid SQL syntax; check the arguments of its functions"),
    ],
)
def test_the_words_say_what_to_write(data: tacit.DataSet, call: str, words: str) -> None:
    with pytest.raises(TacitError) as caught:
        data.session().explain(f"SELECT {call} FROM visits")
    assert str(caught.value).endswith(words)


def test_many_joins_are_no_number_too_large(data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """135 joins of 300 rows each: one person has 10^334 rows, which no float holds."""
    monkeypatch.setattr(DuckDBEngine, "fan_out", lambda *_: 300)
    joins = " ".join(f"JOIN wards AS w{place} ON visits.ward = w{place}.ward" for place in range(135))
    assert raw(lambda: data.session().explain(f"SELECT COUNT(*) FROM visits {joins}", epsilon=1)) == ""


# --- Python ------------------------------------------------------------------------------------------------------------------

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 10**5000, 2**64, 0.0, 1e308, float("nan"), float("inf"), -float("inf"), 1j,
    "", "x", "\ud800", "1\x00", "1e400", "1/0", "\u0967", "a\nb", "x" * 100_000, COUNT, b"1", bytearray(b"1"), memoryview(b"ab"),
    np.array(1.0), np.array([1.0]), np.array([1.0, 2.0]), np.array([[]]), np.array(["x"]), np.float64("nan"), np.int64(1),
    np.datetime64("2020-01-01"), [], [1], [[1, [2]]], (1,), {}, {"a": 1}, {1}, range(3), object(), int, Ellipsis, lambda: 1,
    Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), Fraction(1, 3), Fraction(1, 10**400), datetime.date(2020, 1, 1),
    pathlib.Path("x"),
)  # fmt: skip
BUDGET = ("epsilon", "delta", "error", "confidence", "simultaneous")


def of_sessions(data: tacit.DataSet) -> dict[str, Callable[[Any], Any]]:
    """Every argument of a session and of a question that is built in Python, as a function of what is given there."""
    session, table = data.session(), data.session().table("visits")
    counted = table.agg("count(*)")
    calls: dict[str, Callable[[Any], Any]] = {
        "question": lambda given: session.explain(given),
        "an unknown argument": lambda given: session.explain(COUNT, epsilonn=given),
        "table": lambda given: session.table(given).agg("count(*)").explain(),
        "where": lambda given: table.where(given).agg("count(*)").explain(),
        "group_by": lambda given: table.group_by(given).agg("count(*)").explain(),
        "group_by named": lambda given: table.group_by(a=given).agg("count(*)").explain(),
        "agg": lambda given: table.agg(given).explain(),
        "agg named": lambda given: table.agg(n=given).explain(),
        "agg name": lambda given: table.agg(**{given if isinstance(given, str) else "n": "count(*)"}).explain(),
        "having": lambda given: counted.having(given).explain(),
        "order_by": lambda given: counted.order_by(given).explain(),
        "descending": lambda given: counted.order_by("count(*)", descending=given).explain(),
        "limit": lambda given: counted.limit(given).explain(),
        "join": lambda given: table.join(given, using="ward").agg("count(*)").explain(),
        "using": lambda given: table.join("wards", using=given).agg("count(*)").explain(),
        "on": lambda given: table.join("wards", on=given).agg("count(*)").explain(),
        "analyst": lambda given: data.session(given).explain(COUNT),
        "accounts": lambda given: data.accounts(given),
        "open": lambda given: tacit.open(given),
        "steps": lambda given: data.accept_units(given, "a test"),
    }
    for name in BUDGET:
        base = {} if name in ("epsilon", "error") else {"epsilon": 1}
        calls[name] = lambda given, name=name, base=base: session.explain(COUNT, **{**base, name: given})
        calls[f"{name} with keys"] = lambda given, name=name, base=base: session.explain(
            KEYS, **{"delta": "1e-9", **base, name: given}
        )
    return calls


def of_answers(data: tacit.DataSet) -> dict[str, Callable[[Any], Any]]:
    """The same where questions are paid for and the data owner acts: it takes longer."""
    session, table = data.session(), data.session().table("visits")
    calls: dict[str, Callable[[Any], Any]] = {
        "sql": lambda given: session.sql(given, epsilon="0.01"),
        "name": lambda given: table.agg(**{given if isinstance(given, str) else "n": "count(*)"}).release(epsilon="0.01"),
        "limit": lambda given: table.agg("count(*)").limit(given).release(epsilon="0.01"),
        "analyst": lambda given: data.session(given).sql(COUNT, epsilon="0.01"),
        "memory": lambda given: data.prepare(memory=given),
        "prepare with a reason": lambda given: data.prepare(reason=given),
        "new_ledger": lambda given: data.prepare(new_ledger=given),
        **{act: lambda given, act=act: getattr(data, act)(given) for act in ("adopt", "resume", "begin_ledger")},
    }
    for name in BUDGET:
        base = {} if name in ("epsilon", "error") else {"epsilon": "0.01"}
        calls[name] = lambda given, name=name, base=base: session.sql(COUNT, **{**base, name: given})
    return calls


MECHANISMS: dict[type, dict[str, Any]] = {
    tacit.Laplace: {"sensitivity": 1, "epsilon": 1},
    tacit.Gaussian: {"sensitivity": 1, "rho": 1},
    tacit.Exponential: {"sensitivity": 1, "epsilon": 1},
    tacit.NoisyMax: {"sensitivity": 1, "epsilon": 1},
    tacit.Quantile: {"epsilon": 1, "q": 0.5, "lower": 0, "upper": 10, "step": 1},
    tacit.QuantileWithInterval: {"epsilon": 1, "q": 0.5, "lower": 0, "upper": 10, "step": 1},
    tacit.SmoothQuantile: {"epsilon": 1, "q": 0.5, "lower": 0, "upper": 10, "step": 1},
    tacit.SmoothTrimmedMean: {"epsilon": 1, "trim": 2, "lower": 0, "upper": 10, "step": 1},
    tacit.KeyThreshold: {"epsilon": 1, "delta": 1e-6, "max_groups": 3},
    tacit.GaussianKeyThreshold: {"rho": 0.03, "delta": 1e-6, "max_groups": 3},
    tacit.SparseVector: {"sensitivity": 1, "threshold": 3, "positives": 2, "epsilon_threshold": 1, "epsilon_answers": 1},
    tacit.RandomizedResponse: {"epsilon": 1},
    tacit.DirichletResampling: {"blocks": 3, "noise": 4, "draws": 5},
    tacit.Pure: {"epsilon": 1},
    tacit.Approximate: {"epsilon": 1, "delta": 1e-6},
    tacit.Concentrated: {"rho": 1},
}


def of_mechanisms() -> dict[str, Callable[[Any], Any]]:
    """Every number that a mechanism or a loss is made with, and every value that is released."""
    calls: dict[str, Callable[[Any], Any]] = {}
    for kind, usual in MECHANISMS.items():
        for name in usual:
            calls[f"{kind.__name__} {name}"] = lambda given, kind=kind, usual=usual, name=name: kind(**{**usual, name: given})
        made = kind(**usual)
        for method in ("release", "interval"):
            if hasattr(made, method):
                calls[f"{kind.__name__}.{method}"] = getattr(made, method)
    return calls


def with_junk(calls: dict[str, Callable[[Any], Any]], each: int | None = None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every call with every piece of junk, or with `each` of them, chosen by a fixed seed."""
    draw = Random(7)
    for name, call in calls.items():
        for given in JUNK if each is None else draw.sample(JUNK, each):
            yield f"{name} of {type(given).__name__}", lambda call=call, given=given: call(given)


def test_arguments_of_a_session_are_refused_in_words(data: tacit.DataSet) -> None:
    count, found = found_raw(with_junk(of_sessions(data)))
    assert found == {}
    assert count > 1500


def test_arguments_of_mechanisms_are_refused_in_words() -> None:
    count, found = found_raw(with_junk(of_mechanisms(), each=12))
    assert found == {}
    assert count > 500


@pytest.mark.slow
def test_arguments_after_which_something_is_spent_are_refused_in_words(
    data: tacit.DataSet, capsys: pytest.CaptureFixture[str]
) -> None:
    calls, mechanisms = found_raw(with_junk(of_answers(data))), found_raw(with_junk(of_mechanisms()))
    with capsys.disabled():
        print(f"\n{calls[0] + mechanisms[0]:,} arguments of Python, {len(calls[1]) + len(mechanisms[1])} kinds unforeseen")
    assert (calls[1], mechanisms[1]) == ({}, {})
    assert [entry for entry in data.ledger.entries() if entry.kind == "failure"] == []


# --- the command line --------------------------------------------------------------------------------------------------------

TYPED = (
    "", "x", "-1", "0", "0.5", "1e400", "1e-400", "nan", "inf", "9" * 5000, "\u0663", "1/0", "1,2", "a,b", "{}", "*", "'", "\n",
    "\x1b[31m", "/dev/null", "/nonexistent/x", ".", "visits.csv", "visits.csv/x", "tacit.toml", "postgresql://h:p/x",
)  # fmt: skip
COMMANDS = ("init", "check", "prepare", "sql", "explain", "budget", "history", "ledger")
ASKING = {("sql",): [COUNT, "--epsilon", "0.01"], ("explain",): [COUNT]}


def commands(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the areas above, by its words."""
    parts = getattr(found, "commands", {})
    if not parts:
        yield path, found
    for name, part in parts.items():
        if path or name in COMMANDS:
            yield from commands(part, (*path, name))


def typed(draw: Random | None = None, each: int = 0) -> Iterator[list[str]]:
    """Every command with junk in the place of each option's value, and of its arguments."""
    for path, command in commands(typer.main.get_command(app)):
        named = [each for each in command.params if each.param_type_name == "option" and not each.is_flag and each.name != "help"]
        given = [each for each in command.params if each.param_type_name == "argument"]
        usual = ASKING.get(path, ["visits.csv"] if given else [])
        tries = [[*path, *usual, option.opts[0], junk] for option in named for junk in TYPED]
        tries += [[*path, junk] for junk in TYPED] if given else []
        yield from tries if draw is None else draw.sample(tries, min(each, len(tries)))


def unforeseen_on_the_screen(words: list[str]) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return type(result.exception).__name__
    return "" if result.exit_code in range(5) and "failed unexpectedly" not in result.stderr else f"exit code {result.exit_code}"


def check_typed(data: tacit.DataSet, tries: Iterable[list[str]], folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many were tried; fails for those that ended in a way that nobody foresaw."""
    monkeypatch.chdir(data.catalog.folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    for variable in ("TACIT_CATALOG", "TACIT_ANALYST"):
        monkeypatch.delenv(variable, raising=False)
    kept = {file: file.read_bytes() for file in data.catalog.folder.iterdir() if file.is_file()}
    tried = 0
    for words in tries:
        tried += 1
        assert unforeseen_on_the_screen(words) == "", words
        for file, content in kept.items():
            if not file.exists() or file.read_bytes() != content:  # `init --out` may write where it is told to
                file.write_bytes(content)
    return tried


def test_junk_on_the_command_line_is_refused_in_words(
    data: tacit.DataSet, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_typed(data, typed(Random(3), 3), tmp_path, monkeypatch) > 30


@pytest.mark.slow
def test_all_junk_on_the_command_line_is_refused_in_words(
    data: tacit.DataSet, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = check_typed(data, typed(), tmp_path, monkeypatch)
    with capsys.disabled():
        print(f"\n{tried:,} commands with junk, none unforeseen")
    assert tried > 700


def test_an_error_that_is_not_caught_is_found_on_the_screen(data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a command that falls over something that nobody thought of."""
    monkeypatch.chdir(data.catalog.folder)
    monkeypatch.setattr("tacit.session.DataSet.accounts", lambda *_: [][0])
    assert unforeseen_on_the_screen(["budget"]) == "exit code 4"
    assert os.path.exists(data.catalog.kept / "log" / "unforeseen.log")
