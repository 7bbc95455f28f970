"""A survey from end to end, in which respondents need not trust the collector.

declaration.py  reading.py   what is asked; survey.toml (survey.schema.json)
randomized.py                which randomizer each question gets, and why
form.py  texts.py  page/     one HTML page, in which each person's browser randomizes
reports.py                   reports, checked; SQLite
results.py  chart.py         estimates with intervals, by question and by group; their chart, in the survey's language (chart.toml)
"""
