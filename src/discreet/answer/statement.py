"""A whole statement: its private blocks planned and bought together, its public half run over their answers.

Nothing in it is relaxed: a number for another region would go into totals, shares and choices as if it were the line's
own. What cannot be bought is NULL, and the answer says so; where lines are added up or compared, it is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sqlglot import exp

from discreet.answer.ask import (
    are_fresh,
    decided,
    facts_in,
    fitted,
    in_steps,
    settled_of,
    told_anyway,
    too_dear,
)
from discreet.answer.chosen import MOST_REGIONS, Choosing, at_once, chosen_words
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.empty_groups import foresee_empty_groups, say_of_empty_groups
from discreet.answer.forecast import forecast_of
from discreet.answer.grid import codes_of_groups, count_of_groups
from discreet.answer.grid_rows import GridLines, Line
from discreet.answer.halves import BlockAnswer, Evaluated, PublicHalf, Result, ResultRows, is_number, lineage_of
from discreet.answer.intervals import result_of
from discreet.answer.label_kinds import kind_of_values
from discreet.answer.levels import Levels, levels_of
from discreet.answer.offers import Offers, refusals
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation, Forecast, Row
from discreet.answer.rows import Rows
from discreet.answer.scales import scales_for
from discreet.answer.settle import Settled, require_all, settle
from discreet.answer.view import LabelKind
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    DomainError,
    InvalidNoise,
    QuotaExceeded,
    Refreshed,
    UnsupportedQuery,
)
from discreet.exact import equals_text
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.spend import Cost
from discreet.noise.law import Law
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Group, Query
from discreet.release.purchase import Purchase
from discreet.sql.engine_words import INSTEAD, SEVERAL
from discreet.sql.passes.one_value import has_one_line, several_words
from discreet.sql.question import AggregateColumn, Question
from discreet.sql.split import Statement, Stepwise, Values
from discreet.sql.syntax import place_of

FIRST = "its sub-query is answered first, and its noisy value goes into the rest"
NO_VALUE = "its sub-query came out as NULL, with which nothing compares"
NO_ANSWER = "with the numbers that came out there is no answer, but NULL; they are public now, and free to be asked for"
NOT_ANSWERED: dict[str, Any] = {"value": None, "low": None, "high": None, "kind": "unanswered", "source": None}
MOST_LISTED = 5
ASKED_OF = "scale and within are about the counts, sums and averages that a statement is made of"


def ask_statement(statement: Statement | Stepwise, wish: Wish, desk: Desk, purchase: Purchase) -> Answer:
    """Answer a statement: what `explain_statement` said, and never more. What is refused was not spent."""
    purchase.snapshot = desk.ledger.snapshot
    desk = _unpatched(desk)
    try:
        desk.known.refresh()
        if isinstance(statement, Stepwise):
            most = _foreseen_steps(statement, wish, desk).cost
            limit = desk.policy.max_per_query
            desk = replace(desk, policy=replace(desk.policy, max_per_query=most if limit is None else min(most, limit)))
        answered = _Asking(wish, desk, purchase).answered(statement)
        if desk.known.snapshot != purchase.snapshot:
            raise Refreshed("the vault went over to another snapshot in the meantime: ask again")
        return answered
    except DiscreetError as error:
        raise purchase.told(error) from None


@dataclass
class _Asking:
    """One statement on its way to an answer."""

    wish: Wish
    desk: Desk
    purchase: Purchase
    is_fresh: bool = True
    has_numbers: bool = False
    """Whether the numbers of its first step are there: bought, or public before."""
    chooses: Choosing = field(default_factory=Choosing)
    """What its sub-queries' values are made of: they choose the regions of the rest."""
    came_out: list[str] = field(default_factory=list)
    """What its sub-queries were answered with, in words."""
    of_empty: list[str] = field(default_factory=list)
    """What to say of groups that may be empty, of all of its steps."""

    def answered(self, statement: Statement | Stepwise) -> Answer:
        """The answer. What was paid for does not end in a refusal: where the rest cannot be evaluated with the numbers
        that came out, or cannot be bought where they lead, there is one line, of NULLs, and a note of what came out."""
        try:
            whole, notes, regions = self._filled(statement)
            result = self._result(whole, regions)
            return self._reply(whole, result, [*notes, *self.of_empty])
        except (UnsupportedQuery, DomainError) as error:
            if not self.has_numbers:
                raise
            return self._nothing(statement, error)
        except (BudgetExceeded, QuotaExceeded) as error:
            if not (self.has_numbers and self.purchase.releases):
                raise
            return self._nothing(statement, error)

    def _nothing(self, statement: Statement | Stepwise, error: DiscreetError) -> Answer:
        whole = _planned(statement, self.desk)
        return self._reply(whole, nothing(whole, self.desk), [*self.came_out, f"{error}: {NO_ANSWER}"])

    def _reply(self, whole: Statement, result: Result, notes: Sequence[str]) -> Answer:
        budget, peak = self.desk.ledger.budget, self.purchase.bought.peak
        guarantee = self.desk.ledger.promise(peak if self.is_fresh else self.desk.ledger.spent_max)
        return reply(whole, result, self.wish, self.desk, budget.amount_of(peak), guarantee, notes)

    def _filled(self, statement: Statement | Stepwise) -> tuple[Statement, list[str], int]:
        """The statement once its sub-queries are answered; and how many regions could have come out for it."""
        notes: list[str] = []
        regions = 1
        while isinstance(statement, Stepwise):
            known = {}
            for text, first in statement.first.items():
                inner, more, _ = self._filled(first)
                known[text] = _values(self._result(inner).evaluated)
                regions *= statement.regions[text]
                self.came_out.append(f"{text} came out as {_listed(known[text])}")
                notes += [*more, FIRST]
                if text in statement.singles and known[text].one is None:
                    notes.append(NO_VALUE)
            statement = statement.then(known)
        return statement, notes, regions

    def _result(self, statement: Statement, regions: int = 1) -> Result:
        dry_run(statement, self.desk)
        solved = solved_for(statement, self.wish, self.desk)
        together = questions_of(statement)
        notes: list[str] = [*statement.notes]
        if not together:
            self.purchase.limits = self.desk.policy.limits
            return self._public(statement, Settled(), self.desk, notes, regions)
        with refusals(Offers(_called(statement), solved, self.desk)):
            desk = in_steps(_merged(together), solved, self.desk, self.purchase.bought)
            self.purchase.limits = desk.policy.limits
            if desk is not self.desk and needs_all(statement):
                foreseen = levels_of(scales_for(_merged(together), solved, desk, None).laws, solved, desk)
                require_all(decided(together, solved, foreseen.laws, desk, self.purchase.bought), desk)
            scales = scales_for(_merged(together), solved, desk, self.purchase)

            def decided_with(laws: dict[Query, Law]) -> Decision:
                measured = levels_of(laws, solved, desk).laws
                return decided(together, solved, measured, desk, self.purchase.bought)

            laws = fitted(_merged(together), scales, desk, self.purchase, decided_with)
            levels = levels_of(laws, solved, desk)
            settled = settled_of(together, solved, levels.laws, desk, self.purchase, is_whole=needs_all(statement))
        levels.fill(settled, desk)
        notes += scales.notes
        desk.known.refresh()
        return self._public(statement, settled, desk, notes, regions)

    def _public(self, statement: Statement, settled: Settled, desk: Desk, said: list[str], regions: int) -> Result:
        """The public half over settled numbers, of one of so many regions that earlier ones chose."""
        self.has_numbers = True
        confidence = self.wish.confidence
        answers = _answers(statement, Rows(settled, confidence, desk, said))
        every = [row for answer in answers for row in answer.samples]
        chosen, self.chooses = self.chooses.chose(every), self.chooses.and_by(every)
        if regions > 1 and chosen:
            said.append(chosen_words(regions))
            if regions <= MOST_REGIONS:
                confidence = at_once(confidence, regions)
                answers = _answers(statement, Rows(settled, confidence, desk, []))
        self.is_fresh = self.is_fresh and are_fresh(every, settled)
        said += facts_in(every)
        if any(row.is_unanswered for row in every):
            said += [too_dear(desk), *self.came_out]
        half = PublicHalf(statement, answers, confidence, desk, list(dict.fromkeys(said)))
        self.of_empty += say_of_empty_groups(half)
        found = result_of(half)
        return _without_intervals(found) if chosen and regions > MOST_REGIONS else found


