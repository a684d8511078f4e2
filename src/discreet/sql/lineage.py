"""What a public query does with noise: which of its columns depend on it, and whether lines are chosen by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from sqlglot import exp

from discreet.sql.passes.tree import inner_queries, sources_of

EXTREMES = (
    *(exp.Max, exp.Min, exp.ArgMax, exp.ArgMin, exp.Median, exp.Quantile, exp.PercentileCont, exp.PercentileDisc),
    exp.GroupConcat,
)
SPREADS = (exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp)
RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile)
BENT = (exp.Greatest, exp.Least, exp.Abs, exp.Sign)
"""Functions whose averages over noise are not what they make of the truth."""


@dataclass(frozen=True)
class Lineage:
    """Of a query: its columns, True where noise is in them; whether lines were chosen by noise in what it reads or
    calculates with (`deep`), or by its own WHERE, QUALIFY or LIMIT (`own`)."""

    columns: Mapping[str, bool]
    deep: bool = False
    own: bool = False
    lines: float = 1
    """How many lines it has, at most."""

    @property
    def is_chosen(self) -> bool:
        return self.deep or self.own


Scope = Mapping[str, Lineage]


def lineage(query: exp.Expression, blocks: Scope) -> Lineage:
    """What a public query over these blocks does with their noise."""
    return _query(query, blocks, {})


def chosen_queries(query: exp.Expression, blocks: Scope) -> list[exp.Query]:
    """The sub-queries in expressions of which noise decides how many lines they have; outermost first."""
    return _chosen(query, blocks, {})


def _chosen(node: exp.Expression, scope: Scope, outer: Mapping[str, bool]) -> list[exp.Query]:
    if isinstance(node, exp.Subquery):
        return _chosen(node.this, scope, outer)
    clause = node.args.get("with_")
    found = [one for cte in (clause.expressions if clause else ()) for one in _chosen(cte.this, scope, outer)]
    scope = _with(node, scope, outer)
    if isinstance(node, exp.SetOperation):
        return [*found, *_chosen(node.this, scope, outer), *_chosen(node.expression, scope, outer)]
    if not isinstance(node, exp.Select):
        return found
    reading = _Reading(node, scope, outer)
    reading.lineage()
    sources = [table for table in sources_of(node) if isinstance(table, exp.Subquery)]
    for table in sources:
        found += _chosen(table, scope, reading.columns)
    for inner in inner_queries(node, sources):
        if _query(inner, scope, reading.columns).is_chosen:
            found.append(inner)
        found += _chosen(inner, scope, reading.columns)
    return found


def _query(node: exp.Expression, scope: Scope, outer: Mapping[str, bool]) -> Lineage:
    match node:
        case exp.Subquery():
            return _query(node.this, scope, outer)
        case exp.SetOperation():
            scope = _with(node, scope, outer)
            left, right = (_query(side, scope, outer) for side in (node.this, node.expression))
            pairs = zip(left.columns.items(), right.columns.values(), strict=False)
            columns = {name: one or other for (name, one), other in pairs}
            is_bag = isinstance(node, exp.Union) and not node.args.get("distinct")
            is_set = not is_bag and any(columns.values())
            lines = left.lines + right.lines
            own = _limited(node, columns, scope, outer, lines)
            return Lineage(columns, left.is_chosen or right.is_chosen or is_set, own, lines)
        case exp.Select():
            return _Reading(node, _with(node, scope, outer), outer).lineage()
    return Lineage({})


def _with(node: exp.Expression, scope: Scope, outer: Mapping[str, bool]) -> Scope:
    clause = node.args.get("with_")
    inner = dict(scope)
    for cte in clause.expressions if clause else ():
        inner[cte.alias.lower()] = _renamed(_query(cte.this, inner, outer), cte.args.get("alias"))
    return inner


def _renamed(found: Lineage, alias: exp.Expression | None) -> Lineage:
    names = [column.name.lower() for column in alias.args.get("columns") or ()] if alias is not None else []
    kept = [*found.columns.items()]
    columns = {names[place] if place < len(names) else name: noisy for place, (name, noisy) in enumerate(kept)}
    return Lineage(columns, found.deep, found.own, found.lines)


def _limited(
    node: exp.Expression, columns: Mapping[str, bool], scope: Scope, outer: Mapping[str, bool], lines: float
) -> bool:
    """Whether ORDER BY and LIMIT choose lines by noise."""
    order, limit = node.args.get("order"), node.args.get("limit")
    if (
        order is None
        or not (limit or node.args.get("offset"))
        or (_all_of(limit, lines) and not node.args.get("offset"))
    ):
        return False
    places = [*columns.values()]
    for ordered in order.expressions:
        key = ordered.this
        if isinstance(key, exp.Literal) and key.this.isdigit():
            if places[int(key.this) - 1 : int(key.this)] == [True]:
                return True
        elif _Reading(exp.Select(), scope, {**outer, **columns}).is_noisy(key):
            return True
    return False


def _all_of(limit: exp.Expression | None, lines: float) -> bool:
    """Whether a LIMIT leaves nothing out."""
    count = None if limit is None else limit.args.get("expression")
    return isinstance(count, exp.Literal) and count.this.isdigit() and int(count.this) >= lines


@dataclass
class _Reading:
    select: exp.Select
    scope: Scope
    outer: Mapping[str, bool]
    sources: dict[str, Lineage] = field(default_factory=dict)
    _deep: bool = False

    def lineage(self) -> Lineage:
        select = self.select
        joins = select.args.get("joins") or []
        source = select.args.get("from_")
        for table in [*([source.this] if source else []), *(join.this for join in joins)]:
            found = self._source(table)
            self.sources[table.alias_or_name.lower()] = found
            self._deep = self._deep or found.is_chosen
        if any(self.is_noisy(join.args.get("on")) for join in joins):
            self._deep = True
        where = any(self.is_noisy(select.args.get(part)) for part in ("where", "having"))
        counts = self._deep or where
        columns: dict[str, bool] = {}
        for output in select.expressions:
            if isinstance(output, exp.Star) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star)):
                chosen = (
                    [self.sources.get(output.table.lower(), Lineage({}))]
                    if isinstance(output, exp.Column) and output.table
                    else self.sources.values()
                )
                columns |= {name: noisy for one in chosen for name, noisy in one.columns.items()}
                continue
            noisy = self.is_noisy(output)
            if counts and output.find(exp.AggFunc) is not None:
                noisy = True
            columns[output.alias_or_name.lower()] = noisy
        if self._aggregates() and where:
            self._deep = True
        if select.args.get("distinct") and any(columns.values()):
            self._deep = True
        if any(self.is_noisy(one) for one in (select.args.get("group") or exp.Group()).expressions):
            self._deep = True
        known = self.columns
        qualified = self.is_noisy(select.args.get("qualify"))
        inner = {**self.scope, **self.sources}
        grouped = self._aggregates() and not select.args.get("group")
        lines = 1 if grouped else prod(one.lines for one in self.sources.values())
        own = where or qualified or _limited(select, columns, inner, known, lines)
        return Lineage(columns, self._deep, own, lines)

    def _aggregates(self) -> bool:
        return bool(self.select.args.get("group")) or any(
            call.find_ancestor(exp.Window, exp.Query) in (None, self.select)
            for output in self.select.expressions
            for call in output.find_all(exp.AggFunc)
        )

    def _source(self, table: exp.Expression) -> Lineage:
        if isinstance(table, exp.Table):
            return _renamed(self.scope.get(table.name.lower(), Lineage({})), table.args.get("alias"))
        # A sub-query in FROM may name the columns of the tables before it.
        return _renamed(_query(table, self.scope, self.columns), table.args.get("alias"))

    def is_noisy(self, node: exp.Expression | None) -> bool:
        """Whether noise is in an expression. Notes on its way where it picks the largest or the like."""
        if node is None:
            return False
        if isinstance(node, exp.Query):
            found = _query(node, self.scope, self.columns)
            self._deep = self._deep or found.is_chosen
            return any(found.columns.values()) or found.is_chosen
        if isinstance(node, exp.Column):
            return self._column(node)
        noisy = [self.is_noisy(child) for child in node.iter_expressions()]
        if any(noisy) and self._chooses(node, noisy):
            self._deep = True
        return any(noisy)

    def _chooses(self, node: exp.Expression, noisy: Sequence[bool]) -> bool:
        """Whether an expression of noisy numbers picks some of them, or counts each for what its noise makes of it."""
        match node:
            case exp.Window():
                return node.find(*RANKS) is not None or self.is_noisy(node.args.get("order"))
            case exp.Filter():
                return self.is_noisy(node.expression)
            case exp.Greatest() | exp.Least():
                return sum(noisy) > 1
            case exp.AggFunc():
                return isinstance(node, (*EXTREMES, *SPREADS)) or any(map(self._bends, node.find_all(*BENT, exp.If)))
        return False

    def _bends(self, node: exp.Expression) -> bool:
        """Whether a number within an aggregate turns with its noise: a CASE by its condition."""
        if isinstance(node, exp.If):
            return self.is_noisy(node.this)
        return any(self.is_noisy(child) for child in node.iter_expressions())

    @property
    def columns(self) -> dict[str, bool]:
        """What stands in reach of its expressions: by its name, and by its table's and its own."""
        found = dict(self.outer)
        for table, one in self.sources.items():
            found |= {**one.columns, **{f"{table}.{name}": noisy for name, noisy in one.columns.items()}}
        return found

    def _column(self, node: exp.Column) -> bool:
        name = node.name.lower()
        if node.table and node.table.lower() in self.sources:
            return self.sources[node.table.lower()].columns.get(name, False)
        if node.table and f"{node.table}.{node.name}".lower() in self.outer:
            return self.outer[f"{node.table}.{node.name}".lower()]
        found = [one.columns[name] for one in self.sources.values() if name in one.columns]
        if found:
            return any(found)
        if name in self.outer:
            return self.outer[name]
        aliased = [
            one.this for one in self.select.expressions if isinstance(one, exp.Alias) and one.alias.lower() == name
        ]
        return any(self.is_noisy(one) for one in aliased if node.find_ancestor(exp.Alias) is None)


