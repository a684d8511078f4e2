"""A statement over several tables: each private block is about one of them, and what joins them is noisy answers.

Each table's blocks are planned, charged and measured as a question about that table alone; all of it is planned before
any of it is bought, and refused where it does not fit together. [docs/explain/several-tables.md, Two tables in one
statement]
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.answer.ask import are_fresh, decided, facts_in, settled_of
from discreet.answer.decision import Decision
from discreet.answer.desk import Desk
from discreet.answer.empty_groups import foresee_empty_groups, say_of_empty_groups
from discreet.answer.foreseen_statement import ASKED_OF, forecasts_of
from discreet.answer.halves import BlockAnswer, PublicHalf
from discreet.answer.intervals import result_of
from discreet.answer.levels import Levels, levels_of
from discreet.answer.offers import Offers, refusals
from discreet.answer.policy import Wish
from discreet.answer.reply import Answer, Explanation, Forecast
from discreet.answer.rows import Rows
from discreet.answer.scales import Scales, needs_first_count, scales_for
from discreet.answer.settle import Settled, require_all
from discreet.answer.statement import reply
from discreet.answer.steps import called, dry_run, merged, questions_of, solved_for, unpatched
from discreet.errors import BudgetExceeded, DiscreetError, Refreshed, UnsupportedQuery
from discreet.exact import equals_text
from discreet.ledger.spend import Cost
from discreet.release.purchase import Purchase
from discreet.sql.split import Statement

Desks = Mapping[str, Desk]
"""What each table's blocks are answered with, by its name."""


@dataclass(frozen=True)
class TablePart:
    """The blocks of one table, with what is decided of them before anything is bought."""

    table: str
    desk: Desk
    statement: Statement
    scales: Scales
    levels: Levels
    decision: Decision

    @property
    def cost(self) -> Cost:
        """What it takes of a person's budget."""
        return self.desk.ledger.of_person(self.desk.cost(self.decision.plan()))


def ask_linked(statement: Statement, wish: Wish, desks: Desks, purchases: Mapping[str, Purchase]) -> Answer:
    """Answer a statement over several tables: what `explain_linked` said, and never more. What is refused was not
    spent; what was bought before a failure is said."""
    desks = {table: unpatched(desks[table]) for table in statement.tables}
    first = next(iter(desks.values()))
    snapshot = first.ledger.snapshot
    try:
        for desk in desks.values():
            desk.known.refresh()
        solved = _solved(statement, wish, desks)
        parts = _planned(statement, solved, desks)
        settled = {part.table: _settled(part, solved, purchases[part.table]) for part in parts}
        if any(desk.known.snapshot != snapshot for desk in desks.values()):
            raise Refreshed("the vault went over to another snapshot in the meantime: ask again")
        bought = sum((desks[table].ledger.of_person(purchases[table].bought) for table in settled), Cost())
        return _answered(statement, wish, parts, _Measured(desks, settled, bought))
    except DiscreetError as error:
        for table in desks:
            error = purchases[table].told(error)
        raise error from None


def explain_linked(statement: Statement, wish: Wish, desks: Desks) -> Explanation:
    """What an answer would be made from, cost and be worth. Spends nothing, and is exact to the unit."""
    desks = {table: unpatched(desks[table]) for table in statement.tables}
    for desk in desks.values():
        desk.known.refresh()
    first = next(iter(desks.values()))
    solved = _solved(statement, wish, desks)
    parts = _planned(statement, solved, desks)
    budget, cost = first.ledger.budget, _amount(parts)
    regions = ((part, one.where) for part in parts for one in questions_of(part.statement))
    left = min((part.desk.left(region) for part, region in regions), default=budget.total)
    forecasts = tuple(_forecasts(parts, solved))
    notes = [*statement.notes, *(note for part in parts for note in part.scales.notes)]
    notes += [ASKED_OF] if wish.within is not None else []
    notes += foresee_empty_groups(statement, wish.confidence, first, desks)
    notes += [note for forecast in forecasts for note in forecast.words]
    more = int(left / cost) if cost else None
    return Explanation(
        statement.text, forecasts, wish.confidence, budget, cost, True, left, more, tuple(dict.fromkeys(notes))
    )


def _solved(statement: Statement, wish: Wish, desks: Desks) -> Wish:
    """What the noise is solved for; once the public half is known to run."""
    first = next(iter(desks.values()))
    dry_run(statement, first, desks)
    return solved_for(statement, wish, first, desks)


