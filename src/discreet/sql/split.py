"""SQL text → the two halves of a statement: private blocks, and one public query over their noisy answers.

A block is one SELECT of groups and aggregates over the table, as `parse.py` reads it. Sub-queries and CTEs that only
select rows are inlined into it. Everything else (HAVING, arithmetic of aggregates, windows, ORDER BY of expressions,
DISTINCT, LIMIT, UNION, joins between results, sub-queries of results) is left as a query over tables of noisy answers,
a block each.

A sub-query whose value a block needs (`WHERE age > (SELECT AVG(age) …)`) is a statement of its own, answered first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from sqlglot import exp

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnknownTable, UnsupportedQuery
from discreet.sql.lookup import Lookup, Lookups, no_lookups
from discreet.sql.parse import parse, parse_select
from discreet.sql.question import GroupColumn, Question
from discreet.sql.sandbox import check
from discreet.sql.scope import Scope
from discreet.sql.statistics import as_sums
from discreet.sql.syntax import only, place_of, read_query, refused
from discreet.sql.tokens import shown

Values = Sequence[object]
Known = Mapping[str, Values]
"""What sub-queries were answered, by their text: a value, or the values of an IN."""

MOST_BLOCKS = 20
LONGEST_NAME = 60
OWN = "discreet_"
"""How names begin that no statement may give."""
TABLE, LINE, GROUPING_SET = f"{OWN}b", f"{OWN}line", f"{OWN}set"
"""What a SELECT calls its block; the number of a line in it; which of several GROUP BYs it is from."""
ROWS_ONLY = (
    "a SELECT over rows takes columns, expressions and WHERE; aggregate it, by GROUP BY or in the SELECT around it"
)
DECLARED = "the values are those that the domain declares: which of them occur is not looked up"


@dataclass(frozen=True)
class Block:
    """One private SELECT of a statement, and the name of the table that its noisy answer becomes."""

    name: str
    question: Question
    calls: Mapping[str, str] = field(default_factory=dict)
    """What its numbers are, as SQL."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement in its two halves. `names` are its output columns."""

    text: str
    blocks: tuple[Block, ...]
    public: exp.Query
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    """Public tables that the public half reads."""


@dataclass(frozen=True, eq=False)
class Stepwise:
    """A statement with sub-queries that must be answered first; `then` makes the rest of their answers."""

    text: str
    first: Mapping[str, "Statement | Stepwise"]
    then: Callable[[Known], "Statement | Stepwise"]


@dataclass(frozen=True)
class _Rows:
    """Rows of the table: columns by their names as expressions over attributes, and the conditions they meet. An open
    one has all attributes as well."""

    columns: Mapping[str, exp.Expression] = field(default_factory=dict)
    where: tuple[exp.Expression, ...] = ()
    is_open: bool = True
    joined: Mapping[str, Mapping[str, exp.Expression]] = field(default_factory=dict)
    """Columns of look-up tables, by the names that the tables have here."""


@dataclass(frozen=True)
class _Code:
    """A look-up table."""

    lookup: Lookup


@dataclass(frozen=True)
class _Results:
    """What a public query makes."""

    tree: exp.Query


_Relation = _Rows | _Results | _Code
_Scope = Mapping[str, _Relation]


def read(text: str, domain: Domain, lookups: Lookups = no_lookups) -> "Question | Statement | Stepwise":
    """What a text asks: one plain SELECT over the table, or a statement in its halves. Raises as `parse` does."""
    try:
        return parse(text, domain)
    except (UnsupportedQuery, DomainError):
        return split(text, domain, lookups())


def split(text: str, domain: Domain, lookups: Mapping[str, Lookup] | None = None) -> Statement | Stepwise:
    """The halves of a statement, or what has to be answered before they are known. Raises as `parse` does."""
    try:
        return _split(read_query(text), _Context(text, domain, lookups or {}), {})
    except RecursionError:
        raise UnsupportedQuery("the statement is nested too deeply; write it flatter") from None


@dataclass(frozen=True)
class _Context:
    """What a statement is read against."""

    text: str
    domain: Domain
    lookups: Mapping[str, Lookup]


def _split(tree: exp.Query, context: _Context, known: Known) -> Statement | Stepwise:
    text, domain = context.text, context.domain
    splitter = _Splitter(text, domain, known, context.lookups)
    relation = splitter.query(tree.copy(), {})
    if splitter.first:
        first = {key: _split(query, context, {}) for key, query in splitter.first.items()}
        return Stepwise(text, first, lambda values: _split(tree, context, {**known, **values}))
    if not isinstance(relation, _Results):
        raise UnsupportedQuery("the statement has no aggregate; ask for COUNT(*), or for another of its groups")
    if not splitter.blocks:
        raise UnsupportedQuery(f"the statement asks nothing of the table; ask FROM {domain.name}")
    public = relation.tree
    _prune(public)
    names = _named(public)
    check(public, [*(block.name for block in splitter.blocks.values()), *context.lookups])
    read = {table.name.lower() for table in public.find_all(exp.Table)}
    blocks = tuple(block for block in splitter.blocks.values() if block.name in read)
    lookups = tuple(lookup for name, lookup in context.lookups.items() if name in read)
    return Statement(text, blocks, public, names, tuple(dict.fromkeys(splitter.notes)), lookups)


