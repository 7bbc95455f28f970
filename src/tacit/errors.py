"""Every exception of tacit.

    TacitError
    ├── InvalidInput (also a ValueError)   an argument breaks a rule; the message says which, and what to give instead
    │   ├── InvalidBudget                  an epsilon, delta or rho that is no budget
    │   ├── InvalidSensitivity             a sensitivity that is negative, infinite or not a number
    │   └── InvalidValue                   a value to be released that is not a finite number
    ├── WrongRelation                      losses or events of different neighbour relations were put together
    ├── UnknownEvent                       an event that the accountant has no theorem for
    ├── Broken                             a law of privacy that a measurement showed to be broken
    └── Refused                            a question that will not be answered; carries a code of a closed list
        └── BudgetExceeded                 the ledger's filter does not admit the spend

A message quotes parameters and declared facts, never a private value: a message that depends on the data is a release.
"""

from __future__ import annotations


class TacitError(Exception):
    """The root: `except TacitError` catches all that tacit raises on purpose."""


class InvalidInput(TacitError, ValueError):
    """An argument breaks a rule; the message names the argument, the rule and the remedy."""


class InvalidBudget(InvalidInput):
    """An epsilon, delta or rho that is no budget."""


class InvalidSensitivity(InvalidInput):
    """A sensitivity that is negative, infinite or not a number."""


class InvalidValue(InvalidInput):
    """A value to be released that is not a finite number, or an array of the wrong shape."""


class WrongRelation(TacitError):
    """Losses or events of different neighbour relations were put together."""


class UnknownEvent(TacitError):
    """An event that the accountant has no theorem for."""


class Broken(TacitError):
    """A law of privacy that a measurement or an enumeration showed to be broken."""

    def __init__(self, law: str, message: str) -> None:
        super().__init__(f"{law}: {message}")
        self.law = law


class Refused(TacitError):
    """A question that will not be answered. The refusal is a function of public things only."""

    code = "refused"


class BudgetExceeded(Refused):
    """The ledger's filter does not admit the spend."""

    code = "budget_exceeded"
