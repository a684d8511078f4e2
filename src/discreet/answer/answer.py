"""What to do with a question, decided from public things only.

For every group of every elementary quantity (a count, a sum, a quantile), in this order: the same one was measured
before, sharply enough → repeated; it follows from released answers, sharply enough → derived; there is budget left in
its region → measured; else → relaxed: an answer for the nearest region that released answers can make.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.answer.alike import BestOfGroups, best_of_groups, is_untold
from discreet.answer.best import Best
from discreet.answer.compound import Metric
from discreet.answer.derive import derive
from discreet.answer.estimate import FROM_WORST, Estimate, Kind, combined, in_grains, nothing, released, worst
from discreet.answer.grid import AnyGrid, Cell, Cells, Codes, Grid, GridNumbers, Numbers, NumbersByLaw, grid_of
from discreet.answer.independent import are_independent
from discreet.answer.index import Answers
from discreet.answer.known import Known
from discreet.answer.labelled import LabelledBlock, LabelledGrid, are_alike
from discreet.answer.others import Others
from discreet.answer.past import CountBlock, PastAnswer, groups_to_plan
from discreet.answer.policy import Policy
from discreet.answer.quantiles import Histogram, code_at, histogram_of, labelled_histogram
from discreet.answer.relax import CanMeasure, Draft, Relaxed, best_draft, carried_out
from discreet.deadline import still_wanted
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded, InvalidNoise, QuotaExceeded, Refreshed
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost
from discreet.noise.law import Exponential, Gaussian, Laplace, Law, Noise
from discreet.noise.spread import Draws
from discreet.query.marginals import Source
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Distinct, People, Quantile, Query, Sum
from discreet.release.purchase import Purchase
from discreet.release.release import Noisy

ROUNDING = 1e-9
"""Variances this close to each other, relatively, may be equal."""
MOST_RELAXED_BOXES = 8
"""A region of more boxes than this is relaxed as one."""


@dataclass(frozen=True)
class Picked:
    """A quantile's code."""

    code: int
    scale: Fraction
    kind: Kind


@dataclass(frozen=True)
class Desk:
    """What answers are made with. All of it is public and none of it can spend: what can is a `Purchase`."""

    domain: Domain
    ledger: Books
    known: Known
    policy: Policy
    others: Others
    """Charges whose answers are on their way: worth waiting for."""
    asker: Asker | None = None
    """For whom; their quota bounds what may be bought."""

    def __post_init__(self) -> None:
        self.policy.metric(self.domain)  # weights of no attribute are refused before anything is asked

    @cached_property
    def metric(self) -> Metric:
        """How far regions are from one another, as the policy weighs it."""
        return self.policy.metric(self.domain)

    def relaxing(
        self,
        relax: bool | None,
        weights: Mapping[str, object] | None = None,
        compound_size: int | None = None,
    ) -> "Desk":
        """The same for a question that says whether and how it may be relaxed; None where it does not."""
        if relax is None and not weights and compound_size is None:
            return self
        return replace(self, policy=self.policy.for_question(self.domain, relax, weights, compound_size))

    def fits(self, plan: Plan) -> bool:
        """Whether the vault's budget and the asker's quota have room for a plan now."""
        return self.ledger.fits(plan.cost(self.domain, self.ledger.budget), self.asker)

    def left(self, region: Region) -> Fraction:
        """The least that the vault's budget and the asker's quota leave at any point of a region."""
        left = self.ledger.budget.amount_of(self.ledger.left(region))
        own = None if self.asker is None else self.ledger.quota_left(self.asker, region)
        return left if own is None else min(left, own)

    def may_buy(self, plan: Plan, bought: Cost) -> bool:
        """Whether a question that has `bought` so much could buy a plan now: by the policy's limits too."""
        try:
            self.policy.limits.require(plan, self.domain, self.ledger.budget, bought)
        except (InvalidNoise, BudgetExceeded):
            return False
        return self.fits(plan)

    def grain(self, query: Query) -> Fraction:
        return query.grain(self.domain)


