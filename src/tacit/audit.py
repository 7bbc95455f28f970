"""Query auditing: exact answers, or refusals that tell nothing. It is not differentially private, and its answers say so.

`tacit audit` does the same on the command line. `auditor` makes an auditor by its name: `max`, `min`, `max-min`,
`max-min-duplicates`, `sum`, `boolean-sum` or `probabilistic-max`.

>>> import numpy as np
>>> from tacit.audit import Data, Desk, Private, auditor
>>> people = Data(Private([3, 7, 2, 8, 10]), "pay", {"person": np.arange(1, 6)})
>>> desk = Desk(people, auditor("sum"))
>>> print(desk.ask("SUM(pay)"))
30  (exact; not differentially private)
>>> print(desk.ask("SUM(pay) WHERE person < 5"))
refused: together with question 1 it would give row 5
"""

from __future__ import annotations

from tacit.publish.audited.auditor import check_simulatable, replayed
from tacit.publish.audited.data import Data, Private, read
from tacit.publish.audited.desk import Desk
from tacit.publish.audited.named import auditor_named as auditor
from tacit.publish.audited.question import Denial, ExactAnswer, question

__all__ = ["Data", "Denial", "Desk", "ExactAnswer", "Private", "auditor", "check_simulatable", "question", "read", "replayed"]
