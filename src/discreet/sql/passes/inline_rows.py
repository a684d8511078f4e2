"""Inline rows: sub-queries and CTEs that only select rows go into the SELECT that reads them.

Afterwards each SELECT is over ROWS, the vault's table itself, in terms of attributes; or over results, as it was
written. sqlglot's `merge_subqueries` does the like, with `qualify_columns` before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import UnknownTable, UnsupportedQuery
from discreet.sql.lookup import Lookup
from discreet.sql.passes.first_rows import first_rows
from discreet.sql.passes.join_by_values import join_by_values
from discreet.sql.passes.join_lookups import join_lookups
from discreet.sql.passes.per_person import HIDDEN, form_of, over_people, per_person
from discreet.sql.passes.qualify import Names, qualify
from discreet.sql.passes.relation import Code, Relation, Relations, Results, TableRows, renamed
from discreet.sql.passes.tables import Domains
from discreet.sql.passes.tree import (
    OURS,
    group_texts,
    inner_queries,
    public_parts,
    public_queries,
    qualifier_of,
    sources_of,
    value_queries,
)
from discreet.sql.sandbox import require_known
from discreet.sql.syntax import NO_AGGREGATE, OWN, only, only_named, place_of, refused
from discreet.sql.tokens import shown


def inline_rows(tree: exp.Query, domains: Domains, lookups: Mapping[str, Lookup]) -> exp.Query:
    """The same statement without SELECTs of rows inside others. Refuses one that is nothing but rows."""
    relation = _Inliner(domains, lookups).query(tree.copy(), {})
    if isinstance(relation, TableRows) and relation.lines is not None:
        raise UnsupportedQuery(f"{HIDDEN}; {form_of(domains[relation.table])}")
    if not isinstance(relation, Results):
        for call in tree.find_all(exp.Func):  # an aggregate that is not known is none of rows
            require_known(call)
        raise UnsupportedQuery(NO_AGGREGATE)
    return relation.tree


NO_JOIN = (
    "with whom else a person's rows would meet is not bounded by that person's own rows, so it has no price; "
    "GROUP BY the person in one sub-query with all that is asked of them, or join results"
)


@dataclass
class _Inliner:
    domains: Domains
    lookups: Mapping[str, Lookup]
    ctes: list[exp.CTE] = field(default_factory=list)
    """All CTEs that were read so far, as they were written: a sub-query that is answered first may need them."""

    def query(self, node: exp.Expression, scope: Relations) -> Relation:
        """What a SELECT, a UNION or either in parentheses makes."""
        match node:
            case exp.Subquery():
                only(node, ("this", "alias"), "a sub-query and its alias")
                return self.query(node.this, scope)
            case exp.Select():
                inner, kept = self._with(node, scope)
                return self._select(node, inner, kept)
            case exp.SetOperation():
                return self._set_operation(node, scope)
        raise refused(node, "SELECT … FROM …")

    def _set_operation(self, node: exp.SetOperation, scope: Relations) -> Results:
        inner, kept = self._with(node, scope)
        sides = []
        for side in (node.this, node.expression):
            relation = self.query(side, inner)
            if not isinstance(relation, Results):
                raise UnsupportedQuery(
                    f"{node.key.upper()} of rows is not supported{place_of(side)}; aggregate each side, "
                    "or use OR in one WHERE"
                )
            sides.append(relation.tree)
        tree = node.copy()
        tree.set("with_", kept)
        tree.set("this", _as_operand(sides[0]))
        tree.set("expression", _as_operand(sides[1]))
        return Results(tree)

    def _with(self, node: exp.Query, scope: Relations) -> tuple[dict[str, Relation], exp.With | None]:
        """The names that a WITH adds, and what is left of it: those of results."""
        clause = node.args.get("with_")
        inner = dict(scope)
        if clause is None:
            return inner, None
        if clause.recursive:
            raise UnsupportedQuery(
                f"WITH RECURSIVE is not supported{place_of(clause)}; write each step as a WITH of its own"
            )
        kept = []
        for cte in clause.expressions:
            written = cte.copy()
            relation = renamed(self.query(cte.this, inner), cte.args.get("alias"))
            self.ctes.append(written)  # its own sub-queries cannot read it
            if cte.alias.lower().startswith(OWN):
                raise UnsupportedQuery(f"names that begin with {OWN} cannot be given{place_of(cte)}; choose another")
            inner[cte.alias.lower()] = relation
            if isinstance(relation, Results):
                kept.append(exp.CTE(this=relation.tree, alias=cte.args["alias"].copy()))
        return inner, exp.With(expressions=kept) if kept else None

    def _select(self, select: exp.Select, scope: Relations, kept: exp.With | None) -> Relation:
        tables = sources_of(select)
        originals = [table.copy() for table in tables]
        relations = [self._source(table, scope) for table in tables]
        over_rows = [
            table for table, relation in zip(tables, relations, strict=True) if isinstance(relation, TableRows)
        ]
        codes = [relation for relation in relations if isinstance(relation, Code)]
        if not over_rows:
            return self._over_results(select, tables, relations, scope, kept)
        rows = next(relation for relation in relations if isinstance(relation, TableRows))
        domain = self.domains[rows.table]
        if codes and len(codes) + 1 == len(tables):
            together, where = join_lookups(select, list(zip(tables, relations, strict=True)), domain)
            select.set("where", where)
            select.set("joins", None)
            return self._over_rows(select, Names(together, qualifier_of(over_rows[0]), domain), scope, kept)
        is_pair = len(tables) == 2 and over_rows == [tables[0]]
        if is_pair and join_by_values(select, originals[1], self._written(originals[1]), domain):
            return self._select(select, scope, None)
        if len(tables) > 1:
            if any(relation.lines is not None for relation in relations if isinstance(relation, TableRows)):
                raise UnsupportedQuery(f"a join with single people is not supported{place_of(select)}; {NO_JOIN}")
            why = "" if domain.person is None or len(over_rows) < 2 else f"; {NO_JOIN}"
            raise UnsupportedQuery(
                f"a join of rows is not supported{place_of(over_rows[0])}; join results, "
                f"as in SELECT … FROM (SELECT … GROUP BY …) a JOIN (SELECT … GROUP BY …) b ON …{why}"
            )
        return self._over_rows(select, Names(rows, qualifier_of(tables[0]), domain), scope, kept)

    def _written(self, table: exp.Expression) -> exp.Expression | None:
        """The SELECT that a sub-query or a CTE is, as it was written."""
        if isinstance(table, exp.Subquery):
            return table.this
        named = [cte.this for cte in self.ctes if cte.alias.lower() == table.name.lower()]
        return named[-1] if named else None

    def _source(self, table: exp.Expression, scope: Relations) -> Relation:
        match table:
            case exp.Subquery():
                if table.alias.lower().startswith(OWN) and not table.meta.get(OURS):
                    raise UnsupportedQuery(f"names that begin with {OWN} cannot be given; choose another")
                return renamed(self.query(table, scope), table.args.get("alias"))
            case exp.Table(this=exp.Identifier()):
                name = table.name.lower()
                if not table.args.get("db") and name in scope:
                    return _of_with(table, scope[name])
                if not table.args.get("db") and name in self.lookups:
                    only(table, ("this", "alias", "joins"), "a look-up table by its name")
                    return Code(self.lookups[name])
                if name in self.domains:
                    only_named(table, f"FROM {self.domains[name].name}")
                    return TableRows(name)
                raise UnknownTable(
                    f"there is no table {shown(table.name)}{place_of(table.this)}; ask FROM {self._names}, and "
                    f"join it with look-up tables: {_named(self.lookups)}"
                )
        raise refused(table.this if isinstance(table, exp.Table) else table, f"FROM {self._names}")

    @property
    def _names(self) -> str:
        return " or ".join(domain.name for domain in self.domains.values())

    def _over_rows(self, select: exp.Select, names: Names, scope: Relations, kept: exp.With | None) -> Relation:
        """A SELECT over rows in terms of attributes. What its private half needs of sub-queries is left as it was
        written, with the CTEs that it may read."""
        chosen = first_rows(select, names, names.domain)
        if chosen is not None:
            select, names = chosen
        found = qualify(select, names, kept)
        if isinstance(found, TableRows):
            for node in (*found.columns.values(), *found.where):
                self._close([node] if isinstance(node, exp.Query) else inner_queries(node))
            return found
        if names.rows.lines is not None:
            found = over_people(found, names.rows.lines, names.domain)
        else:
            lines = per_person(found, names.domain)
            if lines is not None:
                return lines
        groups = group_texts(found)
        public = [query for part in public_parts(found) for query in public_queries(part, groups)]
        self._close([one for one in value_queries(found) if not any(one is other for other in public)])
        for query in public:
            self._result(query, scope)
        return Results(found)

    def _close(self, queries: Sequence[exp.Expression]) -> None:
        """Give sub-queries the CTEs, so that each is a statement of its own."""
        for query in queries:
            inner = query.unnest()
            if self.ctes and not inner.args.get("with_"):
                inner.set("with_", exp.With(expressions=[cte.copy() for cte in self.ctes]))

    def _over_results(
        self,
        select: exp.Select,
        tables: Sequence[exp.Expression],
        relations: Sequence[Relation],
        scope: Relations,
        kept: exp.With | None,
    ) -> Results:
        """A SELECT of results stays as it is, but for its sub-queries."""
        for table, relation in zip(tables, relations, strict=True):
            if isinstance(table, exp.Subquery) and isinstance(relation, Results):
                table.set("this", relation.tree)
        select.set("with_", kept)
        for part in inner_queries(select, tables):
            self._result(part, scope)
        return Results(select)

    def _result(self, node: exp.Expression, scope: Relations) -> None:
        """Replace a sub-query in an expression over results."""
        relation = self.query(node, scope)
        if not isinstance(relation, Results):
            raise UnsupportedQuery(f"a sub-query of rows is not supported{place_of(node)}; aggregate it")
        tree = relation.tree
        node.replace(tree if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery) else tree.subquery())


def _of_with(table: exp.Table, relation: Relation) -> Relation:
    """What the name of a WITH stands for, where its columns may be given others. Of results the engine sees to that."""
    if not isinstance(relation, TableRows):
        return relation
    only(table, ("this", "alias"), "a WITH by its name")
    return renamed(relation, table.args.get("alias"))


def _as_operand(tree: exp.Query) -> exp.Query:
    """A side of a UNION: in parentheses where it has clauses of its own at its end."""
    return tree.subquery() if tree.args.get("with_") or tree.args.get("order") or tree.args.get("limit") else tree


def _named(lookups: Mapping[str, Lookup]) -> str:
    return ", ".join(lookups) if lookups else "there is none yet, a custodian adds them with `discreet lookup add`"