@dataclass(frozen=True)
class Decision:
    """How each number of a question is to be had. Public: it depends on the journal and the domain."""

    free: Cells[Estimate | Picked]
    buy: Cells[Region]
    relax: Cells[Region]
    laws: dict[Query, Law]
    drafts: dict[Cell, tuple[Draft, ...]] = field(default_factory=dict)
    """How those are relaxed that can be: a box each, in whose place they are answered."""
    patches: dict[Query, Law] = field(default_factory=dict)
    """Counts and sums of single boxes that the drafts need measured."""
    afresh: frozenset[Cell] = frozenset()
    """Numbers that are measured although something public makes them: not as sharply as was asked for."""
    seen: tuple[SnapshotId | None, int] = (None, 0)
    """How far the journal was when it was made: `Known.seen`."""
    groups: dict[Query, int] = field(default_factory=dict)
    """How many groups each quantity has in all."""

    def again(self, desk: Desk, purchase: Purchase) -> "Decision":
        """The same decided by what is public now."""
        return decide(self.laws, desk, purchase.bought, self.afresh)

    def only(self, query: Query) -> "Decision":
        """What it says of one of its quantities."""
        return replace(
            self,
            free=self.free.only(query),
            buy=self.buy.only(query),
            relax=self.relax.only(query),
            laws={query: self.laws[query]},
            drafts={cell: drafts for cell, drafts in self.drafts.items() if cell[0] == query},
            patches={},
            groups={query: self.groups[query]},
        )

    def plan(self) -> Plan:
        """What to measure: each quantity once, over the groups that need it; and patches."""
        bought = [
            Measurement(
                query if self.groups.get(query) == len(regions) else _within(query, [*regions.values()]),
                self.laws[query],
            )
            for query, regions in self.buy.by_query.items()
        ]
        return Plan((*bought, *(Measurement(query, law) for query, law in self.patches.items())))

    def patched(self, query: Count | Sum, law: Law, *boxes: Box) -> "Decision":
        """The same with more to be measured: a quantity of some boxes."""
        more: dict[Query, Law] = {replace(query, where=Region((box,)), by=()): law for box in boxes}
        return replace(self, patches=self.patches | more)

    def kinds(self, parts: Collection[Query]) -> Counter[Kind]:
        """Of how many groups a number comes from where, that is made of these quantities."""
        own: list[tuple[Mapping[Codes, object], Kind | None]] = [
            *((self.free.by_query[query], None) for query in parts if query in self.free.by_query),
            *((self.buy.by_query[query], "measured") for query in parts if query in self.buy.by_query),
            *((self.relax.by_query[query], "relaxed") for query in parts if query in self.relax.by_query),
        ]
        grids = [_grid_and_kinds(found, kind) for found, kind in own]
        alike = [one for one in grids if one is not None]
        if own and len(alike) == len(own) and all(alike[0][0].is_like(grid) for grid, _ in alike):
            return _counted(np.minimum.reduce([kinds for _, kinds in alike]))
        kinds: dict[Codes, set[Kind]] = {}
        for found, kind in own:
            for codes, number in found.items():
                kinds.setdefault(codes, set()).add(kind or number.kind)  # type: ignore[attr-defined]
        return Counter(map(worst, kinds.values()))

    @property
    def missing(self) -> dict[Cell, tuple[Region, Law]]:
        """Every number that is not there yet, with the noise it is to have."""
        wanted = self.buy.plus(self.relax)
        asked = {cell: (region, self.laws[cell[0]]) for cell, region in wanted.items()}
        return asked | {(query, ()): (query.where, law) for query, law in self.patches.items()}


def _grid_and_kinds(found: Mapping[Codes, object], kind: Kind | None) -> tuple[AnyGrid, NDArray[np.int64]] | None:
    """The groups of numbers that are in arrays, and how each is had: its place in `FROM_WORST`."""
    if isinstance(found, Numbers):
        return found.grid, found.kinds
    if not isinstance(found, AnyGrid) or kind is None:
        return None
    return found, np.full(len(found), FROM_WORST.index(kind))