def _answers(statement: Statement, rows: Rows) -> list[BlockAnswer]:
    answers, start = [], 0
    for block in statement.blocks:
        lines = replace(rows, called=block.calls).lines_said(block.question)
        answers.append(BlockAnswer.of(block, _of_their_own(lines), start))
        start += answers[-1].count
    return answers


def _without_intervals(result: Result) -> Result:
    def row(name: str, line: int) -> Row:
        return replace(result.row(name, line), low=None, high=None, may_be_zero=False)

    return replace(result, row=row)


def needs_all(statement: Statement) -> bool:
    """Whether lines are added up or compared: a total without some of them would be one of something else."""
    return statement.public.find(exp.AggFunc, exp.Window) is not None


def _unpatched(desk: Desk) -> Desk:
    """The same, which buys nothing to relax an answer with."""
    return replace(desk, policy=replace(desk.policy, patches=False))


def _of_their_own(lines: Sequence[Line]) -> Sequence[Line]:
    """Lines without the numbers that are for another region than theirs. Those in arrays have none."""
    if isinstance(lines, GridLines):
        return lines
    return [
        (codes, [replace(row, **NOT_ANSWERED, answered=row.asked) if row.is_near else row for row in rows])
        for codes, rows in lines
    ]


def reply(
    statement: Statement,
    result: Result,
    wish: Wish,
    desk: Desk,
    cost: Fraction,
    guarantee: Guarantee,
    notes: Sequence[str] = (),
) -> Answer:
    """A result as an answer."""
    found = result.evaluated
    return Answer(
        text=statement.text,
        by=tuple(found.labels),
        columns=tuple(found.numbers),
        rows=ResultRows(result, statement.blocks[0].question.where),
        confidence=wish.confidence,
        cost=cost,
        budget=desk.ledger.budget,
        guarantee=guarantee,
        notes=tuple(dict.fromkeys([*notes, *result.notes])),
        domain=desk.domain,
        order=tuple(result.columns),
        label_kinds=tuple(_label_kind(found, name) for name in found.labels),
        is_statement=True,
    )


