"""`%load_ext tacit`: questions in cells of a notebook, on a catalog or a server.

    %tacit tacit:///tacit.toml?analyst=ana      connect; an address as drivers have it
    %%tacit --epsilon 0.5                       ask the SQL of the cell, and show its answer
    %%tacit --explain                           show its price and expected error; spends nothing
    %%tacit answer << --epsilon 0.5             keep the answer in a variable

`--params NAME` takes the values of `:name` from a dictionary of the notebook.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class

from tacit.doors.driver.address import read_address
from tacit.doors.driver.dbapi import open_session
from tacit.doors.limited import Limited
from tacit.errors import InvalidInput
from tacit.untrusted import lines_for_terminal

DEFAULT = "tacit:///tacit.toml"
VALUES = ("--epsilon", "--delta", "--error", "--confidence", "--params", "--address")


@dataclass(frozen=True, slots=True)
class Line:
    """The words after %tacit: where the answer goes, options, and an address."""

    name: str = ""
    options: dict[str, str] = field(default_factory=dict)
    explain: bool = False
    address: str = ""


def read_line(line: str) -> Line:
    """The options of a magic.

    >>> read_line("answer << --epsilon 0.5")
    Line(name='answer', options={'epsilon': '0.5'}, explain=False, address='')
    """
    before, sign, after = line.partition("<<")
    name = before.strip() if sign else ""
    if sign and not name.isidentifier():
        raise InvalidInput("the variable before << must be a name of Python, for example: answer << --epsilon 0.5")
    try:
        words = shlex.split(after if sign else line)
    except ValueError:
        raise InvalidInput("unterminated quote in the options") from None
    options, explain, address, at = {}, False, "", 0
    while at < len(words):
        word, _, joined = words[at].partition("=")
        if words[at].startswith(("tacit:", "tacit+")):
            address = words[at]
        elif word == "--explain" and not joined:
            explain = True
        elif word in VALUES:
            if not joined and at + 1 == len(words):
                raise InvalidInput(f"{word} needs a value")
            options[word[2:]] = joined or words[at + 1]
            at += not joined
        else:
            raise InvalidInput(f"unknown option {word[:40]!r}; expected {', '.join((*VALUES, '--explain'))} or an address")
        at += 1
    return Line(name, options, explain, address or options.pop("address", ""))


@magics_class
class TacitMagics(Magics):
    """The magics of one notebook, with its session."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._names: dict[str, Any] = shell.user_ns
        self._publish = shell.display_pub.publish
        self._session: Limited | None = None
        self._budget: dict[str, Any] = {}

    @line_cell_magic
    def tacit(self, line: str, cell: str | None = None) -> Any:
        """Connect with %tacit ADDRESS; ask with %%tacit --epsilon 0.5, or explain with %%tacit --explain."""
        words = read_line(line)
        if words.address:
            self._connect(words.address)
        if cell is None:
            return self._current().session
        answer = self._ask(words, cell)
        if words.explain and not words.name:
            self._publish({"text/plain": lines_for_terminal(str(answer)), "text/html": answer._repr_html_()})
            return None
        if not words.name:
            return answer
        self._names[words.name] = answer
        return None

    def _connect(self, address: str) -> None:
        where = read_address(address)
        self._session, self._budget = Limited(open_session(where), where.most), dict(where.budget)

    def _current(self) -> Limited:
        if self._session is None:
            self._connect(DEFAULT)
        assert self._session is not None  # noqa: S101
        return self._session

    def _ask(self, words: Line, cell: str) -> Any:
        options = dict(words.options)
        params = self._parameters(options.pop("params", ""))
        session = self._current()
        budget = {**self._budget, **options}
        sql = cell.strip().rstrip(";")
        return session.explain(sql, params=params, **budget) if words.explain else session.sql(sql, params=params, **budget)

    def _parameters(self, name: str) -> Any:
        if not name:
            return None
        if name not in self._names:
            raise InvalidInput(f"unknown variable {name[:40]!r}; --params takes the name of a dictionary")
        return self._names[name]


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook its magics."""
    shell.register_magics(TacitMagics(shell))