def _prune(public: exp.Query) -> None:
    """Leave out CTEs that nothing reads: what they ask is not to be paid for."""
    while True:
        read = {table.name.lower() for table in public.find_all(exp.Table)}
        unread = [cte for cte in public.find_all(exp.CTE) if cte.alias.lower() not in read]
        if not unread:
            return
        clause = unread[0].parent
        unread[0].pop()
        if not clause.expressions:
            clause.parent.set("with_", None)


def _named(public: exp.Query) -> tuple[str, ...]:
    """The names of the output columns, made different where they are not."""
    select = public
    while not isinstance(select, exp.Select):
        select = select.this
    taken: set[str] = set()
    for place, output in enumerate(select.expressions):
        if isinstance(output, exp.Star) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star)):
            return ()
        name = free = output.alias_or_name
        number = 1
        while free.lower() in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free.lower())
        if free != name or not isinstance(output, exp.Alias):
            select.expressions[place].replace(exp.alias_(output.unalias().copy(), free, quoted=True))
    return tuple(output.alias for output in select.expressions)


@dataclass
class _Splitter:
    text: str
    domain: Domain
    known: Known
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)
    first: dict[str, exp.Query] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ctes: list[exp.CTE] = field(default_factory=list)
    """All CTEs that were read so far, as they were written: a sub-query that is answered first may need them."""

    def query(self, node: exp.Expression, scope: _Scope) -> _Relation:
        """What a SELECT, a UNION or either in parentheses makes."""
        match node:
            case exp.Subquery():
                only(node, ("this", "alias"), "a sub-query and its alias")
                return self.query(node.this, scope)
            case exp.Select():
                return self._select(node, scope)
            case exp.SetOperation():
                return self._set_operation(node, scope)
        raise refused(node, "SELECT … FROM …")

    def _set_operation(self, node: exp.SetOperation, scope: _Scope) -> _Results:
        inner, kept = self._with(node, scope)
        sides = []
        for side in (node.this, node.expression):
            relation = self.query(side, inner)
            if not isinstance(relation, _Results):
                raise UnsupportedQuery(
                    f"{node.key.upper()} of rows is not supported{place_of(side)}; aggregate each side, "
                    "or use OR in one WHERE"
                )
            sides.append(relation.tree)
        tree = node.copy()
        tree.set("with_", kept)
        tree.set("this", _as_operand(sides[0]))
        tree.set("expression", _as_operand(sides[1]))
        return _Results(tree)

    def _with(self, node: exp.Query, scope: _Scope) -> tuple[dict[str, _Relation], exp.With | None]:
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
            self.ctes.append(cte.copy())
            relation = _renamed(self.query(cte.this, inner), cte.args.get("alias"))
            if cte.alias.lower().startswith(OWN):
                raise UnsupportedQuery(f"names that begin with {OWN} cannot be given{place_of(cte)}; choose another")
            inner[cte.alias.lower()] = relation
            if isinstance(relation, _Results):
                kept.append(exp.CTE(this=relation.tree, alias=cte.args["alias"].copy()))
        return inner, exp.With(expressions=kept) if kept else None

    def _select(self, select: exp.Select, scope: _Scope) -> _Relation:
        scope, kept = self._with(select, scope)
        source = select.args.get("from_")
        joins = select.args.get("joins") or []
        tables = [*([source.this] if source else []), *(join.this for join in joins)]
        originals = [table.copy() for table in tables]
        relations = [self._source(table, scope) for table in tables]
        over_rows = [table for table, relation in zip(tables, relations, strict=True) if isinstance(relation, _Rows)]
        codes = [relation for relation in relations if isinstance(relation, _Code)]
        if over_rows and codes and len(codes) + 1 == len(tables):
            named = list(zip(tables, relations, strict=True))
            together, where = join_codes(select, named, self.domain)
            select.set("where", where)
            select.set("joins", None)
            return _OverRows(self, select, together, _qualifier(over_rows[0]), scope).relation(kept)
        is_pair = len(over_rows) == 1 and len(tables) == 2 and over_rows[0] is tables[0]
        if is_pair and _by_values(select, originals[1], self._written(originals[1]), self.domain):
            select.set("with_", None)
            return self._select(select, scope)
        if over_rows and len(tables) > 1:
            raise UnsupportedQuery(
                f"a join of rows is not supported{place_of(over_rows[0])}; join results, "
                "as in SELECT … FROM (SELECT … GROUP BY …) a JOIN (SELECT … GROUP BY …) b ON …"
            )
        if over_rows:
            [rows] = relations
            assert isinstance(rows, _Rows)
            return _OverRows(self, select, rows, _qualifier(tables[0]), scope).relation(kept)
        return self._over_results(select, tables, relations, scope, kept)

    def _written(self, table: exp.Expression) -> exp.Expression | None:
        """The SELECT that a sub-query or a CTE is, as it was written."""
        if isinstance(table, exp.Subquery):
            return table.this
        named = [cte.this for cte in self.ctes if cte.alias.lower() == table.name.lower()]
        return named[-1] if named else None

    def _source(self, table: exp.Expression, scope: _Scope) -> _Relation:
        match table:
            case exp.Subquery():
                return _renamed(self.query(table, scope), table.args.get("alias"))
            case exp.Table(this=exp.Identifier()):
                name = table.name.lower()
                if not table.args.get("db") and name in scope:
                    return scope[name]
                if not table.args.get("db") and name in self.lookups:
                    only(table, ("this", "alias", "joins"), "a look-up table by its name")
                    return _Code(self.lookups[name])
                if name == self.domain.name.lower():
                    only(table, ("this", "alias", "joins"), f"FROM {self.domain.name}")
                    return _Rows()
                raise UnknownTable(
                    f"there is no table {shown(table.sql())}{place_of(table.this)}; ask FROM {self.domain.name}"
                )
        raise refused(table.this if isinstance(table, exp.Table) else table, f"FROM {self.domain.name}")

    def _over_results(
        self,
        select: exp.Select,
        tables: Sequence[exp.Expression],
        relations: Sequence[_Relation],
        scope: _Scope,
        kept: exp.With | None,
    ) -> _Results:
        """A SELECT of results stays as it is, but for its sub-queries."""
        for table, relation in zip(tables, relations, strict=True):
            if isinstance(table, exp.Subquery) and isinstance(relation, _Results):
                table.set("this", relation.tree)
        select.set("with_", kept)
        for part in _inner_queries(select, tables):
            self.result(part, scope)
        return _Results(select)

    def result(self, node: exp.Expression, scope: _Scope) -> None:
        """Replace a sub-query in an expression over results by its public half."""
        relation = self.query(node, scope)
        if not isinstance(relation, _Results):
            raise UnsupportedQuery(f"a sub-query of rows is not supported{place_of(node)}; aggregate it")
        tree = relation.tree
        node.replace(tree if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery) else tree.subquery())

    def block(self, select: exp.Select, is_declared: bool) -> str:
        """The name of the block that a private SELECT is; the same SELECT is one block."""
        key = f"{is_declared} {select.sql('duckdb')}"
        if self.first:
            return TABLE  # it is read again when what it needs is answered
        if key not in self.blocks:
            if len(self.blocks) == MOST_BLOCKS:
                raise UnsupportedQuery(
                    f"the statement has more than {MOST_BLOCKS} SELECTs over the table; ask in parts"
                )
            question = parse_select(select, self.text, self.domain)
            if is_declared:
                columns = tuple(column for column in question.columns if isinstance(column, GroupColumn))
                question = replace(question, columns=columns)
                self.notes += [DECLARED] if question.by else []
            self.notes += question.notes
            calls = {one.alias: _text(one.this) for one in select.expressions if isinstance(one, exp.Alias)}
            self.blocks[key] = Block(f"{TABLE}{len(self.blocks)}", question, calls)
        return self.blocks[key].name

    def value(self, node: exp.Expression) -> exp.Expression:
        """A sub-query in the private half: its value, where it was answered; else it is to be answered first."""
        query = node.args["query"] if isinstance(node, exp.In) else node
        key = query.sql("duckdb", comments=False)
        if key not in self.known:
            inner = query.unnest().copy()
            if self.ctes and not inner.args.get("with_"):
                inner.set("with_", exp.With(expressions=[cte.copy() for cte in self.ctes]))
            self.first[key] = inner
            values: Values = (0,)
        else:
            values = self.known[key]
        if isinstance(node, exp.In):
            if not values:
                return exp.false()
            return exp.In(this=node.this.copy(), expressions=[_literal(value) for value in values])
        return _literal(values[0] if values else None)


