"""The posterior of one person's answer after a report: Bayes' rule for any channel. Proof in posterior.md.

The two cases of a lecture (Ziani) are `mechanisms.randomized_response.posterior`: with flip 1/2 the prior stays as it was, with
flip 0 the report gives the answer away. Every channel with a finite epsilon lies between them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from types import MappingProxyType

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact
from tacit.publish.local.randomizers.randomizer import Channel


def posterior(channel: Channel, prior: Mapping[Hashable, Number], report: Hashable) -> Mapping[Hashable, Fraction]:
    """The probability of every answer after `report`, given `prior`; answers missing from it have prior 0.

    No odds between two answers move by more than the factor `channel.worst_ratio`, which is at most e^epsilon.

    >>> from tacit.publish.local.randomizers.categories import Binary
    >>> after = posterior(Binary.with_flip("1/4").channel, {0: "1/2", 1: "1/2"}, report=1)
    >>> str(after[0]), str(after[1])
    ('1/4', '3/4')
    """
    if not isinstance(channel, Channel) or not isinstance(prior, Mapping):
        raise InvalidInput("a posterior requires a channel, such as Binary(1).channel, and a prior, such as {0: '1/2', 1: '1/2'}")
    before = _read_prior(channel, prior)
    if report not in channel.outputs:
        raise InvalidInput(f"the report is not one of the {len(channel.outputs)} outputs of the channel")
    at = channel.outputs.index(report)
    joint = {value: before[value] * row[at] for value, row in zip(channel.inputs, channel.rows, strict=True)}
    seen = sum(joint.values(), start=Fraction(0))
    if seen == 0:
        raise InvalidInput("the report cannot occur under this prior, so it has no posterior")
    return MappingProxyType({value: weight / seen for value, weight in joint.items()})


def _read_prior(channel: Channel, prior: Mapping[Hashable, Number]) -> dict[Hashable, Fraction]:
    if not set(prior) <= set(channel.inputs):
        raise InvalidInput(f"the prior contains an answer that is not one of the {len(channel.inputs)} inputs of the channel")
    before = {value: exact(prior.get(value, 0), "prior") for value in channel.inputs}
    if min(before.values()) < 0 or sum(before.values()) != 1:
        raise InvalidInput("the probabilities of a prior must sum to exactly 1; write them as fractions, such as '1/3'")
    return before
