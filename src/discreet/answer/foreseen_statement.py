"""What a whole statement would be answered from, cost and be worth: its steps together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.answer.ask import decided, in_steps, told_anyway
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.empty_groups import foresee_empty_groups
from discreet.answer.forecast import forecast_of
from discreet.answer.grid import count_of_groups
from discreet.answer.halves import lineage_of
from discreet.answer.levels import Levels, levels_of
from discreet.answer.offers import Offers, refusals
from discreet.answer.policy import Wish
from discreet.answer.reply import Explanation, Forecast
from discreet.answer.scales import scales_for
from discreet.answer.settle import require_all, settle
from discreet.answer.steps import (
    FIRST,
    called,
    dry_run,
    merged,
    needs_all,
    planned,
    questions_of,
    solved_for,
    stand_in,
    unpatched,
)
from discreet.errors import BudgetExceeded, InvalidNoise, QuotaExceeded, UnsupportedQuery
from discreet.exact import equals_text
from discreet.ledger.spend import Cost
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Group
from discreet.sql.engine_words import INSTEAD, SEVERAL
from discreet.sql.passes.one_value import has_one_line, several_words
from discreet.sql.question import AggregateColumn
from discreet.sql.split import Statement, Stepwise, Values
from discreet.sql.syntax import place_of

ASKED_OF = "scale and within are about the counts, sums and averages that a statement is made of"


def explain_statement(statement: Statement | Stepwise, wish: Wish, desk: Desk) -> Explanation:
    """What an answer would be made from, cost and be worth. Spends nothing.

    The cost is what is then spent, to the unit; where something depends on an answer that is not there yet it is the
    most that it can be, and said to be.
    """
    desk = unpatched(desk)
    desk.known.refresh()
    return foreseen_steps(statement, wish, desk)


def foreseen_steps(statement: Statement | Stepwise, wish: Wish, desk: Desk) -> Explanation:
    """What is foreseen of all steps. What is refused is refused with what all of them can be had with."""
    if isinstance(statement, Statement):
        with refusals(Offers(called(statement), solved_for(statement, wish, desk), desk)):
            return _foreseen(statement, wish, desk)
    try:
        return _foreseen_together(statement, wish, desk)
    except (BudgetExceeded, QuotaExceeded, InvalidNoise) as error:
        raise type(error)(f"{error}{_or_with_scale(statement, wish, desk)}") from None


def _foreseen_together(statement: Statement | Stepwise, wish: Wish, desk: Desk, is_whole: bool = True) -> Explanation:
    """A statement in steps costs at most what they cost together, wherever their noisy values lead. The whole of it is
    refused where that surely passes what a question may spend."""
    if isinstance(statement, Statement):
        return _foreseen(statement, wish, desk)
    steps, known, noisy = [], {}, {}
    notes = _several_lines(statement, desk)
    for text, first in statement.first.items():
        steps.append(_foreseen_together(first, wish, desk, is_whole=False))
        known[text] = stand_in(first, desk)
        noisy[text] = _doubled(known[text]) if _is_noisy(first, desk) else known[text]
    rest = statement.then(known)
    last = _foreseen_together(rest, wish, desk, is_whole=False)
    anywhere = _anywhere(rest, wish, desk)
    if _anywhere(statement.then(noisy), wish, desk) != anywhere:
        raise UnsupportedQuery(
            "what this costs depends on the noisy value of its sub-query, and is not known before; ask the sub-query "
            "by itself, and write its number here"
        )
    before = sum((step.cost for step in steps), Fraction(0))
    most = before + max(last.cost, anywhere.most)
    budget = desk.ledger.budget
    limit = desk.policy.max_per_query
    if limit is not None:
        if is_whole and before and before + anywhere.least > limit:
            raise BudgetExceeded(
                f"a question may spend {budget.symbol} {equals_text(limit)} here, and this one's sub-query and the "
                f"rest need up to {budget.symbol} {equals_text(before + anywhere.least)} together; ask the sub-query "
                "by itself first"
            )
        most = min(most, limit)
    return replace(
        last,
        forecasts=tuple(one for step in (*steps, replace(last, forecasts=_for_any(last))) for one in step.forecasts),
        cost=most,
        is_exact=False,
        left=min(step.left for step in (*steps, last)),
        more=int(min(step.left for step in (*steps, last)) / most) if most else None,
        budget=budget,
        notes=tuple(dict.fromkeys([FIRST, *notes, *(note for step in (*steps, last) for note in step.notes)])),
    )


def _for_any(rest: Explanation) -> tuple[Forecast, ...]:
    """The forecasts of a step whose region is not known yet: none where what stands in for it has no group."""
    return tuple(one if one.kinds else replace(one, halfwidth=None, relative=None) for one in rest.forecasts)


def _or_with_scale(statement: Stepwise, wish: Wish, desk: Desk) -> str:
    """With which scale all steps can be had together. A step that may spend all there is with scale s spends no more
    than its part of it with the sum of all such s."""
    scales = [Offers(called(step), wish, desk).scale() for step in _all_steps(statement, desk)]
    known = [scale for scale in scales if scale is not None]
    return f"; all of its steps can be had with scale {sum(known):,.6g}" if len(known) == len(scales) else ""


def _all_steps(statement: Statement | Stepwise, desk: Desk) -> Iterator[Statement]:
    """Every step, with values of their kinds in the places of sub-queries."""
    while isinstance(statement, Stepwise):
        for first in statement.first.values():
            yield from _all_steps(first, desk)
        statement = statement.then({text: stand_in(first, desk) for text, first in statement.first.items()})
    yield statement


def _several_lines(statement: Stepwise, desk: Desk) -> list[str]:
    """Refuse a sub-query that stands for one value and has several lines; say where only noise knows."""
    notes = []
    for text in statement.first.keys() & statement.singles.keys():
        query, first = statement.singles[text], planned(statement.first[text], desk)
        lines = [count_of_groups(one.question.by, one.question.where, desk.domain) for one in first.blocks]
        if has_one_line(first.public):
            continue
        if lineage_of(first, lines).is_chosen:
            notes.append(several_words(query))
        elif dry_run(first, desk).count > 1:
            raise UnsupportedQuery(f"{SEVERAL}{place_of(query)}; {INSTEAD}")
    return notes


def _is_noisy(first: Statement | Stepwise, desk: Desk) -> bool:
    """Whether a sub-query's values are noisy numbers, and not labels that were chosen."""
    return next(iter(dry_run(planned(first, desk), desk).columns.values()))