def linear_terms(node: exp.Expression, numbers: Sequence[str]) -> dict[str, float] | None:
    """A sum of these columns times constants, and of a constant under the name ""; None for anything else."""
    node = node.unnest()
    match node:
        case exp.Column() if node.name in numbers:
            return {node.name: 1.0}
        case exp.Literal() if not node.is_string:
            return {"": float(node.this)}
        case exp.Neg():
            return _times(linear_terms(node.this, numbers), -1.0)
        case exp.Add() | exp.Sub():
            left, right = linear_terms(node.this, numbers), linear_terms(node.expression, numbers)
            if left is None or right is None:
                return None
            sign = 1.0 if isinstance(node, exp.Add) else -1.0
            return {name: left.get(name, 0.0) + sign * right.get(name, 0.0) for name in {**left, **right}}
        case exp.Mul():
            left, right = linear_terms(node.this, numbers), linear_terms(node.expression, numbers)
            if left is not None and right is not None:
                if set(right) == {""}:
                    return _times(left, right[""])
                if set(left) == {""}:
                    return _times(right, left[""])
        case exp.Div():
            left, right = linear_terms(node.this, numbers), linear_terms(node.expression, numbers)
            if right is not None and set(right) == {""} and right[""]:
                return _times(left, 1 / right[""])
        case exp.Cast() if node.to.this in (exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT):
            return linear_terms(node.this, numbers)
    return None


def _times(terms: dict[str, float] | None, factor: float) -> dict[str, float] | None:
    return None if terms is None else {name: factor * weight for name, weight in terms.items()}
