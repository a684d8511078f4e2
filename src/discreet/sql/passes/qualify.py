"""Qualify: a SELECT over rows in terms of attributes alone.

Columns of the rows that it reads become the expressions that they stand for; aliases and places in GROUP BY, HAVING,
QUALIFY and ORDER BY become what they mean; every output has its name.
"""

from dataclasses import dataclass, field

from sqlglot import exp

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.passes.relation import TableRows
from discreet.sql.passes.tables import rows_of
from discreet.sql.passes.tree import (
    OUTER,
    has_aggregate,
    is_aggregated,
    is_star,
    map_children,
    name_of,
    output_of,
    place_among,
    with_parts,
)
from discreet.sql.syntax import only, place_of
from discreet.sql.tokens import shown

ROWS_ONLY = (
    "a SELECT over rows takes columns, expressions and WHERE, and single rows are never shown; aggregate it, by "
    "GROUP BY or in the SELECT around it"
)
MOST_WRITTEN = 4_000
"""Nodes of what the columns of a SELECT stand for, together: each WITH may double those of the one before."""
GROUPINGS = ("rollup", "cube", "grouping_sets")
PARTS = ("expressions", "from_", "where", "group", "having", "qualify", "order", "limit", "offset", "distinct", "with_")


def qualify(select: exp.Select, names: "Names", kept: exp.With | None) -> TableRows | exp.Select:
    """Other rows, where it only selects some; else the same SELECT over ROWS, with what is `kept` of its WITH."""
    only(select, PARTS, "SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT …")
    clause = select.args.get("where")
    where = (*names.rows.where, *([names.column(clause.this)] if clause else []))
    if is_aggregated(select) or select.args.get("distinct"):
        return _Qualifier(select, names).qualified(where, kept)
    only(select, ("expressions", "from_", "where", "order", "with_"), ROWS_ONLY)
    return _selected(select, names, where)


def _selected(select: exp.Select, names: "Names", where: tuple[exp.Expression, ...]) -> TableRows:
    columns: dict[str, exp.Expression] = {}
    is_open, numbered = False, names.rows.numbered
    for output in select.expressions:
        node = output.unalias()
        if is_star(node):
            only(node if isinstance(node, exp.Star) else node.this, (), "* alone")
            columns |= names.rows.columns
            is_open = is_open or names.rows.is_open
            continue
        is_numbered = node.find(exp.RowNumber) is not None and names.domain.person is not None
        if is_numbered and names.rows.lines is None:
            numbered = where
        elif node.find(exp.Window) is not None:
            raise UnsupportedQuery(f"a window over rows is not supported{place_of(node)}; {ROWS_ONLY}")
        columns[name_of(output).lower()] = names.column(node)
    return TableRows(names.rows.table, columns, where, is_open, numbered=numbered, lines=names.rows.lines)


@dataclass(frozen=True)
class Names:
    """What column names mean in a SELECT over rows that are called `qualifier`."""

    rows: TableRows
    qualifier: str
    domain: Domain
    written: list[int] = field(default_factory=list, compare=False, repr=False)
    """How long the expressions were that columns stood for."""

    def column(self, node: exp.Expression) -> exp.Expression:
        """An expression over these rows as one over attributes; sub-queries, whose names are their own, are left but
        for what is marked in them."""
        if isinstance(node, exp.Query):
            found = node.copy()
            for outer in [*found.find_all(exp.Anonymous)]:
                if outer.this == OUTER:
                    outer.set("expressions", [self.column(one) for one in outer.expressions])
            return found
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            return self._attribute(node)
        return with_parts(node, self.column)

    def _count(self, found: exp.Expression) -> None:
        """Refuse a SELECT whose columns stand for more than can be written out: each may stand for many others."""
        if isinstance(found, exp.Column | exp.Literal):
            return
        self.written.append(sum(1 for _ in found.walk()))
        if sum(self.written) > MOST_WRITTEN:
            raise UnsupportedQuery(
                f"the columns of a SELECT stand for more than {MOST_WRITTEN:,} names, values and signs, when what "
                "WITHs and sub-queries call so is written out; name each column fewer times, or ask in parts"
            )

    def has(self, name: str) -> bool:
        """Whether the rows have a column of this name."""
        lower = name.lower()
        return lower in self.rows.columns or (
            self.rows.is_open and any(lower == attribute.name.lower() for attribute in self.domain.attributes)
        )

    def _attribute(self, node: exp.Column) -> exp.Expression:
        code = self._code(node)
        if code is not None:
            return code.copy()
        if node.args.get("db") or (node.table and node.table.lower() != self.qualifier):
            raise UnsupportedQuery(
                f"there is no table {shown(node.table)} here{place_of(node)}; its name is {self.qualifier}, and a "
                "sub-query does not see the tables around it: group it in FROM, and join by its groups"
            )
        found = self.rows.columns.get(node.name.lower())
        if found is not None:
            self._count(found)
            return found.copy() if isinstance(found, exp.Column | exp.Literal | exp.Func) else exp.paren(found.copy())
        if not self.rows.is_open:
            there = ", ".join(self.rows.columns)
            raise UnsupportedQuery(f"there is no column {shown(node.name)}{place_of(node)}; there are {there}")
        name = node.this.copy()
        name.set("this", node.name.lower())
        name.set("quoted", False)
        return exp.Column(this=name)

    def _code(self, node: exp.Column) -> exp.Expression | None:
        """A column of a look-up table: by the table's name, or alone where nothing else is called so."""
        name, joined = node.name.lower(), self.rows.joined
        if node.table:
            columns = joined.get(node.table.lower())
            if columns is not None and name not in columns:
                raise UnsupportedQuery(f"{node.table} has no column {shown(node.name)}{place_of(node)}")
            return None if columns is None else columns[name]
        if self.has(name):
            return None
        found = [columns[name] for columns in joined.values() if name in columns]
        if len(found) > 1:
            raise UnsupportedQuery(f"two tables have a column {shown(node.name)}{place_of(node)}; say which")
        return found[0] if found else None


