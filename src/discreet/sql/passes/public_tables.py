"""Public tables: what a statement writes down itself (VALUES, generate_series of constants) becomes a look-up table,
and sub-queries that read look-up tables alone become their values. Neither asks anything of the vault's table."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.engine_words import INSTEAD, SEVERAL
from discreet.sql.lookup import MOST_LINES, Lookup
from discreet.sql.passes.answer_first import Known, Values
from discreet.sql.passes.prune_ctes import prune_ctes, tables_in
from discreet.sql.sandbox import run
from discreet.sql.syntax import OWN, place_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 10_000
"""Values of a sub-query over look-up tables, at most."""
LATEST_DAY = 28
"""Months have it all: from later days on, steps of months depend on those before."""
FIXED = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
OF_MONTHS = ("MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY")
"""Units of steps: of one length, and of as many days as the months have."""
STEPS = f"{OWN}steps"


def public_tables(
    tree: exp.Query, lookups: Mapping[str, Lookup], own: Collection[str]
) -> tuple[exp.Query, Mapping[str, Lookup]]:
    """The same statement with names in the places of tables that it writes down, and all look-up tables by name; the
    vault's `own` tables, in lower case, are none of them."""
    if tree.find(exp.Values, exp.GenerateSeries) is None and tables_in(tree).isdisjoint(lookups):
        return tree, lookups
    maker = _Maker(dict(lookups))
    changed = tree.copy()
    for node in [*changed.find_all(exp.Values)]:
        if isinstance(node.parent, exp.From | exp.Join) and node.args.get("alias"):
            node.replace(maker.named(exp.Select(expressions=[exp.Star()], from_=exp.From(this=node.copy())), node))
    for node in [*changed.find_all(exp.GenerateSeries)]:
        around = node.parent
        if isinstance(around, exp.Table) and isinstance(around.parent, exp.From | exp.Join):
            around.replace(maker.named(_series(node), around))
    while (found := next(_of_lookups(changed, maker.lookups, own), None)) is not None:
        if isinstance(found, exp.CTE):
            maker.written(found)
        else:
            found.replace(maker.named(exp.Select(expressions=[exp.Star()], from_=exp.From(this=_inside(found))), found))
    return changed, maker.lookups


def _of_lookups(tree: exp.Query, lookups: Mapping[str, Lookup], own: Collection[str]) -> Iterator[exp.Expression]:
    """The WITHs and the sub-queries in FROM that read look-up tables alone: look-up tables themselves. A WITH by a name
    that means something else elsewhere is left."""
    names = Counter(cte.alias.lower() for cte in tree.find_all(exp.CTE))
    for node in tree.find_all(exp.CTE, exp.Subquery):
        if isinstance(node, exp.CTE):
            name = node.alias.lower()
            is_table = names[name] == 1 and name not in lookups and name not in own
        else:
            is_table = isinstance(node.parent, exp.From | exp.Join)
        read = tables_in(node.this)
        is_recursive = isinstance(node.parent, exp.With) and bool(node.parent.recursive)
        if is_table and not is_recursive and read and all(name in lookups and name not in names for name in read):
            yield node


def _inside(node: exp.Expression) -> exp.Subquery:
    return exp.Subquery(this=node.this.copy(), alias=exp.TableAlias(this=exp.to_identifier(f"{OWN}lines")))


@dataclass
class _Maker:
    lookups: dict[str, Lookup] = field(default_factory=dict)

    def named(self, query: exp.Select, node: exp.Expression) -> exp.Table:
        """The name of a new look-up table with the lines of a query over constants, under the node's alias."""
        alias = node.args.get("alias")
        name, called = f"{OWN}table{len(self.lookups)}", alias.this if alias is not None else None
        self.lookups[name] = self._lookup(name, query, node)
        table = exp.to_identifier(name)
        return exp.Table(this=table, alias=exp.TableAlias(this=table.copy() if called is None else called.copy()))

    def written(self, cte: exp.CTE) -> None:
        """A WITH that reads look-up tables alone: itself one, of that name."""
        clause, name = cte.parent, cte.alias.lower()
        assert isinstance(clause, exp.With)
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=_inside(cte)))
        self.lookups[name] = self._lookup(name, query, cte)
        cte.pop()
        if not clause.expressions and clause.parent is not None:
            clause.parent.set("with_", None)

    def _lookup(self, name: str, query: exp.Select, node: exp.Expression) -> Lookup:
        """The lines of a query over constants and look-up tables, under the names that the node's alias gives."""
        import pyarrow as pa

        read = {name: one for name, one in self.lookups.items() if name in tables_in(query)}
        tables = {name: pa.table(dict(one.columns)) for name, one in read.items()}
        lines = run(query.limit(MOST_LINES + 1), tables | {STEPS: _steps()})
        if lines.num_rows > MOST_LINES:
            raise UnsupportedQuery(f"at most {MOST_LINES:,} lines can be written down{place_of(node)}; this makes more")
        alias = node.args.get("alias")
        given = [column.name.lower() for column in alias.args.get("columns") or ()] if alias is not None else []
        names = [*given, *(name.lower() for name in lines.column_names[len(given) :])]
        if len(set(names)) < len(names) or len(given) > len(lines.column_names):
            raise UnsupportedQuery(f"each column of VALUES has a name of its own{place_of(node)}: AS t(a, b)")
        columns = {own: tuple(one.to_pylist()) for own, one in zip(names, lines.columns, strict=True)}
        return Lookup(name, names[0], columns)


