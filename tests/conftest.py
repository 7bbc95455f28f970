"""What tests of every chapter may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services import Missing, postgres_server


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL server of this test process's own, started when first asked for."""
    try:
        with postgres_server() as url:
            yield url
    except Missing as missing:
        pytest.skip(str(missing))
