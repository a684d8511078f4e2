"""Tumult Analytics: sessions over Spark, here on the cores of one machine."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise

from bench.peers.workload import Question, Reply, Table, in_order

PACKAGE = "tmlt.analytics"
NOISE = "integers, exact"
BATCH = 2_000
BUDGET = "in memory"


def sampler(scale: int) -> Callable[[int], list[int]]:
    noise = AddGeometricNoise(scale)
    return lambda draws: [noise(0) for _ in range(draws)]


def session(table: Table, epsilon: float) -> Session:
    folder = Path(tempfile.mkdtemp(dir=os.environ["SPARK_LOCAL_DIRS"]))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{os.cpu_count()}]")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", str(os.cpu_count()))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    columns = {name: pa.array(table.rows[:, at].astype(np.int64)) for at, name in enumerate(table.names)}
    pq.write_table(pa.table(columns), folder / "people.parquet")
    frame = spark.read.parquet(str(folder / "people.parquet")).cache()
    frame.count()
    return Session.from_dataframe(PureDPBudget(epsilon), "people", frame, protected_change=AddOneRow())


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    asked = session(table, epsilon * (1 + 1e-9))
    share = PureDPBudget(epsilon / len(masks))

    def noisy(mask: int) -> NDArray[np.float64]:
        if not mask:
            return np.array(asked.evaluate(QueryBuilder("people").count(), share).toPandas()["count"][0])
        names = list(table.columns(mask))
        values = {name: list(range(size)) for name, size in zip(names, table.shape(mask), strict=True)}
        keys = KeySet.from_dict(values)
        frame = asked.evaluate(QueryBuilder("people").groupby(keys).count(), share).toPandas()
        return in_order(table, mask, frame[names].to_numpy(), frame["count"].to_numpy())

    return ((mask, noisy(mask)) for mask in masks)


def counts(table: Table, epsilon: float, many: int) -> Callable[[Question], Reply]:
    asked = session(table, epsilon * (1 + 1e-9))
    share = PureDPBudget(epsilon / many)

    def ask(question: Question) -> Reply:
        counted = QueryBuilder("people").filter(question.where).count()
        return Reply(int(asked.evaluate(counted, share).toPandas()["count"][0]))

    return ask
