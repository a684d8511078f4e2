"""Arrow files (.arrow, .feather, .ipc): their columns, and their rows in batches."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from discreet.table.files import Columns, open_files
from discreet.table.source import BATCH_ROWS, Source


def open_arrow(path: str) -> Source:
    """Open Arrow files with equal columns; no row is read."""
    return open_files(path, "Arrow", _schema, _batches)


def _schema(file: str) -> pa.Schema:
    with pa.memory_map(file) as mapped, pa.ipc.open_file(mapped) as opened:
        return opened.schema


def _batches(file: str, columns: Columns, wanted: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, float]]:  # noqa: ARG001
    with pa.memory_map(file) as mapped, pa.ipc.open_file(mapped) as opened:
        stored = opened.num_record_batches
        for number in range(stored):
            pieces = pa.Table.from_batches([opened.get_batch(number)]).select(list(wanted)).to_batches(BATCH_ROWS)
            for place, piece in enumerate(pieces, start=1):
                yield piece, (number + place / len(pieces)) / stored
