"""Data frames in memory → Arrow, and a hash of what they hold."""

import hashlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.watch import Told


def to_arrow(frame: object) -> pa.Table:
    """A pandas, polars or Arrow frame as an Arrow table, without its index and metadata."""
    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "to_arrow"):  # polars
            table = frame.to_arrow()
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError):
        raise TableError("a table is a path, or a pandas, polars or Arrow frame") from None
    except (ValueError, pa.ArrowException):
        raise TableError(
            "the frame cannot be read: give each column a name of its own, and values of one type"
        ) from None
    plain = pa.schema([field.with_type(_plain(field.type)) for field in table.schema])
    return table.cast(plain).combine_chunks()


def _plain(kind: Any) -> Any:
    """A column in which everything is missing has no type of its own: it is text that is missing."""
    return pa.string() if pa.types.is_null(kind) else kind


def hash_arrow(rows: pa.Table, key: bytes, told: Told | None = None) -> str:
    """A keyed hash of names, types and values, in order."""
    digest = hashlib.blake2b(key=key, digest_size=32)
    with pa.PythonFile(_Hashing(digest), mode="w") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
        hashed = 0
        for batch in rows.to_batches(max_chunksize=1 << 20):
            writer.write_batch(batch)
            hashed += batch.num_rows
            if told is not None:
                told(hashed / max(1, rows.num_rows))
    return digest.hexdigest()


@dataclass
class _Hashing:
    """A file that hashes what is written to it."""

    digest: Any
    closed: bool = False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self.closed = True
