"""Rules that hold for the whole tree: HTML, CSV, JSON, pictures and lines on a terminal have one way out each."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pytest

from sources import FILES, nodes, tree_of

ELEMENT = re.compile(r"(?<!\?P)</?[a-z][a-z0-9]*[\s>]|(?<!\?)<!")  # the named groups of regular expressions are none
ESCAPES = {"for_html", "prose_for_html", "for_script", "svg"}
NUMBER = re.compile(r"[,.0-9]*[,%defgn0-9]")  # how numbers are formatted, and texts cannot be
# What stands in HTML without an escape beside it, and why it may: it is HTML already, a constant, a number, or was escaped above.
HTML_ALREADY = {
    "publish/local/survey/form.py": {
        "id", "legend", "inside", "error", "short", "''.join(reversed(labels) if reverse else labels)", "lower", "upper", "step",
        "type", "code", "blanks['except_group']", "blanks['weak']", "blanks['sample']", "blanks['send']",
    },
    "release/curators.py": {"STYLE", "policy", "head", "banner", "body", "whole"},
    "publish/synthetic/rows/utility.py": {"meaning", "head", "rows", "skipped", "ways", "len(errors.of(ways))"},
    "publish/synthetic/rows/report.py": {
        "''.join(sections)", "'key' if at == 0 else 'number'", "_matrix(report)", "check_it", "fine", "head", "listed", "pairs",
        "picture_of", "rows", "said", "shown", "width", "words",
    },
    "untrusted.py": {"CELL", "FIGURES", "LINE", "SOFT", "body", "each", "heads", "lines", "right", "side", "span", "style"},
    "release/answer.py": {"drawn"},
    "query/price/explanation.py": {"table", "text"},
    "release/drawing.py": {
        "''.join(part.elements)", "CARD[0]", "COLOURS[at][0]", "SHADE[0]", "STYLE", "at", "bold", "card", "coordinate(left)",
        "coordinate(opacity)", "coordinate(top)", "dashes", "head", "inside", "kind", "name", "place", "rectangle(x1, y1, x2, y2)",
        "route", "shape", "size", "stroke", "title", "width",
    },
    "release/published.py": {
        "_certificate(part)", "check", "file", "link", "name", "words",  # a number, base64, and what is made of them
        "_kind(column)", "answer.chart(title=title).svg()", "body", "head", "heads", "method", "more", "notes", "opening",
        "paragraphs", "picture", "promised", "rows", "sections", "start", "styles", "table", "table_html(answer)",
    },
    "publish/releases/metadata.py": {
        "_id(declared.url, declared.title)", "_id(declared.url, release.name, done.period)",  # a UUID
        "about", "author", "entries", "head", "language", "links", "start", "where",
    },
    "publish/releases/pages.py": {
        "release.name", "before.name", "done.period", "folder", "stem", "up", "href",  # of letters that the declaration admits
        "''.join(items)", "CHART", "WAITING", "_certificates(done, folder)",
        "_downloads(f'{folder}data', release.formats, title)", "_link_before(release, site)", "_notes(release)", "about", "by",
        "cards", "check", "days", "drawn", "each", "each.upper()", "figure", "files_", "foot", "head", "items", "links", "listed",
        "main", "method", "name", "nav", "notes", "opening", "picture",
        "picture_under(answer, picture, _days(done.first, done.last)).svg()",
        "picture_under(answer, title, _days(first, done.last)).svg()", "picture_under(one.series, title, days).svg()",
        "site.promise", "table", "table_html(answer)", "text", "under", "words",
    },
    "release/plots.py": {"route", "COLOURS[at][0]", "at"},
    "chart.py": {"rules", "end", "rest", "head"},
}  # fmt: skip


def unescaped(tree: ast.AST, known: frozenset[str] | set[str] = frozenset()) -> set[str]:
    """What f-strings, `%` and `.format` put into HTML without an escape."""
    found = set()
    for node in nodes(tree, ast.JoinedStr, ast.BinOp, ast.Call):
        if isinstance(node, ast.JoinedStr) and ELEMENT.search(_constant(node)):
            found |= {ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue) and not _safe(part)}
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add) and _is_html(node.left):
            found |= set() if _is_joined(node.right) else {ast.unparse(node.right)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {ast.unparse(part) for part in parts if _is_html(node.func.value) and not _is_escape(part)}
    return found - set(known)


def _constant(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))


def _is_html(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(ELEMENT.search(node.value))


def _safe(part: ast.FormattedValue) -> bool:
    spec = _constant(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
    return _is_escape(part.value) or bool(NUMBER.fullmatch(spec))


def _is_escape(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ESCAPES


def _is_joined(node: ast.AST) -> bool:
    """Whether it is "".join(f"..." for ...): what stands in that f-string is looked at by itself."""
    joined = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"
    return joined and all(isinstance(part, ast.GeneratorExp) and isinstance(part.elt, ast.JoinedStr) for part in node.args)


def names_of(tree: ast.AST) -> Iterator[str]:
    """What is imported and called, as it is written, and keywords with their values."""
    for node in nodes(tree, ast.Import, ast.ImportFrom, ast.Call):
        if isinstance(node, ast.Import):
            yield from (f"import {alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"from {node.module} import {alias.name}" for alias in node.names)
        else:
            whole = ast.unparse(node.func)
            called = f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else whole
            yield from {f"{called}()", f"{whole}()"}
            yield from (f"{called}({keyword.arg}={ast.unparse(keyword.value)})" for keyword in node.keywords)


@cache
def used(name: str) -> frozenset[str]:
    return frozenset(names_of(tree_of(FILES[name])))


def uses(pattern: str) -> Callable[[Iterable[str]], set[str]]:
    return lambda names: {name for name in names if re.fullmatch(pattern, name)}


WAITING = "accounting/ledger/group_commit.py"  # one constant sentence, by whoever waits for a lock
SCREEN, BARS, OUTPUT, ONE_PLACE = "doors/cli/screen.py", "doors/cli/screen.py", "doors/cli/output.py", "untrusted.py"
DIGESTS = ("privacy/catalog.py", "data/store.py", "data/declaration.py")  # hashed, stored, and escaped for TOML
RULES = {  # a search, who may have it, and what it must find
    "print": (uses(r"print\(\)|\.s?echo\(\)|sys\.std\w+\.write\(\)|from rich import print"), (OUTPUT, WAITING), "print(x)"),
    "console": (uses(r"from rich.console import Console|Console\(\)"), (SCREEN, "evidence/attacks/hostile_key.py"), "Console()"),
    "progress": (uses(r"(from rich.progress import|from rich.status import) .*"), (BARS,), "from rich.progress import track"),
    "markup": (uses(r".*import markup|from rich.markup .*|\.from_markup\(\)|.*\(markup=True\)"), (), "Text.from_markup(x)"),
    "pictures": (uses(r"import vl_convert|from vl_convert .*"), ("chart.py",), "import vl_convert"),
    "html": (uses(r"from html import escape|import html"), (ONE_PLACE,), "from html import escape"),
    "csv": (uses(r"\.(writer|DictWriter|to_csv|write_csv)\(\)"), (ONE_PLACE,), "csv.writer(file)"),
    "json": (uses(r"\.dumps\(ensure_ascii=(False|plain)\)"), (ONE_PLACE, *DIGESTS), "json.dumps(x, ensure_ascii=False)"),
}
OUR_CSV = {
    "doors/cli/ask.py",
    "doors/cli/survey/estimate.py",
    "evidence/attacks/hostile_key.py",
    "doors/server/analysts.py",
}  # they call tacit's own `to_csv`


def test_html_is_written_through_an_escape():
    found = {name: unescaped(tree_of(path), HTML_ALREADY.get(name, set())) for name, path in FILES.items()}
    assert {name: parts for name, parts in found.items() if parts} == {}


def test_nothing_is_excused_that_is_not_there():
    for name, known in HTML_ALREADY.items():
        assert known <= unescaped(tree_of(FILES[name])), name


@pytest.mark.parametrize(
    "planted",
    [
        "f'<td>{name}</td>'",
        "f'<p title=\"{x}\">'",
        "'<td>%s</td>' % name",
        "'<b>' + name",
        "'<td>{}</td>'.format(name)",
        "f'<a >{x!s}'",
    ],
)
def test_html_without_an_escape_is_found(planted):
    assert unescaped(ast.parse(planted))
    assert not unescaped(ast.parse("f'<td>{for_html(name)}</td><td>{share:.2f}</td>'"))
    assert not unescaped(ast.parse("re.compile(f'(?P<name>{x})')"))
    assert unescaped(ast.parse("f'<td>{name:>20}</td>'"))


@pytest.mark.parametrize("rule", RULES)
def test_each_format_has_one_way_out(rule):
    search, allowed, planted = RULES[rule]
    found = {name for name in FILES if search(used(name))} - set(allowed)
    assert found - (OUR_CSV if rule == "csv" else set()) == set()
    assert search(names_of(ast.parse(planted))), "the search finds what it looks for"
    assert all(search(used(name)) for name in allowed), "nobody is excused who need not be"
