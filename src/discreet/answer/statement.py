"""A whole statement: its private blocks planned and bought together, its public half run over their answers.

Nothing in it is relaxed: a number for another region would go into totals, shares and choices as if it were the line's
own. What cannot be bought is NULL, and the answer says so; where lines are added up or compared, it is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.answer.ask import are_fresh, decided, facts_in, fitted, in_steps, settled_of, too_dear
from discreet.answer.chosen import MOST_REGIONS, Choosing, at_once, chosen_words
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.empty_groups import say_of_empty_groups
from discreet.answer.foreseen_statement import foreseen_steps
from discreet.answer.grid_rows import GridLines, Line
from discreet.answer.halves import BlockAnswer, Evaluated, PublicHalf, Result, ResultRows
from discreet.answer.intervals import result_of
from discreet.answer.label_kinds import kind_of_values
from discreet.answer.levels import levels_of
from discreet.answer.offers import Offers, refusals
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Row
from discreet.answer.rows import Rows
from discreet.answer.scales import scales_for
from discreet.answer.settle import Settled, require_all
from discreet.answer.steps import (
    FIRST,
    called,
    dry_run,
    merged,
    needs_all,
    planned,
    questions_of,
    solved_for,
    unpatched,
    values_of,
)
from discreet.answer.view import LabelKind
from discreet.errors import BudgetExceeded, DiscreetError, DomainError, QuotaExceeded, Refreshed, UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.noise.law import Law
from discreet.query.query import Query
from discreet.release.purchase import Purchase
from discreet.sql.split import Statement, Stepwise, Values

NO_VALUE = "its sub-query came out as NULL, with which nothing compares"
NO_ANSWER = "with the numbers that came out there is no answer, but NULL; they are public now, and free to be asked for"
NOT_ANSWERED: dict[str, Any] = {"value": None, "low": None, "high": None, "kind": "unanswered", "source": None}
MOST_LISTED = 5


def ask_statement(statement: Statement | Stepwise, wish: Wish, desk: Desk, purchase: Purchase) -> Answer:
    """Answer a statement: what `explain_statement` said, and never more. What is refused was not spent."""
    purchase.snapshot = desk.snapshot
    desk = unpatched(desk)
    try:
        desk.known.refresh()
        if isinstance(statement, Stepwise):
            most = foreseen_steps(statement, wish, desk).cost
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
        whole = planned(statement, self.desk)
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
                known[text] = values_of(self._result(inner).evaluated)
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
        with refusals(Offers(called(statement), solved, self.desk)):
            desk = in_steps(merged(together), solved, self.desk, self.purchase.bought)
            self.purchase.limits = desk.policy.limits
            if desk is not self.desk and needs_all(statement):
                foreseen = levels_of(scales_for(merged(together), solved, desk, None).laws, solved, desk)
                require_all(decided(together, solved, foreseen.laws, desk, self.purchase.bought), desk)
            scales = scales_for(merged(together), solved, desk, self.purchase)

            def decided_with(laws: dict[Query, Law]) -> Decision:
                measured = levels_of(laws, solved, desk).laws
                return decided(together, solved, measured, desk, self.purchase.bought)

            laws = fitted(merged(together), scales, desk, self.purchase, decided_with)
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


def _listed(values: Values) -> str:
    """A sub-query's values, in words."""
    shown = ["NULL" if one is None else str(one) for one in values.known[:MOST_LISTED]]
    more = len(values.known) - len(shown)
    return f"{', '.join(shown) or 'no line'}{f' and {more:,} more' if more else ''}"
