"""How text becomes a tree of sqlglot: ordinary SQL, with the words of several dialects kept as they were written.

What a word means is decided by the reader alone (words.py). So the parser is kept from guessing: a function in `AS_WRITTEN` stays a
call with its arguments in their order, where sqlglot would take `DATE_TRUNC(day, MONTH)` for a column MONTH, truncated to a day.
"""

from __future__ import annotations

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

AS_WRITTEN = frozenset({
    "DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "TRUNC", "DATE_PART", "DATE_DIFF", "DATEDIFF", "TIMESTAMP_DIFF",
    "TIMESTAMPDIFF", "DATETIME_DIFF", "DATE_ADD", "DATEADD", "DATE_SUB", "DATESUB", "TO_CHAR", "FORMAT_DATE", "STRFTIME",
    "DATE_FORMAT", "TO_DATE", "PARSE_DATE", "DATE", "COUNTIF", "COUNT_IF", "SAFE_DIVIDE", "DIV0", "ISNULL", "ZEROIFNULL",
    "NULLIFZERO", "APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "STARTS_WITH", "STARTSWITH", "ENDS_WITH", "ENDSWITH",
    "CONTAINS", "CONCAT", "CONCAT_WS", "REGEXP_LIKE", "REGEXP_MATCHES", "REGEXP_CONTAINS", "REGEXP_MATCH",
    "REGEXP_FULL_MATCH", "RLIKE", "TODAY", "NOW", "GETDATE", "CURRENT_DATE", "WEEK",
})  # fmt: skip


class Ordinary(Dialect):
    """Ordinary SQL: double quotes and backticks are identifiers, single quotes are text. NULLs come last, as in an answer."""

    NULL_ORDERING = "nulls_are_last"  # so that `nulls_first` is there only where NULLS FIRST is written

    class Tokenizer(tokens.Tokenizer):
        """Names in double quotes or backticks."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  # sqlglot's own way to declare a dialect

    class Parser(parser.Parser):
        """The functions of `AS_WRITTEN` are calls like any other; `~` and RLIKE, which differ between dialects, are two nodes."""

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
