"""Questions that join the private tables of joined.py, look rows up in them, and aggregate per unit first: every form, generated.

All are plain SQL, so that another engine can be asked the same text. What a form can be asked (numbers, keys, the column of
the unit, conditions) is written beside it.
"""

# ruff: noqa: E501  # a form is one line, as it is asked
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

OF_VISITS = ("{0}.ward = 'a'", "{0}.cost > 0", "{0}.cost IS NULL", "{0}.ward IS NOT NULL", "{0}.cost + 1 <= 4")
OF_PATIENTS = ("{0}.age >= 2", "{0}.sex = 'F'", "{0}.age <> 1")
OF_LABS = ("{0}.x > 1", "{0}.kind = 's'", "{0}.x IS NULL")


@dataclass(frozen=True)
class Form:
    """A FROM, and what can be asked of it; `where` stands before the conditions, `first` before SELECT."""

    rows: str
    numbers: tuple[str, ...]
    keys: tuple[str, ...]
    unit: str
    tests: tuple[str, ...] = ()
    visit: str = ""  # a column that holds keys of visits
    first: str = ""
    where: str = ""
    public: str = ""  # a column of wards


def of(tests: Sequence[str], alias: str) -> tuple[str, ...]:
    return tuple(test.format(alias) for test in tests)


V, P, L = of(OF_VISITS, "v"), of(OF_PATIENTS, "p"), of(OF_LABS, "l")
PER_VISITS = "SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total, MIN(cost) AS low, MAX(cost) AS high, COUNT(cost) AS known"
PER = f"({PER_VISITS}, COUNT(DISTINCT ward) AS wards FROM visits{{0}} GROUP BY patient_id{{1}})"
TOTALS = ("t.n", "t.total", "t.low", "t.high", "t.known", "t.wards", "t.total + t.n")
OF_TOTALS = ("t.n > 1", "t.total IS NULL", "t.wards = 1", "t.high >= 0")
INNER = ("", " WHERE cost >= 0", " WHERE ward = 'b'", " WHERE cost IS NULL")
HAVING = ("", " HAVING COUNT(*) > 1", " HAVING SUM(cost) >= 3 OR COUNT(*) = 1", " HAVING MAX(cost) > MIN(cost)")

JOINED = [
    Form("visits v JOIN patients p ON v.patient_id = p.id", ("v.cost", "p.age", "v.cost * p.age"), ("p.sex", "v.ward"), "p.id", V + P),
    Form("visits v, patients p", ("v.cost", "p.age"), ("p.sex", "p.age"), "v.patient_id", V + P, where="v.patient_id = p.id"),
    Form("patients p LEFT JOIN visits v ON v.patient_id = p.id", ("v.cost", "p.age"), ("p.sex", "v.ward"), "p.id", V + P, "v.id"),
    Form(
        "patients p LEFT JOIN visits v ON p.id = v.patient_id AND v.ward = 'a' AND v.cost > 0",
        ("v.cost", "COALESCE(v.cost, -1)"), ("p.sex", "v.ward"), "p.id", V + P,
    ),
    Form("patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost = p.age", ("v.cost",), ("p.sex", "v.ward"), "p.id", V + P),
    Form("visits v LEFT JOIN patients p ON v.patient_id = p.id", ("v.cost", "p.age"), ("p.sex", "v.ward"), "v.patient_id", V + P, "v.id"),
    Form("visits v JOIN visits b ON v.patient_id = b.patient_id", ("v.cost", "v.cost - b.cost"), ("b.ward",), "v.patient_id", V, "v.id"),
    Form("visits v JOIN visits b ON v.patient_id = b.patient_id AND v.ward = b.ward", ("b.cost",), ("b.ward",), "b.patient_id", V),
    Form("labs l JOIN visits v ON l.visit_id = v.id", ("l.x", "v.cost", "l.x * v.cost"), ("l.kind", "v.ward"), "v.patient_id", V + L, "v.id"),
    Form("visits v LEFT JOIN labs l ON l.visit_id = v.id", ("l.x", "v.cost"), ("l.kind", "v.ward"), "v.patient_id", V + L, "v.id"),
    Form(
        "labs l JOIN visits v ON l.visit_id = v.id JOIN patients p ON v.patient_id = p.id",
        ("l.x", "p.age", "v.cost"), ("p.sex", "l.kind", "v.ward"), "p.id", V + P + L, "l.visit_id",
    ),
    Form(
        "patients p LEFT JOIN visits v ON v.patient_id = p.id LEFT JOIN labs l ON l.visit_id = v.id",
        ("l.x", "p.age", "v.cost"), ("p.sex", "l.kind"), "p.id", V + P + L, "v.id",
    ),
    Form(
        "labs l, patients p, visits v", ("l.x", "v.cost"), ("p.sex",), "p.id", V + P + L, "l.visit_id",
        where="v.id = l.visit_id AND p.id = v.patient_id",
    ),
    Form("labs l JOIN labs k ON l.visit_id = k.visit_id", ("l.x", "k.x"), ("l.kind", "k.kind"), "", L, "k.visit_id"),
    Form("visits v JOIN cards c USING (patient_id)", ("c.points", "v.cost"), ("v.ward", "c.points"), "patient_id", V),
    Form("visits v NATURAL JOIN cards", ("points", "v.cost"), ("v.ward",), "patient_id", V),
    Form("visits v LEFT JOIN cards c USING (patient_id)", ("c.points", "v.cost"), ("v.ward",), "patient_id", V),
    Form(
        "visits v JOIN wards w ON w.ward = v.ward JOIN patients p ON p.id = v.patient_id",
        ("w.beds", "v.cost", "p.age"), ("w.site", "p.sex"), "p.id", V + P, "v.id", public="w.ward",
    ),
    Form(
        "patients p LEFT JOIN visits v ON p.id = v.patient_id LEFT JOIN wards w ON w.ward = v.ward AND w.beds > 4",
        ("w.beds", "v.cost"), ("w.site", "v.ward"), "p.id", V + P, "v.id", public="v.ward",
    ),
    Form("wards w JOIN visits v ON w.ward = v.ward", ("w.beds", "v.cost"), ("w.site",), "v.patient_id", V, public="w.ward"),
]  # fmt: skip


