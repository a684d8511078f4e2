"""Prune CTEs that nothing reads, as sqlglot's `eliminate_ctes` does: what they ask is not to be paid for."""

from sqlglot import exp


def prune_ctes(public: exp.Query) -> exp.Query:
    """The same query without them, nor those that only they read."""
    while True:
        read = tables_in(public)
        unread = [cte for cte in public.find_all(exp.CTE) if cte.alias.lower() not in read]
        if not unread:
            return public
        clause = unread[0].parent
        unread[0].pop()
        if not clause.expressions:
            clause.parent.set("with_", None)


def tables_in(query: exp.Query) -> set[str]:
    """The names of all tables that a query reads anywhere, in lower case."""
    return {table.name.lower() for table in query.find_all(exp.Table)}
