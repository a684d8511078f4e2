"""What was released before rows were appended, said in the domain as it is now.

A period that is appended has a code after all others, and no earlier question is about it: every region is what it was.
What is over the codes of the attribute that grows (groups, and tables of an expression) is only made as long as it is
by now; the numbers of what was not asked about are zeros that no region reaches.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
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
    query = _query(noisy.measurement.query, now)
    longer = [
        (0, now[group].size - before[group].size if isinstance(group, str) else 0)
        for group in (() if isinstance(query, SubsetCount | Residual) else query.by)
    ]
    units: NDArray[Any] = np.pad(noisy.units, longer) if any(more for _, more in longer) else noisy.units
    return replace(noisy, measurement=replace(noisy.measurement, query=query), units=units)


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
