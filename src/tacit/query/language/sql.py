"""SQL text to a `syntax.Select`: limits on the text, the budget in it, one statement, and the place that a refusal points at.

sqlglot parses, and nothing of its tree goes further than this package. The allow-list is that of `reader.py`. The
meaning of a word is decided by the reader alone (words.py). So the parser is kept from guessing: a function in `AS_WRITTEN` stays a
call with its arguments in their order, where sqlglot would take `DATE_TRUNC(day, MONTH)` for a column MONTH, truncated to a day.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import sqlglot
from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from tacit.errors import InvalidSQL, NotAllowed, Refused
from tacit.query.language.bounds import BOUNDED, CLAMPED, Contribution, Options
from tacit.query.language.nodes import Given, line_and_column
from tacit.query.language.reader import Reader
from tacit.query.language.syntax import (
    Apply,
    Describe,
    Expression,
    From,
    InQuery,
    Item,
    Select,
    ShowTables,
    Star,
    Statement,
)
from tacit.untrusted import UNDECODED, UNSEEN, for_terminal, width

# --- ordinary SQL, with the words of several dialects kept as they were written ----------------------------------------------


AS_WRITTEN = frozenset({
    "DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "TRUNC", "DATE_PART", "DATE_DIFF", "DATEDIFF", "TIMESTAMP_DIFF",
    "TIMESTAMPDIFF", "DATETIME_DIFF", "DATE_ADD", "DATEADD", "DATE_SUB", "DATESUB", "TO_CHAR", "FORMAT_DATE", "STRFTIME",
    "DATE_FORMAT", "TO_DATE", "PARSE_DATE", "DATE", "COUNTIF", "COUNT_IF", "SAFE_DIVIDE", "DIV0", "ISNULL", "ZEROIFNULL",
    "NULLIFZERO", "APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "STARTS_WITH", "STARTSWITH", "ENDS_WITH", "ENDSWITH",
    "CONTAINS", "CONCAT", "CONCAT_WS", "REGEXP_LIKE", "REGEXP_MATCHES", "REGEXP_CONTAINS", "REGEXP_MATCH",
    "REGEXP_FULL_MATCH", "RLIKE", "TODAY", "NOW", "GETDATE", "CURRENT_DATE", "WEEK",
})  # fmt: skip


CLAUSES = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")  # today's word and the earlier one


def _with_bounds(name: str, parser: Any) -> exp.Expr:
    """An aggregate of BigQuery: with contribution_bounds_... => (lo, hi) among its arguments, or CLAMPED BETWEEN after them."""
    start = parser._tokens[parser._index - 2]
    written = parser._parse_csv(lambda: parser._parse_lambda(alias=False))
    bounds = [part for part in written if isinstance(part, exp.Kwarg)]
    given = [part for part in written if not isinstance(part, exp.Kwarg)]
    clamped = None
    if name in CLAMPED and parser._match_text_seq("CLAMPED"):
        if not parser._match(TokenType.BETWEEN):
            parser.raise_error("Expecting BETWEEN after CLAMPED")
        low = parser._parse_bitwise()
        if not parser._match(TokenType.AND):
            parser.raise_error("Expecting AND")
        clamped = exp.Tuple(expressions=[low, parser._parse_bitwise()])
    if parser._curr is None or parser._curr.token_type is not TokenType.R_PAREN:
        parser.raise_error("Expecting )")
    plain = CLAMPED.get(name, name)
    call = parser.validate_expression(parser.FUNCTIONS[plain](given), given).update_positions(start)
    if not bounds and clamped is None and name not in CLAMPED:
        return call  # type: ignore[no-any-return]
    return Contribution(this=call, bounds=bounds, clamped=clamped, word=name).update_positions(start)


class Ordinary(Dialect):
    """Ordinary SQL: double quotes and backticks are identifiers, single quotes are text. NULLs come last, as in an answer."""

    NULL_ORDERING = "nulls_are_last"  # so that `nulls_first` is there only where NULLS FIRST is written

    class Tokenizer(tokens.Tokenizer):
        """Names in double quotes or backticks."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  # sqlglot's own way to declare a dialect

    class Parser(parser.Parser):
        """The functions of `AS_WRITTEN` are calls like any other; `~` and RLIKE, which differ between dialects, are two nodes.

        Options after SELECT are a node of their own, and so is an aggregate that bounds what one unit adds to it.
        """

        ID_VAR_TOKENS = parser.Parser.ID_VAR_TOKENS | {TokenType.ALTER}  # a column of many German files: the age
        FUNCTIONS = {name: build for name, build in parser.Parser.FUNCTIONS.items() if name not in AS_WRITTEN}  # noqa: RUF012
        RANGE_PARSERS = {  # noqa: RUF012
            **parser.Parser.RANGE_PARSERS,
            TokenType.TILDE: parser.binary_range_parser(exp.RegexpLike),
            TokenType.RLIKE: parser.binary_range_parser(exp.RegexpFullMatch),
        }
        PLACEHOLDER_PARSERS = {  # noqa: RUF012
            **parser.Parser.PLACEHOLDER_PARSERS,
            TokenType.PLACEHOLDER: lambda self: exp.Placeholder().update_positions(self._prev),
        }
        FUNCTION_PARSERS = {  # noqa: RUF012
            **parser.Parser.FUNCTION_PARSERS,
            **{name: partial(_with_bounds, name) for name in (*BOUNDED, *CLAMPED)},
        }

        def _parse_hint(self) -> Any:
            """The options of SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (...), where sqlglot looks for hints."""
            following = self._next.text.upper() if self._next else ""
            if self._curr is None or self._curr.token_type is not TokenType.WITH or following not in CLAUSES:
                return super()._parse_hint()
            self._advance(2)
            if not self._match_text_seq("OPTIONS"):
                self.raise_error(f"Expecting OPTIONS after {following}")
            return self.expression(Options(expressions=self._parse_wrapped_csv(self._parse_assignment, optional=False)))


