"""A list of questions on a session: one price, one entry, all or none; free again, and no business of others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from hospital import files, hospital_session
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import BudgetExceeded, InvalidInput, NotAllowed, Refused, TacitError, TimedOut
from tacit.release.answers import Answers
from tacit.session import Session
from tacit.session import open as open_data
from tacit_certificate.check import Certificate

OF_WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
OF_KINDS = "SELECT kind, COUNT(*) AS n, SUM(cost) AS c FROM visits GROUP BY kind"
URGENT = "SELECT COUNT(*) AS n FROM visits WHERE urgent"
LIST = [OF_WARDS, OF_KINDS, URGENT]


@pytest.fixture
def ana(tmp_path: Path) -> Iterator[Session]:
    with hospital_session(tmp_path) as session:
        yield session


def spends(session: Session) -> int:
    return session.data.ledger.head.questions


def numbers(made: Answers) -> list[object]:
    return [column.values for answer in made for column in answer.columns]


def test_a_list_is_one_entry_at_one_price_and_free_again(ana: Session) -> None:
    made = ana.ask(LIST, epsilon=1)
    assert [len(answer) for answer in made] == [5, 3, 1]
    assert [column.name for answer in made for column in answer.columns] == ["ward", "n", "kind", "n", "c", "n"]
    assert spends(ana) == 1
    assert (made.receipt.epsilon, made.receipt.entry, made.receipt.again) == (1, 1, False)
    again = ana.ask(";\n".join(LIST), epsilon=1)
    assert numbers(again) == numbers(made)
    assert again.receipt.again
    assert spends(ana) == 1
    renamed = ana.ask([OF_WARDS.replace("AS n", "AS visits"), *LIST[1:]], epsilon=1)
    assert renamed[0].columns[1].name == "visits"
    assert renamed.receipt.again


def test_other_lists_are_other_questions(ana: Session) -> None:
    ana.ask(LIST, epsilon="0.25")
    ana.ask(LIST[::-1], epsilon="0.25")
    ana.sql(OF_WARDS, epsilon="0.25")
    ana.ask(LIST, epsilon="0.5", simultaneous=True)
    assert spends(ana) == 4


def test_a_list_of_one_question_is_that_question(ana: Session) -> None:
    alone = ana.sql(OF_WARDS, epsilon="0.25")
    made = ana.ask([OF_WARDS], epsilon="0.25")
    assert made.receipt.again
    assert made[0].columns == alone.columns


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ([OF_WARDS, "SELECT COUNT(*) FROM nowhere"], "question 2"),
        ([OF_WARDS, "SELECT name FROM visits"], "question 2"),
        ([OF_WARDS, "SELECT 1"], "question 2: it is free"),
        (f"{OF_WARDS}; {OF_KINDS} ORDER BY nothing", "question 2"),
        ([OF_WARDS, f"SELECT * FROM ({OF_KINDS}) AS t"], "question 2"),
        ([], "a list of questions must be SQL"),
        (5, "a list of questions must be SQL"),
    ],
)
def test_one_refusal_refuses_the_list_before_anything_is_spent(ana: Session, asked: object, says: str) -> None:
    with pytest.raises(TacitError, match=says):
        ana.ask(asked, epsilon=1)  # type: ignore[arg-type]
    assert spends(ana) == 0
    assert ana.questions_left(1) == 2


def test_what_is_of_one_question_alone_is_refused(ana: Session) -> None:
    with pytest.raises(NotAllowed, match="weights are those"):
        ana.ask(LIST, epsilon=1, weights={"n": 2})
    with pytest.raises(InvalidInput, match="loss must be one of"):
        ana.ask(LIST, epsilon=1, loss="cubes")
    with pytest.raises(BudgetExceeded):
        ana.ask(LIST, epsilon=5)
    with pytest.raises(TacitError, match="expected one statement, not 3"):
        ana.sql("; ".join(LIST), epsilon=1)
    assert spends(ana) == 0


def test_parameters_are_those_of_the_whole_text(ana: Session) -> None:
    texts = ["SELECT COUNT(*) AS n FROM visits WHERE cost > :cost", "SELECT COUNT(*) AS n FROM visits WHERE cost < ? AND cost > ?"]
    with pytest.raises(TacitError):
        ana.ask(texts, epsilon="0.1", params={"cost": 10})
    made = ana.ask([texts[0], texts[0].replace(">", "<")], epsilon="0.1", params={"cost": 10})
    assert made[1].asked.endswith("WHERE cost < 10")
    with pytest.raises(Refused, match="no parameter"):
        ana.ask(LIST, epsilon="0.1", params={"cost": 10})


def test_an_explanation_of_a_list_spends_nothing_and_says_what_it_costs(ana: Session) -> None:
    said = ana.explain(LIST, epsilon=1)
    assert [error.column for error in said.errors] == ["n (question 1)", "n (question 2)", "c (question 2)", "n (question 3)"]
    assert [heading.name for heading in said.columns] == ["ward", "n", "kind", "n", "c", "n"]
    assert said.epsilon == 1
    assert ana.explain("; ".join(LIST), epsilons=[1, 2]).budgets[1].epsilon == 2
    assert spends(ana) == 0
    made = ana.ask(LIST, epsilon=1)
    widths = [(column.high[0] - column.low[0]) / 2 for answer in made for column in answer.columns if column.is_number]
    for error, width in zip(said.errors, widths, strict=True):
        half = float(error.half_width)  # around the estimate and its rounding by at most 1; the ends are whole numbers inside
        assert half * (1 - 1e-3) - 2 < width <= half * (1 + 1e-3)


def test_the_entry_has_the_texts_and_the_certificate_is_checked(ana: Session) -> None:
    made = ana.ask([OF_WARDS, f"{OF_KINDS} -- with a comment", URGENT], epsilon=1, delta="1e-9")
    assert ana.history(1)[0]["question"].count(";") == 2
    document = json.loads(made.certificate.to_json())
    report = Certificate(document).contents()
    assert not report.wrong
    assert made.certificate.to_json() == ana.certificate(made.receipt.entry or 0).to_json()
    assert document["released"]["names"] == ["ward", "n", "kind", "n", "c", "n"]
    for change in (lambda told: told.update(names=["ward"]), lambda told: told.update(text=told["text"].replace("5", "6"))):
        forged = json.loads(made.certificate.to_json())
        change(forged["released"])
        assert Certificate(forged).contents().wrong


def test_tidy_answers_are_counts(ana: Session) -> None:
    made = ana.ask(LIST, epsilon="0.01", tidy=True)
    assert all(number >= 0 for answer in made for number in answer["n"])
    assert all(answer.tidied for answer in made)


def test_answers_are_plain_values_with_one_price(ana: Session) -> None:
    made = ana.ask(LIST, epsilon=1)
    told = json.loads(made.to_json())
    assert told["price"] == {"epsilon": "1", "delta": "0"}
    assert [len(each["rows"]) for each in told["answers"]] == [5, 3, 1]
    assert told["entry"] == 1
    assert "price" not in told["answers"][0]
    assert str(made).count("Spent: epsilon 1") == 1
    assert made.labelled()[0]["n"] == made[0]["n"]
    assert "<table" in made._repr_html_()


def test_a_list_that_fails_stays_spent_as_a_whole(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> object:
        raise TimedOut("planted")

    monkeypatch.setattr(type(ana.data.runner), "noisy", fails)
    with pytest.raises(TimedOut):
        ana.ask(LIST, epsilon=1)
    assert ana.data.ledger.left("ana").epsilon <= Fraction(1)
    assert spends(ana) == 1


TWO = "\n[analysts.bob]\nepsilon = 2\n"


def asked(session: Session, released: list[object]) -> Answers:
    """The answers to the list: its noisy numbers are put into `released`, and the first of them shown."""
    runner = type(session.data.runner)
    genuine = runner.noisy
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "noisy", lambda *given: released.append(genuine(*given)) or released[0])
        return session.ask(LIST, epsilon="0.5")


def replies(folder: Path, released: list[object], *, empty: bool, others: bool) -> list[object]:
    """What ana is shown: prices, refusals, shapes and spends, on the hospital or on one without rows."""
    folder.mkdir()
    catalog = files(folder)
    catalog.write_text(catalog.read_text("utf-8") + TWO, "utf-8")
    if empty:
        for name in ("patients.csv", "visits.csv"):
            path = folder / name
            if path.exists():
                path.write_text(path.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    shown: list[object] = []
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        ana, bob = data.session("ana"), data.session("bob")
        if others:
            asked(bob, released)
            bob.ask([OF_WARDS, OF_KINDS], epsilon="0.25")
        shown.append(str(ana.explain(LIST, epsilon="0.5")).split("price:")[0])
        made = asked(ana, released)
        shown += [
            made.receipt.epsilon,
            made.receipt.again,
            [(column.name, column.kind) for each in made for column in each.columns],
        ]
        shown.append([len(each) for each in made])
        shown.append([(column.values, column.low, column.high) for each in made for column in each.columns])
        shown += [answer.notes for answer in made]
        for refused in ([OF_WARDS, "SELECT a FROM visits"], [OF_WARDS] * 65):
            with pytest.raises(Refused) as caught:
                ana.ask(refused, epsilon="0.5")
            shown.append(str(caught.value))
        shown.append(ana.ask(LIST, epsilon="0.5").receipt.again)
        assert isinstance(data.ledger, Ledger)
    return shown


def test_nothing_follows_the_rows_or_what_others_asked(tmp_path: Path) -> None:
    """Replayed without any row, and after another analyst asked the same list: the same words, prices and shapes."""
    released: list[object] = []
    usual = replies(tmp_path / "usual", released, empty=False, others=False)
    assert replies(tmp_path / "empty", released, empty=True, others=False) == usual
    assert replies(tmp_path / "others", released, empty=False, others=True) == usual
    assert len(released) == 3
