"""Tumult Analytics, which takes no SQL: statements are put into its query builder as an analyst would by hand.

A block over the private table becomes a filter, a join with public tables, a map for each expression, keys from what is
public, and one query an aggregate; whatever is left is run by DuckDB over the results, as one would with Spark.
GROUPING SETS, and statistics that it has no query for, are not answered.
"""

import contextlib
import copy
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import prod
from typing import Any

import duckdb
import pandas as pd
import psycopg2
import sqlglot
from pyspark.sql import SparkSession
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer import optimize
from sqlglot.optimizer.merge_subqueries import merge_subqueries
from sqlglot.optimizer.qualify import qualify
from tmlt.analytics import AddMaxRows, AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

PACKAGE = "tmlt.analytics"
SPELLINGS = 1
EPSILON = 1000.0
MOST_POINTS = 20_000
"""Of the columns that an expression mentions: so many are looked at for its values."""
GRAIN = 100.0
"""Of what both tables have in bins."""
SPARK = {"integer": "int", "double precision": "double", "text": "string", "boolean": "int"}
"""It has no booleans: they are 1 and 0."""
MAPPED = {int: "INTEGER", float: "DECIMAL", str: "VARCHAR"}


def opened(schema: dict[str, Any], uri: str) -> Callable[[str, str], tuple[list[str], list[Any]]]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    settings = {"sql.shuffle.partitions": 1, "default.parallelism": 1, "ui.enabled": "false"}
    for key, value in {**settings, "sql.warehouse.dir": tempfile.mkdtemp(prefix="warehouse")}.items():
        builder = builder.config(f"spark.{key}", value)
    spark, frames = builder.getOrCreate(), {}
    with psycopg2.connect(uri) as connection, connection.cursor() as cursor:
        for table, about in schema.items():
            names = list(about["columns"])
            cursor.execute(f"SELECT {', '.join(names)} FROM {table}")
            types = ", ".join(f"{name} {SPARK[about['columns'][name]['type']]}" for name in names)
            rows = [[int(cell) if isinstance(cell, bool) else cell for cell in row] for row in cursor.fetchall()]
            frames[table] = spark.createDataFrame(rows, types).coalesce(1).cache()
    sessions = {}
    for table, about in schema.items():
        if about["private"]:
            change = AddOneRow() if about["id"] is None else AddMaxRows(about["max_rows"])
            budget = PureDPBudget(float("inf"))
            sessions[table] = Session.from_dataframe(budget, table, frames[table], protected_change=change)

    def ask(table: str, text: str) -> tuple[list[str], list[Any]]:
        tree = sqlglot.parse_one(text.replace("`", '"').rstrip("; \n"), read="duckdb")
        types = {one: {name: about["type"] for name, about in of["columns"].items()} for one, of in schema.items()}
        with contextlib.suppress(SqlglotError):  # blocks that only select rows are put into those around them
            tree = optimize(tree, types, rules=(qualify, merge_subqueries), dialect="duckdb")
        with duckdb.connect() as engine:
            found = _run(tree, Block(table, schema, frames, sessions[table], engine))
            return found.columns, found.fetchall()

    return ask


def _run(tree: exp.Expression, block: "Block") -> duckdb.DuckDBPyRelation:
    """Answer the blocks over the private table, and run the rest over what came out."""
    for select in [one for one in tree.find_all(exp.Select) if block.is_private(one)]:
        block.answer(select)
    return block.engine.sql(tree.sql("duckdb"))


