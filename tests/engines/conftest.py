"""The sources that one suite runs on: files, frames, DuckDB, a Postgres that is started here, and a local Spark.

Where one is not installed its tests are skipped, with a line that says how to get it; where CI is set they fail.
"""

import datetime as dt
import decimal
import os
import shutil
import uuid
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.postgres import INSTALL, find_programs, serving

POSTGRES_TYPES = {
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.string(): "text",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}


def missing(what):
    if os.environ.get("CI"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def postgres():
    """One server for all tests."""
    if find_programs() is None:
        missing(INSTALL)
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def mortal_postgres(postgres):  # noqa: ARG001
    """Another one, that tests may restart."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def spark_installed():
    """Where Spark is."""
    try:
        import pyspark
    except ImportError:
        missing("PySpark is not here; install it: pip install 'discreet[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Spark needs Java 17; install it: apt install openjdk-17-jre-headless")
    with pytest.MonkeyPatch.context() as here:
        # No test runs long enough to win back what Java's optimising compiler and its parallel collector cost.
        here.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield Path(pyspark.__file__).parent


@pytest.fixture(scope="session")
def spark(spark_installed, tmp_path_factory):  # noqa: ARG001
    """One Spark for all tests: it takes ten seconds to start."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
    builder = SparkSession.builder.master("local[*]").config(map=settings)
    session = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def in_frame(request):  # noqa: ARG001
    return lambda table, folder: table  # noqa: ARG005


def in_parquet(request):  # noqa: ARG001
    def put(table, folder):
        path = folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(table, path)
        return str(path)

    return put


def in_duckdb(request):  # noqa: ARG001
    def put(table, folder):
        path = folder / f"{uuid.uuid4().hex}.duckdb"
        with duckdb.connect(path) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
        return str(path)

    return put


def in_postgres(request):
    server = request.getfixturevalue("postgres")

    def put(table, folder):  # noqa: ARG001
        name = f"t {uuid.uuid4().hex}"
        columns = ", ".join(f'"{quoted(field.name)}" {postgres_type(field.type)}' for field in table.schema)
        with server.connect() as session:
            session.execute(f'CREATE TABLE "{name}" ({columns})')
            with session.cursor() as cursor, cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row([str(v) if isinstance(v, decimal.Decimal | dt.date) else v for v in row])
        return server.uri(name)

    return put


def in_spark(request):
    request.getfixturevalue("spark")

    def put(table, folder):
        place = folder / uuid.uuid4().hex
        place.mkdir()
        half = table.num_rows // 2
        pq.write_table(table.slice(0, half), place / "a.parquet")
        pq.write_table(table.slice(half), place / "b.parquet")
        return f"spark+parquet:{place}/*.parquet"

    return put


def quoted(name):
    return name.replace('"', '""')


def postgres_type(kind):
    return "numeric" if pa.types.is_decimal(kind) else POSTGRES_TYPES[kind]


@pytest.fixture(
    params=[
        pytest.param(in_frame, id="frame"),
        pytest.param(in_parquet, id="parquet"),
        pytest.param(in_duckdb, id="duckdb"),
        pytest.param(in_postgres, id="postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param(in_spark, id="spark", marks=pytest.mark.xdist_group("spark")),
    ]
)
def engine(request):
    """Puts an Arrow table where one of the engines reads it, and says where that is."""
    return request.param(request)


@pytest.fixture(
    params=[
        pytest.param(in_postgres, id="postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param(in_spark, id="spark", marks=pytest.mark.xdist_group("spark")),
    ]
)
def live_engine(request):
    """The same, of those whose rows can stay where they are."""
    return request.param(request)
