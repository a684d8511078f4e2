"""Quantities of one statement that follow from finer ones of it: a total from its groups, a ROLLUP from its finest.

What follows is not measured: the lines then add up, and cost nothing. Where an accuracy was asked for, that is weighed:
the finest measured so sharply that their sums keep it as well, or each measured on its own, whichever costs less.

FILTERs whose regions are the parts of another one's (those who do, those who do not, and all) are weighed always: with
Laplace noise, two or three parts are sharpened for less than the total costs beside them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.answer.decide import decide
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, gathered_sum
from discreet.answer.grid import Codes, Grid, GridNumbers, count_of_groups, grid_of
from discreet.answer.past import groups_to_plan
from discreet.answer.policy import Wish, stepped
from discreet.answer.public import is_as_measured, public
from discreet.answer.settle import Settled
from discreet.errors import BudgetExceeded, InvalidNoise
from discreet.noise.law import Exponential, Law, Noise
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Query, Sum

SAME = 1e-9
"""A part of what is added up: sums that differ by less are one number, computed in two ways."""
WIDER = 1.02
"""A sum of draws reaches at most this much further, for its variance, than a single draw does."""


@dataclass(frozen=True)
class Levels:
    """The noise of what is measured, and what each other quantity is the sum of."""

    laws: dict[Query, Law]
    sums: dict[Query, tuple[Query, ...]] = field(default_factory=dict)

    def fill(self, settled: Settled, desk: Desk) -> None:
        """Put the sums beside the settled numbers that they are made of."""
        for coarse, parts in self.sums.items():
            numbers = [settled.numbers.by_query.get(part) for part in parts]
            grid = grid_of(coarse.by, coarse.where, desk.domain)
            own = [one for one in numbers if isinstance(one, GridNumbers) and one.grid.is_like(grid)]
            if grid is not None and len(own) == len(parts):
                settled.numbers.by_query[coarse] = GridNumbers.sum_of(grid, own)
            else:
                self._fill_each(coarse, parts, settled, desk)

    def _fill_each(self, coarse: Query, parts: tuple[Query, ...], settled: Settled, desk: Desk) -> None:
        added: dict[Codes, list[Estimate | None]] = {}
        for part in parts:
            for codes, _ in groups_to_plan(part.by, part.where, desk.domain):
                found = settled.numbers.get((part, codes))
                own = tuple(codes[part.by.index(name)] for name in coarse.by)
                if not isinstance(found, Estimate) or found.kind == "relaxed":  # of another region, then
                    found = None
                added.setdefault(own, []).append(found)
        sums: dict[Codes, Estimate] = {}
        for codes, region in groups_to_plan(coarse.by, coarse.where, desk.domain):
            estimates = added.get(codes, [])
            known = [one for one in estimates if one is not None]
            if len(known) == len(estimates) and known:
                sums[codes] = gathered_sum(known, region)
            else:
                settled.numbers[coarse, codes] = None
        for codes, total in _told_together(coarse, sums, desk).items():
            settled.numbers[coarse, codes] = total


def _told_together(coarse: Query, sums: dict[Codes, Estimate], desk: Desk) -> dict[Codes, Estimate]:
    """The same sums; of those whose parts have draws in common, the best estimate of the whole, where that is the same
    number: what its parts have in common is known there, and each by itself would be taken for the worst."""
    mixed = {codes: one for codes, one in sums.items() if one.parts}
    if not mixed or not isinstance(coarse, Count | Sum):
        return sums
    best = desk.known.best(coarse, [one.answered for one in mixed.values()])
    found = dict(sums)
    for (codes, total), one in zip(mixed.items(), best, strict=True):
        if one is not None:
            whole = public(coarse, total.answered, one, desk, "derived")
            size = sum(abs(times * part.value) for times, part in total.parts)
            if abs(whole.value - total.value) <= SAME * max(size, 1.0):
                found[codes] = replace(whole, value=total.value)
    return found


def most_parts(coarse: Query, part: Query, desk: Desk) -> int:
    """How many numbers of a finer quantity are added up to one of a coarser, at most."""
    if part.by == coarse.by:
        return 1
    fine, whole = (grid_of(one.by, one.where, desk.domain) for one in (part, coarse))
    if isinstance(fine, Grid) and (isinstance(whole, Grid) or not coarse.by):
        return len(fine) // (len(whole) if whole is not None else 1)
    groups: dict[Codes, int] = {}
    for codes, _ in groups_to_plan(part.by, part.where, desk.domain):
        own = tuple(codes[part.by.index(name)] for name in coarse.by)
        groups[own] = groups.get(own, 0) + 1
    return max(groups.values(), default=1)


def levels_of(laws: dict[Query, Law], wish: Wish, desk: Desk) -> Levels:
    """What to measure of these quantities, and what to add up. Made of public things only; spends nothing."""
    return _in_parts(_by_groups(laws, wish, desk), desk)


def _by_groups(laws: dict[Query, Law], wish: Wish, desk: Desk) -> Levels:
    """The same of groups alone."""
    sums = dict(_followers(laws, desk))
    if not sums:
        return Levels(laws)
    added = Levels({query: law for query, law in laws.items() if query not in sums}, sums)
    if wish.within is None:
        return added
    added = Levels(_sharpened(laws, added, desk), sums)
    return added if _cost(added.laws, desk) <= _cost(laws, desk) and _is_allowed(added.laws, desk) else Levels(laws)


def _in_parts(levels: Levels, desk: Desk) -> Levels:
    """The same with quantities added up from FILTERs that part them, where those are as sharp as was asked for and cost
    less together. The smallest first: their parts then are those of larger ones."""
    used = {part for parts in levels.sums.values() for part in parts}
    for coarse in sorted(levels.laws, key=lambda query: query.where.volume):
        parts = () if coarse in used else _parts(coarse, [*levels.laws])
        if not parts:
            continue
        law = levels.laws[coarse]
        assert not isinstance(law, Exponential)
        laws = {query: own for query, own in levels.laws.items() if query != coarse}
        if _is_told((coarse, *parts), levels.laws, desk):
            if _tell(parts, law, levels.laws, desk):
                levels = Levels(laws, {**levels.sums, coarse: parts})
            continue
        sharper = law.times(stepped(1 / (WIDER * math.sqrt(len(parts)))))
        for part in parts:
            laws[part] = min(laws[part], sharper, key=lambda one: one.scale_squared)
        cheaper = _cost(laws, desk) < _cost(levels.laws, desk)
        if cheaper and _is_allowed(laws, desk) and not decide(laws, desk).relax:
            levels = Levels(laws, {**levels.sums, coarse: parts})
            used |= {*parts}
    return levels


def _is_told(queries: tuple[Query, ...], laws: dict[Query, Law], desk: Desk) -> bool:
    """Whether something that was released tells one of them, or one cannot be bought."""
    decision = decide({query: laws[query] for query in queries}, desk)
    return bool(decision.relax) or any(
        isinstance(numbers, GridNumbers) or any(isinstance(one, Estimate) and one.variance for one in numbers.values())
        for numbers in decision.free.by_query.values()
    )


def _tell(parts: tuple[Query, ...], law: Noise, laws: dict[Query, Law], desk: Desk) -> bool:
    """Whether parts that are all public as they were measured, group by group, make a sum as sharp as this law. Nothing
    else is public of them then, so that no other estimate is sharper."""
    free = decide({part: laws[part] for part in parts}, desk).free.by_query
    measured = [
        numbers for part, numbers in free.items() if isinstance(part, Count | Sum) and is_as_measured(part, desk)
    ]
    known = [numbers.one for numbers in measured if isinstance(numbers, GridNumbers)]
    grain = desk.grain(parts[0])
    enough = law.times(1 / grain).variance * float(grain) ** 2
    return len(known) == len(parts) and sum(one.variance for one in known) <= enough


def _parts(coarse: Query, others: Sequence[Query]) -> tuple[Query, ...]:
    """Queries of the same quantity and groups whose regions are the disjoint parts of its region, the smallest first;
    none where these make no whole."""
    if not isinstance(coarse, Count | Sum):
        return ()
    left, volume = coarse.where, coarse.where.volume
    inner = [
        one
        for one in others
        if type(one) is type(coarse) and (one.by, one.quantity) == (coarse.by, coarse.quantity) and one.where
    ]
    inner = sorted((one for one in inner if one.where.volume < volume), key=lambda one: one.where.volume)
    found = []
    for one in inner:
        if one.where.volume <= left.volume and left.covers(one.where):
            found.append(one)
            left = left.subtract(one.where)
    return () if left else tuple(found)


def _followers(laws: dict[Query, Law], desk: Desk) -> Iterator[tuple[Query, tuple[Query, ...]]]:
    """Each quantity that is a sum of a finer one, with the one of fewest groups; but for those that are free anyway."""
    for coarse in laws:
        finer = [fine for fine in laws if _is_sum_of(coarse, fine)]
        finest = [fine for fine in finer if not any(_is_sum_of(fine, other) for other in finer)]
        if finest:
            decision = decide({coarse: laws[coarse]}, desk)
            if decision.buy or decision.relax:
                yield coarse, (min(finest, key=lambda fine: _cells(fine, desk)),)


def _is_sum_of(coarse: Query, fine: Query) -> bool:
    if type(coarse) is not type(fine) or not isinstance(coarse, Count | Sum):
        return False
    if isinstance(coarse, Sum) and isinstance(fine, Sum) and coarse.of != fine.of:
        return False
    return coarse.where == fine.where and set(coarse.by) < set(fine.by)


def _cells(query: Query, desk: Desk) -> int:
    return count_of_groups(query.by, query.where, desk.domain)


def _sharpened(laws: dict[Query, Law], added: Levels, desk: Desk) -> dict[Query, Law]:
    """The noise of what is measured with which the sums are as sharp as was asked for too."""
    found = dict(added.laws)
    for coarse, (fine,) in added.sums.items():
        law = laws[coarse]
        assert not isinstance(law, Exponential)
        sharper = law.times(stepped(1 / (WIDER * math.sqrt(most_parts(coarse, fine, desk)))))
        found[fine] = min(found[fine], sharper, key=lambda one: one.scale_squared)
    return found


def _cost(laws: dict[Query, Law], desk: Desk) -> Fraction:
    budget = desk.ledger.budget
    plan = Plan(tuple(Measurement(query, law) for query, law in laws.items()))
    return Fraction(budget.amount_of(plan.cost(desk.domain, budget).peak))


def _is_allowed(laws: dict[Query, Law], desk: Desk) -> bool:
    try:
        for query, law in laws.items():
            desk.policy.limits.require_noise(query, law, desk.domain)
    except (InvalidNoise, BudgetExceeded):
        return False
    return True
