"""The published table, from the file to its checked rows.

The published table, and the way to it: read, group, recode, check, and state the limits of the protection.

Rows are published in the order of their published values, never in that of the file. Columns without a role are not published.

The published rows, judged before they leave by the checkers of models/, which share no code with the anonymizers.

Shares are compared with those of all rows, suppressed ones included, as conditions do. So the rows are checked with suppressed ones
starred. Where these are left out of the file, its readers compare with the rows that are left, so the file is checked as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, LawViolated
from tacit.privacy.rounding import counted, exact
from tacit.publish.tables.conditions import Condition
from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.hierarchy import TOP, Hierarchy
from tacit.publish.tables.lattice import Lattice
from tacit.publish.tables.measures import MEASURES, Losses
from tacit.publish.tables.models.closeness import DeltaDisclosure
from tacit.publish.tables.models.diversity import FrequencyDiversity
from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity
from tacit.publish.tables.models.named import closeness, diversity
from tacit.publish.tables.models.rows import rows_of
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.models.verdict import SensitiveModel, Verdict
from tacit.publish.tables.partitions import mdav, mondrian
from tacit.publish.tables.recoded import Recoded, full_domain
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.search import Found, Told, local, search
from tacit.publish.tables.table import Column, Table, natural_order
from tacit.release.outputs import check_output, write_output


def check_published(published: Table, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> tuple[Verdict, ...]:
    """The verdicts on a table with starred rows; raises unless all of them pass."""
    verdicts = _verdicts(published, asked, hierarchies)
    if broken := [verdict for verdict in verdicts if not verdict.passes]:
        raise LawViolated("the check of the published table", f"{broken[0]}; nothing is written, and this is a defect to report")
    return tuple(verdicts)


def check_dropped(published: Table, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Raises if a model that held with the suppressed rows does not hold without them: t and delta compare with all rows."""
    if broken := [verdict for verdict in _verdicts(published, asked, hierarchies) if not verdict.passes]:
        raise InvalidInput(
            f'{broken[0].model} holds with the suppressed rows but not without them; publish them starred (suppressed = "star"), '
            "or require less"
        )


