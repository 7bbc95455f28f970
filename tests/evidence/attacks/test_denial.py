"""Values from refusals: the attack names what it claims, and nothing at a simulatable desk."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.denial import denial, example_values


def test_the_example_names_x5():
    found = denial([3, 7, 2, 8, 10], group=5)
    assert found.value_based.named == {4: 10.0}
    assert found.simulatable.named == {}
    assert found.simulatable.refused == 5


@pytest.mark.parametrize("seed", range(4))
def test_a_third_of_all_values_falls_without_an_error(seed):
    values = example_values(45, seed)
    found = denial(values)
    assert len(found.value_based.named) == 15
    assert found.value_based.wrong == 0
    largest = {start + int(np.argmax(values[start : start + 3])) for start in range(0, 45, 3)}
    assert set(found.value_based.named) == largest
    assert found.simulatable.named == {}


def test_equal_values_are_never_named_wrongly():
    generator = np.random.default_rng(3)
    for _ in range(30):
        values = generator.integers(0, 3, 9)
        found = denial(values)
        assert found.value_based.wrong == 0
        for start in range(0, 9, 3):
            group = values[start : start + 3]
            alone = np.count_nonzero(group == group.max()) == 1
            assert any(start <= row < start + 3 for row in found.value_based.named) == alone


def test_the_result_in_words_and_as_a_chart(tmp_path):
    found = denial(example_values(9))
    assert "disclose 3 of 9 values, 0 of them wrong" in found.summary()
    found.chart(str(tmp_path / "denial.svg"))
    assert (tmp_path / "denial.svg").read_text().startswith("<svg")


def test_groups_have_three_rows_at_least():
    with pytest.raises(InvalidInput, match="at least 3"):
        denial([1, 2, 3], group=2)
