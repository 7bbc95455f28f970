"""The TOML that declares how a table is made anonymous: columns with their roles, models, suppression and utility.

Every key may be replaced on the command line. All problems are reported at once, each with its key, line and remedy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tacit.data.catalog import read_toml
from tacit.data.declaration import BROKEN, Reading, key_lines, shaped
from tacit.errors import InvalidCatalog

Declared = Mapping[str, Any]
WAYS = ("hierarchy", "intervals", "dates", "prefixes", "flat")
ONLY_FOR = {
    "protected": "sensitive",
    "weight": "quasi",
    "intervals": "quasi",
    "dates": "quasi",
    "prefixes": "quasi",
    "flat": "quasi",
}


@cache
def schema() -> Declared:
    """The JSON Schema of the configuration, which editors can check with."""
    loaded: Declared = json.loads(files("tacit.publish.tables").joinpath("anonymity.schema.json").read_text("utf-8"))
    return loaded


def read_configuration(path: str | Path) -> dict[str, Any]:
    """The arguments of `Requirements` that a file declares; paths in it are relative to it."""
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        raise InvalidCatalog(f"configuration not found: {file}; check the path") from None
    except OSError as error:
        raise InvalidCatalog(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidCatalog(f"{file} is not UTF-8 text; save it as UTF-8") from None
    return parse_configuration(text, file.name, file.parent)


def parse_configuration(text: str, name: str = "anonymity.toml", folder: Path = Path()) -> dict[str, Any]:
    r"""The arguments that a text declares; raises `InvalidCatalog` with all problems, and nothing else.

    >>> parse_configuration('k = 5\n[columns]\nage = { role = "quasi", intervals = [5, 10] }')["quasi"]
    ('age',)
    """
    try:
        reading = Reading(key_lines(text))
        declared = shaped(read_toml(text, name), reading.report, schema())
    except RecursionError:
        raise InvalidCatalog(f"{name} is nested too deeply for a configuration") from None
    columns = {} if declared.get("columns") in (None, BROKEN) else declared["columns"]
    for column, said in columns.items():
        if said is not BROKEN and said["role"] is not BROKEN:
            _check(column, said, reading)
    if reading.problems:
        raise reading.unusable(name)
    return {**_models(declared, folder), **_columns(columns, folder)}


def _check(column: str, said: Declared, reading: Reading) -> None:
    """Keys that contradict each other."""
    ways = [way for way in WAYS if way in said]
    if len(ways) > 1:
        reading.report(("columns", column, ways[1]), f"contradicts {ways[0]}", "a column has one hierarchy; remove one of the keys")
    for key, role in ONLY_FOR.items():
        if key in said and said["role"] != role:
            reading.report(("columns", column, key), f"does not fit the role {said['role']}", f'remove it, or set role = "{role}"')
    if "start" in said and "intervals" not in said:
        reading.report(("columns", column, "start"), "has no intervals to begin", "add for example intervals = [5, 10, 20]")


def _models(declared: Declared, folder: Path) -> dict[str, Any]:
    arguments: dict[str, Any] = {key: declared[key] for key in ("k", "suppressed", "utility", "method") if key in declared}
    arguments |= {key: str(declared[key]) for key in ("l", "t", "alpha") if key in declared}
    if "delta_disclosure" in declared:
        arguments["delta"] = str(declared["delta_disclosure"])
    if "suppress" in declared:
        arguments["suppress"] = Fraction(declared["suppress"])
    if "several" in declared:
        arguments["strict"] = declared["several"] == "strict"
    if "hierarchies" in declared:
        arguments["hierarchies"] = folder / declared["hierarchies"]
    if "drop_missing" in declared:
        arguments["drop_missing"] = tuple(declared["drop_missing"])
    return arguments


def _columns(columns: Declared, folder: Path) -> dict[str, Any]:
    by_role = {
        role: tuple(name for name, said in columns.items() if said["role"] == role) for role in ("quasi", "sensitive", "keep")
    }
    made: dict[str, tuple[str, Any]] = {}
    for name, said in columns.items():
        if "intervals" in said:
            made[name] = ("intervals", (said["intervals"], said.get("start", 0)))
        for way in ("dates", "prefixes"):
            if way in said:
                made[name] = (way, said[way])
        if said.get("flat"):
            made[name] = ("flat", None)
    return {
        **by_role,
        "made": made,
        "files": {name: folder / said["hierarchy"] for name, said in columns.items() if "hierarchy" in said},
        "weights": {name: float(said["weight"]) for name, said in columns.items() if "weight" in said},
        "protected": {name: tuple(said["protected"]) for name, said in columns.items() if "protected" in said},
    }
