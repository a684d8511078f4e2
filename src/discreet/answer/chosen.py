"""Lines that were chosen by their noise: ORDER BY a noisy number, with LIMIT or OFFSET.

Of many lines those with the most noise come first, so that an interval which holds for 95% of all lines hardly ever
holds for them. The intervals of chosen lines hold at once for all m lines that they were chosen from: each is made with
the confidence 1 − (1 − c)/m, so that the chance that any of the m fails, and hence that any chosen one does, is at most
1 − c, however the choice was made and whatever draws the lines have in common (Bonferroni). See
docs/explain/intervals.md.

So it is with a region that a sub-query's noisy values chose, for numbers that are made of the same measurements: their
intervals hold at once for all regions that could have been chosen.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.answer.estimate import Estimate, Ratio
from discreet.answer.reply import Row
from discreet.query.marginals import Source
from discreet.query.query import Count
from discreet.sql.question import AggregateColumn, Question

MOST_REGIONS = 1 << 900
"""Of more regions no interval is made: what each may fail with is no number that a float holds."""


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


def least_first(question: Question, lines: int) -> AggregateColumn | None:
    """The count by which some of so many lines are chosen, those with the fewest first."""
    keys = question.order_by
    if not keys or keys[0].descending or question.limit is None or question.offset + question.limit >= lines:
        return None
    column = question.columns[keys[0].column]
    return column if isinstance(column, AggregateColumn) and isinstance(column.query, Count) else None


def leaves_out(reach: int = 0) -> str:
    """What to write so that groups that may be empty are left out. Noise takes a count so far from 0, if known."""
    bound = f"{reach:,}" if reach else "a number that is above the noise"
    return f"HAVING COUNT(*) > {bound} after their GROUP BY, or a WHERE, leaves them out"


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


@dataclass(frozen=True)
class Choosing:
    """The measurements that regions were chosen by."""

    sources: frozenset[Source] = frozenset()
    is_unknown: bool = False
    """Whether some were chosen by numbers of which it is not said what they are made of."""

    def and_by(self, rows: Sequence[Row]) -> "Choosing":
        """These, and those that rows are made of."""
        return Choosing(self.sources | sources_of(rows), self.is_unknown or any(map(_is_unsaid, rows)))

    def chose(self, rows: Sequence[Row]) -> bool:
        """Whether rows may have noise in common with what chose their region: measured by themselves, they have not."""
        own = sources_of(rows)
        if self.is_unknown and (own or any(map(_is_unsaid, rows))):
            return True
        return not self.sources.isdisjoint(own) or (bool(self.sources) and any(map(_is_unsaid, rows)))


def _is_unsaid(row: Row) -> bool:
    """Whether a number is made of earlier releases that it does not name: a quantile of released counts."""
    return row.source is None and row.value is not None and row.kind == "derived"


def chosen_words(regions: int) -> str:
    """What to say of numbers whose region was chosen by noise that they have in common with it."""
    if regions > MOST_REGIONS:
        return (
            "its region was chosen by noise that is in its numbers too, one of too many for intervals that hold for "
            "all; ask for the groups, and choose from them in the statement"
        )
    count = f"{regions:,}" if regions < 10**6 else f"10^{len(str(regions)) - 1}"
    return (
        "its region was chosen by noise that is in its numbers too: intervals hold for all the regions at once that "
        f"could have been chosen, {count} at most"
    )
