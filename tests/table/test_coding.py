"""From values to codes: every kind, with every treatment of values outside and missing, on every type of column."""

import datetime as dt
import decimal
import math
from fractions import Fraction

import pyarrow as pa
import pytest
from discreet.table.table import open_table
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError
from discreet.query.query import Sum

INTEGERS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint64(): (0, 2**64 - 1),
}
NUMBERS_IN_TEXT = (
    "5",
    " 7 ",
    "-3",
    "2.5",
    "1e3",
    "0.1",
    "inf",
    "-inf",
    "nan",
    "1e400",
    "",
    "x",
    "5 apples",
    "0x10",
)


def near(*numbers):
    """Numbers and their neighbours, where mistakes live."""
    return [number + step for number in numbers for step in (-1, 0, 1)]


def whole_columns():
    def column(kind):
        low, high = INTEGERS[kind]
        special = [n for n in near(low, high, -5, 0, 7, 2**53, -(2**53)) if low <= n <= high]
        values = st.lists(st.none() | st.integers(low, high) | st.sampled_from(special), max_size=40)
        return values.map(lambda listed: pa.array(listed, kind))

    return st.sampled_from(list(INTEGERS)).flatmap(column)


def number_columns():
    doubles = st.floats() | st.sampled_from([0.1, 0.3, 0.7, 2.5, -5.0, 7.0, 2.0**53, -0.0, 1e308, 5e-324])
    singles = st.floats(width=32)
    cents = st.integers(-(10**9), 10**9).map(lambda n: decimal.Decimal(n).scaleb(-2))
    huge = st.integers(-(10**37), 10**37).map(decimal.Decimal)
    kinds = [
        (doubles, pa.float64()),
        (singles, pa.float32()),
        (cents, pa.decimal128(12, 2)),
        (huge, pa.decimal128(38, 0)),
        (st.sampled_from(NUMBERS_IN_TEXT), pa.string()),
    ]
    return whole_columns() | st.one_of(
        st.lists(st.none() | values, max_size=40).map(lambda listed, kind=kind: pa.array(listed, kind))
        for values, kind in kinds
    )


def integer_attributes():
    ends = st.tuples(st.integers(-9, 9), st.integers(-9, 9)) | st.sampled_from([(-(2**53), 2**53), (0, 300), (7, 7)])
    treatments = st.tuples(st.sampled_from(["drop", "clamp", "other"]), st.booleans())
    return st.builds(
        lambda both, rest: Integer(
            name="x", source="a test", low=min(both), high=max(both), outside=rest[0], null=rest[1]
        ),
        ends,
        treatments,
    )


def bins_attributes():
    finite = st.lists(st.integers(-40, 40).map(lambda n: Fraction(n, 10)), min_size=2, max_size=5, unique=True)
    ends = st.sampled_from(["closed", "from below", "to above"])
    grains = st.sampled_from([None, Fraction(1), Fraction(1, 10), Fraction(3), Fraction(1, 3)])

    def attribute(edges, open_end, grain, outside, null):
        edges = sorted(edges)
        edges = {"from below": [None, *edges], "to above": [*edges, None], "closed": edges}[open_end]
        return Bins(name="x", source="a test", edges=tuple(edges), grain=grain, outside=outside, null=null)

    return st.builds(attribute, finite, ends, grains, st.sampled_from(["drop", "clamp", "other"]), st.booleans())


def codes_in(table):
    return sorted(code for batch in table.codes() for code in batch.column("x").to_pylist())


def coded_rows(column, attribute):
    return codes_in(open_table(pa.table({"x": column}), Domain("t", (attribute,))))


@settings(max_examples=100)
@given(column=number_columns(), attribute=integer_attributes() | bins_attributes())
def test_a_number_gets_the_code_and_adds_the_amount_that_the_domain_says(oracle, column, attribute):
    domain = Domain("t", (attribute,))
    table, truth = open_table(pa.table({"x": column}), domain), oracle([{"x": v} for v in column.to_pylist()], domain)
    assert codes_in(table) == sorted(code for (code,) in truth.points)
    if isinstance(attribute, Integer) or (attribute.grain is not None and not attribute.open):
        query = Sum("x", domain.everything)
        total = truth.answer(query).get((), 0)
        assert table.evaluate([query])[0].item() == max(min(total, 2**62), -(2**62))


