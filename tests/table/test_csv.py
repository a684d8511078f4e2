"""CSV as people write it: one line is one row, whatever is in it, or the file is refused by the number of a line."""

import gzip
import io
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.domain.read import parse_domain
from discreet.errors import TableError
from discreet.query.query import Count
from discreet.table import csv as csv_module
from discreet.table.open import open_source
from discreet.table.source import nobody
from discreet.table.text import as_bytes
from tests.populations import points, population

DOMAIN = parse_domain("""
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
""")

F, M, OTHER, MISSING = range(4)
UNKNOWN_AGE = 100

FILES = {
    "plain": (b"age,sex\n1,F\n2,M\n", [(1, F), (2, M)]),
    "without a last newline": (b"age,sex\n1,F\n2,M", [(1, F), (2, M)]),
    "Windows newlines": (b"age,sex\r\n1,F\r\n2,M\r\n", [(1, F), (2, M)]),
    "Windows newlines but for the last": (b"age,sex\r\n1,F\r\n2,M\r", [(1, F), (2, M)]),
    "mixed newlines": (b"age,sex\n1,F\r\n2,M\n3,F", [(1, F), (2, M), (3, F)]),
    "a byte order mark": (b"\xef\xbb\xbfage,sex\n1,F\n", [(1, F)]),
    "too few fields": (b"age,sex\n1\n2,M\n", [(1, MISSING), (2, M)]),
    "too many fields": (b"age,sex\n1,F,9,9\n2,M\n", [(1, F), (2, M)]),
    "empty lines": (b"age,sex\n\n1,F\n\n\r\n2,M\n\r\n", [(1, F), (2, M)]),
    "wrong text": (
        b"age,sex\nold,F\n1 year,M\n,F\n-,?\n",
        [(UNKNOWN_AGE, F)] * 2 + [(UNKNOWN_AGE, M), (UNKNOWN_AGE, OTHER)],
    ),
    "numbers as text": (b'age,sex\n"7",F\n 7 ,F\n7.0,F\n7e0,F\n', [(7, F)] * 4),
    "quoted separators": (b'age,sex\n1,"F"\n2,"a,b"\n3,"a""b"\n', [(1, F), (2, OTHER), (3, OTHER)]),
    "empty in quotes is a value": (b'age,sex\n1,""\n2,\n', [(1, OTHER), (2, MISSING)]),
    "a stray quote": (b'age,sex\n1,F"\n2,M\n3,"F"x\n', [(1, OTHER), (2, M), (3, OTHER)]),
    "a letter behind a quote": (b'age,sex\n1,"F" \n2,M\n', [(1, OTHER), (2, M)]),
    "bytes that are not UTF-8": (
        b"age,sex\n1,\xe9\n2,M\n\xff\xfe,F\n3,F\n",
        [(1, OTHER), (2, M), (UNKNOWN_AGE, F), (3, F)],
    ),
    "a zero byte": (b"age,sex\n1,\x00\n2,M\n", [(1, OTHER), (2, M)]),
    "a long line": (b"age,sex\n1," + b"x" * 3_000_000 + b"\n2,M\n", [(1, OTHER), (2, M)]),
    "no rows": (b"age,sex\n", []),
    "nothing but names": (b"age,sex", []),
    "nothing but empty lines": (b"age,sex\n\n\r\n\n", []),
    "semicolons": (b"age;sex\n1;F\n2;M\n", [(1, F), (2, M)]),
    "tabs": (b"age\tsex\n1\tF\n", [(1, F)]),
    "bars": (b"age|sex\n1|F\n", [(1, F)]),
    "columns that nobody asked for": (b"id,sex,name,age\n17,F,Ann,1\n", [(1, F)]),
    "row numbers without a name": (b",age,sex\n0,1,F\n1,2,M\n", [(1, F), (2, M)]),
    "quotes in names": (b'age,sex,it\'s,"a ""b"", c"\n1,F,,\n', [(1, F)]),
}


def written(folder, content, suffix=".csv"):
    path = folder / f"people{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    return path


