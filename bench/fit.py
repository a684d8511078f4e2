"""`discreet domain fit` beside DuckDB handing out the same columns: what reading them takes, with nothing done."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from bench.figure import Figure, race
from discreet.demo.census import wide_census_domain_path, write_census
from discreet.domain.read import read_domain
from discreet.table.fit import fit_source
from discreet.table.open import open_source
from discreet.table.source import BATCH_ROWS

ROWS = 10**7
BAR = 1.5


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder, "people.parquet")
        write_census(people, ROWS)
        yield fit_figure(people, "read_parquet('{}')")
        lines = people.with_suffix(".csv")
        duckdb.sql(f"COPY (FROM '{people}') TO '{lines}'")
        yield fit_figure(lines, "read_csv('{}', all_varchar = true)")


def fit_figure(people: Path, reading: str) -> Figure:
    """A scan that hands out its columns, in batches as large as ours, against a fit of the same columns."""
    domain = read_domain(wide_census_domain_path())
    columns = ", ".join(f'"{name}"' for name in domain.names)
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")

    def ours() -> None:
        fit_source(open_source(people), domain)

    def theirs() -> None:
        for _ in connection.sql(f"SELECT {columns} FROM {reading.format(people)}").to_arrow_reader(BATCH_ROWS):
            pass

    fit, scan = race(ours, theirs, repeats=2)
    note = f"{ROWS:,} rows, {len(domain.attributes)} columns: {fit:.2f} s; DuckDB {scan:.2f} s"
    return Figure(f"domain fit of {people.suffix[1:]} / a bare DuckDB scan", fit / scan, BAR, "lower", "×", note)
