"""From values to codes: every kind, with every treatment of values outside and missing, on every type of column."""

import datetime as dt
import decimal
import math
import struct
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError
from discreet.query.query import Sum
from discreet.table import coding
from discreet.table.coding import coders
from discreet.table.layout import code_type, has_units, unit_type
from tests.populations import points, population

INTEGERS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint16(): (0, 2**16 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
}
FLOATS = {pa.float16(): 16, pa.float32(): 32, pa.float64(): 64}
DECIMALS = (
    pa.decimal32(9, 2),
    pa.decimal64(18, 4),
    pa.decimal128(12, 2),
    pa.decimal128(38, 0),
    pa.decimal128(5, -3),
    pa.decimal256(76, 10),
)
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
NUMBERS_IN_TEXT = (
    b"5", b" 7 ", b"-3", b"2.5", b"1e3", b"0.1", b"inf", b"-inf", b"+Infinity", b"nan", b"1e400", b"-1e400", b"1e-400",
    b"9" * 400, b"9" * 1000, b"9" * 1001, b"1e9999", b"1e10000", b"-0", b"-0.0", b".5", b"5.", b".", b"+", b"e5",
    b"1e", b"1_0", b"0x10", b"1d", b"5 apples", b"\t5", b"5\n", b"", b"x", "١".encode(), b"\xff5", b"5\xff", b"\xe9",
    b"0" * 990 + b"7", b"1,5", b"1 000", b"- 5", b"--5", b"0.1000000000000000055511151231257827",
)  # fmt: skip


def near(*numbers):
    """Numbers and their neighbours, where mistakes live."""
    return [number + step for number in numbers for step in (-1, 0, 1)]


def raw(values, kind):
    """Bytes under a type of text: nothing looks at whether they are UTF-8."""
    stored = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    return pa.Array.from_buffers(kind, len(values), pa.array(values, stored).buffers())


def listed(values):
    return st.lists(st.none() | values, max_size=40)


