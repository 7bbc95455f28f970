"""Every checker against the definition in fractions, on random small tables, and the vectors of the literature."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonymity_oracles as slow
from tacit.errors import InvalidInput
from tacit.publish.tables.models.closeness import Closeness, DeltaDisclosure, largest_disclosure
from tacit.publish.tables.models.counts import counts_of
from tacit.publish.tables.models.diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity
from tacit.publish.tables.models.named import strictest
from tacit.publish.tables.models.personalized import PersonalizedPrivacy
from tacit.publish.tables.models.rows import Rows, rows_of
from tacit.publish.tables.models.tree import Tree

FEW = settings(max_examples=40)
PATHS = tuple((str(v), f"half {v // 3}", f"part {v // 6}", "*") for v in range(9))
TREE = Tree(PATHS)
TABLES = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("0123478")), min_size=1, max_size=30)
GUARDS = st.sampled_from(["", "1", "half 0", "part 0"])
GUARDED = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["0", "1", "4", "7", "half 0"]), GUARDS), min_size=1, max_size=20
)
LIMITS = st.fractions(min_value=0, max_value=1, max_denominator=24)
MORE = st.fractions(min_value=1, max_value=4, max_denominator=6)


def rows(table) -> Rows:
    first, second, last = zip(*table, strict=True)
    return rows_of({"q": first, "p": second, "s": last}, ["q", "p"], ["s"])


def only(model, table):
    (verdict,) = model.check(rows(table))
    return verdict


def agrees(verdict, table, holds) -> None:
    """The verdict counts the groups and rows that the slow definition says fail."""
    failing = [len(each) for each in slow.groups(table).values() if not holds(each)]
    assert (verdict.failing_groups, verdict.failing_rows, verdict.passes) == (len(failing), sum(failing), not failing)
    assert (verdict.groups, verdict.rows) == (len(slow.groups(table)), len(table))


@FEW
@given(TABLES, st.integers(1, 8), LIMITS)
def test_k_and_alpha_k(table, k, alpha):
    verdict = only(KAnonymity(k), table)
    agrees(verdict, table, lambda group: len(group) >= k)
    assert verdict.figure.worst == slow.least_rows(table)
    verdict = only(AlphaK(alpha, k), table)
    agrees(verdict, table, lambda group: len(group) >= k and all(slow.share(v, group) <= alpha for v in group))
    assert verdict.figure.worst == slow.largest_share(table)


@FEW
@given(TABLES, st.integers(1, 5), MORE, st.sets(st.sampled_from("012")))
def test_distinct_and_frequency(table, whole, l, protected):  # noqa: E741
    verdict = only(DistinctDiversity(whole), table)
    agrees(verdict, table, lambda group: len(set(group)) >= whole)
    assert verdict.figure.worst == slow.least_values(table)
    verdict = only(FrequencyDiversity(l), table)
    agrees(verdict, table, lambda group: all(slow.share(v, group) <= 1 / l for v in group))
    assert verdict.figure.worst == slow.largest_share(table)
    known = protected & {each[-1] for each in table}
    verdict = only(FrequencyDiversity(l, known), table)
    agrees(verdict, table, lambda group: all(slow.share(v, group) <= 1 / l for v in known))
    assert verdict.figure.worst == slow.largest_share(table, known)


@FEW
@given(TABLES, MORE)
def test_entropy(table, l):  # noqa: E741
    verdict = only(EntropyDiversity(l), table)
    agrees(verdict, table, lambda group: slow.has_entropy(group, l))
    worst = verdict.figure.worst
    above = worst * (1 + Fraction(1, 2**50)) if worst.denominator > 1 else worst + Fraction(1, 10**9)
    assert only(EntropyDiversity(worst), table).passes
    assert not only(EntropyDiversity(above), table).passes


@FEW
@given(TABLES, st.fractions(min_value=Fraction(1, 6), max_value=5, max_denominator=6), st.integers(1, 4))
def test_recursive(table, c, l):  # noqa: E741
    verdict = only(RecursiveDiversity(c, l), table)
    agrees(verdict, table, lambda group: slow.is_recursive(group, c, l))
    if verdict.figure.worst != math.inf:
        assert not only(RecursiveDiversity(verdict.figure.worst, l), table).passes
        assert only(RecursiveDiversity(verdict.figure.worst + Fraction(1, 10**9), l), table).passes
    if l == 2:
        limit = RecursiveDiversity(c, l).share_limit
        assert verdict.passes == (slow.largest_share(table) < limit)


@FEW
@given(TABLES, LIMITS)
def test_closeness(table, t):
    whole = [each[-1] for each in table]
    for model, distance in (
        (Closeness(t), slow.equal_distance),
        (Closeness(t, "ordered"), slow.ordered_distance),
        (Closeness(t, "hierarchical", tree=TREE), lambda group, whole: slow.hierarchical_distance(group, whole, PATHS)),
    ):
        verdict = only(model, table)
        agrees(verdict, table, lambda group, distance=distance: distance(group, whole) <= t)
        assert verdict.figure.worst == max(distance(group, whole) for group in slow.groups(table).values())


@settings(max_examples=20)
@given(st.lists(st.sampled_from("01234"), min_size=1, max_size=6), st.lists(st.sampled_from("01234678"), min_size=1, max_size=9))
def test_closed_forms_are_the_least_work_of_transport(group, rest):
    """The distances are earth mover's distances under their ground distances; the papers say so, a linear program shows it."""
    whole = group + rest
    domain = sorted(set(whole), key=int)
    steps = max(len(domain) - 1, 1)
    assert slow.transport(group, whole, lambda a, b: a != b) == pytest.approx(float(slow.equal_distance(group, whole)), abs=1e-9)
    assert slow.transport(group, whole, lambda a, b: abs(domain.index(a) - domain.index(b)) / steps) == pytest.approx(
        float(slow.ordered_distance(group, whole)), abs=1e-9
    )
    meet = {(a[0], b[0]): next(i for i in range(4) if a[i] == b[i]) / 3 for a in PATHS for b in PATHS}
    assert slow.transport(group, whole, lambda a, b: meet[a, b]) == pytest.approx(
        float(slow.hierarchical_distance(group, whole, PATHS)), abs=1e-9
    )


