"""From released marginals to a model and to rows: post-processing that never fails and keeps what the model says."""

from __future__ import annotations

import builtins
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import mean_limit, plausible_hits
from tacit.errors import InvalidInput
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Column, Table
from tacit.publish.synthetic.rows import inference as rows_module
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.inference import (
    MOST_ROWS,
    Branch,
    Model,
    drawn_codes,
    fit,
    nearest,
    read_rows,
    require_mbi,
    spread,
    usual_rows,
)
from tacit.publish.synthetic.rows.marginals import Design, Measured, Noise, guesses


def axis(name: str, size: int) -> Axis:
    values = tuple(f"{name}{at}" for at in range(size))
    return Axis(Column(name, "category", values=values, nulls="drop", unknown="drop"), tuple(range(size)))


def design(*sizes: int, epsilon: int = 10, pairs: bool = True) -> Design:
    axes = tuple(axis("abcdef"[at], size) for at, size in enumerate(sizes))
    noise = Noise(Laplace, 1, Fraction(epsilon))
    return Design(
        Table("t", None, {}),  # type: ignore[arg-type]
        axes,
        Fraction(1),
        Fraction(0),
        noise,
        noise if pairs else None,
        Fraction(1),
    )


def counts(*numbers: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def test_without_noise_the_model_is_the_tree_itself() -> None:
    """Columns a, b and c along a - b - c: the model has the measured pairs, and a and c go together through b only."""
    ab, bc = counts(40, 0, 10, 50), counts(30, 10, 10, 0, 5, 45)
    plan = design(2, 2, 3)
    measured = Measured(plan, (counts(40, 60), counts(50, 50), counts(30, 15, 55)), {(0, 1): ab, (1, 2): bc})
    codes = drawn_codes(measured, fit(measured), 10_000)
    found = np.bincount(2 * codes[0] + codes[1], minlength=4) / 10_000
    assert np.abs(found - ab / 100).max() < mean_limit(10_000, among=16)
    found = np.bincount(3 * codes[1] + codes[2], minlength=6) / 10_000
    assert np.abs(found - bc / 100).max() < mean_limit(10_000, among=16)
    expected = (ab.reshape(2, 2) / 50).T[:, :, None] * bc.reshape(2, 3)[:, None, :] / 100
    through = np.bincount(3 * codes[0] + codes[2], minlength=6).reshape(2, 3) / 10_000
    assert np.abs(through - expected.sum(axis=0)).max() < mean_limit(10_000, among=16)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=5, max_size=5),
    st.lists(st.integers(-(10**9), 10**9), min_size=6, max_size=6),
    st.integers(0, 50),
)
def test_every_measurement_has_a_model(singles: list[int], pair: list[int], rows: int) -> None:
    """Noise may leave anything at all, nothing above zero included; there are rows all the same, as many as were asked for."""
    plan = design(2, 3, epsilon=1)
    columns = Measured(plan, (counts(*singles[:2]), counts(*singles[2:])), {})
    groups = [int(one.max()) + 1 for one in columns.merged_groups]
    assert guesses(columns)[0, 1].shape == (groups[0] * groups[1],)
    measured = Measured(plan, columns.singles, {(0, 1): counts(*pair)[: groups[0] * groups[1]]})
    codes = drawn_codes(measured, fit(measured), rows)
    assert [one.size for one in codes] == [rows, rows]
    assert all(one.min() >= 0 and one.max() < size for one, size in zip(codes, (2, 3), strict=True) if one.size)


def test_each_cell_of_very_many_gets_its_rows_and_its_values() -> None:
    """20,000 cells and 200,000 rows: a pass over all rows for every cell would be 4,000 million looks at a row."""
    plan = design(20_000, 2, epsilon=10)
    single = np.arange(20_000) % 7 + 2
    rows, even = 2 * int(single.sum()), np.full((20_000, 2), [0.25, 0.75])
    measured = Measured(plan, (single, counts(1, 3)), {})
    model = Model((Branch(0, None, single / single.sum()), Branch(1, 0, even)))
    codes = drawn_codes(measured, model, rows)
    assert np.abs(np.bincount(codes[0]) - 2 * single).max() <= 1
    assert np.abs(np.bincount(codes[0], weights=codes[1]) - 1.5 * single).max() <= 2
    values = plan.axes[0].fill(codes[0])
    assert [str(value) for value in values[:50]] == [f"a{code}" for code in codes[0][:50]]


