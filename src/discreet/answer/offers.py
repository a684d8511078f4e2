"""The accuracy that can be had instead of one that cannot: what is named here is granted when it is asked for.

Counts, sums, what is made of them, and averages of groups whose size is public are offered within a bound. The error of
a quantile, and of an average of nobody knows how many, depends on the data: they are offered with a scale.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from discreet.answer.desk import Desk
from discreet.answer.different import most_values
from discreet.answer.past import groups_of
from discreet.answer.policy import DEFAULT_SHARE, FINEST_STEP, SOLVING_STEPS, Wish, exponential_like, noise_affordable
from discreet.answer.quantiles import counts_by_value
from discreet.answer.scales import (
    elementary,
    is_solved,
    largest_value,
    mean_spread,
    parts_of_mean,
    rows_served,
)
from discreet.domain.region import Region
from discreet.errors import BudgetExceeded, InvalidNoise, QuotaExceeded
from discreet.noise.law import Noise
from discreet.noise.spread import Draws, halfwidth
from discreet.query.query import Combination, Count, Distinct, Mean, ProfileSum, Quantile, Sum
from discreet.query.sensitivity import part_of_rows
from discreet.release.quantile import candidate_codes, rank_error, rank_margin
from discreet.sql.question import AggregateColumn, Measure, Question
from discreet.sql.where_text import where_text

MOST_LOOKED_AT = 100
"""Attributes of more codes are not looked through for groups that can be had."""


@dataclass(frozen=True)
class Offer:
    """How sharply an aggregate could be measured: within a bound where one can be promised, else with a scale."""

    within: float | None
    scale: float
    """With this as well, whatever it is: the noise of each of its numbers, in people."""
    rank: int | None = None
    """Of a quantile: so far may its rank then be off."""
    most: int | None = None
    """Of a count of different values: so many can there be."""

    @property
    def words(self) -> str:
        if self.within is not None:
            tells = self.most is None or self.within < self.most
            return f"within {self.within:,.6g}" + ("" if tells else f" (which tells nothing of 0 … {self.most:,})")
        rank = "" if self.rank is None else f" (its rank within {self.rank:,} people)"
        return f"with scale {self.scale:,.6g}{rank}"


@dataclass(frozen=True)
class Offers:
    """What can be had of questions that are asked together, which share what is left in their regions."""

    questions: Sequence[Question]
    wish: Wish
    desk: Desk
    _rows: dict[Mean, float | None] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> list[AggregateColumn]:
        return [column for question in self.questions for column in question.aggregates]

    @cached_property
    def shares(self) -> int:
        """How many quantities share what is left."""
        return len({query for column in self.columns for query in elementary(column.query, self.desk)})

    def of(self, measure: Measure, region: Region) -> Offer | None:
        """What can be had of an aggregate in a region, for its part of what is left there; None where nothing is."""
        budget, parts = self.desk.ledger.budget, elementary(measure, self.desk)
        moved = max(part_of_rows(part, self.desk.domain, budget) for part in parts)
        noise = noise_affordable(self.desk.left(region), self.shares, budget, self.desk.policy.limits, moved)
        if noise is None:
            return None
        if any(isinstance(part, Sum | ProfileSum) for part in parts):
            noise = noise.times(Fraction(budget.signs(one_signed=False)))
        scale = _rounded_up(_scale(noise) * (1 + 1e-6))  # each of several costs is rounded up to whole units
        if not isinstance(measure, Quantile):
            within = self._within(measure, noise)
            most = most_values(measure, region, self.desk.domain) if isinstance(measure, Distinct) else None
            return Offer(within, scale, most=most)
        return Offer(None, scale, self._rank(measure, budget.noise_of_scale(Fraction(str(scale)))))

    def _rank(self, quantile: Quantile, noise: Noise) -> int:
        """How far the rank of a quantile may be off that is asked for with this noise."""
        scale = exponential_like(noise, self.desk.ledger.budget).scale
        candidates = len(candidate_codes(quantile, self.desk.domain))
        margin = rank_margin(scale, candidates) if quantile.level in (0, 1) else 0
        return rank_error(scale, candidates, self.wish.confidence) + margin

    def _within(self, measure: Measure, noise: Noise) -> float | None:
        """Within how much of the truth an aggregate is whose quantities have this noise, said in people."""
        confidence, desk = self.wish.confidence, self.desk
        match measure:
            case Mean():
                return self._mean_within(measure, noise)
            case Combination(terms=terms):
                largest = max(largest_value(part, desk) for _, part in terms)
                grains = [(times, desk.grain(part)) for times, part in terms]
                draws = [Draws(times * float(grain), noise.times(largest / grain)) for times, grain in grains]
                solved = 1 + 2.0 ** (1 - SOLVING_STEPS)  # what is solved for it may be a little sharper than need be
                return _rounded_up(halfwidth(draws, confidence) * solved)
            case Quantile():
                return None
            case query:
                grain = desk.grain(query)
                steps = noise.times(largest_value(query, desk) / grain).halfwidth(confidence)
                return _rounded_up(float(grain * max(steps, 1)))

    def _mean_within(self, mean: Mean, noise: Noise) -> float | None:
        """For all of its groups together; None where their sizes are not known, or where it is as wide as the values
        are apart: such a bound is meant for the counts beside the average."""
        if mean not in self._rows:
            averages = sum(isinstance(column.query, Mean) for column in self.columns)
            self._rows[mean] = rows_served(mean, averages, self.wish.confidence, self.desk)
        rows = self._rows[mean]
        if rows is None:
            return None
        total, _ = parts_of_mean(mean, self.desk)
        step = _scale(noise) + 1 / FINEST_STEP
        within = _rounded_up(mean_spread(total, self.wish.confidence, self.desk) * step / rows * (1 + 1e-6))
        return within if is_solved(mean, Fraction(str(within)), self.desk) else None

    def in_words(self) -> str:
        """What can be had of each aggregate, and of all together; nothing where that is nothing."""
        found = {column.name: self.of(column.query, _own(column)) for column in self.columns}
        offers = {name: offer for name, offer in found.items() if offer is not None}
        if not offers:
            return ""
        said = f"what is left there allows {', '.join(f'{name} {offer.words}' for name, offer in offers.items())}"
        together = _together(list(found.values()))
        return said if together is None else f"{said}; all together: {together}"

    def scale(self) -> float | None:
        """With which scale all of them can be had together; None where one cannot."""
        found = [self.of(column.query, _own(column)) for column in self.columns]
        scales = [offer.scale for offer in found if offer is not None]
        return max(scales, default=0.0) if len(scales) == len(found) else None

    def advice(self) -> list[str]:
        """What else would tell the quantiles that cannot be had: counts by their attribute, a part of their region, or
        another region of which it was released."""
        return [
            f"{column.name}: {'; or '.join(found)}"
            for column in self.columns
            if isinstance(column.query, Quantile) and (found := list(self._ways_to(column.query)))
        ]

    def _ways_to(self, quantile: Quantile) -> Iterator[str]:
        domain, where = self.desk.domain, quantile.where
        counts = self.of(Count(where, (*quantile.by, quantile.of)), where)
        if counts is not None and counts.within is not None:
            yield f"{counts_by_value(quantile, domain)} can be had {counts.words}, and it follows from that, free"
        elif (helping := self._group_by(quantile)) is not None:
            yield helping
        near = nearest_quantile(quantile, self.desk)
        if near is not None:
            yield f"it was released of {where_text(near, domain)}, which is free"

    def _group_by(self, quantile: Quantile) -> str | None:
        """The attribute by which most groups of the region have what a question usually spends."""
        usual, best = self.desk.ledger.budget.total / DEFAULT_SHARE, (0, 0, "")
        for attribute in self.desk.domain.attributes:
            if attribute.size > MOST_LOOKED_AT or attribute.name in (quantile.of, *quantile.by):
                continue
            groups = [region for _, region in groups_of((attribute.name,), quantile.where, self.desk.domain) if region]
            had = sum(self.desk.left(region) >= usual for region in groups)
            best = max(best, (had, -len(groups), attribute.name))
        had, groups_less, name = best
        return f"GROUP BY {name} has it for {had:,} of {-groups_less:,} groups" if had else None


def nearest_quantile(quantile: Quantile, desk: Desk) -> Region | None:
    """The region nearest to a quantile's own of which the same quantile was released."""
    metric = desk.metric
    asked = quantile.where.bounds
    regions = [one for one in desk.known.quantile_regions(quantile) if one != quantile.where]
    return min(regions, key=lambda one: metric.error(asked, one.bounds), default=None)


