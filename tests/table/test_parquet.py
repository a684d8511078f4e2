"""Parquet files: how far their reading is, and texts however they are stored."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.table import parquet
from discreet.table.open import open_source


def test_how_far_several_files_are_read_is_told_batch_by_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    for name, rows in (("a", 4), ("b", 3)):
        pq.write_table(pa.table({"x": range(rows)}), tmp_path / f"{name}.parquet")
    told = []
    batches = list(open_source(str(tmp_path / "*.parquet")).read(["x"], told.append))
    assert [batch.num_rows for batch in batches] == [2, 2, 2, 1]
    assert told == [1 / 4, 1 / 2, 1 / 2 + 1 / 3, 1]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_are_read_however_they_are_stored(tmp_path, encoding):
    """As the second version of the format stores them, say; Arrow makes no dictionaries of those."""
    texts = ["a", "b", None, "a"] * 3
    pq.write_table(
        pa.table({"x": texts, "y": texts}),
        tmp_path / "t.parquet",
        use_dictionary=["y"],
        column_encoding={"x": encoding},
    )
    batches = open_source(str(tmp_path / "t.parquet")).read(["y", "x"], lambda _: None)
    [rows] = [batch.to_pydict() for batch in batches]
    assert rows == {"y": texts, "x": texts}
