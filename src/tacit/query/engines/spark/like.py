"""LIKE on Spark, in time linear in the text: Spark runs most patterns as a regular expression that tries every way to match.

With '%a%a%a%a%a%a%b' one text of 64 letters a keeps an executor busy past any limit, so that a time-out would tell that a person
has such a text. Here each part between two % is looked for once: its first occurrence is the best, and an atomic group keeps it.
The work for a text of n characters and a pattern of m is at most 2 n m steps, which is what `query/planning.py` counts.
"""

from __future__ import annotations

import re
from typing import Any

FIXED = re.compile("%?[^%_]*%?|[^%_]+%[^%_]+")  # Spark compares these without a regular expression


def regular(pattern: str) -> str:
    r"""The regular expression of Java for a LIKE pattern: % is any run, _ any one character, nothing else is special.

    >>> regular("a%b_%c")
    '(?s)\\Aa(?>.*?b.).*c\\z'
    """
    first, *inner = pattern.split("%")
    if not inner:
        return rf"(?s)\A{_literal(first)}\z"
    *inner, last = inner
    body = "".join(f"(?>.*?{_literal(part)})" for part in inner if part)
    return rf"(?s)\A{_literal(first)}{body}.*{_literal(last)}\z"


def _literal(part: str) -> str:
    plain = (each if each.isascii() and each.isalnum() else f"\\x{{{ord(each):x}}}" for each in part)
    return "".join("." if each == "_" else written for each, written in zip(part, plain, strict=True))


def spark_compiler() -> Any:
    """Ibis's compiler for Spark, with this LIKE; it needs no session."""
    import sqlglot.expressions as sge
    from ibis.backends.sql.compilers.pyspark import PySparkCompiler

    class Compiler(PySparkCompiler):  # type: ignore[misc]
        __slots__ = ()

        def visit_StringSQLLike(self, op: Any, *, arg: Any, pattern: Any, escape: Any) -> Any:  # noqa: N802  # a name of Ibis
            if FIXED.fullmatch(pattern.this):
                return super().visit_StringSQLLike(op, arg=arg, pattern=pattern, escape=escape)
            return sge.RegexpLike(this=arg, expression=sge.convert(regular(pattern.this)))

    return Compiler()


def spark_backend(session: Any) -> Any:
    """Ibis for a session of Spark, with this LIKE."""
    import ibis

    backend = ibis.pyspark.connect(session)
    backend.compiler = spark_compiler()
    return backend
