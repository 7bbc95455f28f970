"""Who owns the rows: resolves the `unit = ...` of every table to owners with one unit each, or reports why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from tacit.data.declaration.lines import key_text
from tacit.data.declaration.problems import Wrong
from tacit.data.declaration.shape import BROKEN, LawViolated, nearest
from tacit.privacy.catalog import Owner

Attempt = Callable[[str, Callable[[], Owner | None]], Owner | LawViolated | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """What one table declares about its rows; `column` is None if every row is a unit, and for public tables.

    `own` says whether rows without a unit are units of their own. `sound` is False if another problem with the table was found:
    then references to it are not checked.
    """

    columns: frozenset[str] = frozenset()
    key: str | None = None
    column: str | None = None
    references: str | None = None
    public: bool = False
    own: bool = False
    sound: bool = True


def owners(claims: Mapping[str, Claim], attempt: Attempt) -> dict[str, Owner | None]:
    """The owner of the rows of every table; `attempt` runs the check of a table and keeps what it raises.

    A reference names a column that identifies rows (`key = true`) and means their units, or a column that is itself the owner of
    its table. Circular references are refused, so following them ends.

    >>> patients, visits = Claim(frozenset({"id"}), key="id"), Claim(column="patient_id", references="patients.id")
    >>> owners({"patients": patients, "visits": visits}, lambda table, check: check())["visits"]
    Owner(column='patient_id', references=('patients', 'id'))
    """
    tried = {table: attempt(table, partial(_owner, claim, claims)) for table, claim in claims.items()}
    found = {table: None if owner is BROKEN else owner for table, owner in tried.items()}
    for table in found:
        attempt(table, partial(_check_circle, table, found))
        attempt(table, partial(_check_own, table, claims, found))
    return found


def _owner(claim: Claim, claims: Mapping[str, Claim]) -> Owner | None:
    if claim.column is None:
        return None
    if claim.references is None:
        return Owner(claim.column)
    target, column = _target(claim.references, claims)
    led_to = claims[target]
    if led_to.public:
        raise Wrong("unit", f"references {key_text([target])}, which is public", "leave references out: the value is the unit")
    if led_to.sound and column not in (led_to.key, led_to.column):
        where = key_text(("tables", target, "columns", column))
        raise Wrong("unit", f"references {key_text((target, column))}, which is not a key", f"declare {where} with key = true")
    return Owner(claim.column, (target, column))


def _target(references: str, claims: Mapping[str, Claim]) -> tuple[str, str]:
    """The referenced table and column; both names may contain dots."""
    places = [place for place, character in enumerate(references) if character == "."]
    pairs = [(references[:place], references[place + 1 :]) for place in places]
    if not pairs:
        raise Wrong("unit", "references a table without its column", f'write for example references = "{references}.id"')
    declared = [(table, column) for table, column in pairs if table in claims]
    if not declared:
        raise Wrong("unit", f"references {key_text(pairs[0][:1])}, which is not declared", nearest(pairs[0][0], claims))
    for table, column in declared:
        if column in claims[table].columns or column == claims[table].column:
            return table, column
    table, column = declared[0]
    what = f"references {key_text([column])}, which {key_text([table])} does not declare"
    raise Wrong("unit", what, f"add {key_text([column])} = {{ key = true }} to [{key_text(('tables', table, 'columns'))}]")


def _check_circle(table: str, found: Mapping[str, Owner | None]) -> None:
    seen: set[str] = set()
    owner = found[table]
    while owner is not None and owner.references is not None and owner.references[0] not in seen:
        seen.add(owner.references[0])
        owner = found[owner.references[0]]
    if table in seen:
        circle = ", ".join(key_text([name]) for name in sorted(seen))
        raise Wrong("unit", f"leads in a circle through {circle}", "let one of them say whose its rows are")


def _check_own(table: str, claims: Mapping[str, Claim], found: Mapping[str, Owner | None]) -> None:
    """Refuse `own` where units are looked up in another table: one new row there could claim any number of such rows."""
    if claims[table].own and (parent := _looked_up_in(table, found)):
        what = f'is "own", but the unit is looked up in {key_text([parent])}, where one new row could claim many such rows'
        raise Wrong("no_unit", what, 'write no_unit = "drop"')


def _looked_up_in(table: str, found: Mapping[str, Owner | None]) -> str | None:
    """The table in which the unit is looked up; None if the value itself is the unit."""
    owner, seen = found[table], {table}
    while owner is not None and owner.references is not None and owner.references[0] not in seen:
        parent, column = owner.references
        seen.add(parent)
        owner = found[parent]
        if owner is not None and owner.column != column:
            return parent
    return None
