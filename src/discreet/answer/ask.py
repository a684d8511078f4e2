"""SQL in, a noisy answer out: `ask`; and what it would cost: `explain`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from time import monotonic, sleep

from discreet.answer.chosen import at_once
from discreet.answer.decide import decide
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Picked, Ratio
from discreet.answer.forecast import forecast_of
from discreet.answer.foreseen_average import MOST_GUESSED
from discreet.answer.grid import Cell, Cells, count_of_groups
from discreet.answer.grid_rows import GridRows, samples
from discreet.answer.label_kinds import label_kind
from discreet.answer.levels import Levels, levels_of
from discreet.answer.offers import Offers, refusals
from discreet.answer.policy import SOLVING_STEPS, Wish
from discreet.answer.reply import Answer, Explanation, Row
from discreet.answer.rows import Rows
from discreet.answer.scales import STEPS_SHARE, Scales, elementary, needs_first_count, scales_for
from discreet.answer.settle import Settled, require_all, settle
from discreet.domain.region import Region
from discreet.errors import BudgetExceeded, DiscreetError, Refreshed
from discreet.exact import number_text
from discreet.ledger.spend import Cost
from discreet.noise.law import Law
from discreet.query.query import Query, summed_name
from discreet.release.purchase import Purchase
from discreet.sql.question import AggregateColumn, Question
from discreet.sql.where_text import where_text

PATIENCE = 1.0
"""Seconds to wait for answers that others are getting, where there is nothing else to answer from, and nobody on this
machine is getting them."""

AS_NEAR = "answered as near as that and what was released allow"


def beyond(desk: Desk) -> str:
    """Why something cannot be bought."""
    most = desk.policy.max_per_query
    limit = "" if most is None else f", or than the {desk.ledger.budget.in_words(most)} that a question may spend"
    return f"would cost more than is left there{limit}"


def too_dear(desk: Desk) -> str:
    """What to say of numbers that cannot be bought."""
    return f"some numbers (–) {beyond(desk)}"


def unanswered(desk: Desk) -> str:
    """The same, of numbers that nothing released is near to, or that are not relaxed."""
    other = "nothing that was released comes near them"
    return f"{too_dear(desk)}; {other if desk.policy.relax else 'with relax they are answered for a region nearby'}"


def ask(question: Question, wish: Wish, desk: Desk, purchase: Purchase) -> Answer:
    """Answer a question, each group in its own best way. Only where nothing at all can be said: BudgetExceeded.

    All that it buys goes through `purchase`: what `explain` said, and never more. An error after something was bought
    says what that was. An answer is about one snapshot: where the vault was refreshed in between it raises Refreshed.
    """
    purchase.snapshot = desk.snapshot
    solved = _for_chosen(question, wish, desk)
    try:
        desk.known.refresh()
        with refusals(Offers((question,), solved, desk)):
            stepwise = in_steps(question, solved, desk)
            purchase.limits = stepwise.policy.limits
            answer = _answer(question, wish, solved, stepwise, purchase, Offers((question,), solved, desk))
        if desk.known.snapshot != purchase.snapshot:
            raise Refreshed("the vault went over to another snapshot in the meantime: ask again")
        return answer
    except DiscreetError as error:
        raise purchase.told(error) from None


def _for_chosen(question: Question, wish: Wish, desk: Desk) -> Wish:
    """What the noise is solved for. Where lines are chosen by it, their intervals hold for all lines at once."""
    by_noise = any(isinstance(question.columns[key.column], AggregateColumn) for key in question.order_by)
    if not by_noise or (question.limit is None and not question.offset):
        return wish
    lines = count_of_groups(question.by, question.where, desk.domain)
    is_cut = question.offset or question.limit is None or question.limit < lines
    return replace(wish, confidence=at_once(wish.confidence, lines)) if lines and is_cut else wish


def in_steps(question: Question, wish: Wish, desk: Desk, bought: Cost | None = None) -> Desk:
    """Where a later step depends on the noise of the first, the most that all of them may spend is said before, beside
    what was `bought` already; and what passes that in any case is refused before the first."""
    if not needs_first_count(question, wish, desk):
        return desk
    budget, policy, bought = desk.ledger.budget, desk.policy, bought or Cost()
    most = budget.total / STEPS_SHARE + budget.amount_of(bought.peak)
    most = most if policy.max_per_query is None else min(most, policy.max_per_query)
    desk = replace(desk, policy=replace(policy, max_per_query=most))
    _foreseen(question, wish, desk, bought)
    return desk


def _foreseen(
    question: Question, wish: Wish, desk: Desk, bought: Cost | None = None
) -> tuple[Scales, Levels, Decision]:
    """What asking would do, as far as that is known before; raises what it would be refused with by the policy."""
    bought = bought or Cost()
    scales = scales_for(question, wish, desk, purchase=None)
    levels = levels_of(scales.laws, wish, desk)
    decision = decided((question,), wish, levels.laws, desk, bought)
    desk.policy.limits.require(decision.plan(), desk.domain, desk.ledger.budget, bought)
    return scales, levels, decision


def fitted(
    question: Question,
    scales: Scales,
    desk: Desk,
    purchase: Purchase,
    decided_with: Callable[[dict[Query, Law]], Decision],
) -> dict[Query, Law]:
    """The noise of a question. Where a first count was bought for averages, and what was then solved for costs more
    than may be spent or is left, the least noise that does not: they are answered, and a note says so.

    With the first noise all of it was foreseen, so that it fits unless others have spent it since.
    """
    if not scales.solved:
        return scales.laws

    def fits(decision: Decision, missed: int = 0) -> bool:
        try:
            purchase.require(decision.plan())
        except BudgetExceeded:
            return False
        return len(decision.relax) <= missed

    if fits(decided_with(scales.laws)):
        return scales.laws
    low, high = Fraction(0), Fraction(1)
    missed = len(decided_with(scales.coarser(question, high)).relax)
    for _ in range(SOLVING_STEPS):
        middle = (low + high) / 2
        fitting = fits(decided_with(scales.coarser(question, middle)), missed)
        low, high = (low, middle) if fitting else (middle, high)
    assert scales.wish.within is not None
    names = " and ".join(f"AVG({summed_name(mean.of)})" for mean in scales.solved)
    scales.notes.append(
        f"{names} within {number_text(scales.wish.within)} {beyond(desk)}: {AS_NEAR}; of how many rows is public now, "
        "so that explain says what it costs"
    )
    return scales.coarser(question, high)


def _answer(question: Question, wish: Wish, solved: Wish, desk: Desk, purchase: Purchase, offers: Offers) -> Answer:
    """The answer to a wish; its noise is `solved` for so that it meets it. What it does not meet has `offers`."""
    scales = scales_for(question, solved, desk, purchase)

    def decided_with(laws: dict[Query, Law]) -> Decision:
        return decided((question,), solved, levels_of(laws, solved, desk).laws, desk, purchase.bought)

    levels = levels_of(fitted(question, scales, desk, purchase, decided_with), solved, desk)
    settled = settled_of((question,), solved, levels.laws, desk, purchase)
    levels.fill(settled, desk)
    notes = [*question.notes, *scales.notes]
    rows = Rows(settled, wish.confidence, desk, notes).of(question)
    if any(row.is_unanswered for row in samples(rows)):
        notes.append(unanswered(desk))
    if settled.by_quota and desk.asker is not None:
        quota = desk.asker.quota_words(desk.ledger.budget)
        notes.append(f"{quota}, and too little of it is left there: {AS_NEAR}")
    notes += [*_wider(rows, question, wish, settled, desk), *facts_in(samples(rows))]
    rows = _with_offers(rows, offers)
    if not isinstance(rows, GridRows):
        notes += _instead(rows, offers)
    budget, peak = desk.ledger.budget, purchase.bought.peak
    return Answer(
        text=question.text,
        by=tuple(question.name_of(attribute) for attribute in question.by),
        columns=tuple(column.name for column in question.aggregates),
        rows=rows,
        confidence=wish.confidence,
        cost=budget.amount_of(peak),
        budget=budget,
        # Where earlier answers are in it, it is as private as everything that was released so far.
        guarantee=desk.ledger.promise(peak if are_fresh(samples(rows), settled) else desk.ledger.spent_max),
        notes=tuple(dict.fromkeys(notes)),
        domain=desk.domain,
        order=tuple(column.name for column in question.columns),
        label_kinds=tuple(label_kind(group, desk.domain) for group in question.by),
    )


def are_fresh(rows: Sequence[Row], settled: Settled) -> bool:
    """Whether every number was measured for this question, and none is made of earlier answers."""
    for row in rows:
        match row.source:
            case None if row.value is not None and row.kind != "measured":
                return False
            case Estimate(sources=sources) if any(charge not in settled.charges for charge, _ in sources):
                return False
            case Ratio(total=total, count=count):
                if any(charge not in settled.charges for charge, _ in total.sources | count.sources):
                    return False
    return True


def facts_in(rows: Sequence[Row]) -> list[str]:
    """Which facts numbers are made with: a wrong one makes them wrong."""
    estimates = [row.source for row in rows if isinstance(row.source, Estimate)]
    estimates += [
        part for row in rows if isinstance(row.source, Ratio) for part in (row.source.total, row.source.count)
    ]
    facts = sorted(frozenset[int]().union(*(one.facts for one in estimates)))
    return [f"made with fact{'s' * (len(facts) > 1)} {', '.join(map(str, facts))}"] if facts else []


def _wider(rows: Sequence[Row], question: Question, wish: Wish, settled: Settled, desk: Desk) -> list[str]:
    """What to say of numbers that are not as sharp as was asked for, and cannot be bought so."""
    dear = {one.name for one in question.aggregates if not settled.too_dear.isdisjoint(elementary(one.query, desk))}
    if isinstance(rows, GridRows):
        wider = rows.wider(wish.within)
        missed = sum(wider[column.name] for column in rows.columns if column.kind == "repeated" and column.name in dear)
    else:
        missed = sum(
            row.column in dear and row.kind in ("derived", "repeated") and row.is_wider_than(wish.within)
            for row in rows
        )
    if wish.within is None or not missed:
        return []
    return [f"± {number_text(wish.within)} {beyond(desk)} ({missed:,} numbers): {AS_NEAR}"]


def _instead(rows: Sequence[Row], offers: Offers) -> list[str]:
    """What would tell what cannot be had, and what all columns together could be had with."""
    is_unanswered = any(row.is_unanswered for row in rows)
    notes = offers.advice() if is_unanswered else []
    if len(offers.columns) > 1 and any(row.offer for row in rows):
        notes.append(offers.in_words())
    return list(filter(None, notes))


def _with_offers(rows: Sequence[Row], offers: Offers) -> Sequence[Row]:
    """Relaxed rows, and those that are wider than was asked for, say how sharply what was asked for could be measured
    instead; where that is sharper than they are."""
    within = offers.wish.within
    if isinstance(rows, GridRows) and not any(rows.wider(within).values()):
        return rows
    measures = {column.name: column.query for column in offers.columns}
    found = []
    for row in rows:
        is_near = row.kind in ("relaxed", "unanswered")
        wanted = is_near or row.is_wider_than(within)
        offer = offers.of(measures[row.column], row.asked) if wanted else None
        if offer is None or not (is_near or (offer.within is not None and row.is_wider_than(Fraction(offer.within)))):
            found.append(row)
        elif offer.within is None:
            found.append(replace(row, affordable_scale=offer.scale))
        else:
            found.append(replace(row, affordable=offer.within))
    return tuple(found)


def settled_of(
    questions: Sequence[Question],
    wish: Wish,
    laws: dict[Query, Law],
    desk: Desk,
    purchase: Purchase,
    is_whole: bool = False,
) -> Settled:
    """Decide and measure. Where others spent what was left, wait for their answers: one can be made of them. With
    `is_whole` all numbers are had, or it raises what some would be refused with, and nothing is spent."""
    patient_until = monotonic() + PATIENCE
    waited = False
    while True:
        decision = decided(questions, wish, laws, desk, purchase.bought)
        purchase.require(decision.plan())  # beyond the policy it is refused, not relaxed
        try:
            if is_whole:
                require_all(decision, desk)
            return settle(decision, desk, purchase)
        except BudgetExceeded:
            if not waited and _waited_for_all(desk, purchase):
                waited, patient_until = True, monotonic() + PATIENCE  # once: those who come later are not waited for
                continue
            waiting = desk.ledger.head.seq != decision.seen[1] or desk.ledger.pending()
            if monotonic() > patient_until or not waiting:
                raise
        sleep(PATIENCE / 50)


def decided(questions: Sequence[Question], wish: Wish, laws: dict[Query, Law], desk: Desk, bought: Cost) -> Decision:
    """Decide; what is free but not as sharp as was asked for is to be measured."""
    decision = decide(laws, desk, bought)
    if wish.within is None or not decision.free:
        return decision
    rows = Rows(Settled(Cells(decision.free.by_query)), wish.confidence, desk, [])
    afresh = frozenset[Cell]().union(*(rows.too_wide(one, wish.within, decision) for one in questions))
    return decide(laws, desk, bought, afresh) if afresh else decision


def _waited_for_all(desk: Desk, purchase: Purchase) -> bool:
    """Wait for whoever is getting an answer on this machine, whenever its time slot ends; False where nobody is."""
    return sum(purchase.wait(other.charge) for other in desk.others) > 0


def explain(question: Question, wish: Wish, desk: Desk) -> Explanation:
    """What an answer would be made from, cost and be worth. Spends nothing: it is handed nothing that could.

    What the policy does not let a question do is refused as `ask` refuses it. The cost is what is then spent, to the
    unit; where a later step depends on the noise of the first it is the most that it can be.
    """
    desk.known.refresh()
    solved = _for_chosen(question, wish, desk)
    with refusals(Offers((question,), solved, desk)):
        return _explained(question, solved, wish, desk)


def _explained(question: Question, wish: Wish, shown: Wish, desk: Desk) -> Explanation:
    """What `explain` says; the noise is solved for a wish, and the one that was asked for is shown."""
    from discreet.answer.empty_groups import (
        foresee_least_first,
    )  # and with it a parser, which asking alone may not need

    stepwise = in_steps(question, wish, desk)
    is_exact = stepwise is desk
    scales, levels, decision = _foreseen(question, wish, stepwise)
    plan, budget = decision.plan(), desk.ledger.budget
    if decision.relax and is_exact:
        # Raises what asking would be refused with, where nothing can be said.
        decision = told_anyway(decision, settle(decision, desk, None))
    cost = budget.amount_of(plan.cost(desk.domain, budget).peak) if is_exact else stepwise.policy.max_per_query
    assert cost is not None
    left = desk.left(question.where)
    forecasts = tuple(forecast_of(column, levels, decision, wish, desk) for column in question.aggregates)
    return Explanation(
        text=question.text,
        forecasts=forecasts,
        confidence=shown.confidence,
        budget=budget,
        cost=cost,
        is_exact=is_exact,
        left=left,
        more=0 if decision.relax else int(left / cost) if cost else None,
        notes=tuple(
            dict.fromkeys(
                [
                    *question.notes,
                    *scales.notes,
                    *_patch_notes(decision, desk),
                    *foresee_least_first(question, shown.confidence, desk),
                    *_offers(decision, question, wish, desk),
                    *(note for forecast in forecasts for note in forecast.words),
                ]
            )
        ),
    )


def told_anyway(decision: Decision, settled: Settled) -> Decision:
    """The same decision with what cannot be bought, and follows from what was released, among what is free."""
    told: Cells[Estimate | Picked] = Cells()
    left: Cells[Region] = Cells()
    for cell, region in decision.relax.items():
        one = settled.numbers.get(cell)
        if isinstance(one, Estimate) and one.kind != "relaxed":
            told[cell] = one
        else:
            left[cell] = region
    return replace(decision, free=decision.free.plus(told), relax=left) if told else decision


def _offers(decision: Decision, question: Question, wish: Wish, desk: Desk) -> list[str]:
    """How sharply what cannot be had as it was asked could be had."""
    offers, notes = Offers((question,), wish, desk), []
    for column in question.aggregates:
        parts = elementary(column.query, desk)
        relaxed = (region for query in parts for region in decision.relax.by_query.get(query, {}).values())
        regions = [*islice(relaxed, MOST_GUESSED)]
        had = [offer for region in regions if (offer := offers.of(column.query, region)) is not None]
        if regions:
            least = max(had, key=lambda offer: (offer.within or 0.0, offer.scale), default=None)
            less = "" if least is None or len(had) < len(regions) else f"; {least.words} it could be had"
            notes.append(f"{column.name}: too little is left there for that{less}")
    return notes


def _patch_notes(decision: Decision, desk: Desk) -> list[str]:
    """What would be bought of other regions than were asked for."""
    if not decision.patches:
        return []
    regions = [where_text(query.where, desk.domain) for query in decision.patches]
    shown = "; ".join(regions[:3]) + (f"; and {len(regions) - 3} more" if len(regions) > 3 else "")
    return [f"to come near, it buys {len(regions)} count{'s' * (len(regions) > 1)} of other regions: {shown}"]
