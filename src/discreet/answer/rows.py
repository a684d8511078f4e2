"""From settled numbers to the rows of an answer: a value, an interval and its kind for each group and aggregate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from discreet.answer.chosen import at_once, chosen_columns, least_first, leaves_out, sources_of
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.different import most_values
from discreet.answer.estimate import Estimate, Picked, Ratio, combined, in_grains, nothing, worst
from discreet.answer.fieller import ratio
from discreet.answer.grid import AnyGrid, Cell, Cells, Codes, Numbers, grid_of
from discreet.answer.grid_rows import (
    GridColumn,
    GridLines,
    GridRows,
    Line,
    at_confidence,
    average_column,
    number_column,
    whole,
)
from discreet.answer.one_region import in_one_region
from discreet.answer.past import groups_to_plan
from discreet.answer.public import public, released_histogram
from discreet.answer.quantiles import codes_within, counts_by_value, values_of
from discreet.answer.reply import AS_WIDE, Row
from discreet.answer.scales import elementary, parts_of_mean, value_range
from discreet.answer.settle import Settled
from discreet.answer.shrunken import SHRUNKEN, add_shrunken, shrunken_column
from discreet.answer.view import Label
from discreet.domain.attribute import Attribute
from discreet.domain.region import Region
from discreet.noise.law import Exponential, Noise
from discreet.noise.spread import Draws, Mixture
from discreet.query.cells import Labelling
from discreet.query.query import (
    Combination,
    Count,
    Distinct,
    Mean,
    Quantile,
    Query,
    Sum,
    group_attribute,
    group_name,
)
from discreet.release.quantile import candidate_codes, rank_error, rank_margin
from discreet.sql.question import AggregateColumn, GroupColumn, Question

TOO_LITTLE = "too little is left there to measure it"


@dataclass(frozen=True)
class _Place:
    """Where a row stands: its group, its column, and the region that was asked for."""

    labels: tuple[Label, ...]
    column: str
    asked: Region

    def unanswered(self) -> Row:
        return Row(self.labels, self.column, None, None, None, "unanswered", self.asked, self.asked)


@dataclass(frozen=True)
class Rows:
    """Makes rows out of settled numbers; `notes` gathers what a reader must know beside them."""

    settled: Settled
    confidence: Fraction
    desk: Desk
    notes: list[str]
    called: Mapping[str, str] = field(default_factory=dict)
    """What notes call columns that have no names of their own."""
    _parts: dict[Mean, tuple[Sum, Count]] = field(default_factory=dict, repr=False)
    _halves: dict[tuple[int, float, float], tuple[Noise | Mixture, float]] = field(default_factory=dict, repr=False)
    """By the law of the one draw, which is kept, so that its name stays its own."""

    def lines(self, question: Question) -> Sequence[Line]:
        """Every group of a question with its numbers, in the order of codes."""
        grid = self._grid(question)
        if grid is not None:
            return GridLines(grid)
        found: list[Line] = []
        for codes, region in groups_to_plan(question.by, question.where, self.desk.domain):
            places = [_Place((), column.name, asked_region(column, region, question)) for column in question.aggregates]
            columns = zip(question.aggregates, places, strict=True)
            found.append((codes, [self._shown_row(column, codes, place) for column, place in columns]))
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
            places = [_Place(labels, column.name, asked_region(column, region, question)) for column in aggregates]
            lines.append(
                [self._shown_row(column, codes, place) for column, place in zip(aggregates, places, strict=True)]
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
            together = replace(self, confidence=at_once(self.confidence, len(lines)), _halves={})
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

    def _name(self, column: str) -> str:
        return self.called.get(column, column)

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
                self.notes.append(f"{self._name(column.name)}: {which} of no rows at all, by released counts")

    def _averages_of_nobody(self, lines: Sequence[Line], place: int) -> int:
        if isinstance(lines, GridLines):
            counts = lines.rows.columns[place].parts[1]
            return int((counts.numbers <= counts.halfwidths(self.confidence))[lines.rows.places].sum())
        sources = [rows[place].source for _, rows in lines]
        counted = [one.count for one in sources if isinstance(one, Ratio)]
        return sum(one.value <= self._halfwidth(one) for one in counted)

    def _quantiles_of_nobody(self, rows: Sequence[Row]) -> int:
        everyone = Count(self.desk.domain.everything)
        regions = [row.asked for row in rows if row.value is not None]
        found = zip(regions, self.desk.known.best(everyone, regions), strict=True)
        counted = [public(everyone, region, one, self.desk) for region, one in found if one is not None]
        return sum(one.value <= self._halfwidth(one) for one in counted)

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
        found = self._shown_row(column, codes, _Place(row.labels, row.column, row.asked))
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
                place = _Place((), column.name, asked_region(column, region, question))
                foreseen = replace(self, settled=Settled(self.settled.numbers.plus(Cells.of(as_if))))
                if foreseen._row(column, codes, place).is_wider_than(within):
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

    def _row(self, column: AggregateColumn, codes: Codes, place: _Place) -> Row:
        match column.query:
            case Quantile() as query:
                return self._quantile(query, self.settled.numbers.get((query, codes)), place)
            case Mean() as mean:
                if mean not in self._parts:
                    self._parts[mean] = parts_of_mean(mean, self.desk)
                total, count = (self._number(query, codes, place) for query in self._parts[mean])
                if total is None or count is None or total.answered != count.answered:
                    total, count = self._in_one_region(mean, total, count, place)
                return self._mean(mean, total, count, place)
            case Combination(terms=terms):
                found = [(times, self._number(query, codes, place)) for times, query in terms]
                parts = [(times, estimate) for times, estimate in found if estimate is not None]
                if len(parts) < len(found):
                    return place.unanswered()
                return self._estimate(self._together([query for _, query in terms], parts) or combined(parts), place)
            case query:
                return self._estimate(self._number(query, codes, place), place, is_count=isinstance(query, Count))

    def _shown_row(self, column: AggregateColumn, codes: Codes, place: _Place) -> Row:
        """A row as it is handed out: of a count of different values, cut to what the domain allows."""
        row = self._row(column, codes, place)
        if not isinstance(column.query, Distinct) or row.value is None:
            return row
        return row.within_bounds(0, most_values(column.query, row.answered, self.desk.domain))

    def _together(self, queries: list[Count | Sum], parts: list[tuple[int, Estimate]]) -> Estimate | None:
        """A sum of public numbers of one quantity as one estimate: what they have in common cancels. None where it is
        of several, or where one is for another region or not measured yet."""
        is_one = len({query.quantity for query in queries}) == 1
        own = [estimate for _, estimate in parts]
        is_public = all(charge >= 0 for one in own for charge, _ in one.sources)
        if len(parts) == 1 or not is_one or not is_public or any(one.kind == "relaxed" for one in own):
            return None
        found = self.desk.known.best_sum(queries[0], *((times, one.answered) for times, one in parts))
        if found is None:
            return None
        region = Region.of(box for one in own for box in one.answered.boxes)
        kind = worst({one.kind for one in own})
        return public(queries[0], region, found, self.desk, kind)

    def _number(self, query: Query, codes: Codes, place: _Place) -> Estimate | None:
        """The settled number; a group outside a FILTER has no points, hence 0."""
        found = self.settled.numbers[query, codes] if (query, codes) in self.settled.numbers else nothing(place.asked)
        return found if isinstance(found, Estimate) else None

    def _estimate(self, estimate: Estimate | None, place: _Place, is_count: bool = False) -> Row:
        if estimate is None:
            return place.unanswered()
        value, half = estimate.value, self._halfwidth(estimate)
        answered = estimate.answered if estimate.kind == "relaxed" else place.asked
        low, high = whole(value - half), whole(value + half)
        return Row(
            place.labels,
            place.column,
            whole(value),
            low,
            high,
            estimate.kind,
            place.asked,
            answered,
            estimate.relaxation_error,
            estimate,
            may_be_zero=estimate.variance > 0 and low <= 0 and (high >= 0 or is_count),
        )

    def _halfwidth(self, estimate: Estimate) -> float:
        """How far off an estimate may be; of those that are as they were measured it is the same for all groups."""
        if not estimate.is_one_draw:
            return estimate.halfwidth(self.confidence)
        [draw] = estimate.draws
        key = id(draw.law), draw.weight, float(estimate.grain)
        if key not in self._halves:
            self._halves[key] = draw.law, estimate.halfwidth(self.confidence)
        return self._halves[key][1]

    def _in_one_region(
        self, mean: Mean, total: Estimate | None, count: Estimate | None, place: _Place
    ) -> tuple[Estimate, Estimate] | tuple[None, None]:
        """The parts of an average that were relaxed to two regions, or of which one has no answer: of one region."""
        queries = self._parts[mean]
        asked = place.asked.intersect(queries[1].where)
        if not self.desk.policy.relax or not asked:
            return None, None
        also = tuple(one.answered for one in (total, count) if one is not None)
        return in_one_region(*queries, asked, self.desk, also) or (None, None)

    def _mean(self, mean: Mean, total: Estimate | None, count: Estimate | None, place: _Place) -> Row:
        if total is None or count is None:
            return place.unanswered()
        found = ratio(total, count, self.confidence, *map(float, value_range(mean.of, self.desk.domain)))
        answered = total.answered if found.kind == "relaxed" else place.asked
        error = max(total.relaxation_error, count.relaxation_error)
        return Row(
            place.labels,
            place.column,
            found.value,
            found.low,
            found.high,
            found.kind,
            place.asked,
            answered,
            error,
            found,
        )

    def _quantile(self, query: Quantile, found: object, place: _Place) -> Row:
        """How far the rank may be off is known of itself; which values that allows, from what was released."""
        if isinstance(found, Estimate):
            return replace(place.unanswered(), kind=found.kind)  # of no points at all there is no quantile
        if not isinstance(found, Picked):
            return place.unanswered()
        of = query.of if isinstance(query.of, Labelling) else self.desk.domain[query.of]
        candidates = len(candidate_codes(query, self.desk.domain))
        rank = rank_error(found.scale, candidates, self.confidence)
        if query.level in (0, 1):
            rank += rank_margin(found.scale, candidates)
        surely = f"{100 * float(self.confidence):.8g}%"
        if found.kind == "derived":
            self.notes.append(
                f"{self._name(place.column)}: it is told from released counts by {group_name(query.of)}: {TOO_LITTLE}"
            )
        else:
            self.notes.append(
                f"{self._name(place.column)}: its rank is within {rank:,} people of the one asked for, at {surely}"
            )
        low, high = self._values(query, of, place)
        return Row(
            place.labels,
            place.column,
            _between(low, _value_of(of, found.code), high),
            low,
            high,
            found.kind,
            place.asked,
            place.asked,
        )

    def _values(self, query: Quantile, of: Attribute | Labelling, place: _Place) -> tuple[float | None, float | None]:
        """The values that the quantile may have: all that are declared, or fewer where counts by them were released."""
        histogram = released_histogram(query, place.asked, self.desk)
        if histogram is None:
            codes = candidate_codes(replace(query, where=place.asked), self.desk.domain)
            first, last = codes[0], codes[-1]
            self.notes.append(
                f"no released counts by {group_name(query.of)} say which values that allows: intervals are narrower "
                f"after {counts_by_value(query, self.desk.domain)}"
            )
        else:
            first, last = codes_within(query.level, histogram, self.confidence)
        low, high = values_of(of, first, last)
        return None if low is None else whole(low), None if high is None else whole(high)


def _is_shrunken(row: Row) -> bool:
    """Whether a count has another whole number beside it."""
    return row.shrunken is not None and row.value is not None and round(row.shrunken) != round(row.value)


def _between(low: float | None, value: float | None, high: float | None) -> float | None:
    """A value, or the end of its interval that is nearer: what released counts rule out is not handed out."""
    if value is None:
        return None
    value = value if low is None else max(low, value)
    return value if high is None else min(value, high)


def asked_region(column: AggregateColumn, group: Region, question: Question) -> Region:
    """The region that one number is about: its aggregate's own, within the group."""
    query = column.query
    if not isinstance(query, Combination):
        return group if query.where == question.where else group.intersect(query.where)
    return group.intersect(Region.of(box for _, term in query.terms for box in term.where.boxes))


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


def _value_of(of: Attribute | Labelling, code: int) -> float:
    """A code's value: of a bin, its middle, or the end that it has."""
    closed = [end for end in values_of(of, code, code) if end is not None]
    return whole(sum(closed) / len(closed))
