"""`tacit survey simulate`: what an estimate would look like, before anybody is asked."""

from __future__ import annotations


def simulate() -> None:
    """Placeholder."""
