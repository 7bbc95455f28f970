import copy
import json
import operator
import pickle

import numpy as np
import pytest

from tacit.privacy.sealed import SealBroken, Sealed

LOOKS = [
    lambda s: s == s,
    lambda s: s != 1,
    lambda s: s < 2,
    lambda s: hash(s),
    lambda s: iter(s),
    lambda s: list(s),
    lambda s: bool(s),
    lambda s: len(s),
    lambda s: s[0],
    lambda s: 3 in s,
    lambda s: int(s),
    lambda s: float(s),
    lambda s: operator.index(s),
    lambda s: s + 1,
    lambda s: 1 - s,
    lambda s: s * 2,
    lambda s: -s,
    lambda s: abs(s),
    lambda s: f"{s:>10}",
    lambda s: format(s),
    lambda s: copy.copy(s),
    lambda s: copy.deepcopy(s),
    lambda s: pickle.dumps(s),
    lambda s: json.dumps(s),
    lambda s: np.asarray(s, dtype=float),
    lambda s: np.add(s, 1.0),
    lambda s: setattr(s, "value", 3),
    lambda s: vars(s),
    lambda s: sorted([s, s]),
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_sealed_value_cannot_be_looked_at(look):
    with pytest.raises(TypeError):
        look(Sealed(3))


def test_every_text_form_is_the_same_constant():
    for value in (3, "secret", [1, 2], None):
        assert repr(Sealed(value)) == str(Sealed(value)) == "Sealed(...)"
        assert repr([Sealed(value)]) == "[Sealed(...)]"


def test_the_error_does_not_depend_on_the_value():
    texts = set()
    for value in (1, 2, "x"):
        with pytest.raises(SealBroken) as caught:
            bool(Sealed(value))
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_a_mechanism_can_open_it():
    assert Sealed((1, 2)).unseal() == (1, 2)