def _literal(value: object) -> exp.Expression:
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | float():
            number = exp.Literal.number(repr(abs(value)))
            return exp.Neg(this=number) if value < 0 else number
    return exp.Literal.string(str(value))


def _as_operand(tree: exp.Query) -> exp.Query:
    """A side of a UNION: in parentheses where it has clauses of its own at its end."""
    return tree.subquery() if tree.args.get("with_") or tree.args.get("order") or tree.args.get("limit") else tree


def _qualifier(table: exp.Expression) -> str:
    return str(table.alias_or_name).lower()


def _renamed(relation: _Relation, alias: exp.Expression | None) -> _Relation:
    """A relation under an alias that names its columns: t(a, b)."""
    names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    if not names or not isinstance(relation, _Rows):
        return relation
    if relation.is_open or len(names) > len(relation.columns):
        raise UnsupportedQuery("name the columns of rows in their own SELECT, with AS")
    kept = [*relation.columns.values()]
    return replace(relation, columns={name.lower(): kept[place] for place, name in enumerate(names)})


def _inner_queries(select: exp.Expression, leave: Sequence[exp.Expression]) -> list[exp.Expression]:
    """The outermost sub-queries in the expressions of a SELECT; not those that it selects from."""
    found: list[exp.Expression] = []
    waiting = [child for key, child in reversed([*_children(select)]) if key != "with_"]
    sources = {id(node) for node in leave}
    while waiting:
        node = waiting.pop()
        if id(node) in sources:
            continue
        if isinstance(node, exp.Query):
            found.append(node)
        else:
            waiting += list(node.iter_expressions(reverse=True))
    return found