@contextmanager
def refusals(offers: Offers) -> Iterator[None]:
    """What is refused for its accuracy or its price is refused with what can be had."""
    try:
        yield
    except (BudgetExceeded, QuotaExceeded, InvalidNoise) as error:
        said = [str(error), offers.in_words(), *offers.advice()]
        raise type(error)("; ".join(filter(None, said))) from None


def _together(offers: Sequence[Offer | None]) -> str | None:
    """The one wish that grants several aggregates; None for a single one, and where one cannot be had at all."""
    had = [offer for offer in offers if offer is not None]
    if len(had) < len(offers) or len(had) == 1:
        return None
    bounds = [offer.within for offer in had if offer.within is not None]
    is_bounded = len(bounds) == len(had)
    return f"within {max(bounds):,.6g}" if is_bounded else f"with scale {max(offer.scale for offer in had):,.6g}"


def _own(column: AggregateColumn) -> Region:
    """Where an aggregate is measured: its own region, WHERE and FILTER."""
    query = column.query
    if not isinstance(query, Combination):
        return query.where
    return Region.of(box for _, term in query.terms for box in term.where.boxes)


def _scale(noise: Noise) -> float:
    return math.sqrt(float(noise.scale_squared))


def _rounded_up(value: float) -> float:
    """To three digits, so that what is shown suffices."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2) if value else 1.0
    return round(math.ceil(value / step * (1 - 1e-12)) * step, 12)
