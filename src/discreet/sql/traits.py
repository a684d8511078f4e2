"""One aggregate of a person's own rows → the trait that it makes of them, with the values that it can have.

What a row has is a public table over the codes of its attributes; what it comes to over at most so many rows has
finitely many values, of which those are left out that no rows of the region can make.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import EPOCH, Date
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.query.cells import LARGEST, CellTable, label_of
from discreet.query.profiles import MOST_CODES, NOTHING, SOURCE, FirstRows, Fold, Trait
from discreet.sql.amount import read_labelling, table_of
from discreet.sql.expression import require_scalar, said_of_alike
from discreet.sql.scope import Scope
from discreet.sql.syntax import only, place_of, refused
from discreet.sql.where import value_of

TRAITS = (
    "COUNT, COUNT_IF, COUNT(DISTINCT …), SUM, AVG, MIN, MAX, BOOL_OR, BOOL_AND, ARG_MIN and ARG_MAX of a person's "
    "rows, each with FILTER (WHERE …)"
)


@dataclass(frozen=True)
class ReadTrait:
    """A trait, the call that it was read from, and notes."""

    trait: Trait
    call: exp.Expression
    notes: tuple[str, ...]


def read_trait(call: exp.Expression, name: str, scope: Scope, where: Region) -> ReadTrait:
    """The trait of a call, called `name`, over the rows in a region."""
    node, condition = call, None
    if isinstance(call, exp.Filter):
        node, condition = call.this, call.expression.this
    reader = _TraitReader(scope, where, condition, name)
    match node:
        case exp.Count(this=exp.Distinct() as distinct):
            trait = reader.different(distinct)
        case exp.Count() | exp.CountIf() | exp.Sum():
            only(node, ("this", "big_int"), TRAITS)
            trait = reader.total(node)
        case exp.Min() | exp.Max() | exp.LogicalOr() | exp.LogicalAnd():
            only(node, ("this",), TRAITS)
            trait = reader.end(node)
        case exp.ArgMin() | exp.ArgMax():
            only(node, ("this", "expression"), TRAITS)
            trait = reader.at_end(node)
        case _:
            raise refused(node, TRAITS)
    return ReadTrait(trait, call, tuple(dict.fromkeys(reader.notes)))


def read_own(node: exp.Expression, name: str, scope: Scope, where: Region) -> ReadTrait:
    """What a row has by itself, where a line is a row."""
    reader = _TraitReader(scope, where, None, name)
    trait = reader.own(node)
    return ReadTrait(trait, node, tuple(dict.fromkeys(reader.notes)))


def read_first(clause: exp.Qualify | None, scope: Scope) -> tuple[FirstRows | None, tuple[str, ...]]:
    """Which rows of a person come first, how many of them count, and notes."""
    if clause is None:
        return None, ()
    order, most = clause.this.this.args["order"], int(clause.this.expression.this)
    reader = _TraitReader(scope, scope.domain.everything, None, "the order of rows")
    tables = tuple(reader.order(one) for one in order.expressions)
    text = ", ".join(str(one.sql("duckdb", comments=False)) for one in order.expressions)
    return FirstRows(text, tables, min(most, scope.domain.max_rows)), tuple(dict.fromkeys(reader.notes))


class _TraitReader:
    def __init__(self, scope: Scope, where: Region, condition: exp.Expression | None, name: str) -> None:
        self.scope, self.where, self.condition, self.name = scope, where, condition, name
        self.domain, self.notes = scope.domain, list[str]()

    def total(self, node: exp.Expression) -> Trait:
        """COUNT, COUNT_IF and SUM: what each row adds."""
        of = _added(node)
        require_scalar(of)
        if isinstance(node, exp.Sum) and self._is_bins(of):
            raise UnsupportedQuery(
                f"{of.name} is known in bins, of which a person's sum has no values{place_of(node)}; ask for "
                f"SUM({of.name}) of all rows, and divide it by COUNT(DISTINCT {self.domain.person})"
            )
        found = value_of(self._kept(of), self.scope, exactly=True)
        self.notes += found.notes
        if not found.is_numeric:
            raise UnsupportedQuery(f"only numbers can be summed{place_of(node)}; this is a text or a date")
        missing = NOTHING if isinstance(node, exp.Sum) else 0
        values = [missing if value is None else _whole(value, node) for value in found.values]
        table = table_of(found, np.array(values, np.int64).reshape(found.shape), self.scope)
        kept = reachable(table, self.where, self.domain)
        adds, most = sorted(kept - {NOTHING}) or [0], self.domain.max_rows
        low, high = min(adds[0], adds[0] * most), max(adds[-1], adds[-1] * most)
        attribute = self._integers(low, high, is_missing=NOTHING in kept)
        return Trait(self._text(node), "sum", attribute, table)

    def different(self, node: exp.Distinct) -> Trait:
        [one, *more] = node.expressions
        if more or self._is_bins(one):
            raise UnsupportedQuery(f"of a person's rows the different values of one column are counted{place_of(node)}")
        table, attribute = self._coded(one)
        self._say_alike(one)
        low = 0 if attribute.null else 1
        high = max(min(self.domain.max_rows, attribute.cells), low)
        count = exp.Count(this=node.copy())
        return Trait(self._text(count), "different", self._integers(low, high, False), table)

    def end(self, node: exp.Expression) -> Trait:
        fold: Fold = "least" if isinstance(node, exp.Min | exp.LogicalAnd) else "greatest"
        table, attribute = self._coded(node.this)
        return Trait(self._text(node), fold, attribute, table)

    def at_end(self, node: exp.Expression) -> Trait:
        order, _ = self._ranked(node.expression)
        self._say_alike(node.expression)
        table, attribute = self._coded(node.this)
        if NOTHING in reachable(order, self.where, self.domain):
            attribute = replace(attribute, null=True)
        fold: Fold = "first" if isinstance(node, exp.ArgMin) else "last"
        self.notes.append(
            f"{self._text(node)}: where several of a person's rows come {fold}, the least of their values counts"
        )
        return Trait(self._text(node), fold, attribute, table, (order,))

    def own(self, node: exp.Expression) -> Trait:
        table, attribute = self._coded(node)
        return Trait(self._text(node), "own", attribute, table)

    def order(self, ordered: exp.Ordered) -> CellTable:
        """The places of rows in an order; those with a missing value come last, unless NULLS FIRST says otherwise."""
        only(ordered, ("this", "desc", "nulls_first"), "ORDER BY of columns and expressions")
        table, attribute = self._ranked(ordered.this)
        self._say_alike(ordered.this)
        places = attribute.size - 1 - table.table if ordered.args.get("desc") else table.table
        missing = -1 if ordered.args.get("nulls_first") else attribute.size
        ranked = np.where(table.table == NOTHING, missing, places)
        return CellTable.of(table.attributes, table.classes, ranked)

    def _text(self, node: exp.Expression) -> str:
        text = str(node.sql("duckdb", comments=False))
        return (
            text if self.condition is None else f"{text} FILTER (WHERE {self.condition.sql('duckdb', comments=False)})"
        )

    def _kept(self, node: exp.Expression) -> exp.Expression:
        """What a row has, where FILTER leaves it."""
        if self.condition is None:
            return node.copy()
        return exp.Case(ifs=[exp.If(this=self.condition.copy(), true=node.copy())])

    def _is_bins(self, node: exp.Expression) -> bool:
        return isinstance(self._plain(node), Bins)

    def _plain(self, node: exp.Expression) -> Attribute | None:
        """The attribute that a column is by itself."""
        inner = node.unnest()
        if not isinstance(inner, exp.Column) or self.scope.derived_of(inner) is not None:
            return None
        return self.scope.attribute(inner)

    def _say_alike(self, node: exp.Expression) -> None:
        """Say where values of a column are the same that the table tells apart and the domain does not."""
        said = None if self.condition is not None else said_of_alike(self._plain(node), self.name)
        self.notes += [] if said is None else [said]

    def _coded(self, node: exp.Expression) -> tuple[CellTable, Attribute]:
        """What each row has, as codes of the values that rows of the region can have, in their order."""
        table, attribute = self._ranked(node)
        kept = reachable(table, self.where, self.domain)
        codes = sorted(kept - {NOTHING})
        if not codes:
            return CellTable.of(table.attributes, table.classes, np.full_like(table.table, NOTHING)), self._integers(
                0, 0, True
            )
        first, last = codes[0], codes[-1]
        shifted = np.where(table.table == NOTHING, NOTHING, np.clip(table.table - first, 0, last - first))
        part = _part(attribute, first, last)
        return CellTable.of(table.attributes, table.classes, shifted), replace(
            part, name=self.name, null=NOTHING in kept
        )

    def _ranked(self, node: exp.Expression) -> tuple[CellTable, Attribute]:
        """The same with all values: an attribute by its codes, an expression by its values."""
        plain = self._plain(node)
        if self.condition is None and isinstance(plain, Integer | Date | Bins):
            own = np.arange(plain.size, dtype=np.int64)
            if plain.outside == "other":
                self.notes.append(f"values of {plain.name} outside the declared ones are missing in {self.name}")
            table = CellTable((plain.name,), (own,), np.where(own < plain.cells, own, NOTHING))
            return table, replace(plain, outside="drop", null=False)
        labelling, notes = read_labelling(self._kept(node), self.scope)
        self.notes += notes
        values = list(labelling.values)
        codes, attribute = _coded_values([value for value in values if value is not None], self.name, node)
        ranks = np.array([*codes, NOTHING] if values[-1] is None else codes, np.int64)
        return CellTable(labelling.table.attributes, labelling.table.classes, ranks[labelling.table.table]), attribute

    def _integers(self, low: int, high: int, is_missing: bool) -> Integer:
        if high - low >= MOST_CODES:
            raise UnsupportedQuery(
                f"{self.name} can be {low:,} to {high:,}, and at most {MOST_CODES:,} values are told apart; sum what "
                "is rounded, as in SUM(x // 100)"
            )
        return Integer(name=self.name, source=SOURCE, null=is_missing, low=low, high=high)


def reachable(table: CellTable, where: Region, domain: Domain) -> set[int]:
    """The numbers that a table has somewhere in a region."""
    found: set[int] = set()
    axes = [domain.axis(name) for name in table.attributes]
    for box in where.boxes:
        own = [
            np.unique(of_code[box.low[axis] : box.high[axis] + 1])
            for axis, of_code in zip(axes, table.classes, strict=True)
        ]
        found |= set(np.unique(table.table[np.ix_(*own)]).tolist())
    return found


def _added(node: exp.Expression) -> exp.Expression:
    """What a row adds to a call, as an expression."""
    if isinstance(node, exp.Sum):
        return node.this
    counted = node.this.unnest()
    if isinstance(node, exp.CountIf):
        held = counted
    elif isinstance(counted, exp.Star | exp.Literal):
        return exp.Literal.number(1)
    else:
        held = exp.not_(exp.Is(this=exp.paren(counted.copy()), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=held.copy(), true=exp.Literal.number(1))], default=exp.Literal.number(0))


def _whole(value: Any, node: exp.Expression) -> int:
    if value != int(value) or abs(value) >= LARGEST:
        raise UnsupportedQuery(
            f"of a person's rows whole numbers are summed{place_of(node)}; ROUND them, as in SUM(ROUND(x))"
        )
    return int(value)


def _coded_values(values: Sequence[Any], name: str, node: exp.Expression) -> tuple[list[int], Attribute]:
    """The codes of values in their order, and the attribute whose codes these are."""
    is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if values and is_number:
        whole = [_whole(value, node) for value in values]
        if whole[-1] - whole[0] >= MOST_CODES:
            raise UnsupportedQuery(f"{name} has values too far apart; at most {MOST_CODES:,} are told apart")
        return [value - whole[0] for value in whole], Integer(name=name, source=SOURCE, low=whole[0], high=whole[-1])
    texts = [value.isoformat() if isinstance(value, dt.date) else label_of(value) for value in values]
    return [*range(len(texts))], Category(name=name, source=SOURCE, values=tuple(texts) or ("",))


def _part(attribute: Attribute, first: int, last: int) -> Attribute:
    """An attribute with the values of some codes in a row alone."""
    match attribute:
        case Integer(low=low):
            return Integer(name=attribute.name, source=SOURCE, low=low + first, high=low + last)
        case Date(edges_in_days=edges, period=period):
            days = [dt.date.fromordinal(day + EPOCH) for day in (edges[first], edges[last + 1] - 1)]
            return Date(name=attribute.name, source=SOURCE, low=days[0], high=days[1], period=period)
        case Bins(edges=edges):
            return Bins(name=attribute.name, source=SOURCE, edges=edges[first : last + 2], grain=attribute.grain)
        case Category(values=values):
            return Category(name=attribute.name, source=SOURCE, values=values[first : last + 1])
    raise refused(None, TRAITS)
