"""Cuboids as one Parquet file: a row a cell, streamed both ways.

Cuboids come in the order of their masks, the cells of each in row-major order, so that the counts alone are enough to
read them back; the labels are for everybody else.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.cube.parquet_wide import value_columns, wide_groups, wide_schema
from discreet.cube.plan import CubePlan
from discreet.progress import Progress, silent
from discreet.query.lattice import MAX_DIMENSIONS

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

GROUP_ROWS = 1 << 20
"""About so many cells are in memory as a table at any one time, and in a row group on disk."""

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """The names of the columns beside the dimensions; `measure` is that of the counts or sums."""

    cuboid: str
    measure: str
    variance: str


def columns_of(plan: CubePlan) -> Columns:
    """cuboid, count (or sum) and variance; where a dimension has such a name, with underscores."""
    own = ["cuboid", plan.noise.measure.name, "variance"]
    if is_wide_file(plan):
        return Columns(*own)
    taken = {str(name) for name in plan.lattice.names}
    for place in range(3):
        while own[place] in taken:
            own[place] += "_"
    return Columns(*own)


def write_cells(
    path: Path,
    cube: "Cube",
    cuboids: Mapping[int, Numbers],
    variances: Mapping[int, float],
    progress: Progress = silent,
) -> None:
    """Stream cuboids to one Parquet file, a row group at a time."""
    kind = next(iter(cuboids.values())).dtype
    if is_wide_file(cube.plan):
        schema = wide_schema(value_columns(cube.plan.lattice, cuboids), columns_of(cube.plan).measure, kind)
        groups = wide_groups(cube, cuboids, variances, schema, GROUP_ROWS)
    else:
        schema = _schema(cube, kind)
        groups = _groups(_batches(cube, cuboids, variances, schema))
    repetitive = [name for name in schema.names if name != columns_of(cube.plan).measure]
    rows, written = sum(cells.size for cells in cuboids.values()), 0
    # The digits of a wide cube's counts are noise: they take time to compress, and no less space.
    noisy = is_wide_file(cube.plan) and kind.kind == "f"
    compression = dict.fromkeys(repetitive if noisy else schema.names, "zstd")
    with pq.ParquetWriter(path, schema, compression=compression, use_dictionary=repetitive) as writer:
        for group in groups:
            progress("writing", written / rows)
            writer.write_table(group)
            written += group.num_rows
    progress("writing", 1.0)


def is_wide_file(plan: CubePlan) -> bool:
    """Whether a column for each dimension would be too many."""
    return plan.lattice.dimensions > MAX_DIMENSIONS


def _schema(cube: "Cube", kind: np.dtype[Any]) -> pa.Schema:
    own = columns_of(cube.plan)
    return pa.schema(
        [
            pa.field(own.cuboid, pa.dictionary(pa.int32(), pa.string())),
            *(pa.field(d.name, pa.dictionary(_code_type(len(d.labels)), pa.string())) for d in cube.dimensions),
            pa.field(own.measure, pa.from_numpy_dtype(kind)),
            pa.field(own.variance, pa.float64()),
        ]
    )


def _batches(
    cube: "Cube",
    cuboids: Mapping[int, Numbers],
    variances: Mapping[int, float],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    names = pa.array([",".join(map(str, cube.plan.lattice.names_of(mask))) for mask in cuboids], pa.string())
    labels = [pa.array(dimension.labels, pa.string()) for dimension in cube.dimensions]
    for place, (mask, cells) in enumerate(cuboids.items()):
        for first, counts in _pieces(cells):
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(np.full(counts.size, place, np.int32)), names),
                *_code_columns(cube, mask, first, counts.size, labels),
                pa.array(counts),
                pa.array(np.full(counts.size, variances[mask])),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until they make a row group."""
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        gathered.append(batch)
        rows += batch.num_rows
        if rows >= GROUP_ROWS:
            yield pa.Table.from_batches(gathered)
            gathered, rows = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def _pieces(cells: Numbers) -> Iterator[tuple[int, Numbers]]:
    """A cuboid's cells in row-major order, in pieces of whole leading rows: where each starts, and its cells."""
    if cells.ndim == 0 or cells.size <= GROUP_ROWS:
        yield 0, cells.reshape(-1)
        return
    row = cells.size // len(cells)
    step = max(1, GROUP_ROWS // row)
    for first in range(0, len(cells), step):
        yield first * row, cells[first : first + step].reshape(-1)


def _code_columns(cube: "Cube", mask: int, first: int, rows: int, labels: list[pa.Array]) -> Iterator[pa.Array]:
    """The dimensions' columns for consecutive cells of a cuboid."""
    lattice, cell = cube.plan.lattice, np.arange(first, first + rows)
    for axis, words in enumerate(labels):
        size = lattice.sizes[axis]
        if mask >> axis & 1:
            stride = lattice.cells(mask >> axis + 1 << axis + 1)
            # Two divisions by a constant are several times as fast as a remainder.
            above = cell // stride
            codes = pa.array((above - size * (above // size)).astype(_code_type(size).to_pandas_dtype()))
        else:
            codes = pa.nulls(rows, _code_type(size))
        yield pa.DictionaryArray.from_arrays(codes, words)


def label_columns(cube: "Cube", mask: int, cells: int) -> dict[str, pa.Array]:
    """The dimensions' columns for all cells of a cuboid, by name."""
    labels = [pa.array(dimension.labels, pa.string()) for dimension in cube.dimensions]
    names = [dimension.name for dimension in cube.dimensions]
    return dict(zip(names, _code_columns(cube, mask, 0, cells, labels), strict=True))


def _code_type(size: int) -> pa.DataType:
    return pa.int8() if size <= 2**7 else pa.int16() if size <= 2**15 else pa.int32()


def read_cells(path: Path, plan: CubePlan, masks: tuple[int, ...], kind: type[Any]) -> dict[int, Numbers]:
    """The counts of every cuboid, as read-only views of one array in the order of the file."""
    sizes = [plan.lattice.cells(mask) for mask in masks]
    counts, filled = np.empty(sum(sizes), kind), 0
    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows != counts.size:
            raise ValueError("the file does not hold these cuboids")
        for batch in file.iter_batches(GROUP_ROWS, columns=[columns_of(plan).measure]):
            counts[filled : filled + batch.num_rows] = batch.column(0)
            filled += batch.num_rows
    counts.flags.writeable = False
    ends = np.cumsum(sizes).tolist()
    return {
        mask: counts[end - size : end].reshape(plan.lattice.shape(mask))
        for mask, size, end in zip(masks, sizes, ends, strict=True)
    }
