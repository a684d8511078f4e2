"""The snapshot: taking one beside DuckDB's reading of the same columns, its size, and counts beside bare memory."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

from bench.figure import Figure, race
from bench.foundation import state_home
from discreet.demo.census import wide_census_domain_path, write_census
from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.read import read_domain
from discreet.domain.region import Box, Region
from discreet.ledger.snapshot import SNAPSHOTS
from discreet.query.query import Count
from discreet.table.count import CodedRows, count

ROWS, MANY_ROWS = 10**7, 10**8
MEGABYTE = 10**6


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        people = Path(folder, "people.parquet")
        write_census(people, ROWS)
        yield from init_figures(people, Path(folder))
    yield count_figure()


def init_figures(people: Path, folder: Path) -> Iterator[Figure]:
    """`discreet init` in a process of its own, against DuckDB reading the columns as what the domain says."""
    domain = read_domain(wide_census_domain_path())
    columns = ", ".join(f'TRY_CAST("{a.name}" AS {_type_of(a)}) AS "{a.name}"' for a in domain.attributes)
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    peaks = []

    def ours() -> None:
        home = folder / f"vault{len(peaks)}"
        peaks.append(_init(people, home))

    def theirs() -> None:
        connection.execute(f"CREATE OR REPLACE TABLE cast_rows AS SELECT {columns} FROM read_parquet('{people}')")

    init, read = race(ours, theirs, repeats=3)
    shown = f"{ROWS:,} rows, {len(domain.attributes)} attributes: {init:.2f} s with its start; DuckDB {read:.2f} s"
    yield Figure("discreet init / DuckDB reading and casting", init / read, 2, "lower", "×", shown)
    snapshot = folder / "vault0" / SNAPSHOTS
    size = sum(file.stat().st_size for file in snapshot.rglob("*") if file.is_file()) / ROWS
    yield Figure(
        "snapshot, bytes a row", size, 12, "lower", "bytes", f"of {people.stat().st_size / ROWS:.1f} in Parquet"
    )
    yield Figure("init, peak memory", max(peaks), 1000, "lower", "MB", "of the whole process")


def _type_of(attribute: Attribute) -> str:
    return "BIGINT" if isinstance(attribute, Integer) else "DOUBLE" if isinstance(attribute, Bins) else "VARCHAR"


def _init(people: Path, home: Path) -> float:
    """Peak memory of the command, in MB."""
    # Not getrusage, which knows the peak of the process that this one was forked from.
    code = (
        "from discreet.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    arguments = ["init", str(home), "--table", str(people), "--domain", str(wide_census_domain_path())]
    arguments += ["--epsilon", "1", "--neighbours", "replace"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1]) * 1024 / MEGABYTE


def count_figure() -> Figure:
    """A count over two columns of 10^8 rows in memory, against the shortest that reads them: their largest codes."""
    domain = read_domain(wide_census_domain_path())
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, domain[name].size, MANY_ROWS, np.uint8) for name in ("age", "sex")}
    whole = domain.everything.boxes[0]
    low, high = list(whole.low), list(whole.high)
    low[domain.axis("age")], high[domain.axis("age")] = 2, 5
    high[domain.axis("sex")] = 0
    query = Count(Region((Box(tuple(low), tuple(high)),)))
    rows = CodedRows(domain, MANY_ROWS, columns.__getitem__, columns.__getitem__)
    ours, theirs = race(lambda: count([query], rows), lambda: [column.max() for column in columns.values()], repeats=5)
    note = f"{MANY_ROWS:,} rows, a range and a value: {1e3 * ours:.0f} ms; reading both columns {1e3 * theirs:.0f} ms"
    return Figure("a count / reading its columns from memory", ours / theirs, 2, "lower", "×", note)
