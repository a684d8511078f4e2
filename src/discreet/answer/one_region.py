"""An average where nothing can be measured: its sum and its count, both of the one region nearest in which both are
public."""

from collections.abc import Iterator
from dataclasses import replace

from discreet.answer.best import Best
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate
from discreet.answer.public import public
from discreet.domain.region import Box, Region
from discreet.query.query import Count, Sum

LOOKED_AT = 64
"""So many of the nearest released regions are looked at, of sums and of counts."""


def in_one_region(
    total: Sum, count: Count, asked: Region, desk: Desk, also: tuple[Region, ...] = ()
) -> tuple[Estimate, Estimate] | None:
    """The sum and the count of the region with the least relaxation error in which both are public; None where there is
    none. `also` are regions to look at besides the nearest that were released."""
    box = asked.bounds
    metric = desk.metric
    near = {one for region in also for one in region.boxes if len(region.boxes) == 1}
    for query in (total, count):
        near |= {answer.box for answer in desk.known.of(query).nearest(box, metric.step, LOOKED_AT)}
    summed = {_with_values(one, total, desk) for one in near}
    for one in sorted(summed, key=lambda one: (metric.error(box, one), one.low, one.high)):
        if not desk.policy.is_near(metric.error(box, one)):
            return None
        region = Region((one,))
        [counted] = desk.known.best(count, [region])
        added = counted and _sum_of(total, one, desk)
        if counted and added:
            error = metric.error(box, one)
            estimates = public(total, region, added, desk, "relaxed"), public(count, region, counted, desk, "relaxed")
            return replace(estimates[0], relaxation_error=error), replace(estimates[1], relaxation_error=error)
    return None


def _with_values(box: Box, total: Sum, desk: Desk) -> Box:
    """A box without the rows that have no value to be averaged."""
    if not isinstance(total.of, str):
        return box
    axis, attribute = desk.domain.axis(total.of), desk.domain[total.of]
    if attribute.null_code is None or box.high[axis] != attribute.null_code or box.low[axis] >= attribute.null_code:
        return box
    return Box(box.low, (*box.high[:axis], attribute.null_code - 1, *box.high[axis + 1 :]))


def _sum_of(total: Sum, box: Box, desk: Desk) -> Best | None:
    """The sharpest public sum of a box: rows without a value add nothing, so that it may be the one with them."""
    found = [one for region in _alike(total, box, desk) for one in desk.known.best(total, [region]) if one is not None]
    return min(found, key=lambda one: one.variance, default=None)


def _alike(total: Sum, box: Box, desk: Desk) -> Iterator[Region]:
    yield Region((box,))
    if isinstance(total.of, str):
        axis, attribute = desk.domain.axis(total.of), desk.domain[total.of]
        if attribute.null_code is not None and box.high[axis] == attribute.null_code - 1:
            yield Region((Box(box.low, (*box.high[:axis], attribute.null_code, *box.high[axis + 1 :])),))
