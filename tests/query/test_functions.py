"""One row for a function: its name stands in one table, and the rows are complete."""

import ast
from pathlib import Path

import pytest
from sqlglot import exp

from sources import MODULES, SOURCE, nodes, tree_of
from tacit.query.functions import FORMS, FUNCTIONS
from tacit.query.intervals.aggregates import AGGREGATES, PAIRS, WRITTEN
from tacit.query.intervals.columns import COMPUTED
from tacit.query.intervals.linear_models import MODEL_PARTS
from tacit.query.language.nodes import CALLS
from tacit.query.question import Extreme, Mapped

NAMED_IN = {  # modules in which a name is a text, whatever its case: the table, then others with their reason
    "nullif": {"query/functions.py", "query/language/words.py"},  # NULLIFZERO is written as NULLIF
    "greatest": {"query/functions.py"},
    "ln": {"query/functions.py", "query/binding/curves.py"},  # the rule on rows names it in its refusal
    "sqrt": {"query/functions.py", "query/binding/curves.py"},
    "mode": {
        "query/intervals/aggregates.py",
        "release/answer.py",  # a kind of column
        "release/derived.py",
        "release/certificates/mechanisms.py",
        "evidence/verify/small_tables.py",  # the mechanism that `tacit verify mode` measures
        "doors/cli/verify.py",
    },
}


def texts(tree: ast.Module) -> set[str]:
    """The texts of a module that are whole literals, docstrings aside, in lower case."""
    docstrings = {id(node.value) for node in nodes(tree, ast.Expr)}
    return {node.value.lower() for node in nodes(tree, ast.Constant) if isinstance(node.value, str) and id(node) not in docstrings}


def naming(name: str, modules: dict[str, Path]) -> set[str]:
    return {str(path.relative_to(SOURCE)) for path in modules.values() if name in texts(tree_of(path))}


@pytest.mark.parametrize("name", NAMED_IN)
def test_a_function_is_named_in_its_table(name):
    assert naming(name, MODULES) == NAMED_IN[name]


def test_a_planted_name_is_seen():
    assert texts(ast.parse('def f():\n    """nullif"""\n    return g(NAMES["NullIf"], "x nullif")\n')) == {"nullif", "x nullif"}


def test_every_row_is_complete():
    """A node that is computed by the table's ends has them, and every other node is computed by its class."""
    for name, row in FUNCTIONS.items():
        assert (row.ends is not None) == (row.out in (Mapped, Extreme)), name
        assert row.out is None or row.out in COMPUTED, name
        assert row.form is None or row.form.most is None or row.form.least <= row.form.most, name
    assert not set(FUNCTIONS) & set(WRITTEN)
    assert {word for row in AGGREGATES.values() for word in row.written} | {*PAIRS, *MODEL_PARTS} == set(WRITTEN)


def test_every_function_has_a_node_of_its_own():
    """Two names with one node would be read as the same function."""
    words = [word for name, form in FORMS.items() if form.fields for word in (name, *form.also)]
    assert len(words) == len(CALLS)
    assert all(set(FORMS[name].fields) <= set(kind.arg_types) for kind, name in CALLS.items())
    assert CALLS[exp.Stddev] == CALLS[exp.StddevSamp] == "stddev_samp"
