"""Options that the commands of `tacit anonymize` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tacit.publish.tables.requirements import Requirements

BANNER = "Not differentially private: these models protect against some attackers only."

Hierarchies = Annotated[
    Path | None, typer.Option("--hierarchies", help="Folder with one hierarchy per quasi-identifier, named COLUMN.csv.")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="TOML with columns, models, suppression and utility; options replace its keys.")
]
Quasi = Annotated[str | None, typer.Option("--quasi", help="Quasi-identifiers, comma-separated.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="Sensitive columns, comma-separated.")]
DropMissing = Annotated[
    str | None,
    typer.Option("--drop-missing", help="Drop rows with a blank or with one of these values, comma-separated, for example '?'."),
]
K = Annotated[int | None, typer.Option("--k", help="k-anonymity: rows that each group has at least.")]
L = Annotated[
    str | None,
    typer.Option("--l", help="l-diversity: distinct:2, entropy:2, frequency:2 or recursive:3:2 (c, then l)."),
]
T = Annotated[str | None, typer.Option("--t", help="t-closeness: 0.2 (equal distance), ordered:0.2 or hierarchical:0.2.")]
Alpha = Annotated[str | None, typer.Option("--alpha", help="(alpha, k)-anonymity: largest share of a sensitive value in a group.")]
Delta = Annotated[
    str | None, typer.Option("--delta-disclosure", help="delta-disclosure: largest |ln| of a share in a group over the table's.")
]
Suppress = Annotated[str | None, typer.Option("--suppress", help="Share of the rows that may be suppressed, for example 0.02.")]
Utility = Annotated[
    str | None,
    typer.Option("--utility", help="Loss to minimize: discernibility, average, precision, ncp, entropy, kl or queries."),
]


Separate = Annotated[
    bool | None,
    typer.Option("--separate", help="Protect each sensitive column alone; else the others count as known.", show_default=False),
]


def names(text: str | None) -> tuple[str, ...]:
    """The names of a comma-separated list.

    >>> names("age, sex,"), names(None)
    (('age', 'sex'), ())
    """
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def given(**options: Any) -> dict[str, Any]:
    """The arguments of `Requirements` that were given as options; texts become lists and shares."""
    from tacit.publish.tables.requirements import share

    found = {name: value for name, value in options.items() if value is not None}
    for name in ("quasi", "sensitive", "keep", "drop_missing"):
        if name in found:
            found[name] = names(found[name])
    if "suppress" in found:
        found["suppress"] = share(found["suppress"])
    if found.pop("separate", False):
        found["strict"] = False
    return found


def required(config: Path | None, options: dict[str, Any]) -> Requirements:
    """What a configuration asks for, with the options in place of its keys."""
    from tacit.publish.tables.configuration import read_configuration
    from tacit.publish.tables.requirements import Requirements

    declared = {"quasi": ()} if config is None else read_configuration(config)
    return Requirements(**{**declared, **options})
