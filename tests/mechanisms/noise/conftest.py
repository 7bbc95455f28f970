from collections.abc import Callable, Iterable

import numpy as np
import pytest

from tacit.mechanisms.noise import bits


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[int]], list[int]]:
    """Puts chosen 64-bit words in place of random ones; what comes back is the list of those not used yet."""

    def inject(chosen: Iterable[int]) -> list[int]:
        waiting = list(chosen)

        def random_words(count: int) -> np.ndarray:
            taken = [waiting.pop(0) for _ in range(count)]
            return np.array(taken, dtype=np.uint64)

        monkeypatch.setattr(bits, "random_words", random_words)
        return waiting

    return inject
