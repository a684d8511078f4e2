"""Expressions over attributes, evaluated on the domain: never on rows.

Every sub-expression over one attribute is evaluated alone, once for each of its codes; codes that no sub-expression
tells apart are one class; and what several attributes make together is evaluated over the product of their classes. A
comparison of a column with values inside an expression means what it means after WHERE.

- A missing value is NULL. A value outside the declared ones is the text (other), or NULL where it would be a number or
  a date; comparisons with values treat it as after WHERE. A note says so.
- A clamped value is the end of the range that it is counted at.
- A period longer than a day is taken at its first day, with a note where its other days would make a difference.
- A category with a codebook is its code, without the label, and a note says so.
- A bin is known by its ends only. An expression that is the same at both ends of every bin, and between them, is exact;
  one that only rises or only falls is taken at the middle of the bin, with a note; others are refused.
- What fails for some values is NULL for those.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import EPOCH, Date, days_named
from discreet.errors import UnsupportedQuery
from discreet.query.cells import MOST_CELLS, Ints, product_of
from discreet.sql.beside import as_equality, write_values
from discreet.sql.monotone import in_orderings, is_monotone
from discreet.sql.scope import Scope
from discreet.sql.syntax import place_of, refused
from discreet.sql.tokens import shown
from discreet.sql.where_text import identifier, text_literal

if TYPE_CHECKING:
    import pyarrow as pa

NOT_SCALAR = (exp.Query, exp.SubqueryPredicate, exp.AggFunc, exp.Window, exp.Filter, exp.WithinGroup, exp.Star)
EXPRESSIONS = "columns, values, CASE, arithmetic, comparisons, and functions of texts, numbers and dates"
CELLS, PLACE, RESULT = "cells", "place", "result"
INNER = 1e-9
"""How far inside a bin its upper end is looked at, as a part of its width."""

Verdict = Callable[[exp.Expression], tuple[int, "NDArray[np.object_]", tuple[str, ...]] | None]
"""An ordinary condition as its axis, its value for every code, and notes; None where it is another expression."""


@dataclass(frozen=True)
class ClassValues:
    """An expression's value for every combination of classes of codes. `axes` are ascending; values are in the order
    of the product of the classes."""

    axes: tuple[int, ...]
    classes: tuple[Ints, ...]
    column: "pa.ChunkedArray | pa.Array"
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(of_code.max()) + 1 for of_code in self.classes)

    @cached_property
    def values(self) -> list[Any]:
        """Python's own values; what is no finite number is None."""
        return [_finite(value) for value in self.column.to_pylist()]

    @property
    def is_boolean(self) -> bool:
        import pyarrow as pa

        return bool(pa.types.is_boolean(self.column.type) or pa.types.is_null(self.column.type))

    @property
    def is_numeric(self) -> bool:
        import pyarrow as pa

        kind = self.column.type
        return any(
            test(kind)
            for test in (
                pa.types.is_integer,
                pa.types.is_floating,
                pa.types.is_decimal,
                pa.types.is_boolean,
                pa.types.is_null,
            )
        )

    @property
    def present(self) -> NDArray[np.bool_]:
        """The cells where there is a value."""
        return np.array([value is not None for value in self.values], np.bool_).reshape(self.shape)

    def where(self, wanted: bool | None) -> NDArray[np.bool_]:
        """The cells where a condition is TRUE, FALSE or unknown."""
        found = np.array([value is wanted for value in self.values], np.bool_)
        return found.reshape(self.shape)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluate(node: exp.Expression, scope: Scope, verdict: Verdict, exactly: bool = False) -> ClassValues:
    """The value of an expression at every point of the domain; `exactly`: never at the middle of a bin instead. Raises
    UnsupportedQuery, for public reasons only."""
    require_scalar(node)
    leaves = _Leaves(scope, verdict, exactly)
    root = leaves.cut(leaves.with_verdicts(node.copy()))
    classes = leaves.classes()
    axes = tuple(sorted(classes))
    cells = prod(int(classes[axis].max()) + 1 for axis in axes)
    if cells > MOST_CELLS:
        names = ", ".join(scope.domain.attributes[axis].name for axis in axes)
        raise UnsupportedQuery(
            f"an expression over {names} has {cells:,} combinations of values{place_of(node)}, and at most "
            f"{MOST_CELLS:,} are evaluated; compare each column with values, or use fewer of them"
        )
    shape = tuple(int(classes[axis].max()) + 1 for axis in axes)
    scope.count_evaluation(cells * (len(leaves.found) + 1))
    columns = dict(zip(axes, product_of(shape), strict=True))
    table = {leaf.name: leaf.of_class(classes[leaf.axis], columns[leaf.axis]) for leaf in leaves.found}
    is_known = "leaf" in root.meta and root.meta["leaf"].has_type
    result = table[root.name] if is_known else _run(root, table, cells)
    return ClassValues(axes, tuple(classes[axis] for axis in axes), result, tuple(dict.fromkeys(leaves.notes)))


