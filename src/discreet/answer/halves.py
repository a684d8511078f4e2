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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.chosen import at_once
from discreet.answer.desk import Desk
from discreet.answer.different import most_values
from discreet.answer.grid_rows import GridColumn, GridLines
from discreet.answer.grid_rows import Line as Grouped
from discreet.answer.lazy_rows import LazyRows
from discreet.answer.reply import Row
from discreet.answer.scales import value_range
from discreet.answer.shown_numbers import within, without_rounding
from discreet.answer.view import ShownColumns
from discreet.domain.attribute import Attribute, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.query.query import Count, Distinct, Group, Mean, People, ProfileSum, Quantile, Sum
from discreet.sql.lineage import Lineage, lineage, linear_terms
from discreet.sql.question import AggregateColumn, GroupColumn
from discreet.sql.ranges import ANY, Range, Ranges, ranges
from discreet.sql.sandbox import Prepared, prepare, run_prepared
from discreet.sql.split import LINE, TABLE, Block, Statement, noise_of

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Label = str | int | float | bool | None
MOST_LINES = 100_000
REMEMBERED = 256
"""Size of the caches of what statements are written as."""
DRAW, DRAWS = "discreet_draw", "discreet_draws"
"""Names of the sandbox's own tables and columns begin like no other's."""


