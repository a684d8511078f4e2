"""From what an analyst wishes to a noise scale for each elementary quantity. Made of public things only.

A scale is said in people: noise of scale λ on a count, and on a sum of λ times the largest value that a row can add, so
that each aggregate costs at most 1/λ at any point.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.answer.answer import Desk, Settled, decide, settle
from discreet.answer.estimate import Estimate
from discreet.answer.policy import (
    Wish,
    deviations,
    exponential_like,
    noise_of_scale,
    noise_within,
    stepped,
    usual_noise,
)
from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.errors import InvalidNoise
from discreet.exact import number_text
from discreet.ledger.budget import Budget, PureBudget
from discreet.noise.law import Law, Noise
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


ROUGHLY = 10
"""To solve for an average's noise, a count that is free will do with so many times the usual noise."""


@dataclass
class Scales:
    """The noise of each quantity; where two aggregates share one, the sharper serves both."""

    desk: Desk
    wish: Wish
    laws: dict[Query, Law]
    notes: list[str]
    first_counts: Settled
    """Counts that had to be measured to solve for the noise of an average."""

    @property
    def budget(self) -> Budget:
        return self.desk.ledger.budget

    def want(self, query: Query, noise: Noise) -> None:
        """`noise` is said in people: what a count with it costs, this quantity will cost at most."""
        law: Law = noise.times(largest_value(query, self.desk))
        if isinstance(query, Quantile):
            law = exponential_like(noise, self.budget)
        self.laws[query] = min(law, self.laws.get(query, law), key=lambda law: law.scale)


def scales_for(question: Question, wish: Wish, desk: Desk, spend: bool) -> Scales:
    """Solve for every scale. `spend` allows the first noisy count that AVG within a bound may need."""
    scales = Scales(desk, wish, {}, [], Settled())
    for column in question.aggregates:
        _want(column.query, scales, spend)
    _within_policy(scales)
    return scales


def _want(measure: Measure, scales: Scales, spend: bool) -> None:
    desk, wish, budget = scales.desk, scales.wish, scales.budget
    usual = usual_noise(budget) if wish.scale is None else noise_of_scale(wish.scale, budget)
    match measure:
        case Count() | Sum():
            within = wish.within
            if within is None:
                scales.want(measure, usual)
            else:
                noise = noise_within(within, wish.confidence, budget, desk.grain(measure))
                scales.want(measure, noise.times(1 / largest_value(measure, desk)))
        case Combination(terms=terms):
            squares = sum(times * times for times, _ in terms)
            for _, query in terms:
                noise = usual
                if wish.within is not None:
                    spread = deviations(wish.confidence) * math.sqrt(squares * _unit_variance(budget))
                    noise = noise_of_scale(stepped(float(wish.within) / spread), budget)
                    noise = noise.times(1 / largest_value(query, desk))
                scales.want(query, noise)
        case Quantile():
            if wish.within is not None:
                scales.notes.append("within does not bound a quantile, whose error depends on the data; scale does")
            scales.want(measure, usual)
        case Mean():
            _want_mean(measure, scales, usual, spend)


def _unit_variance(budget: Budget) -> int:
    """The variance of continuous noise of scale 1: 2 for Laplace, 1 for Gaussian."""
    return 2 if isinstance(budget, PureBudget) else 1


def _want_mean(mean: Mean, scales: Scales, usual: Noise, spend: bool) -> None:
    desk, wish = scales.desk, scales.wish
    low, high = value_range(desk.domain[mean.of])
    parts = parts_of_mean(mean, desk)
    if wish.within is None:
        noise = usual
    elif wish.within >= (high - low) / 2:
        # A bound as wide as the values themselves is meant for the counts beside the average.
        noise = noise_within(wish.within, wish.confidence, scales.budget)
    else:
        noise = _mean_noise(mean, wish.within, scales, usual, spend)
        scales.want(parts[1], usual)
    for query in parts:
        scales.want(query, noise)


def _mean_noise(mean: Mean, within: Fraction, scales: Scales, usual: Noise, spend: bool) -> Noise:
    """Solve k·√(Var sum + M²·Var count)/n ≤ within, for the n that a noisy count is surely above."""
    desk, confidence = scales.desk, scales.wish.confidence
    total, count = parts_of_mean(mean, desk)
    decision = decide({count: usual.times(Fraction(ROUGHLY))}, desk)
    if decision.buy:
        decision = decide({count: usual}, desk)
    if decision.buy and not spend:
        scales.notes.append(f"AVG({mean.of}) needs a first noisy count before its own noise can be solved for")
        counted: list[object] = list(decision.free.values())
    else:
        settled = settle(decision, desk)
        scales.first_counts.releases += settled.releases
        scales.first_counts.spent += settled.spent
        counted = list(settled.numbers.values())
    surely = [e.value - e.halfwidth(confidence) for e in counted if isinstance(e, Estimate)]
    largest = max(surely, default=0.0)
    if largest <= 0:
        scales.notes.append(f"too few rows for AVG({mean.of}) within {number_text(within)}")
        return usual
    smallest = min(rows for rows in surely if rows >= largest / SMALL_GROUP)
    spread = deviations(confidence) * math.sqrt(2 * _unit_variance(scales.budget)) * float(largest_value(total, desk))
    return noise_of_scale(stepped(float(within) * smallest / spread), scales.budget)


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
    policy = scales.desk.policy
    for query, law in scales.laws.items():
        largest = largest_value(query, scales.desk)
        if policy.min_scale is not None and law.scale < policy.min_scale * largest:
            raise InvalidNoise(f"this vault adds noise of scale {policy.min_scale} at least; ask for less accuracy")
