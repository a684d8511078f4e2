"""One value: a sub-query in the place of a value has one line, or is NULL.

How many lines it has may be public (they are those of groups, whatever their numbers): several are refused when the
statement is tried, before anything is bought. Where noise decides (`WHERE n > 100`) nobody knows before, and an error
would come too late: with several lines the value is NULL, as with none.
"""

from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.engine_words import INSTEAD
from discreet.sql.lineage import Lineage, chosen_queries
from discreet.sql.passes.tree import is_aggregated, is_star
from discreet.sql.syntax import OWN, place_of

LINES, VALUE = f"{OWN}lines", f"{OWN}value"
AROUND = (exp.From, exp.Join, exp.Lateral, exp.CTE, exp.Exists, exp.Any, exp.All, exp.SetOperation, exp.Subquery)


def one_value(public: exp.Query, blocks: Mapping[str, Lineage]) -> tuple[exp.Query, list[str]]:
    """The same query with NULL where noise leaves several lines for one value; and what to say of it."""
    tree, notes = public.copy(), []
    # What stands inside another comes last, and is replaced first.
    for query in reversed(chosen_queries(tree, blocks)):
        if is_value(query) and not has_one_line(query):
            notes.append(several_words(query))
            query.replace(_guarded(query))
    return tree, notes[::-1]


def several_words(query: exp.Expression) -> str:
    return (
        f"a sub-query that stands for one value may have several lines, as noise decides{place_of(query)}: it is NULL "
        f"then; {INSTEAD}"
    )


def is_value(query: exp.Expression) -> bool:
    """Whether a sub-query stands for one value."""
    around = query.parent
    return not isinstance(around, AROUND) and not (isinstance(around, exp.In) and query.arg_key == "query")


def has_one_line(query: exp.Expression) -> bool:
    """Whether a query has at most one line, whatever it reads."""
    inner = query.unnest()
    limit = inner.args.get("limit")
    count = None if limit is None else limit.args.get("expression")
    if isinstance(count, exp.Literal) and count.this in ("0", "1"):
        return True
    return isinstance(inner, exp.Select) and inner.args.get("group") is None and is_aggregated(inner)


def _guarded(query: exp.Expression) -> exp.Expression:
    """SELECT CASE WHEN COUNT(*) < 2 THEN MIN(value) END FROM (the query)."""
    inner = query.unnest()
    first = inner
    while not isinstance(first, exp.Select):
        first = first.this
    if len(first.expressions) != 1 or is_star(first.expressions[0]):
        raise UnsupportedQuery(f"a sub-query that stands for one value has one column{place_of(query)}; name it")
    alias = exp.TableAlias(this=exp.to_identifier(LINES), columns=[exp.to_identifier(VALUE)])
    lines = exp.Subquery(this=inner.copy(), alias=alias)
    is_one = exp.Count(this=exp.Star()) < exp.Literal.number(2)
    value = exp.Case(ifs=[exp.If(this=is_one, true=exp.Min(this=exp.column(VALUE)))])
    return exp.Select(expressions=[value], from_=exp.From(this=lines)).subquery()