@pytest.mark.parametrize(("content", "expected"), FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_every_line_is_a_row(content, expected, suffix, tmp_path):
    snapshot = population(written(tmp_path, content, suffix), DOMAIN)
    assert sorted(points(snapshot)) == sorted(expected)
    assert snapshot.evaluate([Count(DOMAIN.everything)])[0] == len(expected)


UNTOLD = {
    "old Mac newlines": (b"age,sex\r1,F\r2,M\r", "line 1 has a carriage return"),
    "a carriage return in a value": (b"age,sex\n1,F\n2,F\rM\n", "line 3 has a carriage return"),
    "a carriage return in quotes": (b'age,sex\n1,F\n\n2,"F\rM"\n', "line 4 has a carriage return"),
    "two carriage returns": (b"age,sex\n1,F\r\r\n", "line 2 has a carriage return"),
    "a newline in quotes": (b'age,sex\n1,"F\nM"\n2,M\n', "a quote is opened on line 2 and not closed there"),
    "an unbalanced quote": (b'age,sex\n1,F\n2,"M\n3,F\n', "a quote is opened on line 3 and not closed there"),
    "a quote that is open at the end": (b'age,sex\n1,F\n2,"', "a quote is opened on line 3"),
    "a quote open beyond all bounds": (b'age,sex\n1,"' + b"2,M\n" * 1_000_000, "a quote is opened on line 2"),
    "a line with many quotes": (b'age,sex\n1,F\n"""""",""a","b', "a quote is opened on line 3"),
}


@pytest.mark.parametrize(("content", "words"), UNTOLD.values(), ids=UNTOLD.keys())
def test_a_line_that_cannot_be_told_from_the_next_is_refused_by_its_number(content, words, tmp_path):
    with pytest.raises(TableError, match=words) as refusal:
        population(written(tmp_path, content), DOMAIN)
    assert "people.csv" in str(refusal.value)
    assert "Parquet" in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


class Untold(Exception):
    """A file whose lines cannot be told apart."""


def rows_by_hand(content, separator, places):
    """The rows of a file, line by line: the oracle. A value is bytes, None where it is missing."""
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    ends = [line.removesuffix(b"\r") for line in lines]
    for number, line in enumerate(ends, start=2):
        if b"\r" in line:
            raise Untold(f"line {number} ")
    rows = []
    for number, line in enumerate(ends, start=2):
        fields = fields_by_hand(line, separator, f"line {number} ") if line else None
        if fields is not None:
            rows.append(tuple(fields[place] if place < len(fields) else None for place in places))
    return rows


def fields_by_hand(line, separator, where):
    fields, found = [], separator
    while found:
        if not line.startswith(b'"'):
            value, found, line = line.partition(separator)
            fields.append(value or None)
            continue
        value, line = b"", line[1:]
        while True:
            before, quote, line = line.partition(b'"')
            if not quote:
                raise Untold(where)
            value += before
            if not line.startswith(b'"'):
                break
            value, line = value + b'"', line[1:]
        rest, found, line = line.partition(separator)
        fields.append(value + rest)
    return fields


def soups(separator):
    """Bytes in which quotes, separators and line ends are common."""
    bites = [b"a", b"1", b'"', b'""', separator, separator, b"\n", b"\n", b"\r\n", b"\r", b"\xff", b" ", b"\x00", b",;"]
    tidy = [bite for bite in bites if bite != b"\r"]
    return st.lists(st.sampled_from(bites), max_size=40).map(b"".join) | (
        st.lists(st.sampled_from([*tidy, b'"a"', separator + b'"', b'"' + separator]), max_size=60).map(b"".join)
    )


@settings(max_examples=400)
@given(st.data(), st.sampled_from([b",", b";", b"\t", b"|"]), st.integers(1, 4), st.sampled_from([1, 7, 64, 1 << 24]))
def test_any_bytes_are_the_rows_that_one_reads_by_hand_or_are_refused_at_the_same_line(data, separator, width, block):
    content = data.draw(soups(separator))
    wanted = data.draw(st.lists(st.integers(0, width - 1), min_size=1, unique=True))
    header = separator.join(b"c%d" % place for place in range(width)) + b"\n"
    _require_same(header, content, separator if width > 1 else b",", wanted, block)


@example(b'""\n')
@example(b'"\n"\n')
@example(b'a,"b""c",d\n')
@example(b'"",""\r\n\r\n"a""",b\n')
@given(st.binary(max_size=60))
def test_so_are_bytes_without_a_pattern(content):
    _require_same(b"a,b\n", content, b",", [1, 0], 1 << 24)


def _require_same(header, content, separator, wanted, block):
    names = header.decode().strip().split(separator.decode())
    expected = refused = None
    try:
        expected = Counter(rows_by_hand(content, separator, wanted))
    except Untold as where:
        refused = str(where)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_module, "BLOCK_BYTES", block)
        patch.setattr(csv_module, "_opened", lambda _: io.BytesIO(header + content))
        patch.setattr(csv_module, "files_of", lambda path: [path])
        source = csv_module.open_csv(__file__)
        read = source.read([names[place] for place in wanted], nobody)
        if refused is not None:
            # In one block, every carriage return is looked for before any quote. A last line without an end is another.
            at_once = block > len(header + content) and (content.endswith(b"\n") or b"\n" not in content)
            with pytest.raises(TableError, match=refused if at_once else r"line \d"):
                list(read)
            return
        batches = list(read)
    found = Counter(
        row for batch in batches for row in zip(*(as_bytes(c).to_pylist() for c in batch.columns), strict=True)
    )
    assert found == expected


