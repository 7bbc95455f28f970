"""Accepts proofs whose code changed path or names alone, after comparing its syntax trees with those of an earlier commit.

    .venv/bin/python tests/support/renamed.py --base COMMIT

Two definitions are the same up to names if their trees differ in identifiers only, and each identifier of the old tree stands for
one of the new tree and the other way round. A local name may become any other. A name that others see (a function, an attribute, a
keyword) may only become a name that no file of the earlier commit has: `log_up` never turns into `log_down`. Every other change is
listed, and its page is to be read again.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fingerprints import Listed, defined_by, fingerprint, listed, named, plain, proofs
from sources import ROOT, SOURCE, tree_of

IDENTIFIERS = {"id", "arg", "attr", "name", "names", "asname"}  # fields of a node that hold a name


@dataclass(frozen=True)
class Definition:
    """What a name of a module stands for."""

    module: str  # its path below src/tacit, with dots
    name: str
    nodes: tuple[ast.AST, ...]

    @cached_property
    def tree(self) -> Any:
        return [plain(node) for node in self.nodes]


def definitions(trees: dict[str, ast.Module]) -> Iterator[Definition]:
    """Every function, class, method and constant of the modules."""
    for module, tree in trees.items():
        for name in _names(tree):
            yield Definition(module, name, tuple(named(tree, name.split("."))))


def _names(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in tree.body:
        yield from defined_by(node)
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{inner}" for inner in _names(node))


def identifiers(tree: ast.AST) -> set[str]:
    """Every name in a tree that others may see or use."""
    texts = (getattr(node, field, None) for node in ast.walk(tree) for field in IDENTIFIERS)
    return {text for text in texts if isinstance(text, str)}


def locals_of(nodes: tuple[ast.AST, ...]) -> set[str]:
    """Names that only the definition itself uses: arguments and variables of functions, and not what a class or module keeps."""
    functions = [
        inner
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    scopes = functions + [
        inner
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp)
    ]
    own = {each.arg for scope in scopes for each in ast.walk(scope) if isinstance(each, ast.arg)}
    return own | {
        each.id for scope in scopes for each in ast.walk(scope) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def renames(old: Any, new: Any) -> Iterator[tuple[str, str, str]] | None:
    """The names of `old` with those in their places in `new`, and the kind of the place; None if the trees differ otherwise."""
    pairs: list[tuple[str, str, str]] = []
    return iter(pairs) if _collect(old, new, "", pairs) else None


def _collect(old: Any, new: Any, kind: str, pairs: list[tuple[str, str, str]]) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        inner = old[0] if old and isinstance(old[0], str) else kind
        return len(old) == len(new) and all(_collect(a, b, inner, pairs) for a, b in zip(old, new, strict=True))
    if isinstance(old, tuple) and isinstance(new, tuple):
        if old[0] != new[0]:
            return False
        if old[0] in IDENTIFIERS and isinstance(old[1], str) and isinstance(new[1], str):
            pairs.append((old[1].strip("'"), new[1].strip("'"), kind))
            return True
        return _collect(old[1], new[1], kind, pairs)
    return bool(old == new)


def same_up_to_names(old: Definition, new: Definition, taken: set[str]) -> bool:
    """Whether `new` is `old` with other names, none of which had another meaning before."""
    pairs = renames(old.tree, new.tree)
    if pairs is None:
        return False
    forth: dict[tuple[str, bool], str] = {}
    back: dict[tuple[str, bool], str] = {}
    own, own_now = locals_of(old.nodes), locals_of(new.nodes)
    for before, after, kind in pairs:
        local = kind in ("Name", "arg") and before in own
        if local != (kind in ("Name", "arg") and after in own_now):
            return False
        if forth.setdefault((before, local), after) != after or back.setdefault((after, local), before) != before:
            return False
        if before != after and not local and after in taken:
            return False
    return True


def trees_at(commit: str) -> dict[str, ast.Module]:
    """The modules of tacit at a commit."""
    packed = subprocess.run(
        ["git", "archive", "--format=tar", commit, "src/tacit"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        files = [(Path(entry.name), archive.extractfile(entry)) for entry in archive if entry.name.endswith(".py")]
        return {_dotted(path.relative_to("src/tacit")): ast.parse(file.read()) for path, file in files if file is not None}


def trees_now() -> dict[str, ast.Module]:
    return {_dotted(path.relative_to(SOURCE)): tree_of(path) for path in sorted(SOURCE.rglob("*.py"))}


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@dataclass
class Comparison:
    """The definitions of a commit beside those of today."""

    before: dict[str, list[Definition]]  # by fingerprint
    now: list[Definition]
    taken: set[str]

    @classmethod
    def of(cls, before: dict[str, ast.Module], now: dict[str, ast.Module]) -> Comparison:
        by_fingerprint: dict[str, list[Definition]] = {}
        for each in definitions(before):
            by_fingerprint.setdefault(fingerprint(list(each.nodes)), []).append(each)
        return cls(by_fingerprint, list(definitions(now)), set().union(*map(identifiers, before.values())))

    def successor(self, line: Listed, folder: str) -> Definition | None:
        """What the definition of a line has become: the one of the same name, or the only one that is the same up to names."""
        olds = self.before.get(line.written, [])
        same = [new for new in self.now if any(same_up_to_names(old, new, self.taken) for old in olds)]
        exact = [
            new for new in same if line.name in (f"{new.module}.{new.name}", f"{new.module}.{new.name}".removeprefix(f"{folder}."))
        ]
        short = [new for new in same if any(new.name == old.name for old in olds)]
        choice = exact or short or same
        return choice[0] if len(choice) == 1 else None


def name_in_page(definition: Definition, folder: str) -> str:
    return f"{definition.module}.{definition.name}".removeprefix(f"{folder}." if folder else "")


def follow(page: Path, comparison: Comparison) -> tuple[str, list[Listed]]:
    """The text of a page with names and fingerprints of today where the code is the same up to names, and what is not."""
    folder = ".".join(page.parent.relative_to(SOURCE).parts)
    text, left = page.read_text("utf-8"), []
    for line in listed(page):
        if line.changed:
            successor = comparison.successor(line, folder)
            if successor is None:
                left.append(line)
                continue
            new = f"- `{name_in_page(successor, folder)}` `{fingerprint(list(successor.nodes))}`"
            text = text.replace(f"- `{line.name}` `{line.written}`", new)
    return text, left


def main() -> int:
    """Accept what changed in names alone; list the rest, and exit with 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="origin/main", help="commit whose proofs were read")
    comparison = Comparison.of(trees_at(parser.parse_args().base), trees_now())
    unread = 0
    for page in proofs():
        text, left = follow(page, comparison)
        if text != page.read_text("utf-8"):
            page.write_text(text, "utf-8")
            print(f"same up to names: {page.relative_to(ROOT)}")
        for line in left:
            unread += 1
            print(f"read again: {page.relative_to(ROOT)}: {line.name} {line.written} -> {line.now or 'nothing has this name'}")
    return int(unread > 0)


if __name__ == "__main__":
    sys.exit(main())
