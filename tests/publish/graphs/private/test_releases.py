"""Private releases about graphs: paid before the graph is read, in a ledger of their own relation, with noise as claimed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from chance import heavy_mean_limit, most_hits
from tacit.accounting.events import LaplaceNoise
from tacit.accounting.ledger.ledger import begin_ledger
from tacit.accounting.ledger.units import Policy
from tacit.errors import BudgetExceeded, InvalidInput, NoLedger, WrongRelation
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.smooth.bound import SmoothBound
from tacit.mechanisms.smooth.noise import SmoothMechanism
from tacit.privacy.catalog import Budget
from tacit.privacy.loss import Neighbours
from tacit.publish.graphs.degree_sequence import is_graphical
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.network import network_of
from tacit.publish.graphs.private import result
from tacit.publish.graphs.private.counting import BOUND, FAILURE, EdgeCount, TriangleCount, TriangleInterval, smooth_bound
from tacit.publish.graphs.private.degrees import DegreeSequence, distribution, fit_degrees
from tacit.publish.graphs.private.histogram import CutCount, DegreeHistogram
from tacit.publish.graphs.private.relations import EDGE, NODE
from tacit.publish.graphs.private.spending import begin_graph_ledger, open_graph_ledger
from tacit.publish.graphs.private.theta import THETAS, BoughtHistogram, ThetaChoice

GENERATOR = np.random.default_rng(0)
GRAPH = Graph.of_edges(GENERATOR.integers(0, 200, 900), GENERATOR.integers(0, 200, 900), nodes=200)


@pytest.fixture
def ledgers(tmp_path):
    made = {name: tmp_path / f"{name}.sqlite" for name in ("edge", "node")}
    for name, file in made.items():
        begin_graph_ledger(file, name, 2, 0)
    return made


class Unread:
    """A graph that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError("the graph was read")


def test_releases_are_paid_and_the_budget_ends(ledgers):
    first = result.release_degrees(GRAPH, open_graph_ledger(ledgers["edge"]), 1, nodes=200)
    assert first.differentially_private
    assert (first.relation, first.paid.entry, first.paid.left.epsilon) == (EDGE, 1, 1)
    assert "pure epsilon 1 (add or remove one edge)" in first.guarantee
    assert len(first.values["degrees"]) == 200 == sum(first.values["distribution"])
    result.release_edges(GRAPH, open_graph_ledger(ledgers["edge"]), "1/2", nodes=200)
    with pytest.raises(BudgetExceeded):
        result.release_triangles(Unread(), open_graph_ledger(ledgers["edge"]), 1, nodes=200)


def test_a_ledger_refuses_other_relations_by_type(ledgers, tmp_path):
    nodes, edges = open_graph_ledger(ledgers["node"]), open_graph_ledger(ledgers["edge"])
    with pytest.raises(WrongRelation, match="remove one node'"):
        result.release_triangles(Unread(), nodes, 1, nodes=10)
    with pytest.raises(WrongRelation, match="remove one edge'"):
        result.release_stars(Unread(), edges, 1, 10)
    unit = LaplaceNoise(Fraction(1), Fraction(1), Neighbours("add-remove", "unit"))
    for ledger in (nodes, edges):
        with pytest.raises(WrongRelation):
            ledger.spend(unit, "curator", "a question", "")
    with pytest.raises(WrongRelation):
        edges.spend(DegreeHistogram(2, 1).mechanism.event, "curator", "a histogram", "")
    file = tmp_path / "units.sqlite"
    of_units = begin_ledger(f"sqlite:///{file}", Policy(Budget(Fraction(1))), "12" * 16)
    with pytest.raises(WrongRelation):
        of_units.spend(EdgeCount(10, 1).mechanism.event, "curator", "edges", "")
    with pytest.raises(WrongRelation, match="remove one unit'"):
        open_graph_ledger(file)


def test_edges_and_stars_for_one_person_are_paid_and_of_a_cut_graph(ledgers):
    ledger = open_graph_ledger(ledgers["node"])
    edges = result.release_edges(GRAPH, ledger, "1/2", theta=40)
    assert (edges.relation, edges.paid.entry, edges.paid.left.epsilon) == (NODE, 1, Fraction(3, 2))
    assert "for the graph cut to at most 40 edges of each person" in edges.note
    assert "one person with all edges" in edges.guarantee
    stars = result.release_stars(GRAPH, ledger, "1/2", theta="40", points=3)
    assert "number of stars with 3 edges of a cut graph" in stars.what
    assert stars.paid.entry == 2
    for refused in (
        lambda: result.release_edges(Unread(), ledger, 1),
        lambda: result.release_edges(Unread(), ledger, 1, nodes=10, theta=3),
        lambda: result.release_edges(Unread(), ledger, 1, theta=0),
        lambda: result.release_stars(Unread(), ledger, 1, None),
        lambda: result.release_stars(Unread(), ledger, 1, 10, points=9),
        lambda: result.release_edges(Unread(), open_graph_ledger(ledgers["edge"]), 1, nodes=10, theta=3),
    ):
        with pytest.raises(InvalidInput):
            refused()
    assert open_graph_ledger(ledgers["node"]).left().epsilon == 1, "a refusal costs nothing"


