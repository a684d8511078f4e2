"""What is known of a statement before any of it is answered: what its blocks ask together, what runs over made-up
numbers, and what stands in for the values of its sub-queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from sqlglot import exp

from discreet.answer.chosen import at_once
from discreet.answer.desk import Desk
from discreet.answer.grid import codes_of_groups, count_of_groups
from discreet.answer.halves import BlockAnswer, Evaluated, PublicHalf, is_number, lineage_of
from discreet.answer.policy import Wish
from discreet.sql.question import AggregateColumn, Question
from discreet.sql.split import Statement, Stepwise, Values

FIRST = "its sub-query is answered first, and its noisy value goes into the rest"
MOST_STAND_INS = 1000
EMPTY: Mapping[str, Desk] = MappingProxyType({})
"""One desk for all blocks of a statement."""


def questions_of(statement: Statement) -> list[Question]:
    """Those of its blocks that ask for numbers."""
    return [block.question for block in statement.blocks if block.question.aggregates]


def called(statement: Statement) -> list[Question]:
    """The same, with the names that their aggregates have in the statement."""
    found = []
    for block in statement.blocks:
        named = [AggregateColumn(block.calls.get(one.name, one.name), one.query) for one in block.question.aggregates]
        found.append(replace(block.question, columns=tuple(named)))
    return found


def merged(questions: Sequence[Question]) -> Question:
    """All aggregates as one question's: what noise is solved for."""
    columns = tuple(column for question in questions for column in question.aggregates)
    return replace(questions[0], columns=columns)


def needs_all(statement: Statement) -> bool:
    """Whether lines are added up or compared: a total without some of them would be one of something else."""
    return statement.public.find(exp.AggFunc, exp.Window) is not None


def unpatched(desk: Desk) -> Desk:
    """The same, which buys nothing to relax an answer with."""
    return replace(desk, policy=replace(desk.policy, patches=False))


def solved_for(statement: Statement, wish: Wish, desk: Desk, desks: Mapping[str, Desk] = EMPTY) -> Wish:
    """What the noise is solved for. Where lines are chosen by it, their intervals hold for all lines at once."""
    if wish.within is None:
        return wish
    lines = [
        count_of_groups(one.question.by, one.question.where, desks.get(one.table, desk).domain)
        for one in statement.blocks
    ]
    if not lineage_of(statement, lines).is_chosen:
        return wish
    return replace(wish, confidence=at_once(wish.confidence, max(sum(lines), 1)))


def dry_run(statement: Statement, desk: Desk, desks: Mapping[str, Desk] = EMPTY) -> Evaluated:
    """The public half over made-up numbers: what cannot be evaluated is refused before anything is spent."""
    if statement not in _RUN:
        _RUN[statement] = _dry_run(statement, desk, desks)
    return _RUN[statement]


_RUN: WeakKeyDictionary[Statement, Evaluated] = WeakKeyDictionary()


def _dry_run(statement: Statement, desk: Desk, desks: Mapping[str, Desk]) -> Evaluated:
    answers, start = [], 0
    for block in statement.blocks:
        domain = desks.get(block.table, desk).domain
        codes = codes_of_groups(block.question.by, block.question.where, domain)
        values = np.arange(1, len(codes) + 1, dtype=np.float64)
        answers.append(BlockAnswer(block, codes, (values,) * len(block.question.aggregates), start))
        start += len(codes)
    return PublicHalf(statement, answers, Fraction(1, 2), desk, desks=desks).evaluated()


def planned(statement: Statement | Stepwise, desk: Desk) -> Statement:
    """A statement with values of its sub-queries' kinds in their places, to plan with."""
    while isinstance(statement, Stepwise):
        statement = statement.then({text: stand_in(inner, desk) for text, inner in statement.first.items()})
    return statement


def stand_in(first: Statement | Stepwise, desk: Desk) -> Values:
    """A value of a sub-query's kind."""
    found = values_of(dry_run(planned(first, desk), desk))
    return replace(found, known=found.known[:MOST_STAND_INS])


def values_of(result: Evaluated) -> Values:
    """The values of a sub-query's first column."""
    name, is_noisy = next(iter(result.columns.items()))
    return Values(result.listed(name), is_noisy or is_number(result.table.schema.field(name).type))
