"""Classifiers trained on a private table, by noisy gradient steps, paid as one event.

`tacit train` does the same on the command line. `explain` states the price and the noise before anything is spent, `classifier`
trains, and `model.accuracy(session, epsilon=0.1)` is a release of its own. Least squares is a question: `LINREG(y, x1, x2)`.

>>> import tacit.train
>>> tacit.train.classifier.__name__
'train_classifier'
"""

from __future__ import annotations

from tacit.publish.trained.release import Classifier, Training
from tacit.publish.trained.release import explain_classifier as explain
from tacit.publish.trained.release import read_classifier as read
from tacit.publish.trained.release import train_classifier as classifier

__all__ = ["Classifier", "Training", "classifier", "explain", "read"]
