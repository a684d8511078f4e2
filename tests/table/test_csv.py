"""CSV as people write it: no line makes a query fail, and none is reported."""

import gzip

import pytest
from discreet.table.table import open_table

from discreet.domain.read import parse_domain
from discreet.errors import TableError
from discreet.query.query import Count
from discreet.table.open import open_source

DOMAIN = """
name = "t"
[attributes.age]
kind = "integer"
low = 0
high = 99
outside = "other"
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
outside = "other"
null = true
source = "a test"
"""

F, M, OTHER, MISSING = range(4)
UNKNOWN_AGE = 100

FILES = {
    "plain": (b"age,sex\n1,F\n2,M\n", [(1, F), (2, M)]),
    "without a last newline": (b"age,sex\n1,F\n2,M", [(1, F), (2, M)]),
    "Windows newlines": (b"age,sex\r\n1,F\r\n2,M\r\n", [(1, F), (2, M)]),
    "old Mac newlines": (b"age,sex\r1,F\r2,M\r", [(1, F), (2, M)]),
    "mixed newlines": (b"age,sex\n1,F\r\n2,M\n3,F", [(1, F), (2, M), (3, F)]),
    "a byte order mark": (b"\xef\xbb\xbfage,sex\n1,F\n", [(1, F)]),
    "too few fields": (b"age,sex\n1\n2,M\n", [(1, MISSING), (2, M)]),
    "too many fields": (b"age,sex\n1,F,9,9\n2,M\n", [(1, F), (2, M)]),
    "empty lines": (b"age,sex\n\n1,F\n\n\n2,M\n", [(1, F), (2, M)]),
    "wrong text": (
        b"age,sex\nold,F\n1 year,M\n,F\n-,?\n",
        [(UNKNOWN_AGE, F)] * 2 + [(UNKNOWN_AGE, M), (UNKNOWN_AGE, OTHER)],
    ),
    "numbers as text": (b'age,sex\n"7",F\n 7 ,F\n7.0,F\n7e0,F\n', [(7, F)] * 4),
    "quoted separators": (b'age,sex\n1,"F"\n2,"a,b"\n3,"a""b"\n', [(1, F), (2, OTHER), (3, OTHER)]),
    "a quoted newline": (b'age,sex\n1,"F\nM"\n2,M\n', [(1, OTHER), (2, M)]),
    "a stray quote": (b'age,sex\n1,F"\n2,M\n', [(1, OTHER), (2, M)]),
    "an unbalanced quote": (b'age,sex\n1,F\n2,"M\n3,F\n', [(1, F), (2, OTHER)]),
    "bytes that are not UTF-8": (b"age,sex\n1,\xe9\n2,M\n\xff\xfe,F\n3,F\n", [(2, M), (3, F)]),
    "a zero byte": (b"age,sex\n1,\x00\n2,M\n", [(1, OTHER), (2, M)]),
    "a line beyond all bounds": (b"age,sex\n1," + b"x" * 3_000_000 + b"\n2,M\n", [(2, M)]),
    "a quote open beyond all bounds": (b'age,sex\n1,"' + b"2,M\n" * 1_000_000, []),
    "no rows": (b"age,sex\n", []),
    "nothing but names": (b"age,sex", []),
    "semicolons": (b"age;sex\n1;F\n2;M\n", [(1, F), (2, M)]),
    "tabs": (b"age\tsex\n1\tF\n", [(1, F)]),
    "bars": (b"age|sex\n1|F\n", [(1, F)]),
    "columns that nobody asked for": (b"id,sex,name,age\n17,F,Ann,1\n", [(1, F)]),
    "row numbers without a name": (b",age,sex\n0,1,F\n1,2,M\n", [(1, F), (2, M)]),
    "an apostrophe in a name": (b"age,sex,it's\n1,F,\n", [(1, F)]),
}


@pytest.mark.parametrize(("content", "expected"), FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_every_line_is_a_row_or_is_left_out_in_silence(content, expected, suffix, tmp_path):
    path = tmp_path / f"people{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    domain = parse_domain(DOMAIN)
    table = open_table(path, domain)
    for _ in range(3):
        points = [tuple(row.values()) for batch in table.codes() for row in batch.to_pylist()]
        assert sorted(points) == sorted(expected)
        assert table.evaluate([Count(domain.everything)])[0] == len(expected)


REFUSED = {
    "empty": (b"", "must name the columns"),
    "the same name twice": (b"age,age\n1,2\n", "each once"),
    "names that differ in case only": (b"age,Age\n1,2\n", "each once"),
    "names that are not UTF-8": (b"\xe9ge,sex\n1,F\n", "in UTF-8"),
    "two bytes a character": ("age,sex\n1,F\n".encode("utf-16"), "in UTF-8"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_header_that_names_no_columns_is_refused(content, words, tmp_path):
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(TableError, match=words):
        open_source(tmp_path / "people.csv")


def test_a_damaged_gzip_is_refused(tmp_path):
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"age,sex\n" * 1000)[:15])
    with pytest.raises(TableError, match="cannot be read"):
        open_source(tmp_path / "people.csv.gz")


def test_files_of_one_table_must_have_one_header(tmp_path):
    (tmp_path / "part1.csv").write_text("age,sex\n1,F\n")
    (tmp_path / "part2.csv").write_text("sex,age\nM,2\n")
    with pytest.raises(TableError, match=r"part2\.csv has another first line than .*part1\.csv"):
        open_source(tmp_path / "part*.csv")


def test_only_the_first_line_is_read_to_open_a_file(tmp_path):
    (tmp_path / "people.csv").write_bytes(b"age,sex\n" + bytes(range(128, 256)) * 1000)
    assert open_source(tmp_path / "people.csv").rows.columns == ("age", "sex")