class Block:
    """A table, and what blocks over it are answered with."""

    def __init__(self, table: str, schema: Any, frames: Any, session: Any, engine: Any) -> None:
        self.table, self.schema, self.frames, self.session, self.engine = table, schema, frames, session, engine
        self.answered = 0

    def is_private(self, select: exp.Select) -> bool:
        source = select.args.get("from_") or select.args.get("from")
        return source is not None and isinstance(source.this, exp.Table) and source.this.name.lower() == self.table

    def answer(self, select: exp.Select) -> None:
        """Answer a block, and make it a SELECT over the answers."""
        aggregates = [one for one in select.find_all(exp.AggFunc) if _is_own(one, select)]
        group = select.args.get("group")
        if not aggregates or (group and any(group.args.get(key) for key in ("rollup", "cube", "grouping_sets"))):
            raise NotImplementedError("a block that is no plain aggregation")
        base, columns = self._source(select)
        shown = {one.alias: one.unalias() for one in select.selects if one.alias}
        keys = [self._key(key, select, shown) for key in (group.expressions if group else [])]
        whole = [one.parent if isinstance(one.parent, exp.Filter) else one for one in aggregates]
        texts = list(dict.fromkeys(node.sql() for node in whole))
        results = [self._measured(base, keys, next(n for n in whole if n.sql() == text), columns) for text in texts]
        name = f"answers_{self.answered}"
        self.answered += 1
        joined = results[0].rename(columns={results[0].columns[-1]: "a0"})
        for place, result in enumerate(results[1:], 1):
            joined[f"a{place}"] = _aligned(result, joined, len(keys))
        self.engine.register(name, joined)
        places = {text: f"a{place}" for place, text in enumerate(texts)}
        places |= {key.sql(): f"k{place}" for place, key in enumerate(keys)}
        for projection in select.selects:
            if isinstance(projection, exp.Column):
                projection.replace(exp.alias_(projection.copy(), projection.name))
        for node in list(select.walk()):
            if node.sql() in places and not isinstance(node, exp.Select):
                node.replace(exp.column(places[node.sql()]))
        having = select.args.get("having")
        for clause in ("where", "group", "joins", "having"):
            select.set(clause, None)
        select.from_(name, copy=False)
        if having:
            select.where(having.this, copy=False)

    def _source(self, select: exp.Select) -> tuple[Any, dict[str, Any]]:
        query, columns = QueryBuilder(self.table), dict(self.schema[self.table]["columns"])
        for join in select.args.get("joins") or []:
            public, on = join.this.name, join.args.get("on")
            if not isinstance(on, exp.EQ):
                raise NotImplementedError("a join that is not by ON of one pair")
            names = {on.left.name, on.right.name}
            key = next(name for name in names if name in self.schema[public]["columns"])
            own = (names - {key} or {key}).pop()
            frame = self.frames[public].withColumnRenamed(key, own)
            query = query.join_public(frame, [own], how="left" if join.side == "LEFT" else "inner")
            columns |= self.schema[public]["columns"]
        for column in list(select.find_all(exp.Column)):
            column.set("table", None)
            if columns.get(column.name, {}).get("type") == "boolean":
                column.replace(exp.paren(exp.EQ(this=column.copy(), expression=exp.Literal.number(1))))
        where = select.args.get("where")
        if where and where.find(exp.Select):
            raise NotImplementedError("a sub-query in a condition")
        return (query.filter(where.this.sql("spark")) if where else query), columns

    def _key(self, key: exp.Expression, select: exp.Select, shown: dict[str, exp.Expression]) -> exp.Expression:
        if isinstance(key, exp.Literal):
            key = select.selects[int(key.this) - 1].unalias()
        return shown.get(key.name, key).copy() if isinstance(key, exp.Column) else key.copy()

    def _measured(self, base: Any, keys: list[exp.Expression], node: exp.Expression, columns: dict[str, Any]) -> Any:
        query, values = copy.copy(base), {}  # its methods change the builder itself
        for place, key in enumerate(keys):
            found = self._values(key, columns)
            values[f"k{place}"] = found.all
            query = _mapped(query, f"k{place}", found)
        if isinstance(node, exp.Filter):
            query, node = query.filter(node.expression.this.sql("spark")), node.this
        if keys:
            query = self._prepared(query, node, columns)
            return self._evaluated(query[0].groupby(KeySet.from_dict(values)), node, *query[1:])
        query = self._prepared(query, node, columns)
        return self._evaluated(*[query[0], node, *query[1:]])

    def _prepared(self, query: Any, node: exp.Expression, columns: dict[str, Any]) -> tuple[Any, str, Any, Any]:
        """The query with the aggregate's argument in a column x, and its bounds."""
        argument = node.this
        if isinstance(argument, exp.Distinct):
            return query, argument.expressions[0].name, None, None
        if argument is None or isinstance(argument, exp.Star):
            return query, "", None, None
        if isinstance(node, exp.Count):
            return query.filter(f"({argument.sql('spark')}) IS NOT NULL"), "", None, None
        found = self._values(argument, columns)
        values = [value for value in found.all if value is not None]
        if isinstance(node, exp.Sum | exp.Avg | exp.Stddev | exp.Variance) and not all(
            isinstance(value, int | float) for value in values
        ):
            raise NotImplementedError("no number")
        query = query.filter(f"({argument.sql('spark')}) IS NOT NULL")
        return _mapped(query, "x", found), "x", min(values), max(values)

    def _evaluated(self, query: Any, node: exp.Expression, name: str, low: Any, high: Any) -> Any:
        match node:
            case exp.Count() if isinstance(node.this, exp.Distinct):
                query = query.count_distinct([name])
            case exp.Count() | exp.CountIf():
                query = query.count()
            case exp.Sum():
                query = query.sum(name, low, high)
            case exp.Avg():
                query = query.average(name, low, high)
            case exp.Stddev() | exp.StddevSamp() | exp.StddevPop():
                query = query.stdev(name, low, high)
            case exp.Variance() | exp.VariancePop():
                query = query.variance(name, low, high)
            case exp.Median():
                query = query.median(name, low, high)
            case exp.Min():
                query = query.min(name, low, high)
            case exp.Max():
                query = query.max(name, low, high)
            case exp.Quantile():
                query = query.quantile(name, float(node.args["quantile"].this), low, high)
            case _:
                raise NotImplementedError(f"no query for {node.key}")
        return self.session.evaluate(query, PureDPBudget(EPSILON)).toPandas()

    def _values(self, expression: exp.Expression, columns: dict[str, Any]) -> "Values":
        """What an expression is, over the public values of the columns that it mentions, as a Python function."""
        names = sorted({column.name for column in expression.find_all(exp.Column)})
        lists = [_declared(columns[name]) for name in names]
        if prod(map(len, lists)) > MOST_POINTS:
            raise NotImplementedError("an expression of too many values")
        points = list(itertools.product(*lists))
        frame = pd.DataFrame(
            {name: [p[at] for p in points] for at, name in enumerate(names)} | {"one": [1] * len(points)}
        )
        self.engine.register("points", frame)
        found = self.engine.sql(f"SELECT TRY({expression.sql('duckdb')}) FROM points").fetchall()
        return Values(names, dict(zip(points, (_plain(value) for (value,) in found), strict=True)))


