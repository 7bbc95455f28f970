"""The shape of tacit.toml: the parser checks against tacit.schema.json, the same file that editors use.

`shaped` walks the document and its schema together. It returns the document with `BROKEN` in place of each value that does not fit.
The rest can then still be checked for meaning, and all problems are reported at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from tacit.data.declaration.lines import Path, key_text, value_text

Schema = Mapping[str, Any]
Report = Callable[[Path, str, str], None]  # a key path, what is wrong with it, and the remedy


class LawViolated(Enum):
    """The placeholder for a value whose problem has already been reported."""

    BROKEN = "broken"


BROKEN: Final = LawViolated.BROKEN
PLACEHOLDER = "?"  # marks what the data owner must fill in
LARGEST_EXPONENT = 300  # no column or budget can have a number beyond it
TYPES: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "object": ("a table", lambda value: isinstance(value, Mapping)),
    "array": ("an array", lambda value: isinstance(value, list)),
    "string": ("a text", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "number": ("a number", lambda value: isinstance(value, int | Decimal) and not isinstance(value, bool)),
}
LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("at least", lambda value, limit: value >= limit),
    "maximum": ("at most", lambda value, limit: value <= limit),
    "exclusiveMinimum": ("above", lambda value, limit: value > limit),
    "exclusiveMaximum": ("below", lambda value, limit: value < limit),
}


@cache
def schema() -> Schema:
    """The JSON Schema of tacit.toml."""
    loaded: Schema = json.loads(files("tacit.data.catalog").joinpath("tacit.schema.json").read_text("utf-8"))
    return loaded


def shaped(document: Mapping[str, object], report: Report, rule: Schema | None = None) -> Any:
    """The document, with `BROKEN` in place of every value that does not fit the schema (the catalog's by default).

    A `rule` other than the default must not contain references.
    """
    return _shaped(document, schema() if rule is None else rule, (), report)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or all known names.

    >>> nearest("bound", ["bounds", "step"]), nearest("x", ["bounds", "step"])
    ('did you mean bounds?', 'known here: bounds, step')
    """
    names = sorted(known)
    close = get_close_matches(name.lower(), names, 1)
    return f"did you mean {key_text(close)}?" if close else "known here: " + ", ".join(key_text([one]) for one in names)


def _shaped(value: object, rule: Schema, path: Path, report: Report) -> Any:
    rule = _followed(rule)
    misfit = _misfit(value, rule)
    if misfit:
        report(path, "is not filled in yet" if value == PLACEHOLDER else misfit, _wanted(rule, path))
        return BROKEN
    return _shaped_table(value, _chosen(rule), path, report) if isinstance(value, Mapping) else value


def _shaped_table(table: Mapping[str, object], rule: Schema, path: Path, report: Report) -> dict[str, Any]:
    members: Schema = rule.get("properties", {})
    rest = rule.get("additionalProperties", False)
    for name in rule.get("required", ()):
        if name not in table:
            report((*path, name), "is missing", _wanted(_followed(members[name]), (*path, name)))
    found: dict[str, Any] = dict.fromkeys(rule.get("required", ()), BROKEN)
    for name, value in table.items():
        if name in members or rest:
            found[name] = _shaped(value, members.get(name, rest), (*path, name), report)
        else:
            report((*path, name), "is not a key that tacit knows", _meant(name, value, members, path))
    return found


def _meant(name: str, value: object, members: Schema, path: Path) -> str:
    if isinstance(value, Mapping) and "columns" in members:
        return f"a column is declared in [{key_text((*path, 'columns'))}]"
    if isinstance(value, Mapping) and "bounds" in members:
        return f'a name with a dot in it stands in quotes: "{path[-1]}.{name}"'
    return nearest(name, members)


def _followed(rule: Schema) -> Schema:
    return schema()["definitions"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule


def _chosen(rule: Schema) -> Schema:
    """Of several alternatives, the one that describes a table."""
    return next((one for one in rule.get("anyOf", ()) if one.get("type") == "object"), rule)


def _misfit(value: object, rule: Schema) -> str:
    """What is wrong with the value, or None; the members of a table are checked one by one later."""
    if "anyOf" in rule:
        return "" if not all(_misfit(value, one) for one in rule["anyOf"]) else f"is {value_text(value)}, which does not fit"
    if "const" in rule or "enum" in rule:
        return _not_listed(value, rule.get("enum", [rule.get("const")]))
    types = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    if not any(TYPES[name][1](value) for name in types):
        return f"is {value_text(value)}, not {' or '.join(TYPES[name][0] for name in types)}"
    if isinstance(value, list):
        misfits = [misfit for member in value if (misfit := _misfit(member, rule["items"]))]
        return f"has a member that {misfits[0]}" if misfits else _wrong_size(value, rule)
    return _wrong_number(value, rule) if isinstance(value, int | Decimal) else _wrong_size(value, rule)


def _not_listed(value: object, listed: list[object]) -> str:
    if any(value == one and type(value) is type(one) for one in listed):
        return ""
    return f"is {value_text(value)}, not {' or '.join(value_text(one) for one in listed)}"


def _wrong_number(value: int | Decimal, rule: Schema) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        return f"is {value_text(value)}, not a finite number"
    if value and (abs(value.adjusted()) if isinstance(value, Decimal) else value.bit_length() // 3) > LARGEST_EXPONENT:
        return f"is {value_text(value)}, which is too far from 1"
    for name, (words, holds) in LIMITS.items():
        if name in rule and not holds(value, rule[name]):
            return f"is {value_text(value)}, which must be {words} {value_text(rule[name])}"
    return ""


def _wrong_size(value: object, rule: Schema) -> str:
    if isinstance(value, list) and not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        return f"has {len(value)} member{'' if len(value) == 1 else 's'}, not {rule.get('minItems')}" + (
            "" if "maxItems" in rule else " or more"
        )
    if isinstance(value, Mapping | str) and len(value) < rule.get("minProperties", rule.get("minLength", 0)):
        return "is empty"
    if isinstance(value, str) and not _fits(rule.get("pattern", ""), value):
        return f"is {value_text(value)}, which does not fit"
    return ""


def _fits(pattern: str, text: str) -> bool:
    """Whether a text matches a JSON Schema pattern: its $ is the very end, while Python's also matches before a last line break."""
    return re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), text) is not None


def _wanted(rule: Schema, path: Path) -> str:
    """What the schema says about a key, and how to write it."""
    examples = " or ".join(f"{key_text(path[-1:])} = {value_text(one)}" for one in rule["examples"])
    says = rule["description"].rstrip(".")
    return f"{says[0].lower()}{says[1:]}; for example {examples}"
