"""Lines that were chosen by their noise: ORDER BY a noisy number, with LIMIT or OFFSET.

Of many lines those with the most noise come first, so that an interval which holds for 95% of all lines hardly ever
holds for them. The intervals of chosen lines hold at once for all m lines that they were chosen from: each is made with
the confidence 1 − (1 − c)/m, so that the chance that any of the m fails, and hence that any chosen one does, is at most
1 − c, however the choice was made and whatever draws the lines have in common (Bonferroni). See
docs/explain/intervals.md.
"""

from collections.abc import Sequence
from fractions import Fraction

from discreet.answer.estimate import Estimate, Ratio
from discreet.answer.reply import Row
from discreet.query.marginals import Source
from discreet.sql.question import AggregateColumn, Question


def at_once(confidence: Fraction, lines: int) -> Fraction:
    """The confidence of each of so many intervals that hold together with this one."""
    return 1 - (1 - confidence) / lines


def chosen_columns(question: Question, lines: Sequence[Sequence[Row]]) -> set[str]:
    """The columns by whose noise lines are chosen: those ordered by, and those with noise in common with them."""
    stop = len(lines) if question.limit is None else question.offset + question.limit
    keys = [question.columns[key.column] for key in question.order_by]
    by_noise = {column.name for column in keys if isinstance(column, AggregateColumn)}
    if not by_noise or not lines or (question.offset == 0 and stop >= len(lines)):
        return set()
    chosen = frozenset[Source]().union(*{_sources(row) for rows in lines for row in rows if row.column in by_noise})
    alike = {row.column for rows in lines for row in rows if not chosen.isdisjoint(_sources(row))}
    return by_noise | alike


def _sources(row: Row) -> frozenset[Source]:
    match row.source:
        case Estimate() as estimate:
            return estimate.sources
        case Ratio(total=total, count=count):
            return total.sources | count.sources
    return frozenset()
