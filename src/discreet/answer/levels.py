"""Quantities of one statement that follow from finer ones of it: a total from its groups, a ROLLUP from its finest.

What follows is not measured: the lines then add up, and cost nothing. Where an accuracy was asked for, that is weighed:
the finest measured so sharply that their sums keep it as well, or each measured on its own, whichever costs less.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.answer.answer import Desk, Settled, decide
from discreet.answer.estimate import Estimate, gathered_sum
from discreet.answer.grid import Codes, count_of_groups
from discreet.answer.past import groups_to_plan
from discreet.answer.policy import Wish, stepped
from discreet.errors import BudgetExceeded, InvalidNoise
from discreet.noise.law import Exponential, Law
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Query, Sum

WIDER = 1.02
"""A sum of draws reaches at most this much further, for its variance, than a single draw does."""


@dataclass(frozen=True)
class Levels:
    """The noise of what is measured, and what each other quantity is the sum of."""

    laws: dict[Query, Law]
    sums: dict[Query, Query] = field(default_factory=dict)

    def fill(self, settled: Settled, desk: Desk) -> None:
        """Put the sums beside the settled numbers that they are made of."""
        for coarse, fine in self.sums.items():
            parts: dict[Codes, list[Estimate | None]] = {}
            for codes, _ in groups_to_plan(fine.by, fine.where, desk.domain):
                found = settled.numbers.get((fine, codes))
                own = tuple(codes[fine.by.index(name)] for name in coarse.by)
                if not isinstance(found, Estimate) or found.kind == "relaxed":  # of another region, then
                    found = None
                parts.setdefault(own, []).append(found)
            for codes, region in groups_to_plan(coarse.by, coarse.where, desk.domain):
                estimates = parts.get(codes, [])
                known = [one for one in estimates if one is not None]
                whole = len(known) == len(estimates) and known
                settled.numbers[coarse, codes] = gathered_sum(known, region) if whole else None


def levels_of(laws: dict[Query, Law], wish: Wish, desk: Desk) -> Levels:
    """What to measure of these quantities, and what to add up. Made of public things only; spends nothing."""
    sums = dict(_followers(laws, desk))
    if not sums:
        return Levels(laws)
    added = Levels({query: law for query, law in laws.items() if query not in sums}, sums)
    if wish.within is None:
        return added
    added = Levels(_sharpened(laws, added, desk), sums)
    return added if _cost(added.laws, desk) <= _cost(laws, desk) and _is_allowed(added.laws, desk) else Levels(laws)


def _followers(laws: dict[Query, Law], desk: Desk) -> Iterator[tuple[Query, Query]]:
    """Each quantity that is a sum of a finer one, with the one of fewest groups; but for those that are free anyway."""
    for coarse in laws:
        finer = [fine for fine in laws if _is_sum_of(coarse, fine)]
        finest = [fine for fine in finer if not any(_is_sum_of(fine, other) for other in finer)]
        if finest:
            decision = decide({coarse: laws[coarse]}, desk)
            if decision.buy or decision.relax:
                yield coarse, min(finest, key=lambda fine: _cells(fine, desk))


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
    for coarse, fine in added.sums.items():
        groups: dict[Codes, int] = {}
        for codes, _ in groups_to_plan(fine.by, fine.where, desk.domain):
            own = tuple(codes[fine.by.index(name)] for name in coarse.by)
            groups[own] = groups.get(own, 0) + 1
        law = laws[coarse]
        assert not isinstance(law, Exponential)
        sharper = law.times(stepped(1 / (WIDER * math.sqrt(max(groups.values(), default=1)))))
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
