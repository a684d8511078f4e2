"""Decorrelate: a sub-query over the table whose WHERE names the lines around it, by the groups of what it compares.

`SELECT u.unit, (SELECT COUNT(*) FROM visits v WHERE v.unit = u.unit) FROM units u` asks of each line a number of its
own: one of COUNT(*) GROUP BY unit, which is measured once. What is of any other form is left as it is, and refused.
"""

from collections.abc import Sequence

from sqlglot import exp

from discreet.sql.passes.tables import Domains
from discreet.sql.passes.tree import (
    OURS,
    OUTER,
    conjuncts,
    has_aggregate,
    is_aggregate,
    name_of,
    output_of,
    place_among,
    qualifier_of,
    sources_of,
    text_of,
)
from discreet.sql.syntax import OWN

GROUPED, KEY, NUMBER = f"{OWN}grouped", f"{OWN}k", f"{OWN}n"
"""What the numbers of all groups are called, the columns by which the lines around find theirs, and the numbers that
are calculated with there."""
PARTS = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset"}
COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RegrCount)
PRIVATE = (exp.Where, exp.AggFunc, exp.Filter, exp.Group)
"""Parts of a SELECT over rows that its private half needs."""


def decorrelate(tree: exp.Query, domains: Domains) -> exp.Query:
    """The same statement without sub-queries over the table that name columns around them, where groups say it."""
    is_shadowed = any(cte.alias.lower() in domains for cte in tree.find_all(exp.CTE))
    if is_shadowed or not any(_outer_of(select, domains) for select in tree.find_all(exp.Select)):
        return tree
    found = tree.copy()
    for select in reversed([*found.find_all(exp.Select)]):
        changed = _by_groups(select, domains)
        if changed is not None:
            select.replace(changed)
    return found


def _is_over_table(select: exp.Select, domains: Domains) -> bool:
    sources = sources_of(select)
    return len(sources) == 1 and isinstance(sources[0], exp.Table) and sources[0].name.lower() in domains


def _outer_of(select: exp.Select, domains: Domains) -> list[exp.Expression]:
    """The conditions of a SELECT over the table that name other tables."""
    if select.args.get("where") is None or not _is_over_table(select, domains):
        return []
    own = qualifier_of(sources_of(select)[0])
    return [one for one in conjuncts(select.args["where"].this) if _is_of_others(one, own)]


def _is_of_others(node: exp.Expression, own: str) -> bool:
    return any(column.table.lower() not in ("", own) for column in node.find_all(exp.Column))


def _by_groups(select: exp.Select, domains: Domains) -> exp.Select | None:
    """A sub-query as one of the groups that it compares with what is around it; None where it is none."""
    outer = _outer_of(select, domains)
    around = select.parent_select
    if not outer or around is None or {part for part, value in select.args.items() if value} - PARTS:
        return None
    own = qualifier_of(sources_of(select)[0])
    pairs = [pair for one in outer if (pair := _sides(one, own)) is not None]
    inner = select.copy()
    inner.set("where", None)
    is_plain = inner.find(exp.Window, exp.Mode, exp.Rollup, exp.Cube, exp.GroupingSets) is None
    if len(pairs) < len(outer) or not is_plain or _is_of_others(inner, own):
        return None
    if not any(map(has_aggregate, select.expressions)):
        return None
    if select.args.get("having") and not select.args.get("group"):
        return None  # no line where it is not met, and none of a group that is not there: two things to tell apart
    if _is_over_table(around, domains):
        is_other = sources_of(around)[0].name.lower() != sources_of(select)[0].name.lower()
        if is_other or select.find_ancestor(*PRIVATE, exp.Select) is not around:
            return None
        pairs = [(key, exp.Anonymous(this=OUTER, expressions=[value])) for key, value in pairs]
    rest = [one.copy() for one in conjuncts(select.args["where"].this) if all(one is not other for other in outer)]
    if rest:
        inner.set("where", exp.Where(this=exp.and_(*rest)))
    return _found_by(pairs, inner)


