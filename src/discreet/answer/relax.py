"""Relaxation: when a region's budget is gone, an answer to a box as near to it as released counts can make one.

It sees released answers only. A draft says which compound is best and what would have to be measured for it, before
anything is: that is priced, and bought, like any query.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from discreet.answer.compound import Compound, Metric, Side, patch_check
from discreet.answer.index import Answers
from discreet.answer.past import CountBlock, PastAnswer
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, QuotaExceeded

STARTS = 4
"""How many released counts are tried as the first of a compound."""


class CanMeasure(Protocol):
    """Whether boxes could be measured now, all of them: told from public things."""

    def __call__(self, *boxes: Box) -> bool: ...


@dataclass(frozen=True)
class Relaxed:
    """A compound in place of the asked box. `measured` are the counts that were bought to make it."""

    asked: Box
    compound: Compound
    error: float
    measured: tuple[PastAnswer, ...] = ()


@dataclass(frozen=True)
class Patch:
    """A count that would bring a compound nearer. `answer` is None where it would have to be measured first."""

    box: Box
    answer: PastAnswer | None
    side: Side
    difference: Box
    error: float

    @property
    def rank(self) -> tuple[float, bool, float]:
        """Least error first; of equals, a released count before one to be bought, and the one with less noise."""
        return self.error, self.answer is None, 0.0 if self.answer is None else self.answer.variance


@dataclass(frozen=True)
class Draft:
    """A compound before anything is bought for it."""

    asked: Box
    start: PastAnswer
    patches: tuple[Patch, ...]
    difference: Box
    error: float

    @property
    def rank(self) -> tuple[float, int, float]:
        """Least error first; of equals, the one with the least to be bought, then the one with the least noise."""
        return self.error, len(self.to_buy), self.variance(0.0)

    @property
    def to_buy(self) -> tuple[Box, ...]:
        return tuple(patch.box for patch in self.patches if patch.answer is None)

    def variance(self, of_patches: float) -> float:
        """Of the compound, where each patch that is to be bought has so much."""
        released = [self.start, *(patch.answer for patch in self.patches if patch.answer is not None)]
        return sum(answer.variance for answer in released) + len(self.to_buy) * of_patches

    def uses(self, answer: PastAnswer) -> bool:
        return answer.source == self.start.source or any(
            patch.answer is not None and answer.source == patch.answer.source for patch in self.patches
        )


def relax(
    asked: Box,
    past: Answers,
    metric: Metric,
    most_answers: int,
    can_measure: CanMeasure,
    measure: Callable[[Box], PastAnswer],
    starts: int = STARTS,
) -> Relaxed | None:
    """The best draft, made into an answer: what it needs is measured, and `measure` has to add it to `past` too.

    None where nothing was ever released.
    """
    draft = best_draft(asked, past, metric, most_answers, can_measure, starts)

    def measured(box: Box) -> PastAnswer | None:
        try:
            return measure(box)
        except (BudgetExceeded, QuotaExceeded):
            return None  # it was spent since the look at the map

    return None if draft is None else carried_out(draft, metric, measured)


def best_draft(
    asked: Box, past: Answers, metric: Metric, most_answers: int, can_measure: CanMeasure, starts: int = STARTS
) -> Draft | None:
    """The nearest released count, patched by the count that helps most until none helps [relaxation, Figure 9].

    It starts from each of the `starts` nearest counts in turn and keeps the compound with the least error (with 1 it is
    the paper's algorithm), so that the error is never above the nearest count's. No compound has more than
    `most_answers` (ξ) counts; the sum of a GROUP BY's groups is one, with the variance of all of them. The value has no
    bias for the compound's difference region.

    No patch is planned that `can_measure` does not allow together with those before it. None where nothing was ever
    released.
    """
    allowed: CanMeasure = cache(can_measure)
    drafts = []
    for start in past.nearest(asked, metric.step, starts):
        drafts.append(_draft(start, asked, past, metric, most_answers, allowed))
        if drafts[-1].rank[:2] == (0.0, 0):
            break
    return min(drafts, key=lambda draft: draft.rank, default=None)


def carried_out(draft: Draft, metric: Metric, measured: Callable[[Box], PastAnswer | None]) -> Relaxed:
    """The compound of a draft, with what was `measured` for it; where that is not there, the compound before it."""
    compound, bought = Compound.of(draft.start), []
    for patch in draft.patches:
        answer = patch.answer or measured(patch.box)
        if answer is None:
            break
        if patch.answer is None:
            bought.append(answer)
        compound = compound.patched(answer, patch.side, patch.difference)
    return Relaxed(draft.asked, compound, metric.error(draft.asked, compound.difference), tuple(bought))


def _draft(
    start: PastAnswer,
    asked: Box,
    past: Answers,
    metric: Metric,
    most_answers: int,
    can_measure: CanMeasure,
) -> Draft:
    draft = Draft(asked, start, (), start.box, metric.error(asked, start.box))
    while 1 + len(draft.patches) < most_answers:
        candidates = [*_released_patches(draft, asked, past, metric), *_artificial_patches(draft, asked, metric)]
        for patch in sorted(candidates, key=lambda patch: patch.rank):
            if patch.answer is not None or can_measure(*draft.to_buy, patch.box):
                draft = Draft(asked, start, (*draft.patches, patch), patch.difference, patch.error)
                break
        else:
            break
    return draft


def _released_patches(draft: Draft, asked: Box, past: Answers, metric: Metric) -> Iterator[Patch]:
    """Every released count that is a patch, once for each box."""
    for answer in past.beside(draft.difference):
        found = patch_check(draft.difference, answer.box, asked, metric)
        if found is not None and not draft.uses(answer):
            yield Patch(answer.box, answer, *found, metric.error(asked, found[1]))
    for block, axis in past.groups.beside(draft.difference):
        for box in _block_patches(block, axis, draft.difference, asked):
            found = patch_check(draft.difference, box, asked, metric)
            if found is not None and not draft.uses(answer := block.total(box)):
                yield Patch(box, answer, *found, metric.error(asked, found[1]))


def _artificial_patches(draft: Draft, asked: Box, metric: Metric) -> Iterator[Patch]:
    """Counts that would move one face of the compound to where it was asked for [relaxation, Section 4.3]."""
    for axis in range(len(asked.low)):
        for box in missing_slabs(draft.difference, asked, axis):
            found = patch_check(draft.difference, box, asked, metric)
            if found is not None:
                yield Patch(box, None, *found, metric.error(asked, found[1]))


def missing_slabs(difference: Box, asked: Box, axis: int) -> Iterator[Box]:
    """The slabs between the faces of two boxes along an axis, with the first one's intervals on all others.

    A face belongs to one side of its slab only: from low x to low x' > x the codes x … x'−1 have to go, and from high y
    to high y' > y the codes y+1 … y' have to come. (The paper's intervals are closed at both ends: they would count a
    slice twice.)
    """
    faces = (
        sorted((difference.low[axis], asked.low[axis])),
        sorted((difference.high[axis] + 1, asked.high[axis] + 1)),
    )
    for first, stop in faces:
        if first < stop:
            yield _with_interval(difference, axis, first, stop - 1)


def _block_patches(block: CountBlock, axis: int, difference: Box, asked: Box) -> Iterator[Box]:
    """The aligned boxes of a block that may be patches along an axis on which alone it need not fit."""
    first, last = block.where.low[axis], block.where.high[axis]
    if axis not in block.by:
        yield _with_interval(difference, axis, first, last)
        return
    for slab in missing_slabs(difference, asked, axis):
        low, high = max(slab.low[axis], first), min(slab.high[axis], last)
        if low <= high:
            yield _with_interval(difference, axis, low, high)


def _with_interval(box: Box, axis: int, low: int, high: int) -> Box:
    return Box((*box.low[:axis], low, *box.low[axis + 1 :]), (*box.high[:axis], high, *box.high[axis + 1 :]))
