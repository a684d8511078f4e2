"""Joins of rows with look-up tables: their columns become expressions over the row's own."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from discreet.domain.attribute import Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.lookup import Lookup
from discreet.sql.passes.qualify import Names
from discreet.sql.passes.relation import Code, Relation, TableRows
from discreet.sql.passes.tree import conjuncts, literal_of, qualifier_of
from discreet.sql.scope import Scope
from discreet.sql.syntax import only_named, place_of
from discreet.sql.where import value_of

JOINED = "JOIN a_lookup ON column = a_lookup.key, inner or left"
MOST_COMPARED = 200
"""Lines of a look-up table that is joined by other conditions than its key: each is compared with."""


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
        assert isinstance(other, exp.Table)
        only_named(other, "a look-up table by its name")
        join, name, lookup = joins[id(other)], qualifier_of(other), relation.lookup
        is_left = _is_left(join)
        names = Names(replace(rows, joined=joined), qualifier_of(table), domain)
        own, rest, key = _key_condition(_on(join, name), name, lookup)
        if own is None and not join.args.get("on") and not join.args.get("using"):
            own, conditions, key = _key_condition(conditions, name, lookup)
        if own is None or (is_left and rest):
            if not join.args.get("on"):
                raise UnsupportedQuery(f"a look-up table is joined by its key, {lookup.key}{place_of(other)}: {JOINED}")
            tests = _compared(join.args["on"], name, lookup, names)
            joined[name] = {column: _chosen(tests, values) for column, values in lookup.columns.items()}
            if not is_left:
                where.append(exp.paren(exp.or_(*(test.copy() for test in tests), copy=False)) if tests else exp.false())
            continue
        conditions += rest
        lookup = replace(lookup, key=key)
        keyed = names.column(own)
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
) -> tuple[exp.Expression | None, list[exp.Expression], str]:
    """What a key is to equal, the other conditions, and which column is the key."""
    for place, condition in enumerate(conditions):
        if not isinstance(condition, exp.EQ):
            continue
        for side, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
            column = side.unnest()
            is_own = isinstance(column, exp.Column) and column.table.lower() == name
            if is_own and lookup.is_key(column.name.lower()) and not _mentions(other, name):
                return other.unnest(), conditions[:place] + conditions[place + 1 :], column.name.lower()
    return None, conditions, lookup.key


def _compared(on: exp.Expression, name: str, lookup: Lookup, names: Names) -> list[exp.Expression]:
    """A condition for each line of a table that is joined by any condition: of a row at most one of them holds."""
    count = len(lookup.lines_in_order)
    if count > MOST_COMPARED:
        raise UnsupportedQuery(
            f"a look-up table of more than {MOST_COMPARED} lines is joined by its key, {lookup.key}{place_of(on)}: "
            f"{JOINED}"
        )
    tests = []
    for line in range(count):

        def of_line(node: exp.Expression, line: int = line) -> exp.Expression:
            is_own = isinstance(node, exp.Column) and (
                node.table.lower() == name or (not node.table and not names.has(node.name))
            )
            if not is_own or node.name.lower() not in lookup.columns:
                return node
            return _plain(lookup.columns[node.name.lower()][line], node)

        tests.append(exp.paren(names.column(on.copy().transform(of_line)), copy=False))
    _require_one_line(tests, names.domain, on)
    return tests


def _plain(value: object, node: exp.Expression) -> exp.Expression:
    if not isinstance(value, str | int | float | Decimal | None):
        raise UnsupportedQuery(f"rows are joined with numbers and texts{place_of(node)}; write dates as texts")
    if isinstance(value, str):
        return exp.cast(exp.Literal.string(value), "VARCHAR")  # a text by itself would be taken for a slip
    return exp.paren(literal_of(value)) if not isinstance(value, bool | None) and value < 0 else literal_of(value)


def _require_one_line(tests: Sequence[exp.Expression], domain: Domain, on: exp.Expression) -> None:
    """Refuse a join that would count a row twice: one of a value with two lines."""
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    count: exp.Expression = none
    for test in tests:
        case = exp.Case(ifs=[exp.If(this=test.copy(), true=one.copy())], default=none.copy())
        count = exp.Add(this=count, expression=case)
    if not tests or not any(test.find(exp.Column) for test in tests):
        return
    found = value_of(count, Scope.over(domain))
    if max((value or 0 for value in found.values), default=0) > 1:
        raise UnsupportedQuery(
            f"with this condition a row would be joined with several lines, and counted so often{place_of(on)}; "
            "write one by which each row has at most one"
        )


def _chosen(tests: Sequence[exp.Expression], values: Sequence[object]) -> exp.Expression:
    """A column of a table whose lines are chosen by conditions: NULL where none holds."""
    pairs = [(test, value) for test, value in zip(tests, values, strict=True) if value is not None]
    ifs = [exp.If(this=test.copy(), true=_plain(value, test)) for test, value in pairs]
    return exp.Case(ifs=ifs) if ifs else exp.null()


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
    if known is not None and isinstance(attribute, Date):  # a period by its first day, or by its name
        known.update(map(attribute.label, range(attribute.cells)))
    return [(key, exp.Literal.string(key)) for key in lookup.lines if known is None or key in known]


def _case(
    keyed: exp.Expression, keys: Sequence[tuple[str, exp.Expression]], lookup: Lookup, column: str
) -> exp.Expression:
    """A look-up table's column as an expression over the row's own: NULL for what it does not list."""
    values = lookup.columns[column]
    found = [(literal, values[lookup.lines[key]]) for key, literal in keys]
    ifs = [exp.If(this=literal.copy(), true=literal_of(value)) for literal, value in found if value is not None]
    return exp.Case(this=keyed.copy(), ifs=ifs) if ifs else exp.null()