@st.composite
def columns_of(draw, kind):
    """A column of numbers of one type, and its values as the oracle takes them."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        special = [n for n in near(low, high, -5, 0, 7, 2**53, -(2**53), 2**63) if low <= n <= high]
        values = draw(listed(st.integers(low, high) | st.sampled_from(special)))
        return pa.array(values, kind), values
    if kind in FLOATS:
        width = FLOATS[kind]
        odd = [0.1, 0.3, 0.7, 2.5, -5.0, 7.0, 2.0**53, -0.0, 1e308, 5e-324]
        values = draw(listed(st.floats(width=width) | (st.sampled_from(odd) if width == 64 else st.nothing())))
        return pa.array([v if v is None else np.float16(v) for v in values] if width == 16 else values, kind), values
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        whole = draw(listed(st.integers(-most, most) | st.integers(-60, 60).filter(lambda n: abs(n) <= most)))
        exact = decimal.Context(prec=100)
        values = [None if n is None else decimal.Decimal(n).scaleb(-kind.scale, exact) for n in whole]
        return pa.array(values, kind), [None if v is None else float(v) for v in values]
    if pa.types.is_null(kind):
        size = draw(st.integers(0, 3))
        return pa.nulls(size), [None] * size
    values = draw(listed(st.sampled_from(NUMBERS_IN_TEXT) | st.binary(max_size=4)))
    return raw(values, kind), values


@st.composite
def number_columns(draw):
    """Any type of number or of text, whole or a slice of a longer column, plain or a dictionary."""
    kind = draw(st.sampled_from([*INTEGERS, *FLOATS, *DECIMALS, *TEXTS, pa.null()]))
    column, values = draw(columns_of(kind))
    first = draw(st.integers(0, len(values)))
    column, values = draw(st.sampled_from([(column, values), (column.slice(first), values[first:])]))
    if draw(st.booleans()):
        column, values = draw(dictionaries_of(column, values))
    return column, values


@st.composite
def dictionaries_of(draw, column, values):
    """Rows that point at the values of a column, in any order and any number of times, or nowhere."""
    index = draw(st.sampled_from([pa.int8(), pa.uint8(), pa.int32(), pa.uint64()]))
    places = draw(listed(st.integers(0, len(values) - 1)) if values else st.just([None] * 2))
    entries = pa.DictionaryArray.from_arrays(pa.array(places, index), column)
    return entries, [None if place is None else values[place] for place in places]


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


def coded(column, attribute):
    return coders(lambda _: column.type, Domain("t", (attribute,)))["x"](column)


def codes_of(column, attribute):
    """The codes of a column in order, None for a row that is left out."""
    return [None if code < 0 else code for code in coded(column, attribute).codes.tolist()]


@settings(max_examples=250)
@given(case=number_columns(), attribute=integer_attributes() | bins_attributes())
def test_a_number_gets_the_code_and_adds_the_amount_that_the_domain_says(oracle, case, attribute):
    column, values = case
    found = coded(column, attribute)
    expected = [oracle.code_of(attribute, value) for value in values]
    assert [None if code < 0 else code for code in found.codes.tolist()] == expected
    assert (found.units is not None) == has_units(attribute)
    if found.units is not None:
        both = zip(values, expected, found.units.tolist(), strict=True)
        assert all(units == (0 if code is None else oracle.units_of(attribute, v, code)) for v, code, units in both)


@settings(max_examples=30)
@given(case=number_columns(), attribute=integer_attributes() | bins_attributes())
def test_a_snapshot_has_the_codes_of_its_rows_and_the_sum_of_their_amounts(oracle, case, attribute):
    (column, values), domain = case, Domain("t", (attribute,))
    snapshot, truth = population(pa.table({"x": column}), domain), oracle([{"x": v} for v in values], domain)
    assert points(snapshot) == truth.points
    if isinstance(attribute, Integer) or has_units(attribute):
        query = Sum("x", domain.everything)
        total = truth.answer(query).get((), 0)
        assert snapshot.evaluate([query])[0].item() == max(min(total, 2**62), -(2**62))


WIDTHS = [
    (126, np.int8), (127, np.int8), (128, np.int16), (2**15 - 1, np.int16), (2**15, np.int32), (2**31 - 1, np.int32),
    (2**31, np.int64), (2**53, np.int64),
]  # fmt: skip


@pytest.mark.parametrize(("most", "kind"), WIDTHS)
@pytest.mark.parametrize("grain", [Fraction(1), Fraction(1, 10)])
def test_amounts_are_stored_in_the_smallest_type_that_holds_them(most, kind, grain):
    attribute = Bins(
        name="x", source="s", edges=(-most * grain, Fraction(0), most * grain), grain=grain, outside="clamp"
    )
    assert unit_type(attribute) == kind
    ends = pa.array([-math.inf, math.inf, float(most * grain), -float(most * grain)])
    assert coded(ends, attribute).units.tolist() == [-most, most, most, -most]
    assert population(pa.table({"x": ends}), Domain("t", (attribute,))).rows.units("x").tolist() == [
        -most, most, most, -most
    ]  # fmt: skip


@pytest.mark.parametrize(("size", "kind"), [(1, "u1"), (256, "u1"), (257, "u2"), (2**16, "u2"), (2**16 + 1, "u4")])
def test_codes_are_stored_in_the_smallest_type_that_holds_them(size, kind):
    assert code_type(Integer(name="x", source="s", low=-5, high=size - 6)) == np.dtype(kind)


DAYS = [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)]
WORDS = ["a", "b", "A", "", "a'b", 'a"b', "ü", "None", "null", "\n", "a ", " a", "a\x00"]
CATEGORIES = {
    **{f"text in {kind}": (kind, WORDS) for kind in TEXTS},
    **{f"whole numbers in {kind}": (kind, [0, 1, *ends]) for kind, ends in INTEGERS.items()},
    "booleans": (pa.bool_(), [True, False]),
    "dates in days": (pa.date32(), DAYS),
    "dates in milliseconds": (pa.date64(), DAYS),
}


@pytest.mark.parametrize("as_dictionary", [False, True])
@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("outside", ["drop", "other"])
@pytest.mark.parametrize(("kind", "values"), CATEGORIES.values(), ids=CATEGORIES.keys())
def test_a_category_gets_the_code_that_the_domain_says(oracle, kind, values, outside, null, as_dictionary):
    declared = tuple(dict.fromkeys(oracle.text_of(v).decode() for v in values[1:][::-1]))
    attribute = Category(name="x", source="a test", values=declared, outside=outside, null=null)
    rows = [*values, None, values[0], values[-1]]
    column = pa.array(rows, kind)
    if as_dictionary:
        column = pa.DictionaryArray.from_arrays(pa.array(range(len(rows)), pa.uint8()), column)
    assert codes_of(column, attribute) == [oracle.code_of(attribute, value) for value in rows]


def test_other_spellings_of_a_number_a_date_or_a_boolean_are_nobodys():
    declared = ("01", "+1", "1.0", " 1", "-0", "1e0", "True", "TRUE", "t", "2024-2-29", "20240229", "2023-02-29", "-")
    attribute = Category(name="x", source="s", values=declared, outside="other")
    for column in (pa.array([1, 0]), pa.array([True, False]), pa.array(DAYS)):
        assert set(codes_of(column, attribute)) == {attribute.other_code}


def test_declared_numbers_that_a_column_cannot_store_are_nobodys():
    attribute = Category(name="x", source="s", values=("-1", "300", "99999999999999999999", "7"), outside="other")
    assert codes_of(pa.array([7, 255, 44], pa.uint8()), attribute) == [3, 4, 4]
    assert codes_of(pa.array([7, -1, 127], pa.int8()), attribute) == [3, 0, 4]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_is_compared_by_its_bytes_and_may_be_any(kind):
    """Composed and decomposed letters, letters of either case, ends and bytes that are not UTF-8 are all different."""
    attribute = Category(
        name="x", source="s", values=("\N{LATIN SMALL LETTER E WITH ACUTE}", "Arden", "e"), outside="other", null=True
    )
    decomposed = "e\N{COMBINING ACUTE ACCENT}".encode()
    rows = [
        "\N{LATIN SMALL LETTER E WITH ACUTE}".encode(),
        decomposed,
        b"\xe9",
        b"\xc3",
        b"\xff" * 40,
        b"arden",
        b"Arden",
        b"Arden\x00",
        None,
        b"",
    ]
    expected = [0, 3, 3, 3, 3, 3, 1, 3, 4, 3]
    assert codes_of(raw(rows, kind), attribute) == expected
    entries = pa.DictionaryArray.from_arrays(pa.array(range(len(rows))), raw(rows, kind))
    assert codes_of(entries, attribute) == expected


def test_dates_beyond_the_calendar_are_outside():
    attribute = Category(name="x", source="s", values=("1970-01-02", "9999-12-31"), outside="other")
    days = np.array([1, 2**31 - 1, -(2**31), 2932896, 2932897], np.int32)
    assert codes_of(pa.Array.from_buffers(pa.date32(), 5, [None, pa.py_buffer(days)]), attribute) == [0, 2, 2, 1, 2]
    day = 86_400_000
    times = np.array([day, day + 1, day * (2**32 + 1), -(2**63), 2**63 - 1, day * 2932896], np.int64)
    found = codes_of(pa.Array.from_buffers(pa.date64(), 6, [None, pa.py_buffer(times)]), attribute)
    assert found == [0, 2, 2, 2, 2, 1], "a time of day, or so many days that 32 bits wrap, is no day that was declared"


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16()], ids=str)
def test_a_dictionary_may_have_as_many_entries_as_its_indices_can_name(index):
    most = 128 if index == pa.int8() else 256
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, most - 1, None], index), pa.array([str(i) for i in range(most)])
    )
    whole = Integer(name="x", source="s", low=0, high=255, null=True)
    named = Category(name="x", source="s", values=("0", str(most - 1)), null=True)
    assert codes_of(column, whole) == [0, most - 1, 256]
    assert codes_of(column, named) == [0, 1, 2]


def test_a_row_that_points_at_a_missing_entry_is_missing():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    assert codes_of(column, Category(name="x", source="s", values=("a",), null=True)) == [0, 1, 1]


def test_every_pattern_of_bits_that_is_not_a_number_is_missing_and_infinity_is_outside():
    attribute = Bins(name="x", source="s", edges=(Fraction(0), Fraction(1)), outside="other", null=True)
    patterns = [0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8000000000000, 0xFFFFFFFFFFFFFFFF, 0x7FF00000DEADBEEF]
    odd = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in patterns]
    column = pa.array(np.array([*odd, math.inf, -math.inf, -0.0, 0.5]), from_pandas=False)
    assert codes_of(column, attribute) == [2] * 5 + [1, 1, 0, 0]


@pytest.mark.parametrize("outside", ["drop", "clamp", "other"])
@pytest.mark.parametrize("edges", [2, 3, 9, coding.COMPARED_EDGES + 1, coding.COMPARED_EDGES + 2, 300])
def test_a_number_that_is_compared_with_all_edges_has_the_bin_in_which_it_is_found(monkeypatch, edges, outside):
    bins = tuple(Fraction(7 * place, 10) for place in range(edges))
    attribute = Bins(name="x", source="s", edges=bins, outside=outside, null=True)
    ends = [float(edge) for edge in bins]
    near_ends = [np.nextafter(edge, to) for edge in ends for to in (-np.inf, np.inf)]
    column = pa.array([*ends, *near_ends, -0.0, math.nan, math.inf, -math.inf, 5e-324, None], pa.float64())
    code = coders({"x": column.type}.__getitem__, Domain("t", (attribute,)))["x"]
    codes = []
    for compared in (0, edges):
        monkeypatch.setattr(coding, "COMPARED_EDGES", compared)
        codes.append(code(column).codes)
    assert codes[0].dtype == codes[1].dtype
    assert codes[0].tolist() == codes[1].tolist()


def test_minus_zero_is_zero():
    whole = Integer(name="x", source="s", low=0, high=9)
    signed = Bins(name="x", source="s", edges=(Fraction(-1), Fraction(0), Fraction(1)), grain=Fraction(1))
    for column in (pa.array([-0.0]), pa.array([np.float16(-0.0)]), pa.array(["-0"]), pa.array(["-0.0"])):
        assert codes_of(column, whole) == [0]
        assert codes_of(column, signed) == [1]
        assert coded(column, signed).units.tolist() == [0]


def test_a_category_may_have_many_values():
    attribute = Category(name="x", source="a test", values=tuple(f"v{i}" for i in range(3000)))
    found = codes_of(pa.array([f"v{i}" for i in range(0, 4000, 7)]), attribute)
    assert found == [code if code < 3000 else None for code in range(0, 4000, 7)]


MISMATCHES = [
    (Integer(name="x", source="s", low=0, high=9), pa.array([True]), "bool"),
    (Integer(name="x", source="s", low=0, high=9), pa.array(DAYS), "date32"),
    (Integer(name="x", source="s", low=0, high=9), pa.array([True]).dictionary_encode(), "bool"),
    (Category(name="x", source="s", values=("a",)), pa.array([dt.datetime(2024, 1, 1)]), "timestamp"),
]


@pytest.mark.parametrize(("attribute", "column", "said"), MISMATCHES, ids=lambda case: getattr(case, "kind", None))
def test_a_column_of_another_type_is_named_with_its_type(attribute, column, said):
    with pytest.raises(DomainError, match=rf"column 'x' is {said}.* but the domain says {attribute.kind}"):
        population(pa.table({"x": column}), Domain("t", (attribute,)))


UNREAD = {
    "lists": pa.array([[1]]),
    "structs": pa.array([{"a": 1}]),
    "bytes": pa.array([b"a"]),
    "bytes of one length": pa.array([b"ab"], pa.binary(2)),
    "times": pa.array([0], pa.time64("us")),
    "spans": pa.array([0], pa.duration("s")),
    "months": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "runs": pa.RunEndEncodedArray.from_arrays([1], ["a"]),
    "a dictionary of bytes": pa.array([b"a"]).dictionary_encode(),
}


@pytest.mark.parametrize("column", UNREAD.values(), ids=UNREAD.keys())
def test_a_type_that_is_not_read_is_named_with_what_to_make_of_it(column):
    for attribute in (
        Integer(name="x", source="s", low=0, high=9),
        Bins(name="x", source="s", edges=(Fraction(0), Fraction(1))),
        Category(name="x", source="s", values=("a",)),
    ):
        with pytest.raises(DomainError, match=r"column 'x' is .*make it text, a number, a boolean or a date"):
            population(pa.table({"x": column, "y": [1]}), Domain("t", (attribute,)))


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    attribute = Integer(name="age", source="s", low=0, high=9)
    with pytest.raises(DomainError, match="no column 'age'; its columns are alter, sex, seen"):
        population(
            pa.table({"alter": [1], "sex": ["F"], "seen": pa.array([0], pa.timestamp("s"))}), Domain("t", (attribute,))
        )


def test_a_column_in_which_everything_is_missing_suits_every_kind():
    for attribute in (
        Integer(name="x", source="s", low=0, high=9, null=True),
        Bins(name="x", source="s", edges=(Fraction(0), Fraction(1)), null=True),
        Category(name="x", source="s", values=("a",), null=True),
    ):
        assert codes_of(pa.nulls(3), attribute) == [attribute.null_code] * 3


def test_names_that_sql_would_stumble_over_are_columns_like_any_other():
    names = (
        'a"b',
        "select",
        "a b",
        "ü",
        "code_x",
        "units_x",
        "x",
        "1",
        "'; DROP TABLE source; --",
        "copies",
        "a.b",
        "",
    )
    domain = Domain(
        "t", tuple(Bins(name=n, source="s", edges=(Fraction(0), Fraction(5)), grain=Fraction(1)) for n in names)
    )
    snapshot = population(pa.table({name: [float(i % 5)] for i, name in enumerate(names)}), domain)
    sums = snapshot.evaluate([Sum(name, domain.everything, (name,)) for name in names])
    assert [int(array.sum()) for array in sums] == [i % 5 for i in range(len(names))]
