"""Columns that folders say: `year=2026/month=01/part.parquet` has year and month beside the columns in the file."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from discreet.errors import TableError

Partition = Mapping[str, str | None]
Rows = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


def require_apart(partition: Partition, names: Sequence[str], file: str) -> None:
    """Raise where a folder and a column have one name."""
    twice = next((name for name in partition if name.lower() in {other.lower() for other in names}), None)
    if twice is not None:
        raise TableError(f"{file} has a column {twice} and lies in a folder {twice}=…; rename one of them")


def with_partition(
    rows: Rows, partition: Partition, own: Sequence[str], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of one file with what its folders say of all of them, as text."""
    wanted = [name for name in names if name not in partition] or list(own[:1])
    for batch in rows(wanted):
        columns = [
            _constant(partition[name], batch.num_rows) if name in partition else batch.column(wanted.index(name))
            for name in names
        ]
        yield pa.RecordBatch.from_arrays(columns, list(names))


def _constant(value: str | None, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([value]))
