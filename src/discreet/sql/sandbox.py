"""The sandbox: DuckDB over public tables and noisy answers, never over rows.

A connection of its own without files, network, extensions or settings, with bounded memory and time. What it runs was
checked node by node against the allow-lists below: pure scalar functions, aggregates and windows, over tables that it
is handed. What can fail on some values is NULL there: a division by 0, a cast, the root of a negative number.

What was checked is what is run. The text that the engine gets has no other words of the analyst's in it than names and
values, all of them quoted, and numbers; and the engine is given one SELECT, so that it keeps nothing for the next.
"""

import datetime as dt
import math
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.deadline import seconds_left, still_wanted
from discreet.errors import UnsupportedQuery
from discreet.sql.engine_words import in_our_words
from discreet.sql.syntax import NUMBER, place_of, refused
from discreet.sql.text_growth import LONGEST_LIST, check_texts
from discreet.sql.tokens import shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SECONDS = 10.0
"""A statement that takes longer is stopped."""
MEMORY = "256MB"
MOST_ROWS = 10_000_000
"""Lines of a result, which the engine's memory does not count: a number may be drawn for 100 times as many as are
shown."""
CALENDAR = (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59))
MOST_BYTES = 1 << 30
"""Of a result. Texts of the longest kind (`text_growth.py`) come to it in a few batches."""
BATCH = 1 << 11
"""Lines that are fetched at a time: the engine makes no fewer, and what it hands over is not in its memory's bound."""
MOST_NODES = 20_000
DEEPEST = 100
"""Nodes of a tree above one another."""
SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "memory_limit": MEMORY,
    "threads": "1",  # sums of floats come in one order, so that the same statement has the same answer
    "default_null_order": "NULLS_LAST",
}

STRUCTURE = (
    *(exp.Select, exp.Subquery, exp.With, exp.CTE, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Lateral),
    *(exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset),
    *(exp.GroupingSets, exp.Rollup, exp.Cube, exp.Distinct, exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup),
    *(exp.Table, exp.TableAlias, exp.Alias, exp.Identifier, exp.Column, exp.Star, exp.Paren, exp.Tuple),
    *(exp.Literal, exp.Boolean, exp.Null, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var),
    *(exp.IgnoreNulls, exp.RespectNulls),
)
"""What a statement is built of."""
OPERATORS = (
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Is, exp.In, exp.Between, exp.Exists, exp.Any, exp.All, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div),
    *(exp.IntDiv, exp.Mod, exp.Pow, exp.DPipe, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape, exp.RegexpLike),
    *(exp.RegexpFullMatch, exp.Case, exp.If, exp.Cast, exp.TryCast),
)
SCALARS = (
    *(exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.DecodeCase),
    *(exp.Abs, exp.Sign, exp.Ceil, exp.Floor, exp.Round, exp.Sqrt, exp.Cbrt, exp.Exp, exp.Ln, exp.Log),
    *(exp.Length, exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Left, exp.Right, exp.Replace, exp.Reverse),
    *(exp.Concat, exp.ConcatWs, exp.StrPosition, exp.SplitPart, exp.StartsWith, exp.EndsWith, exp.Contains),
    *(exp.RegexpExtract, exp.RegexpReplace, exp.Initcap, exp.Ascii, exp.Levenshtein),
    *(exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfWeek),
    *(exp.DayOfWeekIso, exp.DayOfYear, exp.Hour, exp.Minute, exp.Second, exp.Dayname, exp.Monthname, exp.LastDay),
    *(exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.DateAdd, exp.DateSub, exp.DateFromParts, exp.TsOrDsToDate),
    *(exp.TimeToStr, exp.StrToTime, exp.StrToDate),
)
AGGREGATES = (
    *(exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Quantile, exp.PercentileCont),
    *(exp.PercentileDisc, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr),
    *(exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount, exp.RegrAvgx),
    *(exp.RegrAvgy, exp.RegrSxx, exp.RegrSxy, exp.RegrSyy, exp.LogicalAnd, exp.LogicalOr, exp.ArgMax, exp.ArgMin),
    *(exp.Grouping, exp.GroupConcat),
)
WINDOWS = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.NthValue),
)
ALLOWED = frozenset({*STRUCTURE, *OPERATORS, *SCALARS, *AGGREGATES, *WINDOWS})
NAMED = frozenset(
    {
        "date_part",
        "datepart",
        "strftime",
        "make_date",
        "regexp_matches",
        "regexp_full_match",
        "prefix",
        "suffix",
        "ltrim",
        "rtrim",
        "strlen",
        "isnan",
        "isinf",
        "isfinite",
        "log2",
        "log10",
        "even",
        "pi",
        "degrees",
        "radians",
        "sin",
        "cos",
        "tan",
        "atan",
        "atan2",
        "gcd",
        "lcm",
        "dayname",
        "monthname",
        "century",
        "decade",
        "yearweek",
        "isodow",
        "isoyear",
        "epoch",
        "date_sub",
        "datesub",
        "date_diff",
        "datediff",
        "date_trunc",
        "datetrunc",
        "var_pop",
        "var_samp",
        "stddev_pop",
        "stddev_samp",
        "covar_pop",
        "covar_samp",
        "corr",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "bool_and",
        "bool_or",
        "product",
        "trunc",
        "instr",
        "translate",
    }
)
"""Functions that the parser knows by their names only."""
TYPES = frozenset(
    {
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "INT128",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "BOOLEAN",
        "VARCHAR",
        "TEXT",
        "CHAR",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMPNTZ",
        "INTERVAL",
    }
)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")
"""What is written into the query's text as it is: units of time, kinds of joins and frames."""
SUPPORTED = "scalar functions, aggregates and windows whose value depends on their arguments alone"
SYSTEM = ("duckdb_", "pragma_", "sqlite_", "pg_", "information_schema")

