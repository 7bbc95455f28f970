"""Expected commutes on a made-up state, against a state of blocks one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.lessons.commutes import ORIGINS, RADIUS, SHORT, commutes


def test_averages_are_those_of_blocks_one_by_one() -> None:
    found = commutes(reach=5, far=0.02).to_dict()
    distance = RADIUS * np.sqrt((np.arange(ORIGINS) + 0.5) / ORIGINS)  # blocks evenly on a disc, by their area
    near = np.exp(-distance / 5)
    shares = 0.98 * near / near.sum() + 0.02 / ORIGINS
    for kind, jobs in (("sparse", 200), ("dense", 20_000)):
        noise = found[kind]["noise"]
        assert found[kind]["fake_share"] == pytest.approx(noise * ORIGINS / (jobs + noise * ORIGINS))
        for name, chosen in (("short", distance < SHORT), ("long", distance >= SHORT)):
            truth = np.average(distance[chosen], weights=shares[chosen])
            made = np.average(distance[chosen], weights=(jobs * shares + noise)[chosen])
            assert found[f"{kind} {name}"]["real"] == pytest.approx(truth, rel=2e-3)
            assert found[f"{kind} {name}"]["synthetic"] == pytest.approx(made, rel=2e-3)


def test_the_claim_about_short_commutes_holds_for_one_reach_and_not_for_another() -> None:
    wide, narrow = commutes(reach=5), commutes(reach=1)
    assert abs(wide.to_dict()["sparse short"]["error"]) < 0.15 < 0.9 < narrow.to_dict()["sparse short"]["error"]
    assert "that is low" in "\n".join(wide.explanation())
    assert "that is not low" in "\n".join(narrow.explanation())


@pytest.mark.parametrize("arguments", [{"reach": 0.0}, {"far": 1.5}, {"ratio": 1}, {"delta": 2}])
def test_wrong_numbers_are_refused(arguments) -> None:
    with pytest.raises(InvalidInput):
        commutes(**arguments)