def test_the_interval_of_a_cut_count_is_that_of_its_noise():
    count = CutCount(theta=200, points=1, epsilon=1)
    exact = [count.exact(GRAPH, np.arange(200), key) for key in (b"a", b"b")]
    assert exact[0].unseal() == exact[1].unseal() == GRAPH.edges, "no person has more than theta edges"
    assert count.mechanism.interval(result.CONFIDENCE) == Laplace(200, 1, step=1, on_grid=True).interval(result.CONFIDENCE)


def test_a_ledger_keeps_its_budget_and_is_begun_once(ledgers, tmp_path):
    ledger = open_graph_ledger(ledgers["node"])
    assert (ledger.policy.budget.epsilon, ledger.policy.neighbours) == (2, NODE)
    with pytest.raises(InvalidInput, match="already exists: a ledger is begun"):
        begin_graph_ledger(ledgers["node"], "node", 9)
    with pytest.raises(NoLedger):
        open_graph_ledger(tmp_path / "none.sqlite")


def test_the_spend_is_on_the_disk_before_the_graph_is_read(ledgers, monkeypatch):
    seen = []

    def reading(source, alone):
        seen.append(open_graph_ledger(ledgers["node"]).head.number)
        return real(source, alone)

    real = result.network_of
    monkeypatch.setattr(result, "network_of", reading)
    made = result.release_degrees(GRAPH, open_graph_ledger(ledgers["node"]), 1, theta=10)
    assert seen == [made.paid.entry] == [1]
    assert len(made.values["histogram"]) == 10


def test_nothing_exact_and_no_private_scale_is_told(ledgers):
    made = result.release_triangles(GRAPH, open_graph_ledger(ledgers["edge"]), 1, nodes=200)
    told = str(made.to_dict()) + "\n".join(made.lines()) + made.page() + repr(TriangleCount(200, 1))
    count = TriangleInterval(200, 1).count
    scale = count.statistic(GRAPH)[1] / count.alpha
    assert f"{float(scale):.4g}" not in told
    assert "95 % interval" in made.note
    assert str(GRAPH.edges) not in "\n".join(made.lines())


@pytest.mark.parametrize("asked", [{"nodes": None}, {"nodes": 0}])
def test_public_numbers_are_required(ledgers, asked):
    with pytest.raises(InvalidInput, match="number of people"):
        result.release_degrees(Unread(), open_graph_ledger(ledgers["edge"]), 1, **asked)
    with pytest.raises(InvalidInput, match="theta"):
        result.release_degrees(Unread(), open_graph_ledger(ledgers["node"]), 1, theta=None)


def test_the_number_of_names_in_a_file_changes_no_shape():
    """An edge list with more or fewer names than the public number: the same length, and no refusal."""
    for nodes in (3, 200, 500):
        assert len(DegreeSequence(nodes, 1).release(GRAPH)) == nodes
        assert 0 <= EdgeCount(nodes, 1).release(GRAPH) <= nodes * (nodes - 1) // 2
        assert TriangleCount(nodes, 1).release(GRAPH) >= 0
    empty = Graph.of_edges([], [], nodes=0)
    assert len(DegreeSequence(4, 1).release(empty)) == 4
    assert len(DegreeHistogram(4, 1).release(empty, np.arange(0))) == 4


def test_isotonic_regression_is_the_projection():
    """Against the definition: means over all blocks, the min-max formula. A mean halfway between two degrees becomes either."""
    for seed in range(20):
        values = np.random.default_rng(seed).integers(0, 12, 12).astype(float)
        means = [[values[i : j + 1].mean() if j >= i else np.nan for j in range(12)] for i in range(12)]
        expected = [min(max(means[i][j] for j in range(place, 12)) for i in range(place + 1)) for place in range(12)]
        assert np.abs(fit_degrees(values) - np.clip(expected, 0, 11)).max() <= 0.5 + 1e-9