def require_scalar(node: exp.Expression) -> None:
    """Refuse what is no expression over a row, is too deep, or is on no allow-list: before anything walks over it."""
    from discreet.sql.sandbox import check

    for part in node.walk():
        if isinstance(part, NOT_SCALAR):
            raise refused(part, EXPRESSIONS)
    check(node)


def said_of_alike(attribute: Attribute | None, place: str) -> str | None:
    """What to say where values of a column are compared that the domain does not tell apart; nothing where it does."""
    match attribute:
        case Date(period=period) if period != "day":
            return f"{attribute.name} is known by {period}s: days of one {period} are the same in {place}"
        case Bins():
            return f"{attribute.name} is known in bins: values of one bin are the same in {place}"
    return None


def columns_in(node: exp.Expression) -> Iterator[exp.Column]:
    yield from node.find_all(exp.Column)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A sub-expression over one attribute, with its value for every code."""

    name: str
    axis: int
    values: "pa.Array"

    @property
    def has_type(self) -> bool:
        """Whether the engine would give the values back as they are; NULLs alone it takes for numbers."""
        import pyarrow as pa

        return not pa.types.is_null(self.values.type)

    def of_class(self, of_code: Ints, classes: Ints) -> "pa.Array":
        _, first = np.unique(of_code, return_index=True)
        return self.values.take(first[classes])


@dataclass
class _Leaves:
    scope: Scope
    verdict: Verdict
    exactly: bool
    found: list[_Leaf] = field(default_factory=list)
    made: int = 0
    notes: list[str] = field(default_factory=list)

    def with_verdicts(self, node: exp.Expression) -> exp.Expression:
        """The tree with every ordinary condition as a column of truth values."""
        import pyarrow as pa

        derived = self.scope.derived_of(node) if isinstance(node, exp.Column) else None
        if derived is not None:
            return self._leaf(derived.axis, pa.array(list(derived.values)))
        found = self.verdict(node)
        if found is not None:
            axis, values, notes = found
            self.notes += notes
            return self._leaf(axis, pa.array(list(values), pa.bool_()))
        node = as_equality(node, self._in_periods_or_bins) or node
        for attribute, text in write_values(node, self._labelled, _written):
            _require_no_period(attribute, text)
        for part, child in list(node.args.items()):
            if isinstance(child, exp.Expression):
                node.set(part, self.with_verdicts(child))
            elif isinstance(child, list):
                read = [self.with_verdicts(one) if isinstance(one, exp.Expression) else one for one in child]
                node.set(part, read)
        return node

    def _attribute(self, column: exp.Column) -> Attribute | None:
        """The attribute that a column is, by itself and not by its hierarchy."""
        if "leaf" in column.meta or self.scope.derived_of(column) is not None:
            return None
        return self.scope.attribute(column)

    def _in_periods_or_bins(self, column: exp.Column) -> Attribute | None:
        """That of a column of which = means more than being the same value."""
        attribute = self._attribute(column)
        return attribute if isinstance(attribute, Date | Bins) else None

    def _labelled(self, column: exp.Column) -> Attribute | None:
        """That of a column whose values are shown under names of their own."""
        attribute = self._attribute(column)
        is_named = isinstance(attribute, Date) or (isinstance(attribute, Category) and any(attribute.titles))
        return attribute if is_named else None

    def _leaf(self, axis: int, values: "pa.Array") -> exp.Column:
        leaf = _Leaf(f"leaf_{self.made}", axis, values)
        self.made += 1
        self.found.append(leaf)
        column = exp.column(exp.to_identifier(leaf.name))
        column.meta["leaf"] = leaf
        return column

    def _axes(self, node: exp.Expression) -> set[int]:
        return {
            column.meta["leaf"].axis if "leaf" in column.meta else self.scope.axis(column)
            for column in columns_in(node)
        }

    def cut(self, node: exp.Expression, whole: bool = True) -> exp.Expression:
        """The tree with every largest sub-expression over one attribute as a column of its values."""
        axes = self._axes(node)
        if not axes or (isinstance(node, exp.Column) and "leaf" in node.meta):
            return node
        if len(axes) == 1 and isinstance(node, exp.Condition) and not _is_branch(node):
            [axis] = axes
            return self._leaf(axis, self._alone(node, axis, whole))
        for part, child in list(node.args.items()):
            if isinstance(child, exp.Expression):
                node.set(part, self.cut(child, whole=False))
            elif isinstance(child, list):
                node.set(part, [self.cut(one, False) if isinstance(one, exp.Expression) else one for one in child])
        return node

    def _alone(self, node: exp.Expression, axis: int, whole: bool) -> "pa.Array":
        """The value of an expression over one attribute, for each of its codes."""
        self.scope.count_evaluation(self.scope.domain.attributes[axis].size)
        attribute = self.scope.domain.attributes[axis]
        own = [leaf for leaf in self.found if any(c.meta.get("leaf") is leaf for c in columns_in(node))]
        inner = {leaf.name: leaf.values for leaf in own}
        raw = [column for column in columns_in(node) if "leaf" not in column.meta]
        for column in raw:
            column.replace(exp.column(exp.to_identifier("raw")))
        if len(raw) and raw[0] is node:
            node = exp.column(exp.to_identifier("raw"))
        if raw and attribute.other_code is not None:
            taken = "the text '(other)'" if isinstance(attribute, Category) else "missing"
            self.notes.append(f"values of {attribute.name} outside the declared ones are {taken} within expressions")
        found = self._at(node, attribute, inner, whole) if raw else _run(node, inner, attribute.size)
        for leaf in own:
            self.found.remove(leaf)
        return found

    def _at(self, node: exp.Expression, attribute: Attribute, inner: dict[str, "pa.Array"], whole: bool) -> "pa.Array":
        if isinstance(attribute, Bins):
            return self._in_bins(node, attribute, inner, whole)
        if isinstance(attribute, Category) and any(attribute.titles):
            said = (
                f"{attribute.name} is {attribute.values[0]}, say, within expressions: its codes, without their labels"
            )
            self.notes.append(said)
        problem: UnsupportedQuery | None = None
        for raw in _columns_of(attribute):
            try:
                found = _run(node, {**inner, "raw": raw}, attribute.size)
            except UnsupportedQuery as error:
                problem = problem or error
                continue
            if isinstance(attribute, Date) and attribute.period != "day":
                self._note_days(node, attribute, inner, found, raw.type)
            return found
        assert problem is not None
        raise UnsupportedQuery(str(problem).replace("raw", attribute.name))

    def _note_days(
        self,
        node: exp.Expression,
        attribute: Date,
        inner: dict[str, "pa.Array"],
        found: "pa.Array",
        kind: "pa.DataType",
    ) -> None:
        """Say of how many periods the days differ in what an expression makes of them."""
        import pyarrow as pa

        edges = np.array(attribute.edges_in_days)
        days = np.arange(edges[0], edges[-1])
        self.scope.count_evaluation(len(days))
        period = pa.array(np.searchsorted(edges, days, side="right") - 1)
        texts = [dt.date.fromordinal(day + EPOCH).isoformat() for day in days.tolist()]
        raw = pa.array(texts, pa.string()).cast(kind)
        columns = {name: values.take(period) for name, values in inner.items()}
        each = map(_finite, _run(node, {**columns, "raw": raw}, len(days)).to_pylist())
        first = map(_finite, found.take(period).to_pylist())
        differ = {at for at, own, said in zip(period.to_pylist(), each, first, strict=True) if own != said}
        if differ:
            self.notes.append(
                f"{attribute.name} is known by {attribute.period}s: for {len(differ)} of {attribute.cells} the "
                "expression is taken at the first day, though other days would make a difference"
            )

    def _in_bins(self, node: exp.Expression, attribute: Bins, inner: dict[str, "pa.Array"], whole: bool) -> "pa.Array":
        ends = [_within(attribute, share) for share in (0.0, 1.0, 0.5)]

        def at(part: exp.Expression, points: "pa.Array") -> "pa.Array":
            return _run(part, {**inner, "raw": points}, attribute.size)

        low, high, middle = (at(node, points) for points in ends)
        parts = _monotone_parts(in_orderings(node))
        if all(at(part, ends[0]).equals(at(part, ends[1])) for part in parts):
            return low
        if not whole or self.exactly or not is_monotone(node) or low.type != high.type:
            raise UnsupportedQuery(
                f"{attribute.name} is known in bins only, and this expression{place_of(node)} is not the same for all "
                f"values of a bin; compare {attribute.name} with a value, or group by it as it is"
            )
        moved = sum(a != b for a, b in zip(low.to_pylist(), high.to_pylist(), strict=True))
        self.notes.append(
            f"{attribute.name} is known in bins: for {moved} of them the expression is taken at the middle of the bin"
        )
        return middle

    def classes(self) -> dict[int, Ints]:
        """The classes of the codes of every attribute: codes with the same value in all sub-expressions."""
        by_axis: dict[int, list[_Leaf]] = {}
        for leaf in self.found:
            by_axis.setdefault(leaf.axis, []).append(leaf)
        return {axis: _classes([leaf.values for leaf in leaves]) for axis, leaves in by_axis.items()}


def _written(attribute: Attribute, text: str) -> str | None:
    """A period's name, or a code's label, as the value that it names."""
    assert isinstance(attribute, Category)
    code = attribute.named_code(text) if isinstance(attribute, Date) else attribute.code(text)
    return None if code is None else attribute.values[code]


def _require_no_period(attribute: Attribute, text: str) -> None:
    """Refuse the name of several periods, or of a part of one, where one value is compared."""
    if isinstance(attribute, Date) and days_named(text) is not None:
        raise UnsupportedQuery(
            f"{shown(text)} is not one {attribute.period} of {attribute.name}; write it as "
            f"{text_literal(attribute.label(0))} is, or compare {identifier(attribute.name)} by itself with it"
        )


def _is_branch(node: exp.Expression) -> bool:
    """Whether it is a WHEN of a CASE, and no expression by itself."""
    return isinstance(node, exp.If) and isinstance(node.parent, exp.Case)


def _classes(columns: Sequence["pa.Array"]) -> Ints:
    numbers: dict[tuple[object, ...], int] = {}
    rows = zip(*(map(_finite, column.to_pylist()) for column in columns), strict=True)
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)


def _run(node: exp.Expression, columns: dict[str, "pa.Array"], rows: int) -> "pa.Array":
    """The expression over some rows of public values."""
    import pyarrow as pa

    from discreet.sql.sandbox import run  # an engine that ordinary questions do without

    table = pa.table({PLACE: pa.array(np.arange(rows)), **columns})
    select = exp.select(exp.column(PLACE), exp.alias_(node.copy(), RESULT)).from_(CELLS)
    found = run(select, {CELLS: table})
    ordered = found.take(np.argsort(found.column(PLACE).to_numpy(), kind="stable"))
    return ordered.column(RESULT).combine_chunks()


def _columns_of(attribute: Attribute) -> Iterator["pa.Array"]:
    """The values of an attribute's codes, in each of the types that they may be read as."""
    import pyarrow as pa

    beyond = [None] * (attribute.size - attribute.cells)
    match attribute:
        case Integer(low=low, high=high):
            yield pa.array([*range(low, high + 1), *beyond], pa.int64())
        case Category(values=values):
            truths = [value == "true" for value in values]
            if set(values) <= {"true", "false"}:
                yield pa.array([*truths, *beyond], pa.bool_())
            other = [attribute.label(attribute.cells)] if attribute.outside == "other" else []
            yield pa.array([*values, *other, *beyond[len(other) :]], pa.string())
            for read, kind in _readings():
                try:
                    yield pa.array([*map(read, values), *beyond], kind())
                except (ValueError, ArithmeticError, pa.ArrowException):
                    continue


