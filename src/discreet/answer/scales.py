"""From what an analyst wishes to a noise scale for each elementary quantity. Made of public things only.

A scale is said in people: noise of scale λ on a count, and on a sum of λ times the largest value that a row can add, so
that each aggregate costs at most 1/λ at any point.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.answer.decide import decide
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.different import most_values
from discreet.answer.estimate import Estimate
from discreet.answer.policy import (
    Wish,
    deviations,
    exponential_like,
    first_noise,
    noise_of_sum_within,
    noise_within,
    stepped,
    usual_noise,
)
from discreet.answer.settle import settle
from discreet.answer.what_counts import what_counts
from discreet.domain.attribute import Bins, Integer
from discreet.domain.domain import Domain
from discreet.errors import BudgetExceeded, QuotaExceeded
from discreet.exact import number_text
from discreet.ledger.budget import Budget
from discreet.noise.law import Gaussian, Laplace, Law, Noise
from discreet.query.cells import Amount
from discreet.query.query import (
    Combination,
    Count,
    Distinct,
    Mean,
    People,
    ProfileSum,
    Quantile,
    Query,
    Sum,
    group_name,
    summed_name,
)
from discreet.query.sensitivity import largest_move, part_of_rows
from discreet.release.purchase import Purchase
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
    if not isinstance(mean.of, str):
        return Sum(mean.of, mean.where, mean.by), Count(mean.where, mean.by)
    attribute = desk.domain[mean.of]
    where = mean.where.intersect(desk.domain.slab(mean.of, 0, attribute.cells - 1))
    return Sum(mean.of, where, mean.by), Count(where, mean.by)


STEPS_SHARE = 10
"""A question whose later step depends on the noise of its first spends at most one in so many parts of the budget: that
can be said before. Asked again it has one step, and its price is known."""
ROUGHLY = 10
"""To solve for an average's noise, a count that is free will do with so many times the usual noise."""


@dataclass
class Scales:
    """The noise of each quantity; where two aggregates share one, the sharper serves both."""

    desk: Desk
    wish: Wish
    purchase: Purchase | None
    """What buys the first count that AVG within a bound may need; None where nothing is to be bought."""
    averages: int
    beside: dict[Query, Law] = field(default_factory=dict)
    """What all of the question is sure to need: a first count is bought only where the rest can be had as well."""
    laws: dict[Query, Law] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    solved: dict[Mean, Noise] = field(default_factory=dict)
    """Of averages that were solved for with a count that was bought for it."""

    @property
    def budget(self) -> Budget:
        return self.desk.ledger.budget

    def want(self, query: Query, noise: Noise) -> None:
        """`noise` is said in people: what a count with it costs, this quantity will cost at most."""
        law: Law = noise.times(largest_value(query, self.desk))
        if isinstance(query, Quantile):
            law = exponential_like(noise, self.budget)
        self.laws[query] = min(law, self.laws.get(query, law), key=lambda law: law.scale)

    def coarser(self, question: Question, part: Fraction) -> dict[Query, Law]:
        """The same with more noise on averages that were solved for in steps: part of the way, all of it for 1, to the
        first noise, with which they were foreseen."""
        found = Scales(self.desk, self.wish, None, self.averages)
        first = first_noise(self.budget, self.desk.policy.limits, self.averages)
        for column in question.aggregates:
            solved = self.solved.get(column.query) if isinstance(column.query, Mean) else None
            if solved is None or not isinstance(column.query, Mean):
                _want(column.query, found)
                continue
            total, count = parts_of_mean(column.query, self.desk)
            found.want(count, first)
            for query in (total, count):
                found.want(query, _between(solved, first, part, self.budget))
        return found.laws


def _between(solved: Noise, first: Noise, part: Fraction, budget: Budget) -> Noise:
    """Noise that is part of the way from one to a larger one."""
    if first.scale_squared <= solved.scale_squared or part == 0:
        return solved
    low, high = (math.sqrt(float(noise.scale_squared)) for noise in (solved, first))
    return first if part == 1 else budget.noise_of_scale(stepped(low + float(part) * (high - low)))


