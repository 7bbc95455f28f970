"""Data dictionaries in DDI XML and in SQL DDL: declared ranges, categories, keys and references.

XML is parsed without a document type: a DOCTYPE is refused before anything in it is read, so there are no entities to expand and no
external ones to fetch. Of a DDI codebook `valrng` and `catgry` are taken; `sumStat` and `catStat` are statistics of rows and are
left out. SQL is parsed and never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit.data.catalog.codebook import Entry, Read
from tacit.data.declaration import folded
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

DEEPEST = 200  # elements inside each other; a DDI codebook has about ten


class _Refused(Exception):
    """The document has a part that a code book does not need."""


def _parse_xml(text: bytes) -> Element:
    """The root of a document without a DOCTYPE, entities and processing instructions."""
    from xml.etree.ElementTree import TreeBuilder  # builds elements; the parser below refuses entities
    from xml.parsers.expat import ExpatError, ParserCreate

    builder, depth = TreeBuilder(), 0
    parser = ParserCreate(namespace_separator="}")

    def refuse(*_: Any) -> Any:
        raise _Refused

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise _Refused
        builder.start(name.rpartition("}")[2], {key.rpartition("}")[2]: value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name.rpartition("}")[2])

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    parser.UnparsedEntityDeclHandler = parser.NotationDeclHandler = refuse
    try:
        parser.Parse(text, True)
        return builder.close()
    except _Refused:
        raise InvalidInput("the code book has a DOCTYPE, entities or too many levels, which are not read; remove them") from None
    except (ExpatError, AssertionError, ValueError):
        raise InvalidInput("the code book is not well-formed XML; check that it is complete") from None


def read_ddi(text: bytes) -> Read:
    """The variables of a DDI codebook (version 2)."""
    root = _parse_xml(text)
    variables = list(root.iter("var"))
    if not variables:
        raise InvalidInput("the code book has no variables; expected DDI Codebook 2.x with <var> elements")
    files = {each.get("ID", ""): _text(each, "fileTxt/fileName") for each in root.iter("fileDscr")}
    statistics = sorted({each.tag for variable in variables for each in variable.iter() if each.tag in ("sumStat", "catStat")})
    notes = [f"{tag}: statistics of rows are not taken" for tag in statistics]
    return [_variable(each, files) for each in variables], notes, {}


def _variable(variable: Element, files: Mapping[str, str]) -> Entry:
    kind = variable.find("varFormat")
    low, high = _range(variable)
    pairs = [(_text(each, "catValu"), _text(each, "labl"), each.get("missing")) for each in variable.findall("catgry")]
    invalid = [item.get("VALUE", "") for item in variable.findall("invalrng/item")]
    table = re.sub(r"\.\w+$", "", files.get(variable.get("files", ""), "")) if len(files) > 1 else ""
    return Entry(
        name=variable.get("name", ""),
        table=table,
        kind="" if kind is None else {"character": "text"}.get(kind.get("type", ""), kind.get("type", "")),
        about=_text(variable, "labl"),
        low=low,
        high=high,
        codes=tuple((code, label) for code, label, _ in pairs if code),
        missing=tuple([code for code, _, missing in pairs if missing == "Y" and code] + [code for code in invalid if code]),
        step=None if kind is None or not variable.get("dcml") else f"1e-{variable.get('dcml')}",
    )


def _range(variable: Element) -> tuple[object, object]:
    """Both ends of the declared range; a range with one end is not taken."""
    declared = variable.find("valrng/range")
    if declared is None or None in (declared.get("min"), declared.get("max")):
        return None, None
    return declared.get("min"), declared.get("max")


def _text(element: Element, path: str) -> str:
    inner = element.find(path)
    return "" if inner is None else " ".join("".join(inner.itertext()).split())


# --- SQL ---------------------------------------------------------------------------------------------------------------------


def read_ddl(text: str) -> Read:
    """The columns of CREATE TABLE statements: types, CHECK, ENUM types, NOT NULL, keys, references and comments."""
    import sqlglot
    from sqlglot import expressions as sge

    try:
        statements = sqlglot.parse(text, dialect="postgres", error_level=sqlglot.ErrorLevel.RAISE)
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise InvalidInput("the code book is not SQL that can be read; expected CREATE TABLE statements") from None
    enums = dict(_enums(text))
    entries: list[Entry] = []
    references: dict[tuple[str, str], tuple[str, str]] = {}
    notes: list[str] = []
    for statement in statements:
        if isinstance(statement, sge.Create) and statement.kind == "TABLE" and isinstance(statement.this, sge.Schema):
            more, others, unread = _create(statement.this, enums)
            entries, references, notes = [*entries, *more], {**references, **others}, [*notes, *unread]
    if not entries:
        raise InvalidInput("the code book has no CREATE TABLE statement; check the path")
    comments = {(folded(table), folded(column)): words for table, column, words in _comments(text)}
    entries = [replace(one, about=comments.get((folded(one.table), folded(one.name)), "")) for one in entries]
    return entries, notes, references


NAME = r'"?(?:\w+"?\.\s*"?)?(\w+)"?'
LITERAL = r"'((?:[^']|'')*)'"


def _enums(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for match in re.finditer(rf"CREATE\s+TYPE\s+{NAME}\s+AS\s+ENUM\s*\(([^)]*)\)", text, re.IGNORECASE):
        yield match[1].lower(), tuple(value.replace("''", "'") for value in re.findall(LITERAL, match[2]))


def _comments(text: str) -> Iterator[tuple[str, str, str]]:
    pattern = rf'COMMENT\s+ON\s+COLUMN\s+(?:\w+\.)?"?(\w+)"?\."?(\w+)"?\s+IS\s+{LITERAL}'
    for match in re.finditer(pattern, text, re.IGNORECASE):
        yield match[1], match[2], match[3].replace("''", "'")


def _create(schema: Any, enums: Mapping[str, tuple[str, ...]]) -> Read3:
    from sqlglot import expressions as sge

    table = schema.this.name
    entries: dict[str, Entry] = {}
    references: dict[tuple[str, str], tuple[str, str]] = {}
    conditions: list[Any] = []
    for part in schema.expressions:
        if isinstance(part, sge.ColumnDef):
            entries[folded(part.name)] = _column(part, table, enums)
            references |= {(folded(table), folded(part.name)): target for target in _targets(part)}
        conditions += [check.this for check in part.find_all(sge.CheckColumnConstraint, sge.Check) if check.this is not None]
        for key in part.find_all(sge.PrimaryKey):
            names = [folded(each.name) for each in key.expressions]
            entries |= {name: replace(entries[name], key=True) for name in names if len(names) == 1 and name in entries}
        for key in part.find_all(sge.ForeignKey):
            references |= _foreign(key, table)
    notes = [f"{table}: CHECK {each.sql()}: not understood" for each in conditions if not _apply(each, entries)]
    return list(entries.values()), references, notes


Read3 = tuple[list[Entry], dict[tuple[str, str], tuple[str, str]], list[str]]


def _column(part: Any, table: str, enums: Mapping[str, tuple[str, ...]]) -> Entry:
    from sqlglot import expressions as sge

    kinds = [each.kind for each in part.constraints]
    kind = part.args["kind"].sql(dialect="postgres").lower() if part.args.get("kind") else ""
    scale = re.fullmatch(r"(?:numeric|decimal)\s*\(\s*\d+\s*,\s*(\d+)\s*\)", kind)
    return Entry(
        name=part.name,
        table=table,
        kind=kind,
        codes=tuple((value, "") for value in enums.get(kind.rpartition(".")[2].strip('"'), ())),
        step=f"1e-{scale[1]}" if scale and int(scale[1]) else None,
        required=any(isinstance(each, sge.NotNullColumnConstraint) and not each.args.get("allow_null") for each in kinds),
        key=any(isinstance(each, sge.PrimaryKeyColumnConstraint) for each in kinds),
    )


def _targets(part: Any) -> Iterator[tuple[str, str]]:
    from sqlglot import expressions as sge

    for reference in part.find_all(sge.Reference):
        target = reference.this
        if isinstance(target, sge.Schema) and len(target.expressions) == 1:
            yield folded(target.this.name), folded(target.expressions[0].name)


def _foreign(key: Any, table: str) -> dict[tuple[str, str], tuple[str, str]]:
    ours, targets = [folded(each.name) for each in key.expressions], list(_targets(key))
    return {(folded(table), ours[0]): targets[0]} if len(ours) == 1 and targets else {}


def _apply(condition: Any, entries: dict[str, Entry]) -> bool:
    """Put the limits of a CHECK into the entries; False if it says something else."""
    from sqlglot import expressions as sge

    parts = list(condition.flatten()) if isinstance(condition, sge.And) else [condition]
    for part in parts:
        part = part.unnest()
        column = part.this.name if isinstance(getattr(part, "this", None), sge.Column) else None
        entry = entries.get(folded(column or ""))
        if isinstance(part, sge.And):
            if not _apply(part, entries):
                return False
            continue
        limits = None if entry is None else _limits(part, entry)
        if entry is None or limits is None:
            return False
        entries[folded(entry.name)] = replace(entry, **limits)
    return True


def _limits(part: Any, entry: Entry) -> dict[str, Any] | None:
    from sqlglot import expressions as sge

    def value(node: Any) -> object:
        node = node.this if isinstance(node, sge.Cast) else node
        negative = isinstance(node, sge.Neg)
        literal = node.this if negative else node
        return f"{'-' * negative}{literal.this}" if isinstance(literal, sge.Literal) else None

    if isinstance(part, sge.Between):
        return {"low": value(part.args["low"]), "high": value(part.args["high"])}
    if isinstance(part, sge.In) and part.expressions:
        return {"codes": tuple((str(value(each)), "") for each in part.expressions)}
    if isinstance(part, sge.GTE):
        return {"low": value(part.expression)}
    if isinstance(part, sge.LTE):
        return {"high": value(part.expression)}
    whole = re.fullmatch(r".*int.*|serial", entry.kind) is not None
    if isinstance(part, sge.GT | sge.LT) and whole and re.fullmatch(r"-?\d+", str(number := value(part.expression))):
        return {"low": int(str(number)) + 1} if isinstance(part, sge.GT) else {"high": int(str(number)) - 1}
    return None
