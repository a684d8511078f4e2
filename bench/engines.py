"""Rows read live in Postgres and in Spark, against the same GROUP BY written by hand in psql and spark-sql."""

import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from bench.figure import Figure
from bench.postgres import Postgres, serving
from discreet.demo.census import census_domain_path, write_census
from discreet.domain.read import parse_domain
from discreet.ledger.snapshot import SnapshotId
from discreet.query.query import Count
from discreet.table.live import LiveTable, live_digest
from discreet.table.open import open_source

PEOPLE = 1_000_000
ROUNDS = 7
MARGINALS = (("sex",), ("age", "sex"), ("region", "education", "occupation"), ("sex", "income"))
DOMAIN = parse_domain(census_domain_path().read_text())


def _one_of(name: str, or_missing: bool) -> str:
    listed = ", ".join(f"'{value}'" for value in DOMAIN[name].labels[: DOMAIN[name].cells])
    return f"({name} IN ({listed}){f' OR {name} IS NULL' if or_missing else ''})"


# Who has a code in every attribute, as one would write it by hand.
POPULATION = (
    f"age IS NOT NULL AND {_one_of('sex', True)} AND {_one_of('region', False)} AND {_one_of('education', True)}"
)


def _by_hand(by: tuple[str, ...]) -> str:
    """The same GROUP BY, as one would write it."""
    ends = enumerate(DOMAIN["income"].edges[1:-1])  # type: ignore[union-attr]
    classes = " ".join(f"WHEN income < {edge} THEN {code}" for code, edge in ends)
    income = f"CASE WHEN income IS NULL THEN -1 {classes} ELSE {DOMAIN['income'].cells - 1} END"
    keys = ", ".join(income if name == "income" else name for name in by)
    return f"SELECT {keys}, COUNT(*) FROM people WHERE {POPULATION} GROUP BY {keys}"


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.parquet"
        write_census(file, PEOPLE)
        with serving() as server:
            yield from _in_postgres(server, file)
        yield from _in_spark(file)


def _in_postgres(server: Postgres, file: Path) -> Iterator[Figure]:
    _load(server, file)
    table = _live(server.uri("people"))
    for by in MARGINALS:
        yield _compared("Postgres", "psql", by, table, lambda by=by: _seconds_in_psql(server, _by_hand(by)))


def _in_spark(file: Path) -> Iterator[Figure]:
    table = _live(f"spark+parquet:{file}")
    session = table.live.fresh().sparkSession  # type: ignore[attr-defined]
    session.read.parquet(str(file)).createOrReplaceTempView("people")
    for by in MARGINALS:
        yield _compared("Spark", "spark.sql", by, table, lambda by=by: _seconds(session.sql(_by_hand(by)).collect))
    session.stop()


def _live(uri: str) -> LiveTable:
    source, key = open_source(uri), bytes(32)
    assert source.live is not None
    table = LiveTable(SnapshotId(1, live_digest(source, DOMAIN, key, 1)), DOMAIN, source, source.live, key)
    table.require([])
    return table


def _compared(engine: str, peer: str, by: tuple[str, ...], table: LiveTable, by_hand: Callable[[], float]) -> Figure:
    """They take turns, the first turn does not count, and the medians are compared."""
    query = Count(table.domain.everything, by)
    turns = [(_seconds(lambda: table.evaluate([query])), by_hand()) for _ in range(ROUNDS + 2)][2:]
    ours, theirs = (statistics.median(times) for times in zip(*turns, strict=True))
    note = f"{PEOPLE:,} rows: {1e3 * ours:.0f} ms, {peer} {1e3 * theirs:.0f} ms"
    return Figure(f"{engine}: marginal of {', '.join(by)} / GROUP BY in {peer}", ours / theirs, 1.5, "lower", "×", note)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _seconds_in_psql(server: Postgres, sql: str) -> float:
    """What psql says of the second of two runs: its own start is not in it."""
    printed = server.psql(f"\\o /dev/null\n{sql};\n\\timing on\n{sql};\n")
    [milliseconds] = re.findall(r"Time: ([\d.]+) ms", printed)
    return float(milliseconds) / 1e3


def _load(server: Postgres, file: Path) -> None:
    columns = "age smallint, sex text, region text, education text, occupation text, income integer"
    names = [column.split()[0] for column in columns.split(", ")]
    with server.connect() as session:
        session.execute(f"CREATE TABLE people ({columns})")
        with session.cursor().copy("COPY people FROM STDIN") as copy:
            for batch in pq.ParquetFile(file).iter_batches(columns=names):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row(row)
    server.execute("VACUUM ANALYZE people")