def _planned(statement: Statement, solved: Wish, desks: Desks) -> list[TablePart]:
    """What is decided of each table. Raises where one by itself, or all of them together, are not to be had."""
    parts = []
    for table, desk in desks.items():
        own = replace(statement, blocks=tuple(block for block in statement.blocks if block.table == table))
        if questions_of(own):
            with refusals(Offers(called(own), solved, desk)):
                parts.append(_part(table, own, solved, desk))
    _require_together(parts)
    return parts


def _part(table: str, own: Statement, solved: Wish, desk: Desk) -> TablePart:
    questions = questions_of(own)
    if needs_first_count(merged(questions), solved, desk):
        raise UnsupportedQuery(
            f"an average within a bound needs a first noisy count, which is not done over two tables at once; ask for "
            f"that of {table} by itself first, or with a scale"
        )
    scales = scales_for(merged(questions), solved, desk, purchase=None)
    levels = levels_of(scales.laws, solved, desk)
    decision = decided(questions, solved, levels.laws, desk, Cost())
    desk.policy.limits.require(decision.plan(), desk.domain, desk.ledger.budget)
    require_all(decision, desk)
    return TablePart(table, desk, own, scales, levels, decision)


def _require_together(parts: list[TablePart]) -> None:
    """Raise BudgetExceeded, or QuotaExceeded, where the tables' shares fit by themselves and not together."""
    if not parts:
        return
    desk, total = parts[0].desk, sum((part.cost for part in parts), Cost())
    limit, amount, budget = desk.policy.max_per_query, _amount(parts), desk.ledger.budget
    if limit is not None and amount > limit:
        raise BudgetExceeded(
            f"a question may spend {budget.symbol} {equals_text(limit)} here, and this one needs {budget.symbol} "
            f"{equals_text(amount)} of a person, over its tables together; ask for less accuracy, or each by itself"
        )
    if total.everywhere or total.regional:
        desk.ledger.whole.require(total, desk.asker)


def _amount(parts: list[TablePart]) -> Fraction:
    """The most that the parts take of anybody, together."""
    total = sum((part.cost for part in parts), Cost())
    return parts[0].desk.ledger.budget.amount_of(total.peak) if parts else Fraction(0)


def _settled(part: TablePart, solved: Wish, purchase: Purchase) -> Settled:
    """Measure what is to be bought of one table: no more than was planned."""
    desk, budget = part.desk, part.desk.ledger.budget
    purchase.snapshot = desk.ledger.snapshot
    purchase.limits = replace(desk.policy.limits, max_per_query=budget.amount_of(part.cost.peak))
    settled = settled_of(questions_of(part.statement), solved, part.levels.laws, desk, purchase, is_whole=True)
    part.levels.fill(settled, desk)
    desk.known.refresh()
    return settled


@dataclass(frozen=True)
class _Measured:
    """The numbers of each table, and what was charged for all of them."""

    desks: Desks
    settled: Mapping[str, Settled]
    bought: Cost

    def of(self, table: str) -> Settled:
        return self.settled.get(table, Settled())


def _answered(statement: Statement, wish: Wish, parts: list[TablePart], measured: _Measured) -> Answer:
    """The public half over the numbers of all tables."""
    desks = measured.desks
    notes = [*statement.notes, *(note for part in parts for note in part.scales.notes)]
    answers, start = list[BlockAnswer](), 0
    for block in statement.blocks:
        rows = Rows(measured.of(block.table), wish.confidence, desks[block.table], notes)
        lines = replace(rows, called=block.calls).lines_said(block.question)
        answers.append(BlockAnswer.of(block, lines, start))
        start += answers[-1].count
    first = desks[statement.blocks[0].table]
    numbers = [(row, answer.block.table) for answer in answers for row in answer.samples]
    notes += facts_in([row for row, _ in numbers])
    half = PublicHalf(statement, answers, wish.confidence, first, list(dict.fromkeys(notes)), desks)
    said = say_of_empty_groups(half)
    fresh = all(are_fresh([row], measured.of(table)) for row, table in numbers)
    peak = measured.bought.peak
    guarantee = first.ledger.promise(peak if fresh else first.ledger.spent_max)
    return reply(statement, result_of(half), wish, first, first.ledger.budget.amount_of(peak), guarantee, said)


def _forecasts(parts: list[TablePart], solved: Wish) -> Iterator[Forecast]:
    """Of each number; those that two tables have say of which they are."""
    told = [
        (part.table, one)
        for part in parts
        for one in forecasts_of(part.statement, part.levels, part.decision, solved, part.desk)
    ]
    names = [one.column for _, one in told]
    for table, one in told:
        yield replace(one, column=f"{one.column} of {table}") if names.count(one.column) > 1 else one