def _readings() -> list[tuple[Callable[[str], Any], Callable[[], Any]]]:
    import pyarrow as pa

    return [
        (int, pa.int64),
        (float, pa.float64),
        (dt.date.fromisoformat, pa.date32),
        (dt.datetime.fromisoformat, lambda: pa.timestamp("us")),
    ]


def _within(attribute: Bins, share: float) -> "pa.Array":
    """A point of every bin: its lower end at 0, its upper end at 1. An open end is infinitely far."""
    import pyarrow as pa

    points: list[float | None] = []
    for low, high in zip(attribute.edges[:-1], attribute.edges[1:], strict=True):
        if low is None or high is None:
            at_low = share == 0 or (share == 0.5 and low is None)
            end = low if at_low else high
            points.append((-math.inf if at_low else math.inf) if end is None else float(end))
            continue
        width = float(high - low)
        # A bound in the very middle counts as one at the lower edge, as after WHERE.
        inside = {0.0: 0.0, 1.0: 1.0 - INNER, 0.5: 0.5 + INNER}[share]
        points.append(float(low) + inside * width)
    return pa.array([*points, *[None] * (attribute.size - attribute.cells)], pa.float64())


def _monotone_parts(node: exp.Expression) -> list[exp.Expression]:
    """The largest sub-expressions that only rise or only fall with the raw column."""
    if is_monotone(node):
        return [node]
    return [part for child in node.iter_expressions() for part in _monotone_parts(child)]
