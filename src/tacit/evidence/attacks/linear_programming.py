"""Reconstruction by linear programming: the shares that explain the answers best, solved with HiGHS.

Dinur and Nissim (2003) ask for any candidate whose counts all lie within a known bound of the answers (`consistent`). Dwork,
McSherry and Talwar (2007) minimize the sum of absolute errors (`least_absolute`), which needs no bound and survives a share of
answers that are wild: least squares does not. Rounding at 1/2 gives the bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.reconstruction import Reconstruction, Subsets, checked

Floats = NDArray[np.float64]


def least_absolute(
    questions: Subsets | ArrayLike, answers: ArrayLike, *, truth: ArrayLike | None = None, deviation: float | None = None
) -> Reconstruction:
    """The candidate in [0, 1]^n with the least sum of absolute errors.

    Solved in its dual, which has n rows instead of m: maximize a'y - sum max(0, A'y) over |y| <= 1. The candidate is what the rows'
    prices are. An answer that is far off has no more weight than one that is a little off:

    >>> rows = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0]]
    >>> least_absolute(rows, [1, 2, 900, 0, 1]).bits
    array([False,  True,  True])
    """
    matrix, known, real = checked(_rows(questions), answers, truth)
    count, people = matrix.shape
    solved = _solve(
        np.concatenate([-known, np.ones(people)]),
        A_ub=np.hstack([matrix.T, -np.eye(people)]),
        b_ub=np.zeros(people),
        bounds=[(-1, 1)] * count + [(0, None)] * people,
    )
    return Reconstruction(-solved.ineqlin.marginals, count, real, deviation, "linear programming")


def consistent(
    questions: Subsets | ArrayLike, answers: ArrayLike, bound: float, *, truth: ArrayLike | None = None
) -> Reconstruction | None:
    """A candidate in [0, 1]^n all of whose counts are within `bound` of the answers, or None if no such bits exist.

    >>> consistent([[1, 1], [1, 0]], [1.1, 0.1], bound=0.2).bits
    array([False,  True])
    >>> consistent([[1, 1], [1, 0], [0, 1]], [2, 0, 0], bound=0.25) is None
    True
    """
    matrix, known, real = checked(_rows(questions), answers, truth)
    people = matrix.shape[1]
    solved = _solve(
        np.zeros(people),
        A_ub=np.vstack([matrix, -matrix]),
        b_ub=np.concatenate([known + bound, bound - known]),
        bounds=[(0, 1)] * people,
        may_fail=True,
    )
    return None if solved is None else Reconstruction(solved.x, len(known), real, None, "a consistent candidate")


def _rows(questions: Subsets | ArrayLike) -> Floats:
    if isinstance(questions, Subsets):
        return np.concatenate([block.astype(np.float64) for block in questions.blocks()])
    return np.asarray(questions, dtype=np.float64)


def _solve(cost: Floats, may_fail: bool = False, **constraints: Any) -> Any:
    from scipy.optimize import linprog

    solved = linprog(cost, method="highs-ipm", **constraints)
    if solved.status == 2 and may_fail:
        return None
    if solved.status != 0:
        raise InvalidInput(f"the linear program has no solution: {solved.message}")
    return solved