def per_unit(inner: str, having: str) -> list[Form]:
    """Sub-queries that make one row of each unit, or of each unit and key."""
    per, every = PER.format(inner, having), PER.format("", "")
    monthly = f"(SELECT patient_id, ward, SUM(cost) AS total, COUNT(*) AS n FROM visits{inner} GROUP BY patient_id, ward{having})"
    labs = "(SELECT visit_id, COUNT(*) AS n, SUM(x) AS total FROM labs GROUP BY visit_id)"
    both = "SELECT patient_id, ward, cost AS x FROM visits UNION ALL SELECT patient_id, NULL, points FROM cards"
    chosen = f"(SELECT v.patient_id, cost * 2 AS n, 1 AS flag, cost IS NULL AS missing FROM visits v{inner})"
    return [
        Form(f"{per} t", TOTALS, ("t.n", "t.total", "t.wards"), "t.patient_id", OF_TOTALS),
        Form(f"patients p LEFT JOIN {per} t ON t.patient_id = p.id", (*TOTALS, "p.age"), ("p.sex", "t.n"), "p.id", OF_TOTALS + P),
        Form(f"patients p JOIN {per} t ON t.patient_id = p.id", (*TOTALS, "p.age"), ("p.sex",), "p.id", OF_TOTALS + P),
        Form(f"visits v JOIN {per} t ON t.patient_id = v.patient_id", (*TOTALS, "v.cost"), ("v.ward",), "t.patient_id", OF_TOTALS + V),
        Form(f"{monthly} t", ("t.total", "t.n", "t.total - 1"), ("t.ward", "t.n"), "t.patient_id", ("t.n = 1", "t.ward = 'a'")),
        Form(f"patients p LEFT JOIN {monthly} t ON p.id = t.patient_id", ("t.total", "t.n"), ("t.ward", "p.sex"), "p.id", P),
        Form(
            f"(SELECT patient_id, MAX(n) AS n, SUM(total) AS total FROM {monthly} u GROUP BY patient_id) t",
            ("t.n", "t.total"), ("t.n",), "t.patient_id", ("t.n > 1",),
        ),
        Form("(SELECT DISTINCT patient_id, ward FROM visits) t", (), ("t.ward",), "t.patient_id", ("t.ward = 'a'",)),
        Form("a JOIN t ON t.patient_id = a.patient_id", ("t.n", "a.total"), ("a.wards",), "t.patient_id", OF_TOTALS, first=f"WITH t AS {per}, a AS {every} "),
        Form("t a JOIN t b ON a.patient_id = b.patient_id", ("a.n", "b.total"), ("a.wards",), "b.patient_id", first=f"WITH t AS {per} "),
        Form(f"({both}) t", ("t.x", "t.x * 2"), ("t.ward",), "t.patient_id", ("t.x > 1", "t.ward IS NULL")),
        Form(f"(SELECT patient_id, SUM(x) AS total, COUNT(*) AS n FROM ({both}) u GROUP BY patient_id) t", ("t.total", "t.n"), ("t.n",), "t.patient_id"),
        Form(f"visits v JOIN {labs} t ON t.visit_id = v.id", ("t.n", "t.total", "v.cost"), ("v.ward", "t.n"), "v.patient_id", V, "v.id"),
        Form(f"visits v LEFT JOIN {labs} t ON t.visit_id = v.id", ("t.n", "t.total", "v.cost"), ("v.ward", "t.n"), "v.patient_id", V, "v.id"),
        Form(
            f"patients p LEFT JOIN {chosen} t ON t.patient_id = p.id", ("t.n", "COALESCE(t.flag, 0)", "t.n + p.age"),
            ("p.sex", "t.missing", "t.flag"), "p.id", ("t.flag = 1", "t.flag IS NULL", "NOT t.missing"),
        ),
        Form(
            f"(SELECT p.id, p.sex, v.cost AS n, v.ward FROM patients p LEFT JOIN visits v ON v.patient_id = p.id{inner.replace('cost', 'v.cost').replace('ward', 'v.ward')}) t",
            ("t.n",), ("t.sex", "t.ward"), "t.id", ("t.n > 1", "t.ward IS NULL"),
        ),
    ]  # fmt: skip


