"""Spell out: forms that say what another one says are written as that one: FETCH as LIMIT, EXISTS of look-ups and = ANY
as IN, ANY_VALUE of what is grouped by as that."""

from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.lookup import Lookup
from discreet.sql.passes.tree import (
    LATERAL,
    conjuncts,
    name_of,
    output_of,
    place_among,
    qualifier_of,
    sources_of,
    text_of,
)
from discreet.sql.syntax import place_of

OF_ONE = (exp.AnyValue, exp.First, exp.Last)
"""Aggregates that take one of a group's values, whichever."""


def spell_out(tree: exp.Query, lookups: Mapping[str, Lookup]) -> exp.Query:
    """The same statement in forms that the other passes know."""
    if tree.find(exp.Fetch, exp.Exists, exp.Lateral, *OF_ONE) is None and not _quantifiers(tree):
        return tree
    found = tree.copy()
    for fetch in [*found.find_all(exp.Fetch)]:
        fetch.replace(_limit(fetch))
    for lateral in [*found.find_all(exp.Lateral)]:
        if isinstance(lateral.this, exp.Subquery):
            inner = exp.Subquery(this=lateral.this.this, alias=lateral.args.get("alias"))
            inner.meta[LATERAL] = True
            lateral.replace(inner)  # the engine sees by itself what such a one names
    for quantifier in _quantifiers(found):
        listed = _as_listed(quantifier)
        if listed is not None:
            quantifier.parent.replace(listed)
    for exists in [*found.find_all(exp.Exists)]:
        spelled = _as_in(exists, lookups)
        if spelled is not None:
            exists.replace(spelled)
    for call in [*found.find_all(*OF_ONE)]:
        whole = call.parent if isinstance(call.parent, exp.IgnoreNulls) else call
        group = _as_group(call, whole)
        if group is not None:
            whole.replace(output_of(group, name_of(call)) if isinstance(whole.parent, exp.Select) else group)
    return found


def _limit(fetch: exp.Fetch) -> exp.Limit:
    """FETCH FIRST n ROWS ONLY."""
    options = fetch.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise UnsupportedQuery(
            f"FETCH with PERCENT or WITH TIES is not supported{place_of(fetch)}; write "
            "QUALIFY RANK() OVER (ORDER BY …) <= n"
        )
    count = fetch.args.get("count")
    return exp.Limit(expression=exp.Literal.number(1) if count is None else count.copy())


def _as_group(call: exp.Expression, whole: exp.Expression) -> exp.Expression | None:
    """ANY_VALUE, FIRST or LAST of what its SELECT groups by as that: it is one in all rows of a group. Of subtotals, of
    other rows than all (FILTER, OVER) and of anything else it is not known to be."""
    select = call.parent_select
    clause = None if select is None else select.args.get("group")
    if select is None or clause is None or isinstance(whole.parent, exp.Filter | exp.Window):
        return None
    if any(clause.args.get(part) for part in ("rollup", "cube", "grouping_sets", "all", "totals")):
        return None
    places = [(item, place_among(item, select.expressions)) for item in clause.expressions]
    items = [item if place is None else select.expressions[place].unalias() for item, place in places]
    value = call.this.unnest()
    return value.copy() if text_of(value) in {text_of(item.unnest()) for item in items} else None


def _quantifiers(tree: exp.Expression) -> list[exp.Expression]:
    """ANY and ALL; of a list the parser takes ALL for a function."""
    return [one for one in tree.find_all(exp.Any, exp.All, exp.Anonymous) if _is_any(one) or _is_all(one)]


def _is_any(node: exp.Expression) -> bool:
    return isinstance(node, exp.Any)


def _is_all(node: exp.Expression) -> bool:
    return isinstance(node, exp.All) or (isinstance(node, exp.Anonymous) and str(node.this).upper() == "ALL")


def _as_listed(quantifier: exp.Expression) -> exp.Expression | None:
    """x = ANY (…) as x IN (…), and x <> ALL (…) as x NOT IN (…), of a list or a sub-query."""
    around = quantifier.parent
    is_asked = isinstance(around, exp.EQ if _is_any(quantifier) else exp.NEQ) and around.expression is quantifier
    parts = quantifier.expressions if isinstance(quantifier, exp.Anonymous) else [quantifier.this]
    values = parts[0].unnest() if len(parts) == 1 else None
    if not is_asked or not isinstance(values, exp.Array | exp.Query):
        return None
    if isinstance(values, exp.Array):
        among = exp.In(this=around.this.copy(), expressions=[one.copy() for one in values.expressions])
    else:
        among = exp.In(this=around.this.copy(), query=values.copy().subquery())
    return among if _is_any(quantifier) else exp.not_(among)


def _as_in(exists: exp.Exists, lookups: Mapping[str, Lookup]) -> exp.Expression | None:
    """EXISTS (SELECT … FROM a_lookup l WHERE l.a = x AND …) as x IN (SELECT l.a FROM a_lookup l WHERE …), which is
    false, and not NULL, where x is missing."""
    select = exists.this.unnest()
    if not isinstance(select, exp.Select) or {part for part, value in select.args.items() if value} - {
        "expressions",
        "from_",
        "where",
    }:
        return None
    sources = sources_of(select)
    if len(sources) != 1 or not isinstance(sources[0], exp.Table) or sources[0].name.lower() not in lookups:
        return None
    name, lookup = qualifier_of(sources[0]), lookups[sources[0].name.lower()]

    def is_own(node: exp.Column) -> bool:
        return node.table.lower() == name or (not node.table and node.name.lower() in lookup.columns)

    clause = select.args.get("where")
    inner: list[exp.Expression] = []
    outer: list[exp.Expression] = []
    for one in conjuncts(None if clause is None else clause.this):
        (inner if all(map(is_own, one.find_all(exp.Column))) else outer).append(one)
    if len(outer) != 1 or not isinstance(outer[0], exp.EQ):
        return None
    for key, value in ((outer[0].this, outer[0].expression), (outer[0].expression, outer[0].this)):
        is_key = [*key.find_all(exp.Column)] and all(map(is_own, key.find_all(exp.Column)))
        if is_key and not any(map(is_own, value.find_all(exp.Column))):
            listed = exp.Select(expressions=[key.copy()], from_=select.args["from_"].copy())
            if inner:
                listed.set("where", exp.Where(this=exp.and_(*(one.copy() for one in inner))))
            compared = value.copy() if isinstance(value, exp.Column) else exp.paren(value.copy())
            found = exp.In(this=compared, query=listed.subquery())
            return exp.Coalesce(this=exp.paren(found), expressions=[exp.false()])
    return None