def test_columns_in_no_pair_are_independent() -> None:
    plan = design(2, 2, pairs=False)
    measured = Measured(plan, (counts(30, 70), counts(50, 50)), {})
    codes = drawn_codes(measured, fit(measured), 1000)
    assert [np.bincount(one).tolist() for one in codes] == [[300, 700], [500, 500]], "shares are kept to the row"
    overlap = int((codes[0] + codes[1] == 0).sum())
    assert abs(overlap - 150) < 300 * mean_limit(300), "300 of 1,000 without replacement: half are in the other column"


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=9), st.integers(1, 10**9))
@settings(deadline=None)
def test_a_column_alone_has_the_nearest_marginal_of_its_total(noisy: list[int], total: int) -> None:
    """Numbers are nearest under these bounds if and only if what is left is lowered by one level, and what is cut lies below it."""
    found = nearest(np.array(noisy, dtype=np.float64), float(total))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, abs=1e-3)
    lowered = np.array(noisy) - found
    level = lowered[found > 0].mean()
    assert lowered[found > 0] == pytest.approx(level, abs=1e-3)
    assert (lowered[found == 0] <= level + 1e-3).all()


def test_rare_cells_come_back_by_the_nearest_counts() -> None:
    """Of 30, 10 and -20, about 40 rows are 30, 10 and 0; in proportion to all that are positive, noise would add up to rows."""
    plan = design(4, 2, epsilon=1)
    measured = Measured(plan, (counts(500, 30, 10, -20), counts(270, 270)), {(0, 1): counts(250, 250, 20, 20)})
    measured = replace(measured, groups=(counts(0, 1, 1, 1), counts(0, 1)))
    codes = drawn_codes(measured, fit(measured), 50_400)
    found = np.bincount(codes[0], minlength=4)
    assert found[3] == 0
    expected = nearest(np.array([30.0, 10.0, -20.0]), measured.total * found[1:].sum() / 50_400)
    assert plausible_hits(found[1], found[1] + found[2], expected[0] / expected.sum())


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8).filter(lambda shares: sum(shares) > 0), st.integers(0, 200))
@settings(deadline=None)
def test_shares_are_kept_up_to_one_row(shares: list[float], rows: int) -> None:
    found = np.bincount(spread(shares, rows), minlength=len(shares))
    assert found.sum() == rows
    wanted = rows * np.array(shares) / sum(shares)
    assert np.abs(found - wanted).max() <= 1 + 1e-6


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_the_largest_uniform_number_adds_no_row(word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "random_words", lambda size: np.full(size, word, dtype=np.uint64))
    monkeypatch.setattr(rows_module, "random_order", lambda values: values)  # which would draw until its words differ
    for rows in (1, 999_983, MOST_ROWS):
        assert spread([1, 2, 4], rows).size == rows


def test_the_order_of_rows_is_drawn() -> None:
    """The 20 rows are in one of 184,756 orders: two in a row are the same with a chance of 5e-6, four of the same 2e-16."""
    orders = {tuple(spread([0.5, 0.5], 20)) for _ in range(4)}
    assert len(orders) > 1


@pytest.mark.parametrize("wrong", [-1, 1.5, True, 10**9, "10"])
def test_a_number_of_rows_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="invalid number of rows"):
        read_rows(wrong)


def test_noise_decides_no_number_of_rows_beyond_the_most() -> None:
    """A tiny budget is paid for when its total turns out to be a million million rows: it is drawn all the same."""
    plan = design(2, 2)
    for total, expected in ((-(10**12), 1), (700, 700), (10**12, MOST_ROWS)):
        assert usual_rows(Measured(plan, (counts(total, 0), counts(0, total)), {})) == expected


@pytest.mark.parametrize("package", ["jax", "mbi"])
def test_without_the_package_the_error_names_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def absent(name: str, *more: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return genuine(name, *more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InvalidInput, match=r'pip install "tacit\[synthetic\]"'):
        require_mbi()
