"""What to do with a question, decided from public things only.

For every group of every elementary quantity (a count, a sum, a quantile), in this order: the same one was measured
before, sharply enough → repeated; it follows from released answers, sharply enough → derived; there is budget left in
its region → measured; else → relaxed: an answer for the nearest region that released answers can make.
"""

from dataclasses import replace
from itertools import combinations

from discreet.answer.decision import Decision, plan_of
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Picked, nothing
from discreet.answer.grid import Cell, Cells, Codes, Grid, grid_of
from discreet.answer.past import groups_to_plan
from discreet.answer.public import are_measured_alone, free_at_once, free_numbers, says_nothing
from discreet.answer.relax import CanMeasure, Draft, best_draft
from discreet.deadline import still_wanted
from discreet.domain.region import Box, Region
from discreet.ledger.spend import Cost
from discreet.noise.law import Gaussian, Laplace, Law, Noise
from discreet.query.query import Count, Query, Sum

MOST_RELAXED_BOXES = 8
"""A region of more boxes than this is relaxed as one."""


def decide(
    laws: dict[Query, Law], desk: Desk, bought: Cost | None = None, afresh: frozenset[Cell] = frozenset()
) -> Decision:
    """Sort the numbers of a question into free ones, ones to buy, and ones to relax. Spends nothing.

    `bought` is what the question has spent already, and `afresh` names numbers that are to be measured although
    something public makes them.
    """
    desk.known.refresh()
    seen = desk.known.seen
    free: Cells[Estimate | Picked] = Cells()
    needed: Cells[Region] = Cells()
    groups: dict[Query, int] = {}
    again = {query for query, _ in afresh}
    for query, law in laws.items():
        still_wanted()
        wanted = desk.in_grains(query, law)
        grid = grid_of(query.by, query.where, desk.domain)
        if grid is not None and isinstance(query, Count | Sum) and are_measured_alone(query, desk, grid):
            needed.by_query[query] = grid
            groups[query] = len(grid)
            continue
        known = None if grid is None or query in again else free_at_once(query, grid, wanted, desk)
        if isinstance(known, Grid):
            needed.by_query[query] = known
        elif known is not None:
            free.by_query[query] = known
        if known is not None:
            groups[query] = len(known)
            continue
        groups[query] = _decide_each(query, wanted, desk, afresh, free, needed)
    buy, relaxed = _affordable(needed, laws, groups, desk)
    decision = Decision(free, buy, relaxed, laws, afresh=afresh, seen=seen, groups=groups)
    return drafted(decision, desk, bought or Cost())


def _decide_each(
    query: Query,
    wanted: Law,
    desk: Desk,
    afresh: frozenset[Cell],
    free: Cells[Estimate | Picked],
    needed: Cells[Region],
) -> int:
    """Sort the groups of a quantity one by one, and count them."""
    is_new = isinstance(query, Count | Sum) and says_nothing(query, desk)
    count = 0
    regions: dict[Codes, Region] = {}
    for codes, region in groups_to_plan(query.by, query.where, desk.domain):
        count += 1
        if not region:
            free[query, codes] = nothing(region)
        elif is_new or (query, codes) in afresh:
            needed[query, codes] = region
        else:
            regions[codes] = region
    known = free_numbers(query, regions, wanted, desk)
    for (codes, region), found in zip(regions.items(), known, strict=True):
        if found is None:
            needed[query, codes] = region
        else:
            free[query, codes] = found
    return count


