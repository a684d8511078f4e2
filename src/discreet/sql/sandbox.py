"""The sandbox: DuckDB over public tables and noisy answers, never over rows.

A connection of its own without files, network, extensions or settings, with bounded memory and time. What it runs was
checked node by node against the allow-lists below: pure scalar functions, aggregates and windows, over tables that it
is handed. What can fail on some values is NULL there: a division by 0, a cast, the root of a negative number.
"""

import math
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.syntax import place_of, refused
from discreet.sql.tokens import shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SECONDS = 10.0
"""A statement that takes longer is stopped."""
SHORT = 1_000_000
"""Joined in every way that there is, so many lines take far less: nobody needs to watch."""
MEMORY = "256MB"
MOST_NODES = 20_000
DEEPEST = 100
"""Nodes of a tree above one another."""
LONGEST_TEXT = 1 << 16
"""Characters of a text that a statement makes, as far as can be told before."""
ORDINARY_TEXT = 64.0
"""Characters of a text that a column has."""
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
    *(exp.Grouping,),
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
        "INTERVAL",
    }
)
SUPPORTED = "scalar functions, aggregates and windows whose value depends on their arguments alone"
SYSTEM = ("duckdb_", "pragma_", "sqlite_", "pg_", "information_schema")

FRAGILE = (exp.DateFromParts, exp.DateTrunc, exp.TimestampTrunc, exp.StrToTime, exp.StrToDate, exp.Anonymous)
"""Functions that fail on some values."""


def run(tree: exp.Expression, tables: Mapping[str, "pa.Table"], seconds: float = SECONDS) -> "pa.Table":
    """The result of a query over these tables alone. A statement that is not on the allow-lists, or takes longer,
    raises UnsupportedQuery; its words depend on the statement and the tables."""
    return run_prepared(prepare(tree, tables), tables, seconds)


@dataclass(frozen=True)
class Prepared:
    """A query that was checked, as text; and the tables that it reads, each as often as it does."""

    text: str
    reads: tuple[str, ...]


def prepare(tree: exp.Expression, tables: Collection[str]) -> Prepared:
    """Check a query over such tables."""
    check(tree, tables)
    reads = tuple(table.name.lower() for table in tree.find_all(exp.Table) if table.name.lower() in tables)
    return Prepared(total(tree).sql("duckdb", comments=False), reads)


def run_prepared(query: Prepared, tables: Mapping[str, "pa.Table"], seconds: float = SECONDS) -> "pa.Table":
    """The result of a query that was prepared for tables of these names."""
    import duckdb

    connection = _database().cursor()
    stop = threading.Timer(seconds, connection.interrupt)
    if prod(max(tables[name].num_rows, 1) for name in query.reads) > SHORT:
        stop.start()
    try:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(query.text).to_arrow_table()
    except duckdb.InterruptException:
        raise UnsupportedQuery(f"the statement takes longer than {seconds:g} seconds; ask for less at once") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise UnsupportedQuery(f"the statement takes more than {MEMORY} of memory; ask for less at once") from None
    except duckdb.Error as error:
        raise UnsupportedQuery(f"the statement cannot be evaluated: {_first_line(error)}") from None
    finally:
        stop.cancel()
        connection.close()


@lru_cache(1)
def _database() -> "duckdb.DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(SETTINGS))
    connection.execute("SET lock_configuration = true")
    return connection


def _first_line(error: Exception) -> str:
    kind, _, words = str(error).partition("\n")[0].partition(": ")
    return (words or kind)[:200]


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
    _check_texts(tree)


def _check_node(node: exp.Expression, named: Collection[str]) -> None:
    match node:
        case exp.With() if node.recursive:
            raise UnsupportedQuery(
                f"WITH RECURSIVE is not supported{place_of(node)}; write each step as a WITH of its own"
            )
        case exp.Table():
            _check_table(node, named)
        case exp.Anonymous() if str(node.this).lower() not in NAMED:
            raise refused(node, SUPPORTED)
        case exp.Anonymous():
            return
        case exp.DataType() if node.this.name not in TYPES:
            raise UnsupportedQuery(
                f"the type {shown(node.sql())} is not supported{place_of(node)}; supported: {', '.join(sorted(TYPES))}"
            )
        case exp.Lateral() if not isinstance(node.this, exp.Subquery):
            raise refused(node.this, "LATERAL (SELECT …)")
    if type(node) not in ALLOWED:
        raise refused(node, SUPPORTED)


def _check_texts(tree: exp.Expression) -> None:
    """Refuse texts that may grow beyond measure: the engine makes those of many lines at once, whatever its limit."""
    inner = [query for query in tree.find_all(exp.Query) if query is not tree]
    longest = float(prod([_longest_text(query) / ORDINARY_TEXT for query in inner])) * _longest_text(tree)
    if longest > LONGEST_TEXT:
        raise UnsupportedQuery(
            f"texts of this statement may grow to {longest:,.0f} characters, and at most {LONGEST_TEXT:,} are made; put"
            " shorter ones together, or in their place"
        )


def _longest_text(node: exp.Expression) -> float:
    """How long the texts of an expression may be, or those of a query without the queries in it."""
    if isinstance(node, exp.Literal):
        return float(len(node.this)) if node.is_string else 1.0
    parts = [_longest_text(part) for part in node.iter_expressions() if not isinstance(part, exp.Query)]
    match node:
        case exp.DPipe() | exp.Concat() | exp.ConcatWs():
            return max(sum(parts), 1.0)
        case exp.Replace() | exp.RegexpReplace():
            text, new = node.this, node.args.get("replacement") or exp.Literal.string("")
            # What a pattern found may come again in what is put in its place: \1, or a column that says so.
            is_plain = isinstance(node, exp.Replace) or (isinstance(new, exp.Literal) and "\\" not in new.this)
            longest = _longest_text(text) + 1
            return longest * max(_longest_text(new), 1.0) * (1.0 if is_plain else longest)
    return max([*parts, 1.0 if isinstance(node, exp.Identifier | exp.DataType) else ORDINARY_TEXT])


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
    return tree.copy().transform(_total, copy=False)


def _total(node: exp.Expression) -> exp.Expression:
    match node:
        case exp.Div() | exp.Mod() | exp.IntDiv():
            node.set("expression", _not_zero(node.expression))
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
        case _ if isinstance(node, FRAGILE) and not isinstance(node.parent, _Try) and not _is_of_groups(node):
            return _Try(this=node.copy())
    return node


class _Try(exp.Func):  # type: ignore[misc]
    """DuckDB's TRY: NULL where its argument fails."""

    _sql_names = ("TRY",)


def _is_of_groups(node: exp.Expression) -> bool:
    """Whether aggregates, windows or sub-queries stand in it, which TRY does not take."""
    return isinstance(node.parent, exp.Window | exp.Filter) or node.find(exp.AggFunc, exp.Window, exp.Query) is not None


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
