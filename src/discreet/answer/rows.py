"""From settled numbers to the rows of an answer: a value, an interval and its kind for each group and aggregate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from discreet.answer.chosen import at_once, chosen_columns, least_first, leaves_out, sources_of
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Ratio, in_grains
from discreet.answer.grid import AnyGrid, Cell, Cells, Codes, Numbers, grid_of
from discreet.answer.grid_rows import (
    GridColumn,
    GridLines,
    GridRows,
    Line,
    at_confidence,
    average_column,
    number_column,
)
from discreet.answer.past import groups_to_plan
from discreet.answer.public import public
from discreet.answer.reply import AS_WIDE, Row
from discreet.answer.scales import elementary, value_range
from discreet.answer.settle import Settled
from discreet.answer.shrunken import SHRUNKEN, add_shrunken, shrunken_column
from discreet.answer.single_rows import RowPlace, SingleRows, asked_region
from discreet.answer.view import Label
from discreet.domain.region import Region
from discreet.noise.law import Exponential
from discreet.noise.spread import Draws
from discreet.query.query import (
    Count,
    Mean,
    Quantile,
    Sum,
    group_attribute,
)
from discreet.sql.question import AggregateColumn, GroupColumn, Question


@dataclass(frozen=True)
class Rows:
    """Makes rows out of settled numbers; `notes` gathers what a reader must know beside them."""

    settled: Settled
    confidence: Fraction
    desk: Desk
    notes: list[str]
    called: Mapping[str, str] = field(default_factory=dict)
    """What notes call columns that have no names of their own."""

    @cached_property
    def _single(self) -> SingleRows:
        return SingleRows(self.settled, self.confidence, self.desk, self.notes, self.called)

    def lines(self, question: Question) -> Sequence[Line]:
        """Every group of a question with its numbers, in the order of codes."""
        grid = self._grid(question)
        if grid is not None:
            return GridLines(grid)
        found: list[Line] = []
        for codes, region in groups_to_plan(question.by, question.where, self.desk.domain):
            places = [
                RowPlace((), column.name, asked_region(column, region, question)) for column in question.aggregates
            ]
            columns = zip(question.aggregates, places, strict=True)
            found.append((codes, [self._single.of(column, codes, place) for column, place in columns]))
        return found

    def of(self, question: Question) -> Sequence[Row]:
        """The rows of a question: ordered, and cut by LIMIT and OFFSET, all on the noisy values."""
        grid = self._grid(question)
        return self._one_by_one(question) if grid is None else self._at_once(question, grid)

    def _grid(self, question: Question) -> GridRows | None:
        """All groups in arrays, where all numbers of each aggregate are of one release; without labels."""
        grid = grid_of(question.by, question.where, self.desk.domain)
        if grid is None or not question.aggregates:
            return None
        columns = [self._column(column, grid, question, self.confidence) for column in question.aggregates]
        found = [column for column in columns if column is not None]
        return GridRows(grid, tuple(found), np.arange(len(grid))) if len(found) == len(columns) else None

    def _column(
        self, column: AggregateColumn, grid: AnyGrid, question: Question, confidence: Fraction
    ) -> GridColumn | None:
        query = column.query
        if not isinstance(query, Count | Sum | Mean):
            return None
        parts = [self.settled.numbers.by_query.get(part) for part in elementary(query, self.desk)]
        numbers = [part for part in parts if isinstance(part, Numbers) and part.grid.is_like(grid)]
        if len(numbers) < len(parts) or len({part.grid.box for part in numbers}) > 1:
            return None

        def asked(region: Region) -> Region:
            return asked_region(column, region, question)

        if not isinstance(query, Mean):
            return number_column(column.name, numbers[0], confidence, isinstance(query, Count), asked)
        low, high = value_range(query.of, self.desk.domain)
        return average_column(column.name, numbers[0], numbers[1], confidence, (float(low), float(high)), asked)

    def _at_once(self, question: Question, found: GridRows) -> GridRows:
        aggregates, count = question.aggregates, len(found.grid)
        columns = [shrunken_column(one, column.query) for one, column in zip(found.columns, aggregates, strict=True)]
        places = found.places
        for key in reversed(question.order_by):
            places = places[_order(found, question, key.column, key.descending, places)]
        stop = None if question.limit is None else question.offset + question.limit
        chosen = chosen_columns(question, count, {column.name: column.sources for column in columns})
        if chosen:
            self._say_chosen(question, chosen, count)
            surely = at_once(self.confidence, count)
            again = [self._column(column, found.grid, question, surely) for column in aggregates]
            columns = [
                at_confidence(one, new) if new is not None and one.name in chosen else one
                for one, new in zip(columns, again, strict=True)
            ]
        labels = tuple(group_attribute(group, self.desk.domain).labels for group in question.by)
        rows = GridRows(found.grid, tuple(columns), places[question.offset : stop], labels)
        for column in columns:
            doubtful = column.may_be_zero[rows.places]
            noisy = int((column.is_too_noisy[rows.places] & ~doubtful).sum())
            is_shrunken = column.shrunken is not None and bool(
                (np.rint(column.values) != np.rint(column.shrunken))[rows.places].any()  # counts are whole
            )
            self._say_what_they_are(column.name, len(rows.places), int(doubtful.sum()), noisy, is_shrunken)
            if doubtful.any():
                reach = column.parts[-1].halfwidths(self.confidence)[rows.places][doubtful].max()
                self._say_least_first(question, column.name, count, float(reach))
        self._say_of_nobody(question, GridLines(rows))
        return rows

    def _one_by_one(self, question: Question) -> list[Row]:
        named = [group_attribute(group, self.desk.domain).labels for group in question.by]
        aggregates = question.aggregates
        lines: list[list[Row]] = []
        codes_of: dict[tuple[Label, ...], Codes] = {}
        for codes, region in groups_to_plan(question.by, question.where, self.desk.domain):
            labels = tuple(own[code] for own, code in zip(named, codes, strict=True))
            places = [RowPlace(labels, column.name, asked_region(column, region, question)) for column in aggregates]
            lines.append(
                [self._single.of(column, codes, place) for column, place in zip(aggregates, places, strict=True)]
            )
            codes_of[labels] = codes
        add_shrunken(lines, aggregates)
        for key in reversed(question.order_by):
            lines = _sorted(lines, question, key.column, key.descending, codes_of)
        stop = None if question.limit is None else question.offset + question.limit
        shown = [row for rows in lines[question.offset : stop] for row in rows]
        sources = {column.name: sources_of(rows[at] for rows in lines) for at, column in enumerate(aggregates)}
        chosen = chosen_columns(question, len(lines), sources)
        if chosen:
            columns = {column.name: column for column in aggregates}
            together = replace(self, confidence=at_once(self.confidence, len(lines)))
            shown = [
                together._again(row, columns[row.column], codes_of[row.labels]) if row.column in chosen else row
                for row in shown
            ]
            self._say_chosen(question, chosen, len(lines))
        for name in dict.fromkeys(row.column for row in shown):
            own = [row for row in shown if row.column == name]
            doubtful = sum(row.may_be_zero for row in own)
            noisy = sum(row.is_too_noisy and not row.may_be_zero for row in own)
            self._say_what_they_are(name, len(own), doubtful, noisy, any(map(_is_shrunken, own)))
            doubted = [row.source for row in own if row.may_be_zero]
            reaches = [one.halfwidth(self.confidence) for one in doubted if isinstance(one, Estimate)]
            if reaches:
                self._say_least_first(question, name, len(lines), max(reaches))
        in_line = max(len(aggregates), 1)
        self._say_of_nobody(question, [((), shown[at : at + in_line]) for at in range(0, len(shown), in_line)])
        return shown

    def lines_said(self, question: Question) -> Sequence[Line]:
        """The same, and what to say of those that may be of no rows at all."""
        found = self.lines(question)
        self._say_of_nobody(question, found)
        return found

    def _say_of_nobody(self, question: Question, lines: Sequence[Line]) -> None:
        """Say of how many averages and quantiles released counts cannot tell that there are rows at all: a count or a
        sum of none is about 0, and these would be about nothing."""
        for place, column in enumerate(question.aggregates):
            if isinstance(column.query, Mean):
                nobody = self._averages_of_nobody(lines, place)
            elif isinstance(column.query, Quantile):
                nobody = self._quantiles_of_nobody([rows[place] for _, rows in lines])
            else:
                continue
            if nobody:
                which = f"{nobody:,} of {len(lines):,} lines may be" if len(lines) > 1 else "it may be"
                name = self.called.get(column.name, column.name)
                self.notes.append(f"{name}: {which} of no rows at all, by released counts")

    def _averages_of_nobody(self, lines: Sequence[Line], place: int) -> int:
        if isinstance(lines, GridLines):
            counts = lines.rows.columns[place].parts[1]
            return int((counts.numbers <= counts.halfwidths(self.confidence))[lines.rows.places].sum())
        sources = [rows[place].source for _, rows in lines]
        counted = [one.count for one in sources if isinstance(one, Ratio)]
        return sum(one.value <= self._single.halfwidth(one) for one in counted)

    def _quantiles_of_nobody(self, rows: Sequence[Row]) -> int:
        everyone = Count(self.desk.domain.everything)
        regions = [row.asked for row in rows if row.value is not None]
        found = zip(regions, self.desk.known.best(everyone, regions), strict=True)
        counted = [public(everyone, region, one, self.desk) for region, one in found if one is not None]
        return sum(one.value <= self._single.halfwidth(one) for one in counted)

    def _say_chosen(self, question: Question, chosen: set[str], lines: int) -> None:
        names = " and ".join(dict.fromkeys(column.name for column in question.aggregates if column.name in chosen))
        self.notes.append(f"lines are chosen by noise: the intervals of {names} hold for all {lines:,} at once")

    def _say_least_first(self, question: Question, column: str, lines: int, reach: float) -> None:
        """Say what leaves out the groups that may be empty, where those with the fewest come first."""
        key = least_first(question, lines)
        if key is not None and key.name == column:
            self.notes.append(f"groups that cannot be told from empty come first: {leaves_out(ceil(reach))}")

    def _again(self, row: Row, column: AggregateColumn, codes: Codes) -> Row:
        """A row of a line that was chosen by its noise, with an interval that holds for all lines at once."""
        found = self._single.of(column, codes, RowPlace(row.labels, row.column, row.asked))
        return replace(found, shrunken=row.shrunken, chosen=True)

    def _say_what_they_are(self, column: str, lines: int, doubtful: int, noisy: int, is_shrunken: bool) -> None:
        if doubtful and lines > 1:
            self.notes.append(f"{column}: {doubtful:,} of {lines:,} lines cannot be told from 0")
        if noisy:
            self.notes.append(f"{column}: {noisy:,} of {lines:,} numbers are too noisy to read: {AS_WIDE}")
        if is_shrunken:
            self.notes.append(f"{column}: {SHRUNKEN}")

    def too_wide(self, question: Question, within: Fraction, decision: Decision) -> frozenset[Cell]:
        """The numbers that are to be measured for their rows to be within so much of the truth: parts of counts, sums
        and their combinations that are free, but with which, and with what is bought beside them, the row is wider."""
        grid = self._grid(question)
        if grid is not None:
            wider = grid.wider(within)
            if not any(wider[column.name] for column in grid.columns if not column.is_average):
                return frozenset()
        needed = decision.buy.plus(decision.relax)
        cells: set[Cell] = set()
        for codes, region in groups_to_plan(question.by, question.where, self.desk.domain):
            for column in question.aggregates:
                if isinstance(column.query, Mean | Quantile):
                    continue
                parts = [(query, codes) for query in elementary(column.query, self.desk)]
                free = [cell for cell in parts if cell in decision.free]
                if not free:
                    continue
                as_if = {cell: self._as_if_bought(cell, decision) for cell in parts if cell in needed}
                place = RowPlace((), column.name, asked_region(column, region, question))
                foreseen = replace(self._single, settled=Settled(self.settled.numbers.plus(Cells.of(as_if))))
                if foreseen.uncut(column, codes, place).is_wider_than(within):
                    cells.update(free)
        return frozenset(cells)

    def _as_if_bought(self, cell: Cell, decision: Decision) -> Estimate:
        """What a number would be that is to be measured, but for its value."""
        query, region = cell[0], decision.buy.plus(decision.relax)[cell]
        law, grain = decision.laws[query], self.desk.grain(query)
        assert not isinstance(law, Exponential)
        noise = law.times(1 / grain)
        estimate = Estimate(
            0, noise.variance, "measured", region, (Draws(1.0, noise),), sources=frozenset({(-1, hash(query))})
        )
        return in_grains(estimate, grain)


def _is_shrunken(row: Row) -> bool:
    """Whether a count has another whole number beside it."""
    return row.shrunken is not None and row.value is not None and round(row.shrunken) != round(row.value)


def _sorted(
    lines: list[list[Row]],
    question: Question,
    place: int,
    descending: bool,
    codes_of: Mapping[tuple[Label, ...], Codes],
) -> list[list[Row]]:
    """By the codes of a group column, or by noisy values; last come lines without one, or with another region's."""
    column = question.columns[place]
    if isinstance(column, GroupColumn):
        axis = question.by.index(column.attribute)
        return sorted(lines, key=lambda rows: codes_of[rows[0].labels][axis], reverse=descending)
    aggregate = question.aggregates.index(column)
    own = [rows[aggregate].value is not None and not rows[aggregate].is_near for rows in lines]
    answered = [rows for rows, is_own in zip(lines, own, strict=True) if is_own]
    rest = [rows for rows, is_own in zip(lines, own, strict=True) if not is_own]
    return sorted(answered, key=lambda rows: rows[aggregate].value or 0, reverse=descending) + rest


def _order(
    rows: GridRows, question: Question, place: int, descending: bool, places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The same for groups in arrays: the order of those at these places."""
    column = question.columns[place]
    if isinstance(column, GroupColumn):
        keys = rows.grid.codes[places, question.by.index(column.attribute)].astype(np.float64)
    else:
        keys = rows.columns[question.aggregates.index(column)].values[places]
    return np.argsort(-keys if descending else keys, kind="stable")  # what is not a number comes last
