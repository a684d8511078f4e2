"""The public half of a statement: its query run over the noisy answers of its blocks, with an interval for each number.

An interval is exact where a number is a sum of noisy numbers. Elsewhere the query is run again, in one go, over numbers
that could have been true: the released ones, each less an error drawn from the known law of its noise, those in common
drawn together. For a ratio the quantiles of that are Fieller's interval: T/N is below r for as many draws as T − rN,
which is nothing but noise for the true r, exceeds its own noise.

Lines that were chosen by noise get intervals that hold for all lines at once that they were chosen from: each error is
drawn as much larger as the noise of one number reaches at the confidence of all together. Where the choice lies deeper
(the largest group, a count of groups above a bound), the interval also covers what the query makes of all numbers at
their lower and at their upper ends, and how far it moves with a little noise while the same lines stay chosen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.answer import Desk
from discreet.answer.grid import Codes
from discreet.answer.reply import Row
from discreet.domain.attribute import Attribute, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import Group
from discreet.sql.lineage import Lineage, lineage
from discreet.sql.question import AggregateColumn, GroupColumn
from discreet.sql.sandbox import Prepared, prepare, run_prepared
from discreet.sql.split import LINE, TABLE, Block, Statement

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Label = str | int | float | bool | None
MOST_LINES = 100_000
REMEMBERED = 256
"""Size of the caches of what statements are written as."""
DRAW, DRAWS = "discreet_draw", "discreet_draws"
"""Names of the sandbox's own tables and columns begin like no other's."""


@dataclass(frozen=True)
class BlockAnswer:
    """The noisy answer of a block: a line for each group, a row for each of its numbers."""

    block: Block
    lines: Sequence[tuple[Codes, Sequence[Row]]]
    start: int
    """The number of its first line, among those of all blocks."""

    @property
    def numbers(self) -> tuple[AggregateColumn, ...]:
        return self.block.question.aggregates


@dataclass(frozen=True)
class Line:
    """A line of the result: its labels, and for each number its value, its ends and where it comes from."""

    labels: tuple[Label, ...]
    numbers: tuple[Row, ...]


@dataclass(frozen=True)
class Result:
    """What a public half makes. `columns` has the names of all columns in their order, True for numbers."""

    columns: Mapping[str, bool]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def value_of(attribute: Attribute, code: int) -> Label:
    """A code as the public half calculates with it: NULL for missing ones."""
    if code == attribute.null_code:
        return None
    match attribute:
        case Integer():
            return attribute.low + code if code < attribute.cells else None
        case Category() if set(attribute.values) == {"true", "false"} and code < attribute.cells:
            return attribute.values[code] == "true"
    return attribute.label(code)


def group_values(group: Group, domain: Domain) -> list[object]:
    """The groups of an attribute or of an expression, as the public half calculates with them."""
    if not isinstance(group, str):
        return list(group.values)
    return [value_of(domain[group], code) for code in range(domain[group].size)]


@dataclass
class PublicHalf:
    """A statement's public query with the answers of its blocks."""

    statement: Statement
    answers: Sequence[BlockAnswer]
    confidence: Fraction
    desk: Desk
    notes: list[str] = field(default_factory=list)

    def values_only(self) -> Result:
        """The same without intervals."""
        columns, values = self.evaluated()
        where = self.answers[0].block.question.where
        rows = {
            name: [Row((), name, number_of(value), None, None, "derived", where, where) for value in values[name]]
            for name in columns
            if columns[name]
        }
        return self.lines_of(columns, values, rows)

    def evaluated(self) -> tuple[dict[str, bool], dict[str, list[Any]]]:
        """The columns, True for noisy numbers; and the values of each."""
        found = run_prepared(_prepared(self.statement, self.is_direct), self._tables())
        if found.num_rows > MOST_LINES:
            raise UnsupportedQuery(f"the answer has {found.num_rows:,} lines, and at most {MOST_LINES:,} are shown")
        names = [name for name in found.column_names if name != LINE]
        noisy = dict(zip(names, self._noisy(names), strict=True))
        columns = {name: noisy[name] and _is_number(found.schema.field(name).type) for name in names}
        return columns, {name: found.column(name).to_pylist() for name in found.column_names}

    def lines_of(
        self, columns: Mapping[str, bool], values: Mapping[str, list[Any]], rows: Mapping[str, Sequence[Row]]
    ) -> Result:
        count = len(next(iter(values.values()), []))
        labels, numbers = ([name for name in columns if columns[name] is wanted] for wanted in (False, True))
        lines = tuple(
            Line(tuple(_plain(values[name][place]) for name in labels), tuple(rows[name][place] for name in numbers))
            for place in range(count)
        )
        return Result(columns, lines, tuple(self.notes))

    def labels(self, columns: Mapping[str, bool], values: Mapping[str, list[Any]]) -> list[tuple[str | None, ...]]:
        """The labels of each line, as they are shown."""
        shown = [[label_text(_plain(value)) for value in values[name]] for name in columns if not columns[name]]
        return [*zip(*shown, strict=True)] if shown else [()] * len(next(iter(values.values()), []))

    @cached_property
    def lineage(self) -> Lineage:
        return lineage_of(self.statement, [len(answer.lines) for answer in self.answers])

    @property
    def candidates(self) -> int:
        """How many lines the chosen ones were chosen from, at most."""
        return max(sum(len(answer.lines) for answer in self.answers), 1)

    @cached_property
    def is_direct(self) -> bool:
        return is_direct(self.statement)

    def _noisy(self, names: Sequence[str]) -> list[bool]:
        known = self.lineage.columns
        places = [*known.values()]
        return [
            known.get(name.lower(), places[place] if place < len(places) else True) for place, name in enumerate(names)
        ]

    @property
    def tree(self) -> exp.Query:
        """The query; each line of it with its number, where that is one of a block."""
        return _numbered(self.statement) if self.is_direct else self.statement.public

    @property
    def unchosen(self) -> exp.Query:
        """The query without what chooses lines by noise in its outermost SELECT."""
        return _unchosen(self.statement)

    def _tables(self) -> dict[str, "pa.Table"]:
        found = {answer.block.name: self.table(answer, self.values(answer)) for answer in self.answers}
        return found | self.lookups

    @cached_property
    def lookups(self) -> dict[str, "pa.Table"]:
        """The public tables that it reads beside the blocks."""
        import pyarrow as pa

        return {lookup.name: pa.table(dict(lookup.columns)) for lookup in self.statement.lookups}

    def values(self, answer: BlockAnswer) -> list[Floats]:
        return [
            np.array([np.nan if rows[place].value is None else rows[place].value for _, rows in answer.lines], float)
            for place in range(len(answer.numbers))
        ]

    def table(self, answer: BlockAnswer, numbers: Sequence[Floats], draws: int | None = None) -> "pa.Table":
        """A block's table: its labels, their codes, its numbers; with `draws` once for each of them."""
        import pyarrow as pa

        times, by = draws or 1, answer.block.question.by
        codes = np.array([codes for codes, _ in answer.lines], np.int64).reshape(len(answer.lines), len(by))
        columns: dict[str, Any] = {}
        for column in answer.block.question.columns:
            if isinstance(column, GroupColumn):
                axis = by.index(column.attribute)
                values = pa.array(group_values(column.attribute, self.desk.domain))
                repeated = np.tile(codes[:, axis], times)
                columns[column.name] = values.take(pa.array(repeated))
                columns[f"{column.name}_code"] = pa.array(repeated)
        for column, found in zip(answer.numbers, numbers, strict=True):
            columns[column.name] = pa.array(found.reshape(-1), pa.float64(), from_pandas=True)
        columns[LINE] = pa.array(np.tile(np.arange(answer.start, answer.start + len(answer.lines)), times))
        if draws is not None:
            columns[DRAW] = pa.array(np.repeat(np.arange(draws), len(answer.lines)))
        return pa.table(columns)


