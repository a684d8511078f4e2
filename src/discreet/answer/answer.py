"""What to do with a question, decided from public things only.

For every group of every elementary quantity (a count, a sum, a quantile), in this order: the same one was measured
before, sharply enough → repeated; it follows from released answers, sharply enough → derived; there is budget left in
its region → measured; else → relaxed: an answer for the nearest region that released answers can make.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

from discreet.answer.compound import Metric
from discreet.answer.derive import derive
from discreet.answer.estimate import Estimate, Kind, combined, in_grains, nothing, released
from discreet.answer.known import Known
from discreet.answer.others import Others
from discreet.answer.past import PastAnswer, groups_of
from discreet.answer.policy import Policy
from discreet.answer.relax import relax
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded, QuotaExceeded, Refreshed
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.snapshot import SnapshotId
from discreet.noise.law import Exponential, Gaussian, Laplace, Law, Noise
from discreet.noise.spread import Draws
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Combination, Count, Quantile, Query, Sum, grain_of
from discreet.release.purchase import Purchase

Codes = tuple[int, ...]
Cell = tuple[Query, Codes]
"""One number: an elementary quantity, of one group."""
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

    def fits(self, plan: Plan) -> bool:
        """Whether the vault's budget and the asker's quota have room for a plan now."""
        return self.ledger.fits(plan.cost(self.domain, self.ledger.budget), self.asker)

    def grain(self, query: Query) -> Fraction:
        return grain_of(self.domain[query.of]) if isinstance(query, Sum) else Fraction(1)


@dataclass(frozen=True)
class Decision:
    """How each number of a question is to be had. Public: it depends on the journal and the domain."""

    free: dict[Cell, Estimate | Picked]
    buy: dict[Cell, Region]
    relax: dict[Cell, Region]
    laws: dict[Query, Law]
    seen: tuple[SnapshotId | None, int] = (None, 0)
    """How far the journal was when it was made: `Known.seen`."""

    def plan(self) -> Plan:
        """What to measure: each quantity once, over the groups that need it."""
        wanted: dict[Query, list[Box]] = {}
        for (query, _), region in self.buy.items():
            wanted.setdefault(query, []).extend(region.boxes)
        return Plan(
            tuple(
                Measurement(replace(query, where=_union(query, boxes)), self.laws[query])
                for query, boxes in wanted.items()
            )
        )


def _union(query: Query, boxes: list[Box]) -> Region:
    """The boxes of some groups as a region; the query's own where all of them are there."""
    volume = sum(box.volume for box in boxes)
    return query.where if volume == query.where.volume else Region.of(boxes)


def decide(laws: dict[Query, Law], desk: Desk) -> Decision:
    """Sort the numbers of a question into free ones, ones to buy, and ones to relax. Spends nothing."""
    desk.known.refresh()
    seen = desk.known.seen
    free: dict[Cell, Estimate | Picked] = {}
    needed: dict[Cell, Region] = {}
    for query, law in laws.items():
        wanted = _in_grains(query, law, desk)
        for codes, region in groups_of(query.by, query.where, desk.domain):
            found = _free(query, region, wanted, desk)
            if found is None:
                needed[query, codes] = region
            else:
                free[query, codes] = found
    buy, relaxed = _affordable(needed, laws, desk)
    return Decision(free, buy, relaxed, laws, seen)


def _in_grains(query: Query, law: Law, desk: Desk) -> Law:
    return law if isinstance(law, Exponential) else law.times(1 / desk.grain(query))


def _free(query: Query, region: Region, law: Law, desk: Desk) -> Estimate | Picked | None:
    """A number that need not be measured, for what is public is as sharp as this law, which is in grains."""
    if not region:
        return nothing(region)
    repeated = _repeated(query, region, law, desk)
    if repeated is None and isinstance(query, Count | Sum) and isinstance(law, Laplace | Gaussian):
        return _derived(query, region, law.variance, desk)
    return repeated


def _repeated(query: Query, region: Region, law: Law, desk: Desk) -> Estimate | Picked | None:
    """A number that was measured as itself, as sharply as this law, which is in grains."""
    match query, law:
        case Quantile(), Exponential():
            found = desk.known.quantile(replace(query, where=region, by=()))
            return Picked(found[1], found[0], "repeated") if found is not None and found[0] <= law.scale else None
        case ((Count() | Sum()), (Laplace() | Gaussian())):
            same = desk.known.same(query, region)
            if same is not None and same.variance <= law.variance:
                draws, sources = (Draws(1.0, desk.known.noise(same.source)),), frozenset({same.source})
                repeated = Estimate(same.value, same.variance, "repeated", region, draws, sources=sources)
                return in_grains(repeated, desk.grain(query))
    return None


