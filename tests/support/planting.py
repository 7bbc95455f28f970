"""Single-token edits of a module: comparisons, off by one, signs, scales, missing factors, directions of rounding.

Left out is what no release depends on: docstrings, annotations, error messages, texts, decorators, `__repr__`, and charts.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
SWAPPED = {"min": "max", "floor": "ceil", "any": "all", "minimum": "maximum", "left": "right", "low": "high", "lower": "upper"}
SWAPPED |= {new: old for old, new in SWAPPED.items()}
UNSEEN = {"__repr__", "__str__", "chart", "curve"}
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
TOP = "<module>"


@dataclass(frozen=True)
class Mutant:
    """One edit; `function`, `edit` name it wherever its line moves. `statement` is the line at which a run passes it."""

    module: str
    function: str
    edit: str
    line: int
    statement: int
    at_import: bool  # what a run passes only when the module is loaded
    place: tuple[int, int] = field(compare=False)  # the node in the order of the walk, and which of its edits

    @property
    def key(self) -> str:
        return f"{self.function}: {self.edit}"


@dataclass(frozen=True)
class _Spot:
    node: ast.AST
    parent: ast.AST
    function: str
    statement: int
    at_import: bool
    chain: tuple[ast.AST, ...]


class Planted:
    """A module's syntax tree, with its mutants."""

    def __init__(self, path: Path, module: str) -> None:
        self.path, self.module = path, module
        self.tree = ast.parse(path.read_text("utf-8"))

    @cached_property
    def _spots(self) -> list[_Spot]:
        return list(_spots(self.tree))

    @cached_property
    def _imports(self) -> dict[str, ast.ImportFrom]:
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)]
        return {alias.asname or alias.name: node for node in found for alias in node.names}

    def mutants(self) -> list[Mutant]:
        """All edits, in the order of the text."""
        found, times = [], Counter[tuple[str, str]]()
        for index, spot in enumerate(self._spots):
            for variant, new in enumerate(_variants(spot)):
                shown = _context(spot)
                before = _text(shown)
                with _replaced(spot, new):
                    edit = f"{before} -> {_text(new if shown is spot.node else shown)}"
                times[spot.function, edit] += 1
                again = times[spot.function, edit]
                name = edit if again == 1 else f"{edit} ({again})"
                line = getattr(spot.node, "lineno", spot.statement)
                found.append(Mutant(self.module, spot.function, name, line, spot.statement, spot.at_import, (index, variant)))
        return sorted(found, key=lambda each: (each.line, each.place))

    def code(self, mutant: Mutant | None) -> CodeType:
        """The module with one edit, or as it is."""
        if mutant is None:
            return compile(self.tree, str(self.path), "exec")
        spot = self._spots[mutant.place[0]]
        new = list(_variants(spot))[mutant.place[1]]
        with _replaced(spot, new):
            return self._compiled(spot.node, new)

    def _compiled(self, old: ast.AST, new: ast.AST) -> CodeType:
        origin = self._imports.get(getattr(old, "id", ""))
        extra: list[ast.stmt] = []
        if isinstance(new, ast.Name) and origin is not None:  # the other direction of rounding, from where the one is imported
            extra = [ast.ImportFrom(origin.module, [ast.alias(new.id)], origin.level)]
        tree = ast.Module([*_future(self.tree), *extra, *self.tree.body[len(_future(self.tree)) :]], [])
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")

    def watched(self) -> CodeType:
        """The module with a call of `__passed__(line)` before every statement of every function."""
        tree = ast.parse(self.path.read_text("utf-8"))
        _Watching(str(self.path)).visit(tree)
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")


class _Watching(ast.NodeTransformer):
    def __init__(self, file: str) -> None:
        self.file, self.inside = file, 0

    def visit(self, node: ast.AST) -> ast.AST:
        self.inside += isinstance(node, FUNCTION)
        self.generic_visit(node)
        if self.inside:
            for name in ("body", "orelse", "finalbody"):
                part = getattr(node, name, None)
                if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                    first = isinstance(node, FUNCTION) and ast.get_docstring(node, clean=False) is not None
                    setattr(node, name, part[:first] + [each for old in part[first:] for each in (self._passing(old), old)])
        self.inside -= isinstance(node, FUNCTION)
        return node

    def _passing(self, old: ast.stmt) -> ast.stmt:
        call = ast.Call(ast.Name("__passed__", ast.Load()), [ast.Constant(self.file), ast.Constant(old.lineno)], [])
        return ast.copy_location(ast.Expr(call), old)


def _future(tree: ast.Module) -> list[ast.stmt]:
    """The docstring and the imports that must come first."""
    length = 0
    for node in tree.body:
        if not (isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            break
        length += 1
    return tree.body[:length]


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())