FRAGILE = (exp.DateFromParts, exp.DateTrunc, exp.TimestampTrunc, exp.StrToTime, exp.StrToDate, exp.Anonymous)
"""Functions that fail on some values."""
CALCULATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Neg)
FRAGILE_ON_COLUMNS = (
    *(*CALCULATIONS, exp.Abs, exp.Pow, exp.DateAdd, exp.DateSub),
    *(exp.Left, exp.Right, exp.Substring, exp.SplitPart, exp.RegexpLike, exp.RegexpFullMatch, exp.SimilarTo),
    *(exp.RegexpExtract, exp.RegexpReplace),
)
"""What fails where whole numbers or dates become too large, or a text is no pattern. Of constants it is refused before
anything is spent, and some have to stay constants: LIMIT 2 + 3."""


def run(tree: exp.Expression, tables: Mapping[str, "pa.Table"], seconds: float | None = None) -> "pa.Table":
    """The result of a query over these tables alone. A statement that is not on the allow-lists, or takes longer,
    raises UnsupportedQuery; its words depend on the statement and the tables."""
    return run_prepared(prepare(tree, tables), tables, seconds)


@dataclass(frozen=True)
class Prepared:
    """A query that was checked, as text."""

    text: str


def prepare(tree: exp.Expression, tables: Collection[str]) -> Prepared:
    """Check a query over such tables."""
    check(tree, tables)
    return Prepared(total(tree).sql("duckdb", comments=False, identify=True))


def run_prepared(query: Prepared, tables: Mapping[str, "pa.Table"], seconds: float | None = None) -> "pa.Table":
    """The result of a query that was prepared for tables of these names."""
    import duckdb
    import pyarrow as pa

    still_wanted()
    seconds = SECONDS if seconds is None else seconds
    try:
        with _alone(seconds_left(seconds)) as connection:
            for name, table in tables.items():
                connection.register(name, table)
            return _fetched(connection.sql(_one_select(connection.extract_statements(query.text))))
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
        raise _in_words(error, seconds) from None


@contextmanager
def _alone(seconds: float) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection for so long to a database that nobody else uses meanwhile: the bound of its memory is a database's,
    so that what others ask takes nothing away from it. One that was stopped, ran out of memory or failed by itself is
    not used again."""
    import duckdb

    of_the_statement = (duckdb.BinderException, duckdb.CatalogException, duckdb.ConversionException)
    try:
        database = _idle.pop()
    except IndexError:
        database = _database()
    connection = database.cursor()
    stop = threading.Timer(seconds, connection.interrupt)
    stop.start()
    try:
        yield connection
    except of_the_statement:
        _idle.append(database)
        raise
    finally:
        stop.cancel()
        connection.close()
    _idle.append(database)


def _in_words(error: Exception, seconds: float) -> UnsupportedQuery:
    """What the engine says, in our words. Once lines are on their way its errors come through Arrow's stream, which has
    kinds of its own for them: as OSError mostly, with the engine's words."""
    import duckdb

    words = str(error).partition("\n")[0]
    if isinstance(error, duckdb.InterruptException) or words.startswith("INTERRUPT"):
        still_wanted()
        return _for_now(f"the statement takes longer than {seconds:g} seconds; ask for less at once")
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or words.startswith(("Out of Memory", "malloc")):
        return _for_now(f"the statement takes more than {MEMORY} of memory; ask for less at once")
    if "string size" in words:  # of a batch, in Arrow's buffers
        return _too_wide()
    return UnsupportedQuery(in_our_words(words))


