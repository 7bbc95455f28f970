"""Every exception of tacit.

    TacitError
    ├── InvalidInput (also a ValueError)   an argument breaks a rule; the message says which, and what to give instead
    │   ├── InvalidToken                   a token that a server does not accept: wrong, expired or revoked
    │   ├── InvalidBudget                  an invalid epsilon, delta or rho
    │   ├── InvalidSensitivity             a sensitivity that is negative, infinite or not a number
    │   └── InvalidValue                   a value to be released that is not a finite number
    ├── WrongRelation                      losses or events of different neighbour relations were put together
    ├── UnknownEvent                       an event that the accountant has no theorem for
    ├── LawViolated                        a law of privacy that a measurement showed to be broken
    ├── InvalidCatalog                     tacit.toml is missing, or has problems; carries each with its key, line and remedy
    │   └── SurveyUnusable                 survey.toml is missing, or has problems; carries each in the same way
    ├── StoreUnusable                      the prepared data or the ledger is missing, foreign or out of date
    │   ├── NoLedger                       no ledger was begun for the data set
    │   ├── UnitsChanged                   the catalog declares other units than the ledger counts for
    │   └── RegisterUnavailable            the register of ledgers cannot be kept: no state folder, or one that is not writable
    ├── StoppedAfterSpending               the work was stopped by hand after its budget was spent
    ├── Unforeseen                         whatever is not of this list: one constant text; the data owner's log has a line about it
    └── Refused                            a question that will not be answered; carries a code of a closed list
        ├── InvalidSQL                     the text is not SQL that tacit supports
        ├── NotAllowed                     SQL that is not on the list of what may be asked
        ├── UnknownName                    a table or column that the catalog does not declare
        ├── WrongType                      an operation on something that it is not for
        ├── NoBounds                       a column without the bounds or values that the question needs
        ├── RangeTooLarge                  an expression that leaves the integers held exactly
        ├── TooManyGroups                  more groups than an answer may have
        ├── NeverTrue                      a condition that no row can meet, by the catalog alone
        ├── TooMuchWork                    a question whose worst case, over all data, is more work than is done
        ├── NoBudget                       no budget, or one that does not fit the question
        ├── ErrorNotPublic                 an error was asked for that depends on private data
        ├── BudgetExceeded                 the ledger's filter does not admit the spend
        ├── TooManyFailures                questions did not finish too often; the data owner must look into it
        └── TimedOut                       the engine did not finish in time; the spend stays

A message quotes parameters and declared facts, never a private value: a message that depends on the data is a release. It may
quote anything, and is shown on terminals and in logs: no control character stands in a message, and no password.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.untrusted import for_terminal, without_passwords


class TacitError(Exception):
    r"""The root: `except TacitError` catches all that tacit raises on purpose.

    >>> print(TacitError("there is no table \x1b[2J in postgresql://ana:secret@db/x"))
    there is no table \x1b[2J in postgresql://...@db/x

    `argument` is what the message names of the call, one name or several: the command line has an option in its place.
    """

    arguments: tuple[str, ...] = ()

    def __init__(self, *parts: object, argument: str | tuple[str, ...] = ()) -> None:
        super().__init__(*(_one_line(each) if isinstance(each, str) else each for each in parts))
        self.arguments = (argument,) if isinstance(argument, str) else argument


class InvalidInput(TacitError, ValueError):
    """An argument breaks a rule; the message names the argument, the rule and the remedy."""


class InvalidToken(InvalidInput):
    """A token that a server does not accept: it is wrong, has expired, or was revoked."""

    code = "unauthenticated"


class InvalidBudget(InvalidInput):
    """An invalid epsilon, delta or rho."""


class InvalidSensitivity(InvalidInput):
    """A sensitivity that is negative, infinite or not a number."""


class InvalidValue(InvalidInput):
    """A value to be released that is not a finite number, or an array of the wrong shape."""


class WrongRelation(TacitError):
    """Losses or events of different neighbour relations were put together."""


class UnknownEvent(TacitError):
    """An event that the accountant has no theorem for."""


class LawViolated(TacitError):
    """A law of privacy that a measurement or an enumeration showed to be broken."""

    def __init__(self, law: str, message: str) -> None:
        super().__init__(f"{law}: {message}")
        self.law = law


def _one_line(text: str) -> str:
    return for_terminal(without_passwords(text))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a catalog: at which key, on which line where that is known, and what to do about it.

    >>> print(Problem("budget.epsilon", "is missing", "add for example epsilon = 8", line=3))
    line 3: budget.epsilon is missing; add for example epsilon = 8
    """

    key: str
    what: str
    remedy: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}: "
        return _one_line(f"{place}{self.key} {self.what}" + (f"; {self.remedy}" if self.remedy else ""))