@dataclass(frozen=True, eq=False)
class BlockAnswer:
    """The noisy answer of a block: a line for each group, a row for each of its numbers."""

    block: Block
    codes: NDArray[np.int64]
    """Of each line, a column for each of its groups."""
    values: tuple[Floats, ...]
    """Of each number, nan where there is none."""
    start: int
    """The number of its first line, among those of all blocks."""
    lines: Sequence[Grouped] = ()
    """The same with all that is known of each number; none for made-up ones."""

    @classmethod
    def of(cls, block: Block, lines: Sequence[Grouped], start: int) -> "BlockAnswer":
        if isinstance(lines, GridLines) and not lines.rows.is_alike:
            lines = [*lines]  # each of them is looked at more than once
        if isinstance(lines, GridLines):
            return cls(block, lines.rows.grid.codes, tuple(one.values for one in lines.rows.columns), start, lines)
        by, numbers = block.question.by, block.question.aggregates
        codes = np.array([codes for codes, _ in lines], np.int64).reshape(len(lines), len(by))
        values = [
            [math.nan if rows[place].value is None else rows[place].value for _, rows in lines]
            for place in range(len(numbers))
        ]
        return cls(block, codes, tuple(np.array(one, np.float64) for one in values), start, lines)

    @property
    def count(self) -> int:
        return len(self.codes)

    @property
    def numbers(self) -> tuple[AggregateColumn, ...]:
        return self.block.question.aggregates

    @property
    def columns(self) -> tuple[GridColumn, ...] | None:
        """The numbers in arrays, where all of each are of one release."""
        return self.lines.rows.columns if isinstance(self.lines, GridLines) else None

    @property
    def samples(self) -> Sequence[Row]:
        """Rows that have all kinds and sources that there are."""
        if isinstance(self.lines, GridLines):
            return self.lines.rows.samples
        return [row for _, rows in self.lines for row in rows]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What a public query made. `columns` has the names of all columns in their order, True for noisy numbers."""

    columns: Mapping[str, bool]
    table: "pa.Table"
    _listed: dict[str, list[Label]] = field(default_factory=dict)
    _floats: dict[str, Floats] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    @property
    def numbers(self) -> list[str]:
        return [name for name, is_number in self.columns.items() if is_number]

    @property
    def labels(self) -> list[str]:
        return [name for name, is_number in self.columns.items() if not is_number]

    def listed(self, name: str) -> list[Label]:
        """The values of a column, as they are shown."""
        if name not in self._listed:
            self._listed[name] = [*map(_plain, self.table.column(name).to_pylist())]
        return self._listed[name]

    def floats(self, name: str) -> Floats:
        """The values of a number, nan where it is NULL or none."""
        if name not in self._floats:
            found = self.table.column(name).cast("float64").to_numpy(zero_copy_only=False)
            self._floats[name] = np.where(np.isfinite(found), found, np.nan)
        return self._floats[name]

    @cached_property
    def lines(self) -> NDArray[np.int64]:
        """The number of each line among those of the blocks, where it is one of a block."""
        return np.asarray(self.table.column(LINE).to_numpy(), np.int64)


@dataclass(frozen=True)
class Result:
    """What a public half makes: a row for each of its numbers, line by line."""

    evaluated: Evaluated
    row: Callable[[str, int], Row]
    """Of a number, by its name and its line."""
    notes: tuple[str, ...]
    shown: Callable[[], ShownColumns | None] = lambda: None
    """All rows by columns, where they are alike."""

    @property
    def columns(self) -> Mapping[str, bool]:
        return self.evaluated.columns


@dataclass(frozen=True, eq=False)
class ResultRows(LazyRows):
    """The rows of a result, made when they are looked at. A line without numbers has one row, which only has labels."""

    result: Result
    where: Region

    def __len__(self) -> int:
        return self.result.evaluated.count * max(len(self.result.evaluated.numbers), 1)

    def shown(self) -> ShownColumns | None:
        return self.result.shown()

    def at(self, place: int) -> Row:
        found = self.result.evaluated
        line, column = divmod(place, max(len(found.numbers), 1))
        if found.numbers:
            return self.result.row(found.numbers[column], line)
        labels = tuple(label_text(found.listed(name)[line]) for name in found.labels)
        return Row(labels, "", None, None, None, "derived", self.where, self.where, line=line)


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
    desks: Mapping[str, Desk] = field(default_factory=dict)
    """Where its blocks are over several tables: what each is answered with, by the table's name."""

    def desk_of(self, block: Block) -> Desk:
        return self.desks.get(block.table, self.desk)

    def evaluated(self) -> Evaluated:
        """What the query makes of the noisy numbers, without intervals."""
        found = run_prepared(_prepared(self.statement, self.is_direct), self.tables())
        if found.num_rows > MOST_LINES:
            raise UnsupportedQuery(f"the answer has {found.num_rows:,} lines, and at most {MOST_LINES:,} are shown")
        names = [name for name in found.column_names if name != LINE]
        _require_showable(found, names)
        noisy = dict(zip(names, self._noisy(names), strict=True))
        columns = {name: noisy[name] and is_number(found.schema.field(name).type) for name in names}
        for name in (name for name, is_noisy in columns.items() if is_noisy):
            found = without_rounding(within(found, name, self.range_of(name)), name, self._added(found, name))
        return Evaluated(columns, found)

    def made(self) -> "pa.Table":
        """The lines that the query makes, as they come out."""
        return run_prepared(_prepared(self.statement, False), self.tables())

    def terms(self, name: str, names: Sequence[str]) -> dict[str, float] | None:
        """What a line's own numbers are multiplied with, where their sum is what the column shows."""
        if not self.is_direct:
            return None
        output = self.statement.public.selects[list(names).index(name)]
        return linear_terms(output.unalias(), [c.name for answer in self.answers for c in answer.numbers])

    def _added(self, found: "pa.Table", name: str) -> Floats | float:
        """How much is added up to each number of a column in all, where that is known."""
        terms = self.terms(name, found.column_names)
        if terms is None or len(self.answers) != 1:
            return 0.0
        answer = self.answers[0]
        places = np.asarray(found.column(LINE).to_numpy(), np.int64) - answer.start
        numbers = zip(answer.numbers, answer.values, strict=True)
        return sum(
            (abs(terms.get(column.name, 0.0)) * np.abs(values[places]) for column, values in numbers),
            start=np.full(len(places), abs(terms.get("", 0.0))),
        )

    @cached_property
    def lineage(self) -> Lineage:
        return lineage_of(self.statement, [answer.count for answer in self.answers])

    @property
    def candidates(self) -> int:
        """How many lines the chosen ones were chosen from, at most."""
        return max(sum(answer.count for answer in self.answers), 1)

    @cached_property
    def confidence_of_each(self) -> Fraction:
        """Of each interval: where lines are chosen, so that all hold at once."""
        return at_once(self.confidence, self.candidates) if self.lineage.is_chosen else self.confidence

    def range_of(self, name: str) -> Range:
        """Between what an output column lies, whatever the noise says."""
        return self._ranges.get(name.lower(), ANY)

    @cached_property
    def _ranges(self) -> Mapping[str, Range]:
        scope = {
            one.name.lower(): Ranges(dict.fromkeys(map(str.lower, one.columns), ANY), len(one.lines))
            for one in self.statement.lookups
        }
        for answer in self.answers:
            columns: dict[str, Range] = {}
            for column in answer.block.question.columns:
                if isinstance(column, GroupColumn):
                    columns |= {column.name.lower(): ANY, f"{column.name}_code".lower(): ANY}
            columns |= {column.name.lower(): self.range_of_number(answer, column) for column in answer.numbers}
            scope[answer.block.name.lower()] = Ranges(columns | {LINE: ANY}, answer.count)
        return ranges(self.statement.public, scope).columns

    def range_of_number(self, answer: BlockAnswer, column: AggregateColumn) -> Range:
        """Between what the domain has a number of a block."""
        domain = self.desk_of(answer.block).domain
        match column.query:
            case Mean(of=of):
                low, high = value_range(of, domain)
                return Range(float(low), float(high))
            case Quantile(of=str() as of) if isinstance(domain[of], Integer):
                low, high = value_range(of, domain)
                return Range(float(low), float(high))
            case Distinct() as query:
                return Range(0.0, most_values(query, query.where, domain))
            case Count() as query:
                return Range(is_amount=True, quantities=self._comparable(query))
            case Sum(of=of) as query:
                is_amount = value_range(of, domain)[0] >= 0
                return Range(is_amount=is_amount, quantities=self._comparable(query))
            case People():
                return Range(is_amount=True)
            case ProfileSum(least=least):
                return Range(is_amount=least >= 0)
        return ANY

    def _comparable(self, query: Count | Sum) -> tuple[Count | Sum, ...]:
        """What tells that a number is a part of another one. Those of different tables are parts of nothing."""
        return () if self.desks else (query,)

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

    def tables(self) -> dict[str, "pa.Table"]:
        read = _named(self.statement)
        found = {answer.block.name: self.table(answer, answer.values, read) for answer in self.answers}
        return found | self.lookups

    @cached_property
    def lookups(self) -> dict[str, "pa.Table"]:
        """The public tables that it reads beside the blocks."""
        import pyarrow as pa

        return {lookup.name: pa.table(dict(lookup.columns)) for lookup in self.statement.lookups}

    def table(
        self,
        answer: BlockAnswer,
        numbers: Sequence[Floats],
        named: frozenset[str] | None,
        draws: int | None = None,
    ) -> "pa.Table":
        """A block's table: its labels and their codes, where they are named, and its numbers; with `draws` once for
        each of them."""
        import pyarrow as pa

        times, by = draws or 1, answer.block.question.by
        columns: dict[str, Any] = {}
        for column in answer.block.question.columns:
            if isinstance(column, GroupColumn):
                codes = np.tile(answer.codes[:, by.index(column.attribute)], times)
                if named is None or column.name.lower() in named:
                    values = pa.array(group_values(column.attribute, self.desk_of(answer.block).domain))
                    columns[column.name] = values.take(pa.array(codes))
                if named is None or f"{column.name}_code".lower() in named:
                    columns[f"{column.name}_code"] = pa.array(codes)
        for column, found in zip(answer.numbers, numbers, strict=True):
            columns[column.name] = pa.array(found.reshape(-1), pa.float64(), from_pandas=True)
        lines = np.arange(answer.start, answer.start + answer.count, dtype=np.int32)
        columns[LINE] = pa.array(np.tile(lines, times))
        if draws is not None:
            columns[DRAW] = pa.array(np.repeat(np.arange(draws, dtype=np.int16), answer.count))
        return pa.table(columns)


def columns_read(tree: exp.Query) -> frozenset[str] | None:
    """The names of all columns that a query reads, in lower case; None where it reads all."""
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if next(stars, None) is not None:
        return None
    return frozenset(column.name.lower() for column in tree.find_all(exp.Column))


@lru_cache(REMEMBERED)
def _named(statement: Statement) -> frozenset[str] | None:
    return columns_read(statement.public)


def _require_showable(found: "pa.Table", names: Sequence[str]) -> None:
    """Raise where two columns have one name, or one holds what no cell of a table shows."""
    import pyarrow.types as types

    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UnsupportedQuery(f"two columns are called {twice}; name them apart, as in … AS {twice}_2")
    for name in names:
        kind = found.schema.field(name).type
        if types.is_nested(kind) or types.is_interval(kind) or types.is_duration(kind) or types.is_binary(kind):
            raise UnsupportedQuery(f"{name} is no single text, number or date; write its parts as columns of their own")


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
    return lineage(statement.public, noise_of(statement.blocks, statement.lookups, lines))


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


def is_number(kind: Any) -> bool:
    """Whether the values of a type are numbers."""
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


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