def _doubled(values: Values) -> Values:
    """Other values of the same kind: what depends on them is another with these."""
    return replace(values, known=[_twice(one) for one in values.known])


def _twice(value: object) -> object:
    return 2 * value if isinstance(value, int | float) and not isinstance(value, bool) else value


@dataclass(frozen=True)
class _Anywhere:
    """What a step costs, whatever region its noisy values choose."""

    least: Fraction = Fraction(0)
    """With the noise that is foreseen: more only where a first count asks for it, and that fits."""
    most: Fraction = Fraction(0)


def _anywhere(statement: Statement | Stepwise, wish: Wish, desk: Desk) -> _Anywhere:
    whole = planned(statement, desk)
    together = questions_of(whole)
    if not together:
        return _Anywhere()
    solved = solved_for(whole, wish, desk)
    stepwise = in_steps(merged(together), solved, desk)
    laws = scales_for(merged(together), solved, stepwise, None).laws
    everywhere = [Measurement(replace(query, where=desk.domain.everything), law) for query, law in laws.items()]
    budget = desk.ledger.budget
    least = Fraction(budget.amount_of(Plan(tuple(everywhere)).cost(desk.domain, budget).peak))
    if stepwise is desk:
        return _Anywhere(least, least)
    assert stepwise.policy.max_per_query is not None
    return _Anywhere(least, stepwise.policy.max_per_query)


def _foreseen(statement: Statement, wish: Wish, desk: Desk) -> Explanation:
    dry_run(statement, desk)
    solved = solved_for(statement, wish, desk)
    together, budget = questions_of(statement), desk.ledger.budget
    notes = [*statement.notes]
    regions = [question.where for question in together] or [statement.blocks[0].question.where]
    left = min(desk.left(region) for region in regions)
    if not together:
        return Explanation(statement.text, (), wish.confidence, budget, Fraction(0), True, left, None, tuple(notes))
    stepwise = in_steps(merged(together), solved, desk)
    is_exact = stepwise is desk
    scales = scales_for(merged(together), solved, stepwise, purchase=None)
    levels = levels_of(scales.laws, solved, stepwise)
    decision = decided(together, solved, levels.laws, stepwise, Cost())
    stepwise.policy.limits.require(decision.plan(), desk.domain, budget)
    if needs_all(statement):
        require_all(decision, stepwise)
    if decision.relax and is_exact:
        # Raises what asking would be refused with, where nothing can be said.
        decision = told_anyway(decision, settle(decision, stepwise, None))
    cost = budget.amount_of(decision.plan().cost(desk.domain, budget).peak)
    if not is_exact:
        assert stepwise.policy.max_per_query is not None
        cost = stepwise.policy.max_per_query
    notes += [*scales.notes, *([ASKED_OF] if wish.within is not None else [])]
    if decision.relax:
        notes.append("too little is left there for some of the numbers: they are not answered (NULL)")
    notes += foresee_empty_groups(statement, wish.confidence, desk)
    forecasts = tuple(forecasts_of(statement, levels, decision, solved, desk))
    notes += [note for forecast in forecasts for note in forecast.words]
    return Explanation(
        text=statement.text,
        forecasts=forecasts,
        confidence=wish.confidence,
        budget=budget,
        cost=cost,
        is_exact=is_exact,
        left=left,
        more=0 if decision.relax else int(left / cost) if cost else None,
        notes=tuple(dict.fromkeys(notes)),
    )


def forecasts_of(statement: Statement, levels: Levels, decision: Decision, wish: Wish, desk: Desk) -> list[Forecast]:
    """One for each aggregate that the blocks ask for. Those of one name, as in a ROLLUP, say by what they are."""
    of_own = replace(desk, policy=replace(desk.policy, relax=False))  # nothing in a statement is relaxed
    groups: dict[str, set[tuple[Group, ...]]] = {}
    found: dict[tuple[str, object], tuple[Forecast, tuple[Group, ...]]] = {}
    for block in statement.blocks:
        for column in block.question.aggregates:
            named = AggregateColumn(block.calls.get(column.name, column.name), column.query)
            groups.setdefault(named.name, set()).add(block.question.by)
            own = forecast_of(named, levels, decision, wish, of_own)
            found[named.name, column.query] = own, block.question.by
    return [
        replace(one, column=f"{name} {by_words(by)}") if len(groups[name]) > 1 else one
        for (name, _), (one, by) in found.items()
    ]


def by_words(by: Sequence[Group]) -> str:
    """What numbers are grouped by."""
    return f"by {', '.join(one if isinstance(one, str) else one.text for one in by)}" if by else "of all"