# --- from text to a question -------------------------------------------------------------------------------------------------


logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote the question; ours say what to do instead

LONGEST_TEXT = 65_536  # characters
MOST_NODES = 2_000
MOST_TOKENS = 4 * MOST_NODES  # a call without arguments has the most for one node: a name, two parentheses and a comma
DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Written:
    """The statement of a text. `filled` where parameters or today's date became literals: then the text alone does not say it."""

    statement: Statement
    filled: bool = False


def parse(text: str, given: Given | None = None) -> Select:
    """The question that `text` asks; parameters and today's date become its literals.

    >>> parse("SELECT COUNT(*) AS n FROM visits WHERE cost > 10").where
    Apply(function='>', arguments=(Name(parts=('cost',), at=(1, 40)), Constant(value=Fraction(10, 1), at=(1, 47))), at=(1, 40))
    """
    statement = read(text, given).statement
    if not isinstance(statement, Select):
        raise NotAllowed("only SELECT is supported here", remedy="ask one SELECT ... FROM a declared table")
    return statement


def read(text: str, given: Given | None = None, several: bool = False) -> Written:
    """The statement of `text`: a SELECT, DESCRIBE or SHOW TABLES; with `several`, also SELECTs one after the other, as one list."""
    text = check_text(text)
    trees = _statements(text, several)
    if len(trees) == 1 and not isinstance(trees[0], exp.Select | exp.Union):
        return Written(_of_the_catalog(trees[0], text))
    reader = Reader(text, given)
    asked = (node for tree in trees for node in tree.find_all(exp.Placeholder) if node.args.get("this") is None)
    reader.places = {id(node): place for place, node in enumerate(sorted(asked, key=_start), 1)}
    select, *others = (_question(reader, tree, number, len(trees) > 1) for number, tree in enumerate(trees, 1))
    select = replace(select, also=tuple(others))
    if unused := sorted(set(reader.given.parameters) - reader.filled):
        raise NotAllowed(f"the question has no parameter {unused[0][:60]!r}", remedy="leave its value out")
    return Written(select, bool(reader.filled))


