"""The same rows have the same codes wherever they come from: files, frames, DuckDB, Postgres and Spark."""

import datetime as dt
import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError, TableError
from discreet.query.query import Count, Sum
from discreet.table.unit import Unit
from tests.populations import bag, points, population
from tests.table.conftest import AGES, INCOMES
from tests.table.conftest import DOMAIN as TROUBLED

DOMAIN = parse_domain(TROUBLED)
SEXES = ["F", "M", "X", None, "f", "", "F' OR 1=1 --", "ü", "F\\"]
AGE_CODES = [0, 1, 5, 9, 9, 0, 9, 0, 10, 7]
SEX_CODES = [0, 1, 2, 2, 2, 2, 2, 2, 2]
INCOME_CODES = [1, 0, 1, 2, 2, 3, None, None, 4, None, None, 4, None, 1, 1]
# In halves, away from zero where it is half a half: 9.999 → 20, 24.75 → 49.5 → 50, 0.25 → 0.5 → 1.
INCOME_UNITS = [0, -20, 20, 20, 50, 100, 0, 0, 0, 0, 0, 0, 0, 0, 1]

EVERYONE = DOMAIN.everything
YOUNG = Region((Box((0, 0, 0), (4, 2, 4)),))
RICH_OR_MISSING = Region.of([Box((0, 0, 3), (10, 2, 4)), Box((10, 0, 0), (10, 2, 4))])
NOBODY = Region(())
CHEQUERED = Region.of(Box(p, p) for p in itertools.product(range(11), range(3), range(5)) if sum(p) % 2)


