"""Regions chosen: how many different regions a sub-query's values could have chosen for the SELECT that takes them.

Whatever comes out of the noise, the region is one of so many: intervals that hold for all of them hold for the one.
"""

from collections.abc import Sequence
from math import comb, prod

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.sql.passes.one_value import is_value
from discreet.sql.passes.tree import inner_queries, lines_of, sources_of, text_of
from discreet.sql.profiles import read_profiles

AROUND_PREDICATES = (exp.And, exp.Or, exp.Not, exp.Where, exp.Filter, exp.If, exp.Case, exp.Select)


def regions_chosen(select: exp.Select, domain: Domain) -> dict[str, int]:
    """For each sub-query of a private SELECT, by its text: how many regions its values could choose, at most.

    One value v parts the codes of the attributes that it is compared with: as v grows, each code comes in and goes out
    at most once (`age > v`, `age BETWEEN v - 5 AND v + 5`). Values of an IN are some of the codes; of a LIMIT so many.
    """
    lines = lines_of(select)
    if lines is None:
        return _chosen(inner_queries(select), domain)
    found = _chosen(inner_queries(lines), domain)
    if own := inner_queries(select, sources_of(select)):
        for text, count in _chosen(own, read_profiles(lines, domain).lines).items():
            found[text] = found.get(text, 1) * count
    return found


def _chosen(queries: Sequence[exp.Expression], domain: Domain) -> dict[str, int]:
    found: dict[str, int] = {}
    for query in queries:
        text, codes = text_of(query), _codes_beside(query, domain)
        own = 2 * codes + 1 if is_value(query) else _subsets(codes, _limit(query))
        found[text] = found.get(text, 1) * own
    return found


def _codes_beside(query: exp.Expression, domain: Domain) -> int:
    """How many combinations of codes have the attributes in the predicate around a sub-query."""
    predicate: exp.Expression = query
    while predicate.parent is not None and not isinstance(predicate.parent, AROUND_PREDICATES):
        predicate = predicate.parent
    inside = {id(column) for column in query.find_all(exp.Column)}
    names = {column.name.lower() for column in predicate.find_all(exp.Column) if id(column) not in inside}
    return prod(attribute.size for attribute in domain.attributes if attribute.name.lower() in names)


def _limit(query: exp.Expression) -> int | None:
    limit = query.unnest().args.get("limit")
    count = None if limit is None else limit.args.get("expression")
    return int(count.this) if isinstance(count, exp.Literal) and count.is_int else None


def _subsets(codes: int, most: int | None) -> int:
    """How many subsets of so many codes there are, of at most so many."""
    if most is None or most >= codes:
        return 1 << codes
    return sum(comb(codes, size) for size in range(most + 1))
