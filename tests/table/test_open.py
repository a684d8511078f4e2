"""Opening: what is a table, what is read of it, and whether it was written to since."""

import os
import tempfile

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.errors import DomainError, TableError
from discreet.table.open import locate, open_source
from discreet.table.source import FRAME, nobody
from discreet.table.state import state_of_source
from tests.populations import points, population, snapshot_in


def refused(table, words):
    with pytest.raises(TableError, match=words) as refusal:
        open_source(table)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None
    return str(refusal.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.parquet", "there is no file"),
        ("missing-*.parquet", "there is no file"),
        ("notes.pdf", "not a kind of file"),
        ("folder.parquet", "has no file that is read here"),
        ("broken.parquet", "cannot be read as a table; is it a whole parquet file"),
        ("broken.duckdb", "cannot be read as a table; is it a whole duckdb file"),
        ("mysql://host/base", "mysql tables are not supported"),
        ("mixed/*", "cannot be one table"),
    ],
)
def test_what_is_not_a_table_is_refused_with_what_to_do(name, words, tmp_path):
    (tmp_path / "notes.pdf").write_text("hello")
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "broken.parquet").write_bytes(b"private words" * 100)
    (tmp_path / "broken.duckdb").write_bytes(b"private words" * 1000)
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("age\n1\n")
    pq.write_table(pa.table({"age": [1]}), tmp_path / "mixed" / "b.parquet")
    message = refused(name if "://" in name else tmp_path / name, words)
    assert "private" not in message


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (None, "a table is a path, or a pandas, polars or Arrow frame"),
        (17, "a table is a path"),
        ({"age": [1]}, "a table is a path"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "each column a name of its own"),
        (pd.DataFrame({"a": [1, "secret", None]}), "values of one type"),
        (pd.DataFrame(), "has no columns"),
        (pl.DataFrame({"a": pl.Series([1], dtype=pl.Int128)}), "values of one type"),
    ],
    ids=["nothing", "a number", "a dictionary", "one name twice", "mixed types", "no columns", "no type of Arrow"],
)
def test_a_frame_that_cannot_be_read_is_refused_without_quoting_it(frame, words):
    assert "secret" not in refused(frame, words)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "people[1].parquet")
    pq.write_table(pa.table({"age": [2]}), tmp_path / "people1.parquet")
    assert values(tmp_path / "people[1].parquet") == {"age": [1]}
    (tmp_path / "people[1].csv").write_text("age\n1\n")
    assert values(tmp_path / "people[1].csv") == {"age": ["1"]}


def test_names_with_quotes_are_names(tmp_path):
    folder = tmp_path / "it's"
    folder.mkdir()
    pq.write_table(pa.table({"age": [1]}), folder / "o'hara.parquet")
    assert values(folder / "o'hara.parquet") == {"age": [1]}
    with duckdb.connect(folder / "o'hara.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 2 AS age")
    assert values(folder / "o'hara.duckdb") == {"age": [2]}


def test_parquet_files_of_one_table_must_have_the_same_columns_and_types(tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a1.parquet")
    pq.write_table(pa.table({"age": [1e300]}), tmp_path / "a2.parquet")
    refused(tmp_path / "a*.parquet", r"a2\.parquet: column 'age' is double, but int64 in .*a1\.parquet")


def test_a_duckdb_file_says_which_tables_it_has(tmp_path):
    path = tmp_path / "base.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE TABLE one AS SELECT 1 AS a; CREATE TABLE "t w""o" AS SELECT 2 AS a')
        connection.execute("CREATE SCHEMA hidden; CREATE TABLE hidden.three AS SELECT 3 AS a")
    refused(path, 'has tables one, t w"o; say which')
    refused(f"{path}?table=three", "say which")
    assert values(f'{path}?table=t w"o') == {"a": [2]}


def test_the_only_table_of_a_duckdb_file_need_not_be_named(tmp_path):
    with duckdb.connect(tmp_path / "base.db") as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age")
    assert values(tmp_path / "base.db") == {"age": [1]}


def test_a_duckdb_file_may_be_read_twice_at_once(make, people, tmp_path):
    uri = make.duckdb_file(people, tmp_path)
    first, second = (open_source(uri).read(["age"], nobody) for _ in range(2))
    assert [sum(batch.num_rows for batch in batches) for batches in (first, second)] == [990, 990]


def test_a_location_is_absolute_and_a_frame_has_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert locate("people.duckdb?table=x") == f"{tmp_path}/people.duckdb?table=x"
    assert locate(pd.DataFrame()) == FRAME


def test_what_does_not_fit_in_memory_goes_to_a_private_folder_that_is_removed(make, people, tmp_path, monkeypatch):
    uri, aside = make.duckdb_file(people, tmp_path), tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))
    before = os.umask(0)
    try:
        batches = open_source(uri).read(["age"], nobody)
        next(batches)
        assert [folder.stat().st_mode & 0o777 for folder in aside.iterdir()] == [0o700]
    finally:
        os.umask(before)
    batches.close()
    assert not list(aside.iterdir())