@pytest.fixture(scope="module")
def people():
    """990 rows: every age with every sex and income in turn, in an order without a pattern; and their points."""
    turns = np.random.default_rng(1).permutation(990).tolist()
    turns = [(i % 10, i % 9, (i + i // 90) % 15) for i in turns]
    table = pa.table(
        {
            "age": pa.array([AGES[a] for a, _, _ in turns], pa.int64()),
            "sex": pa.array([SEXES[s] for _, s, _ in turns], pa.string()),
            "income": pa.array([INCOMES[i] for _, _, i in turns], pa.float64()),
        }
    )
    points = [((AGE_CODES[a], SEX_CODES[s], INCOME_CODES[i]), INCOME_UNITS[i]) for a, s, i in turns]
    return table, [(point, units) for point, units in points if None not in point]


def counted(points, query):
    """The answer by counting points one by one."""
    axes = [DOMAIN.axis(name) for name in query.by]
    answer = np.zeros([DOMAIN[name].size for name in query.by], np.int64)
    for point, units in points:
        if point in query.where:
            worth = {"age": point[0] if point[0] < 10 else 0, "income": units}
            answer[tuple(point[axis] for axis in axes)] += worth[query.of] if isinstance(query, Sum) else 1
    return answer


QUERIES = [
    *(Count(where) for where in (EVERYONE, YOUNG, RICH_OR_MISSING, NOBODY, CHEQUERED)),
    *(Count(EVERYONE, by) for by in (("age", "sex", "income"), ("sex", "age"), ("income",), ("income", "sex"))),
    *(Count(where, ("age",)) for where in (YOUNG, RICH_OR_MISSING, NOBODY, CHEQUERED)),
    *(Sum("income", where) for where in (EVERYONE, YOUNG, RICH_OR_MISSING, NOBODY, CHEQUERED)),
    *(Sum("age", where, ("sex",)) for where in (EVERYONE, YOUNG, NOBODY)),
]


def test_every_engine_answers_as_one_counts_by_hand(engine, people, tmp_path):
    table, rows = people
    snapshot = population(engine(table, tmp_path), DOMAIN)
    for query, answer in zip(QUERIES, snapshot.evaluate(QUERIES), strict=True):
        assert answer.dtype == np.int64
        assert np.array_equal(answer, counted(rows, query)), query
    assert sorted(points(snapshot)) == sorted(point for point, _ in rows)


def test_an_empty_table_has_empty_answers(engine, people, tmp_path):
    snapshot = population(engine(people[0].slice(0, 0), tmp_path), DOMAIN)
    total, by_sex, income = snapshot.evaluate([Count(EVERYONE), Count(EVERYONE, ("sex",)), Sum("income", YOUNG)])
    assert (total.tolist(), by_sex.tolist(), income.tolist()) == (0, [0, 0, 0], 0)


def codes_of(engine, column, attribute, folder):
    """The codes of the rows that are in the population, in no order: no engine promises one."""
    table = engine(pa.table({attribute.name: column}), folder)
    return sorted(code for (code,) in points(population(table, Domain("t", (attribute,)))))


NUMBERS_IN_TEXT = {
    "5": 5,
    " 7 ": 7,
    "-3": "other",
    "2.5": "other",
    "1e0": 1,
    ".0": 0,
    "8.": 8,
    "+4": 4,
    "inf": "other",
    "-Infinity": "other",
    "1e400": "other",
    "-1e400": "other",
    "1e-400": 0,
    "9" * 400: "other",
    "nan": "null",
    "": "null",
    "x": "null",
    "5 apples": "null",
    "0x1p3": "null",
    "1d": "null",
    "١": "null",
    "1e99999999": "null",
    "9" * 200_000: "null",
}


def test_numbers_in_text_are_read_where_they_are_written_as_people_write_them(engine, tmp_path):
    attribute = Integer(name="x", source="s", low=0, high=9, outside="other", null=True)
    meant = {"other": attribute.other_code, "null": attribute.null_code}
    expected = sorted(meant.get(code, code) for code in NUMBERS_IN_TEXT.values())
    assert codes_of(engine, pa.array(list(NUMBERS_IN_TEXT)), attribute, tmp_path) == expected


DECIMALS = [decimal.Decimal(text) for text in ("0", "2.5", "9.99", "-0.01", "10", "12345678901234567890.12")]
COLUMNS = {
    "small integers": (pa.array([0, 9, -1, 10, None], pa.int16()), [0, 2, 3, 3, 3]),
    "single floats": (pa.array([0.0, 2.5, 9.75, math.nan, math.inf, None], pa.float32()), [0, 1, 2, 3, 3, 3]),
    "doubles": (
        pa.array([-0.0, 2.4999999999999996, 9.999999999999998, -5e-324, 1.7e308], pa.float64()),
        [0, 0, 2, 3, 3],
    ),
    "decimals": (pa.array([*DECIMALS, None], pa.decimal128(30, 2)), [0, 1, 2, 3, 3, 3, 3]),
    "text": (pa.array(["0", "2.5", "9.99", "-0.01", "10", "ten", None]), [0, 1, 2, 3, 3, 3, 3]),
}


@pytest.mark.parametrize(("column", "codes"), COLUMNS.values(), ids=COLUMNS.keys())
def test_bins_take_every_type_of_number(engine, column, codes, tmp_path):
    attribute = Bins(name="x", source="s", edges=(0, decimal.Decimal("2.5"), 5, 10), outside="other", null=False)
    assert codes_of(engine, column, attribute, tmp_path) == sorted(codes)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_a_number_at_an_edge_falls_on_the_same_side_of_it_everywhere(engine, kind, tmp_path):
    """As a double: a single float that is written 0.7 is a little less than that, and 0.1 a little more."""
    tenths = [Fraction(n, 10) for n in range(11)]
    attribute = Bins(name="x", source="s", edges=tuple(tenths), grain=Fraction(1, 100), outside="other")
    numbers = np.array([float(edge) for edge in tenths], kind.to_pandas_dtype())
    steps = [np.nextafter(numbers, numbers.dtype.type(end)) for end in (-1, 2)]
    column = np.concatenate([numbers, *steps])
    doubles = column.astype(np.float64)
    edges = np.array([float(edge) for edge in tenths])
    codes = np.where((doubles >= 0) & (doubles < 1), np.searchsorted(edges[1:-1], doubles, side="right"), 10)
    assert codes_of(engine, pa.array(column), attribute, tmp_path) == sorted(codes.tolist())


CATEGORIES = {
    "text": (pa.array(["a", "b", "A", "a'b", 'a"b', "a\\b", "ü", "", None]), ("b", "a'b", 'a"b', "a\\b", "ü", "")),
    "whole numbers": (pa.array([1, -7, 2**31 - 1, None], pa.int32()), ("-7", "2147483647")),
    "booleans": (pa.array([True, False, None]), ("false", "true")),
    "dates": (
        pa.array(
            [*(dt.date(*day) for day in ((1970, 1, 1), (2024, 2, 29), (1, 1, 1), (1582, 10, 10), (9999, 12, 31))), None]
        ),
        ("2024-02-29", "0001-01-01", "1582-10-10"),
    ),
    "large whole numbers": (pa.array([2**63 - 1, -(2**63), 0], pa.int64()), ("9223372036854775807", "0")),
    "doubles": (pa.array([1.0, -7.0, 2.5, -0.0, 1e300, math.inf, math.nan, None]), ("-7", "0", "2.5", "1e+300", "inf")),
}


def as_text(value):
    """A whole number has no point, whatever it is stored as; NaN is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(("column", "values"), CATEGORIES.values(), ids=CATEGORIES.keys())
def test_categories_take_every_type_with_one_spelling_a_value(engine, column, values, tmp_path):
    attribute = Category(name="x", source="s", values=values, outside="other", null=True)
    texts = [as_text(value) for value in column.to_pylist()]
    expected = [
        attribute.null_code if text is None else values.index(text) if text in values else attribute.other_code
        for text in texts
    ]
    assert codes_of(engine, column, attribute, tmp_path) == sorted(expected)


def test_names_that_sql_would_stumble_over_are_columns_like_any_other(engine, tmp_path):
    names = (
        'a"b',
        "a`b",
        "select",
        "a b",
        "ü",
        "c0",
        "c1",
        "copies",
        "x",
        "1",
        "a.b",
        "everyone",
        "'; DROP TABLE t; --",
    )
    domain = Domain("t", tuple(Bins(name=n, source="s", edges=(0, 5), grain=1) for n in names))
    table = pa.table({n: [float(i % 5), 9.0] for i, n in enumerate(names)})
    snapshot = population(engine(table, tmp_path), domain)
    sums = snapshot.evaluate([Sum(name, domain.everything, (name,)) for name in names])
    assert [int(array.sum()) for array in sums] == [i % 5 for i in range(len(names))]


MISMATCHES = [
    (Integer(name="x", source="s", low=0, high=9), pa.array([True]), "bool"),
    (Integer(name="x", source="s", low=0, high=9), pa.array([dt.date(2000, 1, 1)]), "date"),
    (Category(name="x", source="s", values=("a",)), pa.array([dt.datetime(2024, 1, 1)]), "timestamp"),
    (Integer(name="y", source="s", low=0, high=9), pa.array([1]), "no column"),
]


@pytest.mark.parametrize(("attribute", "column", "said"), MISMATCHES, ids=[case[2] for case in MISMATCHES])
def test_a_column_that_the_domain_cannot_code_is_named(engine, attribute, column, said, tmp_path):
    place = engine(pa.table({"x": column}), tmp_path)
    with pytest.raises(DomainError, match=said):
        population(place, Domain("t", (attribute,)))


def test_the_rows_that_are_kept_of_a_person_are_the_same_everywhere(engine, tmp_path):
    """So that a table may move from one engine to another without another choice of rows."""
    chance = np.random.default_rng(4)
    table = pa.table(
        {
            "person": [f"p{n}" if n else None for n in chance.integers(0, 20, 400)],
            "number": pa.array(chance.integers(0, 20, 400)),
            "age": pa.array(chance.integers(-1, 12, 400)),
            "sex": [("F", "M", "X")[n] for n in chance.integers(0, 3, 400)],
            "income": chance.integers(-12, 55, 400) / 4,
        }
    )
    place = engine(table, tmp_path)
    for unit in (Unit("person", 3), Unit("number", 5)):
        assert bag(population(place, DOMAIN, unit)) == bag(population(table, DOMAIN, unit))
    own = population(place, DOMAIN, Unit("person", 3, "own"))
    assert own.rows.size > population(place, DOMAIN, Unit("person", 3)).rows.size
    with pytest.raises(TableError, match="has rows without person"):
        population(place, DOMAIN, Unit("person", 3, "refuse"))
