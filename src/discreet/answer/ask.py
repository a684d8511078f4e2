"""SQL in, a noisy answer out: `ask`; and what it would cost: `explain`."""

from collections import Counter
from time import monotonic, sleep

from discreet.answer.answer import Decision, Desk, Settled, decide, settle
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation, Forecast
from discreet.answer.rows import Rows
from discreet.answer.scales import elementary, scales_for
from discreet.errors import BudgetExceeded, DiscreetError, Refreshed
from discreet.noise.law import Exponential, Law
from discreet.noise.spread import Draws, halfwidth
from discreet.query.query import Combination, Quantile, Query
from discreet.release.purchase import Purchase
from discreet.sql.question import AggregateColumn, Measure, Question

PATIENCE = 1.0
"""Seconds to wait for answers that others are getting, where there is nothing else to answer from, and nobody on this
machine is getting them."""

AS_NEAR = "answered as near as that and what was released allow"
UNANSWERED = "no budget is left for some numbers (–), and nothing that was released comes near them"


def ask(question: Question, wish: Wish, desk: Desk, purchase: Purchase) -> Answer:
    """Answer a question, each group in its own best way. Only where nothing at all can be said: BudgetExceeded.

    All that it buys goes through `purchase`. An error after something was bought says what that was. An answer is about
    one snapshot: where the vault was refreshed in between it raises Refreshed.
    """
    purchase.snapshot = desk.ledger.snapshot
    try:
        answer = _answer(question, wish, desk, purchase)
        if desk.known.snapshot != purchase.snapshot:
            raise Refreshed("the vault was refreshed in the meantime: ask again")
        return answer
    except DiscreetError as error:
        raise purchase.told(error) from None


def _answer(question: Question, wish: Wish, desk: Desk, purchase: Purchase) -> Answer:
    scales = scales_for(question, wish, desk, purchase)
    settled = _settled(scales.laws, desk, purchase)
    notes = [*question.notes, *scales.notes]
    rows = Rows(settled, wish.confidence, desk, notes).of(question)
    if any(row.value is None and row.kind == "relaxed" for row in rows):
        notes.append(UNANSWERED)
    if settled.by_quota and desk.asker is not None:
        quota = desk.asker.quota_words(desk.ledger.budget)
        notes.append(f"{quota}, and too little of it is left there: {AS_NEAR}")
    budget, peak = desk.ledger.budget, purchase.bought.peak
    return Answer(
        text=question.text,
        by=tuple(question.name_of(attribute) for attribute in question.by),
        columns=tuple(column.name for column in question.aggregates),
        rows=tuple(rows),
        confidence=wish.confidence,
        cost=budget.amount_of(peak),
        # Where earlier answers are in it, it is as private as everything that was released so far.
        guarantee=desk.ledger.promise(peak if settled.is_fresh else desk.ledger.spent_max),
        notes=tuple(dict.fromkeys(notes)),
        domain=desk.domain,
    )


def _settled(laws: dict[Query, Law], desk: Desk, purchase: Purchase) -> Settled:
    """Decide and measure. Where others spent what was left, wait for their answers: one can be made of them."""
    patient_until = monotonic() + PATIENCE
    waited = False
    while True:
        decision = decide(laws, desk)
        purchase.require(decision.plan())  # beyond the policy it is refused, not relaxed
        try:
            return settle(decision, desk, purchase)
        except BudgetExceeded:
            if not waited and _waited_for_all(desk, purchase):
                waited, patient_until = True, monotonic() + PATIENCE  # once: those who come later are not waited for
                continue
            waiting = desk.ledger.head.seq != decision.seen[1] or desk.ledger.pending()
            if monotonic() > patient_until or not waiting:
                raise
        sleep(PATIENCE / 50)


def _waited_for_all(desk: Desk, purchase: Purchase) -> bool:
    """Wait for whoever is getting an answer on this machine, whenever its time slot ends; False where nobody is."""
    return sum(purchase.wait(other.charge) for other in desk.others) > 0


def explain(question: Question, wish: Wish, desk: Desk) -> Explanation:
    """What an answer would be made from, cost and be worth. Spends nothing: it is handed nothing that could.

    What the policy does not let a question do is refused as `ask` refuses it.
    """
    scales = scales_for(question, wish, desk, purchase=None)
    decision = decide(scales.laws, desk)
    plan, budget = decision.plan(), desk.ledger.budget
    desk.policy.limits.require(plan, desk.domain, budget)
    cost = budget.amount_of(plan.cost(desk.domain, budget).peak)
    left = budget.amount_of(desk.ledger.left(question.where))
    own = None if desk.asker is None else desk.ledger.quota_left(desk.asker, question.where)
    left = left if own is None else min(left, own)
    return Explanation(
        text=question.text,
        forecasts=tuple(_forecast(column, decision, wish, desk) for column in question.aggregates),
        confidence=wish.confidence,
        symbol=budget.symbol,
        cost=cost,
        left=left,
        more=0 if decision.relax else int(left / cost) if cost else None,
        notes=tuple(dict.fromkeys([*question.notes, *scales.notes])),
    )


def _forecast(column: AggregateColumn, decision: Decision, wish: Wish, desk: Desk) -> Forecast:
    first, *more = parts = elementary(column.query, desk)
    kinds = Counter[str](found.kind for (query, _), found in decision.free.items() if query == first)
    kinds["measured"] += sum(query == first for query, _ in decision.buy)
    kinds["relaxed"] += sum(query == first for query, _ in decision.relax)
    # An average's and a quantile's error depend on the answer.
    bounded = not isinstance(first, Quantile) and all(type(query) is type(first) for query in more)
    within = _halfwidth(column.query, parts, decision.laws, wish, desk) if bounded else None
    return Forecast(column.name, dict(+kinds), within, float(decision.laws[first].scale))


def _halfwidth(measure: Measure, parts: list[Query], laws: dict[Query, Law], wish: Wish, desk: Desk) -> float:
    """How far off a fresh measurement may be."""
    factors = [times for times, _ in measure.terms] if isinstance(measure, Combination) else [1] * len(parts)
    draws = []
    for times, part in zip(factors, parts, strict=True):
        grain, law = desk.grain(part), laws[part]
        if not isinstance(law, Exponential):
            draws.append(Draws(times * float(grain), law.times(1 / grain)))
    return halfwidth(draws, wish.confidence)
