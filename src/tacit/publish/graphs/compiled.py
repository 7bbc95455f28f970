"""Loops over graphs, compiled by Numba and kept on disk, so that only the first run on a machine waits for the compiler.

A module that uses `compiled` needs Numba when it is imported. So it is imported inside the functions that call it, and the
small graphs of an example need no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from tacit.errors import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])
MISSING = 'graphs need the package numba, which is not installed; run: pip install "tacit[graphs]"'


def compiled(function: Function) -> Function:
    """The function as machine code. It calls only compiled functions, and reads arrays and numbers."""
    return _compile(function)


def inner(function: Function) -> Function:
    """The same for a function that only compiled ones call: without its interface for Python, the compiler has much less to do."""
    return _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compile(function: Function, **options: bool) -> Function:
    try:
        import numba
    except ImportError:
        raise InvalidInput(MISSING) from None
    compiler: Any = numba.njit  # whose types do not know of all options
    try:
        made = compiler(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder in which the machine code could be kept
        made = compiler(nogil=True, **options)(function)
    return cast(Function, made)
