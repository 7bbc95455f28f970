"""`tacit shell`: questions typed one after another, with the price first and the balance in the prompt.

    Shell        what a line does: a question, or a command that begins with a backslash; knows no terminal
    interactive  the same at a terminal: history, completion, several lines

History is kept in the user's state folder, in a file of mode 600: questions, and never an answer.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.doors.limited import Limited
from tacit.errors import InvalidInput, TacitError
from tacit.files import owned
from tacit.privacy.rounding import as_text, exact
from tacit.untrusted import for_terminal, lines_for_terminal

HELP = """\
SELECT ...;            ask a question (end it with a semicolon); it is paid for with the epsilon below
\\epsilon 0.1           set the epsilon of the next questions; without a number, show it
\\explain SELECT ...;   show price, noise and expected error; spends nothing
\\d  \\d TABLE           list tables, or the columns of one
\\budget  \\history [N]  show what remains, and the latest questions
\\chart FILE            draw the last answer as FILE (.svg, .png, .html)
\\confirm on|off        ask before each question is paid for
\\q                     leave"""
WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "CASE",
    "WHEN", "THEN", "ELSE", "END", "AS", "JOIN", "LEFT JOIN", "ON", "DISTINCT", "COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(",
    "MEDIAN(", "QUANTILE_CONT(", "VAR_POP(", "STDDEV_POP(", "MIN(", "MAX(", "MODE(", "ROUND(", "COALESCE(", "NULLIF(",
    "DATE_TRUNC(", "DESCRIBE", "SHOW TABLES",
)  # fmt: skip
COMMANDS = ("\\d", "\\explain", "\\budget", "\\chart", "\\history", "\\epsilon", "\\confirm", "\\help", "\\q")
FILE = "shell-history"


# --- several questions in one text -------------------------------------------------------------------------------------------


def statements(text: str) -> list[str]:
    r"""The statements of a text that semicolons end, outside quotes and comments; the last one may have none.

    >>> statements("SELECT ';' AS a; -- x;y\nSELECT 2")
    ["SELECT ';' AS a", '-- x;y\nSELECT 2']
    """
    parts, start = [], 0
    for at, sign in _outside(text):
        if sign == ";":
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if _says_something(part)]


def is_complete(text: str) -> bool:
    """Whether a text can be sent: a command, nothing, or SQL that a semicolon ends."""
    stripped = text.strip()
    if not stripped or (stripped.startswith("\\") and not stripped.startswith("\\explain")):
        return True
    last = [sign for _, sign in _outside(stripped)]
    return bool(last) and last[-1] == ";"


def _says_something(part: str) -> bool:
    return any(not sign.isspace() for _, sign in _outside(part))


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """The signs of a text outside quotes and comments, with their places; a quote is one sign."""
    at, end = 0, len(text)
    while at < end:
        two, sign = text[at : at + 2], text[at]
        if two == "--":
            at = _after(text, "\n", at)
        elif two == "/*":
            at = _after(text, "*/", at + 2)
        elif sign in "'\"`":
            yield at, sign
            at = _after(text, sign, at + 1)
        else:
            yield at, sign
            at += 1


def _after(text: str, end: str, start: int) -> int:
    place = text.find(end, start)
    return len(text) if place < 0 else place + len(end)


# --- what a line does --------------------------------------------------------------------------------------------------------


class Leave(Exception):
    """The end of a shell."""


@dataclass
class Shell:
    """A session and how it is asked: `say` prints a line, `confirmed` asks a person whether a price may be paid.

    `show` prints an answer; without it, its text is said.
    """

    session: Limited
    say: Callable[[str], object]
    confirmed: Callable[[str], bool] = lambda price: True
    epsilon: str | None = None
    confirm: bool = False
    answer: Any = None
    failed: bool = False
    asked: bool = False
    balance: str = field(default="")
    show: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            exact(self.epsilon, "epsilon")

    def run(self, text: str) -> None:
        """Do what a text says; an error of tacit is printed with its remedy."""
        try:
            stripped = text.strip()
            if stripped.startswith("\\"):
                self.command(stripped)
            else:
                for statement in statements(text):
                    self.ask(statement)
        except TacitError as error:
            self.failed = True
            self.say(f"error: {error}")
        except OSError as error:
            self.failed = True
            self.say(f"error: the file cannot be used ({os.strerror(error.errno or 0)}); name another place")

    def ask(self, sql: str) -> None:
        """Ask a question, after its price was shown where that is wanted."""
        budget = {} if self.epsilon is None else {"epsilon": self.epsilon}
        if (self.confirm or not self.asked) and not self._may_pay(sql, budget):
            self.say("not sent; nothing was spent")
            return
        answer = self.session.sql(sql, **budget)
        self.asked = self.asked or bool(answer.receipt.epsilon)
        self.answer = answer
        if answer.receipt.left_epsilon is not None:
            self.balance = as_text(answer.receipt.left_epsilon)
        self._show(answer)

    def _show(self, answer: Any) -> None:
        if self.show is None:
            self.say(str(answer))
        else:
            self.show(answer)

    def _may_pay(self, sql: str, budget: dict[str, str]) -> bool:
        """Whether the price may be paid, after it was shown with the expected errors; what costs nothing is not asked about."""
        if not budget:
            return True  # the question names its own price, or is refused
        explanation = self.session.explain(sql, **budget)
        if not explanation.epsilon:
            return True
        for each in explanation.errors:
            self.say(for_terminal(f"{each.column}: {each.error}", 200))
        return self.confirmed(f"price: epsilon {as_text(explanation.epsilon)}; {explanation.left}")

    def command(self, line: str) -> None:
        """Do what a backslash command says."""
        name, _, rest = line.partition(" ")
        actions = {
            "\\d": self._describe, "\\explain": self._explain, "\\budget": self._budget, "\\chart": self._chart,
            "\\history": self._history, "\\epsilon": self._epsilon, "\\confirm": self._confirm, "\\help": self._help,
            "\\?": self._help, "\\q": self._leave,
        }  # fmt: skip
        if name not in actions:
            raise InvalidInput(f"unknown command {for_terminal(name, 30)}; type \\help for a list")
        actions[name](rest.strip().rstrip(";").strip())

    def _describe(self, table: str) -> None:
        self._show(self.session.sql(f'DESCRIBE "{table}"' if table else "SHOW TABLES"))

    def _explain(self, sql: str) -> None:
        if not sql:
            raise InvalidInput("the question is missing; type \\explain SELECT ...;")
        self.say(str(self.session.explain(sql, **({} if self.epsilon is None else {"epsilon": self.epsilon}))))

    def _budget(self, _: str) -> None:
        account = self.session.budget()
        own, whole = account["analyst"], account["data_set"]
        self.say(f"{own['name']}: spent epsilon {own['spent']['epsilon']}; remaining epsilon {own['left']['epsilon']}")
        self.say(f"data set: remaining epsilon {whole['left']['epsilon']} of {whole['cap']['epsilon']}")

    def _history(self, last: str) -> None:
        if last and not (last.isdecimal() and 1 <= int(last) <= 200):
            raise InvalidInput("the number of entries must be from 1 to 200; type \\history 20")
        for entry in self.session.history(int(last or 20)):
            asked = " ".join(str(entry["question"]).split())
            self.say(for_terminal(f"{entry['entry']:>6}  epsilon {entry['price']['epsilon']}  {asked}", 200))

    def _chart(self, path: str) -> None:
        if self.answer is None:
            raise InvalidInput("there is no answer to draw; ask a question first")
        try:
            files = shlex.split(path)
        except ValueError:
            raise InvalidInput("unterminated quote in the name of the file; type \\chart picture.svg") from None
        if len(files) != 1:
            raise InvalidInput("the file is missing; type \\chart picture.svg")
        self.answer.chart(files[0])
        self.say(f"wrote {for_terminal(files[0])}")

    def _epsilon(self, amount: str) -> None:
        if amount:
            exact(amount, "epsilon")
            self.epsilon = amount
        self.say("epsilon: none; set it with \\epsilon 0.1" if self.epsilon is None else f"epsilon: {self.epsilon} a question")

    def _confirm(self, word: str) -> None:
        if word not in ("on", "off", ""):
            raise InvalidInput("expected \\confirm on or \\confirm off")
        self.confirm = self.confirm if not word else word == "on"
        self.say(f"confirm: {'on' if self.confirm else 'off'}")

    def _help(self, _: str) -> None:
        self.say(HELP)

    def _leave(self, _: str) -> None:
        raise Leave


# --- at a terminal -----------------------------------------------------------------------------------------------------------


def candidates(tables: Iterable[dict[str, Any]]) -> list[str]:
    """Everything that can be completed: words of SQL, commands, and the declared tables, columns and values."""
    words = [*WORDS, *COMMANDS]
    for table in tables:
        words.append(table["name"])
        for column in table["columns"]:
            words += [column["name"], *(f"'{value}'" for value in column["values"] or () if isinstance(value, str))]
    return list(dict.fromkeys(for_terminal(word, 80) for word in words))


def interactive(shell: Shell, folder: Path) -> None:
    """Read and do what is typed until the end; needs prompt_toolkit. The history is kept in `folder`."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.shortcuts import confirm

    completer = WordCompleter(candidates(shell.session.tables()), ignore_case=True, WORD=True)
    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(_private_file(folder))),
        completer=completer,
        complete_while_typing=Condition(lambda: prompt.default_buffer.document.char_before_cursor.isalnum()),
    )
    several = Condition(lambda: not is_complete(prompt.default_buffer.text))
    shell.confirmed = lambda price: bool(confirm(f"{price}. Ask?"))
    account = shell.session.budget()["analyst"]
    who, shell.balance = account["name"], account["left"]["epsilon"]
    while True:
        try:
            text = prompt.prompt(for_terminal(f"{who} (epsilon {shell.balance} left)> ", 80), multiline=several)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        try:
            shell.run(text)
        except Leave:
            return
        except KeyboardInterrupt:
            shell.say(lines_for_terminal("stopped; what was spent stays spent"))


def _private_file(folder: Path) -> Path:
    """The file of the history, which the user alone can read."""
    path = owned(folder / FILE)
    path.chmod(0o600)
    return path