def _sides(condition: exp.Expression, own: str) -> tuple[exp.Expression, exp.Expression] | None:
    """What a condition says is equal of a row and of what is around it."""
    if not isinstance(condition, exp.EQ):
        return None
    for key, value in ((condition.this, condition.expression), (condition.expression, condition.this)):
        columns = [*value.find_all(exp.Column)]
        are_outer = columns and all(column.table.lower() not in ("", own) for column in columns)
        if are_outer and key.find(exp.Column) is not None and not _is_of_others(key, own):
            return key.copy(), value.copy()
    return None


def _found_by(pairs: Sequence[tuple[exp.Expression, exp.Expression]], inner: exp.Select) -> exp.Select | None:
    """The line of a group, or its lines, among those of all: what is ordered and cut is so within each."""
    names = [name_of(output) for output in inner.expressions]
    order = inner.args.get("order")
    places = [_place(one.this, inner.expressions) for one in (order.expressions if order else [])]
    if None in places:
        return None
    own, outputs = _of_one_line(inner) if inner.args.get("group") is None else _of_groups(inner)
    found = exp.Select(expressions=outputs)
    if order:
        keys = [one.copy() for one in order.expressions]
        for key, place in zip(keys, places, strict=True):
            key.set("this", exp.column(exp.to_identifier(names[place or 0], quoted=True), table=GROUPED))
        found.set("order", exp.Order(expressions=keys))
    for part in ("limit", "offset"):
        found.set(part, inner.args.get(part))
        inner.set(part, None)
    inner.set("order", None)
    equal = []
    groups = inner.args.get("group") or exp.Group()
    items = [*groups.expressions]
    for place, (key, value) in enumerate(pairs):
        own.append(output_of(key, f"{KEY}{place}"))
        items.append(key.copy())
        equal.append(exp.EQ(this=exp.column(f"{KEY}{place}", table=GROUPED), expression=value))
    inner.set("expressions", own)
    inner.set("group", exp.Group(expressions=items))
    grouped = inner.subquery(GROUPED)
    grouped.meta[OURS] = True
    found.set("from_", exp.From(this=grouped))
    found.set("where", exp.Where(this=exp.and_(*equal)))
    return found


Outputs = list[exp.Expression]


def _of_groups(inner: exp.Select) -> tuple[Outputs, Outputs]:
    """What is asked of each group, and how it is read: as it is."""
    named = [(name_of(output), output.unalias()) for output in inner.expressions]
    return [output_of(one, name) for name, one in named], [output_of(_grouped(name), name) for name, _ in named]


def _of_one_line(inner: exp.Select) -> tuple[Outputs, Outputs]:
    """The aggregates of each group, and what is made of them on one line, also where there is no such group: there a
    count is 0, and what else is asked of rows is NULL."""
    held: dict[str, tuple[str, exp.Expression]] = {}
    outputs = []
    for output in inner.expressions:
        bare = output.unalias().unnest()

        def of_group(node: exp.Expression, bare: exp.Expression = bare, name: str = name_of(output)) -> exp.Expression:
            if not is_aggregate(node):
                return node
            own, _ = held.setdefault(text_of(node), (name if node is bare else f"{NUMBER}{len(held)}", node.copy()))
            found = exp.Sum(this=_grouped(own))
            is_count = isinstance(node.this if isinstance(node, exp.Filter) else node, COUNTS)
            return exp.Coalesce(this=found, expressions=[exp.Literal.number(0)]) if is_count else found

        outputs.append(output_of(bare.transform(of_group, copy=False), name_of(output)))
    return [output_of(node, own) for own, node in held.values()], outputs


def _grouped(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=GROUPED)


def _place(node: exp.Expression, outputs: Sequence[exp.Expression]) -> int | None:
    """Which output a key of ORDER BY is."""
    at = place_among(node, outputs)
    names = [name_of(output).lower() for output in outputs]
    if at is None and isinstance(node, exp.Column) and node.name.lower() in names:
        at = names.index(node.name.lower())
    texts = [text_of(output.unalias().unnest()) for output in outputs]
    return texts.index(text_of(node.unnest())) if at is None and text_of(node.unnest()) in texts else at