def _counted(kinds: NDArray[np.int64]) -> Counter[Kind]:
    """How many there are of each kind, in the order in which they come first."""
    found, firsts, counts = np.unique(kinds, return_index=True, return_counts=True)
    return Counter({FROM_WORST[found[place]]: int(counts[place]) for place in np.argsort(firsts)})


def _within(query: Query, regions: list[Region]) -> Query:
    """A query over some of its groups; the query itself where that is all of its region."""
    if sum(region.volume for region in regions) == query.where.volume:
        return query
    return replace(query, where=Region.of(box for region in regions for box in region.boxes))


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
        wanted = _in_grains(query, law, desk)
        grid = grid_of(query.by, query.where, desk.domain)
        if grid is not None and isinstance(query, Count | Sum) and _are_independent(query, desk, grid):
            needed.by_query[query] = grid
            groups[query] = len(grid)
            continue
        known = None if grid is None or query in again else _all_at_once(query, grid, wanted, desk)
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
    return _drafted(decision, desk, bought or Cost())


def _decide_each(
    query: Query,
    wanted: Law,
    desk: Desk,
    afresh: frozenset[Cell],
    free: Cells[Estimate | Picked],
    needed: Cells[Region],
) -> int:
    """Sort the groups of a quantity one by one, and count them."""
    is_new = isinstance(query, Count | Sum) and _says_nothing(query, desk)
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
    known = _free(query, regions, wanted, desk)
    for (codes, region), found in zip(regions.items(), known, strict=True):
        if found is None:
            needed[query, codes] = region
        else:
            free[query, codes] = found
    return count


def _drafted(decision: Decision, desk: Desk, bought: Cost) -> Decision:
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
    if any(draft.to_buy for draft in drafts) and not _is_sharp(drafts, _in_grains(query, law, desk), desk):
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
    return drafts_of(bounding_box(region))


def _in_grains(query: Query, law: Law, desk: Desk) -> Law:
    return law if isinstance(law, Exponential) else law.times(1 / desk.grain(query))


def _free(query: Query, groups: Mapping[Codes, Region], law: Law, desk: Desk) -> list[Estimate | Picked | None]:
    """Numbers that need not be measured, for what is public is as sharp as this law, which is in grains."""
    regions = [*groups.values()]
    if isinstance(query, Count | Sum) and isinstance(law, Laplace | Gaussian):
        enough = law.variance * (1 + ROUNDING)
        found = desk.known.best(query, regions, enough)
        return [
            public(query, region, one, desk) if one is not None and one.variance <= enough else None
            for region, one in zip(regions, found, strict=True)
        ]
    return [_repeated((query, codes), region, law, desk) for codes, region in groups.items()]


def public(query: Count | Sum, region: Region, found: Best, desk: Desk, kind: Kind | None = None) -> Estimate:
    """The best that is public, as an answer."""
    own: Kind = kind or ("repeated" if found.is_one_draw else "derived")
    estimate = Estimate(found.value, found.variance, own, region, found.draws, sources=found.sources, facts=found.facts)
    return in_grains(estimate, desk.grain(query))


def _repeated(cell: Cell, region: Region, law: Law, desk: Desk) -> Estimate | Picked | None:
    """A number that was measured as itself, as sharply as this law, which is in grains."""
    query, codes = cell
    match query, law:
        case Quantile(), Exponential():
            found = desk.known.quantile(replace(query, where=region, by=()))
            return Picked(found[1], found[0], "repeated") if found is not None and found[0] <= law.scale else None
        case ((Count() | Sum()), (Laplace() | Gaussian())):
            return _again(query, desk.known.of(query).measured(region), region, law, desk)
        case ((Distinct() | People()), (Laplace() | Gaussian())):
            return _again(query, desk.known.distinct(query, codes, region), region, law, desk)
    return None


