"""Joins of rows with look-up tables: their columns become expressions over the row's own."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.lookup import Lookup
from discreet.sql.passes.qualify import Names
from discreet.sql.passes.relation import Code, Relation, TableRows
from discreet.sql.passes.tree import conjuncts, literal_of, qualifier_of
from discreet.sql.syntax import place_of

JOINED = "JOIN a_lookup ON column = a_lookup.key, inner or left"


def join_lookups(
    select: exp.Select, tables: Sequence[tuple[exp.Expression, Relation]], domain: Domain
) -> tuple[TableRows, exp.Where | None]:
    """Rows joined with look-up tables, each by its key: many rows to one line. The WHERE is handed back without the
    conditions that join."""
    [(table, rows)] = [(table, relation) for table, relation in tables if isinstance(relation, TableRows)]
    if table is not tables[0][0]:
        raise UnsupportedQuery(f"the vault's table comes first{place_of(table)}: FROM {domain.name} {JOINED}")
    clause = select.args.get("where")
    conditions = conjuncts(None if clause is None else clause.this)
    joins = {id(join.this): join for join in select.args.get("joins") or []}
    joined: dict[str, dict[str, exp.Expression]] = {}
    where = [*rows.where]
    for other, relation in tables[1:]:
        assert isinstance(relation, Code)
        join, name, lookup = joins[id(other)], qualifier_of(other), relation.lookup
        is_left = _is_left(join)
        own, rest = _key_condition(_on(join, name), name, lookup)
        if own is None and not join.args.get("on") and not join.args.get("using"):
            own, conditions = _key_condition(conditions, name, lookup)
        if own is None or (is_left and rest):
            raise UnsupportedQuery(f"a look-up table is joined by its key, {lookup.key}{place_of(other)}: {JOINED}")
        conditions += rest
        keyed = Names(replace(rows, joined=joined), qualifier_of(table), domain).column(own)
        keys = _keys(keyed, lookup, domain)
        joined[name] = {column: _case(keyed, keys, lookup, column) for column in lookup.columns}
        if not is_left:
            found = exp.In(this=keyed.copy(), expressions=[literal.copy() for _, literal in keys])
            where.append(found if keys else exp.false())
    left = exp.Where(this=exp.and_(*conditions)) if conditions else None
    return replace(rows, where=tuple(where), joined=joined), left


def _is_left(join: exp.Join) -> bool:
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER", "CROSS") or join.args.get("method"):
        raise UnsupportedQuery(
            f"only inner and left joins with a look-up table are supported{place_of(join)}: {JOINED}"
        )
    return side == "LEFT"


def _on(join: exp.Join, name: str) -> list[exp.Expression]:
    """The conditions of ON or USING."""
    using = join.args.get("using") or []
    if using:
        pairs = [(exp.column(one.name), exp.column(one.name, table=name)) for one in using]
        return [exp.EQ(this=one, expression=other) for one, other in pairs]
    return conjuncts(join.args.get("on"))


def _key_condition(
    conditions: list[exp.Expression], name: str, lookup: Lookup
) -> tuple[exp.Expression | None, list[exp.Expression]]:
    """What the key is to equal, and the other conditions."""
    for place, condition in enumerate(conditions):
        if not isinstance(condition, exp.EQ):
            continue
        for side, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
            column = side.unnest()
            is_key = isinstance(column, exp.Column) and column.name.lower() == lookup.key
            if is_key and column.table.lower() == name and not _mentions(other, name):
                return other.unnest(), conditions[:place] + conditions[place + 1 :]
    return None, conditions


def _mentions(node: exp.Expression, name: str) -> bool:
    return any(column.table.lower() == name for column in node.find_all(exp.Column))


def _keys(keyed: exp.Expression, lookup: Lookup, domain: Domain) -> list[tuple[str, exp.Expression]]:
    """The keys that rows can have, as they are compared with them."""
    attribute = None
    if isinstance(keyed, exp.Column):
        attribute = next((one for one in domain.attributes if one.name.lower() == keyed.name.lower()), None)
    if isinstance(attribute, Integer):
        values = {str(value) for value in range(attribute.low, attribute.high + 1)}
        return [(key, exp.Literal.number(key)) for key in lookup.lines if key in values]
    known = set(attribute.values) if isinstance(attribute, Category) else None
    return [(key, exp.Literal.string(key)) for key in lookup.lines if known is None or key in known]


def _case(
    keyed: exp.Expression, keys: Sequence[tuple[str, exp.Expression]], lookup: Lookup, column: str
) -> exp.Expression:
    """A look-up table's column as an expression over the row's own: NULL for what it does not list."""
    values = lookup.columns[column]
    found = [(literal, values[lookup.lines[key]]) for key, literal in keys]
    ifs = [exp.If(this=literal.copy(), true=literal_of(value)) for literal, value in found if value is not None]
    return exp.Case(this=keyed.copy(), ifs=ifs) if ifs else exp.null()
