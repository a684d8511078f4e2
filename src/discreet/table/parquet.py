"""Parquet files: their columns, and their rows in batches."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.table.coding import stored_type
from discreet.table.files import Columns, open_files
from discreet.table.source import BATCH_ROWS, Source
from discreet.table.text import is_text


def open_parquet(path: str) -> Source:
    """Open Parquet files with equal columns; their footers are read, and no row."""
    return open_files(path, "parquet", pq.read_schema, _batches)


def _batches(file: str, columns: Columns, wanted: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
    """Texts come as dictionaries, which is how Parquet mostly stores them: each spelling is looked at once."""
    spelt = [name for name in wanted if is_text(stored_type(columns[name]))]
    with pq.ParquetFile(file, read_dictionary=spelt) as opened:
        size, read = max(1, opened.metadata.num_rows), 0
        for batch in opened.iter_batches(BATCH_ROWS, columns=list(wanted)):
            read += batch.num_rows
            yield batch.select(list(wanted)), min(1.0, read / size)