@dataclass(frozen=True)
class Values:
    """An expression's value at each point of the columns that it mentions."""

    names: list[str]
    at: dict[tuple[Any, ...], Any]

    @property
    def all(self) -> list[Any]:
        return list(dict.fromkeys(self.at.values()))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, date) else int(value) if isinstance(value, bool) else value


def _is_own(node: exp.AggFunc, select: exp.Select) -> bool:
    """Whether an aggregate is of this block, and not a window over others."""
    over = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    return (
        node.find_ancestor(exp.Select) is select
        and not isinstance(over, exp.Window)
        and not node.this.find(exp.AggFunc)
        if isinstance(node.this, exp.Expression)
        else node.find_ancestor(exp.Select) is select
    )


def _declared(about: dict[str, Any]) -> list[Any]:
    if about["type"] == "boolean":
        return [1, 0]
    if "values" in about:
        return [*about["values"], *[None] * about["nullable"]]
    if about["type"] == "double precision":
        return [GRAIN * step for step in range(int(about["lower"] // GRAIN), int(about["upper"] // GRAIN) + 1)]
    return list(range(about["lower"], about["upper"] + 1))


def _mapped(query: Any, name: str, values: Values) -> Any:
    kinds = {type(value) for value in values.all if value is not None} or {str}
    kind = float if kinds == {int, float} else kinds.pop()
    names, at = values.names, values.at

    def row_to(row: Any) -> dict[str, Any]:
        value = at[tuple(row[name] for name in names)]
        return {name: None if value is None else kind(value)}

    return query.map(row_to, new_column_types={name: MAPPED[kind]}, augment=True)


def _aligned(result: Any, joined: Any, keys: int) -> Any:
    """A result's numbers in the order of the first one's keys."""
    if not keys:
        return result.iloc[:, -1].to_numpy()
    names = [f"k{place}" for place in range(keys)]
    found = dict(zip(map(tuple, result[names].astype(str).to_numpy()), result.iloc[:, -1], strict=True))
    return [found[tuple(key)] for key in joined[names].astype(str).to_numpy()]