DUCKDB_TYPES = {
    "'a'::ENUM ('b', 'a')": ["a"],
    "170141183460469231731687303715884105727::HUGEINT": ["170141183460469231731687303715884105727"],
    "'6f9619ff-8b86-d011-b42d-00c04fc964ff'::UUID": ["6f9619ff-8b86-d011-b42d-00c04fc964ff"],
    "'A' COLLATE NOCASE": ["A"],
    "18446744073709551615::UBIGINT": [2**64 - 1],
    "0.5::FLOAT": [0.5],
    "true": [True],
}


@pytest.mark.parametrize(("expression", "expected"), DUCKDB_TYPES.items(), ids=DUCKDB_TYPES.keys())
def test_types_of_duckdb_are_read_by_their_one_spelling(expression, expected, tmp_path):
    with duckdb.connect(tmp_path / "base.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {expression} AS x")
    assert values(tmp_path / "base.duckdb") == {"x": expected}


@pytest.mark.parametrize(
    "expression",
    ["[1]", "{'a': 1}", "'x'::BLOB", "'{}'::JSON", "INTERVAL 1 DAY", "TIME '01:00'"],
)
def test_other_types_of_duckdb_are_refused_by_name_with_what_to_cast_to(expression, tmp_path):
    with duckdb.connect(tmp_path / "base.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {expression} AS x, 1 AS y")
    assert values(tmp_path / "base.duckdb") == {"y": [1]}
    with pytest.raises(DomainError, match=r"column 'x' is .* in DuckDB, .* by CAST\(\"x\" AS VARCHAR\) say"):
        population(tmp_path / "base.duckdb", Domain("t", (Category(name="x", source="s", values=("a",)),)))


def test_columns_whose_names_begin_alike_are_told_apart(tmp_path):
    """Parquet names nested columns with dots."""
    table = pa.table({"a": ["1"], "a.b": ["2"], "a.b.c": ["3"], "s": [{"t": 4}], "s.t": ["5"]})
    pq.write_table(table, tmp_path / "t.parquet")
    expected = {"a": ["1"], "a.b": ["2"], "a.b.c": ["3"], "s.t": ["5"]}
    assert values(tmp_path / "t.parquet") == values(table) == expected
    assert values(tmp_path / "t.parquet", ["a.b"]) == {"a.b": ["2"]}


def test_a_parquet_text_that_is_not_utf_8_makes_nothing_fail(tmp_path):
    """Issue 16: "A Parquet text that is not UTF-8 makes every query on its column fail"."""
    column = pa.array([b"Arden", b"\xff\xfe", b"Bel\xe9", None, b"Arden"])
    text = pa.Array.from_buffers(pa.string(), 5, column.buffers())
    attribute = Category(name="x", source="s", values=("Arden",), outside="other", null=True)
    for use_dictionary in (True, False):
        pq.write_table(pa.table({"x": text}), tmp_path / "t.parquet", use_dictionary=use_dictionary)
        snapshot = population(tmp_path / "t.parquet", Domain("t", (attribute,)))
        assert points(snapshot) == [(0,), (1,), (1,), (2,), (0,)]