def _all_again(query: Query, grid: AnyGrid, law: Law, desk: Desk) -> GridNumbers | None:
    """What `_free` finds for every group, where all that is public is such groups of the same."""
    if not isinstance(query, Count | Sum) or isinstance(law, Exponential) or not is_as_measured(query, desk):
        return None
    found = _same_groups(grid, desk.known.of(query))
    if found is None or found[0].variance > law.variance:
        return None
    block, units = found
    draws, sources = (Draws(1.0, desk.known.noise(block.source)),), frozenset({block.source})
    one = Estimate(1, block.variance, "repeated", query.where, draws, sources=sources)
    return GridNumbers(grid, units, in_grains(one, desk.grain(query)))


def _all_at_once(query: Query, grid: AnyGrid, law: Law, desk: Desk) -> Numbers | Grid | None:
    """The same, or where tables of the whole tell of all groups; the grid itself where every group is to be measured,
    and None where that is found out group by group."""
    known = _all_again(query, grid, law, desk)
    if known is not None or not isinstance(grid, Grid) or not isinstance(query, Count | Sum):
        return known
    past = desk.known.of(query)
    if is_untold(grid, past):
        return grid
    found = best_of_groups(grid, past, desk.known.noise)
    if found is None or isinstance(law, Exponential):
        return None
    is_sharp = {one.variance <= law.variance * (1 + ROUNDING) for one in found.laws}
    if len(is_sharp) > 1:
        return None
    return _public_groups(query, grid, found, desk) if is_sharp == {True} else grid


def _public_groups(
    query: Count | Sum, grid: Grid, found: BestOfGroups, desk: Desk, kind: Kind | None = None
) -> Numbers:
    """`public`, of all groups."""
    laws = tuple(public(query, query.where, one, desk, kind) for one in found.laws)
    return (
        GridNumbers(grid, found.values, *laws) if len(laws) == 1 else NumbersByLaw(grid, found.values, laws, found.law)
    )


def _same_groups(grid: AnyGrid, past: Answers) -> tuple[CountBlock | LabelledBlock, NDArray[np.int64]] | None:
    """The table in which these very groups were released, and their numbers."""
    if isinstance(grid, LabelledGrid):
        labelled = next((one for one in past.labelled if one.has(grid)), None)
        return None if labelled is None else (labelled, grid.of_each(labelled.along(grid.by)))
    by = tuple(sorted(grid.axes))
    block = next((one for one in past.groups.blocks if one.by == by and one.aligned(grid.box)), None)
    if block is None:
        return None
    start = block.where.low
    found = block.values[tuple(slice(grid.box.low[a] - start[a], grid.box.high[a] - start[a] + 1) for a in by)]
    return block, np.transpose(found, [by.index(axis) for axis in grid.axes]).reshape(-1)


def _again(query: Query, same: PastAnswer | None, region: Region, law: Noise, desk: Desk) -> Estimate | None:
    """A released number as it is, where it is as sharp as this law."""
    if same is None or same.variance > law.variance:
        return None
    draws, sources = (Draws(1.0, desk.known.noise(same.source)),), frozenset({same.source})
    repeated = Estimate(same.value, same.variance, "repeated", region, draws, sources=sources)
    return in_grains(repeated, desk.grain(query))


def _affordable(
    needed: Cells[Region], laws: dict[Query, Law], groups: dict[Query, int], desk: Desk
) -> tuple[Cells[Region], Cells[Region]]:
    """All of them where they fit together; else group by group: those of one GROUP BY do not share a point, those of
    another one have to fit beside what was chosen before."""
    whole = Decision(Cells(), needed, Cells(), laws, groups=groups).plan()
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
            cost = Decision(Cells(), cells, Cells(), laws).plan().cost(desk.domain, desk.ledger.budget)
            fits = desk.ledger.fits(before + cost, desk.asker)
            if fits:
                bought.append(cost)
            for cell, region in cells.items():
                (buy if fits else relaxed)[cell] = region
        before = sum(bought, before)
    return buy, relaxed


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
        decision = decision.again(desk, purchase)
    settled = Settled(Cells[Estimate | Picked | None](decision.free.by_query))
    to_relax = decision.relax
    if decision.plan().measurements and purchase is not None:
        try:
            is_bought = _measure(decision, desk, purchase, settled)
        except (BudgetExceeded, QuotaExceeded):
            # It was spent since the decision.
            without = replace(desk.policy, patches=False)
            decision = _drafted(
                replace(decision, relax=to_relax.plus(decision.buy), patches={}), replace(desk, policy=without), Cost()
            )
            to_relax = decision.relax
        else:
            if not is_bought:
                return settle(decision.again(desk, purchase), desk, purchase)
    for (query, codes), region in to_relax.items():
        drafts = decision.drafts.get((query, codes), ())
        settled.numbers[query, codes] = _relaxed(query, region, drafts, desk, purchase is not None)
    if to_relax:
        settled.too_dear = frozenset(query for query, cells in to_relax.by_query.items() if cells)
        missed = Decision(Cells(), to_relax, Cells(), decision.laws).plan().cost(desk.domain, desk.ledger.budget)
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
        desk.ledger.require(_all_of_it(decision).plan().cost(desk.domain, desk.ledger.budget), desk.asker)


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
        if other.plan in (decision.plan(), _all_of_it(decision).plan()):
            purchase.finish(other.charge)
            return True
    return False