def _children(node: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    for key, value in node.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expression):
                yield key, child


AGGREGATE_PARTS = (exp.Filter, exp.WithinGroup, exp.AggFunc)
NAMED_AGGREGATES = frozenset({"regr_avgx", "regr_avgy", "regr_count", "regr_sxx", "regr_sxy", "regr_syy", "regr_r2"})


def _is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in NAMED_AGGREGATES
    return isinstance(node, AGGREGATE_PARTS)


def _has_aggregate(node: exp.Expression) -> bool:
    """Whether an expression has an aggregate over the rows: not that of a window itself, nor one in a sub-query."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        function = _bare(node.this)
        return any(_has_aggregate(child) for child in [*function.iter_expressions(), *_over(node)])
    return _is_aggregate(node) or any(_has_aggregate(child) for child in node.iter_expressions())


def _bare(function: exp.Expression) -> exp.Expression:
    """A window's function without FILTER or IGNORE NULLS."""
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    return function


def _over(window: exp.Window) -> list[exp.Expression]:
    return [child for key, child in _children(window) if key != "this"]


@dataclass
class _OverRows:
    """One SELECT over rows of the table, as it is split."""

    splitter: _Splitter
    select: exp.Select
    rows: _Rows
    qualifier: str
    scope: _Scope
    keys: dict[str, str] = field(default_factory=dict)
    key_nodes: list[exp.Expression] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    call_nodes: list[exp.Expression] = field(default_factory=list)
    sets: list[tuple[str, ...]] = field(default_factory=list)
    table: str = TABLE
    where: tuple[exp.Expression, ...] = ()

    PARTS = (
        "expressions",
        "from_",
        "where",
        "group",
        "having",
        "qualify",
        "order",
        "limit",
        "offset",
        "distinct",
        "with_",
    )

    def relation(self, kept: exp.With | None) -> _Relation:
        select = self.select
        only(select, self.PARTS, "SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT …")
        clause = select.args.get("where")
        where = self.where = (*self.rows.where, *([self.private(self.column(clause.this))] if clause else []))
        if select.args.get("group") or any(map(_has_aggregate, self._outputs())):
            return _Results(self._aggregated(where, kept))
        if select.args.get("distinct"):
            return _Results(self._distinct(where, kept))
        only(select, ("expressions", "from_", "where", "order", "with_"), ROWS_ONLY)
        return self._selected(where)

    def _outputs(self) -> list[exp.Expression]:
        parts = [self.select.args.get(name) for name in ("having", "qualify", "order")]
        return [*self.select.expressions, *(part for part in parts if part is not None)]

    def _selected(self, where: tuple[exp.Expression, ...]) -> _Rows:
        columns: dict[str, exp.Expression] = {}
        is_open = False
        for output in self.select.expressions:
            node = output.unalias()
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                star = node if isinstance(node, exp.Star) else node.this
                only(star, (), "* alone")
                columns |= self.rows.columns
                is_open = is_open or self.rows.is_open
                continue
            if node.find(exp.Window) is not None:
                raise UnsupportedQuery(f"a window over rows is not supported{place_of(node)}; {ROWS_ONLY}")
            columns[_name(output).lower()] = self.private(self.column(node))
        return _Rows(columns, where, is_open)

    def column(self, node: exp.Expression) -> exp.Expression:
        """An expression over this SELECT's source as one over attributes; sub-queries are left as they are."""
        if isinstance(node, exp.Query):
            return node.copy()
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            return self._attribute(node)
        copied = node.copy()
        for key, value in node.args.items():
            if isinstance(value, list):
                copied.set(key, [self.column(one) if isinstance(one, exp.Expression) else one for one in value])
            elif isinstance(value, exp.Expression):
                copied.set(key, self.column(value))
        return copied

    def _attribute(self, node: exp.Column) -> exp.Expression:
        code = self._code(node)
        if code is not None:
            return code.copy()
        if node.args.get("db") or (node.table and node.table.lower() != self.qualifier):
            raise UnsupportedQuery(
                f"there is no table {shown(node.table)} here{place_of(node)}; its name is {self.qualifier}"
            )
        found = self.rows.columns.get(node.name.lower())
        if found is not None:
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
        if self._is_source_column(name):
            return None
        found = [columns[name] for columns in joined.values() if name in columns]
        if len(found) > 1:
            raise UnsupportedQuery(f"two tables have a column {shown(node.name)}{place_of(node)}; say which")
        return found[0] if found else None

    def private(self, node: exp.Expression) -> exp.Expression:
        """An expression of the private half: the values of its sub-queries are answered first."""
        for inner in list(node.find_all(exp.In)):
            if inner.args.get("query") is not None:
                node = _replaced(node, inner, self.splitter.value(inner))
        for query in _outermost(node):
            node = _replaced(node, query, self.splitter.value(query))
        return node

    # Groups

    def _aggregated(self, where: tuple[exp.Expression, ...], kept: exp.With | None) -> exp.Select:
        select = self.select
        self._read_groups()
        outputs = [
            exp.alias_(self.public(self.column(output.unalias())), _name(output), quoted=True)
            for output in select.expressions
        ]
        tree = exp.Select(expressions=outputs)
        tree.set("with_", kept)
        having = select.args.get("having")
        if having is not None:
            tree.set("where", exp.Where(this=self.public(self._dealiased(having.this))))
        qualify = select.args.get("qualify")
        if qualify is not None:
            tree.set("qualify", exp.Qualify(this=self.public(self._dealiased(qualify.this))))
        self._copy_end(tree)
        self._from(tree, where)
        return tree

    def _copy_end(self, tree: exp.Select) -> None:
        """DISTINCT, ORDER BY, LIMIT and OFFSET."""
        select = self.select
        order = select.args.get("order")
        if order is not None:
            only(order, ("expressions",), "ORDER BY of expressions")
            tree.set("order", exp.Order(expressions=[self._ordered(one) for one in order.expressions]))
        for part in ("limit", "offset", "distinct"):
            if select.args.get(part) is not None:
                tree.set(part, select.args[part].copy())

    def _ordered(self, ordered: exp.Ordered) -> exp.Ordered:
        """Groups are in the domain's order, as in a plain question: by their codes."""
        copied = ordered.copy()
        node, outputs = ordered.this, self.select.expressions
        names = {_name(output).lower(): output.unalias() for output in outputs}
        meant: exp.Expression | None = None
        if isinstance(node, exp.Literal) and node.this.isdigit() and 1 <= int(node.this) <= len(outputs):
            meant = outputs[int(node.this) - 1].unalias()
        elif isinstance(node, exp.Column) and not node.table:
            meant = names.get(node.name.lower())
        key = self.keys.get(_text(self.column(node if meant is None else meant).unnest()))
        if key is not None and not self.select.args.get("distinct"):
            copied.set("this", exp.column(f"{key}_code", table=self.table))
        elif meant is None:
            copied.set("this", self.public(self._dealiased(node)))
        return copied

    def _distinct(self, where: tuple[exp.Expression, ...], kept: exp.With | None) -> exp.Select:
        """SELECT DISTINCT of rows: the values that the domain declares."""
        for output in self.select.expressions:
            self._key(self.column(output.unalias()))
        self.sets = [tuple(self.keys.values())]
        outputs = [
            exp.alias_(self.public(self.column(output.unalias())), _name(output), quoted=True)
            for output in self.select.expressions
        ]
        tree = exp.Select(expressions=outputs)
        tree.set("with_", kept)
        self._copy_end(tree)
        self._from(tree, where)
        return tree

    def _from(self, tree: exp.Select, where: tuple[exp.Expression, ...]) -> None:
        """Let the public SELECT read its blocks: one for each set of groups."""
        names = [self.splitter.block(self._block(keys, where), not self.call_nodes) for keys in self.sets]
        if len(names) == 1:
            tree.set("from_", exp.From(this=exp.alias_(exp.to_table(names[0]), self.table, table=True)))
            return
        parts = [self._part(place, name, keys) for place, (name, keys) in enumerate(zip(names, self.sets, strict=True))]
        union: exp.Query = parts[0]
        for part in parts[1:]:
            union = exp.union(union, part, distinct=False, copy=False)
        tree.set("from_", exp.From(this=union.subquery(self.table, copy=False)))

    def _part(self, place: int, name: str, keys: tuple[str, ...]) -> exp.Select:
        """The lines of one set of groups, with NULL for what it does not group by."""
        columns: list[exp.Expression] = [
            exp.column(key) if key in keys else exp.alias_(exp.null(), key) for key in self.keys.values()
        ]
        columns += [
            exp.column(f"{key}_code") if key in keys else exp.alias_(exp.null(), f"{key}_code")
            for key in self.keys.values()
        ]
        columns += [exp.column(call) for call in self.calls.values()]
        columns += [exp.alias_(exp.Literal.number(place), GROUPING_SET), exp.column(LINE)]
        return exp.Select(expressions=columns, from_=exp.From(this=exp.to_table(name)))

    def _block(self, keys: tuple[str, ...], where: tuple[exp.Expression, ...]) -> exp.Select:
        nodes = {key: node for key, node in zip(self.keys.values(), self.key_nodes, strict=True) if key in keys}
        calls = [exp.alias_(call.copy(), name) for name, call in zip(self.calls.values(), self.call_nodes, strict=True)]
        outputs = [exp.alias_(node.copy(), key) for key, node in nodes.items()]
        block = exp.Select(expressions=[*outputs, *(calls or [exp.alias_(exp.Count(this=exp.Star()), "a0")])])
        block.set("from_", exp.From(this=exp.to_table(self.splitter.domain.name)))
        if where:
            block.set("where", exp.Where(this=exp.and_(*(part.copy() for part in where), copy=False)))
        if nodes:
            block.set("group", exp.Group(expressions=[node.copy() for node in nodes.values()]))
        return block

    def _read_groups(self) -> None:
        clause = self.select.args.get("group")
        if clause is None:
            self.sets = [()]
            return
        only(clause, ("expressions", "rollup", "cube", "grouping_sets", "all"), "GROUP BY of expressions")
        sets: list[list[tuple[str, ...]]] = []
        if clause.args.get("all"):
            plain = [output for output in self.select.expressions if not _has_aggregate(output)]
            sets.append([tuple(self._key(self.column(output.unalias())) for output in plain)])
        for node in clause.expressions:
            sets.append(self._sets(node))
        for part in ("rollup", "cube", "grouping_sets"):
            for node in clause.args.get(part) or []:
                sets.append(self._sets(node))
        combined = [tuple(dict.fromkeys(key for one in chosen for key in one)) for chosen in product(*sets)]
        self.sets = list(dict.fromkeys(combined))
        if len(self.sets) > MOST_BLOCKS:
            raise UnsupportedQuery(
                f"GROUP BY makes {len(self.sets)} sets of groups, and at most {MOST_BLOCKS} are answered"
            )

    def _sets(self, node: exp.Expression) -> list[tuple[str, ...]]:
        """The sets of groups that one item of GROUP BY stands for."""
        match node:
            case exp.Rollup():
                items = [self._set(one) for one in node.expressions]
                return [tuple(key for one in items[:size] for key in one) for size in range(len(items), -1, -1)]
            case exp.Cube():
                items = [self._set(one) for one in node.expressions]
                chosen = sorted(product((True, False), repeat=len(items)), key=sum, reverse=True)
                return [
                    tuple(key for one, is_in in zip(items, inside, strict=True) if is_in for key in one)
                    for inside in chosen
                ]
            case exp.GroupingSets():
                return [one for inner in node.expressions for one in self._sets(inner)]
        return [self._set(node)]

    def _set(self, node: exp.Expression) -> tuple[str, ...]:
        if isinstance(node, exp.Tuple):
            return tuple(self._group(one) for one in node.expressions)
        return (self._group(node),)

    def _group(self, node: exp.Expression) -> str:
        """The key of one expression of GROUP BY: itself, an alias, or its place in the SELECT list."""
        outputs = self.select.expressions
        inner = node.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            if not inner.this.isdigit() or not 1 <= int(inner.this) <= len(outputs):
                raise UnsupportedQuery(
                    f"{shown(inner.this)} is not the place of an output column; they are 1 to {len(outputs)}"
                )
            inner = outputs[int(inner.this) - 1].unalias()
        elif isinstance(inner, exp.Column) and not inner.table and not self._is_source_column(inner.name):
            inner = self._aliases().get(inner.name.lower(), inner)
        if _has_aggregate(inner):
            raise UnsupportedQuery(
                f"GROUP BY takes no aggregates{place_of(inner)}; group the result in a SELECT around it"
            )
        return self._key(self.column(inner))

    def _is_source_column(self, name: str) -> bool:
        lower = name.lower()
        return lower in self.rows.columns or (
            self.rows.is_open and any(lower == a.name.lower() for a in self.splitter.domain.attributes)
        )

    def _aliases(self) -> dict[str, exp.Expression]:
        return {
            output.alias.lower(): output.this for output in self.select.expressions if isinstance(output, exp.Alias)
        }

    def _dealiased(self, node: exp.Expression) -> exp.Expression:
        """HAVING, QUALIFY and ORDER BY may name output columns."""
        aliases = self._aliases()

        def meant(inner: exp.Expression) -> exp.Expression:
            is_alias = isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in aliases
            if is_alias and not self._is_source_column(inner.name):
                return exp.paren(aliases[inner.name.lower()].copy())
            return inner

        return self.column(node.copy().transform(meant))

    def _key(self, node: exp.Expression) -> str:
        node = node.unnest()
        text = _text(node)
        if text not in self.keys:
            self.keys[text] = f"k{len(self.keys)}"
            self.key_nodes.append(self.private(node))
        return self.keys[text]

    def _call(self, node: exp.Expression) -> str:
        text = _text(node)
        if text not in self.calls:
            self.calls[text] = f"a{len(self.calls)}"
            self.call_nodes.append(self.private(node.copy()))
        return self.calls[text]

    # The public half

    def public(self, node: exp.Expression) -> exp.Expression:
        """An expression over attributes as one over a block's columns."""
        key = self.keys.get(_text(node.unnest())) if not isinstance(node, exp.Query | exp.Literal) else None
        if key is not None:
            return exp.column(key, table=self.table)
        match node:
            case exp.Query():
                return self._result(node)
            case exp.Grouping():
                return self._grouping(node)
            case exp.Mode():
                return self._mode(node)
            case exp.Window():
                return self._window(node)
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    raise refused(node.this, "columns of GROUP BY and aggregates")
                raise UnsupportedQuery(
                    f"{node.name} is neither in GROUP BY nor in an aggregate{place_of(node)}; "
                    "single rows are never shown"
                )
        if _is_aggregate(node):
            sums = as_sums(node, Scope.over(self.splitter.domain))
            return exp.column(self._call(node), table=self.table) if sums is None else self.public(sums)
        return self._mapped(node, self.public)

    def _mode(self, node: exp.Mode) -> exp.Expression:
        """The most frequent value: that of the largest group."""
        if self.keys or node.this is None:
            raise UnsupportedQuery(
                f"MODE is answered without GROUP BY{place_of(node)}; with it, ask for COUNT(*) of each value as well, "
                "and QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY COUNT(*) DESC) = 1"
            )
        missing = exp.Is(this=exp.paren(node.this.copy()), expression=exp.null())
        largest = exp.Select(expressions=[node.this.copy()])
        largest.set("from_", exp.From(this=exp.to_table(self.splitter.domain.name)))
        largest.set("where", exp.Where(this=exp.and_(*(part.copy() for part in self.where), exp.not_(missing))))
        largest.set("group", exp.Group(expressions=[node.this.copy()]))
        largest.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Count(this=exp.Star()), desc=True)]))
        largest.set("limit", exp.Limit(expression=exp.Literal.number(1)))
        return self._result(largest)

    def _result(self, node: exp.Query) -> exp.Expression:
        relation = self.splitter.query(node.copy(), self.scope)
        if not isinstance(relation, _Results):
            raise UnsupportedQuery(f"a sub-query of rows is not supported{place_of(node)}; aggregate it")
        return relation.tree.subquery()

    def _window(self, node: exp.Window) -> exp.Expression:
        copied = self._mapped(node, self.public, leave=("this",))
        copied.set("this", self._function(node.this))
        return copied

    def _function(self, node: exp.Expression) -> exp.Expression:
        """A window's own function: its arguments are aggregates over the rows."""
        if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            copied = self._mapped(node, self.public, leave=("this",))
            copied.set("this", self._function(node.this))
            return copied
        return self._mapped(node, self.public)

    def _mapped(
        self, node: exp.Expression, change: Callable[[exp.Expression], exp.Expression], leave: Sequence[str] = ()
    ) -> Any:
        copied = node.copy()
        for key, value in node.args.items():
            if key in leave:
                continue
            if isinstance(value, list):
                copied.set(key, [change(one) if isinstance(one, exp.Expression) else one for one in value])
            elif isinstance(value, exp.Expression):
                copied.set(key, change(value))
        return copied

    def _grouping(self, node: exp.Grouping) -> exp.Expression:
        """GROUPING(a, b): a bit for each, 1 where the line's set does not group by it."""
        keys = [self.keys.get(_text(one.unnest())) for one in node.expressions]
        if None in keys:
            raise UnsupportedQuery(f"GROUPING takes what GROUP BY groups by{place_of(node)}")
        values = [int("".join(str(int(key not in chosen)) for key in keys), 2) for chosen in self.sets]
        if len(values) == 1:
            return exp.Literal.number(values[0])
        case = exp.Case(this=exp.column(GROUPING_SET, table=self.table))
        for place, value in enumerate(values):
            case.append("ifs", exp.If(this=exp.Literal.number(place), true=exp.Literal.number(value)))
        return case


