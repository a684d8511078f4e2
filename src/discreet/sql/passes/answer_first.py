"""Answer first: a private SELECT takes values, so its sub-queries are answered before it and their values go in."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.sql.passes.tree import inner_queries, literal_of, text_of

Values = Sequence[object]
Known = Mapping[str, Values]
"""What sub-queries were answered, by their text: a value, or the values of an IN."""


def unanswered(select: exp.Select, known: Known) -> dict[str, exp.Query]:
    """The sub-queries of a private SELECT whose values are not known yet, by their texts."""
    queries = {text_of(query): query.unnest().copy() for query in inner_queries(select)}
    return {text: query for text, query in queries.items() if text not in known}


def fill_answers(select: exp.Select, known: Known) -> exp.Select:
    """The same SELECT with values instead of sub-queries."""
    filled = select.copy()
    for query in inner_queries(filled):
        values, around = known[text_of(query)], query.parent
        if not isinstance(around, exp.In):
            query.replace(literal_of(values[0] if values else None))
        elif values:
            around.replace(exp.In(this=around.this.copy(), expressions=[literal_of(value) for value in values]))
        else:
            around.replace(exp.false())
    return filled
