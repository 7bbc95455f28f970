"""Parts that get a name: the same answers from a text that grows with the sum of uses, whatever is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from generated import Generated, Parts, asked, tables
from tacit.query import named_parts
from tacit.query.named_parts import Part, named
from tacit.query.plan import Add, Choose, Column, Compare, Literal, Multiply
from tacit.query.question import Question
from worlds import World, ranked, world_in_memory

LENGTHS = pytest.mark.parametrize("examples", [2, pytest.param(150, marks=pytest.mark.slow)], ids=["few", "many"])
COST, AGE = (Column(0, name, -2, 10, nullable=True) for name in ("cost", "age"))


def distance(node: Any) -> Any:
    """ABS, as the binder makes it: three uses of its argument."""
    below = Compare("<", node, Literal(0))
    turned = Multiply(node, Literal(-1), -node.high, -node.low, node.nullable)
    return Choose(((below, turned),), Add(node, Literal(-1), node.low, node.high, node.nullable), 0, node.high, node.nullable)


def nested(times: int, node: Any = COST) -> Any:
    for _ in range(times):
        node = distance(node)
    return node


@contextmanager
def naming(small: int, worth: int) -> Iterator[None]:
    before = named_parts.SMALL, named_parts.WORTH
    named_parts.SMALL, named_parts.WORTH = small, worth
    try:
        yield
    finally:
        named_parts.SMALL, named_parts.WORTH = before


def exact(place: World, question: Question) -> list[str]:
    place.engine._compiled.clear()
    return [repr(place.exact(part)) for part in question.parts]


def differ(made: Generated, questions: list[Parts], folder: Path) -> bool:
    """Whether any admitted question has another answer where every part has a name that could have one."""
    with world_in_memory(made.catalog(folder), {"t": ranked(made.units)}) as place:
        place.engine._connection.execute("SET threads = 1")  # so that lists come in one order
        for parts in questions:
            if (question := parts.admitted(place.plan)) is not None:
                with naming(10**9, 0):
                    plain = exact(place, question)
                with naming(0, 0):
                    if exact(place, question) != plain:
                        return True
    return False


@LENGTHS
def test_names_change_no_answer(tmp_path: Path, examples: int) -> None:
    """Every part of every expression, of filters, joins, keys, totals and lists."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
    @given(tables(), st.lists(asked(), min_size=1, max_size=2))
    def check(made: Generated, questions: list[Parts]) -> None:
        assert not differ(made, questions, tmp_path)

    check()


def test_a_plant_that_takes_two_numbers_for_one_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stored import category, number

    columns = (number("small", 0, 9), number("signed", -5, 5), category("fruit", "apple", "Banana"))
    made = Generated(columns, [[{"small": 4, "signed": 2, "fruit": 0}]], 1, None)
    asked = [Parts(None, "TRUE", ("SUM(ABS(small - 3) * ABS(small - 2))",))]
    assert not differ(made, asked, tmp_path)
    honest = named_parts._form
    blind = lambda node, inside: (type(node),) if isinstance(node, Literal) else honest(node, inside)  # noqa: E731
    monkeypatch.setattr(named_parts, "_form", blind)
    assert differ(made, asked, tmp_path)


def test_small_expressions_stay_as_they_are() -> None:
    node = nested(2)
    assert named([node]).nodes == (node,)
    assert named([node]).levels == ()


def test_characters_grow_with_the_steps_and_not_with_the_uses() -> None:
    counted = [named([nested(times)]).characters for times in (6, 7, 8, 60)]
    assert counted[2] - counted[1] == counted[1] - counted[0] < 400
    assert counted[3] - counted[2] == 52 * (counted[1] - counted[0])


def test_a_level_passes_on_what_a_later_one_reads_and_nothing_else() -> None:
    found = named([nested(9)])
    assert len(found.levels) > 4
    assert all(level.kept == () and len(level.parts) == 1 for level in found.levels), "each step reads the one before alone"
    both = named([nested(9), distance(nested(2))])
    assert any(level.kept for level in both.levels), "what the last expression reads is passed on to it"


def test_parts_of_the_same_form_share_a_name_wherever_they_are_built() -> None:
    """The parts of two objects that mean the same, and of one object: as many names, and as many characters."""
    assert named([nested(6), nested(6)]).levels == named([node := nested(6), node]).levels
    other = named([nested(6), nested(6, AGE)])
    assert sum(len(level.parts) for level in other.levels) > sum(len(level.parts) for level in named([node, node]).levels)


def test_a_name_has_the_range_of_its_part() -> None:
    found = named([node := nested(7), node])
    assert found.nodes[0] == found.nodes[1] == Part(found.levels[-1].parts[-1][0], node.low, node.high, node.nullable)


def test_names_of_two_sides_of_a_join_differ() -> None:
    left, right = (named([nested(7)], mark) for mark in ("", "other_"))
    names = [{name for level in side.levels for name, _ in level.parts} for side in (left, right)]
    assert not names[0] & names[1]
