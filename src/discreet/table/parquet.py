"""Parquet files: their columns, and their rows in batches."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.table.coding import stored_type
from discreet.table.files import Columns, open_files
from discreet.table.source import BATCH_ROWS, Source
from discreet.table.text import is_text

DICTIONARIES = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
"""Encodings of texts that Arrow reads as dictionaries; of the others it refuses that."""


def open_parquet(path: str) -> Source:
    """Open Parquet files with equal columns; their footers are read, and no row."""
    return open_files(path, "parquet", pq.read_schema, _batches)


def _batches(file: str, columns: Columns, wanted: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float]]:
    """Texts come as dictionaries, which is how Parquet mostly stores them: each spelling is looked at once."""
    about = pq.read_metadata(file)
    texts = {name for name in wanted if is_text(stored_type(columns[name]))}
    spelt = sorted(_as_dictionaries(about, texts))
    with pq.ParquetFile(file, metadata=about, read_dictionary=spelt) as opened:
        size, read = max(1, opened.metadata.num_rows), 0
        for batch in opened.iter_batches(BATCH_ROWS, columns=list(wanted)):
            read += batch.num_rows
            yield batch.select(list(wanted)), min(1.0, read / size)


def _as_dictionaries(about: pq.FileMetaData, texts: set[str]) -> set[str]:
    """Those of some columns whose texts are stored as dictionaries, or plainly, in every group of rows."""
    leaves = [about.schema.column(place) for place in range(about.num_columns)]
    places = [at for at, leaf in enumerate(leaves) if leaf.path in texts and leaf.physical_type == "BYTE_ARRAY"]
    groups = (about.row_group(number) for number in range(about.num_row_groups))
    chunks = (group.column(place) for group in groups for place in places)
    return {leaves[place].path for place in places} - {
        chunk.path_in_schema for chunk in chunks if not DICTIONARIES.issuperset(chunk.encodings)
    }
