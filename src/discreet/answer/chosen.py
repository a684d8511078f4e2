"""Lines that were chosen by their noise: ORDER BY a noisy number, with LIMIT or OFFSET.

Of many lines those with the most noise come first, so that an interval which holds for 95% of all lines hardly ever
holds for them. The intervals of chosen lines hold at once for all m lines that they were chosen from: each is made with
the confidence 1 − (1 − c)/m, so that the chance that any of the m fails, and hence that any chosen one does, is at most
1 − c, however the choice was made and whatever draws the lines have in common (Bonferroni). See
docs/explain/intervals.md.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from discreet.answer.estimate import Estimate, Ratio
from discreet.answer.reply import Row
from discreet.query.marginals import Source
from discreet.sql.question import AggregateColumn, Question


def at_once(confidence: Fraction, lines: int) -> Fraction:
    """The confidence of each of so many intervals that hold together with this one."""
    return 1 - (1 - confidence) / lines


def chosen_columns(question: Question, lines: int, sources: Mapping[str, frozenset[Source]]) -> set[str]:
    """The columns by whose noise lines are chosen: those ordered by, and those with noise in common with them. There
    are so many lines, and the columns' numbers are of these measurements."""
    stop = lines if question.limit is None else question.offset + question.limit
    keys = [question.columns[key.column] for key in question.order_by]
    by_noise = {column.name for column in keys if isinstance(column, AggregateColumn)}
    if not by_noise or not lines or (question.offset == 0 and stop >= lines):
        return set()
    chosen = frozenset[Source]().union(*(sources[name] for name in by_noise))
    return by_noise | {name for name, own in sources.items() if not chosen.isdisjoint(own)}


def sources_of(rows: Iterable[Row]) -> frozenset[Source]:
    """The measurements that numbers are made of."""
    return frozenset[Source]().union(*{_sources(row) for row in rows})


def _sources(row: Row) -> frozenset[Source]:
    match row.source:
        case Estimate() as estimate:
            return estimate.sources
        case Ratio(total=total, count=count):
            return total.sources | count.sources
    return frozenset()