def _context(spot: _Spot) -> ast.AST:
    """What is shown of an edit: the node itself, or for a number or name the expression or short statement around it."""
    shown = spot.node
    for around in reversed(spot.chain):
        single = isinstance(shown, ast.Constant | ast.Name) or (
            isinstance(shown, ast.UnaryOp) and isinstance(shown.operand, ast.Constant)
        )
        if not single or not isinstance(
            around, ast.expr | ast.keyword | ast.arguments | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return
        ):
            break
        shown = around
    return shown


# --- where edits are -----------------------------------------------------------------------------------------------------------


def _spots(tree: ast.Module) -> Iterator[_Spot]:
    """The nodes that may be edited, in the order of a walk that leaves out what no release depends on."""
    yield from _below(tree, (), TOP, _Passed(0, at_import=True))


@dataclass(frozen=True)
class _Passed:
    statement: int
    at_import: bool


def _below(node: ast.AST, chain: tuple[ast.AST, ...], function: str, passed: _Passed) -> Iterator[_Spot]:
    chain = (*chain, node)
    for name, child in _children(node):
        if _left_out(node, name, child):
            continue
        inside, here = function, passed
        if isinstance(node, FUNCTION | ast.ClassDef) and name == "body":
            inside = node.name if function == TOP else f"{function}.{node.name}"
            here = _Passed(passed.statement, passed.at_import and isinstance(node, ast.ClassDef))
        if isinstance(child, ast.stmt):
            here = _Passed(child.lineno, here.at_import)
        yield _Spot(child, node, inside, here.statement, here.at_import, chain)
        yield from _below(child, chain, inside, here)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and not isinstance(
                each, ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop
            ):
                yield name, each


def _left_out(node: ast.AST, name: str, child: ast.AST) -> bool:
    if name in ("annotation", "returns", "decorator_list", "bases", "type_params") or isinstance(
        child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom
    ):
        return True
    if isinstance(child, ast.keyword) and child.arg == "strict":
        return True  # zip(strict=True) guards against errors of our own
    if isinstance(child, FUNCTION) and child.name in UNSEEN:
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True  # a docstring
    if isinstance(child, ast.If) and _text(child.test) == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Call) and _text(node.func) in ("cast", "TypeVar") and name == "args"


# --- what they are -------------------------------------------------------------------------------------------------------------


def _variants(spot: _Spot) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    node, parent = spot.node, spot.parent
    if isinstance(node, ast.Compare):
        for position, operation in enumerate(node.ops):
            other = COMPARED[type(operation)]()
            yield ast.Compare(node.left, [*node.ops[:position], other, *node.ops[position + 1 :]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not _is_text(node):
        yield ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
        if isinstance(node.op, ast.Mult | ast.Div):
            yield node.left
        if isinstance(node.op, ast.Mult):
            yield node.right
    elif isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED:
        yield ast.AugAssign(node.target, COMPUTED[type(node.op)](), node.value)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Constant) and not isinstance(parent, ast.JoinedStr | ast.FormattedValue):
        yield from map(ast.Constant, _other_values(node.value))
    elif (
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and (other := _opposite(node.id, isinstance(parent, ast.Call) and parent.func is node))
    ):
        yield ast.Name(other, ast.Load())
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and (other := _opposite(node.attr, called=True)):
        yield ast.Attribute(node.value, other, ast.Load())


def _other_values(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2, 0] if value == 1 else [value + 1]
    if isinstance(value, float):
        return [2 * value] if value else [1.0]
    return []


def _opposite(name: str, called: bool) -> str | None:
    """The function that rounds, or chooses, the other way."""
    if called and name in SWAPPED:
        return SWAPPED[name]
    for one, other in (("_up", "_down"), ("_down", "_up")):
        if called and name.endswith(one):
            return name.removesuffix(one) + other
    return None


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str) for side in (node.left, node.right))


@contextmanager
def _replaced(spot: _Spot, new: ast.AST) -> Iterator[None]:
    """The tree with another node in the place of one, for the length of a block."""
    if not hasattr(new, "lineno") and hasattr(spot.node, "lineno"):
        ast.copy_location(new, spot.node)
    for name, value in ast.iter_fields(spot.parent):
        if value is spot.node:
            setattr(spot.parent, name, new)
            try:
                yield
            finally:
                setattr(spot.parent, name, spot.node)
            return
        if isinstance(value, list) and any(each is spot.node for each in value):
            position = next(index for index, each in enumerate(value) if each is spot.node)
            value[position] = new
            try:
                yield
            finally:
                value[position] = spot.node
            return
