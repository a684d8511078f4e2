"""From what an analyst wishes to a noise scale for each elementary quantity. Made of public things only.

A scale is said in people: noise of scale λ on a count, and on a sum of λ times the largest value that a row can add, so
that each aggregate costs at most 1/λ at any point.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.answer.answer import Desk, Settled, decide, settle
from discreet.answer.estimate import Estimate
from discreet.answer.policy import FINEST_STEP, Wish, default_scale, deviations, scale_within
from discreet.domain.attribute import Attribute, Bins, Integer, number_text
from discreet.errors import BudgetExceeded, InvalidNoise
from discreet.query.query import Combination, Count, Mean, Quantile, Query, Sum
from discreet.query.sensitivity import largest_addend
from discreet.sql.question import Measure, Question

SMALL_GROUP = 10
"""AVG within a bound is solved for groups of at least 1/10 of the largest one; smaller ones get what that gives."""


def elementary(measure: Measure, desk: Desk) -> list[Query]:
    """The quantities that an aggregate is made of."""
    match measure:
        case Mean():
            return list(parts_of_mean(measure, desk))
        case Combination(terms=terms):
            return [query for _, query in terms]
        case _:
            return [measure]


def parts_of_mean(mean: Mean, desk: Desk) -> tuple[Sum, Count]:
    """The sum and the count of the rows that have a value."""
    attribute = desk.domain[mean.of]
    where = mean.where.intersect(desk.domain.slab(mean.of, 0, attribute.cells - 1))
    return Sum(mean.of, where, mean.by), Count(where, mean.by)


@dataclass
class Scales:
    """The scale of each quantity; where two aggregates share one, the sharper scale serves both."""

    desk: Desk
    wish: Wish
    by_query: dict[Query, Fraction]
    notes: list[str]
    first_counts: Settled
    """Counts that had to be measured to solve for the scale of an average."""

    def want(self, query: Query, scale: Fraction) -> None:
        self.by_query[query] = min(scale, self.by_query.get(query, scale))


def scales_for(question: Question, wish: Wish, desk: Desk, spend: bool) -> Scales:
    """Solve for every scale. `spend` allows the first noisy count that AVG within a bound may need."""
    scales = Scales(desk, wish, {}, [], Settled())
    for column in question.aggregates:
        _want(column.query, scales, spend)
    _within_policy(scales)
    return scales


def _want(measure: Measure, scales: Scales, spend: bool) -> None:
    desk, wish = scales.desk, scales.wish
    usual = wish.scale or default_scale(desk.ledger.budget)
    match measure:
        case Count() | Sum():
            if wish.within is None:
                scales.want(measure, usual * largest_value(measure, desk))
            else:
                scales.want(measure, scale_within(wish.within, wish.confidence, desk.grain(measure)))
        case Combination(terms=terms):
            squares = sum(times * times for times, _ in terms)
            for _, query in terms:
                scale = usual * largest_value(query, desk)
                if wish.within is not None:
                    spread = deviations(wish.confidence) * math.sqrt(2 * squares)
                    scale = _stepped(float(wish.within) / spread)
                scales.want(query, scale)
        case Quantile():
            if wish.within is not None:
                scales.notes.append("within does not bound a quantile, whose error depends on the data; scale does")
            scales.want(measure, usual)
        case Mean():
            within = wish.within
            low, high = value_range(desk.domain[measure.of])
            if within is not None and within < (high - low) / 2:
                _want_mean(measure, within, scales, usual, spend)
            else:
                # A bound as wide as the values themselves is meant for the counts beside the average.
                people = usual if within is None else scale_within(within, wish.confidence)
                for query in parts_of_mean(measure, desk):
                    scales.want(query, people * largest_value(query, desk))


def _want_mean(mean: Mean, within: Fraction, scales: Scales, usual: Fraction, spend: bool) -> None:
    """Solve k·√(Var sum + M²·Var count)/n ≤ within, for the n that a noisy count is surely above."""
    desk, wish = scales.desk, scales.wish
    total, count = parts_of_mean(mean, desk)
    decision = decide({count: usual}, desk)
    if decision.buy and not spend:
        scales.notes.append(f"AVG({mean.of}) needs a first noisy count before its own noise can be solved for")
        counted: list[object] = list(decision.free.values())
    else:
        settled = settle(decision, desk)
        scales.first_counts.releases += settled.releases
        scales.first_counts.spent += settled.spent
        counted = list(settled.numbers.values())
    surely = [e.value - e.halfwidth(wish.confidence) for e in counted if isinstance(e, Estimate)]
    largest = max(surely, default=0.0)
    if largest <= 0:
        scales.notes.append(f"too few rows for AVG({mean.of}) within {number_text(within)}")
        people = usual
    else:
        smallest = min(rows for rows in surely if rows >= largest / SMALL_GROUP)
        bound = float(within) * smallest / (2 * deviations(wish.confidence))
        people = _stepped(bound / float(largest_value(total, desk)))
    scales.want(total, people * largest_value(total, desk))
    scales.want(count, min(people, usual))


def value_range(attribute: Attribute) -> tuple[Fraction, Fraction]:
    """The least and the greatest value of a numeric attribute."""
    if isinstance(attribute, Integer):
        return Fraction(attribute.low), Fraction(attribute.high)
    edges = [edge for edge in attribute.edges if edge is not None] if isinstance(attribute, Bins) else [Fraction(0)]
    return edges[0], edges[-1]


def largest_value(query: Query, desk: Desk) -> Fraction:
    """The most that one row adds to a query."""
    if not isinstance(query, Sum):
        return Fraction(1)
    return largest_addend(desk.domain[query.of]) or Fraction(1)


def _within_policy(scales: Scales) -> None:
    policy, budget = scales.desk.policy, scales.desk.ledger.budget
    for query, scale in scales.by_query.items():
        people = scale / largest_value(query, scales.desk)
        if policy.min_scale is not None and people < policy.min_scale:
            raise InvalidNoise(f"this vault adds noise of scale {policy.min_scale} at least; ask for less accuracy")
        cost = budget.factor / people
        if policy.max_per_query is not None and cost > policy.max_per_query:
            limit, needed = number_text(policy.max_per_query), f"{float(cost):.4g}"
            raise BudgetExceeded(f"a query may spend ε = {limit} here, this one needs {needed}; ask for less accuracy")


def _stepped(value: float) -> Fraction:
    return Fraction(max(math.floor(value * FINEST_STEP), 1), FINEST_STEP)
