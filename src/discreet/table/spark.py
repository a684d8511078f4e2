"""Tables in Spark: Parquet files, or what a cluster's catalogue names."""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pyarrow as pa

from discreet.errors import DiscreetError, TableError
from discreet.table.live import Counter, Parts, changed
from discreet.table.paths import files_of
from discreet.table.source import Source, Told
from discreet.table.types import CAST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARQUET, CLUSTER = "spark+parquet:", "spark://"
FORM = "spark://HOST:PORT?table=NAME"
TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""As Spark calls them, and as they arrive."""
PIECE = "query int, cell bigint, high bigint, low bigint"


def locate_spark(uri: str) -> str:
    """The location that a vault keeps; paths on this machine are absolute."""
    path = uri.removeprefix(PARQUET)
    return uri if path == uri or _is_remote(path) else PARQUET + str(Path(path).absolute())


def open_spark(uri: str) -> Source:
    """Open `spark+parquet:/data/people/*.parquet`, or a table that a cluster knows: `spark://host:7077?table=people`."""
    return _open_parquet(uri) if uri.startswith(PARQUET) else _open_catalogue(uri)


def source_of_frame(location: str, fresh: "Callable[[], DataFrame]", is_plain: bool = False) -> Source:
    """What a Spark frame holds. A fresh one lists its files anew; those of a plain table say when it changes."""
    _use_own_python()
    frame = fresh()
    columns: dict[str, pa.DataType] = {}
    unread: dict[str, str] = {}
    for name, kind in frame.dtypes:
        if kind in TYPES or kind.startswith("decimal"):
            columns[name] = TYPES.get(kind, pa.decimal128(38, 0))
        else:
            unread[name] = f"{kind.partition('<')[0]} in Spark, {CAST}"
    if len(columns) + len(unread) < len(frame.columns):
        raise TableError("two columns have one name; give each column a name of its own")

    def read(names: Sequence[str], _told: Told) -> Iterator[pa.RecordBatch]:
        with _in_words_of("the table cannot be read; is it still there, and have you the right to read it?"):
            packed = _selected(frame, names).mapInArrow(_packing(), "batch binary")
            for row in packed.toLocalIterator(prefetchPartitions=True):
                with pa.ipc.open_stream(bytes(row[0])) as stream:
                    yield from (batch.rename_columns(list(names)) for batch in stream)

    return Source(location, columns, read, unread=unread, live=LiveSpark(fresh) if is_plain else None)


def _selected(frame: "DataFrame", names: Sequence[str]) -> "DataFrame":
    """Some columns, by number: what Spark hands to its workers may have no dots and backticks in its names."""
    chosen = frame.select(*(f"`{name.replace('`', '``')}`" for name in names))
    return chosen.toDF(*(f"c{place}" for place, _ in enumerate(names)))


def _packing() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Makes one value of a batch of rows: the driver takes them over one by one, and no row becomes a Python object.

    A function inside a function is sent to the workers as it is: there, nothing of ours need be installed.
    """

    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["batch"])

    return packed


def _use_own_python() -> None:
    """Workers on this machine run the Python of this process, which has what they need, unless somebody chose one."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None and str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


@dataclass
class LiveSpark:
    """Rows of Parquet files, counted by Spark's own workers. Files say by name, size and time whether they changed."""

    fresh: "Callable[[], DataFrame]"

    def digest(self, names: Sequence[str], key: bytes) -> str:  # noqa: ARG002 (files change as a whole)
        """A keyed hash of the files that the table is made of: their names, sizes and times."""
        with _in_words_of("the table's files cannot be listed; is it made of Parquet files, and are they there?"):
            about = ("_metadata.file_path", "_metadata.file_size", "_metadata.file_modification_time")
            found = self.fresh().select(*about)
            files = sorted(repr(tuple(row)) for row in found.distinct().collect())
        return hashlib.blake2b(repr(files).encode(), key=key, digest_size=32).hexdigest()

    def parts(self, count: Counter, names: Sequence[str], key: bytes, digest: str) -> Iterator[list[Parts]]:
        with _in_words_of("the table cannot be read; is it still there, and have you the right to read it?"):
            read = list(count.types) or list(names[:1])
            pieces = _selected(self.fresh(), read).mapInArrow(_Counting(count, read), PIECE)
            added = pieces.groupBy("query", "cell").agg({"high": "sum", "low": "sum"}).toArrow()
            columns = {name: added.column(name).to_numpy().astype(np.int64) for name in added.column_names}
        if self.digest(names, key) != digest:
            raise changed()
        query = columns["query"]
        chosen = [query == place for place in range(len(count.queries))]
        yield [(columns["cell"][it], columns["sum(high)"][it], columns["sum(low)"][it]) for it in chosen]


@dataclass(frozen=True)
class _Counting:
    """What a worker of Spark does with the rows of its partition."""

    count: Counter
    names: list[str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place, (cells, high, low) in enumerate(self.count(batch.rename_columns(self.names))):
                query = np.full(cells.size, place, np.int32)
                yield pa.RecordBatch.from_arrays(
                    list(map(pa.array, (query, cells, high, low))), ["query", "cell", "high", "low"]
                )


def _open_parquet(uri: str) -> Source:
    path = uri.removeprefix(PARQUET)
    if Path(path).is_dir():  # what Spark writes as one table
        path = f"{path}/*.parquet"
    session = _connect(None)

    def fresh() -> "DataFrame":
        # Spark would expand a name that looks like a pattern.
        files = [path] if _is_remote(path) else [re.sub(r"([\\[\]{}*?])", r"\\\1", file) for file in files_of(path)]
        with _in_words_of(f"{path} cannot be read as Parquet; is it there, and whole?"):
            read: DataFrame = session.read.parquet(*files)
            return read

    return source_of_frame(locate_spark(uri), fresh, is_plain=True)


def _open_catalogue(uri: str) -> Source:
    try:
        parts = urlsplit(uri)
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise TableError(f"a table in Spark is {FORM}") from None
    if set(options) != {"table"} or not parts.netloc or "@" in parts.netloc or parts.path not in ("", "/"):
        raise TableError(f"a table in Spark is {FORM}")
    session = _connect(f"{CLUSTER}{parts.netloc}")
    name = options["table"]
    missing = f"Spark's catalogue has no table {name} that can be read; name another, or DATABASE.TABLE"

    def fresh() -> "DataFrame":
        with _in_words_of(missing):
            session.catalog.refreshTable(name)
            read: DataFrame = session.table(name)
            return read

    with _in_words_of(missing):
        is_plain = session.catalog.getTable(name).tableType in ("MANAGED", "EXTERNAL")
    return source_of_frame(uri, fresh, is_plain)


def _is_remote(path: str) -> bool:
    return "://" in path


def _connect(master: str | None) -> Any:
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
    return shared.newSession()


def _require_spark_and_java() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise TableError("a table in Spark needs PySpark: pip install 'discreet[spark]'") from None
    java = Path(os.environ.get("JAVA_HOME", "/nowhere")) / "bin" / "java"
    if not java.is_file() and shutil.which("java") is None:
        raise TableError(
            "Spark needs Java 17, and there is no `java` here: install it (on Debian: apt install "
            "openjdk-17-jre-headless), or set JAVA_HOME"
        )


@contextmanager
def _in_words_of(message: str) -> Iterator[None]:
    """Spark fails with exceptions of Java, of its bridge and of its own, and all of them may quote rows."""
    try:
        yield
    except DiscreetError:
        raise
    except Exception:
        raise TableError(message) from None