@FEW
@given(TABLES, st.fractions(min_value=Fraction(1, 10), max_value=3, max_denominator=10))
def test_delta_disclosure(table, delta):
    whole = [each[-1] for each in table]

    def holds(group):
        worst = slow.disclosure(group, whole)
        return worst is not None and math.log(worst) < float(delta)  # no tie is possible, and none is near: denominators are small

    agrees(only(DeltaDisclosure(delta), table), table, holds)
    found = [slow.disclosure(group, whole) for group in slow.groups(table).values()]
    assert largest_disclosure(rows(table).counts("s")) == (math.inf if None in found else max(found))


@FEW
@given(GUARDED, LIMITS)
def test_personalized(table, limit):
    quasi, sensitive, guard = zip(*table, strict=True)
    known = rows_of({"q": quasi, "s": sensitive, "g": guard}, ["q"], ["s"])
    (verdict,) = PersonalizedPrivacy(limit, TREE, "g").check(known)
    values = {q: [row[1] for row in table if row[0] == q] for q in quasi}
    chances = [(row[0], slow.breach(values[row[0]], row[2], PATHS)) for row in table if row[2]]
    failing = [group for group, chance in chances if chance > limit]
    assert (verdict.failing_rows, verdict.failing_groups) == (len(failing), len(set(failing)))
    assert verdict.figure.worst == max((chance for _, chance in chances), default=0)


@FEW
@given(TABLES)
def test_the_parameters_that_are_printed_hold(table):
    """They are rounded to six digits, to the side that promises less."""
    said = {verdict.model: verdict.figure.holds for verdict in strictest(rows(table))}
    number = {model: holds.split(",")[0].split()[-1] for model, holds in said.items()}
    printed = [
        KAnonymity(int(number["k-anonymity"])),
        AlphaK(number["(alpha,k)-anonymity"], 1),
        DistinctDiversity(int(number["distinct l-diversity"])),
        FrequencyDiversity(number["frequency l-diversity"]),
        EntropyDiversity(number["entropy l-diversity"]),
        Closeness(number["t-closeness (equal)"]),
        Closeness(number["t-closeness (ordered)"], "ordered"),
    ]
    assert all(only(model, table).passes for model in printed)
    if said["recursive (c,l)-diversity"].startswith("c above"):
        assert only(RecursiveDiversity(Fraction(number["recursive (c,l)-diversity"]) + Fraction(1, 10**12), 2), table).passes
    if said["delta-disclosure privacy"].startswith("delta above"):
        assert only(DeltaDisclosure(Fraction(number["delta-disclosure privacy"]) + Fraction(1, 10**12)), table).passes


