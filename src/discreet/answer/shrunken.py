"""Which rows of an answer get a shrunken number beside the raw one: counts in a long GROUP BY."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.answer.estimate import Estimate, spread_of
from discreet.answer.grid_rows import GridColumn
from discreet.answer.reply import Row
from discreet.noise.spread import Mixture, Spread
from discreet.query.query import Count
from discreet.sql.question import AggregateColumn, Measure

SHRUNKEN = (
    "raw numbers are unbiased; the shrunken ones beside them (--shrunken) are made of all lines and the law of the "
    "noise: biased, without intervals, and nearer to the truth on the whole"
)


def add_shrunken(lines: list[list[Row]], columns: Sequence[AggregateColumn]) -> None:
    """Put shrunken numbers into the lines, for columns that are counts of what was asked, where these are enough."""
    for place, column in enumerate(columns):
        sources = [rows[place].source for rows in lines]
        estimates = [one for one in sources if isinstance(one, Estimate) and not one.parts and one.kind != "relaxed"]
        if not isinstance(column.query, Count) or len(estimates) < len(lines):
            continue
        from discreet.answer.shrink import shrink  # most questions have few lines

        numbers = shrink([one.value for one in estimates], [_alike(spread_of(one)) for one in estimates])
        for rows, number in zip(lines, numbers or (), strict=False):
            rows[place] = Row(**{**vars(rows[place]), "shrunken": number})  # many times as fast as replace


def shrunken_column(column: GridColumn, query: Measure) -> GridColumn:
    """The same for a column that is in arrays."""
    if not isinstance(query, Count):
        return column
    from discreet.answer.shrink import shrink_by_law

    [numbers] = column.parts
    numbered: dict[Spread, int] = {}
    law = numbers.of_each([numbered.setdefault(_alike(spread_of(one)), len(numbered)) for one in numbers.laws])
    places = [(spread, np.flatnonzero(law == number)) for spread, number in numbered.items()]
    in_order = dict(sorted(places, key=lambda one: int(one[1][0])))
    return replace(column, shrunken=shrink_by_law(column.values, in_order))


def _alike(spread: Spread) -> Spread:
    """The same noise with the variances of mixtures in two digits: lines with nearly the same law have one."""
    rounded = (
        replace(draw, law=replace(draw.law, variance=float(f"{draw.law.variance:.1e}")))
        if isinstance(draw.law, Mixture)
        else draw
        for draw in spread
    )
    return tuple(rounded)