def _text(node: exp.Expression) -> str:
    return str(node.sql("duckdb", comments=False))


def _name(output: exp.Expression) -> str:
    """What an output column is called: its alias, its column's name, or what it is, as it was written."""
    if output.alias:
        return str(output.alias)
    node = output.unalias().unnest()
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count"
    if isinstance(node, exp.AggFunc) and isinstance(node.this, exp.Column) and not node.expressions:
        return f"{node.key}_{node.this.name}"
    return _text(node).lower()[:LONGEST_NAME]


def _outermost(node: exp.Expression) -> list[exp.Expression]:
    """The outermost sub-queries of an expression, itself included."""
    return [node] if isinstance(node, exp.Query) else _inner_queries(node, ())


def _replaced(root: exp.Expression, node: exp.Expression, by: exp.Expression) -> exp.Expression:
    if node is root:
        return by
    node.replace(by)
    return root


# Joins of rows


def _by_values(select: exp.Select, result: exp.Expression, grouped: exp.Expression | None, domain: Domain) -> bool:
    """Write rows JOIN (a result by one group) ON a = b as WHERE a IN (SELECT b FROM the result), where nothing else of
    the result is asked for; and say whether that was done."""
    [join] = select.args["joins"]
    conditions, name = _conjuncts(join.args.get("on")), _qualifier(result)
    groups = grouped.args.get("group") if isinstance(grouped, exp.Select) else None
    if join.args.get("side") or groups is None or len([one for one in groups.args.values() if one]) != 1:
        return False
    if len(groups.expressions) != 1:
        return False
    assert isinstance(grouped, exp.Select)
    columns = {_name(one).lower(): one for one in grouped.expressions}
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
    if len(rows) != 1 or _has_aggregate(columns[own[0].name.lower()]):
        return False
    inner = exp.Select(expressions=[exp.column(own[0].name)], from_=exp.From(this=result.copy()))
    select.set("joins", None)
    select.where(exp.In(this=rows[0].copy(), query=inner.subquery()), copy=False)
    return True