def _question(reader: Reader, tree: exp.Expr, number: int, several: bool) -> Select:
    """The question of one statement among several."""
    if not isinstance(tree, exp.Select | exp.Union):
        raise NotAllowed(f"question {number} is not a SELECT", remedy="ask a list of SELECT ... FROM a declared table")
    reader.named_queries = {}  # a name of WITH is one of its own question
    with in_question(number) if several else nullcontext():
        return reader.questions(tree)


@contextmanager
def in_question(number: int) -> Iterator[None]:
    """Inside, a refusal names the question of a list that it is about."""
    try:
        yield
    except Refused as refusal:
        told = type(refusal)(f"question {number}: {refusal.message}", remedy=refusal.remedy, at=refusal.at)
    else:
        return
    raise told


def is_list(text: object) -> bool:
    """Whether a text has several statements; a text that cannot be read has one.

    >>> is_list("SELECT 1; SELECT 2;"), is_list("SELECT ';';"), is_list("SELECT 1; -- all")
    (True, False, False)
    """
    if not isinstance(text, str) or ";" not in text or len(text) > LONGEST_TEXT:
        return False
    with suppress(Refused):
        return len(_statements(check_text(text), several=True)) > 1
    return False


def _of_the_catalog(tree: exp.Expr, text: str) -> Describe | ShowTables:
    """DESCRIBE table, SHOW TABLES, or the refusal of any other statement."""
    if isinstance(tree, exp.Describe) and isinstance(tree.this, exp.Table):
        reader = Reader(text)
        reader.only(tree, "this", *(["kind"] if tree.args.get("kind") == "TABLE" else []))
        named = reader.source(tree.this)
        if isinstance(named, From) and not tree.this.args.get("alias"):
            return Describe(named.table, named.at)
    rest = tree.args.get("expression")
    words = f"{tree.name} {rest.name if isinstance(rest, exp.Expr) else rest}".upper().split()
    if isinstance(tree, exp.Command) and words == ["SHOW", "TABLES"]:
        return ShowTables()
    first = re.match(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*([A-Za-z]+)", text, flags=re.DOTALL)
    word = first.group(1).upper() if first else "this statement"
    if word == "EXPLAIN":
        raise NotAllowed("EXPLAIN is supported before one SELECT only", remedy="write EXPLAIN SELECT ..., without options")
    remedy = "ask one SELECT ... FROM a declared table"
    raise NotAllowed(f"{word} is not supported: only SELECT, EXPLAIN, DESCRIBE and SHOW TABLES are", remedy=remedy)


_EXPLAIN = re.compile(r"\A((?:\s|--[^\n]*\n|/\*.*?\*/)*)(EXPLAIN)(?=\s+(?:SELECT|WITH)\b)", re.IGNORECASE | re.DOTALL)


def explained_text(text: object) -> str | None:
    """The SELECT of EXPLAIN SELECT ..., with blanks in the place of that word; None for any other text.

    >>> explained_text("explain SELECT 1"), explained_text("SELECT 1")
    ('        SELECT 1', None)
    """
    match = _EXPLAIN.match(text) if isinstance(text, str) and len(text) <= LONGEST_TEXT else None
    return None if match is None else f"{match[1]}{' ' * len(match[2])}{match.string[match.end() :]}"


def _start(node: exp.Expr) -> int:
    return int(node.meta.get("start", 0))


def parse_expression(text: str, given: Given | None = None) -> Expression:
    """One expression, such as the argument of `where` in the Python builder."""
    item = parse_item(text, given)
    if item.name is not None:
        raise NotAllowed("AS is not supported here", remedy="leave out AS")
    return item.expression


def parse_item(text: str, given: Given | None = None) -> Item:
    """One expression with its name; its places are those in `text`.

    >>> parse_item("avg(cost) AS mean").expression.at
    (1, 1)
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidSQL("the expression is empty", remedy="write one, for example cost > 100")
    try:
        select = parse(f"SELECT\n{text}\nFROM t", given)
    except Refused as refusal:
        at = (refusal.at[0] - 1, refusal.at[1]) if refusal.at else None
        raise type(refusal)(refusal.message, remedy=refusal.remedy, at=at) from None
    if isinstance(select.items[0].expression, Star):
        raise NotAllowed("rows of private data are not returned", remedy="ask for an aggregate, such as COUNT(*)", at=(1, 1))
    if select != Select(select.items[:1], select.table):
        raise NotAllowed("expected one expression", remedy="give several as arguments of their own")
    return Item(_line_up(select.items[0].expression), select.items[0].name)


def _line_up(expression: Expression) -> Expression:
    """The expression with its places one line up."""
    at = (expression.at[0] - 1, expression.at[1]) if expression.at else None
    if isinstance(expression, Apply):
        return replace(expression, arguments=tuple(map(_line_up, expression.arguments)), at=at)
    if isinstance(expression, InQuery):
        return replace(expression, value=_line_up(expression.value), at=at)
    return replace(expression, at=at)


def check_text(text: str) -> str:
    """The text of a question, if it is short enough to be read; also of one in which parameters have become literals."""
    if not isinstance(text, str):
        raise InvalidSQL(
            f"the question must be a string, not {type(text).__name__}", remedy="ask for example 'SELECT COUNT(*) ...'"
        )
    if not text.strip():
        raise InvalidSQL("the question is empty", remedy="ask for example SELECT COUNT(*) FROM a declared table")
    if len(text) > LONGEST_TEXT:
        raise NotAllowed(f"the question has more than {LONGEST_TEXT:,} characters", remedy="ask a shorter one")
    if sum(1 for _ in islice(_TOKEN.finditer(text), MOST_TOKENS + 1)) > MOST_TOKENS:  # the parser's work follows these
        raise NotAllowed("the question is too large or nested too deeply", remedy="ask a simpler one")
    return readable(text)


def readable(text: str) -> str:
    """The text; refused where it contains what a reader of the ledger does not see where it stands, quoted or not."""
    if bad := UNDECODED.search(text):
        raise InvalidSQL(
            "a letter of the question cannot be read in the encoding of this terminal",
            remedy="set PYTHONUTF8=1 or LANG=C.UTF-8, or put the question into a file: --file",
            at=_place(text, bad),
        )
    if bad := UNSEEN.search(text):
        raise InvalidSQL(
            "the question contains a control character or a mark of writing direction", remedy="remove it", at=_place(text, bad)
        )
    return text


def _place(text: str, match: re.Match[str]) -> tuple[int, int]:
    return line_and_column(text, match.start())


def quoted_name(name: str) -> str:
    """A name as an identifier, in double quotes where it needs them.

    >>> print(quoted_name("cost"), quoted_name("order"), quoted_name('two "words" here'))
    cost "order" "two ""words"" here"
    """
    plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


_WORDS = (*Ordinary.Tokenizer.KEYWORDS, *Ordinary.parser_class.NO_PAREN_FUNCTION_PARSERS)
_RESERVED = frozenset(word for words in _WORDS for word in words.split())
_TOKEN = re.compile(  # a literal, a quoted name or a comment as one, also one that is never closed; a word; any other sign
    r"""'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|\w+|[^\s\w]""", re.DOTALL
)


