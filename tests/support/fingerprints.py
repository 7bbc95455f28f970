"""Fingerprints of what a proof is about: the page lists functions, classes and constants, each with a hash of its syntax tree.

A proof ends with a section "What this page proves". Each line names something of a module, by the module's path below the folder
of the page or below src/tacit, and gives its fingerprint. The fingerprint leaves out what a proof cannot depend on: docstrings,
comments, formatting, and the words of an error message, with the argument that it names. A function includes what
is registered on it (`@cost.register`).

    make proofs                  shows the pages whose code has changed since they were last read
    make proofs ACCEPT="PAGE"    writes the fingerprints of today into pages that were read again, and still hold

A new line is written with `new` in the place of its fingerprint, and accepted in the same way.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sources import ROOT, SOURCE, tree_of

HEADING = "## What this page proves"
LINE = re.compile(r"^- `([\w.]+)` `([0-9a-f]{8}|new)`$", re.MULTILINE)
LEFT_OUT = {"type_comment", "kind", "ctx"}  # nothing of what is run
DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Listed:
    """One line of a page; `now` is the fingerprint of the code, None where nothing has that name."""

    name: str
    written: str
    now: str | None

    @property
    def changed(self) -> bool:
        return self.written != self.now


def proofs() -> list[Path]:
    """Every proof beside the code."""
    return sorted(SOURCE.rglob("*.md"))


def listed(page: Path, text: str | None = None) -> list[Listed]:
    """What a page says it proves."""
    _, _, section = (page.read_text("utf-8") if text is None else text).partition(f"\n{HEADING}\n")
    return [Listed(name, written, fingerprint_of(name, page.parent)) for name, written in LINE.findall(section)]


def accepted(text: str, page: Path) -> str:
    """The text of a page with the fingerprints of today."""
    head, heading, section = text.partition(f"\n{HEADING}\n")
    now = {each.name: each.now or each.written for each in listed(page, text)}
    return head + heading + LINE.sub(lambda found: f"- `{found[1]}` `{now[found[1]]}`", section)


def fingerprint_of(name: str, folder: Path) -> str | None:
    """The fingerprint of what a name means in a page of `folder`: something of a module there, or of one by its path in tacit."""
    parts = name.split(".")
    for base in (folder, SOURCE):
        for length in range(len(parts) - 1, 0, -1):
            place = base.joinpath(*parts[:length])
            for module in (place.with_suffix(".py"), place / "__init__.py"):
                if module.is_file():
                    found = named(tree_of(module), parts[length:])
                    return fingerprint(found) if found else None
    return None


def named(tree: ast.Module | ast.ClassDef, parts: list[str]) -> list[ast.AST]:
    """The nodes that define a name, with those that are registered on it; none where nothing does."""
    found: list[Any] = [node for node in tree.body if parts[0] in defined_by(node)]
    if len(parts) > 1:
        return [inner for node in found if isinstance(node, ast.ClassDef) for inner in named(node, parts[1:])]
    return found + ([node for node in tree.body if f"{parts[0]}.register" in decorators(node)] if found else [])


def defined_by(node: ast.stmt) -> set[str]:
    if isinstance(node, DEFINED):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def decorators(node: ast.stmt) -> set[str]:
    return {ast.unparse(getattr(each, "func", each)) for each in getattr(node, "decorator_list", [])}


def fingerprint(nodes: list[ast.AST]) -> str:
    """Eight hexadecimal digits that change whenever what is run may: the same on every version of Python."""
    return hashlib.sha256(repr([plain(node) for node in nodes]).encode()).hexdigest()[:8]


def plain(value: Any, in_error: bool = False) -> Any:
    """A tree as nested lists, by its fields that are not empty: versions of Python differ in which empty ones they have."""
    if isinstance(value, list):
        return [plain(each, in_error) for each in value]
    if not isinstance(value, ast.AST):
        return repr(value)
    if in_error and (isinstance(value, ast.JoinedStr) or isinstance(getattr(value, "value", None), str)):
        filled = [node.value for node in ast.walk(value) if isinstance(node, ast.FormattedValue)]
        return ["words", *plain(filled)]  # what is filled in counts: it may not be private
    fields = {name: without_docstring(value, name) for name in value._fields if name not in LEFT_OUT}
    if in_error and isinstance(value, ast.Call):  # a message names its argument, and carries it beside its words
        fields["keywords"] = [each for each in value.keywords if each.arg != "argument" or _calls(each)]
    kept = {name: field for name, field in fields.items() if field is not None and field != []}
    return [
        type(value).__name__,
        *((name, plain(field, in_error or isinstance(value, ast.Raise))) for name, field in sorted(kept.items())),
    ]


def _calls(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call) for each in ast.walk(node))


def without_docstring(node: ast.AST, field: str) -> Any:
    value = getattr(node, field, None)
    if field != "body" or not isinstance(node, DEFINED):
        return value
    return value[1:] if ast.get_docstring(node, clean=False) is not None else value


# --- the recipe --------------------------------------------------------------------------------------------------------------


def main(pages: list[str]) -> int:
    """Accept the named pages; show the others whose code has changed. 1 if there are any, or if a name means nothing."""
    for page in (Path(name).resolve() for name in pages):
        page.write_text(accepted(page.read_text("utf-8"), page), "utf-8")
        print(f"accepted: {page.relative_to(ROOT)}")
    stale = {page: changed for page in proofs() if (changed := [each for each in listed(page) if each.changed])}
    for page, changed in stale.items():
        print(f"{page.relative_to(ROOT)}: read it again; then: make proofs ACCEPT={page.relative_to(ROOT)}")
        for each in changed:
            print(f"    {each.name:60} {each.written} -> {each.now or 'nothing has this name'}")
    if not stale:
        print("every proof is about the code as it is")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