def _label_kind(found: Evaluated, name: str) -> LabelKind:
    import pyarrow.types as types

    kind = found.table.schema.field(name).type
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_integer(kind):
        return "whole" if found.table.column(name).null_count < found.count else "text"
    if types.is_date(kind):
        return "date"
    return kind_of_values([label for label in found.listed(name) if label is not None])


def nothing(statement: Statement, desk: Desk) -> Result:
    """One line of NULLs, in the statement's columns."""
    import pyarrow as pa

    found = dry_run(statement, desk)
    empty = pa.table({name: pa.nulls(1, found.table.schema.field(name).type) for name in found.columns})
    where = statement.blocks[0].question.where

    def row(name: str, line: int) -> Row:
        return Row((None,) * len(found.labels), name, None, None, None, "derived", where, where, line=line)

    return Result(Evaluated(found.columns, empty), row, ())


def _values(result: Evaluated) -> Values:
    """The values of a sub-query's first column."""
    name, is_noisy = next(iter(result.columns.items()))
    return Values(result.listed(name), is_noisy or is_number(result.table.schema.field(name).type))


def _listed(values: Values) -> str:
    """A sub-query's values, in words."""
    shown = ["NULL" if one is None else str(one) for one in values.known[:MOST_LISTED]]
    more = len(values.known) - len(shown)
    return f"{', '.join(shown) or 'no line'}{f' and {more:,} more' if more else ''}"


def questions_of(statement: Statement) -> list[Question]:
    """Those of its blocks that ask for numbers."""
    return [block.question for block in statement.blocks if block.question.aggregates]


def _called(statement: Statement) -> list[Question]:
    """The same, with the names that their aggregates have in the statement."""
    found = []
    for block in statement.blocks:
        named = [AggregateColumn(block.calls.get(one.name, one.name), one.query) for one in block.question.aggregates]
        found.append(replace(block.question, columns=tuple(named)))
    return found


def _merged(questions: Sequence[Question]) -> Question:
    """All aggregates as one question's: what noise is solved for."""
    columns = tuple(column for question in questions for column in question.aggregates)
    return replace(questions[0], columns=columns)


def solved_for(statement: Statement, wish: Wish, desk: Desk) -> Wish:
    """What the noise is solved for. Where lines are chosen by it, their intervals hold for all lines at once."""
    if wish.within is None:
        return wish
    lines = [count_of_groups(one.question.by, one.question.where, desk.domain) for one in statement.blocks]
    if not lineage_of(statement, lines).is_chosen:
        return wish
    return replace(wish, confidence=at_once(wish.confidence, max(sum(lines), 1)))


def dry_run(statement: Statement, desk: Desk) -> Evaluated:
    """The public half over made-up numbers: what cannot be evaluated is refused before anything is spent."""
    if statement not in _RUN:
        _RUN[statement] = _dry_run(statement, desk)
    return _RUN[statement]


_RUN: WeakKeyDictionary[Statement, Evaluated] = WeakKeyDictionary()