def _statements(text: str, several: bool) -> list[exp.Expr]:
    try:
        parsed = sqlglot.parse(text, dialect=Ordinary)
        statements = [tree for tree in parsed if not isinstance(tree, exp.Semicolon | None)]  # a comment after the end
    except sqlglot.errors.ParseError as error:
        first: dict[str, Any] = error.errors[0] if error.errors else {}
        at = (first["line"], max(1, first["col"] - len(first.get("highlight") or "") + 1)) if first.get("line") else None
        raise InvalidSQL("invalid SQL syntax", remedy="check the spelling at that place", at=at) from None
    except sqlglot.errors.TokenError:
        raise InvalidSQL("unterminated string, or a character that is not valid in SQL") from None
    except RecursionError:
        raise NotAllowed("the question is nested too deeply", remedy="ask a simpler one") from None
    except Exception:  # the parser falls over some calls that lack an argument, in words of its own
        raise InvalidSQL("invalid SQL syntax", remedy="check the arguments of its functions") from None
    if len(statements) != 1 and not (several and statements):
        remedy = "send them one by one, or ask them as a list at one price" if statements else "send one"
        raise NotAllowed(f"expected one statement, not {len(statements)}", remedy=remedy)
    for tree in statements:
        _limit_size(tree)
    return statements


