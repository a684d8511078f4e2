"""Files as they come: folders, partitions, packed files, Arrow, SQLite; and what does not go together, by its name."""

import gzip
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from discreet.domain.attribute import Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.errors import TableError
from discreet.table.open import open_source
from discreet.table.source import nobody
from discreet.table.state import state_of_source
from tests.populations import points, population

AGE = Integer(name="age", source="s", low=0, high=99, outside="other", null=True)
SEX = Category(name="sex", source="s", values=("F", "M"), outside="other", null=True)
PEOPLE = Domain("people", (AGE, SEX))
ROWS = [(31, "F"), (52, "M"), (7, "F")]
POINTS = [(31, 0), (52, 1), (7, 0)]
TABLE = pa.table({"age": [31, 52, 7], "sex": ["F", "M", "F"]})
TEXT = b"age,sex\n31,F\n52,M\n7,F\n"


def test_a_packed_csv_is_read_like_a_plain_one(tmp_path):
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(TEXT))
    (tmp_path / "p.csv.zst").write_bytes(pa.compress(TEXT, "zstd", asbytes=True))
    (tmp_path / "p.txt").write_bytes(TEXT)
    for name in ("p.csv.gz", "p.csv.zst", "p.txt"):
        assert points(population(tmp_path / name, PEOPLE)) == POINTS


def test_a_packed_file_that_is_cut_off_is_refused_without_a_word_of_it(tmp_path):
    packed = pa.compress(b"age,sex\n" + b"31,F\n" * 100_000, "zstd", asbytes=True)
    (tmp_path / "p.csv.zst").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(TableError, match=r"cannot be read"):
        population(tmp_path / "p.csv.zst", PEOPLE)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_file_without_names_is_given_them(tmp_path, mark):
    (tmp_path / "adult.data").write_bytes(mark + b"31,F\n52,M\n7,F\n")
    assert points(population(f"{tmp_path / 'adult.data'}?names=age,sex", PEOPLE)) == POINTS
    (tmp_path / "one.data").write_bytes(b'31,F\n52,"M\n')
    with pytest.raises(TableError, match="a quote is opened on line 2"):
        population(f"{tmp_path / 'one.data'}?names=age,sex", PEOPLE)
    for names in ("age,age", "age,,sex", "age,AGE", ""):
        with pytest.raises(TableError, match="names are those of all columns"):
            open_source(f"{tmp_path / 'adult.data'}?names={names}")


def written(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        lines = [",".join(table.column_names)] + [",".join(map(str, row.values())) for row in table.to_pylist()]
        path.write_text("\n".join(lines) + "\n")
    else:
        feather.write_feather(table, path, compression="uncompressed")


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather", "arrow"])
def test_a_folder_is_one_table_and_its_folders_are_columns(tmp_path, ending):
    root = tmp_path / "visits"
    for month, sex in ((1, "F"), (2, "M"), (3, "__HIVE_DEFAULT_PARTITION__")):
        written(pa.table({"age": [month * 10]}), root / f"year=2024/month={month}/sex={sex}/part.{ending}")
    (root / "_SUCCESS").touch()
    (root / ".hidden.csv").write_text("x\n")
    month = Integer(name="month", source="s", low=1, high=12)
    year = Date(name="year", source="s", low=date(2024, 1, 1), high=date(2024, 12, 31), period="year", format="YYYY")
    expected = [(10, 0, 0, 0), (20, 1, 1, 0), (30, 3, 2, 0)]
    for place in (root, root / "*/*/*/*", root / f"**/*.{ending}"):
        assert points(population(place, Domain("t", (AGE, SEX, month, year)))) == expected
    assert points(population(root, Domain("t", (month,)))) == [(0,), (1,), (2,)]
    source = open_source(root)
    assert state_of_source(source.stamp(), str(root)) == "not written to since the snapshot"
    one = root / f"year=2024/month=1/sex=F/part.{ending}"
    assert list(open_source(one).columns) == ["age"]


def test_a_folder_with_a_column_of_its_own_name_is_refused(tmp_path):
    written(TABLE, tmp_path / "sex=F" / "p.parquet")
    with pytest.raises(TableError, match="has a column sex and lies in a folder sex="):
        open_source(tmp_path)


def test_files_in_different_folders_are_refused(tmp_path):
    written(pa.table({"age": [1]}), tmp_path / "sex=F" / "p.parquet")
    written(pa.table({"age": [1]}), tmp_path / "p.parquet")
    with pytest.raises(TableError, match="lies in other folders than"):
        open_source(tmp_path)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_column_that_changes_between_files_is_named(tmp_path, ending):
    written(TABLE, tmp_path / f"a.{ending}")
    for other, said in [
        (pa.table({"age": ["31"], "sex": ["F"]}), r"b\.\w+: column 'age' is text, but int64 in .*a\."),
        (pa.table({"age": [31]}), r"b\.\w+ has no column 'sex'"),
        (TABLE.append_column("x", [[1, 2, 3]]), r"b\.\w+ has a column 'x'"),
    ]:
        written(other, tmp_path / f"b.{ending}")
        with pytest.raises(TableError, match=said):
            open_source(tmp_path)


def test_a_folder_of_several_kinds_or_of_none_is_refused(tmp_path):
    with pytest.raises(TableError, match="has no file that is read here"):
        open_source(tmp_path)
    written(TABLE, tmp_path / "a.parquet")
    written(TABLE, tmp_path / "b.csv")
    with pytest.raises(TableError, match="cannot be one table"):
        open_source(tmp_path)


def test_a_broken_arrow_file_is_refused(tmp_path):
    (tmp_path / "a.arrow").write_bytes(b"ARROW1 not really")
    with pytest.raises(TableError, match="is it a whole Arrow file"):
        open_source(tmp_path / "a.arrow")


@pytest.fixture
def database(tmp_path):
    with sqlite3.connect(tmp_path / "p.sqlite") as connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?)", [*ROWS, ("old", b"\xff"), (31.0, None), (2.5, 1)])
    return tmp_path / "p.sqlite"


