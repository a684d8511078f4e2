"""What an aggregate would be made from, and how far off it may be: said before anything is bought."""

from dataclasses import replace
from itertools import islice
from math import sqrt
from statistics import median

from discreet.answer.decision import Decision
from discreet.answer.derive import derive
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Picked
from discreet.answer.foreseen_average import MOST_GUESSED, foreseen_average
from discreet.answer.grid import Cells, Numbers, count_of_groups
from discreet.answer.levels import Levels, most_parts
from discreet.answer.policy import Wish
from discreet.answer.reply import Forecast
from discreet.answer.scales import elementary
from discreet.answer.settle import Settled
from discreet.noise.law import Exponential, Law
from discreet.noise.spread import Draws, halfwidth
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
    summed_name,
)
from discreet.sql.question import AggregateColumn, Measure

MOST_ADDED = 10_000
"""The most public numbers that are added up to say how far off their sums are."""


def forecast_of(column: AggregateColumn, levels: Levels, decision: Decision, wish: Wish, desk: Desk) -> Forecast:
    """What an aggregate would be made from, and how far off it may be."""
    if any(part in levels.sums for part in elementary(column.query, desk)):
        return _of_sums(column, levels, decision, wish, desk)
    first, *more = parts = elementary(column.query, desk)
    free = decision.free.by_query.get(first, {})
    kinds = decision.kinds(parts)
    if kinds["relaxed"] and not desk.policy.relax:
        kinds["unanswered"] += kinds.pop("relaxed")
    # A quantile's error depends on the answer; an average's too, and is guessed at below.
    bounded = not isinstance(first, Quantile) and all(type(query) is type(first) for query in more)
    within = _halfwidth(column.query, parts, decision.laws, wish, desk) if bounded else None
    if kinds["relaxed"] or kinds["unanswered"]:
        within = None  # it is for a region nearby, as wide as what was released there; or for none
    elif len(parts) == 1 and bounded and not kinds["measured"]:
        noisy = [*free.laws] if isinstance(free, Numbers) else [*free.values()]
        within = max((one.halfwidth(wish.confidence) for one in noisy if isinstance(one, Estimate)), default=0.0)
    relative = None if within is None or more else _relative(first, within, decision, desk)
    words: tuple[str, ...] = ()
    if isinstance(column.query, Mean) and not (kinds["relaxed"] or kinds["unanswered"]):
        average = foreseen_average(column.name, column.query, levels, decision, wish, desk)
        if average is not None:
            within, relative, words = average.halfwidth, average.relative, average.words
    scale = float(decision.laws[first].scale)
    return Forecast(column.name, dict(kinds.items()), within, scale, unit_of(first), relative, words)


def _of_sums(column: AggregateColumn, levels: Levels, decision: Decision, wish: Wish, desk: Desk) -> Forecast:
    """The same of one that is added up from others of its question, in whole or in part."""
    first, *more = elementary(column.query, desk)
    added = [part for query in (first, *more) for part in levels.sums.get(query, ())]
    scale = max(float(levels.laws[part].scale) for part in added)
    lines = count_of_groups(first.by, first.where, desk.domain)
    kinds = {"derived": lines}
    if isinstance(column.query, Mean):
        average = foreseen_average(column.name, column.query, levels, decision, wish, desk)
        if average is not None:
            return Forecast(
                column.name, kinds, average.halfwidth, scale, unit_of(first), average.relative, average.words
            )
    within = None if more or first != column.query else _within_of_sum(first, levels, decision, wish, desk)
    return Forecast(column.name, kinds, within, scale, unit_of(first))


def _within_of_sum(query: Query, levels: Levels, decision: Decision, wish: Wish, desk: Desk) -> float | None:
    """How far off a number may be that is added up from others; None where some of those are public, and not all."""
    parts = levels.sums[query]
    if any(decision.relax.only(part) for part in parts):
        return None
    if not any(decision.free.by_query.get(part) for part in parts):
        grain, draws = desk.grain(query), []
        for part in parts:
            law = levels.laws[part]
            if not isinstance(law, Exponential):
                draws.append(Draws(float(grain), law.times(1 / grain), most_parts(query, part, desk)))
        return halfwidth(draws, wish.confidence)
    many = sum(count_of_groups(part.by, part.where, desk.domain) for part in parts)
    if any(decision.buy.only(part) for part in parts) or many > MOST_ADDED:
        return None
    settled = Settled(Cells[Estimate | Picked | None](decision.free.by_query))
    replace(levels, sums={query: parts}).fill(settled, desk)
    known = [one for one in settled.numbers.only(query).values() if isinstance(one, Estimate)]
    return max((one.halfwidth(wish.confidence) for one in known), default=None)


def unit_of(query: Query) -> str:
    """What the noise of a quantity is counted in."""
    match query:
        case Sum(of=of):
            return summed_name(of)
        case ProfileSum(of=Amount() as amount):
            return amount.text
        case People() | ProfileSum():
            return "people"
        case Distinct():
            return "values"
    return "rows"


def _relative(query: Query, within: float, decision: Decision, desk: Desk) -> float | None:
    """How far off numbers that are to be bought may be, as a part of themselves, where public answers let one guess."""
    regions = [*islice(decision.buy.by_query.get(query, {}).values(), MOST_GUESSED)]
    if not isinstance(query, Count | Sum) or not regions:
        return None
    past, grain = desk.known.of(query), float(desk.grain(query))
    guesses = [guess for region in regions if (guess := derive(region, past)) is not None]
    sizes = [grain * guess.value for guess in guesses if guess.value > sqrt(guess.variance)]
    return within / median(sizes) if sizes else None


def _halfwidth(measure: Measure, parts: list[Query], laws: dict[Query, Law], wish: Wish, desk: Desk) -> float:
    """How far off a fresh measurement may be."""
    factors = [times for times, _ in measure.terms] if isinstance(measure, Combination) else [1] * len(parts)
    draws = []
    for times, part in zip(factors, parts, strict=True):
        grain, law = desk.grain(part), laws[part]
        if not isinstance(law, Exponential):
            draws.append(Draws(times * float(grain), law.times(1 / grain)))
    return halfwidth(draws, wish.confidence)
