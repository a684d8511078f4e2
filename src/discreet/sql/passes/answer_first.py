"""Answer first: a private SELECT takes values, so its sub-queries are answered before it and their values go in.

Nothing that came out as a value can make the rest fail any more, for it was paid for: NULL compares with nothing, and a
text that a category does not declare is in no row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.domain.attribute import Category
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.sql.passes.one_value import is_value
from discreet.sql.passes.tree import literal_of, text_of, value_queries


@dataclass(frozen=True)
class Values:
    """What a sub-query was answered: a value, or the values of an IN. None is NULL."""

    known: Sequence[object]
    are_numbers: bool = False

    @property
    def one(self) -> object:
        """The value that it stands for; NULL where there are none or several."""
        return self.known[0] if len(self.known) == 1 else None


Known = Mapping[str, Values]
"""By the texts of sub-queries."""


def unanswered(select: exp.Select, known: Known) -> dict[str, exp.Query]:
    """The sub-queries of a private SELECT whose values are not known yet, by their texts."""
    queries = {text_of(query): query.unnest().copy() for query in value_queries(select)}
    return {text: query for text, query in queries.items() if text not in known}


def single_values(select: exp.Select) -> dict[str, exp.Expression]:
    """Those of its sub-queries that stand for one value, by their texts."""
    return {text_of(query): query for query in value_queries(select) if is_value(query)}


def fill_answers(select: exp.Select, known: Known, domain: Domain) -> exp.Select:
    """The same SELECT with values instead of sub-queries."""
    filled = select.copy()
    for query in value_queries(filled):
        values, around = known[text_of(query)], query.parent
        if is_value(query):
            query.replace(_literal(values.one, values, around, domain))
        elif not isinstance(around, exp.In):
            continue  # refused as it stands
        elif values.known:
            there = [_literal(value, values, around, domain) for value in values.known]
            around.replace(exp.In(this=around.this.copy(), expressions=there))
        else:
            around.replace(exp.false())
    return filled


def _literal(value: object, values: Values, around: exp.Expression | None, domain: Domain) -> exp.Expression:
    if value is None:
        return exp.cast(exp.null(), "DOUBLE" if values.are_numbers else "VARCHAR")
    if isinstance(value, str) and not _is_declared(value, around, domain):
        return exp.cast(exp.Literal.string(value), "VARCHAR")  # a text by itself would be taken for a slip
    return literal_of(value)


def _is_declared(text: str, around: exp.Expression | None, domain: Domain) -> bool:
    """Whether a text may be compared with the columns beside it as if it had been written there."""
    columns = [] if around is None else [one for one in around.iter_expressions() if isinstance(one, exp.Column)]
    named = {attribute.name.lower(): attribute for attribute in domain.attributes}
    own = [named[column.name.lower()] for column in columns if column.name.lower() in named]
    return not any(isinstance(one, Category) and not isinstance(one, Date) and text not in one.values for one in own)