def test_the_regression_makes_degrees_more_accurate():
    """Mean absolute error: Laplace noise of scale 4 has 4; a fit of 3,000 degrees with few different values has 0.2.

    Of 60,000 fits 966 pass 0.4, 51 pass 0.6 and 2 pass 0.8: at this pace one in 10^9 passes 1.5.
    """
    true = np.sort(np.minimum(np.random.default_rng(1).zipf(2.0, 3000), 60))[::-1].astype(np.int64)
    mechanism = DegreeSequence(3000, "1/2").mechanism
    noisy = np.asarray(mechanism.release_units(true), dtype=float)
    assert np.abs(noisy - true).mean() > 3.95 - heavy_mean_limit(np.sqrt(2) * 4, 4, 3000)
    assert np.abs(fit_degrees(noisy) - true).mean() < 1.5
    assert distribution(fit_degrees(noisy)).sum() == 3000


# --- the interval of triangles -----------------------------------------------------------------------------------------------

NEAR = Graph.of_edges(GENERATOR.integers(0, 30, 300), GENERATOR.integers(0, 30, 300), nodes=30)
RATES = [1 - result.CONFIDENCE, FAILURE, 1 - result.CONFIDENCE - FAILURE]  # 5 %, 2 % and 3 %


def too_often(draws):
    """Of intervals without the true number, bounds below the private one, and noise beyond what it allows: which are too many."""
    interval = TriangleInterval(5000, 1)  # so many people that no end is cut
    true, bound = (float(each) for each in interval.count.statistic(NEAR))
    _, _, allowed = interval.around(0, bound, result.CONFIDENCE)
    found = np.zeros(3, dtype=int)
    for _ in range(draws):
        released, low, high = interval.release(NEAR, result.CONFIDENCE)
        found += (not low <= true <= high, high - released < allowed, abs(released - true) > allowed)
    return (found > most_hits(draws, RATES)).tolist()


def test_the_interval_of_triangles_holds_as_often_as_it_says():
    assert too_often(800) == [False, False, False]


def test_planted_intervals_of_triangles_are_seen(monkeypatch):
    """Noise of three fifths of epsilon in an interval for the whole, which fails 12 % of the time; a bound without its lift."""
    whole = TriangleCount(5000, 1)
    with monkeypatch.context() as planted:
        planted.setattr(TriangleCount, "half_width", lambda _, *terms: SmoothMechanism.half_width(whole, *terms))
        assert too_often(800)[2]
    monkeypatch.setattr(SmoothBound, "lift", 0)
    assert too_often(200)[1]


