"""Parquet files: how far their reading is."""

import pyarrow as pa
import pyarrow.parquet as pq

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
