"""tacit: a private statistical database. The public names are loaded when they are first used, so that importing costs nothing.

Questions and mechanisms are here. Other ways to publish are in `tacit.survey`, `tacit.local`, `tacit.synthesize`, `tacit.train`,
`tacit.tables`, `tacit.graphs` and `tacit.audit`; `tacit.attack` and `tacit.verify` show why to believe it; `tacit.composition` and
`tacit.sensitivity` have the theorems. `tacit.dbapi` is a driver for programs that expect a database, and `%load_ext tacit` gives a
notebook its magics.

>>> import tacit
>>> print(tacit.Laplace(sensitivity=2, epsilon=0.5).interval(0.95))
± 11.98
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tacit.attack as attack
    import tacit.audit as audit
    import tacit.composition as composition
    import tacit.dbapi as dbapi
    import tacit.errors as errors
    import tacit.graphs as graphs
    import tacit.local as local
    import tacit.sensitivity as sensitivity
    import tacit.show as show
    import tacit.survey as survey
    import tacit.synthesize as synthesize
    import tacit.tables as tables
    import tacit.train as train
    import tacit.verify as verify
    from tacit.data.catalog.draft import init
    from tacit.doors.client import connect
    from tacit.mechanisms.dirichlet.resampling import DirichletResampling
    from tacit.mechanisms.exponential import Exponential
    from tacit.mechanisms.gaussian import Gaussian
    from tacit.mechanisms.laplace import Laplace
    from tacit.mechanisms.noisy_max import NoisyMax
    from tacit.mechanisms.quantile.interval import QuantileWithInterval
    from tacit.mechanisms.quantile.quantile import Quantile
    from tacit.mechanisms.randomized_response import RandomizedResponse
    from tacit.mechanisms.selection import GaussianKeyThreshold, KeyThreshold
    from tacit.mechanisms.smooth.estimates import SmoothQuantile, SmoothTrimmedMean
    from tacit.mechanisms.sparse_vector import SparseVector
    from tacit.privacy.interval import Interval
    from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Approximate, Concentrated, Neighbours, Probabilistic, Pure
    from tacit.privacy.sealed import Sealed
    from tacit.privacy.universe import Universe
    from tacit.release.answer import Answer
    from tacit.release.answers import Answers
    from tacit.session import DataSet, Session, open  # noqa: A004  # read as tacit.open

    __version__: str

__all__ = [
    "ADD_REMOVE",
    "CHANGE_ONE",
    "Answer",
    "Answers",
    "Approximate",
    "Concentrated",
    "DataSet",
    "DirichletResampling",
    "Exponential",
    "Gaussian",
    "GaussianKeyThreshold",
    "Interval",
    "KeyThreshold",
    "Laplace",
    "Neighbours",
    "NoisyMax",
    "Probabilistic",
    "Pure",
    "Quantile",
    "QuantileWithInterval",
    "RandomizedResponse",
    "Sealed",
    "Session",
    "SmoothQuantile",
    "SmoothTrimmedMean",
    "SparseVector",
    "Universe",
    "__version__",
    "attack",
    "audit",
    "composition",
    "connect",
    "dbapi",
    "errors",
    "graphs",
    "init",
    "local",
    "open",
    "sensitivity",
    "show",
    "survey",
    "synthesize",
    "tables",
    "train",
    "verify",
]

_MODULES = (
    "attack",
    "audit",
    "composition",
    "dbapi",
    "errors",
    "graphs",
    "local",
    "sensitivity",
    "show",
    "survey",
    "synthesize",
    "tables",
    "train",
    "verify",
)
_HOMES = {
    "tacit.doors.client": ("connect",),
    "tacit.mechanisms.dirichlet.resampling": ("DirichletResampling",),
    "tacit.mechanisms.exponential": ("Exponential",),
    "tacit.mechanisms.gaussian": ("Gaussian",),
    "tacit.mechanisms.laplace": ("Laplace",),
    "tacit.mechanisms.noisy_max": ("NoisyMax",),
    "tacit.mechanisms.quantile.quantile": ("Quantile",),
    "tacit.mechanisms.quantile.interval": ("QuantileWithInterval",),
    "tacit.mechanisms.randomized_response": ("RandomizedResponse",),
    "tacit.mechanisms.selection": ("GaussianKeyThreshold", "KeyThreshold"),
    "tacit.mechanisms.smooth.estimates": ("SmoothQuantile", "SmoothTrimmedMean"),
    "tacit.mechanisms.sparse_vector": ("SparseVector",),
    "tacit.privacy.interval": ("Interval",),
    "tacit.privacy.loss": ("ADD_REMOVE", "CHANGE_ONE", "Approximate", "Concentrated", "Neighbours", "Probabilistic", "Pure"),
    "tacit.privacy.sealed": ("Sealed",),
    "tacit.privacy.universe": ("Universe",),
    "tacit.release.answer": ("Answer",),
    "tacit.release.answers": ("Answers",),
    "tacit.data.catalog.draft": ("init",),
    "tacit.session": ("DataSet", "Session", "open"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker sees the imports above, and so a misspelt name too

    def __getattr__(name: str) -> Any:
        """A public name, from the module that it lives in; kept, so that this runs once for each."""
        if name not in __all__:
            raise AttributeError(f"module 'tacit' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        globals()[name] = value = _load(name)
        return value


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook its magics; `%load_ext tacit` calls it."""
    from tacit.doors.notebook import load_ipython_extension as load

    load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)


def _load(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tacit")
    return import_module(f"tacit.{name}") if name in _MODULES else getattr(import_module(_HOME[name]), name)
