"""Data sets to attack: simulated people, or a copy of a prepared store; each with its own temporary ledger.

For the data owner only: the copy is of private data, and its scratch ledger promises nothing about the real one. No answer that an
attack gets there may be published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.store import copy_store
from tacit.files import write
from tacit.privacy.catalog import Budget, Catalog
from tacit.privacy.rounding import Number, as_text, exact
from tacit.session import DataSet
from tacit.session import open as open_data

PEOPLE = """\
[budget]
epsilon = {epsilon}
delta = 0

[tables.people]
source = "people.csv"
unit = "row"
rows_at_most = 100000

[tables.people.columns]
person = {{ bounds = [1, {people}] }}
secret = {{ bounds = [0, 1] }}
"""


@contextmanager
def people_data(bits: ArrayLike, epsilon: Number) -> Iterator[DataSet]:
    """A prepared table of people (numbered from 1) with a secret bit each, under a budget of `epsilon`; gone afterwards.

    >>> with people_data([1, 0, 1], epsilon=1) as data:
    ...     print(data.session().explain("SELECT COUNT(*) FROM people", epsilon=1).left)
    remaining: epsilon 1, delta 0
    """
    secret = np.asarray(bits).astype(int)
    rows = [f"{place + 1},{bit}" for place, bit in enumerate(secret)]
    catalog = PEOPLE.format(epsilon=float(exact(epsilon)), people=len(secret))
    with made_data(catalog, {"people.csv": "\n".join(["person,secret", *rows, ""]).encode()}) as data:
        yield data


@contextmanager
def made_data(catalog: str, files: Mapping[str, bytes], through: str | None = None) -> Iterator[DataSet]:
    """Made-up files, prepared as a catalog declares them, with periods begun `through` a named one; gone afterwards."""
    with TemporaryDirectory(prefix="tacit-attack-") as name:
        folder = Path(name)
        for file, content in files.items():
            write(folder / file, content)
        data = open_data(write(folder / "tacit.toml", catalog))
        _prepare(data, through)
        data.begin_scratch("simulated people for an attack")
        try:
            yield data
        finally:
            data.close()


@contextmanager
def prepared_again(data: DataSet, files: Mapping[str, bytes], through: str | None = None) -> Iterator[DataSet]:
    """Made-up data with other files, prepared again beside the same ledger."""
    for file, content in files.items():
        write(data.catalog.kept.parent / file, content)
    data.close()
    _prepare(data, through)
    with open_data(data.catalog.kept.parent / "tacit.toml") as later:
        yield later


def _prepare(data: DataSet, through: str | None) -> None:
    from tacit.data.catalog.periods import begun_through
    from tacit.data.prepare import prepare

    prepare(begun_through(data.catalog, through, None))


@contextmanager
def copied_data(catalog: Catalog, epsilon: Number) -> Iterator[DataSet]:
    """A copy of a prepared store under a budget of `epsilon`, delta 0, and a scratch ledger, without analysts' caps; soon gone."""
    version = DataSet(catalog).version
    with TemporaryDirectory(prefix="tacit-attack-") as name:
        folder = Path(name)
        budget = Budget(exact(epsilon, "epsilon"))
        copy = replace(
            catalog,
            budget=budget,
            analysts=MappingProxyType({}),
            path=folder / "tacit.toml",
            ledger_url=None,
            store_path=None,
        )
        copy_store(catalog, copy)
        data = DataSet(copy)
        data.begin_scratch(f"a scratch ledger of epsilon {as_text(budget.epsilon)}, for attacks on a copy of {version}")
        try:
            yield data
        finally:
            data.close()
