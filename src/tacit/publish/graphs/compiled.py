"""Loops over graphs, compiled by Numba and kept on disk, so that only the first run on a machine waits for the compiler.

A module that uses `compiled` needs Numba when it is imported. So it is imported inside the functions that call it, and whoever
reads the small graphs of an example needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from tacit.errors import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])
MISSING = 'graphs need the package numba, which is not installed; run: pip install "tacit[graphs]"'


def compiled(function: Function) -> Function:
    """The function as machine code. It calls only compiled functions, and reads arrays and numbers."""
    try:
        import numba
    except ImportError:
        raise InvalidInput(MISSING) from None
    try:
        made: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder in which the machine code could be kept
        made = numba.njit(nogil=True)(function)
    return cast(Function, made)