DAYS = [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]
CATEGORIES = {
    "text": (pa.string(), ["a", "b", "A", "", "a'b", 'a"b', "ü", "None", "null", "\n"]),
    "whole numbers": (pa.int32(), [0, 1, -7, 2**31 - 1]),
    "large whole numbers": (pa.uint64(), [0, 2**64 - 1]),
    "booleans": (pa.bool_(), [True, False]),
    "dates": (pa.date32(), DAYS),
    "dictionaries": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "c"]),
}


@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("outside", ["drop", "other"])
@pytest.mark.parametrize(("kind", "values"), CATEGORIES.values(), ids=CATEGORIES.keys())
def test_a_category_gets_the_code_that_the_domain_says(oracle, kind, values, outside, null):
    declared = tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values[1:][::-1])
    attribute = Category(name="x", source="a test", values=declared, outside=outside, null=null)
    column = pa.array([*values, None, values[0], values[-1]], kind)
    rows = [{"x": value} for value in column.to_pylist()]
    assert coded_rows(column, attribute) == sorted(c for (c,) in oracle(rows, Domain("t", (attribute,))).points)


def test_a_category_may_have_many_values():
    attribute = Category(name="x", source="a test", values=tuple(f"v{i}" for i in range(3000)))
    assert coded_rows(pa.array([f"v{i}" for i in range(0, 4000, 7)]), attribute) == list(range(0, 3000, 7))


MISMATCHES = [
    (Integer(name="x", source="s", low=0, high=9), pa.array([True]), "boolean"),
    (Integer(name="x", source="s", low=0, high=9), pa.array(DAYS), "date"),
    (Bins(name="x", source="s", edges=(Fraction(0), Fraction(1))), pa.array([[1]]), "array"),
    (Category(name="x", source="s", values=("a",)), pa.array([1.5]), "float64"),
    (Category(name="x", source="s", values=("a",)), pa.array([b"a"]), "binary"),
    (Category(name="x", source="s", values=("a",)), pa.array([0], pa.timestamp("us")), "timestamp"),
]


@pytest.mark.parametrize(("attribute", "column", "said"), MISMATCHES, ids=lambda case: getattr(case, "kind", None))
def test_a_column_of_another_type_is_named_with_its_type(attribute, column, said):
    with pytest.raises(DomainError, match=rf"column 'x' is {said}.* but the domain says {attribute.kind}"):
        open_table(pa.table({"x": column}), Domain("t", (attribute,)))


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    attribute = Integer(name="age", source="s", low=0, high=9)
    with pytest.raises(DomainError, match="no column 'age'; its columns are alter, sex"):
        open_table(pa.table({"alter": [1], "sex": ["F"]}), Domain("t", (attribute,)))


def test_a_column_in_which_everything_is_missing_suits_every_kind():
    for attribute in (
        Integer(name="x", source="s", low=0, high=9, null=True),
        Bins(name="x", source="s", edges=(Fraction(0), Fraction(1)), null=True),
        Category(name="x", source="s", values=("a",), null=True),
    ):
        assert coded_rows(pa.nulls(3), attribute) == [attribute.null_code] * 3


def test_names_that_sql_would_stumble_over_are_columns_like_any_other():
    names = ('a"b', "select", "a b", "ü", "code_x", "units_x", "x", "1", "'; DROP TABLE source; --")
    domain = Domain(
        "t", tuple(Bins(name=n, source="s", edges=(Fraction(0), Fraction(5)), grain=Fraction(1)) for n in names)
    )
    table = open_table(pa.table({name: [float(i % 5)] for i, name in enumerate(names)}), domain)
    for _ in range(3):
        sums = table.evaluate([Sum(name, domain.everything, (name,)) for name in names])
        assert [int(array.sum()) for array in sums] == [i % 5 for i in range(len(names))]


def test_not_a_number_is_missing_and_infinity_is_outside():
    attribute = Bins(name="x", source="s", edges=(Fraction(0), Fraction(1)), outside="other", null=True)
    assert coded_rows(pa.array([math.nan, math.inf, -math.inf, None, 0.5]), attribute) == [0, 1, 1, 2, 2]