class InvalidCatalog(TacitError):
    """The catalog cannot be used as it stands; all that was found wrong is in `problems`."""

    code = "catalog"

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        self.message = _one_line(message)
        Exception.__init__(self, "\n".join([self.message, *(f"  {problem}" for problem in problems)]))  # a line for each
        self.problems = problems


class SurveyUnusable(InvalidCatalog):
    """The declaration of a survey cannot be used as it stands; all that was found wrong is in `problems`."""

    code = "survey"


class StoreUnusable(TacitError):
    """The prepared data or the ledger is missing, foreign or out of date; the curator must act."""

    code = "store"

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message, self.remedy = _one_line(message), _one_line(remedy)
        super().__init__(f"{self.message}; {self.remedy}" if remedy else self.message)


class NoLedger(StoreUnusable):
    """No ledger was begun for the data set; the data owner begins one."""

    code = "no_ledger"


class UnitsChanged(StoreUnusable):
    """The catalog declares other units than those that the ledger's prices count for; the data owner must act."""

    code = "units_changed"


class RegisterUnavailable(StoreUnusable):
    """The register of ledgers cannot be read or written, so that it is unknown whether the sources already have a ledger."""

    code = "register"


class StoppedAfterSpending(TacitError):
    """The work was stopped by hand after its budget was spent; the spend stays."""

    code = "stopped"


class Unforeseen(TacitError):
    """A failure that tacit did not foresee. Its words are always the same, so that they tell nothing of the data.

    >>> print(Unforeseen())
    tacit failed unexpectedly, and what was already spent stays spent; ask the data owner to look at unforeseen.log
    """

    code = "unforeseen"
    message = "tacit failed unexpectedly, and what was already spent stays spent"
    remedy = "ask the data owner to look at unforeseen.log"

    def __init__(self, *_: object) -> None:
        super().__init__(f"{self.message}; {self.remedy}")


class Refused(TacitError):
    """A question that will not be answered. The refusal is a function of public things only.

    `code` is one of a closed list, `remedy` what to do instead, `at` the line and column of the question (both from 1).
    """

    code = "refused"

    def __init__(
        self, message: str, *, remedy: str = "", at: tuple[int, int] | None = None, argument: str | tuple[str, ...] = ()
    ) -> None:
        self.message, self.remedy, self.at = _one_line(message), _one_line(remedy), at
        where = f"line {at[0]}, column {at[1]}: " if at else ""
        super().__init__(f"{where}{self.message}" + (f"; {self.remedy}" if remedy else ""), argument=argument)


class InvalidSQL(Refused):
    """The text is not SQL that tacit supports."""

    code = "not_understood"


class NotAllowed(Refused):
    """SQL that is understood, and that is not on the list of what may be asked."""

    code = "not_allowed"


class UnknownName(Refused):
    """A table or column that the catalog does not declare."""

    code = "unknown_name"


class WrongType(Refused):
    """An operation on something that it is not for, such as the sum of a category."""

    code = "wrong_type"


class NoBounds(Refused):
    """A column without bounds or values, where they are needed for a finite sensitivity."""

    code = "no_bounds"


class RangeTooLarge(Refused):
    """An expression whose range leaves the integers that every engine holds exactly."""

    code = "too_wide"


class TooManyGroups(Refused):
    """More groups than an answer may have."""

    code = "too_many_groups"


class NeverTrue(Refused):
    """A condition that no row can meet, whatever the data holds: the catalog alone decides it."""

    code = "never_true"


class TooMuchWork(Refused):
    """A question whose worst case is more work than is done: over all data that the catalog allows, not over the data there is."""

    code = "too_much_work"


class NoBudget(Refused):
    """A question without a budget, or with one that does not fit it."""

    code = "no_budget"


class ErrorNotPublic(Refused):
    """An error was asked for that depends on private data."""

    code = "error_not_public"


class BudgetExceeded(Refused):
    """The ledger's filter does not admit the spend."""

    code = "budget_exceeded"


class NeedsApproval(Refused):
    """A question above the epsilon from which on a curator decides; nothing was spent."""

    code = "needs_approval"
    stated: object = None  # what it asks for in all, for the door that lets it wait


class TooManyFailures(Refused):
    """Too many questions did not finish: nothing more is answered until the data owner has looked into it."""

    code = "too_many_failures"


class TimedOut(Refused):
    """The engine did not finish in time; the spend stays."""

    code = "timed_out"
    why = ""  # a reason of a closed list, until the data owner's log has it; the analyst never sees it
