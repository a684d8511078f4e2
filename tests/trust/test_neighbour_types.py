"""Neighbours over types: every engine, every type of column, odd values; one row more, less, or another.

A snapshot has to be the sum of its rows: what a row becomes depends on that row alone, whatever stands beside it and
whoever stores it. Then no answer moves by more than the row's own point was charged for. Besides the exact answers, it
is compared which lines of the counting ran; and a reading that raises fails the test: no row can make one fail.
"""

import struct
import sys
from collections import Counter
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet.table.count as counting
from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.notation import Notation
from discreet.domain.region import Box, Region
from discreet.errors import DiscreetError
from discreet.query.query import Count, Sum, grain_of
from discreet.query.sensitivity import largest_addend
from discreet.table.layout import has_units
from discreet.table.unit import Unit
from tests.populations import bag, points, population

TEXTS = [
    b"a", b"A", b"", b" a", b"a ", b"\xff\xfe", b"\xc3", b"\xc3\xa9", b"e\xcc\x81", "ß".encode(), b"SS", b"a\x00b",
    b"1", b"01", b"1.0", b"1e0", b"-0", b"5", b"+5", b"inf", b"NaN", b"null", b"true", b"1e400", b"9" * 400, b"\n",
    b'"', b"2024-02-29", "\u202e".encode(), "İ".encode(), "ı".encode(), b"0x5", b"5_0", b"1970-01-01",
    b"1,5", b"1.234,5", b"1,234", b"1 234", b"t", b"YES", b" no ", b"\t5\n", b"True", b"?", b"\xe9", b"0,",
    b"2024-02-29T23:30:00Z", b"2024-02-29 24:00", b"29.2.2024", b"20240229", b"2024-02-30",
    b"1970-01-01T00:30:00+01:00",
]  # fmt: skip
"""Among them texts that are equal to others by some collation, fold, cast or normal form."""
INTEGERS = [0, 1, -1, 5, 9, 10, 127, -128, 255, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63), 2**64 - 1]
DOUBLES = [
    0.0,
    -0.0,
    0.5,
    1.0,
    5.0,
    9.5,
    10.0,
    -1e-320,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    2.0**53,
    0.1,
    0.3,
]
DECIMALS = [Decimal(text) for text in ("0", "-0", "5", "5.5", "9.99", "10", "0.1", "-3", "99999999.99")]
DAYS = [date(1, 1, 1), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
MOMENTS = [0, -1, 1_709_164_800_000_000, 1_709_161_200_000_000, 86_400_000_000 - 1, 2**62, -(2**62)]
"""Microseconds since 1970, some of them at midnight somewhere."""
QUIET_NAN, SIGNALLING_NAN = 0x7FF8000000000001, 0xFFF0000000000001

TYPES = {
    "text": (pa.string(), TEXTS),
    "large text": (pa.large_string(), TEXTS),
    "text views": (
        pa.string_view(),
        [text for text in TEXTS if b"\xff" not in text and text not in (b"\xc3", b"\xe9")],
    ),
    "dictionary of text": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "bytes of 8 bits": (pa.int8(), [n for n in INTEGERS if -128 <= n < 128]),
    "64 bits": (pa.int64(), [n for n in INTEGERS if n < 2**63]),
    "64 bits without a sign": (pa.uint64(), [n for n in INTEGERS if n >= 0]),
    "dictionary of numbers": (pa.dictionary(pa.int16(), pa.int32()), [n for n in INTEGERS if abs(n) < 2**31]),
    "doubles": (pa.float64(), DOUBLES),
    "floats": (pa.float32(), [n for n in DOUBLES if abs(n) < 1e38 or n != n or abs(n) == float("inf")]),
    "decimals": (pa.decimal128(12, 2), DECIMALS),
    "wide decimals": (pa.decimal256(60, 2), DECIMALS),
    "booleans": (pa.bool_(), [True, False]),
    "dates": (pa.date32(), DAYS),
    "timestamps": (pa.timestamp("us"), MOMENTS),
    "moments in UTC": (pa.timestamp("us", "UTC"), MOMENTS),
    "nothing": (pa.null(), []),
}
TIMED = {"timestamps", "moments in UTC"}
NUMERIC = set(TYPES) - TIMED - {"booleans", "dates"}
CATEGORICAL = set(TYPES) - TIMED - {"doubles", "floats", "decimals", "wide decimals"}
DATED = CATEGORICAL | TIMED - {"booleans"}
MARKS = [
    "",
    "a",
    "5",
    "-1",
    "1e0",
    "inf",
    "0.1",
    "true",
    "1970-01-01",
    "a ",
    "9" * 400,
    "é",
    "İ",
    "\u202e",
    "18446744073709551615",
]
"""Texts that a domain may declare for missing values."""
TREATMENTS = [(outside, null) for outside in ("drop", "clamp", "other") for null in (True, False)]


def a_notation(draw, kind, values=()):
    """How the values of a column are written, in half of the cases by declaration; never so that two are the same."""
    if draw.random() < 0.5:
        return Notation()
    missing = tuple(draw.sample(MARKS, draw.randrange(4)))
    trim = draw.random() < 0.5
    if kind == "number":
        decimal, thousands = draw.choice([(".", ""), (",", ""), (",", "."), (".", ","), (".", " "), (",", "_")])
        return Notation(missing=missing, trim=trim, decimal=decimal, thousands=thousands)
    booleans = tuple(draw.sample([("t", "f"), ("1", "0"), ("5", "a"), ("yes", "no")], draw.randrange(3)))
    notation = Notation(missing=missing, trim=trim, ignore_case=draw.random() < 0.5, booleans=booleans)
    declared = Category(name="x", source="s", values=values, notation=notation)
    meant = {}
    for text, code in declared.spellings():
        if meant.setdefault(notation.folded(text.encode()), code) != code:
            return Notation(trim=False)
    return notation


def a_date(draw, name):
    """Periods of a calendar around the dates of the rows, written in one way or another."""
    outside, null = draw.choice(TREATMENTS)
    low, high, period = draw.choice(
        [
            (date(1970, 1, 1), date(1970, 1, 31), "day"),
            (date(2024, 2, 26), date(2024, 3, 3), "week"),
            (date(1, 1, 1), date(9999, 12, 31), "year"),
            (date(1969, 1, 1), date(2024, 3, 31), "quarter"),
        ]
    )
    missing = tuple(draw.sample(["1970-01-01", "?", "", "5"], draw.randrange(3)))
    notation = Notation(missing=missing, trim=draw.random() < 0.5)
    return Date(
        name=name, source="s", low=low, high=high, period=period, outside=outside, null=null, notation=notation,
        zone=draw.choice(["UTC", "Europe/Zurich", "Pacific/Kiritimati"]),
        format=draw.choice(["YYYY-MM-DD", "DD.MM.YYYY", "YYYYMMDD", "YYYY"]),
    )  # fmt: skip


def an_attribute(draw, name):
    """An attribute and the type of its column, which suit each other."""
    outside, null = draw.choice(TREATMENTS)
    written = a_notation(draw, "number")
    match draw.randrange(4):
        case 3:
            return a_date(draw, name), draw.choice(sorted(DATED - {"booleans"}))
        case 0:
            low = draw.choice([0, -3, 5, -(2**53)])
            high = low + draw.choice([0, 9, 300]) if low > -(2**53) else 2**53
            made = Integer(name=name, source="s", low=low, high=high, outside=outside, null=null, notation=written)
            return made, draw.choice(sorted(NUMERIC))
        case 1:
            edges = sorted(draw.sample([Fraction(n, 10) for n in (-30, 0, 1, 3, 50, 95, 100)], draw.randrange(2, 5)))
            grain = draw.choice([None, Fraction(1), Fraction(1, 3), Fraction(1, 10)])
            made = Bins(
                name=name, source="s", edges=tuple(edges), grain=grain, outside=outside, null=null, notation=written
            )
            return made, draw.choice(sorted(NUMERIC))
        case _:
            kind = draw.choice(sorted(CATEGORICAL))
            spelt = [spelling(value) for value in TYPES[kind][1]] or ["a"]
            values = tuple(
                draw.sample(sorted({text for text in spelt if text}), 1 + draw.randrange(min(4, len(set(spelt)))))
            )
            outside = "drop" if outside == "clamp" else outside
            written = a_notation(draw, "category", values)
            prefix = draw.random() < 0.2
            made = Category(
                name=name, source="s", values=values, outside=outside, null=null, notation=written, prefix=prefix
            )
            return made, kind


def spelling(value):
    if isinstance(value, bytes):
        return value.decode(errors="ignore").replace("\x00", "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def a_column(values, kind):
    """Values as they are, bytes that are not UTF-8 and patterns of NaN among them."""
    if pa.types.is_dictionary(kind):
        return a_column(values, kind.value_type).dictionary_encode().cast(pa.dictionary(pa.int32(), kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        raw = pa.array(values, pa.binary() if pa.types.is_string(kind) else pa.large_binary())
        return pa.Array.from_buffers(kind, len(raw), raw.buffers(), raw.null_count)
    if pa.types.is_string_view(kind):
        return pa.array([None if v is None else v.decode() for v in values], pa.string()).cast(kind)
    if kind == pa.float64() and values:
        made = np.array([0.0 if v is None else v for v in values])
        for place in np.flatnonzero(np.isnan(made)):
            made[place] = struct.unpack("d", struct.pack("Q", (QUIET_NAN, SIGNALLING_NAN)[place % 2]))[0]
        return pa.array(made, kind, mask=np.array([v is None for v in values]))
    return pa.array(values, kind)


def a_table(rows, domain, types):
    columns = {a.name: a_column([row[i] for row in rows], TYPES[types[i]][0]) for i, a in enumerate(domain.attributes)}
    return pa.table(columns)


UNABLE = (pl.exceptions.PolarsError, duckdb.Error, pa.ArrowException, ValueError)


def tried(make, *of):
    """What is made; None where an engine cannot."""
    try:
        return None if any(one is None for one in of) else make(*of)
    except UNABLE:
        return None


def as_frame(tables, folder):  # noqa: ARG001
    return tables


def as_parquet(tables, folder):
    def written(table, path):
        pq.write_table(table, path, row_group_size=3, use_dictionary=table.num_rows % 2 == 0)
        return path

    return [tried(written, table, folder / f"{number}.parquet") for number, table in enumerate(tables)]


def as_polars(tables, folder):  # noqa: ARG001
    return [tried(pl.from_arrow, table) for table in tables]


def as_duckdb(tables, folder):
    """All tables in one file: to begin one takes DuckDB longer than to fill it."""
    file = folder / "t.duckdb"
    file.unlink(missing_ok=True)

    def written(connection, table, name):
        connection.register("frame", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
        return f"{file}?table={name}"

    with duckdb.connect(file) as connection:
        return [tried(written, connection, table, f"t{number}") for number, table in enumerate(tables)]


ENGINES = {as_frame: (900, 50_000), as_parquet: (600, 30_000), as_polars: (200, 10_000), as_duckdb: (40, 5_000)}
"""How many tables are looked at in each: in `make test`, and in `make soak`."""


def a_case(draw):
    """A domain, the types of its columns, and rows that are each drawn by themselves."""
    names = "abc"[: draw.randrange(1, 4)]
    attributes, types = zip(*(an_attribute(draw, name) for name in names), strict=True)
    pools = [[*TYPES[kind][1], None] for kind in types]
    rows = [tuple(draw.choice(pool) for pool in pools) for _ in range(draw.randrange(8))]
    return Domain("t", attributes), types, rows


def stored(engine, tables, domain, types, folder):
    """The snapshots of tables, given by their rows, in an engine; None where the engine itself cannot store one."""
    if engine is as_polars and "wide decimals" in types:
        return [None] * len(tables)  # Polars panics
    held = engine([tried(a_table, rows, domain, types) for rows in tables], folder)
    return [None if one is None else population(one, domain) for one in held]


def queries_of(draw, domain):
    whole = domain.everything.boxes[0]
    for _ in range(3):
        ends = [sorted((draw.randrange(size), draw.randrange(size))) for size in domain.shape]
        where = Region((Box(tuple(low for low, _ in ends), tuple(high for _, high in ends)),))
        by = tuple(a.name for a in domain.attributes if a.size < 1000 and draw.random() < 0.4)
        yield Count(draw.choice([where, Region((whole,))]), by)
        for attribute in domain.attributes:
            if isinstance(attribute, Integer) or has_units(attribute):
                yield Sum(attribute.name, where, by)


def traced(snapshot, queries):
    """The exact answers, and the lines of the counting that made them."""
    lines, watched = [], counting.__file__

    def trace(frame, event, _):
        if frame.f_code.co_filename != watched:
            return None
        if event == "line":
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return snapshot.evaluate(queries), lines
    finally:
        sys.settrace(before)


def moves(query, point, domain):
    """By how much a row at a point may move an answer."""
    if point not in query.where:
        return 0
    if isinstance(query, Count):
        return 1
    attribute = domain[query.of]
    return ceil((largest_addend(attribute) or 0) / grain_of(attribute))


def neighbours_of(draw, rows, types):
    """One row less, one more, one another; the row that went and the row that came."""
    new = tuple(draw.choice([*TYPES[kind][1], None]) for kind in types)
    place = draw.randrange(len(rows) + 1)
    yield [*rows[:place], new, *rows[place:]], None, new
    if rows:
        place = draw.randrange(len(rows))
        yield [*rows[:place], *rows[place + 1 :]], rows[place], None
        yield [*rows[:place], new, *rows[place + 1 :]], rows[place], new


def check_neighbours(draw, engine, folder):
    """One table and its neighbours in one engine. How many tables were looked at."""
    domain, types, rows = a_case(draw)
    neighbours = list(neighbours_of(draw, rows, types))
    spelt = {repr(row): row for row in (*rows, neighbours[0][2])}  # 0.0 and -0.0 are equal
    tables = [rows, *(others for others, _, _ in neighbours), *([row] for row in spelt.values())]
    snapshot, *made = stored(engine, tables, domain, types, folder)
    alone = dict(zip(spelt, made[len(neighbours) :], strict=True))
    if snapshot is None or None in [alone[repr(row)] for row in rows]:
        return 0  # the engine stores none of it, or one row beside others only
    assert bag(snapshot) == sum((bag(alone[repr(row)]) for row in rows), Counter()), (
        engine.__name__,
        domain,
        types,
        rows,
    )
    queries = list(queries_of(draw, domain))
    answers, lines = traced(snapshot, queries)
    looked_at = 1
    for (others, gone, came), neighbour in zip(neighbours, made, strict=False):
        if neighbour is None:
            continue
        looked_at += 1
        also, other_lines = traced(neighbour, queries)
        assert other_lines == lines, (engine.__name__, domain, types, rows, others)
        single = [alone[repr(row)] for row in (gone, came) if row]
        if None in single:
            continue  # the engine stores it beside others only
        changed = [point for one in single for point in points(one)]
        for query, mine, theirs in zip(queries, answers, also, strict=True):
            moved = int(np.abs(mine.astype(object) - theirs.astype(object)).sum())
            assert moved <= sum(moves(query, point, domain) for point in changed), (domain, types, rows, others, query)
    return looked_at


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_what_a_row_becomes_depends_on_that_row_alone(engine, amount, counted):
    draw, tables = Random(16), 0
    with TemporaryDirectory() as folder:
        while tables < amount(*ENGINES[engine]):
            tables += check_neighbours(draw, engine, Path(folder))
    counted(neighbouring_tables=tables)


SOUP = [b"1", b"F", b",", b'"', b'""', b"\xff", b"\x00", b" ", b"9.5", b"a,b", b'"F"', b'"a,b"', b"M", b"\xc3\xa9"]


def test_a_line_of_a_csv_file_is_a_row_by_itself(amount, counted, tmp_path):
    attributes = (
        Integer(name="age", source="s", low=0, high=9, outside="other", null=True),
        Category(name="sex", source="s", values=("F", "M", "é", "Ã©", "ÿ"), outside="other", null=True),
    )
    domain, draw, refused = Domain("t", attributes), Random(17), 0

    def of(lines, encoding):
        (tmp_path / "t.csv").write_bytes(b"age,sex\n" + b"".join(line + b"\n" for line in lines))
        return bag(population(f"{tmp_path / 't.csv'}?encoding={encoding}", domain))

    tables = amount(200, 10_000)
    for _ in range(tables):
        lines = [b"".join(draw.choices(SOUP, k=draw.randrange(6))) for _ in range(draw.randrange(6))]
        encoding = draw.choice(["utf-8", "latin-1", "cp1252"])
        try:
            whole = of(lines, encoding)
        except DiscreetError as error:
            refused += 1
            named = any(f"line {number}" in str(error) for number in range(2, len(lines) + 2))
            if not named:
                pytest.fail(str(error))
            continue
        assert whole == sum((of([line], encoding) for line in lines), Counter()), lines
    assert refused < tables
    counted(files_of_odd_lines=tables)


POSTGRES = {
    "text": [*TEXTS[:5], b"\xc3\xa9", b"e\xcc\x81", "ß".encode(), b"5", b"NaN"],
    'text COLLATE "und-x-icu"': [b"a", b"A", b"\xc3\xa9", b"e\xcc\x81", b"5"],
    "character(4)": [b"a", b"a ", b"A", b"5"],
    "numeric": ["0", "5", "-0", "NaN", "9.99", "1e400", "Infinity"],
    "double precision": ["0", "-0", "NaN", "Infinity", "5.5", "1e308"],
    "bigint": ["0", "5", str(2**63 - 1), str(-(2**63))],
    "boolean": ["t", "f"],
    "date": ["1970-01-01", "infinity", "-infinity", "4713-01-01 BC", "2024-02-29"],
    "mood": ["a", "A"],
}
"""Types of Postgres and values of them, as it reads them."""


@pytest.mark.xdist_group("postgres")
def test_what_a_row_in_postgres_becomes_depends_on_that_row_alone(postgres, amount, counted):
    draw, tables = Random(18), amount(30, 2_000)
    with postgres.connect() as session:
        session.execute("DROP TYPE IF EXISTS mood CASCADE")
        session.execute("CREATE TYPE mood AS ENUM ('A', 'a')")
        for _ in range(tables):
            kind = draw.choice(sorted(POSTGRES))
            numeric = kind.startswith(("numeric", "double", "bigint", "text"))
            outside, null = draw.choice([("other", True), ("drop", False), ("other", False)])
            values = ("a", "5", "é", "true", "1970-01-01")
            category = Category(name="x", source="s", values=values, outside=outside, null=null)
            bins = Bins(
                name="x", source="s", edges=(Fraction(0), Fraction(6), Fraction(10)), outside=outside, null=null
            )
            domain = Domain("t", (bins if numeric and kind != "bigint" else category,))
            pool = [v.decode() if isinstance(v, bytes) else v for v in POSTGRES[kind]] + [None]
            rows = [draw.choice(pool) for _ in range(draw.randrange(6))]

            def of(rows, kind=kind, domain=domain):
                session.execute("DROP TABLE IF EXISTS neighbours")
                session.execute(f"CREATE TABLE neighbours (x {kind})")
                for row in rows:
                    session.execute(
                        f"INSERT INTO neighbours SELECT CAST(%s::text AS {kind.partition(' COLL')[0]})", [row]
                    )
                return bag(population(postgres.uri("neighbours"), domain))

            assert of(rows) == sum((of([row]) for row in rows), Counter()), (kind, rows)
    counted(tables_in_Postgres=tables)


def test_what_is_kept_of_a_person_depends_on_that_person_alone(amount, counted):
    """Rows of people with ids of every type: a snapshot is the sum of its people, in any order of its rows."""
    domain = Domain("t", (Integer(name="x", source="s", low=0, high=9, outside="other"),))
    draw, tables = Random(19), amount(150, 10_000)
    for _ in range(tables):
        kind, ids = draw.choice(
            [("text", [b"7", b"07", b"", b"\xff"]), ("64 bits", [7, -7, 2**62]), ("decimals", DECIMALS)]
        )
        unit = Unit("id", draw.randrange(1, 4), draw.choice(["drop", "own"]))
        rows = [(draw.choice([*ids, None]), draw.randrange(12)) for _ in range(draw.randrange(12))]

        def of(rows, kind=kind, unit=unit):
            column = a_column([row[0] for row in rows], TYPES[kind][0])
            return bag(
                population(pa.table({"id": column, "x": pa.array([r[1] for r in rows], pa.int64())}), domain, unit)
            )

        whole = of(rows)
        assert whole == of(draw.sample(rows, len(rows)))
        people = {row[0] for row in rows if row[0] is not None}
        alone = sum((of([row for row in rows if row[0] == person]) for person in people), Counter())
        nobody = [row for row in rows if row[0] is None]
        assert whole == alone + of(nobody)
        assert of(nobody).total() == (len(nobody) if unit.null_ids == "own" else 0)
    counted(tables_of_people_with_ids=tables)