def _all_of_it(decision: Decision) -> Decision:
    return Decision(Cells(), decision.buy.plus(decision.relax), Cells(), decision.laws)


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
        since = (_repeated(cell, region, _in_grains(cell[0], law, desk), desk) for cell, region, law in to_buy())
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
                settled.numbers.by_query[query] = _public_groups(query, numbers.grid, alike, desk, same)
                continue
        noisy = {codes: one for codes, one in numbers.items() if isinstance(one, Estimate) and one.answered}
        found = desk.known.best(query, [one.answered for one in noisy.values()])
        for (codes, number), best in zip(noisy.items(), found, strict=True):
            if best is not None:
                kind: Kind | None = "measured" if number.kind == "measured" else None
                settled.numbers[query, codes] = public(query, number.answered, best, desk, kind)


def _has_groups_alone(query: Count | Sum, desk: Desk) -> bool:
    """Whether nothing else is public of a quantity than tables of groups."""
    past = desk.known.of(query)
    return not (past.has_single_regions or past.residuals or desk.known.has_facts)


def _says_nothing(query: Count | Sum, desk: Desk) -> bool:
    """Whether nothing is public of a quantity."""
    past = desk.known.of(query)
    return _has_groups_alone(query, desk) and not past.groups.blocks and not past.labelled


def is_as_measured(query: Count | Sum, desk: Desk) -> bool:
    """Whether the best that is public of each of its groups is the number as it was measured."""
    return not _says_nothing(query, desk) and _are_independent(query, desk)


def _are_independent(query: Count | Sum, desk: Desk, *more: AnyGrid) -> bool:
    """Whether tables by the same groups are all that is public of a quantity, and none of their numbers, nor of `more`
    beside them, follows from others."""
    if not _has_groups_alone(query, desk):
        return False
    past = desk.known.of(query)
    tables = [(one.by, one.where) for one in past.groups.blocks]
    tables += [(tuple(sorted(grid.axes)), grid.box) for grid in more if isinstance(grid, Grid)]
    labelled = [*(one.grid for one in past.labelled), *(grid for grid in more if isinstance(grid, LabelledGrid))]
    if not labelled:
        return are_independent(tables)
    return not tables and are_alike(labelled) and are_independent([(grid.axes, grid.box) for grid in labelled])


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
            raise Refreshed("the vault was refreshed in the meantime: ask again")  # this is about another table by now
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


def released_histogram(query: Quantile, region: Region, desk: Desk) -> Histogram | None:
    """The released counts of a region by what a quantile is of."""
    counts, noise = desk.known.of(Count(region)), desk.known.noise
    if not isinstance(query.of, str):
        return labelled_histogram(region, query.of, counts, noise, desk.domain)
    return histogram_of(region, desk.domain.axis(query.of), desk.domain[query.of].cells, counts, noise)


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


def bounding_box(region: Region) -> Box:
    lows = zip(*(box.low for box in region.boxes), strict=True)
    highs = zip(*(box.high for box in region.boxes), strict=True)
    return Box(tuple(map(min, lows)), tuple(map(max, highs)))
