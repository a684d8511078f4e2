"""What was released before rows were appended, said in the domain as it is now.

A period that is appended has a code after all others, and no earlier question is about it: every region is what it was.
What is over the codes of the attribute that grows (groups, and tables of an expression) is only made as long as it is
by now; the numbers of what was not asked about are zeros that no region reaches.

A row of one of several tables may belong to a row with a period of its own, which is none that was to come when the row
came: so of all periods of that one then, and of all periods now, there are the same rows, and the region that says the
one says the other. [docs/explain/growing.md, Several tables]
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.cells import Amount, CellTable, Labelling
from discreet.query.plan import Plan
from discreet.query.query import Choice, Distinct, Group, ProfileSum, Quantile, Query, Residual, SubsetCount, Sum
from discreet.release.release import Noisy, Recorded, Release

Told = TypeVar("Told", Release, Recorded)


def extended(release: Told, before: Domain, now: Domain) -> Told:
    """The same release, of regions of `now`. Requires that `now` has the periods of `before`, and maybe more."""
    if before.shape == now.shape:
        return release
    answers = tuple(_answer(noisy, before, now) for noisy in release.answers)
    return replace(release, plan=Plan(tuple(noisy.measurement for noisy in answers)), answers=answers)


def _answer(noisy: Noisy, before: Domain, now: Domain) -> Noisy:
    query = _of_all_parents(_query(noisy.measurement.query, now), before, now)
    longer = [
        (0, now[group].size - before[group].size if isinstance(group, str) else 0)
        for group in (() if isinstance(query, SubsetCount | Residual) else query.by)
    ]
    units: NDArray[Any] = np.pad(noisy.units, longer) if any(more for _, more in longer) else noisy.units
    return replace(noisy, measurement=replace(noisy.measurement, query=query), units=units)


def _of_all_parents(query: Query, before: Domain, now: Domain) -> Query:
    """The same of all periods by now of what rows belong to, where it was of all that there were."""
    parents = [axis for axis, one in enumerate(now.attributes) if isinstance(one, Date) and one.grows][1:]
    if not parents or isinstance(query, Residual | SubsetCount | Choice | ProfileSum):
        return query
    told_apart = {name for group in query.by for name in _attributes_of(group)}
    for axis in parents:
        if now.attributes[axis].name not in told_apart:
            boxes = (_longer(box, axis, before.shape[axis] - 1, now.shape[axis] - 1) for box in query.where.boxes)
            query = replace(query, where=Region(tuple(boxes)))
    return query


def _attributes_of(group: Group) -> tuple[str, ...]:
    if isinstance(group, Labelling):
        return group.table.attributes
    return (group,) if isinstance(group, str) else ()


def _longer(box: Box, axis: int, last: int, now: int) -> Box:
    if box.high[axis] != last:
        return box
    return Box(box.low, (*box.high[:axis], now, *box.high[axis + 1 :]))


def _query(query: Query, now: Domain) -> Query:
    """A residual is of all that there was, and of no region of what there is: it says nothing more. Of people's lines
    the same is known again by what they come to, where that has nothing to do with periods."""
    match query:
        case Residual() | SubsetCount() | Choice() | ProfileSum():
            return query
        case Sum(of=Amount() as amount):
            return replace(query, of=_amount(amount, now), by=_groups(query.by, now))
        case Quantile(of=Labelling() as of):
            return replace(query, of=_labelling(of, now), by=_groups(query.by, now))
        case Distinct():
            return replace(query, of=_groups(query.of, now), by=_groups(query.by, now))
    return replace(query, by=_groups(query.by, now))


def _groups(groups: tuple[Group, ...], now: Domain) -> tuple[Group, ...]:
    return tuple(_labelling(group, now) if isinstance(group, Labelling) else group for group in groups)


def _labelling(labelling: Labelling, now: Domain) -> Labelling:
    return replace(labelling, table=_table(labelling.table, now))


def _amount(amount: Amount, now: Domain) -> Amount:
    return replace(
        amount,
        table=_table(amount.table, now),
        terms=tuple((names, _table(table, now)) for names, table in amount.terms),
        low=amount.low and _table(amount.low, now),
        high=amount.high and _table(amount.high, now),
    )


def _table(table: CellTable, now: Domain) -> CellTable:
    """New codes are like the last one: no region of the table's own question has them."""
    classes = tuple(
        np.pad(of_code, (0, now[name].size - of_code.size), mode="edge")
        for name, of_code in zip(table.attributes, table.classes, strict=True)
    )
    return replace(table, classes=classes)
