"""Tables in Spark: Parquet files, or what a cluster's catalogue names. Rows stay there; answers come back."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import ibis
import numpy as np
import pyarrow as pa

from discreet.errors import TableError
from discreet.table.dialect import SPARK, Dialect
from discreet.table.engine import Array, Source, failed
from discreet.table.files import contents_of, hash_files, stamp_of
from discreet.table.recognise import hash_rows
from discreet.table.watch import Told, watching

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import DataFrame, SparkSession

PARQUET, CLUSTER = "spark+parquet:", "spark://"
FORM = "spark://HOST:PORT?table=NAME"
SOURCE = "source"
JOB_GROUP = "spark.jobGroup.id"


@dataclass(frozen=True)
class SparkEngine:
    """A Spark session, behind Ibis. Threads may share it."""

    backend: Any = field(repr=False)
    dialect: Dialect = SPARK
    copies: bool = False

    def compile(self, rows: Any) -> str:
        return str(self.backend.compile(rows))

    def run(self, sql: str, told: Told | None = None) -> list[Array]:
        with _in_our_words(), self._watched(told):
            answer = self._frame(sql).toArrow()
            return [column.to_numpy().astype(np.int64, copy=False) for column in answer.columns]

    def stream(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """One of Spark's partitions is in this process at a time."""
        with _in_our_words():
            frame, rows = self._frame(sql), []
            for row in frame.toLocalIterator():
                rows.append(tuple(row))
                if len(rows) == batch_rows:
                    yield _batch(rows, frame.columns)
                    rows = []
            if rows:
                yield _batch(rows, frame.columns)

    @contextmanager
    def _watched(self, told: Told | None) -> Iterator[None]:
        """Spark knows how many tasks each job of a group has, and how many of them are done."""
        if told is None:
            yield
            return
        context = self.backend._session.sparkContext
        group, before = f"discreet-{next(_groups)}", context.getLocalProperty(JOB_GROUP)
        context.setLocalProperty(JOB_GROUP, group)
        try:
            with watching(lambda: _share_of(context.statusTracker(), group), told):
                yield
        finally:
            context.setLocalProperty(JOB_GROUP, before)

    def _frame(self, sql: str) -> "DataFrame":
        session: SparkSession = self.backend._session
        return session.sql(sql)


_groups = count(1)


def _share_of(tracker: "StatusTracker", group: str) -> float | None:
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    begun = [stage for stage in stages if stage is not None and stage.numTasks]
    return sum(s.numCompletedTasks for s in begun) / sum(s.numTasks for s in begun) if begun else None


def is_spark(uri: str) -> bool:
    return uri.startswith((PARQUET, CLUSTER))


def locate_spark(uri: str) -> str:
    """The location that a vault keeps; paths on this machine are absolute."""
    path = uri.removeprefix(PARQUET)
    return uri if path == uri or _is_remote(path) else PARQUET + str(Path(path).absolute())


def open_spark(uri: str) -> Source:
    """Open `spark+parquet:/data/people/*.parquet`, or a table that a cluster knows: `spark://host:7077?table=people`."""
    return _open_parquet(uri) if uri.startswith(PARQUET) else _open_catalogue(uri)


def _open_parquet(uri: str) -> Source:
    """Files on this machine are recognised by their bytes; those elsewhere by their rows."""
    path = uri.removeprefix(PARQUET)
    if Path(path).is_dir():  # what Spark writes as one table
        path = f"{path}/*.parquet"
    files = [path] if _is_remote(path) else contents_of(path)
    engine = _connect(None)
    with _in_words_of(f"{path} cannot be read as Parquet; is it there, and whole?"):
        engine.backend._session.read.parquet(*files).createOrReplaceTempView(SOURCE)
        rows = engine.backend.table(SOURCE)
    if _is_remote(path):
        return _recognised_by_rows(locate_spark(uri), rows, engine)
    return Source(
        location=locate_spark(uri),
        rows=rows,
        engine=engine,
        fingerprint=lambda key, told=None: hash_files(contents_of(path), key, told),
        stamp=lambda: stamp_of(path),
    )


def _open_catalogue(uri: str) -> Source:
    try:
        parts = urlsplit(uri)
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise TableError(f"a table in Spark is {FORM}") from None
    if set(options) != {"table"} or not parts.netloc or "@" in parts.netloc or parts.path not in ("", "/"):
        raise TableError(f"a table in Spark is {FORM}")
    engine = _connect(f"{CLUSTER}{parts.netloc}")
    name = options["table"]
    with _in_words_of(f"Spark's catalogue has no table {name} that can be read; name another, or DATABASE.TABLE"):
        engine.backend._session.table(name).createOrReplaceTempView(SOURCE)
        rows = engine.backend.table(SOURCE)
    return _recognised_by_rows(uri, rows, engine)


def _recognised_by_rows(location: str, rows: Any, engine: SparkEngine) -> Source:
    columns = repr(list(rows.schema().items()))
    return Source(
        location=location,
        rows=rows,
        engine=engine,
        fingerprint=lambda key, told=None: hash_rows(engine, [SOURCE], columns, key, told),
        stamp=lambda: None,
    )


def _is_remote(path: str) -> bool:
    return "://" in path


def _connect(master: str | None) -> SparkEngine:
    """A session of our own settings, in the Spark that this process has, or else in a new one."""
    _require_spark_and_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("discreet").config("spark.ui.enabled", "false")
    if master is not None:
        builder = builder.master(master)
    elif "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has chosen a master already
        builder = builder.master("local[*]")
    with _in_words_of(f"Spark cannot be started{f' at {master}' if master else ''}; is it Java 17, and is it running?"):
        shared = builder.getOrCreate()
        found = shared.sparkContext.master
    if master not in (None, found):
        raise TableError(f"this process has a Spark at {found} already, and there can be only one; stop it first")
    shared.sparkContext.setLogLevel("OFF")  # it would quote rows
    session = shared.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    return SparkEngine(ibis.pyspark.connect(session))


def _require_spark_and_java() -> None:
    try:
        import ibis.backends.pyspark  # noqa: F401
    except ImportError:
        raise TableError("a table in Spark needs PySpark: pip install 'discreet[spark]'") from None
    java = Path(os.environ.get("JAVA_HOME", "/nowhere")) / "bin" / "java"
    if not java.is_file() and shutil.which("java") is None:
        raise TableError(
            "Spark needs Java 17, and there is no `java` here: install it (on Debian: apt install "
            "openjdk-17-jre-headless), or set JAVA_HOME"
        )


def _batch(rows: list[tuple[int, ...]], names: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(column, pa.int64()) for column in zip(*rows, strict=True)], names)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Spark fails with exceptions of Java, of its bridge and of its own, and all of them may quote rows."""
    try:
        yield
    except Exception:
        raise failed() from None


@contextmanager
def _in_words_of(message: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        raise TableError(message) from None
