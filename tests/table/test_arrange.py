"""Rows held, ordered by lot, numbered and written."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import EngineError, TableError
from discreet.noise.bits import Bits, SeededBits
from discreet.table.arrange import held_rows
from tests.populations import population

DOMAIN = Domain(
    "t",
    (
        Integer(name="a", source="s", low=-3, high=124),  # 128 codes: the last fits a byte, the one after does not
        Category(name='b"; DROP', source="s", values=("x", "it's"), outside="other", null=True),
        Bins(name="c", source="s", edges=(0, 1, 2), null=True),
        Integer(name="d", source="s", low=0, high=5, outside="other", null=True),
    ),
)
ROWS = pa.table(
    {
        "a": [-3, 124, 0, 5] * 50,
        'b"; DROP': ["x", "it's", "y", None] * 50,
        "c": [0.5, 1.5, None, 0.0] * 50,
        "d": pa.array([0, 9, None, 5] * 50, pa.int64()),
    }
)


def test_what_is_written_is_what_the_domain_reads(tmp_path):
    rows = held_rows(population(ROWS, DOMAIN).rows, DOMAIN.names, Bits())
    assert rows.counts("a")[[0, 3, 8, 127]].tolist() == [50] * 4
    assert rows.distinct("c") == 3
    assert rows.entropy("d") == pytest.approx(2)
    codes = rows.order(["a"], "a")
    assert codes.tolist() == sorted(codes.tolist())
    rows.deal(np.arange(200, dtype=np.int32) % 7, "a", codes)
    rows.write(DOMAIN.names, "n", tmp_path / "it's.parquet")
    found = pq.read_table(tmp_path / "it's.parquet")
    assert found.column_names == [*DOMAIN.names, "n"]
    people = Counter(tuple(row.values())[:4] for row in found.to_pylist())
    assert people == {
        (-3, "x", "[0, 1)", "0"): 50,
        (124, "it's", "[1, 2)", "(other)"): 50,
        (0, "(other)", None, None): 50,
        (5, None, "[0, 1)", "5"): 50,
    }
    assert found.column("n").to_pylist() == sorted(found.column("n").to_pylist())


@pytest.mark.parametrize("largest", [1, 2**31], ids=["by columns", "by one key"])
def test_lines_are_ordered_by_what_they_hold(tmp_path, monkeypatch, largest):
    monkeypatch.setattr("discreet.table.arrange.LARGEST_KEY", largest)
    rows = held_rows(population(ROWS, DOMAIN).rows, DOMAIN.names, Bits())
    codes = rows.order([], "a")
    rows.deal(np.arange(200, dtype=np.int32) % 3 + 2**30, "a", codes)
    rows.write(("c", "a"), "n", tmp_path / "t.parquet")
    lines = [(row["n"], row["c"] or "~", row["a"]) for row in pq.read_table(tmp_path / "t.parquet").to_pylist()]
    assert lines == sorted(lines)


def test_rows_that_parted_from_their_numbers_are_never_written():
    rows = held_rows(population(ROWS, DOMAIN).rows, DOMAIN.names, Bits())
    codes = rows.order(["a"], "a")
    with pytest.raises(EngineError, match="nothing was written"):
        rows.deal(np.zeros(200, np.int32), "a", codes[::-1])


def test_ties_are_broken_by_lot():
    """Whether the first of two halves comes before the second, in an order by nothing: both sides."""
    table = pa.table({"a": [0] * 500 + [1] * 500})
    domain = Domain("t", (Integer(name="a", source="s", low=0, high=1),))
    rows = held_rows(population(table, domain).rows, ("a",), SeededBits(3))
    codes = rows.order([], "a")
    assert codes.sum() == 500
    assert stats.mannwhitneyu(np.flatnonzero(codes == 0), np.flatnonzero(codes == 1)).pvalue > 1e-4


def test_a_sample_is_of_whole_numbers():
    rows = held_rows(population(ROWS, DOMAIN).rows, DOMAIN.names, Bits())
    codes = rows.order(["c"], "c")
    rows.deal(np.repeat(np.arange(1, 21, dtype=np.int32), 10), "c", codes)
    number, found = rows.sample(["c", "a"], 3)
    assert Counter(number.tolist()) == {1: 10, 2: 10, 3: 10}
    assert found[:, 0].tolist() == codes[:30].tolist()


def test_a_table_without_rows_is_refused():
    with pytest.raises(TableError, match="no rows"):
        held_rows(population(ROWS.slice(0, 0), DOMAIN).rows, DOMAIN.names, Bits())
