"""Prune CTEs that nothing reads, as sqlglot's `eliminate_ctes` does: what they ask is not to be paid for."""

from sqlglot import exp


def prune_ctes(public: exp.Query) -> exp.Query:
    while True:
        read = {table.name.lower() for table in public.find_all(exp.Table)}
        unread = [cte for cte in public.find_all(exp.CTE) if cte.alias.lower() not in read]
        if not unread:
            return public
        clause = unread[0].parent
        unread[0].pop()
        if not clause.expressions:
            clause.parent.set("with_", None)
