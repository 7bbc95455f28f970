"""SQL in which a part that is used again is computed once, in a query below, and named: it grows with the plan, not with uses.

Ibis writes a part out wherever it is used. ABS(x) uses x three times and a logarithm sixteen times, so nested ones fill hundreds of
thousands of characters, and Spark's parser takes a tenth of a second for a thousand. Small expressions stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

SMALL = 400  # nodes of a query's expressions that are written as they are
WORTH = 8  # nodes of a part for which a name is shorter
NAME = "tacit_part_"  # no column of a catalog begins with tacit_
VALUES = (exp.Case, exp.Cast, exp.Floor, exp.Sqrt, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.If)
COMPARED = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Like)  # which bind more tightly than AND and OR
ELSEWHERE = (exp.AggFunc, exp.Window, exp.Query, exp.Star, exp.Lambda)  # what is not computed row by row


def share_parts(tree: exp.Expr) -> exp.Expr:
    """A query with the same rows; each part of its expressions that is used again is written once."""
    names = (f"{NAME}{number}" for number in range(10**9))
    for select in [
        node for node in tree.walk(prune=lambda node: isinstance(node, (*VALUES, exp.Paren))) if isinstance(node, exp.Select)
    ]:
        if not select.args.get("joins") and select.args.get("from_") is not None:
            _share(select, names)
    return tree


def _share(select: exp.Select, names: Iterator[str]) -> None:
    """Puts the parts that a query uses again into queries below it, parts before those that are made of them."""
    parts = _Parts()
    places = [key for key in ("expressions", "where", "group", "having", "order", "qualify") if select.args.get(key)]
    for key in places:
        parts.read(select.args[key])
    if parts.written() <= SMALL:
        return
    source = select.args["from_"].this
    alias = exp.to_identifier(source.alias, quoted=True)
    levels = parts.name(names, alias)
    for level in sorted(set(levels.values())):
        now = [number for number in levels if levels[number] == level]
        made = [exp.alias_(parts.again(number, whole=True), parts.names[number], quoted=True) for number in now]
        below = exp.Select(expressions=[exp.Column(this=exp.Star(), table=alias.copy()), *made], from_=exp.From(this=source))
        source = exp.Subquery(this=below, alias=exp.TableAlias(this=alias.copy()))
    changed = {key: parts.value(select.args[key]) for key in places}
    for key, value in changed.items():
        select.set(key, value)
    select.set("from_", exp.From(this=source))


@dataclass(slots=True)
class _Parts:
    """The distinct parts of some expressions by number, children first: a part of the same form has the same number."""

    nodes: list[exp.Expr] = field(default_factory=list)
    inside: list[list[int]] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    row_by_row: list[bool] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    alias: Any = None
    _forms: dict[Any, int] = field(default_factory=dict)
    _read: dict[int, tuple[exp.Expr, int]] = field(default_factory=dict)

    def read(self, given: Any) -> None:
        """Numbers all parts of an expression, or of several."""
        for node in given if isinstance(given, list | tuple) else [given]:
            self.roots.append(self._number(node))

    def written(self) -> int:
        """How many nodes are written where nothing is shared."""
        return sum(self.sizes[number] for number in self.roots)

    def name(self, names: Iterator[str], alias: Any) -> dict[int, int]:
        """Names every part that is worth it; of each, how many queries deep its own parts lie."""
        self.alias = alias
        levels: list[int] = []
        for number, node in enumerate(self.nodes):
            level = max((levels[part] for part in self.inside[number]), default=0)
            named = self.uses[number] > 1 and self.sizes[number] >= WORTH and self.row_by_row[number] and _is_value(node)
            if named:
                self.names[number] = next(names)
            levels.append(level + named)
        return {number: levels[number] for number in self.names}

    def again(self, number: int, whole: bool = False) -> exp.Expr:
        """A part, written with the names of those inside it; `whole` writes out even one that has a name."""
        if number in self.names and not whole:
            return exp.column(self.names[number], table=self.alias.copy(), quoted=True)
        node = self.nodes[number]
        if isinstance(node, exp.Paren) and self._number(node.this) in self.names:
            return self.again(self._number(node.this))
        if isinstance(node, exp.And | exp.Or):
            return type(node)(
                this=self.again(self._bare(node, node.this)), expression=self.again(self._bare(node, node.expression))
            )
        return type(node)(**{key: self.value(value) for key, value in node.args.items()})

    def value(self, value: Any) -> Any:
        """The same for what an argument holds: a part, a list of parts, or neither."""
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return self.again(self._number(value)) if isinstance(value, exp.Expr) else value

    def _number(self, node: exp.Expr) -> int:
        if (known := self._read.get(id(node))) is not None:
            return known[1]
        inside = [self._number(part) for value in node.args.values() for part in _expressions(value)]
        form = (type(node), tuple((key, self._form(value)) for key, value in node.args.items()))
        number = self._forms.setdefault(form, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
            self.inside.append(inside)
            self.uses.append(0)
            self.sizes.append(1 + sum(self.sizes[part] for part in inside))
            self.row_by_row.append(not isinstance(node, ELSEWHERE) and all(self.row_by_row[part] for part in inside))
            for part in [] if isinstance(node, exp.Paren) else inside:
                self.uses[self._number(self.nodes[part].unnest())] += 1  # a part in parentheses is the part
        self._read[id(node)] = (node, number)  # which keeps it, so that no other has its id
        return number

    def _bare(self, node: exp.Expr, part: exp.Expr) -> int:
        """A side of AND or OR, without parentheses that change nothing: each level of them is read again from its start."""
        inner = part.unnest()
        return self._number(inner if isinstance(inner, (type(node), *COMPARED)) else part)

    def _form(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(map(self._form, value))
        return ("part", self._number(value)) if isinstance(value, exp.Expr) else (type(value), value)


def _expressions(value: Any) -> list[exp.Expr]:
    """The parts that an argument holds; Ibis has tuples of them too."""
    return [part for part in (value if isinstance(value, list | tuple) else [value]) if isinstance(part, exp.Expr)]


def _is_value(node: exp.Expr) -> bool:
    """Whether a node is a value: an IF without an ELSE is a branch of a CASE."""
    return isinstance(node, VALUES) and not (isinstance(node, exp.If) and node.args.get("false") is None)
