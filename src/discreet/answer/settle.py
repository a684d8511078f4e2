"""Carry out a decision: measure what is to be bought, relax the rest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.answer.alike import best_of_groups
from discreet.answer.decide import decide, drafted
from discreet.answer.decision import Decision, plan_of
from discreet.answer.derive import derive
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Kind, Picked, combined, in_grains, released
from discreet.answer.grid import AnyGrid, Cell, Cells, Codes, Grid, GridNumbers, Numbers
from discreet.answer.past import PastAnswer
from discreet.answer.public import ROUNDING, is_as_measured, public, public_groups, released_histogram, repeated_number
from discreet.answer.quantiles import code_at
from discreet.answer.relax import Draft, Relaxed, carried_out
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded, QuotaExceeded, Refreshed
from discreet.ledger.spend import Cost
from discreet.noise.law import Exponential, Law
from discreet.noise.spread import Draws
from discreet.query.marginals import Source
from discreet.query.query import Count, Quantile, Query, Sum
from discreet.release.purchase import Purchase
from discreet.release.release import Noisy


@dataclass
class Settled:
    """The numbers of a question."""

    numbers: Cells[Estimate | Picked | None] = field(default_factory=Cells)
    charges: set[int] = field(default_factory=set)
    """What was bought for it."""
    by_quota: bool = False
    """Whether the vault had let all of it be measured, and its asker's quota did not."""
    too_dear: frozenset[Query] = frozenset()
    """Quantities of which some numbers could not be bought."""


def settle(decision: Decision, desk: Desk, purchase: Purchase | None) -> Settled:
    """Carry out a decision: measure what is to be bought, relax the rest. What is on its way already is waited for, and
    what others have had measured meanwhile is decided about again: neither is charged twice.

    Without a purchase nothing is bought: numbers that would be are left out, and relaxed ones have no patches.
    """
    while purchase is not None and _awaited(decision, desk, purchase):
        decision = _again(decision, desk, purchase)
    settled = Settled(Cells[Estimate | Picked | None](decision.free.by_query))
    to_relax = decision.relax
    if decision.plan().measurements and purchase is not None:
        try:
            is_bought = _measure(decision, desk, purchase, settled)
        except (BudgetExceeded, QuotaExceeded):
            # It was spent since the decision.
            without = replace(desk.policy, patches=False)
            decision = drafted(
                replace(decision, relax=to_relax.plus(decision.buy), patches={}), replace(desk, policy=without), Cost()
            )
            to_relax = decision.relax
        else:
            if not is_bought:
                return settle(_again(decision, desk, purchase), desk, purchase)
    for (query, codes), region in to_relax.items():
        drafts = decision.drafts.get((query, codes), ())
        settled.numbers[query, codes] = _relaxed(query, region, drafts, desk, purchase is not None)
    if to_relax:
        settled.too_dear = frozenset(query for query, cells in to_relax.by_query.items() if cells)
        missed = desk.cost(plan_of(to_relax, decision.laws))
        limited = desk.asker is not None and desk.asker.quota is not None
        settled.by_quota = limited and desk.ledger.refusal(missed) is None
        left_out = bool(decision.buy) and purchase is None
        if not left_out and not any(number is not None for number in settled.numbers.values()):
            # Nothing was ever released that an answer could be made of, or that may be.
            desk.ledger.require(missed, desk.asker)
    return settled


def require_all(decision: Decision, desk: Desk) -> None:
    """Raise what some of the numbers would be refused with, unless all can be bought, or made of what was released."""
    if not decision.relax:
        return
    found = settle(decision, desk, None).numbers
    numbers = [found.get(cell) for cell in decision.relax]
    if any(one is None or (isinstance(one, Estimate) and one.kind == "relaxed") for one in numbers):
        desk.ledger.require(desk.cost(decision.plan_of_all()), desk.asker)


def _again(decision: Decision, desk: Desk, purchase: Purchase) -> Decision:
    """The same decided by what is public now."""
    return decide(decision.laws, desk, purchase.bought, decision.afresh)


def _awaited(decision: Decision, desk: Desk, purchase: Purchase) -> bool:
    """See to a charge without an answer that will answer a missing number, alone or as one of its groups: wait for
    whoever is at it; or, where it lost its answer and was made for these very numbers, finish it. False where there is
    none."""
    others = [*desk.others] if decision.buy or decision.relax or decision.patches else []
    missing = decision.missing if others else {}
    for other in others:
        if not any(other.will_answer(query, region, law) for (query, _), (region, law) in missing.items()):
            continue
        if purchase.wait(other.charge):
            return True
        if other.plan in (decision.plan(), decision.plan_of_all()):
            purchase.finish(other.charge)
            return True
    return False


def _measure(decision: Decision, desk: Desk, purchase: Purchase, settled: Settled) -> bool:
    """Buy what a decision says; False where there is another decision to make."""
    plan = decision.plan()

    def to_buy() -> Iterator[tuple[Cell, Region, Law]]:
        yield from ((cell, region, decision.laws[cell[0]]) for cell, region in decision.buy.items())
        yield from (((query, ()), query.where, law) for query, law in decision.patches.items())

    def is_needed() -> bool:
        desk.known.refresh()
        if desk.known.seen == decision.seen:
            return True
        since = (repeated_number(cell, region, desk.in_grains(cell[0], law), desk) for cell, region, law in to_buy())
        return all(number is None for number in since)

    release = purchase.measure_once(plan, is_needed)
    if release is None:
        return False
    bought = zip(decision.buy.by_query.items(), release.answers, strict=False)
    for place, ((query, regions), noisy) in enumerate(bought):
        measured = _measured(noisy, (release.charge, place), regions)
        known = settled.numbers.by_query.get(query)
        settled.numbers.by_query[query] = measured if known is None else {**known, **measured}
    settled.charges.add(release.charge)
    desk.known.refresh()
    _improve(settled, desk)
    return True