# Joins of rows with look-up tables

JOINED = "JOIN a_lookup ON column = a_lookup.key, inner or left"


def join_codes(
    select: exp.Select, tables: Sequence[tuple[exp.Expression, _Relation]], domain: Domain
) -> tuple[_Rows, exp.Where | None]:
    """Rows joined with look-up tables, each by its key: many rows to one line. The WHERE is handed back without the
    conditions that join."""
    [(table, rows)] = [(table, relation) for table, relation in tables if isinstance(relation, _Rows)]
    if table is not tables[0][0]:
        raise UnsupportedQuery(f"the vault's table comes first{place_of(table)}: FROM {domain.name} {JOINED}")
    clause = select.args.get("where")
    conditions = _conjuncts(None if clause is None else clause.this)
    joins = {id(join.this): join for join in select.args.get("joins") or []}
    joined: dict[str, dict[str, exp.Expression]] = {}
    where = [*rows.where]
    reader = _OverRows(_Splitter("", domain, {}), exp.Select(), rows, _qualifier(table), {})
    for other, relation in tables[1:]:
        assert isinstance(relation, _Code)
        join, name, lookup = joins[id(other)], _qualifier(other), relation.lookup
        is_left = _is_left(join)
        own, rest = _key_condition(_on(join, name), name, lookup)
        if own is None and not join.args.get("on") and not join.args.get("using"):
            own, conditions = _key_condition(conditions, name, lookup)
        if own is None or (is_left and rest):
            raise UnsupportedQuery(f"a look-up table is joined by its key, {lookup.key}{place_of(other)}: {JOINED}")
        conditions += rest
        reader.rows = replace(rows, joined=joined)
        keyed = reader.column(own)
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
    return _conjuncts(join.args.get("on"))


def _conjuncts(condition: exp.Expression | None) -> list[exp.Expression]:
    """The conditions that an AND is made of."""
    if condition is None:
        return []
    inner = condition.unnest()
    return [one.unnest() for one in inner.flatten()] if isinstance(inner, exp.And) else [inner]


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
    ifs = [exp.If(this=literal.copy(), true=_literal(value)) for literal, value in found if value is not None]
    return exp.Case(this=keyed.copy(), ifs=ifs) if ifs else exp.null()
