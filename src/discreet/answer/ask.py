"""SQL in, a noisy answer out: `ask`; and what it would cost: `explain`."""

from collections import Counter
from math import sqrt
from time import monotonic, sleep

from discreet.answer.answer import Decision, Desk, Settled, decide, settle
from discreet.answer.policy import Wish, deviations
from discreet.answer.reply import Answer, Explanation, Forecast
from discreet.answer.rows import Rows
from discreet.answer.scales import elementary, scales_for
from discreet.errors import BudgetExceeded
from discreet.exact import equals_text
from discreet.noise.law import Exponential, Law
from discreet.query.query import Quantile, Query
from discreet.sql.question import AggregateColumn, Question

PATIENCE = 1.0
"""Seconds to wait for answers that others are getting, where there is nothing else to answer from, and nobody on this
machine is getting them."""

AS_NEAR = "answered as near as that and what was released allow"
UNANSWERED = "no budget is left for some numbers (–), and nothing that was released comes near them"


def ask(question: Question, wish: Wish, desk: Desk) -> Answer:
    """Answer a question, each group in its own best way. Only where nothing at all can be said: BudgetExceeded."""
    scales = scales_for(question, wish, desk, spend=True)
    settled = _settled(scales.laws, desk)
    notes = [*question.notes, *scales.notes]
    rows = Rows(settled, wish.confidence, desk, notes).of(question)
    if any(row.value is None and row.kind == "relaxed" for row in rows):
        notes.append(UNANSWERED)
    if settled.by_quota and desk.asker is not None:
        quota = desk.asker.quota_words(desk.ledger.budget)
        notes.append(f"{quota}, and too little of it is left there: {AS_NEAR}")
    budget, peak = desk.ledger.budget, (settled.spent + scales.first_counts.spent).peak
    return Answer(
        text=question.text,
        by=tuple(question.name_of(attribute) for attribute in question.by),
        columns=tuple(column.name for column in question.aggregates),
        rows=tuple(rows),
        confidence=wish.confidence,
        cost=budget.amount_of(peak),
        guarantee=desk.ledger.promise(peak),
        notes=tuple(dict.fromkeys(notes)),
        domain=desk.domain,
    )


def _settled(laws: dict[Query, Law], desk: Desk) -> Settled:
    """Decide and measure. Where others spent what was left, wait for their answers: one can be made of them."""
    patient_until = monotonic() + PATIENCE
    waited = False
    while True:
        decision = decide(laws, desk)
        _require_allowed(decision, desk)
        try:
            return settle(decision, desk)
        except BudgetExceeded:
            if not waited and _waited_for_all(desk):
                waited, patient_until = True, monotonic() + PATIENCE  # once: those who come later are not waited for
                continue
            waiting = desk.ledger.reach != decision.seen or desk.ledger.pending()
            if monotonic() > patient_until or not waiting:
                raise
        sleep(PATIENCE / 50)


def _waited_for_all(desk: Desk) -> bool:
    """Wait for whoever is getting an answer on this machine, whenever its time slot ends; False where nobody is."""
    return sum(desk.underway.wait(other.charge.plan) for other in desk.others) > 0


def _require_allowed(decision: Decision, desk: Desk) -> None:
    """Refuse a question that would spend more than the policy lets one."""
    most, budget = desk.policy.max_per_query, desk.ledger.budget
    cost = budget.amount_of(decision.plan().cost(desk.domain, budget).peak)
    if most is not None and cost > most:
        raise BudgetExceeded(
            f"a question may spend {budget.symbol} {equals_text(most)} here, and this one needs "
            f"{budget.symbol} {equals_text(cost)}; ask for less accuracy"
        )


def explain(question: Question, wish: Wish, desk: Desk) -> Explanation:
    """What an answer would be made from, cost and be worth. Spends nothing."""
    scales = scales_for(question, wish, desk, spend=False)
    decision = decide(scales.laws, desk)
    budget = desk.ledger.budget
    cost = budget.amount_of(decision.plan().cost(desk.domain, budget).peak)
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
    halfwidth = _halfwidth(parts, decision.laws, wish, desk) if bounded else None
    return Forecast(column.name, dict(+kinds), halfwidth, float(decision.laws[first].scale))


def _halfwidth(parts: list[Query], laws: dict[Query, Law], wish: Wish, desk: Desk) -> float:
    """How far off a fresh measurement may be."""
    noises = [(desk.grain(part), law) for part in parts if not isinstance(law := laws[part], Exponential)]
    if len(noises) == 1:
        [(grain, noise)] = noises
        return float(grain * noise.times(1 / grain).halfwidth(wish.confidence))
    return deviations(wish.confidence) * sqrt(sum(noise.variance for _, noise in noises))