def _verdicts(published: Table, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> list[Verdict]:
    columns = {name: _texts(published[name]) for name in (*asked.quasi, *asked.sensitive)}
    rows = rows_of(columns, asked.quasi, asked.sensitive)
    verdicts = list(KAnonymity(asked.k).check(rows))
    for name in asked.sensitive:
        counts = rows.counts(name, asked.strict)
        verdicts += [model.on(counts) for model in _models(published[name], asked, hierarchies)]
    return verdicts


def _texts(column: Column) -> Any:
    import pyarrow as pa

    return pa.array(column.values, pa.string()).take(pa.array(column.codes))


def _models(column: Column, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> Iterator[SensitiveModel]:
    protected = asked.protected.get(column.name)
    if asked.l is not None:
        yield diversity(asked.l, protected)
    if asked.t is not None:
        yield closeness(asked.t, _tree(hierarchies.get(column.name)), column.values)
    if asked.alpha is not None:
        yield AlphaK(asked.alpha, asked.k) if protected is None else FrequencyDiversity(1 / exact(asked.alpha), protected)
    if asked.delta is not None:
        yield DeltaDisclosure(asked.delta)


def _tree(hierarchy: Hierarchy | None) -> Tree | None:
    if hierarchy is None:
        return None
    levels = zip(hierarchy.forms, hierarchy.levels, strict=True)
    return Tree(tuple(zip(*([forms[code] for code in codes] for forms, codes in levels), strict=True)))


# --- the published table, and the road to it ---------------------------------------------------------------------------------


BANNER = "not differentially private"
NOT_PROTECTED = (
    "Side information: whoever knows more of a person than the quasi-identifiers can narrow a group down, and so can whoever knows "
    "the values of some of its other members.",
    "Probability: a group in which one sensitive value is frequent tells that it is likely, and k-anonymity alone does not look.",
    "Knowledge of the algorithm: the least generalization that complies was chosen, and that choice depends on the rows "
    "(the minimality attack).",
    "A second release: another generalization of the same rows, or of some of them, can be intersected with this one.",
    "Quasi-identifiers that were not declared: a column that is kept or sensitive may identify people too.",
)
NOT_WRITTEN = "nothing is published"


@dataclass(frozen=True, eq=False)
class Anonymized:
    """A table that was made anonymous the syntactic way. It is not differentially private, and says so wherever it is shown."""

    table: Table
    recoded: Recoded
    asked: Requirements
    conditions: tuple[Condition, ...]
    losses: Mapping[str, float]
    found: Found | None = None
    lattice: Lattice | None = None

    differentially_private: ClassVar[bool] = False
    banner: ClassVar[str] = BANNER

    @property
    def rows(self) -> int:
        """How many rows were read, suppressed ones included."""
        return len(self.recoded.suppressed)

    @property
    def suppressed(self) -> int:
        """How many rows are suppressed."""
        return int(self.recoded.suppressed.sum())

    def sizes(self) -> Integers:
        """The size of each published group."""
        return self.recoded.sizes()

    def promise(self) -> dict[str, Any]:
        """The statement to every recipient of the table: models, method and the limits of their protection."""
        return {
            "kind": "anonymized table",
            "differentially_private": False,
            "models": [str(condition) for condition in self.conditions],
            "method": self.asked.method,
            "quasi": list(self.asked.quasi),
            "hierarchies": list(self.asked.generalized()),
            "sensitive": list(self.asked.sensitive),
            "suppressed_rows": "all quasi-identifiers are *" if self.asked.suppressed == "star" else "left out",
            "does_not_protect": list(NOT_PROTECTED),
        }

    def to_dict(self) -> dict[str, Any]:
        """For the data owner: the requirements, the result, and its losses. Some of it is not in the published table."""
        sizes = self.sizes()
        return {
            **{key: value for key, value in self.promise().items() if key not in ("kind", "does_not_protect")},
            "rows": self.rows,
            "groups": len(sizes),
            "smallest_group": int(sizes.min()) if len(sizes) else None,
            "largest_group": int(sizes.max()) if len(sizes) else None,
            "suppressed": self.suppressed,
            "losses": dict(self.losses),
            "work": dict(self.recoded.work),
        }

    def save(self, out: str | Path) -> Path:
        """Write the table as .csv, .csv.gz or .parquet, and beside it a receipt with its promise; returns the receipt's path."""
        place = check_output(Path(out))
        if place.suffix == ".parquet":
            arrow = self.table.to_arrow()
            columns: dict[str, Any] = {name: arrow.column(name).combine_chunks() for name in arrow.column_names}
        else:
            columns = {column.name: column.texts() for column in self.table.columns}
        return write_output(columns, self.promise(), place, after=NOT_WRITTEN)

    def __str__(self) -> str:
        models = ", ".join(str(condition) for condition in self.conditions)
        kept, suppressed = counted(self.rows - self.suppressed, "row"), counted(self.suppressed, "row")
        groups = f"{counted(len(self.sizes()), 'group')} of {kept}, {suppressed} suppressed"
        return f"{groups}: {models} ({BANNER})"


def anonymize(table: Table, asked: Requirements, told: Told = None) -> Anonymized:
    """The table made anonymous as required; raises if that is not possible, with a remedy.

    >>> from tacit.publish.tables.requirements import Requirements
    >>> people = Table.of({"age": [31, 34, 42, 47], "ill": ["flu", "gout", "flu", "flu"]})
    >>> asked = Requirements(("age",), ("ill",), k=2, made={"age": ("intervals", ([10, 20], 0))})
    >>> print(anonymize(people, asked))
    2 groups of 4 rows, 0 rows suppressed: k-anonymity, k = 2 (not differentially private)
    >>> anonymize(people, asked).table["age"].texts().tolist()
    ['30-39', '30-39', '40-49', '40-49']
    """
    asked = asked.spelled(table)
    hierarchies = asked.hierarchies_of(table, needed=asked.method in ("lattice", "local"))
    conditions = asked.models(hierarchies).conditions(table, list(asked.sensitive))
    recoded, best_node, lattice = METHODS[asked.method](table, asked, conditions, hierarchies, told)
    weights = [asked.weights.get(name, 1.0) for name in asked.quasi]
    losses = recoded.losses(asked.k, weights)
    if best_node is not None and lattice is not None:
        rolled = lattice.roll_up(best_node.node)
        scores, kept = Losses(lattice, asked.k, asked.weights), lattice.meets_all(rolled, conditions)
        losses = {measure: scores.loss(measure, rolled, kept) for measure in MEASURES}
    starred = _published_table(table, recoded, asked)
    if told is not None:
        told("checking the result", 0.9)
    check_published(starred, asked, hierarchies)
    published = _without_stars(starred, recoded, asked)
    if published.rows < starred.rows:
        check_dropped(published, asked, hierarchies)
    return Anonymized(published, recoded, asked, tuple(conditions), losses, best_node, lattice)


Made = tuple[Recoded, Found | None, Lattice | None]


def _lattice(table: Table, asked: Requirements, conditions: list[Condition], hierarchies: dict[str, Hierarchy], told: Told) -> Made:
    lattice = asked.lattice(table, hierarchies)
    best_node = search(lattice, conditions, Losses(lattice, asked.k, asked.weights), asked.utility, asked.limit(table), told)
    recoded = full_domain(lattice, best_node.node, lattice.meets_all(lattice.roll_up(best_node.node), conditions))
    recoded.work.update(
        levels=dict(zip(asked.quasi, best_node.node, strict=True)),
        nodes=best_node.nodes,
        satisfying=best_node.satisfying,
        counted=best_node.counted,
    )
    return recoded, best_node, lattice


def _local(table: Table, asked: Requirements, conditions: list[Condition], hierarchies: dict[str, Hierarchy], told: Told) -> Made:
    lattice = asked.lattice(table, hierarchies)
    losses = Losses(lattice, asked.k, asked.weights)
    return local(lattice, conditions, losses, asked.utility, asked.limit(table), told), None, lattice


def _mondrian(
    table: Table, asked: Requirements, conditions: list[Condition], hierarchies: dict[str, Hierarchy], told: Told
) -> Made:
    lattice = asked.lattice(table, hierarchies)
    return mondrian(lattice, conditions, asked.method == "mondrian-relaxed", told), None, None


def _mdav(table: Table, asked: Requirements, conditions: list[Condition], hierarchies: dict[str, Hierarchy], told: Told) -> Made:
    if len(conditions) > 1:
        raise InvalidInput(f"mdav ensures k-anonymity alone, not {conditions[1]}; use the method mondrian, or drop the model")
    return mdav(table, asked.quasi, asked.k, told), None, None


METHODS: Mapping[str, Callable[[Table, Requirements, list[Condition], dict[str, Hierarchy], Told], Made]] = {
    "lattice": _lattice,
    "local": _local,
    "mondrian": _mondrian,
    "mondrian-relaxed": _mondrian,
    "mdav": _mdav,
}


def _published_table(table: Table, recoded: Recoded, asked: Requirements) -> Table:
    """Published forms, sensitive and kept columns, in an order of their own; suppressed rows stand last, with stars."""
    quasi = [_with_stars(form.column, recoded) for form in recoded.forms]
    columns = [*quasi, *(table[name] for name in (*asked.sensitive, *asked.keep))]
    ranks = [np.argsort(natural_order(column.values))[column.codes] for column in columns]
    order = np.lexsort((*ranks[::-1], recoded.suppressed))
    return Table(tuple(Column(column.name, column.values, column.codes[order], column.typed) for column in columns))


def _without_stars(starred: Table, recoded: Recoded, asked: Requirements) -> Table:
    """The table as it is published: without the suppressed rows if they are to be left out."""
    return (
        starred if asked.suppressed == "star" else starred.kept(np.arange(starred.rows) < starred.rows - recoded.suppressed.sum())
    )


def _with_stars(column: Column, recoded: Recoded) -> Column:
    """The column with * in the suppressed rows."""
    if not recoded.suppressed.any():
        return column
    values = column.values if TOP in column.values else (*column.values, TOP)
    codes = np.where(recoded.suppressed, values.index(TOP), column.codes).astype(np.int32)
    return Column(column.name, values, codes)
