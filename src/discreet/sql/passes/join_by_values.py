"""A join of rows with a result that only tells which values to take: a semi-join, as a condition."""

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.sql.passes.tree import conjuncts, has_aggregate, name_of, qualifier_of


def join_by_values(select: exp.Select, result: exp.Expression, grouped: exp.Expression | None, domain: Domain) -> bool:
    """Write rows JOIN (a result by one group) ON a = b as WHERE a IN (SELECT b FROM the result), where nothing else of
    the result is asked for; and say whether that was done."""
    [join] = select.args["joins"]
    conditions, name = conjuncts(join.args.get("on")), qualifier_of(result)
    groups = grouped.args.get("group") if isinstance(grouped, exp.Select) else None
    if join.args.get("side") or groups is None or len([one for one in groups.args.values() if one]) != 1:
        return False
    if len(groups.expressions) != 1:
        return False
    assert isinstance(grouped, exp.Select)
    columns = {name_of(one).lower(): one for one in grouped.expressions}
    attributes = {attribute.name.lower() for attribute in domain.attributes}

    def is_own(node: exp.Expression) -> bool:
        if not isinstance(node, exp.Column) or node.name.lower() not in columns:
            return False
        return node.table.lower() == name or (not node.table and node.name.lower() not in attributes)

    written = [column for column in select.find_all(exp.Column) if column.find_ancestor(exp.Select) is select]
    own = [column for column in written if is_own(column)]
    if len(conditions) != 1 or not isinstance(conditions[0], exp.EQ) or len(own) != 1:
        return False
    sides = [conditions[0].this.unnest(), conditions[0].expression.unnest()]
    rows = [side for side in sides if side is not own[0]]
    if len(rows) != 1 or has_aggregate(columns[own[0].name.lower()]):
        return False
    inner = exp.Select(expressions=[exp.column(own[0].name)], from_=exp.From(this=result.copy()))
    select.set("joins", None)
    select.where(exp.In(this=rows[0].copy(), query=inner.subquery()), copy=False)
    return True