def _for_now(words: str) -> UnsupportedQuery:
    refusal = UnsupportedQuery(words)
    refusal.may_pass = True
    return refusal


def _too_wide() -> UnsupportedQuery:
    return UnsupportedQuery(f"the statement makes more than {MOST_BYTES >> 30} GB of lines; ask for less at once")


def _one_select(statements: "list[duckdb.Statement]") -> "duckdb.Statement":
    [statement] = statements
    assert statement.type.name == "SELECT", "nothing else is ever prepared"
    return statement


def _fetched(result: "duckdb.DuckDBPyRelation") -> "pa.Table":
    import pyarrow as pa

    reader, batches, rows, size = result.to_arrow_reader(BATCH), [], 0, 0
    for batch in reader:
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if size > MOST_BYTES:
            raise _too_wide()
        if rows > MOST_ROWS:
            raise UnsupportedQuery(f"the statement makes more than {MOST_ROWS:,} lines; ask for less at once")
        batches.append(batch)
    return _in_calendar(pa.Table.from_batches(batches, reader.schema))


def _in_calendar(table: "pa.Table") -> "pa.Table":
    """A result with NULL for days and moments that are in no year from 1 to 9999."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        is_moment = pa.types.is_timestamp(field.type) and field.type.unit != "ns"  # those reach from 1677 to 2262
        if pa.types.is_date(field.type) or is_moment:
            first, last = (pa.scalar(end, pa.timestamp("us")).cast(field.type) for end in CALENDAR)
            column = table.column(place)
            known = pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last))
            table = table.set_column(place, field, pc.if_else(known, column, pa.scalar(None, field.type)))
    return table


_idle: "list[duckdb.DuckDBPyConnection]" = []
"""Databases that no statement runs in."""


def _database() -> "duckdb.DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(SETTINGS))
    connection.execute("SET lock_configuration = true")
    return connection


def check(tree: exp.Expression, tables: Collection[str] = ()) -> None:
    """Refuse a tree with a node that is on no allow-list, at its line and column: before anything is run."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    named = own | {name.lower() for name in tables}
    if any(name.startswith(SYSTEM) for name in own):
        raise UnsupportedQuery("names that begin like the engine's own tables cannot be given; choose another")
    count, waiting = 0, [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > MOST_NODES or depth > DEEPEST:
            raise UnsupportedQuery("the statement is too long or nested too deeply; ask in parts")
        _check_node(node, named)
        waiting += [(child, depth + 1) for child in node.iter_expressions()]
    check_texts(tree)


def _check_node(node: exp.Expression, named: Collection[str]) -> None:
    _check_words(node)
    match node:
        case exp.With() if node.recursive:
            raise UnsupportedQuery(
                f"WITH RECURSIVE is not supported{place_of(node)}; write each step as a WITH of its own"
            )
        case exp.Table():
            _check_table(node, named)
        case exp.Anonymous():
            require_known(node)
            return
        case exp.DataType() if node.this.name not in TYPES:
            known = ", ".join(sorted(TYPES - {"TIMESTAMPNTZ"}))  # how the parser calls TIMESTAMP '…'
            raise UnsupportedQuery(f"the type {shown(node.sql())} is not supported{place_of(node)}; supported: {known}")
        case exp.Lateral() if not isinstance(node.this, exp.Subquery):
            raise refused(node.this, "LATERAL (SELECT …)")
        case exp.Window() if node.this.find(exp.GroupConcat):
            raise refused(node.this.find(exp.GroupConcat), "STRING_AGG(text, separator ORDER BY …), without OVER")
    require_known(node)


def require_known(node: exp.Expression) -> None:
    """Refuse a function, or another kind of node, that is on no allow-list."""
    is_known = str(node.this).lower() in NAMED if isinstance(node, exp.Anonymous) else type(node) in ALLOWED
    if not is_known:
        raise refused(node, SUPPORTED)


def _check_words(node: exp.Expression) -> None:
    """Refuse what would stand in the query's text as it was written: all but words, and names and values, which are
    quoted. The parser takes a quoted name for a unit of time: INTERVAL 1 "day"."""
    if isinstance(node, exp.Identifier) or (isinstance(node, exp.Literal) and node.is_string):
        return
    is_right = NUMBER if isinstance(node, exp.Literal) else WORD
    for text in (value for part in node.args.values() for value in (part if isinstance(part, list) else [part])):
        if isinstance(text, str) and not is_right.fullmatch(text):
            raise UnsupportedQuery(f"{shown(text)} is not understood here{place_of(node)}; supported: {SUPPORTED}")


def _check_table(node: exp.Table, named: Collection[str]) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise refused(node.this, "a table by its name")
    if node.args.get("db") or node.args.get("catalog") or node.name.lower() not in named:
        raise UnsupportedQuery(f"there is no table {shown(node.sql())}{place_of(node.this)}")
    if {part for part, value in node.args.items() if value} - {"this", "alias", "joins", "laterals"}:
        raise UnsupportedQuery(
            f"only a name and an alias can stand for the table {shown(node.name)}{place_of(node.this)}"
        )


def total(tree: exp.Expression) -> exp.Expression:
    """The same query with NULL where a value would make it fail."""
    root = tree.copy()
    for node in reversed(list(root.bfs())):  # what is inside comes first
        made = _total(node)
        if made is not node:
            root = made if node is root else root
            node.replace(made)
    return root


def _total(node: exp.Expression) -> exp.Expression:
    match node:
        case exp.Div() | exp.Mod() | exp.IntDiv():
            node.set("expression", _not_zero(node.expression))
        case exp.GroupConcat() if not isinstance(node.parent, exp.Filter):
            return _short(node)
        case exp.Filter(this=exp.GroupConcat()):
            return _short(node)
        case exp.Sqrt():
            node.set("this", _kept(node.this, exp.GTE))
        case exp.Ln():
            node.set("this", _kept(node.this, exp.GT))
        case exp.Log():
            part = "expression" if node.expression else "this"
            node.set(part, _kept(node.args[part], exp.GT))
        case exp.TryCast():
            pass
        case exp.Cast():
            return exp.TryCast(**node.args)
        case _ if _is_fragile(node) and not _is_of_groups(node) and not _is_tried_around(node):
            return _Try(this=node.copy())
    return node


def _short(joined: exp.Expression) -> exp.Expression:
    """A text that is put together of many lines, if it is no longer than what texts are taken to be."""
    length = exp.Length(this=joined.copy())
    is_short = exp.LTE(this=length, expression=exp.Literal.number(LONGEST_LIST))
    said = exp.Literal.string(f"(longer than {LONGEST_LIST:,} characters)")
    return exp.Case(ifs=[exp.If(this=exp.Not(this=exp.paren(is_short)), true=said)], default=joined.copy())


class _Try(exp.Func):  # type: ignore[misc]
    """DuckDB's TRY: NULL where its argument fails."""

    _sql_names = ("TRY",)


def _is_fragile(node: exp.Expression) -> bool:
    return isinstance(node, FRAGILE) or (isinstance(node, FRAGILE_ON_COLUMNS) and node.find(exp.Column) is not None)


def _is_of_groups(node: exp.Expression) -> bool:
    """Whether aggregates, windows or sub-queries stand in it, which TRY does not take."""
    return isinstance(node.parent, exp.Window | exp.Filter) or node.find(exp.AggFunc, exp.Window, exp.Query) is not None


def _is_tried_around(node: exp.Expression) -> bool:
    """Whether it is a part of a longer calculation that is tried as a whole: NULL in it is NULL of it."""
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return isinstance(node, CALCULATIONS) and isinstance(around, CALCULATIONS) and not _is_of_groups(around)


def _not_zero(divisor: exp.Expression) -> exp.Expression:
    if (
        isinstance(divisor, exp.Literal)
        and not divisor.is_string
        and math.isfinite(float(divisor.this))
        and float(divisor.this)
    ):
        return divisor
    return exp.Nullif(this=divisor.copy(), expression=exp.Literal.number(0))


def _kept(argument: exp.Expression, compare: Callable[..., exp.Expression]) -> exp.Expression:
    """The argument where it is above 0, else NULL."""
    holds = compare(this=exp.paren(argument.copy()), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=holds, true=argument.copy())])