def test_a_table_in_sqlite_is_read_by_the_text_of_its_values(database):
    assert points(population(database, PEOPLE)) == [*POINTS, (101, 2), (31, 3), (100, 2)]
    assert points(population(f"{database}?table=people", PEOPLE))[:3] == POINTS


def test_a_table_in_sqlite_is_named_where_there_are_several(database):
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE others (x)")
    with pytest.raises(TableError, match=r"has tables others, people; say which: .*p.sqlite\?table=NAME"):
        open_source(database)
    (database.parent / "x.sqlite").write_bytes(b"SQLite format 3\x00 not really")
    with pytest.raises(TableError, match="is it a whole SQLite file"):
        open_source(database.parent / "x.sqlite")


def test_a_reading_of_sqlite_changes_nothing(database):
    before = database.read_bytes()
    list(open_source(database).read(["age"], nobody))
    assert database.read_bytes() == before


@pytest.mark.parametrize("make", [sqlite3.connect, duckdb.connect])
def test_a_file_that_ends_in_db_is_the_database_that_it_begins_as(tmp_path, make):
    with closing(make(str(tmp_path / "people.db"))) as connection:
        connection.execute("CREATE TABLE people (age INTEGER)")
        connection.execute("INSERT INTO people VALUES (31)")
        connection.commit()
    source = open_source(tmp_path / "people.db")
    [batch] = source.read(["age"], nobody)
    assert str(batch.column(0)[0]) == "31"


def test_views_are_read_like_tables_and_so_is_what_a_database_computes(tmp_path):
    with duckdb.connect(tmp_path / "p.duckdb") as made:
        made.register("given", TABLE)
        made.execute("CREATE TABLE everyone AS SELECT * FROM given")
        made.execute("CREATE VIEW people AS SELECT sex, age FROM everyone")
    assert points(population(f"{tmp_path / 'p.duckdb'}?table=people", PEOPLE)) == POINTS
    with closing(sqlite3.connect(tmp_path / "p.sqlite")) as made:
        made.execute("CREATE TABLE everyone (half INTEGER, age INTEGER AS (2 * half + 1), sex TEXT)")
        made.executemany("INSERT INTO everyone VALUES (?, ?)", [(age // 2, sex) for age, sex in ROWS])
        made.execute("CREATE VIEW people AS SELECT age, sex FROM everyone")
        made.commit()
    expected = [(age // 2 * 2 + 1, sex) for (age, _), (_, sex) in zip(ROWS, POINTS, strict=True)]
    for table in ("everyone", "people"):
        assert points(population(f"{tmp_path / 'p.sqlite'}?table={table}", PEOPLE)) == expected


def test_files_of_several_kinds_are_named(tmp_path):
    (tmp_path / "1.csv").write_bytes(TEXT)
    (tmp_path / "2.csv").write_bytes(TEXT)
    pq.write_table(TABLE, tmp_path / "3.parquet")
    with pytest.raises(TableError, match=r"1\.csv and .*3\.parquet cannot be one table"):
        open_source(tmp_path)


MIXED = {
    "widths": ([pa.array([1], pa.int16()), pa.array([2], pa.int64())], [1, 2]),
    "without signs": ([pa.array([1], pa.uint8()), pa.array([2], pa.uint32())], [1, 2]),
    "points": ([pa.array([1.5], pa.float32()), pa.array([2.5])], [1.5, 2.5]),
    "nobody": ([pa.nulls(1), pa.array(["x"]), pa.nulls(1)], [None, "x", None]),
    "texts": (
        [pa.array(["x"], pa.large_string()), pa.array(["y"]), pa.array(["z"]).dictionary_encode()], ["x", "y", "z"],
    ),
    "decimals": ([pa.array([Decimal("1.5")]), pa.array([Decimal("1000.25")])], [Decimal("1.50"), Decimal("1000.25")]),
    "moments": (
        [pa.array([-1], pa.timestamp("ns", "UTC")), pa.array([1000], pa.timestamp("ms", "UTC"))],
        [datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("stored", MIXED)
def test_files_may_store_the_same_in_another_width(stored, ending, tmp_path):
    """Writers choose widths by the rows of each file: a month in which nobody has a value, say."""
    columns, values = MIXED[stored]
    for place, column in enumerate(columns):
        written(pa.table({"x": column}), tmp_path / f"{place}.{ending}")
    batches = open_source(tmp_path).read(["x"], nobody)
    assert [value for batch in batches for value in batch["x"].to_pylist()] == values


APART = [
    (pa.array([1]), pa.array([1.5])), (pa.array([1]), pa.array(["1"])), (pa.array([True]), pa.array([1])),
    (pa.array([1], pa.uint64()), pa.array([-1])), (pa.array([date(2024, 1, 1)]), pa.array([datetime(2024, 1, 1)])),
    (pa.array([datetime(2024, 1, 1)]), pa.array([datetime(2024, 1, 1)], pa.timestamp("us", "UTC"))),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), APART)
def test_files_that_store_something_else_are_no_table(one, other, tmp_path):
    written(pa.table({"x": one}), tmp_path / "1.parquet")
    written(pa.table({"x": other}), tmp_path / "2.parquet")
    with pytest.raises(
        TableError, match=r"2\.parquet: column 'x' is .*, but .* in .*1\.parquet; write them with one type"
    ):
        open_source(tmp_path)
