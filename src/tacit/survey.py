"""Surveys with local differential privacy: declare one, hand out its page, keep the reports, estimate.

`tacit survey` does the same on the command line. The randomizers and the estimates behind it are in `tacit.local`.

>>> from tacit.survey import Form, Store, estimate, page, parse
>>> asked = parse('''
... id = "lunch"
... title = "Lunch"
... closes = 2099-12-31
... epsilon = 2
... [questions.meat]
... ask = "Do you eat meat?"
... kind = "yes/no"
... ''')
>>> page(asked)[:15]  # one file of HTML, in which each person's browser randomizes the answer
'<!doctype html>'
>>> form = Form.of(asked)
>>> reports = [form.text_of({"meat": number % 4 > 0}, number.to_bytes(32, "big")) for number in range(1000)]
>>> with Store(None, asked) as store:  # in memory; a path keeps it
...     taken = list(store.take_all(report.encode() for report in reports))
...     meat = estimate(store)[0].estimate
>>> meat.people, bool(meat.low[1] <= 0.75 <= meat.high[1])
(1000, True)
"""

from __future__ import annotations

from tacit.publish.local.estimates.estimate import Request
from tacit.publish.local.survey.chart import chart
from tacit.publish.local.survey.declaration import Survey
from tacit.publish.local.survey.form import build_form as page
from tacit.publish.local.survey.reading import parse_survey as parse
from tacit.publish.local.survey.reading import read_survey as load
from tacit.publish.local.survey.reports import Form, Store
from tacit.publish.local.survey.results import comparisons as compare
from tacit.publish.local.survey.results import results as estimate
from tacit.publish.local.survey.results import to_csv

__all__ = ["Form", "Request", "Store", "Survey", "chart", "compare", "estimate", "load", "page", "parse", "to_csv"]
