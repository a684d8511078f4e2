"""Groups that may have no rows, where a statement calculates with all of them.

A GROUP BY has a line for every group of the domain; elsewhere in SQL it has those that occur. An average of counts, the
least of them and how many lines there are differ by the groups that nobody is in. Which these are is not public: what
is said here is decided by the domain and by released numbers alone.

Whether they make a difference is tried: the public half is run with those that cannot be told from empty, at 0, and
without them. A line that only comes out without them is one that they changed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import repeat
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.chosen import least_first, leaves_out
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Ratio
from discreet.answer.grid import codes_of_groups
from discreet.answer.grid_rows import GridLines
from discreet.answer.halves import BlockAnswer, PublicHalf, is_direct
from discreet.answer.past import groups_to_plan
from discreet.answer.public import public
from discreet.answer.reply import Row
from discreet.answer.steps import EMPTY
from discreet.errors import UnsupportedQuery
from discreet.query.query import Combination, Count, Mean, Quantile, Sum
from discreet.sql.question import Measure, Question
from discreet.sql.split import Block, Statement

if TYPE_CHECKING:
    import pyarrow as pa

Places = NDArray[np.bool_]
DIGITS = 9
"""Significant digits to which numbers with and without these groups are compared."""
MADE_UP = 1_000_000.0
"""The least that stands for a count of rows where nothing is known yet."""
MOST_LOOKED_UP = 1_000
"""Groups of which explain looks up whether released counts tell them from empty."""


def say_of_empty_groups(half: PublicHalf) -> list[str]:
    """Of an answer: how many groups cannot be told from empty, if any of it would be different without them."""
    if _only_lists(half.statement):
        return []
    empty = [_may_be_empty(answer, half.confidence) for answer in half.answers]
    if not _matters(half, empty):
        return []
    counted = [places.size for places in empty if places.any()]
    doubtful = sum(int(places.sum()) for places in empty)
    pairs = zip(half.answers, empty, strict=True)
    reach = max((_reach(answer, places, half.confidence) for answer, places in pairs), default=0)
    return [
        f"{doubtful:,} of {sum(counted):,} groups cannot be told from empty, and it is calculated with them too: "
        f"{leaves_out(reach)}"
    ]


def foresee_empty_groups(
    statement: Statement, confidence: Fraction, desk: Desk, desks: Mapping[str, Desk] = EMPTY
) -> list[str]:
    """Before there is an answer: that empty groups are calculated with, if that may make a difference."""
    if _only_lists(statement):
        return []
    own = [(block, desks.get(block.table, desk)) for block in statement.blocks]
    empty = [_not_known_to_occur(block.question, confidence, of_block) for block, of_block in own]
    answers = [_made_up(block, of_block) for block, of_block in own]
    if not _matters(PublicHalf(statement, answers, confidence, desk, desks=desks), empty):
        return []
    return [f"groups that nobody is in have a line too, and it is calculated with them: {leaves_out()}"]


def foresee_least_first(question: Question, confidence: Fraction, desk: Desk) -> list[str]:
    """The same of a plain question, of which the groups with the fewest come first."""
    codes = codes_of_groups(question.by, question.where, desk.domain)
    if least_first(question, len(codes)) is None or not _not_known_to_occur(question, confidence, desk).any():
        return []
    return [f"groups that nobody is in have a line too, and come first: {leaves_out()}"]


def _only_lists(statement: Statement) -> bool:
    """Whether a line of the result is a line of a block, and none depends on others."""
    return is_direct(statement) and statement.public.find(exp.AggFunc, exp.Window, exp.Limit, exp.Fetch) is None


def _has_groups(question: Question) -> bool:
    return bool(question.by) and bool(question.aggregates)


def _may_be_empty(answer: BlockAnswer, confidence: Fraction) -> Places:
    """The groups of which no number says that there are rows."""
    occurs = np.zeros(answer.count, np.bool_)
    if not _has_groups(answer.block.question):
        return occurs
    if isinstance(answer.lines, GridLines):
        for named, column in zip(answer.numbers, answer.lines.rows.columns, strict=True):
            counts = column.parts[-1]
            numbers = np.abs(counts.numbers) if isinstance(named.query, Sum) else counts.numbers
            occurs |= numbers > counts.halfwidths(confidence)
        return ~occurs
    queries = [column.query for column in answer.numbers]
    tell = [any(map(_tells, rows, queries, repeat(confidence))) for _, rows in answer.lines]
    return ~np.array(tell, np.bool_)


def _tells(row: Row, query: Measure, confidence: Fraction) -> bool:
    """Whether a number says that its group has rows: it is beyond its noise, or the count of an average is."""
    match row.source:
        case Ratio(count=count):
            return count.value > count.halfwidth(confidence)
        case Estimate() as one:
            value = abs(one.value) if isinstance(query, Sum | Combination) else one.value
            return value > one.halfwidth(confidence)
    return False


def _not_known_to_occur(question: Question, confidence: Fraction, desk: Desk) -> Places:
    """The groups of which no released count says that there are rows."""
    codes = codes_of_groups(question.by, question.where, desk.domain)
    if not _has_groups(question):
        return np.zeros(len(codes), np.bool_)
    if len(codes) > MOST_LOOKED_UP:
        return np.ones(len(codes), np.bool_)
    everyone = Count(desk.domain.everything)
    regions = [region for _, region in groups_to_plan(question.by, question.where, desk.domain)]
    found = zip(regions, desk.known.best(everyone, regions), strict=True)
    counts = [None if one is None else public(everyone, region, one, desk) for region, one in found]
    return np.array([one is None or one.value <= one.halfwidth(confidence) for one in counts], np.bool_)


def _made_up(block: Block, desk: Desk) -> BlockAnswer:
    codes = codes_of_groups(block.question.by, block.question.where, desk.domain)
    values = MADE_UP + np.arange(len(codes), dtype=np.float64)
    return BlockAnswer(block, codes, (values,) * len(block.question.aggregates), 0)


def _matters(half: PublicHalf, empty: Sequence[Places]) -> bool:
    """Whether some line would only come out without the groups that may be empty."""
    if not any(places.any() for places in empty):
        return False
    pairs = [(answer, _some(answer, places)) for answer, places in zip(half.answers, empty, strict=True)]
    is_bounded = half.lineage.is_chosen and half.statement.public.find(exp.Where) is not None
    try:
        with_them = _lines(half, [_at_nothing(answer, places, is_bounded) for answer, places in pairs])
        without = _lines(half, [_without(answer, places) for answer, places in pairs])
    except UnsupportedQuery:
        return False
    return bool(without - with_them)


def _lines(half: PublicHalf, answers: Sequence[BlockAnswer]) -> Counter[tuple[object, ...]]:
    table = PublicHalf(half.statement, answers, half.confidence, half.desk, desks=half.desks).made()
    return Counter(zip(*map(_cells, table.columns), strict=True))


def _cells(column: "pa.ChunkedArray") -> list[object]:
    if str(column.type) != "double":
        return list(column.to_pylist())
    numbers = column.to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        size = 10.0 ** (np.floor(np.log10(np.abs(numbers))) - DIGITS)
        rounded = np.where(np.abs(numbers) > 10.0**-DIGITS, np.rint(numbers / size) * size, numbers * 0)
    return list(np.nan_to_num(rounded, nan=np.inf))


def _at_nothing(answer: BlockAnswer, empty: Places, is_bounded: bool) -> BlockAnswer:
    """What nobody is in counts 0; as it came out where a bound is there to leave it out."""
    values = []
    for column, numbers in zip(answer.numbers, answer.values, strict=True):
        is_amount = not isinstance(column.query, Mean | Quantile)
        nothing = np.maximum(numbers, 0) if is_bounded and answer.lines else np.zeros_like(numbers)
        values.append(np.where(empty, nothing, numbers) if is_amount else numbers)
    return replace(answer, values=tuple(values), lines=())


def _without(answer: BlockAnswer, empty: Places) -> BlockAnswer:
    values = tuple(numbers[~empty] for numbers in answer.values)
    return replace(answer, codes=answer.codes[~empty], values=values, lines=())


def _some(answer: BlockAnswer, empty: Places) -> Places:
    """Those to try it with: where it is all of them, the half with the least, for of no line nothing is calculated."""
    if not empty.all():
        return empty
    least = np.argsort(np.nan_to_num(answer.values[0], nan=-np.inf), kind="stable")[: len(empty) // 2]
    return np.isin(np.arange(len(empty)), least)


def _reach(answer: BlockAnswer, empty: Places, confidence: Fraction) -> int:
    """How far from 0 noise alone takes the counts of a block, at this confidence; 0 where none are asked for."""
    if not empty.any():
        return 0
    counts = [place for place, column in enumerate(answer.numbers) if type(column.query) is Count]
    if answer.columns is not None:
        reaches = (one.halfwidth(confidence) for place in counts for one in answer.columns[place].parts[0].laws)
        return max(map(ceil, reaches), default=0)
    found = [rows[place].source for _, rows in answer.lines for place in counts]
    return max((ceil(one.halfwidth(confidence)) for one in found if isinstance(one, Estimate)), default=0)
