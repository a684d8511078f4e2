"""Expand aggregates: MODE as the largest group, VAR, STDDEV, CORR and the like as formulas of sums, quantiles of what
rises or falls with a column in bins as that of its quantile."""

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.passes.tables import Domains, domain_of
from discreet.sql.passes.tree import (
    OUTER,
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
from discreet.sql.syntax import OWN, place_of

COUNTED, VALUE, COUNT, GROUP = f"{OWN}counted", f"{OWN}value", f"{OWN}n", f"{OWN}g"
"""What the counts of MODE are called, and their columns."""


def expand_aggregates(tree: exp.Query, domains: Domains) -> exp.Query:
    """The same statement by aggregates that are sums, counts and quantiles of rows."""

    def expanded(select: exp.Select) -> exp.Select:
        if lines_of(select) is not None:
            return select
        names = Scope.over(domain_of(select, domains))

        def by_sums(node: exp.Expression) -> exp.Expression:
            if isinstance(node, exp.Query):
                return node
            if _mode_in(node) is not None:
                return _most_frequent(node, select)
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


def _mode_in(node: exp.Expression) -> exp.Mode | None:
    """MODE by itself or with FILTER."""
    call = node.this.unnest() if isinstance(node, exp.Filter) else node
    return call if isinstance(call, exp.Mode) else None


def _most_frequent(node: exp.Expression, select: exp.Select) -> exp.Expression:
    """The most frequent value: that of the largest group, or of the largest in each group of the SELECT."""
    mode, clause = _mode_in(node), select.args.get("group")
    assert mode is not None
    if mode.this is None:
        raise UnsupportedQuery(f"MODE is of a column or an expression{place_of(mode)}, as in MODE(x)")
    if clause is not None and any(clause.args.get(part) for part in ("rollup", "cube", "grouping_sets")):
        raise UnsupportedQuery(
            f"MODE is not answered beside ROLLUP, CUBE or GROUPING SETS{place_of(mode)}; ask for it with GROUP BY alone"
        )
    keys = [] if clause is None else [one.unnest() for one in clause.expressions]
    counted = _counted(mode.this, keys, node.expression.this if isinstance(node, exp.Filter) else None, select)
    if not keys:
        counted.set("expressions", counted.expressions[:1])
        counted.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Count(this=exp.Star()), desc=True)]))
        counted.set("limit", exp.Limit(expression=exp.Literal.number(1)))
        return counted.subquery()
    largest = exp.ArgMax(this=exp.column(VALUE, table=COUNTED), expression=exp.column(COUNT, table=COUNTED))
    same = [
        exp.NullSafeEQ(
            this=exp.column(f"{GROUP}{place}", table=COUNTED),
            expression=exp.Anonymous(this=OUTER, expressions=[key.copy()]),
        )
        for place, key in enumerate(keys)
    ]
    whole = exp.Select(expressions=[largest], from_=exp.From(this=counted.subquery(COUNTED)))
    whole.set("where", exp.Where(this=exp.and_(*same)))
    return whole.subquery()


def _counted(
    of: exp.Expression, keys: list[exp.Expression], condition: exp.Expression | None, select: exp.Select
) -> exp.Select:
    """How often each value is there, in each group."""
    where = select.args.get("where")
    held = [one.copy() for one in (where.this if where else None, condition) if one is not None]
    missing = exp.Is(this=exp.paren(of.copy()), expression=exp.null())
    outputs = [
        exp.alias_(of.copy(), VALUE if keys else name_of(of), quoted=True),
        exp.alias_(exp.Count(this=exp.Star()), COUNT),
    ]
    outputs += [exp.alias_(key.copy(), f"{GROUP}{place}") for place, key in enumerate(keys)]
    found = exp.Select(expressions=outputs, from_=select.args["from_"].copy())
    found.set("where", exp.Where(this=exp.and_(*held, exp.not_(missing))))
    found.set("group", exp.Group(expressions=[of.copy(), *(key.copy() for key in keys)]))
    return found
