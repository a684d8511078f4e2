"""Opening: what is a table, and how a changed one is recognised."""

import gc
import os
import shutil

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from discreet.table.table import open_table

from discreet.errors import DiscreetError, TableError
from discreet.table.open import FRAME, locate, open_source

KEY = bytes(32)


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
        ("notes.txt", "not a kind of file"),
        ("folder.parquet", "there is no file"),
        ("broken.parquet", "cannot be read as a table; is it a whole parquet file"),
        ("broken.duckdb", "cannot be read as a table; is it a whole duckdb file"),
        ("mysql://host/base", "mysql tables are not supported"),
        ("mixed/*", "cannot be one table"),
    ],
)
def test_what_is_not_a_table_is_refused_with_what_to_do(name, words, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
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
        (pd.DataFrame(), "or none"),
        (pa.table({"a": pa.array([1], pa.decimal256(50, 2))}), "type the engine does not read"),
    ],
    ids=["nothing", "a number", "a dictionary", "one name twice", "mixed types", "no columns", "an exotic type"],
)
def test_a_frame_that_cannot_be_read_is_refused_without_quoting_it(frame, words):
    assert "secret" not in refused(frame, words)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "people[1].parquet")
    pq.write_table(pa.table({"age": [2]}), tmp_path / "people1.parquet")
    rows = open_source(tmp_path / "people[1].parquet").engine.connection.execute("SELECT * FROM source").fetchall()
    assert rows == [(1,)]


def test_names_with_quotes_are_names(tmp_path):
    folder = tmp_path / "it's"
    folder.mkdir()
    pq.write_table(pa.table({"age": [1]}), folder / "o'hara.parquet")
    assert open_source(folder / "o'hara.parquet").rows.columns == ("age",)


def test_parquet_files_of_one_table_must_have_the_same_columns_and_types(tmp_path):
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a1.parquet")
    pq.write_table(pa.table({"age": [1e300]}), tmp_path / "a2.parquet")
    refused(tmp_path / "a*.parquet", r"a2\.parquet has other columns, or other types, than .*a1\.parquet")


def test_a_duckdb_file_says_which_tables_it_has(tmp_path):
    path = tmp_path / "base.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE TABLE one AS SELECT 1 AS a; CREATE TABLE "t w""o" AS SELECT 2 AS a')
        connection.execute("CREATE SCHEMA hidden; CREATE TABLE hidden.three AS SELECT 3 AS a")
    refused(path, 'has tables one, t w"o; say which')
    refused(f"{path}?table=three", "say which")
    rows = open_source(f'{path}?table=t w"o').engine.connection.execute("SELECT a FROM source").fetchall()
    assert rows == [(2,)]


def test_the_only_table_of_a_duckdb_file_need_not_be_named(tmp_path):
    with duckdb.connect(tmp_path / "base.db") as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age")
    assert open_source(tmp_path / "base.db").rows.columns == ("age",)


def test_a_duckdb_file_may_be_open_twice_at_once(make, people, tmp_path):
    uri = make.duckdb_file(people, tmp_path)
    first, second = open_source(uri), open_source(uri)
    both = [source.engine.connection.execute("SELECT COUNT(*) FROM source").fetchall() for source in (first, second)]
    assert both == [[(990,)], [(990,)]]


def test_a_location_is_absolute_and_a_frame_has_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert locate("people.duckdb?table=x") == f"{tmp_path}/people.duckdb?table=x"
    assert locate(pd.DataFrame()) == FRAME


def test_what_does_not_fit_in_memory_goes_to_a_private_folder_that_is_removed():
    source = open_source(pa.table({"age": [1]}))
    [(folder,)] = source.engine.connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert os.stat(folder).st_mode & 0o777 == 0o700
    del source
    gc.collect()
    assert not os.path.exists(folder)