def _derived(query: Count | Sum, region: Region, enough: float, desk: Desk) -> Estimate | None:
    past = desk.known.of(query)
    derived = derive(region, past, enough=enough)
    if derived is not None and derived.variance <= enough:
        return in_grains(released(derived.terms, "derived", region, past, desk.known.noise), desk.grain(query))
    return None


def _affordable(
    needed: dict[Cell, Region], laws: dict[Query, Law], desk: Desk
) -> tuple[dict[Cell, Region], dict[Cell, Region]]:
    """All of them where they fit together; else group by group, since groups do not share a point."""
    whole = Decision({}, needed, {}, laws).plan()
    if not needed or desk.fits(whole):
        return needed, {}
    buy: dict[Cell, Region] = {}
    relaxed: dict[Cell, Region] = {}
    for codes in dict.fromkeys(codes for _, codes in needed):
        cells = {cell: region for cell, region in needed.items() if cell[1] == codes}
        (buy if desk.fits(Decision({}, cells, {}, laws).plan()) else relaxed).update(cells)
    return buy, relaxed


@dataclass
class Settled:
    """The numbers of a question."""

    numbers: dict[Cell, Estimate | Picked | None] = field(default_factory=dict)
    combinations: dict[tuple[Combination, Codes], Estimate | None] = field(default_factory=dict)
    """Sums of quantities that were estimated as one; others are added up."""
    by_quota: bool = False
    """Whether the vault had let all of it be measured, and its asker's quota did not."""

    @property
    def is_fresh(self) -> bool:
        """Whether every number was measured for this question, and none is made of earlier answers."""
        found = [*self.numbers.values(), *self.combinations.values()]
        return all(_is_fresh(number) for number in found if number is not None)


def _is_fresh(number: Estimate | Picked) -> bool:
    of_nobody = isinstance(number, Estimate) and not number.answered
    return number.kind == "measured" or of_nobody


def settle(decision: Decision, desk: Desk, purchase: Purchase | None) -> Settled:
    """Carry out a decision: measure what is to be bought, relax the rest. What is on its way already is waited for, and
    what others have had measured meanwhile is decided about again: neither is charged twice.

    Without a purchase nothing is bought: numbers that would be are left out, and relaxed ones have no patches.
    """
    while purchase is not None and _awaited({**decision.buy, **decision.relax}, decision.laws, desk, purchase):
        decision = decide(decision.laws, desk)
    settled = Settled(dict(decision.free))
    to_relax = dict(decision.relax)
    if decision.buy and purchase is not None:
        try:
            is_bought = _measure(decision, desk, purchase, settled)
        except (BudgetExceeded, QuotaExceeded):
            # It was spent since the decision.
            to_relax.update(decision.buy)
        else:
            if not is_bought:
                return settle(decide(decision.laws, desk), desk, purchase)
    for (query, codes), region in to_relax.items():
        match query, decision.laws[query]:
            case ((Count() | Sum()), (Laplace() | Gaussian() as noise)):
                settled.numbers[query, codes] = _relaxed(query, region, noise, desk, purchase)
            case _:
                settled.numbers[query, codes] = None
    if to_relax:
        missed = Decision({}, to_relax, {}, decision.laws).plan().cost(desk.domain, desk.ledger.budget)
        limited = desk.asker is not None and desk.asker.quota is not None
        settled.by_quota = limited and desk.ledger.refusal(missed) is None
        left_out = bool(decision.buy) and purchase is None
        if not left_out and not any(number is not None for number in settled.numbers.values()):
            # Nothing was ever released that an answer could be made of.
            desk.ledger.require(missed, desk.asker)
    return settled


def _awaited(missing: dict[Cell, Region], laws: dict[Query, Law], desk: Desk, purchase: Purchase) -> bool:
    """See to a charge without an answer that will answer one of these numbers, alone or as one of its groups: wait for
    whoever is at it; or, where it lost its answer and was made for these very numbers, finish it. False where there is
    none."""
    for other in desk.others if missing else ():
        if not any(other.will_answer(query, region, laws[query]) for (query, _), region in missing.items()):
            continue
        if purchase.wait(other.charge):
            return True
        if other.plan == Decision({}, missing, {}, laws).plan():
            purchase.finish(other.charge)
            return True
    return False


