"""Ends of intervals by name: SELECT region, COUNT(*) AS n, n_low, n_high FROM people_with_intervals GROUP BY region.

A chart draws the columns that it asked for. `n_low` and `n_high` are no attributes: they are taken out of the question,
and put back into its answer.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from discreet.server.mysql.columns import ClientRows, number_column
from discreet.server.mysql.sample import REMEMBERED
from discreet.sql.syntax import read_query

ENDS = ("_low", "_high")


@dataclass(frozen=True)
class AskedEnd:
    """A column of the answer: the end of another's interval, and what it is called."""

    place: int
    of: str
    name: str


@lru_cache(REMEMBERED)
def without_ends(text: str, names: tuple[str, ...]) -> tuple[str, tuple[AskedEnd, ...]]:
    """The question itself, and the ends that were asked for beside it. `names` are those of attributes."""
    select = read_query(text)
    if not isinstance(select, exp.Select):
        return text, ()
    noisy = {output.alias.lower() for output in select.expressions if isinstance(output, exp.Alias)}
    noisy -= {name.lower() for name in names}
    found = [(place, _end(output, noisy)) for place, output in enumerate(select.expressions)]
    asked = tuple(AskedEnd(place, of, select.expressions[place].alias_or_name) for place, of in found if of is not None)
    if not asked:
        return text, ()
    question = select.copy()
    question.set("expressions", [question.expressions[place] for place, of in found if of is None])
    return str(question.sql()), asked


def _end(output: exp.Expression, noisy: set[str]) -> str | None:
    """The column's name in an answer with intervals, where it is an end of one."""
    column = output.unalias().unnest()
    if not isinstance(column, exp.Column) or not isinstance(column.this, exp.Identifier):
        return None
    name = column.name.lower()
    return name if any(name.endswith(end) and name.removesuffix(end) in noisy for end in ENDS) else None


def with_ends(plain: ClientRows, whole: ClientRows, asked: tuple[AskedEnd, ...]) -> ClientRows:
    """An answer with the ends that were asked for at their places; `whole` has all there are."""
    names = [column.name.lower() for column in whole.columns]
    columns, rows = list(plain.columns), [list(row) for row in plain.rows]
    for end in asked:
        at = names.index(end.of)
        columns.insert(end.place, number_column(end.name))
        for row, every in zip(rows, whole.rows, strict=True):
            row.insert(end.place, every[at])
    return replace(plain, columns=tuple(columns), rows=tuple(map(tuple, rows)))
