"""The source of tacit and of its tests as syntax trees: a file is parsed once and walked once, whichever rules look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tacit"
FILES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}  # by their path below src/tacit
MODULES = {f"tacit.{name[:-3].replace('/', '.')}".removesuffix(".__init__"): path for name, path in FILES.items()}
Node = TypeVar("Node", bound=ast.AST)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file, which nobody changes."""
    return ast.parse(path.read_text("utf-8"))


def nodes(tree: ast.AST, *kinds: type[Node]) -> list[Node]:
    """All nodes of these kinds in a tree, kind by kind."""
    by_kind = _by_kind(tree)
    return [node for kind in kinds for node in by_kind.get(kind, ())]


def _by_kind(tree: ast.AST) -> dict[type, list[Any]]:
    """The nodes of a tree by their exact kind, in the order of the text; they are kept with the tree."""
    found: dict[type, list[Any]] | None = vars(tree).get("by_kind")
    if found is None:
        found = vars(tree)["by_kind"] = {}
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            found.setdefault(type(node), []).append(node)
            waiting += reversed(list(ast.iter_child_nodes(node)))
    return found
