"""Which tests of draws write a tolerance of their own? A search of the syntax tree, as far as that can see.

A value is drawn if it follows from a call that draws noise, through assignments, loops and functions of the same file. A limit is
from the helper if the comparison names one of its functions, or a value that follows from one. Reported is every assertion that
orders a drawn value, or calls it approximate, by a number that is written out. Not reported are numbers below ROUNDING, which are
for floating point; powers, which are ranges; and whole numbers that no statistic is compared with, such as the ends of a range.
Generators with a seed do not draw: a test of theirs gives the same result every time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import chance

ROUNDING = 1e-5
LIMITS = {name for name, made in vars(chance).items() if getattr(made, "__module__", "") == "chance"} | {"CHANCE"}
STATISTICS = {"mean", "std", "var", "sum", "count_nonzero", "bincount", "histogram", "median", "quantile", "unevenness"}
DRAWING = {
    *("release", "release_units", "release_each", "randomize", "randomize_columns", "noised", "_noise", "side_by_side", "replayed"),
    *("choose", "choose_listed", "draw", "bernoulli", "uniform_integers", "uniform_below", "distinct_integers", "random_words"),
    *("packed_coins", "binomial", "polya_urn", "heavy_draws", "laplace_draws", "discrete_laplace", "discrete_gaussian"),
    *(
        "draw_laplace",
        "draw_gaussian",
        "synthesize_table",
        "synthesize_tree",
        "synthesize_independent",
        "publish_map",
        "drawn_codes",
        "utility",
    ),
    *("as_published", "timed", "timing", "rank_correlation", "reconstruct_people", "isolate_people", "auxiliary", "simulate"),
    "permanent",
}
ARITHMETIC = {"sqrt", "log", "exp", "Fraction", "Decimal", "float", "isf", "ppf"}  # calls in which a tolerance may be written
Function = ast.FunctionDef | ast.AsyncFunctionDef


def tolerances(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Function, line and comparison of each tolerance that is written out."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    drawing = _drawing(functions)
    shared = _following(tree.body, lambda value, found: bool(_mentioned(value) & (LIMITS | found)))
    numbers = {
        name for node in ast.walk(tree) for target, value in _assigned(node) if _is_number(value) for name in _mentioned(target)
    }
    for function in functions:
        if not _draws(function, drawing, set()) and not any(_has_level(compared) for compared in _checked(function)):
            continue
        drawn = _following([function], lambda value, found: _draws(value, drawing, found))
        limited = shared | _following([function], lambda value, found: bool(_mentioned(value) & (LIMITS | shared | found)))
        for compared in _checked(function):
            if _mentioned(compared) & (LIMITS | limited):
                continue
            if _has_level(compared) or (_draws(compared, drawing, drawn) and _has_tolerance(compared, numbers)):
                yield function.name, compared.lineno, ast.unparse(compared)


def _drawing(functions: list[Function]) -> set[str]:
    """The calls that draw, and the functions of a file that make one."""
    drawing, before = DRAWING - {function.name for function in functions}, 0
    while len(drawing) > before:
        before = len(drawing)
        drawing |= {function.name for function in functions if _draws(function, drawing, set())}
    return drawing


def _draws(node: ast.AST, drawing: set[str], drawn: set[str]) -> bool:
    """Whether a value follows from a draw; `data.draw` is of Hypothesis."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    methods = {
        f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) and f.id != "draw" else ""
        for f in calls
        if not (isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "data")
    }
    return bool(methods & drawing) or bool({each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & drawn)


def _mentioned(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _following(body: list[ast.stmt] | list[Function], follows: Callable[[ast.AST, set[str]], bool]) -> set[str]:
    """The names that get a value which follows, through any number of assignments."""
    nodes = [node for part in body for node in ast.walk(part)]
    steps = [(_mentioned(target), value) for node in nodes for target, value in _assigned(node)]
    found: set[str] = set()
    while more := {name for names, value in steps if follows(value, found) for name in names} - found:
        found |= more
    return found


def _assigned(node: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            return [(target, value) for target in targets]
        case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return [(target, value)]
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            return [(target, value)]
    return []


def _checked(function: Function) -> Iterator[ast.Compare]:
    """The comparisons that an assertion makes, or that a function returns."""
    for node in ast.walk(function):
        made = node.test if isinstance(node, ast.Assert) else node.value if isinstance(node, ast.Return) else None
        yield from (each for each in ast.walk(made) if isinstance(each, ast.Compare)) if made else ()


def _is_ordered(compared: ast.Compare) -> bool:
    return any(isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for sign in compared.ops)


def _has_level(compared: ast.Compare) -> bool:
    """Whether it looks at the p-value of a test, or at a quantile of a law of scipy: a statistical test wherever it stands."""
    named = {getattr(node, "attr", "") for node in ast.walk(compared)}
    return _is_ordered(compared) and bool(named & {"pvalue", "isf"})


def _has_tolerance(compared: ast.Compare, numbers: set[str]) -> bool:
    """Whether a number stands where a limit should; `numbers` are the names of such in the file."""
    nodes = list(ast.walk(compared))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if any(isinstance(node, ast.Set | ast.SetComp) for node in nodes):
        return False
    ordered = _is_ordered(compared)
    if ordered and (_mentioned(compared) & numbers or any(_called(call) == "sqrt" for call in calls)):
        return True
    statistic = any(_called(call) in STATISTICS for call in calls)
    near = [word.value for call in calls if _called(call) == "approx" for word in call.keywords]
    return any(_is_written(value, True) for value in near) or (ordered and _is_written(compared, statistic))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float and node.value > ROUNDING


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_written(node: ast.AST, whole: bool) -> bool:
    """Whether a number stands in it: one with a fraction, or where `whole` counts any beyond 2. Arguments of calls do not count."""
    if isinstance(node, ast.Constant):
        return _is_number(node) or (whole and type(node.value) is int and node.value > 2)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return False
    if isinstance(node, ast.Call) and _called(node) not in ARITHMETIC:
        return False
    return any(_is_written(part, whole) for part in ast.iter_child_nodes(node))