def _dry_run(statement: Statement, desk: Desk) -> Evaluated:
    answers, start = [], 0
    for block in statement.blocks:
        codes = codes_of_groups(block.question.by, block.question.where, desk.domain)
        values = np.arange(1, len(codes) + 1, dtype=np.float64)
        answers.append(BlockAnswer(block, codes, (values,) * len(block.question.aggregates), start))
        start += len(codes)
    return PublicHalf(statement, answers, Fraction(1, 2), desk).evaluated()


def explain_statement(statement: Statement | Stepwise, wish: Wish, desk: Desk) -> Explanation:
    """What an answer would be made from, cost and be worth. Spends nothing.

    The cost is what is then spent, to the unit; where something depends on an answer that is not there yet it is the
    most that it can be, and said to be.
    """
    desk = _unpatched(desk)
    desk.known.refresh()
    return _foreseen_steps(statement, wish, desk)


def _foreseen_steps(statement: Statement | Stepwise, wish: Wish, desk: Desk) -> Explanation:
    """What is foreseen of all steps. What is refused is refused with what all of them can be had with."""
    if isinstance(statement, Statement):
        with refusals(Offers(_called(statement), solved_for(statement, wish, desk), desk)):
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
        known[text] = _stand_in(first, desk)
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
    scales = [Offers(_called(step), wish, desk).scale() for step in _all_steps(statement, desk)]
    known = [scale for scale in scales if scale is not None]
    return f"; all of its steps can be had with scale {sum(known):,.6g}" if len(known) == len(scales) else ""


def _all_steps(statement: Statement | Stepwise, desk: Desk) -> Iterator[Statement]:
    """Every step, with values of their kinds in the places of sub-queries."""
    while isinstance(statement, Stepwise):
        for first in statement.first.values():
            yield from _all_steps(first, desk)
        statement = statement.then({text: _stand_in(first, desk) for text, first in statement.first.items()})
    yield statement


def _several_lines(statement: Stepwise, desk: Desk) -> list[str]:
    """Refuse a sub-query that stands for one value and has several lines; say where only noise knows."""
    notes = []
    for text in statement.first.keys() & statement.singles.keys():
        query, first = statement.singles[text], _planned(statement.first[text], desk)
        lines = [count_of_groups(one.question.by, one.question.where, desk.domain) for one in first.blocks]
        if has_one_line(first.public):
            continue
        if lineage_of(first, lines).is_chosen:
            notes.append(several_words(query))
        elif dry_run(first, desk).count > 1:
            raise UnsupportedQuery(f"{SEVERAL}{place_of(query)}; {INSTEAD}")
    return notes


def _planned(statement: Statement | Stepwise, desk: Desk) -> Statement:
    """A statement with values of its sub-queries' kinds in their places, to plan with."""
    while isinstance(statement, Stepwise):
        statement = statement.then({text: _stand_in(inner, desk) for text, inner in statement.first.items()})
    return statement


def _stand_in(first: Statement | Stepwise, desk: Desk) -> Values:
    """A value of a sub-query's kind."""
    found = _values(dry_run(_planned(first, desk), desk))
    return replace(found, known=found.known[:MOST_STAND_INS])


def _is_noisy(first: Statement | Stepwise, desk: Desk) -> bool:
    """Whether a sub-query's values are noisy numbers, and not labels that were chosen."""
    return next(iter(dry_run(_planned(first, desk), desk).columns.values()))


def _doubled(values: Values) -> Values:
    """Other values of the same kind: what depends on them is another with these."""
    return replace(values, known=[_twice(one) for one in values.known])


def _twice(value: object) -> object:
    return 2 * value if isinstance(value, int | float) and not isinstance(value, bool) else value


MOST_STAND_INS = 1000


@dataclass(frozen=True)
class _Anywhere:
    """What a step costs, whatever region its noisy values choose."""

    least: Fraction = Fraction(0)
    """With the noise that is foreseen: more only where a first count asks for it, and that fits."""
    most: Fraction = Fraction(0)


def _anywhere(statement: Statement | Stepwise, wish: Wish, desk: Desk) -> _Anywhere:
    planned = _planned(statement, desk)
    together = questions_of(planned)
    if not together:
        return _Anywhere()
    solved = solved_for(planned, wish, desk)
    stepwise = in_steps(_merged(together), solved, desk)
    laws = scales_for(_merged(together), solved, stepwise, None).laws
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
    stepwise = in_steps(_merged(together), solved, desk)
    is_exact = stepwise is desk
    scales = scales_for(_merged(together), solved, stepwise, purchase=None)
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
    forecasts = tuple(_forecasts(statement, levels, decision, solved, desk))
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


def _forecasts(statement: Statement, levels: Levels, decision: Decision, wish: Wish, desk: Desk) -> list[Forecast]:
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
