"""Values as people write them, by declaration: the same rows in every engine, whatever type holds them."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.notation import Notation
from discreet.errors import DomainError, TableError
from discreet.table.open import open_source
from tests.populations import points, population

AGE = Integer(name="x", source="s", low=0, high=99, outside="other", null=True)
OTHER_AGE, NO_AGE = 100, 101
TRUTH = Category(name="x", source="s", values=("false", "true"), outside="other", null=True)
NO, YES, OTHER, MISSING = range(4)
COLOUR = Category(name="x", source="s", values=("Red", "Blau"), outside="other", null=True)


def as_csv(table, folder):
    lines = ["x,y", *(",1" if value is None else f'"{value}",1' for value in table["x"].to_pylist())]
    (folder / "t.csv").write_text("\n".join(lines), newline="")
    return folder / "t.csv"


def as_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def as_duckdb(table, folder):
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    return folder / "t.duckdb"


def as_polars(table, folder):  # noqa: ARG001
    return pl.from_arrow(table)


def as_arrow(table, folder):  # noqa: ARG001
    return table


ENGINES = (as_csv, as_parquet, as_duckdb, as_polars, as_arrow)
CASES = {
    "missing marks in text": (
        replace(AGE, notation=Notation(missing=("-9", "99"))),
        pa.array(["-9", "-9.0", "?", "7", "99", "100", None]),
        [NO_AGE, NO_AGE, NO_AGE, 7, NO_AGE, OTHER_AGE, NO_AGE],
    ),
    "missing marks in whole numbers": (
        replace(AGE, notation=Notation(missing=("-9", "99", "?"))),
        pa.array([-9, 7, 99, 100, None], pa.int64()),
        [NO_AGE, 7, NO_AGE, OTHER_AGE, NO_AGE],
    ),
    "missing marks in bytes": (
        replace(AGE, notation=Notation(missing=("-9", "300", "1e30", "7.5"))),
        pa.array([-9, 7, 44], pa.int8()),
        [NO_AGE, 7, 44],
    ),
    "missing marks in doubles": (
        replace(AGE, notation=Notation(missing=("-9",))),
        pa.array([-9.0, 7.0, -9.5], pa.float64()),
        [NO_AGE, 7, OTHER_AGE],
    ),
    "missing marks in decimals": (
        replace(AGE, notation=Notation(missing=("-9",))),
        pa.array([Decimal("-9.00"), Decimal("7.00")], pa.decimal128(6, 2)),
        [NO_AGE, 7],
    ),
    "missing marks of a category": (
        replace(COLOUR, notation=Notation(missing=("", "?"))),
        pa.array(["Red", "", "?", " ?", "Blau", "red"]),
        [0, MISSING, MISSING, OTHER, 1, OTHER],
    ),
    "missing marks of a category in numbers": (
        Category(name="x", source="s", values=("1",), outside="other", null=True, notation=Notation(missing=("-9",))),
        pa.array([1, -9, 2], pa.int32()),
        [0, 2, 1],
    ),
    "booleans in words": (
        replace(TRUTH, notation=Notation(booleans=(("True", "False"), ("yes", "no")))),
        pa.array(["True", "False", "yes", "no", "true", "false", "YES", "1", None]),
        [YES, NO, YES, NO, YES, NO, OTHER, OTHER, MISSING],
    ),
    "booleans as numbers": (
        replace(TRUTH, notation=Notation(booleans=(("1", "0"),))),
        pa.array([1, 0, 2, None], pa.int64()),
        [YES, NO, OTHER, MISSING],
    ),
    "case and spaces": (
        replace(COLOUR, notation=Notation(trim=True, ignore_case=True, missing=("na",))),
        pa.array(["RED", " red\t", "BLAU", "N A", " NA ", "r ed", ""]),
        [0, 0, 1, OTHER, MISSING, OTHER, OTHER],
    ),
    "decimal commas": (
        Bins(
            name="x", source="s", edges=(Fraction(0), Fraction(1000), Fraction(2000)), grain=Fraction(1, 2),
            outside="other", null=True, notation=Notation(decimal=",", thousands="."),
        ),
        pa.array(["1.234,5", "12,75", "12.75", "1.999", "2.000"]),
        [1, 0, 3, 1, 2],
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
@pytest.mark.parametrize("case", CASES)
def test_a_value_means_what_its_column_declares_in_every_engine(case, engine, tmp_path):
    attribute, column, codes = CASES[case]
    taken = population(engine(pa.table({"x": column}), tmp_path), Domain("t", (attribute,)))
    assert [code for (code,) in points(taken)] == codes


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_a_declared_encoding_is_read_also_in_the_header(encoding, tmp_path):
    towns = Category(name="Größe", source="s", values=("Zürich", "Genève"), outside="other")
    (tmp_path / "t.csv").write_bytes("Größe;n\nZürich;1\nGenève;2\n".encode(encoding) + b"\x81;3\n")
    with pytest.raises(TableError, match=r"not in UTF-8; say what it is in: .*t.csv\?encoding=latin-1"):
        open_source(tmp_path / "t.csv")
    table = f"{tmp_path / 't.csv'}?encoding={encoding}"
    assert points(population(table, Domain("t", (towns,)))) == [(0,), (1,), (2,)]


def test_every_byte_of_an_encoding_stands_for_one_character(tmp_path):
    every = bytes(byte for byte in range(256) if byte not in b'\n\r",')
    for encoding, euro in (("latin-1", "\x80"), ("cp1252", "€")):
        values = tuple(dict.fromkeys((euro, *(chr(byte) for byte in every if byte < 0x80))))
        attribute = Category(name="x", source="s", values=values, outside="other")
        (tmp_path / "t.csv").write_bytes(b"x,y\n" + b"".join(bytes([byte]) + b",1\n" for byte in every))
        taken = population(f"{tmp_path / 't.csv'}?encoding={encoding}", Domain("t", (attribute,)))
        codes = [code for (code,) in points(taken)]
        assert len(codes) == len(every)
        known = [chr(byte) if byte < 0x80 else euro for byte in every if byte <= 0x80]
        assert [values[code] for code in codes if code < len(values)] == known


SEPARATORS = {"colon": ":", "tab": "\t", "pipe": "|", "space": " ", "%3A": ":", "^": "^", "+": "+", ";": ";", "&": None}


@pytest.mark.parametrize(("said", "meant"), SEPARATORS.items())
def test_any_separator_can_be_declared(said, meant, tmp_path):
    (tmp_path / "t.csv").write_text("x{0}y\n5{0}1\n".format(meant or ","))
    if meant is None:
        with pytest.raises(TableError, match="the separator is one character"):
            open_source(f"{tmp_path / 't.csv'}?separator={said}")
        return
    assert points(population(f"{tmp_path / 't.csv'}?separator={said}", Domain("t", (AGE,)))) == [(5,)]


REFUSED = ["encoding=utf-16", "encodin=latin-1", "separator=", "separator=ab", "separator=a", "separator=%22"]


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_said_of_a_file_is_refused_with_what_can(said, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n5,1\n")
    with pytest.raises(TableError, match=r"encoding=utf-8 .* latin-1 .* cp1252, separator=comma"):
        open_source(f"{tmp_path / 't.csv'}?{said}")


def test_a_column_that_is_not_there_names_the_settings_of_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("x:y\n5:1\n")
    with pytest.raises(DomainError, match=r"no column 'x'; its columns are x:y; .*divided by comma.*separator="):
        population(tmp_path / "t.csv", Domain("t", (AGE,)))


def test_a_title_that_was_read_as_the_names_names_the_setting(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Members, 2026\nMade on 1 May\nx,y\n5,1\n")
    for said, line, more in (("", "the first line", 1), ("?skip=1", "the first line below 1", 2)):
        with pytest.raises(DomainError, match=rf"{line} was read as .* or titles stand above .*t\.csv\?skip={more}$"):
            population(f"{path}{said}", Domain("t", (AGE,)))
    with pytest.raises(DomainError, match=r"its columns are a, b; the names are those of the location$"):
        population(f"{path}?names=a,b", Domain("t", (AGE,)))


def test_lines_above_the_names_are_passed_over_by_declaration(tmp_path):
    """As offices and questionnaires write them: a title, how the file was made, a quote that nobody closes."""
    (tmp_path / "t.csv").write_bytes(b'Members "of\n\xff\xfe;;\n\nx;y\n5;1\n7;1\n')
    assert points(population(f"{tmp_path / 't.csv'}?skip=3", Domain("t", (AGE,)))) == [(5,), (7,)]
    assert points(population(f"{tmp_path / 't.csv'}?skip=4&names=x,y&separator=semicolon", Domain("t", (AGE,)))) == [
        (5,),
        (7,),
    ]
    with pytest.raises(TableError, match="the first line below 9 must name the columns, and there is nothing on it"):
        open_source(f"{tmp_path / 't.csv'}?skip=9")
    for said in ("-1", "x", "", "99999999"):
        with pytest.raises(TableError, match="skip is how many lines stand above"):
            open_source(f"{tmp_path / 't.csv'}?skip={said}")


NO_HEADERS = {
    b"": "the first line must name the columns, and there is nothing on it",
    b"age,sex,Age\n": "'Age' is the name of columns 1 and 3",
    "age,sex\n".encode("utf-16"): "it seems to be text in UTF-16: save it in UTF-8",
    "age,sex\n".encode("utf-16-le"): "it seems to be text in UTF-16: save it in UTF-8",
    b"PAR1\xff": "it is a Parquet file: call it .parquet",
    b"PK\x03\x04\xff": "it is a workbook: call it .xlsx",
    b"\x1f\x8b\xff": "it is packed by gzip: call it .csv.gz",
}


@pytest.mark.parametrize("begins", NO_HEADERS)
def test_a_file_without_a_first_line_says_what_is_wrong_with_it(begins, tmp_path):
    (tmp_path / "t.csv").write_bytes(begins)
    with pytest.raises(TableError, match=NO_HEADERS[begins]):
        open_source(tmp_path / "t.csv")


CODES = Category(
    name="x", source="s", values=("1", "2", "2.5"), outside="other", null=True, notation=Notation(missing=("-9",))
)
NUMBERS = {
    "doubles": (pa.array([1.0, 2.5, None, -9.0, 3.0, 2.0]), [0, 2, 4, 4, 3, 1]),
    "of 32 bits": (pa.array([1.0, 2.5, None, -9.0, 0.1, 2.0], pa.float32()), [0, 2, 4, 4, 3, 1]),
    "decimals": (
        pa.array([Decimal("1.00"), Decimal("2.50"), None, Decimal("-9.00"), Decimal("100.00")]),
        [0, 2, 4, 4, 3],
    ),
}


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine is not as_csv], ids=lambda e: e.__name__)
@pytest.mark.parametrize("stored", NUMBERS)
def test_codes_that_are_stored_with_a_point_are_the_whole_numbers_that_they_are(stored, engine, tmp_path):
    """What pandas makes of a column of codes as soon as one is missing."""
    column, codes = NUMBERS[stored]
    taken = population(engine(pa.table({"x": column}), tmp_path), Domain("t", (CODES,)))
    assert [code for (code,) in points(taken)] == codes


def test_what_is_no_number_or_beyond_all_has_a_code_too():
    column = pa.array([float("nan"), float("inf"), -0.0, 1e300, 1.0000000000000002])
    assert [code for (code,) in points(population(pa.table({"x": column}), Domain("t", (CODES,))))] == [4, 3, 3, 3, 3]


def test_a_column_that_is_called_otherwise_is_named_first_of_many(tmp_path):
    (tmp_path / "t.csv").write_text(",".join(f"q{n:03}" for n in range(200)) + ",Age\n")
    with pytest.raises(
        DomainError, match=r"no column 'age'; 'Age' is there; its columns are Age, q000, .* and 181 more"
    ):
        population(tmp_path / "t.csv", Domain("t", (replace(AGE, name="age"),)))
