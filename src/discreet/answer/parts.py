"""What was released and what is known, as marginals of the whole table and as parts beside them: see `joint.py`."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.answer.joint import JointSystem, Part, Terms, few_corners, is_small
from discreet.answer.past import CountBlock, PastAnswer
from discreet.answer.residuals import ResidualRelease
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.marginals import Marginal, Marginals

if TYPE_CHECKING:
    from discreet.facts.facts import CountFact, Fact

MOST_PARTS = 256
"""At most so many parts are solved for together: facts first, then the sharpest answers."""
MOST_SORTED = 4096
"""Of more answers than this, the first ones are looked at."""
MOST_GROUPS = 64
"""A GROUP BY with a WHERE takes part by its groups, where it has no more than these."""


class Counted(Protocol):
    """A region with all independent answers to it."""

    where: Region
    answers: tuple[PastAnswer, ...]

    @property
    def variance(self) -> float: ...


def marginals_in(released: PastAnswer | CountBlock | ResidualRelease, shape: tuple[int, ...]) -> Iterator[Marginal]:
    """What a release says of everything."""
    match released:
        case ResidualRelease(tables=tables):
            for axes, table in tables.items():
                yield Marginal(axes, table.units.shape, table.variance, table.source, table.units, is_residual=True)
        case CountBlock() if _is_whole(released.where, shape):
            values = released.values
            yield Marginal(released.by, values.shape, released.variance, released.source, values)
        case PastAnswer(where=where) if len(where.boxes) == 1 and _is_whole(where.boxes[0], shape):
            yield Marginal((), (), released.variance, released.source, np.array(released.value))


def exact_marginals(facts: "Sequence[Fact]", domain: Domain) -> Iterator[Marginal]:
    """The facts that are of everything."""
    from discreet.facts.facts import CuboidFact  # most vaults have none

    for fact in facts:
        if isinstance(fact, CuboidFact):
            yield Marginal(fact.axes(domain), fact.values.shape, 0.0, (0, fact.number), fact.values)
        elif fact.terms == ((1, domain.everything),):
            yield Marginal((), (), 0.0, (0, fact.number), np.array(fact.value))


def joint_of(
    marginals: Marginals, asked: int, sharpest: Iterable[Part], blocks: Sequence[CountBlock], facts: "Sequence[Fact]"
) -> JointSystem:
    """Everything in one; of very much, facts first and then the `sharpest` of so many answers that were `asked` for."""
    stated = _stated(facts, marginals) if facts else []
    parts = [part for fact in stated for part in _of_fact(fact, marginals)]
    usable = [part for part in islice(sharpest, MOST_PARTS) if part.is_small or few_corners(part.terms, marginals)]
    is_whole = len(parts) == len(stated) and len(usable) == asked
    parts = [*parts, *usable][:MOST_PARTS]
    left_out = set()
    for block in sorted(blocks, key=lambda block: block.variance):
        if _is_whole(block.where, marginals.sizes):
            continue
        if block.values.size <= MOST_GROUPS and len(parts) + block.values.size <= MOST_PARTS:
            parts += _of_block(block)
        else:
            left_out.add(block.source)
    return JointSystem(marginals, tuple(parts), is_whole and not left_out, frozenset(left_out))


def _stated(facts: "Sequence[Fact]", marginals: Marginals) -> "list[CountFact]":
    """The facts that are not of everything."""
    from discreet.facts.facts import CountFact

    return [fact for fact in facts if isinstance(fact, CountFact) and not _is_total(fact, marginals)]


def _is_total(fact: "CountFact", marginals: Marginals) -> bool:
    [(times, region), *more] = fact.terms
    return times == 1 and not more and is_everything(region, marginals)


def is_everything(region: Region, marginals: Marginals) -> bool:
    """Whether it is a marginal of no axes."""
    return len(region.boxes) == 1 and not marginals.cut(region.boxes[0])


def _is_whole(box: Box, shape: tuple[int, ...]) -> bool:
    return not any(box.low) and all(high + 1 == size for high, size in zip(box.high, shape, strict=True))


def _of_fact(fact: "CountFact", marginals: Marginals) -> Iterator[Part]:
    terms: Terms = tuple((times, box) for times, region in fact.terms for box in region.boxes)
    if few_corners(terms, marginals):
        yield Part(terms, fact.value, 0.0, fact=fact.number)


def part_of(one: Counted, marginals: Marginals) -> Part:
    """A region's answers, by precision, as one part."""
    average = sum(answer.value / answer.variance for answer in one.answers) * one.variance
    value = one.answers[0].value if len(one.answers) == 1 else average
    draws = tuple((one.variance / answer.variance, answer.source, 1) for answer in one.answers)
    terms: Terms = tuple((1, box) for box in one.where.boxes)
    return Part(terms, value, one.variance, draws, is_count=True, is_small=is_small(terms, marginals))


def _of_block(block: CountBlock) -> Iterator[Part]:
    """Its groups, one by one."""
    spans = [range(block.where.low[axis], block.where.high[axis] + 1) for axis in block.by]
    for codes, value in zip(product(*spans), block.values.reshape(-1).tolist(), strict=True):
        box = block.where
        for axis, code in zip(block.by, codes, strict=True):
            box = box.at(axis, code)
        yield Part(((1, box),), value, block.variance, ((1.0, block.source, 1),))
