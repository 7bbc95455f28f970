"""Releases as code: what `releases.toml` declares is asked for period after period, and published as a static site.

The declaration is read in `reading.py`; `due.py` says which periods are due, `run.py` asks for them once each, `plan.py` looks a
year ahead, and `site.py` writes pages, downloads and metadata of what was released. The proofs are in `releases.md`.
"""