def test_a_parquet_file_that_is_damaged_half_way_says_nothing_of_the_data(make, people, domain, tmp_path):
    path = make.parquet(people, tmp_path)
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    path.write_bytes(content)
    assert "age" in open_source(path).columns
    with pytest.raises(TableError, match=r"people\.parquet cannot be read; is it still there and whole") as failure:
        population(path, domain)
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_a_file_that_went_away_is_an_error_in_words(make, people, domain, tmp_path):
    for put in (make.parquet, make.plain_csv, make.duckdb_file):
        source = open_source(put(people, tmp_path))
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(TableError, match="cannot be read"):
            list(source.read(domain.names, nobody))
        with pytest.raises(TableError, match="there is no file"):
            source.stamp()


def values(table, names=None):
    """What is read of some columns, or of all."""
    source = open_source(table)
    names = list(source.columns) if names is None else names
    read = pa.Table.from_batches(source.read(names, nobody))
    return {name: read.column(name).to_pylist() for name in names}


class TestState:
    """Whether a source was written to since its snapshot, as far as that can be told without reading it."""

    UNTOUCHED, WRITTEN = "not written to since the snapshot", "written to since the snapshot; `refresh` takes it in"

    @pytest.fixture
    def taken(self, domain, tmp_path):
        """Takes a snapshot and says, whenever it is called, what state its source is in."""

        def take(where):
            snapshot = snapshot_in(tmp_path / "snapshot", where, domain)
            return lambda: state_of_source(snapshot.manifest["stamp"], locate(where))

        return take

    @pytest.mark.parametrize("kind", ["parquet", "several_parquet", "plain_csv", "zipped_csv", "duckdb_file"])
    def test_a_file_that_is_written_to_is_told(self, kind, make, people, tmp_path, taken):
        (tmp_path / "data").mkdir()
        put = getattr(make, kind)
        state = taken(put(people, tmp_path / "data"))
        assert state() == self.UNTOUCHED
        for path in (tmp_path / "data").iterdir():
            path.unlink()
        assert state() == "cannot be reached"
        put(people[1:], tmp_path / "data")
        assert state() == self.WRITTEN

    def test_another_file_that_matches_the_pattern_is_told(self, make, people, tmp_path, taken):
        state = taken(make.several_parquet(people, tmp_path))
        pq.write_table(make.to_arrow(people[:5]), tmp_path / "people-9.parquet")
        assert state() == self.WRITTEN

    def test_changes_that_a_duckdb_file_keeps_in_its_log_are_told(self, make, people, tmp_path, taken):
        uri = make.duckdb_file(people, tmp_path)
        state = taken(uri)
        assert state() == self.UNTOUCHED
        connection = duckdb.connect(tmp_path / "base.duckdb")
        connection.execute("PRAGMA disable_checkpoint_on_shutdown; INSERT INTO people (age) VALUES (2)")
        connection.close()
        assert (tmp_path / "base.duckdb.wal").exists()
        assert state() == self.WRITTEN
        assert len(values(uri)["age"]) == 991

    def test_nothing_can_be_told_of_a_frame(self, make, people, tmp_path, taken):
        assert taken(make.arrow_frame(people, tmp_path))() == "cannot be told"


def test_frames_are_read_however_they_were_cut():
    whole = pa.table({"a": list(range(1000)), "b": ["x", None] * 500})
    cut = pa.concat_tables([whole.slice(0, 10), whole.slice(10)])
    assert values(whole) == values(cut) == values(pl.from_arrow(cut)) == whole.to_pydict()


def test_frames_of_every_library_keep_their_categories():
    words = ["b", "a", None, "b"]
    frames = [
        pd.DataFrame({"x": pd.Categorical(words, categories=["c", "b", "a"])}),
        pl.DataFrame({"x": pl.Series(words, dtype=pl.Categorical)}),
        pl.DataFrame({"x": pl.Series(words, dtype=pl.Enum(["c", "b", "a"]))}),
        pd.DataFrame({"x": pd.Categorical(words, categories=[*(f"v{i}" for i in range(126)), "b", "a"])}),
        pd.DataFrame({"x": np.array(words, object)}),
    ]
    attribute = Category(name="x", source="s", values=("a", "b"), null=True)
    for frame in frames:
        assert points(population(frame, Domain("t", (attribute,)))) == [(1,), (0,), (2,), (1,)]