@dataclass(frozen=True)
class _Qualifier:
    """One SELECT of aggregates over rows, or of DISTINCT ones."""

    select: exp.Select
    names: Names

    def qualified(self, where: tuple[exp.Expression, ...], kept: exp.With | None) -> exp.Select:
        select = self.select
        group = select.args.get("group")
        groups = None if group is None else self._groups(group)
        outputs = [output_of(self.names.column(output.unalias()), name_of(output)) for output in select.expressions]
        tree = exp.Select(expressions=outputs, from_=exp.From(this=rows_of(self.names.domain)))
        tree.set("with_", kept)
        if where:
            tree.set("where", exp.Where(this=exp.and_(*(part.copy() for part in where), copy=False)))
        tree.set("group", groups)
        for part, kind in (("having", exp.Having), ("qualify", exp.Qualify)):
            if select.args.get(part) is not None:
                tree.set(part, kind(this=self._without_aliases(select.args[part].this)))
        order = select.args.get("order")
        if order is not None:
            only(order, ("expressions",), "ORDER BY of expressions")
            tree.set("order", exp.Order(expressions=[self._ordered(one) for one in order.expressions]))
        for part in ("limit", "offset", "distinct"):
            if select.args.get(part) is not None:
                tree.set(part, select.args[part].copy())
        return tree

    def _groups(self, clause: exp.Group) -> exp.Group:
        """GROUP BY of expressions over attributes; GROUP BY ALL is that of all outputs without an aggregate."""
        only(clause, ("expressions", *GROUPINGS, "all"), "GROUP BY of expressions")
        plain = [one for one in self.select.expressions if not has_aggregate(one)] if clause.args.get("all") else []
        groups = exp.Group(
            expressions=[
                *(self.names.column(output.unalias()) for output in plain),
                *(self._group(one) for one in clause.expressions),
            ]
        )
        for part in GROUPINGS:
            groups.set(part, [self._group(one) for one in clause.args.get(part) or []])
        return groups

    def _group(self, node: exp.Expression) -> exp.Expression:
        """One item of GROUP BY: an expression, an alias, or a place in the SELECT list."""
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            return map_children(node, self._group)
        outputs, inner = self.select.expressions, node.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            place = place_among(inner, outputs)
            if place is None:
                raise UnsupportedQuery(
                    f"{shown(inner.this)} is not the place of an output column; they are 1 to {len(outputs)}"
                )
            inner = outputs[place].unalias()
        elif isinstance(inner, exp.Column) and not inner.table and not self.names.has(inner.name):
            inner = self._aliases().get(inner.name.lower(), inner)
        if has_aggregate(inner):
            raise UnsupportedQuery(
                f"GROUP BY takes no aggregates{place_of(inner)}; group the result in a SELECT around it"
            )
        return self.names.column(inner)

    def _ordered(self, ordered: exp.Ordered) -> exp.Ordered:
        """An item of ORDER BY: an output column, by its place, or an expression."""
        copied, node = ordered.copy(), ordered.this
        places = {name_of(output).lower(): place for place, output in enumerate(self.select.expressions)}
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in places:
            copied.set("this", exp.Literal.number(places[node.name.lower()] + 1))
        else:
            copied.set("this", self._without_aliases(node))
        return copied

    def _aliases(self) -> dict[str, exp.Expression]:
        return {
            output.alias.lower(): output.this for output in self.select.expressions if isinstance(output, exp.Alias)
        }

    def _without_aliases(self, node: exp.Expression) -> exp.Expression:
        """HAVING, QUALIFY and ORDER BY may name output columns."""
        aliases = self._aliases()

        def meant(inner: exp.Expression) -> exp.Expression:
            if isinstance(inner, exp.Query):  # its names are its own
                return inner.copy()
            is_alias = isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in aliases
            if is_alias and not self.names.has(inner.name):
                return exp.paren(aliases[inner.name.lower()].copy())
            return with_parts(inner, meant)

        return self.names.column(meant(node))