def test_a_row_touches_no_other_row(tmp_path):
    """What is added to the answers by a line, whatever is in it, is at most that one row."""
    plain = b"1,F\n2,M\n3,F\n"
    odd = [
        b'"',
        b'1,"F',
        b"1,F\r",
        b'1,""F"',
        b"\xff\xff",
        b",,,,,",
        b"",
        b" ",
        b'"1","F"',
        b'""""',
        b"\x00",
        b"x" * 99,
    ]
    before = Counter(points(population(written(tmp_path, b"age,sex\n" + plain), DOMAIN)))
    for line in odd:
        for place in (0, 4, 8, 12):
            content = b"age,sex\n" + plain[:place] + line + b"\n" + plain[place:]
            try:
                after = Counter(points(population(written(tmp_path, content), DOMAIN)))
            except TableError:
                assert line.count(b'"') % 2
                continue
            assert not before - after
            assert sum((after - before).values()) == (1 if line else 0)


REFUSED = {
    "empty": (b"", "must name the columns"),
    "the same name twice": (b"age,age\n1,2\n", "each once"),
    "names that differ in case only": (b"age,Age\n1,2\n", "each once"),
    "names that are not UTF-8": (b"\xe9ge,sex\n1,F\n", "in UTF-8"),
    "two bytes a character": ("age,sex\n1,F\n".encode("utf-16"), "in UTF-8"),
    "a quote in a name that is not closed": (b'age,"sex\n1,F\n', "cannot be read as a CSV header"),
    "a first line beyond all bounds": (
        b"age,sex," + b",".join(b"c%d" % place for place in range(200_000)) + b"\n1,F\n",
        "cannot be read as a CSV header",
    ),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_header_that_names_no_columns_is_refused(content, words, tmp_path):
    with pytest.raises(TableError, match=words):
        open_source(written(tmp_path, content))


def test_a_line_beyond_all_bounds_is_refused_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(csv_module, "LONGEST_LINE", 5000)
    with pytest.raises(TableError, match="line 3 is longer than 5,000 bytes"):
        population(written(tmp_path, b"age,sex\n1,F\n2," + b"x" * 10_000 + b"\n"), DOMAIN)


def test_a_damaged_gzip_is_refused(tmp_path):
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"age,sex\n" * 1000)[:15])
    with pytest.raises(TableError, match="cannot be read"):
        open_source(tmp_path / "people.csv.gz")


@pytest.mark.parametrize(
    "damage", [lambda zipped: zipped[:-100], lambda zipped: zipped[:3000] + bytes(2000) + zipped[5000:]]
)
def test_a_gzip_that_is_damaged_further_on_is_refused_when_it_is_taken_in(tmp_path, damage):
    rows = b"".join(b"%d,F\n" % (i**5 % 9973) for i in range(20_000))
    (tmp_path / "people.csv.gz").write_bytes(damage(gzip.compress(b"age,sex\n" + rows)))
    source = open_source(tmp_path / "people.csv.gz")
    assert list(source.columns) == ["age", "sex"]
    with pytest.raises(TableError, match=r"people\.csv\.gz cannot be read"):
        population(tmp_path / "people.csv.gz", DOMAIN)


def test_files_of_one_table_must_have_one_header(tmp_path):
    (tmp_path / "part1.csv").write_text("age,sex\n1,F\n")
    (tmp_path / "part2.csv").write_text("sex,age\nM,2\n")
    with pytest.raises(TableError, match=r"part2\.csv has another first line than .*part1\.csv"):
        open_source(tmp_path / "part*.csv")


def test_files_of_one_table_are_read_one_after_the_other(tmp_path):
    (tmp_path / "part1.csv").write_text("age,sex\n1,F")
    (tmp_path / "part2.csv").write_bytes(b"\xef\xbb\xbfage,sex\r\n2,M\r\n")
    assert points(population(str(tmp_path / "part*.csv"), DOMAIN)) == [(1, F), (2, M)]


def test_only_the_first_line_is_read_to_open_a_file(tmp_path):
    (tmp_path / "people.csv").write_bytes(b"age,sex\n" + bytes(range(128, 256)) * 1000)
    assert list(open_source(tmp_path / "people.csv").columns) == ["age", "sex"]


def test_a_file_that_vanishes_is_an_error_in_words(tmp_path):
    path = written(tmp_path, b"age,sex\n1,F\n")
    source = open_source(path)
    path.unlink()
    with pytest.raises(TableError, match="cannot be read"):
        list(source.read(["age"], nobody))