def test_the_interval_of_triangles_follows_from_what_is_released(ledgers):
    """The same count and the same bound give the same interval, whatever the graph; it is cut at 0 and at all triples."""
    made = result.release_triangles(GRAPH, open_graph_ledger(ledgers["edge"]), 1, nodes=200)
    low, high = made.values["interval"]
    assert 0 <= low <= made.values["triangles"] <= high <= 200 * 199 * 198 // 6
    assert made.paid.left.epsilon == 1, "one epsilon for both"
    assert f"interval: {low:,}, {high:,}" in "\n".join(made.lines())
    interval = TriangleInterval(200, 1)
    assert interval.around(50, 7.0, result.CONFIDENCE) == interval.around(50, 7.0, result.CONFIDENCE)
    assert interval.around(5, 1e6, result.CONFIDENCE)[1:] == (0, 200 * 199 * 198 // 6)


@pytest.mark.parametrize("nodes", [1, 3, 30, 100_000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), 1, 20])
def test_no_smooth_bound_exceeds_what_the_sold_one_is_cut_at(nodes, epsilon):
    count = TriangleInterval(nodes, epsilon).count
    for shared in {0, nodes // 3, max(nodes - 3, 0), max(nodes - 2, 0)}:
        assert smooth_bound(shared, count.beta) <= count.largest_bound


def test_both_parts_of_triangles_share_epsilon():
    first, second = TriangleInterval(10, "1/3").event.events
    assert (first.epsilon, second.sensitivity / second.scale) == (Fraction(1, 3) * (1 - BOUND), Fraction(1, 3) * BOUND)


LINES = ["1\t2", "01\t2", "a\tb", "# a note", "source\ttarget", "3,4", "5 6", "x", "1\t2\t9"]


@pytest.mark.parametrize("name", ["edges.tsv", "edges.csv", "edges.txt"])
def test_no_line_has_a_say_in_how_another_is_read(tmp_path, name):
    """One line less is at most one edge less, whatever the line, and a file without an edge is one like any other."""
    file = tmp_path / name

    def edges(lines):
        file.write_text("".join(f"{line}\n" for line in lines))
        found = network_of(file, alone=True)
        return {frozenset((found.names[one], found.names[two])) for one, two in zip(*found.graph.ends(), strict=True)}

    random = np.random.default_rng(1)
    for _ in range(60):
        lines = [LINES[at] for at in random.integers(0, len(LINES), 6)]
        whole = edges(lines)
        for at in range(1, len(lines)):
            assert len(whole ^ edges(lines[:at] + lines[at + 1 :])) <= 1
    assert edges([]) == set()


def test_planted_reading_by_what_other_lines_hold_is_caught(tmp_path):
    """As the anonymizers read: whether the first line is a header is decided by all of them."""
    file, found = tmp_path / "edges.tsv", []
    for last in ("", "c\td\n"):
        file.write_text(f"a\tb\n1\t2\n{last}")
        found.append((network_of(file).graph.edges, network_of(file, alone=True).graph.edges))
    assert found == [(1, 2), (3, 3)]


def test_a_graph_without_edges_is_released_as_any_other(ledgers, tmp_path):
    (tmp_path / "none.tsv").write_text("# nothing\n")
    assert result.release_edges(tmp_path / "none.tsv", open_graph_ledger(ledgers["edge"]), 1, nodes=10).paid.entry == 1
    assert result.release_degrees(tmp_path / "none.tsv", open_graph_ledger(ledgers["node"]), 1, theta=3).paid.entry == 1


def test_theta_is_bought_for_the_same_epsilon(ledgers):
    ledger = open_graph_ledger(ledgers["node"])
    found = result.release_degrees(GRAPH, ledger, 1, theta="auto")
    assert (found.paid.left.epsilon, found.relation) == (1, NODE)
    assert "pure epsilon 1 (add or remove one node)" in found.guarantee
    assert found.values["theta"] in THETAS
    assert len(found.values["histogram"]) == found.values["theta"]
    assert f"at most {found.values['theta']} edges each" in found.note
    with pytest.raises(InvalidInput, match="whole number or auto"):
        result.release_degrees(Unread(), ledger, 1, theta="some")
    with pytest.raises(BudgetExceeded):
        result.release_degrees(Unread(), ledger, 2, theta="auto")


def test_what_is_recorded_covers_the_histogram_of_every_theta():
    bought = BoughtHistogram(Fraction(1, 3))
    recorded = bought.event.events[1]
    for theta in THETAS:
        used = DegreeHistogram(theta, bought.choice.rest).mechanism.event
        assert used.sensitivity / used.scale <= recorded.sensitivity / recorded.scale


def test_the_best_theta_is_the_likeliest_and_follows_the_degrees():
    """In a ring of 4,000 people nobody has more than two edges; in a dense graph of 400 cutting people off is worse than noise."""
    ring = Graph.of_edges(np.arange(4000), (np.arange(4000) + 1) % 4000, nodes=4000)
    choice = ThetaChoice(epsilon=1, rest=3)
    law = choice.mechanism.law(choice.exact(ring, np.arange(4000), b"key"))
    assert max(law.probabilities, key=law.probabilities.get) in (2, 4, 8)
    draw = np.random.default_rng(1)
    dense = Graph.of_edges(draw.integers(0, 4000, 120_000), draw.integers(0, 4000, 120_000), nodes=4000)
    law = choice.mechanism.law(choice.exact(dense, np.arange(4000), b"key"))
    assert max(law.probabilities, key=law.probabilities.get) >= 32


def test_repaired_degrees_belong_to_some_graph(ledgers):
    ledger = open_graph_ledger(ledgers["edge"])
    found = result.release_degrees(GRAPH, ledger, "1/10", nodes=200, repair=True)
    assert is_graphical(found.values["degrees"])
    assert "of some graph" in found.what
    histogram = result.release_degrees(GRAPH, open_graph_ledger(ledgers["node"]), 1, theta=15, repair=True)
    counts = histogram.values["histogram"]
    assert is_graphical(np.repeat(np.arange(1, len(counts) + 1), counts))
    assert "of some graph" in histogram.what


def test_a_term_of_the_other_relation_is_refused_before_the_graph_is_read(ledgers):
    with pytest.raises(InvalidInput, match="leave out --theta"):
        result.release_degrees(Unread(), open_graph_ledger(ledgers["edge"]), 1, nodes=200, theta=5)
    with pytest.raises(InvalidInput, match="leave out --nodes"):
        result.release_degrees(Unread(), open_graph_ledger(ledgers["node"]), 1, nodes=200, theta=5)


@pytest.mark.parametrize(("theta", "hinted"), [(1, True), (result.FEW, True), (2 * result.FEW, False)])
def test_a_small_bought_theta_is_explained_by_the_theta_alone(ledgers, monkeypatch, theta, hinted):
    monkeypatch.setattr(result.BoughtHistogram, "release", lambda made, *_: (DegreeHistogram(theta, made.epsilon), np.zeros(theta)))
    found = result.release_degrees(GRAPH, open_graph_ledger(ledgers["node"]), 1, theta="auto")
    assert ("spend a larger epsilon" in found.note) == hinted