def scales_for(question: Question, wish: Wish, desk: Desk, purchase: Purchase | None) -> Scales:
    """Solve for every scale. AVG within a bound may need a first noisy count, bought where there is a purchase."""
    scales = Scales(desk, wish, purchase, sum(isinstance(column.query, Mean) for column in question.aggregates))
    if purchase is not None and needs_first_count(question, wish, desk):
        scales.beside = scales_for(question, wish, desk, None).laws
    # Averages within a bound come last: what cannot be answered beside them is refused before anything is bought.
    for column in sorted(question.aggregates, key=lambda column: bool(wish.within) and isinstance(column.query, Mean)):
        _want(column.query, scales)
        for query, law in scales.laws.items():
            desk.policy.limits.require_noise(query, law, desk.domain)
    scales.notes += [*what_counts(question, desk.domain), *_too_few_values(question, scales)]
    return scales


def _too_few_values(question: Question, scales: Scales) -> list[str]:
    """What to say of counts of different values whose noise reaches further than there are values."""
    notes, domain = [], scales.desk.domain
    for column in question.aggregates:
        law = scales.laws.get(column.query) if isinstance(column.query, Distinct) else None
        if not isinstance(column.query, Distinct) or not isinstance(law, Laplace | Gaussian):
            continue
        most, off = most_values(column.query, column.query.where, domain), law.halfwidth(scales.wish.confidence)
        if 0 < most <= off:
            by = ", ".join(map(group_name, column.query.of))
            notes.append(
                f"{column.name}: the noise, ± {off:,}, tells nothing of a number between 0 and {most:,}; ask with a "
                f"smaller scale, or look at COUNT(*) GROUP BY {by}"
            )
    return notes


def _want(measure: Measure, scales: Scales) -> None:
    desk, wish, budget = scales.desk, scales.wish, scales.budget

    def usual(query: Measure) -> Noise:
        """Said in people; of lines that all rows of a person pay for together, what then costs as much."""
        if wish.scale is not None:
            return budget.noise_of_scale(wish.scale)
        moved = part_of_rows(query, desk.domain, budget) if isinstance(query, People | ProfileSum) else Fraction(1)
        return usual_noise(budget, desk.policy.limits, moved)

    match measure:
        case Count() | Sum() | Distinct() | People() | ProfileSum():
            within = wish.within
            if within is None:
                scales.want(measure, usual(measure))
            else:
                noise = noise_within(within, wish.confidence, budget, desk.grain(measure))
                scales.want(measure, noise.times(1 / largest_value(measure, desk)))
        case Combination(terms=terms):
            if wish.within is None:
                for _, query in terms:
                    scales.want(query, usual(query))
                return
            factors = [(times, desk.grain(query)) for times, query in terms]
            each = noise_of_sum_within(wish.within, wish.confidence, budget, factors)
            for _, query in terms:
                scales.want(query, each.times(1 / largest_value(query, desk)))
        case Quantile():
            if wish.within is not None:
                scales.notes.append("within does not bound a quantile, whose error depends on the data; scale does")
            scales.want(measure, usual(measure))
        case Mean():
            _want_mean(measure, scales, usual(measure))


def needs_first_count(question: Question, wish: Wish, desk: Desk) -> bool:
    """Whether an average's noise cannot be solved for before a noisy count is bought."""
    means = [column.query for column in question.aggregates if isinstance(column.query, Mean)]
    return any(is_solved(mean, wish.within, desk) and _first_count(mean, len(means), desk).buy for mean in means)


def is_solved(mean: Mean, within: Fraction | None, desk: Desk) -> bool:
    """A bound as wide as the values themselves is meant for the counts beside the average."""
    low, high = value_range(mean.of, desk.domain)
    return within is not None and within < (high - low) / 2


def _first_count(mean: Mean, averages: int, desk: Desk, beside: dict[Query, Law] | None = None) -> Decision:
    """How the count is to be had that an average's noise is solved with: from what is public, or bought as it is, of
    groups whose sum, and whatever is `beside` it, can be bought with the first noise as well."""
    desk = replace(desk, policy=replace(desk.policy, patches=False))
    total, count = parts_of_mean(mean, desk)
    first = first_noise(desk.ledger.budget, desk.policy.limits, averages)
    decision = decide({count: first.times(Fraction(ROUGHLY))}, desk)
    if not decision.buy:
        return decision
    return decide({**(beside or {}), total: first.times(largest_value(total, desk)), count: first}, desk).only(count)