@lru_cache(REMEMBERED)
def _numbered(statement: Statement) -> exp.Query:
    tree = statement.public.copy()
    tree.append("expressions", exp.alias_(exp.column(LINE, table=TABLE), LINE))
    return tree


@lru_cache(REMEMBERED)
def _unchosen(statement: Statement) -> exp.Query:
    tree = _numbered(statement).copy()
    for part in ("where", "qualify", "order", "limit", "offset"):
        tree.set(part, None)
    return tree


@lru_cache(REMEMBERED)
def _prepared(statement: Statement, with_line: bool) -> Prepared:
    tree = _numbered(statement) if with_line else statement.public
    return prepare(tree, [*(block.name for block in statement.blocks), *(lookup.name for lookup in statement.lookups)])


def lineage_of(statement: Statement, lines: Sequence[int]) -> Lineage:
    """What the statement does with the noise of its blocks, of so many lines each."""
    blocks = {
        block.name: Lineage(_block_columns(block), lines=count)
        for block, count in zip(statement.blocks, lines, strict=True)
    }
    codes = {
        lookup.name: Lineage(dict.fromkeys(lookup.columns, False), lines=len(lookup.lines))
        for lookup in statement.lookups
    }
    return lineage(statement.public, {**blocks, **codes})


def _block_columns(block: Block) -> dict[str, bool]:
    columns: dict[str, bool] = {LINE: False}
    for column in block.question.columns:
        noisy = isinstance(column, AggregateColumn)
        columns |= {column.name: noisy} if noisy else {column.name: False, f"{column.name}_code": False}
    return columns


def is_direct(statement: Statement) -> bool:
    """Whether every line of the result is a line of a block."""
    tree = statement.public
    if (
        not isinstance(tree, exp.Select)
        or tree.args.get("distinct")
        or tree.args.get("group")
        or tree.args.get("joins")
    ):
        return False
    source = tree.args.get("from_")
    if source is None or source.this.alias_or_name != TABLE or not statement.names:
        return False
    return not any(
        not isinstance(call.parent, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls)
        and call.find_ancestor(exp.Query) is tree
        for output in tree.expressions
        for call in output.find_all(exp.AggFunc)
    )


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def number_of(value: Any) -> float | None:
    found = _plain(value)
    assert found is None or isinstance(found, int | float)
    return found


def label_text(label: Label) -> str | None:
    if isinstance(label, bool):
        return "true" if label else "false"
    return None if label is None else str(label)


def _plain(value: Any) -> Label:
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    if hasattr(value, "isoformat"):
        text = str(value.isoformat(sep=" ") if hasattr(value, "hour") else value.isoformat())
        return text.removesuffix(" 00:00:00")
    number = float(value)
    return int(number) if number.is_integer() else number
