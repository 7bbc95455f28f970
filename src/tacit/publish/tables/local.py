"""Local recoding: the lattice is searched again and again, each time for the rows that the passes before have left.

Each pass may leave a share of its rows to the next, so that most rows are published at fine levels and outliers at coarse ones.
Groups of earlier passes stay as they are. A later group with the same forms as an earlier one only makes it larger, and all models
are closed under merging groups that comply. Shares of sensitive values are always compared with those of the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.tables.conditions import Condition
from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.lattice import Lattice
from tacit.publish.tables.measures import Losses
from tacit.publish.tables.recoded import Recoded, full_domain, joined
from tacit.publish.tables.search import Told, found_in
from tacit.publish.tables.table import Table

LEFT = (Fraction(1, 2), Fraction(1, 5), Fraction(1, 20))  # shares of the rows that a pass may leave, tried in this order
MOST_PASSES = 50


def local(
    lattice: Lattice, conditions: Sequence[Condition], losses: Losses, measure: str, limit: int, told: Told = None
) -> Recoded:
    """The table after as many passes as publish rows; at most `limit` rows are suppressed.

    What is left at the end may be too skewed for any group. Then passes that leave fewer rows are tried.
    """
    remaining = lattice.table.rows
    for share in (*LEFT, Fraction(limit, lattice.table.rows)):
        found = _passes(lattice, conditions, losses, measure, share, told)
        remaining = int(found.suppressed.sum()) if found is not None else remaining
        if found is not None and remaining <= limit:
            return found
    raise InvalidInput(
        f"local recoding leaves {remaining:,} rows that no generalization publishes, and {limit:,} may be suppressed; "
        "lower the requirement, or raise the suppression limit"
    )


def _passes(
    lattice: Lattice, conditions: Sequence[Condition], losses: Losses, measure: str, share: Fraction, told: Told
) -> Recoded | None:
    """The table after passes that may each leave a share of their rows; None if not even the first publishes any."""
    totals = {name: lattice.totals(name) for name in lattice.sensitive}
    rows = np.arange(lattice.table.rows)
    parts: list[tuple[Integers, Recoded]] = []
    levels = []
    while len(rows) and len(parts) < MOST_PASSES:
        here = replace(lattice, table=_only(lattice.table, rows), totals_given=totals)
        found = found_in(here, conditions, replace(losses, lattice=here), measure, int(share * len(rows)), told)
        if found is None:
            break
        recoded = full_domain(here, found.node, here.complying(here.rolled(found.node), conditions))
        parts.append((rows, recoded))
        levels.append({"levels": dict(zip(lattice.quasi, found.node, strict=True)), "rows": len(rows) - found.suppressed})
        rows = rows[recoded.suppressed]
    return replace(joined(parts, lattice.table.rows), work={"passes": levels}) if parts else None


def _only(table: Table, rows: Integers) -> Table:
    """Some rows with all values of the columns, so that codes mean the same in every pass."""
    return Table(tuple(replace(column, codes=column.codes[rows]) for column in table.columns))