def _limit_size(tree: exp.Expr) -> None:
    stack, nodes = [(tree, 0)], 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > MOST_NODES or depth > DEEPEST:
            raise NotAllowed("the question is too large or nested too deeply", remedy="ask a simpler one")
        stack.extend((child, depth + 1) for child in node.iter_expressions())


# --- the line of a question that a refusal points at, with a caret -----------------------------------------------------------


WIDEST = 100  # characters of a line that are shown


@contextmanager
def pointing(text: object) -> Iterator[None]:
    """Lets a refusal of this question say where: the line and a caret are a note of it, which a traceback shows below it."""
    try:
        yield
    except Refused as refusal:
        if isinstance(text, str) and refusal.at is not None and not getattr(refusal, "__notes__", ()):
            refusal.add_note(excerpt(text, *refusal.at))
        raise


def excerpt(text: str, line: int, column: int) -> str:
    r"""A line of a question with a caret under a column; of a long line, the part around it.

    >>> print(excerpt("SELECT COUNT(*)\nFROM vists", 2, 6))
      FROM vists
           ^
    """
    lines = text.split("\n")
    whole = lines[line - 1].rstrip("\r") if 1 <= line <= len(lines) else ""
    start = max(0, min(column - 1 - WIDEST // 2, len(whole) - WIDEST))
    before, after = whole[start : column - 1], whole[column - 1 : start + WIDEST]
    shown = [for_terminal(part.replace("\t", " ")) for part in (before, after)]
    left = "..." if start else ""
    right = "..." if start + WIDEST < len(whole) else ""
    return f"  {left}{shown[0]}{shown[1]}{right}\n  {' ' * (width(shown[0]) + len(left))}^"


def _with_plain_day(node: exp.Expression) -> exp.Expression:
    """A day as people write it, in the place of its literal."""
    is_day = isinstance(node, exp.Cast) and node.is_type(exp.DataType.Type.DATE) and isinstance(node.this, exp.Literal)
    return exp.Var(this=node.this.this) if is_day else node


def about(question: str) -> str:
    """The tables and the filter of a question, for the line below a picture's title; empty if the text is not one SELECT.

    >>> about("SELECT ward, COUNT(*) FROM visits WHERE age >= 65 GROUP BY ward")
    'visits where age >= 65'
    >>> about("SELECT COUNT(*) FROM visits WHERE day <= CAST('2025-03-31' AS DATE)")
    'visits where day <= 2025-03-31'
    """
    try:
        select = sqlglot.parse_one(question, dialect=Ordinary).transform(_with_plain_day)
        tables = dict.fromkeys(table.name for table in select.find_all(exp.Table))
        where = select.args.get("where") if isinstance(select, exp.Select) else None
        return ", ".join(tables) + (f" where {where.this.sql()}" if where is not None else "")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ""
