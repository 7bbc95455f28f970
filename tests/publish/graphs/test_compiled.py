"""Compiled loops: what is missing is named, and where nothing can be kept on disk the loops run all the same."""

import sys

import numba
import pytest

from tacit.errors import InvalidInput
from tacit.publish.graphs.compiled import compiled


def twice(number):
    return 2 * number


def test_a_missing_compiler_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(InvalidInput, match=r'pip install "tacit\[graphs\]"'):
        compiled(twice)


def test_without_a_folder_for_machine_code_the_loop_runs_all_the_same(monkeypatch):
    plain = numba.njit

    def refusing(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function")
        return plain(**options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert compiled(twice)(21) == 42