def _measure(decision: Decision, desk: Desk, purchase: Purchase, settled: Settled) -> bool:
    """Buy what a decision says; False where there is another decision to make."""
    plan = decision.plan()

    def is_needed() -> bool:
        desk.known.refresh()
        if desk.known.seen == decision.seen:
            return True
        laws = {query: _in_grains(query, law, desk) for query, law in decision.laws.items()}
        since = (_repeated(query, region, laws[query], desk) for (query, _), region in decision.buy.items())
        return all(number is None for number in since)

    release = purchase.measure_once(plan, is_needed)
    if release is None:
        return False
    answers = dict(zip(dict.fromkeys(query for query, _ in decision.buy), release.answers, strict=True))
    places = {query: place for place, query in enumerate(answers)}
    for (query, codes), region in decision.buy.items():
        noisy = answers[query]
        unit = int(noisy.units[codes])
        if isinstance(noisy.measurement.law, Exponential):
            settled.numbers[query, codes] = Picked(unit, noisy.measurement.law.scale, "measured")
            continue
        draws, sources = (Draws(1.0, noisy.noise),), frozenset({(release.charge, places[query])})
        estimate = Estimate(unit, noisy.noise.variance, "measured", region, draws, sources=sources)
        settled.numbers[query, codes] = in_grains(estimate, noisy.grain)
    return True


def _relaxed(
    query: Count | Sum, region: Region, noise: Noise, desk: Desk, purchase: Purchase | None
) -> Estimate | None:
    """The nearest answer for each box of a region, added up; where those overlap, for the box that bounds them all."""
    if 1 < len(region.boxes) <= MOST_RELAXED_BOXES:
        parts = [_relaxed_box(query, box, noise, desk, purchase) for box in region.boxes]
        answered = [part.answered for part in parts if part is not None]
        if len(answered) == len(parts) and not any(a.intersect(b) for a, b in combinations(answered, 2)):
            return combined([(1, part) for part in parts if part is not None])
    return _relaxed_box(query, _bounding_box(region), noise, desk, purchase)


def _relaxed_box(
    query: Count | Sum, asked: Box, noise: Noise, desk: Desk, purchase: Purchase | None
) -> Estimate | None:
    past = desk.known.of(query)

    def plan_for(*boxes: Box) -> Plan:
        return Plan(tuple(Measurement(replace(query, where=Region((box,)), by=()), noise) for box in boxes))

    def can_measure(*boxes: Box) -> bool:
        return purchase is not None and purchase.affords(plan_for(*boxes))

    def measure(box: Box) -> PastAnswer:
        assert purchase is not None, "nothing is measured that cannot be"
        region = Region((box,))
        before = past.same(region)

        def is_needed() -> bool:
            desk.known.refresh()
            return past.same(region) == before

        alone = replace(query, where=region, by=())
        while _awaited({(alone, ()): region}, {alone: noise}, desk, purchase):
            desk.known.refresh()
        purchase.measure_once(plan_for(box), is_needed)
        desk.known.refresh()
        found = past.same(region)
        if not found:  # what is known is about another table by now
            raise Refreshed("the vault was refreshed in the meantime: ask again")
        return found[0]

    metric = Metric.even(desk.domain.shape)
    relaxed = relax(asked, past, metric, desk.policy.compound_size, can_measure, measure)
    if relaxed is None:
        return None
    compound = relaxed.compound
    answered = Region((compound.difference,))
    # The compound is one unbiased combination; the best one has no more variance, and often much less.
    best = derive(answered, past, known=[*compound.plus, *compound.minus])
    estimate = released(compound.terms if best is None else best.terms, "relaxed", answered, past, desk.known.noise)
    return in_grains(replace(estimate, relaxation_error=relaxed.error, compound=compound), desk.grain(query))


def _bounding_box(region: Region) -> Box:
    lows = zip(*(box.low for box in region.boxes), strict=True)
    highs = zip(*(box.high for box in region.boxes), strict=True)
    return Box(tuple(map(min, lows)), tuple(map(max, highs)))