FORMS = st.one_of(
    st.sampled_from(JOINED),
    st.builds(per_unit, st.sampled_from(INNER), st.sampled_from(HAVING)).flatmap(st.sampled_from),
    st.sampled_from(
        [
            Form("patients p", ("p.age",), ("p.sex",), "p.id", P),
            Form("visits v", ("v.cost",), ("v.ward",), "v.patient_id", V, "v.id", public="v.ward"),
            Form("labs l", ("l.x",), ("l.kind",), "", L, "l.visit_id"),
            Form("cards c", ("c.points",), ("c.points",), "c.patient_id"),
        ]
    ),
)


def looked_up(form: Form) -> list[str]:
    """Conditions that look rows of the same unit, or of a public table, up."""
    found: list[str] = []
    if form.unit:
        found += [
            f"{form.unit} {word} (SELECT {inner})"
            for word in ("IN", "NOT IN")
            for inner in (
                "patient_id FROM visits z WHERE z.cost > 1",
                "id FROM patients z WHERE z.age = 1",
                "patient_id FROM cards",
                "z.patient_id FROM visits z JOIN labs y ON y.visit_id = z.id WHERE y.x > 1",
                "patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 1",
                "patient_id FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 4)",
                "id FROM patients WHERE id NOT IN (SELECT patient_id FROM cards)",
            )
        ]
    if form.unit and "." in form.unit:
        found += [
            f"{word} (SELECT {inner})"
            for word in ("EXISTS", "NOT EXISTS")
            for inner in (
                f"1 FROM visits z WHERE z.patient_id = {form.unit} AND z.ward = 'b'",
                f"z.points FROM cards z WHERE {form.unit} = z.patient_id",
                f"* FROM visits z, labs y WHERE y.visit_id = z.id AND z.patient_id = {form.unit}",
                *(f"1 FROM visits z WHERE z.patient_id = {form.unit} AND z.cost = {number}" for number in form.numbers[:1]),
            )
        ]
    if form.visit:
        found += [
            f"{form.visit} {word} (SELECT visit_id FROM labs{inner})" for word in ("IN", "NOT IN") for inner in ("", " WHERE x > 1")
        ]
        found += [f"{word} (SELECT 1 FROM labs z WHERE z.visit_id = {form.visit})" for word in ("EXISTS", "NOT EXISTS")]
    if form.public:
        found += [f"{form.public} {word} (SELECT ward FROM wards WHERE beds > 4)" for word in ("IN", "NOT IN")]
        found += [
            f"{word} (SELECT 1 FROM wards z WHERE z.ward = {form.public} AND z.site = 'S')" for word in ("EXISTS", "NOT EXISTS")
        ]
    return found


AGGREGATES = ("COUNT(*)", "COUNT({0})", "SUM({0})", "AVG({0})", "MEDIAN({0})", "VAR_POP({0})", "COUNT(DISTINCT {1})")


@st.composite
def questions(draw: st.DrawFn, aggregates: Sequence[str] = AGGREGATES) -> str:
    """A question over one of the forms."""
    form = draw(FORMS)
    keys = draw(st.lists(st.sampled_from(form.keys), max_size=2, unique=True)) if form.keys else []
    known = [each for each in aggregates if ("{0}" not in each or form.numbers) and ("{1}" not in each or form.unit)]
    asked = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
    numbers = [draw(st.sampled_from(form.numbers)) if form.numbers else "" for _ in asked]
    tests = draw(st.lists(st.sampled_from(form.tests), max_size=2, unique=True)) if form.tests else []
    lookups = looked_up(form)
    tests += draw(st.lists(st.sampled_from(lookups), max_size=2, unique=True)) if lookups and draw(st.booleans()) else []
    conditions = [*([form.where] if form.where else []), *tests]
    selected = ", ".join([*keys, *(each.format(number, form.unit) for each, number in zip(asked, numbers, strict=True))])
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"{form.first}SELECT {selected} FROM {form.rows}{where}{grouped}"
