"""How far off an average may be, said before it is bought: its sum's noise over the rows that released counts tell of.

T/N misses an average r by (T − rN)/N: by the noise of the sum and r times that of the count, over the number of rows.
How many rows a group has is guessed at from what is public; r as well, and where nothing tells it, it is the largest
value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, spread_of
from discreet.answer.grid import Codes, count_of_groups
from discreet.answer.levels import Levels, most_parts
from discreet.answer.past import groups_to_plan
from discreet.answer.policy import Wish
from discreet.answer.public import public
from discreet.answer.scales import parts_of_mean, value_range
from discreet.domain.region import Box, Region
from discreet.noise.law import Exponential
from discreet.noise.spread import Draws, halfwidth
from discreet.query.query import Count, Mean, Query, Sum

MOST_GUESSED = 100
"""At most so many groups are looked at to guess how large their numbers are."""


@dataclass(frozen=True)
class Foreseen:
    """The halfwidth of an average's interval, of several the median one; and what it rests on, for the reader."""

    halfwidth: float
    relative: float | None
    words: tuple[str, ...]


@dataclass(frozen=True)
class _Rows:
    """How many rows each group may have, and how that is known where it was not released as such."""

    of: Sequence[float]
    words: tuple[str, ...] = ()


def foreseen_average(
    name: str, mean: Mean, levels: Levels, decision: Decision, wish: Wish, desk: Desk
) -> Foreseen | None:
    """None where nothing that is public tells of how many rows the groups have, or where they are too few to be told
    from none; and for an average that is solved for by a count that is yet to be bought."""
    total, count = parts_of_mean(mean, desk)
    groups = [*islice(groups_to_plan(count.by, count.where, desk.domain), MOST_GUESSED)]
    rows = _rows(mean, count, groups, desk)
    is_bought = any(decision.buy.only(part) for part in levels.sums.get(count, (count,)))
    if rows is None or (wish.within is not None and rows.words and is_bought):
        return None
    low, high = map(float, value_range(mean.of, desk.domain))
    sums = _known(total, [region for _, region in groups], desk)
    averages = [] if sums is None else [min(max(t / n, low), high) for t, n in zip(sums, rows.of, strict=True) if n > 0]
    size = median(map(abs, averages)) if averages else 0.0
    noises = {_noise(total, count, codes, levels, decision, desk) for codes, _ in groups}
    if None in noises:
        return None
    at = size if averages else max(abs(low), abs(high))
    off = max(
        halfwidth((*own, *(draw.times(at) for draw in counted)), wish.confidence)
        for own, counted in (noise for noise in noises if noise is not None)
    )
    within = median(min(off / n, (high - low) / 2) if n > 0 else (high - low) / 2 for n in rows.of)
    words = rows.words
    if within >= (high - low) / 2:
        words = (f"{name}: it would be too noisy to read: its interval would be about all that it may be", *words)
    return Foreseen(within, within / size if size else None, words)


def _noise(
    total: Sum, count: Count, codes: Codes, levels: Levels, decision: Decision, desk: Desk
) -> tuple[tuple[Draws, ...], tuple[Draws, ...]] | None:
    """The noise of a group's sum and of its count, as they would be had; None where that is not known apart."""
    found: list[tuple[Draws, ...]] = []
    for query in (total, count):
        free = decision.free.by_query.get(query, {})
        if codes in free:
            estimate = free[codes]
            if not isinstance(estimate, Estimate) or estimate.parts:
                return None
            found.append(tuple(spread_of(estimate)))
        else:
            fresh = _fresh(query, levels, decision, desk)
            if fresh is None:
                return None
            found.append(fresh)
    return found[0], found[1]


def _fresh(query: Query, levels: Levels, decision: Decision, desk: Desk) -> tuple[Draws, ...] | None:
    """The noise of a number that is to be bought, or added up from finer ones that are: of the most that there may be;
    None where some of those are public already."""
    grain, found = desk.grain(query), []
    for part in levels.sums.get(query, (query,)):
        law = levels.laws[part]
        if part != query and decision.free.by_query.get(part):
            return None
        if not isinstance(law, Exponential):
            found.append(Draws(float(grain), law.times(1 / grain), most_parts(query, part, desk)))
    return tuple(found)


def _rows(mean: Mean, count: Count, groups: Sequence[tuple[Codes, Region]], desk: Desk) -> _Rows | None:
    """Of each group; of one that nobody knows of, with rows without a value, or as if all groups were as large."""
    found = _known(count, [region for _, region in groups], desk)
    if found is not None:
        return _Rows(found)
    everyone = Count(_with_missing(mean, count.where, desk), count.by)
    regions = [region for _, region in islice(groups_to_plan(everyone.by, everyone.where, desk.domain), len(groups))]
    found = None if count == everyone else _known(everyone, regions, desk)
    if found is not None:
        return _Rows(found, ("averages are foreseen as if every row had a value",))
    if not mean.by:
        return None
    many = count_of_groups(count.by, count.where, desk.domain)
    for query in (count, everyone):
        whole = _known(Count(query.where), [query.where], desk)
        if whole is not None and many:
            each = whole[0] / many
            return _Rows(
                [each] * len(groups),
                (f"averages are foreseen for groups of {each:,.4g} rows each, the mean of {many:,}",),
            )
    return None


def _with_missing(mean: Mean, where: Region, desk: Desk) -> Region:
    """The region with the rows that have no value, where all values are in it."""
    if not isinstance(mean.of, str):
        return where
    axis, attribute = desk.domain.axis(mean.of), desk.domain[mean.of]
    boxes = []
    for box in where.boxes:
        high = list(box.high)
        if (box.low[axis], box.high[axis]) == (0, attribute.cells - 1):
            high[axis] = attribute.size - 1
        boxes.append(Box(box.low, tuple(high)))
    return Region(tuple(boxes))


def _known(query: Count | Sum, regions: Sequence[Region], desk: Desk) -> list[float] | None:
    """What released numbers say of some regions; None where they leave one of them out."""
    if not regions:
        return None
    best = desk.known.best(query, regions)
    found = [
        public(query, region, one, desk).value for region, one in zip(regions, best, strict=True) if one is not None
    ]
    return found if len(found) == len(regions) else None
