"""What a published graph says of itself."""

import json

import pytest

from tacit.graphs import Graph, k_degree, naive

STAR = Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6)


@pytest.mark.parametrize("made", [naive(STAR, seed=1), k_degree(STAR, k=2, seed=1)], ids=["naive", "k-degree"])
def test_what_is_not_differentially_private_says_so(made, tmp_path):
    assert made.differentially_private is False
    assert made.banner == "not differentially private"
    receipt = json.loads(made.save(tmp_path / "out.tsv").read_text("utf-8"))
    assert receipt["differentially_private"] is False
    assert len(receipt["does_not_protect"]) >= 3
    assert "not differentially private" in made.page().lower()
