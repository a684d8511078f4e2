"""Publishing buckets through a vault: beside DuckDB's own shuffle, at ten million rows, and what `similar` is worth.

The table has the eight columns of the seed's CENSUS with as many values; occupations have the frequencies of OCC.
Timings are of the whole way from Parquet to a folder of Parquet: the journal, recognising the table, coding, the
setting, dealing, writing, syncing, and checking the hashes of what was written.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.cube_publish import resident_bytes
from bench.figure import Figure, race
from discreet.microdata.check import check_buckets
from discreet.microdata.demand import Demand
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.settings import two_size_setting
from discreet.vault import Vault
from experiments.buckets.people import census_people
from experiments.buckets.relative import along, mean_errors, round_robin, sweep_keys
from experiments.buckets.setting import DEFAULT_THETA, MAX_SIZE, limits
from experiments.buckets.tables import frequencies

ROWS, MANY_ROWS = 500_000, 10_000_000
GROUP = 1_000_000
LIMITS = "min(1, 8*f + 0.02)"
# buckets, Table 5
SIZES = {
    "age": 76,
    "gender": 2,
    "education": 14,
    "marital": 6,
    "race": 9,
    "work_class": 10,
    "country": 83,
    "occupation": 50,
}


def figures() -> Iterator[Figure]:
    yield whole_job_figure()
    yield from many_rows_figures()
    yield similar_figure()


def write_people(path: Path, rows: int) -> None:
    """People by lot: ages as numbers, all else as text."""
    chance = np.random.default_rng(1)
    shares = {name: chance.dirichlet(np.ones(size)) for name, size in SIZES.items()}
    shares["occupation"] = frequencies("OCC") / frequencies("OCC").sum()
    words = {name: pa.array([f"{name} {value}" for value in range(size)]) for name, size in SIZES.items()}
    with pq.ParquetWriter(path, pa.schema([(n, pa.int32() if n == "age" else pa.string()) for n in SIZES])) as writer:
        for first in range(0, rows, GROUP):
            some = min(GROUP, rows - first)
            codes = {name: chance.choice(size, some, p=shares[name]) for name, size in SIZES.items()}
            columns = {n: pa.array(c.astype(np.int32)) if n == "age" else words[n].take(c) for n, c in codes.items()}
            writer.write_table(pa.table(columns))


def domain_text() -> str:
    lines = ['name = "people"', '[attributes.age]\nkind = "integer"\nlow = 0\nhigh = 75\nsource = "made up"']
    for name, size in SIZES.items():
        if name != "age":
            values = ", ".join(f'"{name} {value}"' for value in range(size))
            lines.append(f'[attributes.{name}]\nkind = "category"\nvalues = [{values}]\nsource = "made up"')
    return "\n".join(lines) + "\n"


def make_vault(folder: Path, rows: int) -> Vault:
    os.environ["XDG_STATE_HOME"] = str(folder)  # receipts of a vault that is gone in a minute
    write_people(folder / "people.parquet", rows)
    (folder / "people.toml").write_text(domain_text())
    table, domain = folder / "people.parquet", folder / "people.toml"
    return Vault.init(folder / "vault", table=table, domain=domain, epsilon=1, neighbours="replace")


def publish(vault: Vault, folder: Path) -> None:
    shutil.rmtree(folder / "buckets", ignore_errors=True)
    opened = Vault.open(vault.path)
    opened.buckets.publish(sensitive="occupation", limits=LIMITS, out=folder / "buckets", again=True)


def shuffle(folder: Path) -> None:
    """What DuckDB takes to read, shuffle and write the same table."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        rows = f"SELECT * FROM read_parquet('{folder}/people.parquet') ORDER BY random()"
        connection.execute(f"COPY ({rows}) TO '{folder}/shuffled.parquet' (FORMAT parquet, COMPRESSION zstd)")


def whole_job_figure() -> Figure:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vault = make_vault(folder, ROWS)
        ours, theirs = race(lambda: publish(vault, folder), lambda: shuffle(folder), repeats=5)
        assert check_buckets(folder / "buckets").holds
    note = f"{ours:.2f} s for {ROWS:,} rows × 8 columns; DuckDB's read, shuffle and write {theirs:.2f} s"
    return Figure("Whole job, to DuckDB's shuffle", ours / theirs, 3, "lower", "×", note)


def many_rows_figures() -> Iterator[Figure]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        seconds, peak = pool.submit(publish_many, MANY_ROWS).result()
    note = f"the peak of a whole process that published in {seconds:.0f} s"
    yield Figure("10,000,000 rows, memory", peak / 1e9, 8, "lower", "GB", note)


def publish_many(rows: int) -> tuple[float, int]:
    """Seconds, and the most memory that this process ever had."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vault = make_vault(folder, rows)
        start = perf_counter()
        publish(vault, folder)
        return perf_counter() - start, resident_bytes("VmHWM")


def similar_figure() -> Figure:
    people = census_people("occupation")
    demand = Demand.of(people.counts, limits(DEFAULT_THETA))
    multi = multi_size_setting(demand.counts, demand.limits, max_size=MAX_SIZE)
    roomy = two_size_setting(demand.counts, demand.limits, MAX_SIZE // 2, MAX_SIZE)
    errors = mean_errors(
        people,
        {"round-robin": round_robin(people, multi), "similar": along(people, roomy, demand, sweep_keys(people))},
    )
    note = f"5,000 queries on Census-Income, θ = {DEFAULT_THETA}: {errors['similar']:.2%}, " + (
        f"round-robin {errors['round-robin']:.2%}"
    )
    ratio = errors["similar"] / errors["round-robin"]
    return Figure("Mean relative error of similar, to round-robin", ratio, 0.8, "lower", "×", note)