def _affordable(
    needed: Cells[Region], laws: dict[Query, Law], groups: dict[Query, int], desk: Desk
) -> tuple[Cells[Region], Cells[Region]]:
    """All of them where they fit together; else group by group: those of one GROUP BY do not share a point, those of
    another one have to fit beside what was chosen before."""
    whole = plan_of(needed, laws, groups)
    if not needed or desk.fits(whole):
        return needed, Cells()
    buy: Cells[Region] = Cells()
    relaxed: Cells[Region] = Cells()
    before = Cost()
    for by in dict.fromkeys(query.by for query in needed.by_query):
        own = {query: regions for query, regions in needed.by_query.items() if query.by == by}
        bought: list[Cost] = []
        for codes in dict.fromkeys(codes for regions in own.values() for codes in regions):
            still_wanted()
            cells = Cells({query: {codes: regions[codes]} for query, regions in own.items() if codes in regions})
            cost = desk.cost(plan_of(cells, laws))
            fits = desk.ledger.fits(before + cost, desk.asker)
            if fits:
                bought.append(cost)
            for cell, region in cells.items():
                (buy if fits else relaxed)[cell] = region
        before = sum(bought, before)
    return buy, relaxed


def drafted(decision: Decision, desk: Desk, bought: Cost) -> Decision:
    """A decision with a draft for each number to relax, and the patches that the policy lets these buy."""
    drafts: dict[Cell, tuple[Draft, ...]] = {}
    patches: dict[Query, Law] = {}
    for cell, region in decision.relax.items():
        still_wanted()
        query, law = cell[0], decision.laws[cell[0]]
        if not (isinstance(query, Count | Sum) and isinstance(law, Laplace | Gaussian)):
            continue
        so_far = replace(decision, patches=patches)
        found = drafts[cell] = _affordable_drafts(query, region, law, so_far, desk, bought)
        patches = so_far.patched(query, law, *(box for draft in found for box in draft.to_buy)).patches
    return replace(decision, drafts=drafts, patches=patches)


def _affordable_drafts(
    query: Count | Sum, region: Region, law: Noise, decision: Decision, desk: Desk, bought: Cost
) -> tuple[Draft, ...]:
    """How a number is relaxed: with patches where the policy wants them, and they are affordable and of use."""

    def can_measure(*boxes: Box) -> bool:
        may = desk.policy.relax and desk.policy.patches and not _is_averaged(query, decision.laws)
        return may and desk.may_buy(decision.patched(query, law, *boxes).plan(), bought)

    drafts = _drafts(query, region, desk, can_measure)
    if any(draft.to_buy for draft in drafts) and not _is_sharp(drafts, desk.in_grains(query, law), desk):
        return _drafts(query, region, desk, lambda *_: False)
    return drafts


def _is_averaged(query: Count | Sum, laws: dict[Query, Law]) -> bool:
    """Whether a count and a sum of the same rows are asked for, as an average does: they have to be of one region."""
    same = (one for one in laws if isinstance(one, Count | Sum) and (one.where, one.by) == (query.where, query.by))
    return len({type(one) for one in same}) > 1


def _is_sharp(drafts: tuple[Draft, ...], noise: Law, desk: Desk) -> bool:
    """Whether patches with this noise are worth buying: a compound of them is as sharp as one of ξ such counts."""
    assert isinstance(noise, Laplace | Gaussian)
    most = desk.policy.compound_size * noise.variance
    return all(draft.variance(noise.variance) <= most for draft in drafts)


def _drafts(query: Count | Sum, region: Region, desk: Desk, can_measure: CanMeasure) -> tuple[Draft, ...]:
    """The nearest compound for each box of a region, to be added up; where those overlap, for the box that bounds them
    all. None where nothing was ever released, or nothing that is near enough for the policy."""

    def drafts_of(*boxes: Box) -> tuple[Draft, ...]:
        past, metric = desk.known.of(query), desk.metric
        planned: list[Box] = []
        drafts = []
        for box in boxes:
            draft = best_draft(box, past, metric, desk.policy.compound_size, lambda *more: can_measure(*planned, *more))  # noqa: B023
            if draft is None or not desk.policy.is_near(draft.error):
                return ()
            drafts.append(draft)
            planned += draft.to_buy
        return tuple(drafts)

    if 1 < len(region.boxes) <= MOST_RELAXED_BOXES:
        drafts = drafts_of(*region.boxes)
        answered = [Region((draft.difference,)) for draft in drafts]
        if drafts and not any(a.intersect(b) for a, b in combinations(answered, 2)):
            return drafts
    return drafts_of(region.bounds)
