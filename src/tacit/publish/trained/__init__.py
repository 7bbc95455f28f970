"""Classifiers trained on private rows: logistic regression by noisy gradient steps, as one event.

    features.py    columns of the catalog as bounded integers of a row by itself
    steps.py       the design and its price, the exact sums of a step, and the steps
    release.py     the whole process: refuse, price, spend, train; the model, its SQL, and its accuracy as a release of its own

>>> from tacit.publish.trained import train_classifier
>>> train_classifier.__module__
'tacit.publish.trained.release'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.publish.trained.release import explain_classifier as explain_classifier
    from tacit.publish.trained.release import read_classifier as read_classifier
    from tacit.publish.trained.release import train_classifier as train_classifier


def __getattr__(name: str) -> Any:
    """The entry points, loaded on first use."""
    if name not in ("explain_classifier", "read_classifier", "train_classifier"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tacit.publish.trained import release

    return getattr(release, name)
