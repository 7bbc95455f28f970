"""Coroutines in tests: a browser that another test has open keeps an event loop running in the main thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_own_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns, run by a loop in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
