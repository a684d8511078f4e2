"""The engines that one suite runs on: DuckDB, a Postgres that is started here, and a local Spark.

Where one is not installed its tests are skipped, with a line that says how to get it; where CI is set they fail.
"""

import datetime as dt
import decimal
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PASSWORD = "p@ss/w:rd#1?"
POSTGRES_TYPES = {
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.string(): "text",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
}


def missing(what):
    if os.environ.get("CI"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@dataclass(frozen=True)
class Postgres:
    """A server of our own, on a free port of this machine."""

    port: int
    control: tuple[str | Path, ...] = ()
    """The command that starts and stops it, without the verb."""
    password: str = PASSWORD

    def restart(self):
        """Stop it as a crash would, and start it again."""
        run([*self.control, "-m", "immediate", "restart"], Path("/"))

    def uri(self, table, password=PASSWORD, **options):
        more = "".join(f"&{key}={value}" for key, value in options.items())
        return f"postgres://keeper:{quote(password, safe='')}@localhost:{self.port}/people?table={quote(table)}{more}"

    def ledger(self, name="people", port=None, user="keeper", password=PASSWORD):
        """Where a database of this server is; by another port for a detour to it."""
        return f"postgres://{user}:{quote(password, safe='')}@localhost:{port or self.port}/{name}"

    def connect(self):
        import psycopg

        return psycopg.connect(
            host="localhost", port=self.port, user="keeper", password=PASSWORD, dbname="people", autocommit=True
        )

    def execute(self, *statements):
        with self.connect() as session:
            for statement in statements:
                session.execute(statement)


@pytest.fixture(scope="session")
def postgres():
    """One server for all tests."""
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def mortal_postgres():
    """A server that tests may restart."""
    with serving() as server:
        yield server


@contextmanager
def serving():
    """Debian's server, started as the user `postgres` where we are root, since it refuses to run as root."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    initdb = found[0] if found else shutil.which("initdb")
    if initdb is None:
        missing("Postgres is not here; install it: apt install postgresql")
    programs, folder = Path(initdb).parent, Path(tempfile.mkdtemp(prefix="pg"))
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if become:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    (folder / "password").write_text(PASSWORD)
    if become:
        shutil.chown(folder / "password", "postgres")
    data = folder / "data"
    control = [*become, programs / "pg_ctl", "-D", data, "-s", "-w", "-l", folder / "log"]
    settings = f"-p {port} -k {folder} -c listen_addresses=localhost -c fsync=off"
    create = [programs / "initdb", "-D", data, "-U", "keeper", "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
    try:
        run([*become, *create, "--locale=C.UTF-8", f"--pwfile={folder / 'password'}"], folder)
        run([*control, "-o", settings, "start"], folder)
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        address = ["-h", "localhost", "-p", str(port), "-U", "keeper"]
        run([programs / "createdb", *address, "people"], folder, env=environment)
        yield Postgres(port, tuple(control))
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], cwd=folder, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def run(command, folder, **options):
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60, **options)


@pytest.fixture(scope="session")
def spark():
    """One Spark for all tests: it takes ten seconds to start."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("PySpark is not here; install it: pip install 'discreet[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Spark needs Java 17; install it: apt install openjdk-17-jre-headless")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
    builder = SparkSession.builder.master("local[*]").config(map=settings)
    session = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="warehouse")).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def in_duckdb(request):  # noqa: ARG001
    def put(table, folder):
        path = folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(table, path)
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
        pytest.param(in_duckdb, id="duckdb"),
        pytest.param(in_postgres, id="postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param(in_spark, id="spark", marks=pytest.mark.xdist_group("spark")),
    ]
)
def engine(request):
    """Puts an Arrow table where one of the engines reads it, and says where that is."""
    return request.param(request)