class TestFingerprint:
    """A changed table is refused; one that was only touched is not."""

    def test_it_is_the_same_for_the_same_rows_and_depends_on_the_key(self, engine, people, domain, tmp_path):
        where = engine(people, tmp_path)
        once, again = (open_table(where, domain).source.fingerprint(KEY) for _ in range(2))
        assert once == again
        assert once != open_table(where, domain).source.fingerprint(bytes(31) + b"1")

    def test_it_changes_with_one_value(self, engine, people, domain, tmp_path):
        before = open_table(engine(people, tmp_path), domain).source.fingerprint(KEY)
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        changed = [{**people[0], "age": 3 if people[0]["age"] != 3 else 4}, *people[1:]]
        assert open_table(engine(changed, tmp_path), domain).source.fingerprint(KEY) != before

    def test_a_table_in_use_that_changes_is_refused(self, make, people, domain, tmp_path):
        path = make.plain_csv(people, tmp_path)
        table = open_table(path, domain)
        fingerprint = table.source.fingerprint(KEY)
        table.verify(fingerprint, KEY)
        with open(path, "a") as file:
            file.write("5,F,10\n")
        with pytest.raises(TableError, match=r"the table has changed since the vault was made; .*discreet refresh"):
            table.verify(fingerprint, KEY)
        make.plain_csv(people, tmp_path)
        table.verify(fingerprint, KEY)

    def test_a_touched_file_is_accepted_and_hashed_once(self, make, people, domain, tmp_path, monkeypatch):
        path = make.parquet(people, tmp_path)
        table = open_table(path, domain)
        fingerprint = table.source.fingerprint(KEY)
        os.utime(path, ns=(1, 1))
        table.verify(fingerprint, KEY)
        monkeypatch.setattr("discreet.table.open.hash_files", lambda *_: pytest.fail("hashed again"))
        table.verify(fingerprint, KEY)

    def test_a_moved_file_is_the_same_table(self, make, people, domain, tmp_path):
        path = make.parquet(people, tmp_path)
        fingerprint = open_table(path, domain).source.fingerprint(KEY)
        moved = path.rename(tmp_path / "elsewhere.parquet")
        assert open_table(moved, domain).source.fingerprint(KEY) == fingerprint

    def test_another_file_that_matches_the_pattern_is_a_change(self, make, people, domain, tmp_path):
        pattern = make.several_parquet(people, tmp_path)
        table = open_table(pattern, domain)
        fingerprint = table.source.fingerprint(KEY)
        table.verify(fingerprint, KEY)
        pq.write_table(make.to_arrow(people[:5]), tmp_path / "people-9.parquet")
        with pytest.raises(TableError, match="has changed"):
            table.verify(fingerprint, KEY)

    def test_a_row_that_moves_between_files_is_a_change(self, tmp_path):
        header, prints = "age,sex\n", set()
        for first, second in (("1,F\n2,F\n", ""), ("1,F\n", "2,F\n")):
            (tmp_path / "part1.csv").write_text(header + first)
            (tmp_path / "part2.csv").write_text(header + second)
            prints.add(open_source(tmp_path / "part*.csv").fingerprint(KEY))
        assert len(prints) == 2

    def test_changes_that_a_duckdb_file_keeps_in_its_log_are_changes(self, tmp_path):
        path = tmp_path / "base.duckdb"
        connection = duckdb.connect(path)
        connection.execute("CREATE TABLE people AS SELECT 1 AS age; CHECKPOINT; PRAGMA disable_checkpoint_on_shutdown")
        connection.close()
        before = open_source(path).fingerprint(KEY)
        connection = duckdb.connect(path)
        connection.execute("PRAGMA disable_checkpoint_on_shutdown; INSERT INTO people VALUES (2)")
        connection.close()
        assert (tmp_path / "base.duckdb.wal").exists()
        assert open_source(path).fingerprint(KEY) != before

    def test_a_file_that_went_away_is_an_error_in_words(self, make, people, domain, tmp_path):
        path = make.parquet(people, tmp_path)
        table = open_table(path, domain)
        fingerprint = table.source.fingerprint(KEY)
        path.unlink()
        with pytest.raises(DiscreetError, match="there is no file"):
            table.verify(fingerprint, KEY)

    def test_frames_with_equal_rows_have_equal_fingerprints_however_they_were_cut(self):
        whole = pa.table({"a": list(range(1000)), "b": ["x", None] * 500})
        cut = pa.concat_tables([whole.slice(0, 10), whole.slice(10)])
        prints = {
            open_source(frame).fingerprint(KEY) for frame in (whole, cut, whole.replace_schema_metadata({"k": "v"}))
        }
        assert len(prints) == 1
        assert open_source(pl.from_arrow(whole)).fingerprint(KEY) == open_source(pl.from_arrow(cut)).fingerprint(KEY)
