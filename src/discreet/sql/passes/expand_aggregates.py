"""Expand aggregates: MODE as the largest group, VAR, STDDEV, CORR and the like as formulas of sums, quantiles of what
rises or falls with a column in bins as that of its quantile."""

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.passes.tables import Domains, domain_of
from discreet.sql.passes.tree import (
    is_aggregate,
    is_aggregated,
    lines_of,
    map_children,
    name_of,
    public_parts,
    rewrite_selects,
)
from discreet.sql.rising import of_ranked_column
from discreet.sql.scope import Scope
from discreet.sql.statistics import as_sums
from discreet.sql.syntax import place_of


def expand_aggregates(tree: exp.Query, domains: Domains) -> exp.Query:
    """The same statement by aggregates that are sums, counts and quantiles of rows."""

    def expanded(select: exp.Select) -> exp.Select:
        if lines_of(select) is not None:
            return select
        names = Scope.over(domain_of(select, domains))

        def by_sums(node: exp.Expression) -> exp.Expression:
            if isinstance(node, exp.Query):
                return node
            if isinstance(node, exp.Mode):
                return _largest_group(node, select)
            if is_aggregate(node):
                return as_sums(node, names) or of_ranked_column(node, names) or node
            return map_children(node, by_sums)

        was_aggregated = is_aggregated(select)
        for part in public_parts(select):
            part.replace(by_sums(part.copy()))
        if was_aggregated and not is_aggregated(select):
            select.set("group", exp.Group())  # MODE alone: still one line of all rows
        return select

    return rewrite_selects(tree, expanded)


def _largest_group(mode: exp.Mode, select: exp.Select) -> exp.Expression:
    """The most frequent value: that of the largest group."""
    if select.args.get("group") or mode.this is None:
        raise UnsupportedQuery(
            f"MODE is answered without GROUP BY{place_of(mode)}; with it, ask for COUNT(*) of each value as well, "
            "and QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY COUNT(*) DESC) = 1"
        )
    where = select.args.get("where")
    missing = exp.Is(this=exp.paren(mode.this.copy()), expression=exp.null())
    largest = exp.Select(
        expressions=[exp.alias_(mode.this.copy(), name_of(mode.this), quoted=True)],
        from_=select.args["from_"].copy(),
    )
    largest.set("where", exp.Where(this=exp.and_(*([where.this.copy()] if where else []), exp.not_(missing))))
    largest.set("group", exp.Group(expressions=[mode.this.copy()]))
    largest.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Count(this=exp.Star()), desc=True)]))
    largest.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    return largest.subquery()
