"""From the query text to a plan that can be priced: the passes, in order.

qualify   names and functions get their meaning; SELECT, HAVING and ORDER BY become arithmetic on released numbers
bound     every private table is limited to the declared rows of a unit, below every other step
totals    per-unit totals that are cheaper together than one by one
split     aggregates become moments: exact integers, counted once even where several aggregates need them
excluded  groups that WHERE excludes by the catalog alone are left out
keys      every group of the answer is known in advance, or must pass a threshold
fit       the expression for the engine is not too large
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tacit.privacy.catalog import Catalog
from tacit.query.binding.qualify import qualify
from tacit.query.binding.regular import one_question
from tacit.query.binding.scope import PublicFacts
from tacit.query.excluded import excluded
from tacit.query.language.syntax import Select
from tacit.query.passes.bound import bound
from tacit.query.passes.fit import fit
from tacit.query.passes.keys import keys
from tacit.query.passes.split import split
from tacit.query.passes.totals import totals
from tacit.query.plan import Question

PASSES: tuple[Callable[[Question], Question], ...] = (bound, totals, split, excluded, keys, fit)


def rewrite(select: Select, catalog: Catalog, public: PublicFacts) -> Question:
    """The query as a plan; a function of the text, the catalog and the public tables alone."""
    with one_question():
        question = qualify(select, catalog, public)
    beside = tuple(map(_through, question.beside))
    below = tuple(replace(_through(part), beside=beside) for part in question.below)
    return replace(_through(question), beside=beside, below=below)


def _through(question: Question) -> Question:
    """One part of a question, after all passes."""
    for rewritten in PASSES:
        question = rewritten(question)
    return question
