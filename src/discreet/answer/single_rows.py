"""One number of an answer: a value, an interval and its kind, from the settled numbers that it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.answer.desk import Desk
from discreet.answer.different import most_values
from discreet.answer.estimate import Estimate, Picked, combined, nothing, worst
from discreet.answer.fieller import ratio
from discreet.answer.grid import Codes
from discreet.answer.grid_rows import (
    whole,
)
from discreet.answer.one_region import in_one_region
from discreet.answer.public import public, released_histogram
from discreet.answer.quantiles import codes_within, counts_by_value, values_of
from discreet.answer.reply import Row
from discreet.answer.scales import parts_of_mean, value_range
from discreet.answer.settle import Settled
from discreet.answer.view import Label
from discreet.domain.attribute import Attribute
from discreet.domain.region import Region
from discreet.noise.law import Noise
from discreet.noise.spread import Mixture
from discreet.query.cells import Labelling
from discreet.query.query import (
    Combination,
    Count,
    Distinct,
    Mean,
    Quantile,
    Query,
    Sum,
    group_name,
)
from discreet.release.quantile import candidate_codes, rank_error, rank_margin
from discreet.sql.question import AggregateColumn, Question

TOO_LITTLE = "too little is left there to measure it"


@dataclass(frozen=True)
class RowPlace:
    """Where a row stands: its group, its column, and the region that was asked for."""

    labels: tuple[Label, ...]
    column: str
    asked: Region

    def unanswered(self) -> Row:
        return Row(self.labels, self.column, None, None, None, "unanswered", self.asked, self.asked)


@dataclass(frozen=True)
class SingleRows:
    """Makes a row of settled numbers; `notes` gathers what a reader must know beside it."""

    settled: Settled
    confidence: Fraction
    desk: Desk
    notes: list[str]
    called: Mapping[str, str]
    """What notes call columns that have no names of their own."""
    _parts: dict[Mean, tuple[Sum, Count]] = field(default_factory=dict, repr=False)
    _halves: dict[tuple[int, float, float], tuple[Noise | Mixture, float]] = field(default_factory=dict, repr=False)
    """By the law of the one draw, which is kept, so that its name stays its own."""

    def of(self, column: AggregateColumn, codes: Codes, place: RowPlace) -> Row:
        """A row as it is handed out: of a count of different values, cut to what the domain allows."""
        row = self.uncut(column, codes, place)
        if not isinstance(column.query, Distinct) or row.value is None:
            return row
        return row.within_bounds(0, most_values(column.query, row.answered, self.desk.domain))

    def uncut(self, column: AggregateColumn, codes: Codes, place: RowPlace) -> Row:
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

    def _number(self, query: Query, codes: Codes, place: RowPlace) -> Estimate | None:
        """The settled number; a group outside a FILTER has no points, hence 0."""
        found = self.settled.numbers[query, codes] if (query, codes) in self.settled.numbers else nothing(place.asked)
        return found if isinstance(found, Estimate) else None

    def _estimate(self, estimate: Estimate | None, place: RowPlace, is_count: bool = False) -> Row:
        if estimate is None:
            return place.unanswered()
        value, half = estimate.value, self.halfwidth(estimate)
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

    def halfwidth(self, estimate: Estimate) -> float:
        """How far off an estimate may be; of those that are as they were measured it is the same for all groups."""
        if not estimate.is_one_draw:
            return estimate.halfwidth(self.confidence)
        [draw] = estimate.draws
        key = id(draw.law), draw.weight, float(estimate.grain)
        if key not in self._halves:
            self._halves[key] = draw.law, estimate.halfwidth(self.confidence)
        return self._halves[key][1]

    def _in_one_region(
        self, mean: Mean, total: Estimate | None, count: Estimate | None, place: RowPlace
    ) -> tuple[Estimate, Estimate] | tuple[None, None]:
        """The parts of an average that were relaxed to two regions, or of which one has no answer: of one region."""
        queries = self._parts[mean]
        asked = place.asked.intersect(queries[1].where)
        if not self.desk.policy.relax or not asked:
            return None, None
        also = tuple(one.answered for one in (total, count) if one is not None)
        return in_one_region(*queries, asked, self.desk, also) or (None, None)

    def _mean(self, mean: Mean, total: Estimate | None, count: Estimate | None, place: RowPlace) -> Row:
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

    def _quantile(self, query: Quantile, found: object, place: RowPlace) -> Row:
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
        name = self.called.get(place.column, place.column)
        if found.kind == "derived":
            self.notes.append(f"{name}: it is told from released counts by {group_name(query.of)}: {TOO_LITTLE}")
        else:
            self.notes.append(f"{name}: its rank is within {rank:,} people of the one asked for, at {surely}")
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

    def _values(self, query: Quantile, of: Attribute | Labelling, place: RowPlace) -> tuple[float | None, float | None]:
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


def _value_of(of: Attribute | Labelling, code: int) -> float:
    """A code's value: of a bin, its middle, or the end that it has."""
    closed = [end for end in values_of(of, code, code) if end is not None]
    return whole(sum(closed) / len(closed))