def _steps() -> "pa.Table":
    import pyarrow as pa

    return pa.table({"k": list(range(MOST_LINES + 1))})


def _series(node: exp.GenerateSeries) -> exp.Select:
    """generate_series(start, end, step) by the numbers of its steps."""
    start, end, step = node.args["start"], node.args["end"], node.args.get("step") or exp.Literal.number(1)
    if any(part.find(exp.Column, exp.Query) is not None for part in (start, end, step)):
        raise UnsupportedQuery(f"a series is of constants{place_of(node)}: generate_series(1, 12)")
    if step.find(exp.Interval) is not None:
        start, end = exp.cast(start.copy(), "TIMESTAMP"), exp.cast(end.copy(), "TIMESTAMP")
    start, end, step = (exp.paren(part.copy()) for part in (start, end, step))
    is_down = _is_down(start, step, node)
    value = exp.Add(this=start, expression=exp.Mul(this=exp.column("k"), expression=step))
    kinds = (exp.GT, exp.GTE) if is_down else (exp.LT, exp.LTE)
    within = kinds[not node.args.get("is_end_exclusive")](this=exp.paren(value.copy()), expression=end)
    value = exp.alias_(value, "generate_series", quoted=True)
    return exp.Select(expressions=[value]).from_(STEPS).where(within).order_by("k")


def _is_down(start: exp.Paren, step: exp.Paren, node: exp.GenerateSeries) -> bool:
    """Whether the steps lead down. Raises UnsupportedQuery where they lead nowhere, or to other days than steps that
    are taken one by one: of months, from a day that not all of them have, and of months and days together."""
    after = exp.Add(this=start, expression=step)
    is_moment = step.find(exp.Interval) is not None
    day = exp.Extract(this=exp.Var(this="DAY"), expression=start) if is_moment else exp.Literal.number(1)
    parts = (exp.LT(this=after.copy(), expression=start), exp.GT(this=after.copy(), expression=start), day)
    asked = exp.Select(expressions=[exp.alias_(part.copy(), name) for part, name in zip(parts, "abc", strict=True)])
    [down, up, first] = run(asked, {}).to_pylist()[0].values()
    if not (down or up):
        raise UnsupportedQuery(f"the steps of a series lead up or down{place_of(node)}: generate_series(1, 12)")
    if is_moment and not _is_of_fixed_length(step, node) and first > LATEST_DAY:
        raise UnsupportedQuery(
            f"a series in months begins with a day that all months have, 1 to {LATEST_DAY}{place_of(node)}"
        )
    return bool(down)


def _is_of_fixed_length(step: exp.Paren, node: exp.GenerateSeries) -> bool:
    """Whether a step is as long from everywhere: of months it is not."""
    units = [str(interval.args.get("unit") or "").upper().removesuffix("S") for interval in step.find_all(exp.Interval)]
    if not set(units) <= {*FIXED, *OF_MONTHS} or len(set(units)) > 1:
        raise UnsupportedQuery(f"a series in time has steps of one unit{place_of(node)}: INTERVAL '90 minutes'")
    return units[0] in FIXED


def known_publicly(waiting: Mapping[str, exp.Query], singles: Collection[str], lookups: Mapping[str, Lookup]) -> Known:
    """The values of those sub-queries that read look-up tables alone, by their texts. `singles` stand for one value."""
    found = {}
    for text, query in waiting.items():
        tree = prune_ctes(query.copy())
        read = tables_in(tree) - {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        if read and all(name in lookups for name in read):
            found[text] = _values(tree, lookups, query)
            if text in singles and len(found[text].known) > 1:
                raise UnsupportedQuery(f"{SEVERAL}{place_of(query)}; {INSTEAD}")
    return found


def _values(tree: exp.Query, lookups: Mapping[str, Lookup], query: exp.Query) -> Values:
    import pyarrow as pa
    import pyarrow.types as types

    tables = {name: pa.table(dict(one.columns)) for name, one in lookups.items() if name in tables_in(tree)}
    lines = run(tree, tables)
    if lines.num_rows > MOST_VALUES:
        raise UnsupportedQuery(f"a sub-query has at most {MOST_VALUES:,} values{place_of(query)}; this has more")
    if len(lines.column_names) != 1:
        raise UnsupportedQuery(f"a sub-query in the place of values has one column{place_of(query)}; name it")
    kind = lines.schema.field(0).type
    are_numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    values = [float(one) if types.is_decimal(kind) and one is not None else one for one in lines.column(0).to_pylist()]
    return Values(values, bool(are_numbers))
