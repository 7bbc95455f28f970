"""The sum of epsilons that a session may ask for: never exceeded, whoever asks and however it ends."""

from fractions import Fraction
from threading import Thread
from types import SimpleNamespace

import pytest

from hospital import hospital_session
from tacit.doors.limited import Limited
from tacit.errors import BudgetExceeded, InvalidInput, NoBudget, TimedOut

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"


class Till:
    """A session that answers everything, and remembers the prices that were paid."""

    def __init__(self, failure: Exception | None = None, again: bool = False) -> None:
        self.paid: list[Fraction] = []
        self.failure, self.again = failure, again

    def explain(self, question: str, epsilon: str = "1") -> SimpleNamespace:
        return SimpleNamespace(epsilon=Fraction(epsilon))

    def sql(self, question: str, epsilon: str = "1") -> SimpleNamespace:
        if self.failure is not None:
            raise self.failure
        self.paid.append(Fraction(epsilon))
        return SimpleNamespace(receipt=SimpleNamespace(again=self.again))

    def tables(self) -> list[str]:
        return ["visits"]


def test_threads_never_exceed_the_limit():
    till = Till()
    session = Limited(till, "0.5")
    refused = []

    def ask() -> None:
        for _ in range(50):
            try:
                session.sql("q", epsilon="0.01")
            except BudgetExceeded as error:
                refused.append(error)

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(till.paid) == Fraction(1, 2)
    assert len(refused) == 350
    assert session.left == 0


def test_failed_questions_count_and_repeats_do_not():
    failing = Limited(Till(TimedOut("too slow")), 1)
    with pytest.raises(TimedOut):
        failing.sql("q", epsilon="0.75")
    assert failing.left == Fraction(1, 4)
    nameless = Limited(Till(NoBudget("no budget")), 1)
    with pytest.raises(NoBudget):
        nameless.sql("q")
    assert nameless.left == 1, "a question without a price is never paid for"
    repeating = Limited(Till(again=True), 1)
    for _ in range(5):
        repeating.sql("q", epsilon="0.75")
    assert repeating.left == 1


@pytest.mark.parametrize("most", [0, -1, "x", float("nan")])
def test_a_limit_is_above_nothing(most):
    with pytest.raises(InvalidInput):
        Limited(Till(), most)


def test_without_a_limit_all_is_asked():
    till = Till()
    session = Limited(till)
    session.sql("q", epsilon="100")
    assert (session.left, till.paid, session.tables()) == (None, [100], ["visits"])


def test_a_real_session_keeps_below_it(tmp_path):
    with hospital_session(tmp_path) as ana:
        session = Limited(ana, "0.03")
        for at in (1, 1, 2):
            session.sql(COUNT.format(at), epsilon="0.01")
        with pytest.raises(BudgetExceeded, match=r"0\.01 of 0\.03 remains"):
            session.sql(COUNT.format(3), epsilon="0.02")
        session.sql(COUNT.format(3), epsilon="0.01")
        assert session.budget()["analyst"]["spent"]["epsilon"] == "0.03"
        assert session.sql("SELECT ward FROM wards").receipt.entry is None, "free questions go on"
