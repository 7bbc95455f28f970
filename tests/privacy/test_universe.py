from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.privacy.law import Law, hockey_stick, worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours
from tacit.privacy.universe import Database, Universe, edges, units

LETTERS = Universe(("a", "b", "c"))
DATABASES = st.lists(st.sampled_from("abc"), max_size=6).map(LETTERS.database)


@given(DATABASES, DATABASES, DATABASES)
def test_distance_is_a_metric(one, two, three):
    assert one.distance(two) == two.distance(one)
    assert (one.distance(two) == 0) == (one == two)
    assert one.distance(three) <= one.distance(two) + two.distance(three)


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
@given(DATABASES)
def test_neighbours_are_at_the_distance_of_their_relation_and_mutual(relation, database):
    found = list(database.neighbours(relation))
    assert len(set(found)) == len(found)
    for other in found:
        assert database.distance(other) == relation.histogram_distance
        assert (other.size == database.size) == relation.size_is_public
        assert database in other.neighbours(relation)


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
def test_no_neighbour_is_missed(relation):
    everything = list(LETTERS.databases_up_to(4))
    for database in LETTERS.databases_up_to(3):
        near = {
            other
            for other in everything
            if database.distance(other) == relation.histogram_distance and (other.size == database.size) == relation.size_is_public
        }
        assert near == set(database.neighbours(relation))


def test_a_database_knows_its_rows():
    assert LETTERS.database("caa").rows == ("a", "a", "c")
    assert Universe((0, 1)).database([0, 1, 1]).counts == (1, 2)


def test_units_and_edges_are_universes_too():
    assert len(units("ab", max_rows=3).elements) == 2 + 3 + 4
    triangle = edges(3).database([(0, 1), (0, 2), (1, 2)])
    assert len(list(triangle.neighbours(Neighbours("add-remove", "edge")))) == 3
    assert [d.size for d in edges(3).databases(2)] == [2, 2, 2]


def test_what_is_not_in_the_universe_is_refused():
    with pytest.raises(InvalidInput, match="not elements"):
        LETTERS.database("ad")
    with pytest.raises(InvalidInput, match="one count per element"):
        Database(LETTERS, (1, 2))
    with pytest.raises(InvalidInput, match="distinct elements"):
        Universe(("a", "a"))
    with pytest.raises(InvalidInput, match="the same universe"):
        LETTERS.database("a").distance(Universe((0, 1)).database([0]))
    with pytest.raises(InvalidInput, match="max_copies"):
        edges(3).database([(0, 1), (0, 1)])


def test_relations_name_themselves_and_refuse_nonsense():
    assert str(Neighbours("add-remove", "unit")) == "add or remove one unit"
    with pytest.raises(InvalidInput, match="'add-remove' or 'change-one'"):
        Neighbours("swap")
    with pytest.raises(InvalidInput, match="row"):
        Neighbours("add-remove", "table")


def test_laws_compare_exactly():
    one = Law({0: Decimal("0.75"), 1: Decimal("0.25")})
    other = Law({0: Decimal("0.25"), 1: Decimal("0.75")})
    assert worst_log_ratio(one, other) == pytest.approx(Decimal(3).ln())
    assert hockey_stick(one, other, Decimal(0)) == Decimal("0.5")
    assert worst_log_ratio(one, Law({0: Decimal(1)})) == Decimal("Infinity")
    assert hockey_stick(one, other, Decimal(3).ln()) < Decimal("1e-40")


def test_a_law_sums_to_one():
    with pytest.raises(InvalidInput, match="sum to 1"):
        Law({0: Decimal("0.9")})
    assert Law({0: Decimal("0.9")}, missing=Decimal("0.1")).map(str).probabilities == {"0": Decimal("0.9")}


def test_composition_of_laws_multiplies():
    coin = Law({0: Decimal("0.75"), 1: Decimal("0.25")})
    pair = coin.and_then(lambda first: coin if first else Law({0: Decimal(1)}))
    assert pair.probabilities == {(0, 0): Decimal("0.75"), (1, 0): Decimal("0.1875"), (1, 1): Decimal("0.0625")}
