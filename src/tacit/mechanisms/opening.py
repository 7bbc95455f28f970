"""The one place where a sealed answer is opened."""

from __future__ import annotations

from typing import Any

from tacit.privacy.sealed import Sealed


def opened(value: Any) -> Any:
    """The plain value, whether it came sealed or not.

    >>> opened(Sealed(42)), opened(42)
    (42, 42)
    """
    return value.unseal() if isinstance(value, Sealed) else value