def _improve(settled: Settled, desk: Desk) -> None:
    """Make every number the best that is public, now that more was released: whoever asks next is told the same."""
    for query, numbers in [*settled.numbers.by_query.items()]:
        if not isinstance(query, Count | Sum) or is_as_measured(query, desk):
            continue
        if isinstance(numbers, Numbers) and isinstance(numbers.grid, Grid):
            alike = best_of_groups(numbers.grid, desk.known.of(query), desk.known.noise)
            if alike is not None:
                same: Kind | None = "measured" if numbers.laws[0].kind == "measured" else None
                settled.numbers.by_query[query] = public_groups(query, numbers.grid, alike, desk, same)
                continue
        noisy = {codes: one for codes, one in numbers.items() if isinstance(one, Estimate) and one.answered}
        found = desk.known.best(query, [one.answered for one in noisy.values()])
        for (codes, number), best in zip(noisy.items(), found, strict=True):
            if best is not None:
                kind: Kind | None = "measured" if number.kind == "measured" else None
                settled.numbers[query, codes] = public(query, number.answered, best, desk, kind)


def _measured(noisy: Noisy, source: Source, regions: Mapping[Codes, Region]) -> Mapping[Codes, Estimate | Picked]:
    """What a fresh answer says of each group. All its numbers have one law, and are of one source."""
    units = noisy.units
    law = noisy.measurement.law
    if isinstance(law, Exponential):
        return {codes: Picked(int(units[codes]), law.scale, "measured") for codes in regions}
    draws, sources = (Draws(1.0, noisy.noise),), frozenset({source})
    one = in_grains(Estimate(1, noisy.noise.variance, "measured", Region(()), draws, sources=sources), noisy.grain)
    if isinstance(regions, AnyGrid):
        return GridNumbers(regions, regions.of_each(units), one)
    return {
        codes: Estimate(
            int(units[codes]) * one.value, one.variance, "measured", region, draws, noisy.grain, sources=sources
        )
        for codes, region in regions.items()
    }


def _relaxed(
    query: Query, region: Region, drafts: tuple[Draft, ...], desk: Desk, is_patched: bool
) -> Estimate | Picked | None:
    """The answer that some drafts make; it is derived, and not relaxed, where it is for the very region and free. None
    where it is for another, and the policy does not want that. A quantile follows from counts by its attribute."""
    if isinstance(query, Quantile):
        return _from_counts(query, region, desk)
    if not isinstance(query, Count | Sum) or not drafts:
        return None
    past = desk.known.of(query)

    def measured(box: Box) -> PastAnswer | None:
        found = past.same(Region((box,)))
        if is_patched and not found:
            # This is about another table by now.
            raise Refreshed("the vault went over to another snapshot in the meantime: ask again")
        return found[0] if found else None

    relaxed = [carried_out(draft, desk.metric, measured) for draft in drafts]
    is_free = not any(one.measured for one in relaxed)
    if is_free and tuple(one.compound.difference for one in relaxed) == region.boxes:
        terms = [answer for one in relaxed for answer in (*one.compound.plus, *one.compound.minus)]
        [found] = desk.known.best(query, [region])
        derived = derive(region, past, known=terms if len(relaxed) == 1 else ()) if found is None else None
        if found is not None:
            return public(query, region, found, desk)
        if derived is not None:
            estimate = released(derived.terms, "derived", region, past, desk.known.noise)
            return in_grains(estimate, desk.grain(query))
    if not desk.policy.relax or not all(desk.policy.is_near(one.error) for one in relaxed):
        return None
    return combined([(1, _compound_estimate(query, one, desk)) for one in relaxed])


def _from_counts(query: Quantile, region: Region, desk: Desk) -> Picked | None:
    """A quantile by the released counts of its region; None where there are none by its attribute."""
    histogram = released_histogram(query, region, desk)
    return None if histogram is None else Picked(code_at(query.level, histogram), Fraction(0), "derived")


def _compound_estimate(query: Count | Sum, relaxed: Relaxed, desk: Desk) -> Estimate:
    past, compound = desk.known.of(query), relaxed.compound
    answered = Region((compound.difference,))
    # The compound is one unbiased combination; the best that is public has no more variance, and often much less.
    [found] = desk.known.best(query, [answered])
    if found is not None and found.variance <= compound.variance * (1 + ROUNDING):
        estimate = public(query, answered, found, desk, "relaxed")
        return replace(estimate, relaxation_error=relaxed.error, compound=compound)
    derived = derive(answered, past, known=[*compound.plus, *compound.minus])
    terms = compound.terms if derived is None else derived.terms
    estimate = released(terms, "relaxed", answered, past, desk.known.noise)
    return in_grains(replace(estimate, relaxation_error=relaxed.error, compound=compound), desk.grain(query))
