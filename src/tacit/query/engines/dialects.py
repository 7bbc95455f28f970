"""Ibis with the dialect of one engine: its package of dialects imports all twenty, which takes a tenth of a cold start."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PACKAGE = "ibis.backends.sql.compilers"


def duckdb_backend() -> Any:
    """Ibis for DuckDB, without importing the dialects of other engines."""
    dialects_on_demand()
    import ibis

    return ibis.duckdb


def dialects_on_demand() -> None:
    """Let Ibis import each dialect when it is used; without effect if its package of dialects is imported already."""
    if PACKAGE in sys.modules:
        return
    spec = find_spec(PACKAGE)
    if spec is None:  # a version of Ibis that keeps them elsewhere
        return
    package = module_from_spec(spec)
    package.__getattr__ = lambda name: _part(package, name)  # type: ignore[method-assign]
    parent, _, own_name = PACKAGE.rpartition(".")
    sys.modules[PACKAGE] = package
    setattr(sys.modules[parent], own_name, package)


def _part(package: ModuleType, name: str) -> Any:
    """A dialect, by its name. Anything else is defined by the package itself, which is then run whole."""
    if not name.startswith("_"):
        if find_spec(f"{PACKAGE}.{name}") is not None:
            return import_module(f"{PACKAGE}.{name}")
        loader = package.__spec__.loader if package.__spec__ else None
        if loader is not None and "__all__" not in vars(package):
            loader.exec_module(package)
        if name in vars(package):
            return vars(package)[name]
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")
