"""The generated census: one row a person, any number of rows, the same for the same seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.demo import population as people
from discreet.demo.draw import ChanceTable, row_bits, split_bits
from discreet.demo.income import draw_income
from discreet.progress import Progress, silent

Ints = NDArray[np.int64]
CHUNK = 2**18  # rows made and written at a time: bounded memory, and a row group of a size that engines like
WIDTH = 12
AGE_WIDTH = 16  # the very old are rarer than one in 2^12
SEX_MISSING, EDUCATION_MISSING = 16, 41  # of 2^12
SCHEMA = pa.schema(
    [
        ("age", pa.int16()),
        ("sex", pa.string()),
        ("region", pa.string()),
        ("education", pa.string()),
        ("occupation", pa.string()),
        ("income", pa.int32()),
        ("hours", pa.int16()),
        ("marital", pa.string()),
        ("children", pa.int16()),
    ]
)


def census(rows: int, seed: int = 0) -> Any:
    """A pyarrow.Table of people. Row i is the same person for every number of rows."""
    return pa.Table.from_batches(_batches(rows, seed)).cast(SCHEMA)


def write_census(path: str | Path, rows: int, seed: int = 0, progress: Progress = silent) -> None:
    """Write `census(rows, seed)` as Parquet, a chunk at a time."""
    # Without the Arrow schema in the file, dictionaries read back as what they hold: plain strings.
    with pq.ParquetWriter(path, _batch(seed, 0, 0).schema, compression="zstd", store_schema=False) as writer:
        written = 0
        for batch in _batches(rows, seed):
            writer.write_batch(batch)
            written += batch.num_rows
            progress(f"generating {rows:,} people", written / max(1, rows))


def census_domain_path() -> Path:
    """The public domain of the census: six columns in detail."""
    return Path(__file__).with_name("census.toml")


def wide_census_domain_path() -> Path:
    """A coarser public domain, of all nine columns."""
    return Path(__file__).with_name("census_wide.toml")


def _batches(rows: int, seed: int) -> Iterator[Any]:
    """At least one batch, so that an empty census has its columns too."""
    if rows < 0:
        raise ValueError("a census has zero or more rows")
    for first in range(0, max(rows, 1), CHUNK):
        yield _batch(seed, first, min(CHUNK, rows - first))


def _batch(seed: int, first: int, rows: int) -> Any:
    """People first … first + rows − 1, their categories as dictionaries."""
    lookup = _lookups()
    region_draw, age_draw, sex_draw, education_draw, occupation_draw = split_bits(
        row_bits(seed, 0, first, rows), (WIDTH, AGE_WIDTH, WIDTH, WIDTH, WIDTH)
    )
    hours_draw, marital_draw, children_draw, sex_kept, education_kept = split_bits(
        row_bits(seed, 1, first, rows), (WIDTH,) * 5
    )
    region = lookup.region.draw(region_draw)
    age = lookup.age.draw(age_draw, region)
    sex = lookup.sex.draw(sex_draw, age)
    education = lookup.education.draw(education_draw, age, sex)
    occupation = lookup.occupation.draw(occupation_draw, age, sex, education)
    hours = lookup.hours.draw(hours_draw, occupation, sex)
    marital = lookup.marital.draw(marital_draw, age, sex)
    children = lookup.children.draw(children_draw, age, marital)
    euros, unsaid = draw_income(row_bits(seed, 2, first, rows), occupation, education, sex, age, hours, region)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(age.astype(np.int16)),
            _names(sex, people.SEXES, sex_kept < SEX_MISSING),
            _names(region, (*people.REGIONS, people.ABROAD)),
            _names(education, people.EDUCATION, education_kept < EDUCATION_MISSING),
            _names(occupation, people.OCCUPATIONS),
            pa.array(euros, mask=unsaid),
            pa.array(hours.astype(np.int16)),
            _names(marital, people.MARITAL),
            pa.array(children.astype(np.int16)),
        ],
        names=SCHEMA.names,
    )


def _names(codes: Ints, names: tuple[str, ...], missing: NDArray[np.bool_] | None = None) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8), mask=missing), pa.array(names))


@dataclass(frozen=True)
class _Lookups:
    region: ChanceTable
    age: ChanceTable
    sex: ChanceTable
    education: ChanceTable
    occupation: ChanceTable
    hours: ChanceTable
    marital: ChanceTable
    children: ChanceTable


@cache
def _lookups() -> _Lookups:
    return _Lookups(
        region=ChanceTable.of(people.REGION_SHARES, WIDTH),
        age=ChanceTable.of(people.age_given_region(), AGE_WIDTH),
        sex=ChanceTable.of(people.sex_given_age(), WIDTH),
        education=ChanceTable.of(people.education_given_age_sex(), WIDTH),
        occupation=ChanceTable.of(people.occupation_given_age_sex_education(), WIDTH),
        hours=ChanceTable.of(people.hours_given_occupation_sex(), WIDTH),
        marital=ChanceTable.of(people.marital_given_age_sex(), WIDTH),
        children=ChanceTable.of(people.children_given_age_marital(), WIDTH),
    )