def _want_mean(mean: Mean, scales: Scales, usual: Noise) -> None:
    desk, wish = scales.desk, scales.wish
    parts = parts_of_mean(mean, desk)
    if wish.within is None:
        noise = usual
    elif not is_solved(mean, wish.within, desk):
        noise = noise_within(wish.within, wish.confidence, scales.budget)
    else:
        noise = _mean_noise(mean, wish.within, scales)
    for query in parts:
        scales.want(query, noise)


def _mean_noise(mean: Mean, within: Fraction, scales: Scales) -> Noise:
    """Solve k·√(Var sum + M²·Var count)/n ≤ within, for the n that a noisy count is surely above.

    Where no count is known, one with the first noise is bought; where there is no purchase, the note says so.
    """
    desk, confidence = scales.desk, scales.wish.confidence
    total, count = parts_of_mean(mean, desk)
    first = first_noise(scales.budget, desk.policy.limits, scales.averages)
    decision = _first_count(mean, scales.averages, desk, scales.beside)
    if decision.buy:
        scales.want(count, first)  # as it was bought, so that it is not bought again
        if scales.purchase is None:
            scales.notes.append(
                f"AVG({summed_name(mean.of)}) needs a first noisy count before its own noise can be solved for"
            )
            return first
    surely = _surely(decision, confidence, desk, scales.purchase)
    served = _served(surely)
    if not served:
        wanted = f"AVG({summed_name(mean.of)}) within {number_text(within)}"
        scales.notes.append(f"too few rows for {wanted}" if surely else f"{wanted}: it is not public of how many rows")
        return first
    if len(served) < len(surely):
        scales.notes.append(
            f"AVG({mean.of}) within {number_text(within)} is meant for groups with at least a tenth of the rows of the "
            f"largest: {len(surely) - len(served):,} smaller ones may be wider"
        )
    spread = mean_spread(total, confidence, desk)
    solved, least = stepped(float(within) * min(served) / spread), desk.policy.min_scale
    if decision.buy and least is not None and solved < least:
        # Refused now, the first count would have been bought for nothing.
        solved = least
        scales.notes.append(
            f"the policy allows noise of scale {number_text(least)} at least: AVG({mean.of}) may be wider than "
            f"± {number_text(within)}"
        )
    noise = scales.budget.noise_of_scale(solved)
    if decision.buy:
        scales.solved[mean] = noise
    return noise


def _surely(decision: Decision, confidence: Fraction, desk: Desk, purchase: Purchase | None) -> list[float]:
    """How many rows each group surely has. What is known of a region nearby says nothing of the one asked about."""
    try:
        counted = settle(decision, desk, purchase).numbers.values()
    except (BudgetExceeded, QuotaExceeded):
        return []  # nothing at all is public, and nothing can be bought
    own = [one for one in counted if isinstance(one, Estimate) and one.kind != "relaxed"]
    return [one.value - one.halfwidth(confidence) for one in own]


def _served(surely: list[float]) -> list[float]:
    """The groups that a bound is meant for: not much smaller than the largest."""
    largest = max(surely, default=0.0)
    return [rows for rows in surely if rows >= largest / SMALL_GROUP] if largest > 0 else []


def mean_spread(total: Sum, confidence: Fraction, desk: Desk) -> float:
    """How far an average of one row may be off, where its sum and its count have noise of scale 1 in people."""
    unit = desk.ledger.budget.noise_of_scale(Fraction(1))
    return deviations(confidence) * math.sqrt(2 * unit.continuous_variance) * float(largest_value(total, desk))


def rows_served(mean: Mean, averages: int, confidence: Fraction, desk: Desk) -> float | None:
    """How many rows each group surely has that an average within a bound is solved for; None where that is not public,
    and would have to be bought first."""
    decision = _first_count(mean, averages, desk)
    if decision.buy:
        return None
    return min(_served(_surely(decision, confidence, desk, None)), default=None)


def value_range(of: str | Amount, domain: Domain) -> tuple[Fraction, Fraction]:
    """The least and the greatest value of a numeric attribute, or of an expression."""
    if isinstance(of, Amount):
        return of.least * of.grain, of.greatest * of.grain
    attribute = domain[of]
    if isinstance(attribute, Integer):
        return Fraction(attribute.low), Fraction(attribute.high)
    edges = [edge for edge in attribute.edges if edge is not None] if isinstance(attribute, Bins) else [Fraction(0)]
    return edges[0], edges[-1]


def largest_value(query: Query, desk: Desk) -> Fraction:
    """The most that one row, or one person's line, adds to a query."""
    return largest_move(query, desk.domain)