# --- vectors -----------------------------------------------------------------------------------------------------------------


def test_distances_of_the_paper():
    """Li, Li and Venkatasubramanian 2007, section 4: salaries 3k to 11k, groups {3k,4k,5k} and {6k,8k,11k}: 0.375 and 0.167."""
    salaries = [[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1], [0, 0, 0, 0, 1, 0, 1, 1, 0]]
    numerators, denominators = Closeness(1, "ordered").ratios(counts_of(salaries))
    found = [Fraction(int(a), int(b)) for a, b in zip(numerators, denominators, strict=True)]
    assert found[:2] == [Fraction(3, 8), Fraction(1, 6)]


@pytest.mark.parametrize(
    ("model", "passes"),
    [
        (FrequencyDiversity("3/2"), True),  # counts 8, 2, 2: the largest share is 2/3
        (FrequencyDiversity("1.50000000000000000001"), False),
        (RecursiveDiversity(2, 2), False),  # 8 < 2 (2 + 2) is false: strict
        (RecursiveDiversity("2.00000000000000000001", 2), True),
        (RecursiveDiversity(4, 3), False),
        (RecursiveDiversity(5, 3), True),
        (RecursiveDiversity(100, 4), False),  # no fourth value
        (EntropyDiversity(2), True),
        (EntropyDiversity(3), False),
        (DistinctDiversity(3), True),
        (DistinctDiversity(4), False),
        (AlphaK("2/3", 12), True),
        (AlphaK("0.666666666666666666", 12), False),
        (AlphaK("2/3", 13), False),
    ],
)
def test_counts_of_the_tutorial(model, passes):
    assert model.on(counts_of([[8, 2, 2]])).passes is passes


def test_the_tutorials_output_fails_two_distinct_values_and_passes_with_yes_protected():
    """Output (Q,Y),(Q,Y),(Q,N),(Q,N),(q2,N),(q2,N): its own rule protects Yes alone."""
    table = rows_of({"q": ["Q"] * 4 + ["q2"] * 2, "s": ["Y", "Y", "N", "N", "N", "N"]}, ["q"], ["s"])
    assert not DistinctDiversity(2).check(table)[0].passes
    assert not FrequencyDiversity(2).check(table)[0].passes
    assert FrequencyDiversity(2, {"Y"}).check(table)[0].passes


def test_several_sensitive_columns_are_strict_unless_asked():
    """Each column alone is 2-diverse; whoever knows the ward knows the illness."""
    columns = {"age": ["30-39"] * 4, "ill": ["flu", "flu", "gout", "gout"], "ward": ["A", "A", "B", "B"]}
    table = rows_of(columns, ["age"], ["ill", "ward"])
    assert not any(verdict.passes for verdict in DistinctDiversity(2).check(table))
    assert all(verdict.passes for verdict in DistinctDiversity(2).check(table, strict=False))
    assert AlphaK(1, 4).check(table)[0].passes, "k counts the groups of quasi-identifiers, not the smaller ones"


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(True),
        lambda: AlphaK(2, 2),
        lambda: DistinctDiversity(0),
        lambda: EntropyDiversity("1/2"),
        lambda: FrequencyDiversity(0),
        lambda: RecursiveDiversity(0, 2),
        lambda: Closeness(1.5),
        lambda: Closeness(0.5, "far"),
        lambda: Closeness(0.5, "hierarchical"),
        lambda: DeltaDisclosure(0),
        lambda: PersonalizedPrivacy(2, TREE, "g"),
        lambda: Tree((("a", "*"), ("b", "top"))),
        lambda: Tree((("a", "x", "*"), ("a", "y", "*"))),
        lambda: FrequencyDiversity(2, {"never"}).on(counts_of([[1, 2]])),
        lambda: Closeness(1, "ordered").check(rows_of({"q": ["a"], "s": ["red"]}, ["q"], ["s"])),
        lambda: Closeness(1, "hierarchical", tree=TREE).check(rows_of({"q": ["a"], "s": ["red"]}, ["q"], ["s"])),
        lambda: EntropyDiversity(2).check(rows_of({"q": ["a"]}, ["q"])),
    ],
)
def test_what_is_not_a_parameter_is_refused(make):
    with pytest.raises(InvalidInput, match=r"[;:]"):
        make()
