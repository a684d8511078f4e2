"""Does a domain fit a table? Every row and every reason, exactly; and which setting would read what was lost."""

from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.notation import Notation
from discreet.table import fit as fit_module
from discreet.table.coding import coders
from discreet.table.fit import _ColumnCounter, fit_source
from discreet.table.open import open_source
from tests.populations import population
from tests.trust.test_neighbour_types import a_case, a_table

TOWN = Category(name="x", source="s", values=("Zürich", "Bern"))
FLAG = Category(name="x", source="s", values=("false", "true"))
RENT = Bins(name="x", source="s", edges=(Fraction(0), Fraction(500), Fraction(1000)))
AGE = Integer(name="x", source="s", low=0, high=9, outside="clamp", null=True)


def fit_of(table, *attributes):
    return fit_source(open_source(table), Domain("t", attributes))


@pytest.mark.parametrize("seed", range(60))
def test_every_row_without_a_code_of_its_own_is_counted_for_one_reason(seed):
    domain, types, rows = a_case(Random(seed))
    table = a_table(rows, domain, types)
    fit = fit_of(table, *domain.attributes)
    assert (fit.rows, fit.kept) == (len(rows), population(table, domain).rows.size)
    for attribute, column in zip(domain.attributes, fit.columns, strict=True):
        [values] = [pa.concat_arrays(table[attribute.name].chunks)]
        codes = coders(lambda _, kind=values.type: kind, Domain("t", (attribute,)))[attribute.name](
            values
        ).codes.tolist()
        odd = [code for code in codes if code < 0 or code >= attribute.cells]
        assert column.lost == codes.count(-1)
        if attribute.outside != "clamp":
            assert column.outside + column.missing + column.unreadable == len(odd)
        if attribute.cells < 1000:
            assert column.nobody == attribute.cells - len(set(codes) - set(odd))


CLAMPED = [
    Integer(name="x", source="s", low=-2, high=4, outside="clamp", null=True),
    Bins(name="x", source="s", edges=(Fraction(-5, 2), Fraction(1), Fraction(9, 2)), outside="clamp", null=True),
    Bins(name="x", source="s", edges=(None, Fraction(1), Fraction(4)), outside="clamp", null=True),
]


@pytest.mark.parametrize("attribute", CLAMPED)
@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.string()])
def test_what_is_clamped_is_counted_one_by_one(attribute, kind):
    random = Random(f"{attribute} {kind}")
    numbers = [random.choice([None, *range(-6, 9)]) for _ in range(1001)]
    ends = (-2, 4) if isinstance(attribute, Integer) else tuple(attribute.edges[i] for i in (0, -1))
    open_ended = isinstance(attribute, Bins)  # a bin ends before its upper edge
    beyond = [
        n
        for n in numbers
        if n is not None and ((ends[0] is not None and n < ends[0]) or (n >= ends[1] if open_ended else n > ends[1]))
    ]
    [column] = fit_of(pa.table({"x": pa.array(numbers).cast(kind)}), attribute).columns
    assert (column.outside, column.missing, column.unreadable) == (len(beyond), numbers.count(None), 0)
    assert (column.lost, column.nobody) == (0, 0)


HALVES = [None, "3", "3.0", "3.5", "5e-1", "99.5", "30e-1", "-0.5"]


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_texts_that_a_clamped_integer_rounds_down_are_counted(kind):
    [column] = fit_of(pa.table({"x": pa.array(HALVES * 3).cast(kind)}), AGE).columns
    assert (column.rounded, column.outside, column.missing, column.lost) == (6, 6, 3, 0)
    assert any(advice.startswith("6 rows hold numbers between two whole ones") for advice in column.advice)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.decimal128(9, 2)])
def test_numbers_that_a_clamped_integer_rounds_down_are_counted(kind):
    numbers = [None if text is None else Fraction(text) for text in HALVES * 3]
    plain = pa.array([None if number is None else float(number) for number in numbers])
    [column] = fit_of(pa.table({"x": plain.cast(kind)}), AGE).columns
    assert (column.rounded, column.outside, column.missing, column.lost) == (6, 6, 3, 0)


def test_a_value_that_is_remembered_is_counted_wherever_it_stands_in_a_batch(monkeypatch):
    monkeypatch.setattr(fit_module, "REMEMBERED", 3)
    counter = _ColumnCounter(TOWN, pa.string())
    counter._explain(pa.array(["x", "y", "z"]))
    counter._explain(pa.array(["p", "q", "r"] + ["x"] * 1000))
    assert {odd.text: rows for odd, rows in counter.odd.items()} == {"x": 1001, "y": 1, "z": 1}


HOURS = Category(name="x", source="s", values=("12", "20", "night a"))


@pytest.mark.parametrize(
    ("values", "text", "near"),
    [("12", "12.0", "12"), ("12", "012", "12"), ("12", " 12", "12"), ("20", "21", None), ("20", "night b", "night a")],
)
def test_a_number_is_near_the_same_number_and_a_text_one_written_alike(values, text, near):
    [column] = fit_of(pa.table({"x": [values, text]}), HOURS).columns
    [odd] = column.odd
    assert odd.nearest == near


def test_numbers_that_are_written_otherwise_are_advised_as_integers():
    whole = Category(name="x", source="s", values=("12", "20"))
    advised = 'kind = "integer", or values as they are written ("12.0") would read 2 rows'
    [column] = fit_of(pa.table({"x": ["12.0", "12.0", "12"]}), whole).columns
    assert advised in column.advice
    halves = Category(name="x", source="s", values=("1.5", "20"))
    [column] = fit_of(pa.table({"x": ["1.50"]}), halves).columns
    assert 'values as they are written ("1.50") would read 1 rows' in column.advice


def test_the_first_values_without_a_code_are_remembered_and_counted_to_the_end(monkeypatch):
    monkeypatch.setattr(fit_module, "REMEMBERED", 3)
    counter = _ColumnCounter(TOWN, pa.string())
    for batch in (["a", "a", "Bern"], ["b", "a", "c"], ["d", "a", "b"], ["d", "e", "c"]):
        column = pa.array(batch)
        codes = coders(lambda _: pa.string(), Domain("t", (TOWN,)))["x"](column).codes
        counter.add(column, codes)
    assert counter.outside == 11
    assert {odd.text: rows for odd, rows in counter.odd.items()} == {"a": 4, "b": 2, "c": 2}


REASONS = [
    (TOWN, ["Zürich", "zürich", "Bern ", None, "Bern"], (2, 1, 0), 3, ["'zürich'", "'Bern '"]),
    (RENT, ["1", "999.5", "1000", "12,5", "", None, "nan"], (1, 1, 3), 5, []),
    (AGE, ["-1", "3", "10", "x", None], (2, 1, 1), 0, []),
    (AGE, [-1, 3, 10, 3, None], (2, 1, 0), 0, []),
    (AGE, [-1.5, 3.5, 10.0, float("nan"), None], (2, 2, 0), 0, []),
]


@pytest.mark.parametrize(("attribute", "values", "reasons", "lost", "odd"), REASONS)
def test_a_reason_is_outside_missing_or_unreadable(attribute, values, reasons, lost, odd):
    [column] = fit_of(pa.table({"x": values}), attribute).columns
    assert ((column.outside, column.missing, column.unreadable), column.lost) == (reasons, lost)
    assert [repr(one.text) for one in column.odd if one.nearest] == odd


ADVICE = [
    (TOWN, ["ZÜRICH", "bern"], "ignore_case = true would read 2 rows"),
    (TOWN, [" Bern", "Bern\t"], "trim = true would read 2 rows"),
    (FLAG, ["True", "False", "True"], 'booleans = "True/False" would read 3 rows'),
    (FLAG, ["ja", "nein"], 'booleans = "ja/nein" would read 2 rows'),
    (FLAG, [1, 0, 1], 'booleans = "1/0" would read 3 rows'),
    (RENT, ["12,5", "700,25"], 'decimal = "," would read 2 rows'),
    (RENT, ["0.012,5", "700,25"], 'decimal = "," and thousands = "." would read 2 rows'),
    (AGE, ["?", "NA", "-", "1"], 'missing = ["?", "NA", "-"] would say what 3 rows mean, if they are missing'),
    (TOWN, [None, "Bern"], "null = true would keep 1 rows without a value"),
]


@pytest.mark.parametrize(("attribute", "values", "advice"), ADVICE)
def test_the_setting_that_would_read_what_was_lost_is_named(attribute, values, advice):
    [column] = fit_of(pa.table({"x": values}), attribute).columns
    assert advice in column.advice


def test_nothing_is_advised_where_nothing_is_lost():
    [column] = fit_of(pa.table({"x": ["Bern", "Zürich"]}), TOWN).columns
    assert (column.advice, column.odd, column.nobody) == ((), (), 0)


def test_two_encodings_in_one_table_are_no_matter_of_its_location(tmp_path):
    (tmp_path / "t.csv").write_bytes("x,y\nZürich,1\n".encode() + "Zürich,1\nBern,1\n".encode("latin-1"))
    [column] = fit_of(tmp_path / "t.csv", TOWN).columns
    [advice] = column.advice
    assert advice.startswith(f"one encoding for all of {tmp_path / 't.csv'}, where some rows are in UTF-8")
    assert advice.endswith("and some in latin-1, would read 1 rows")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_another_encoding_is_named_by_the_location_that_reads_it(encoding, tmp_path):
    (tmp_path / "t.csv").write_bytes("x,y\nZürich,1\nBern,1\n".encode(encoding))
    [column] = fit_of(tmp_path / "t.csv", TOWN).columns
    assert column.advice == (f"the location {tmp_path / 't.csv'}?encoding=latin-1 would read 1 rows",)
    assert not fit_of(f"{tmp_path / 't.csv'}?encoding={encoding}", TOWN).lost


def test_a_declared_mark_is_missing_and_no_text_that_cannot_be_read():
    attribute = Integer(name="x", source="s", low=0, high=9, notation=Notation(missing=("?", "-9")))
    for values in (["?", "-9.0", "5", "x"], ["-9", "?", "5", ""]):
        [column] = fit_of(pa.table({"x": values}), attribute).columns
        assert (column.missing, column.unreadable, column.outside) == (2, 1, 0)
    [column] = fit_of(pa.table({"x": [-9, 5, 10]}), attribute).columns
    assert (column.missing, column.unreadable, column.outside) == (1, 0, 1)


def test_what_is_lost_is_a_share_of_the_rows_and_numbers_that_cannot_be_read_count():
    half = fit_of(pa.table({"x": ["Bern", "Chur"]}), TOWN)
    assert half.loses_more_than(0.49)
    assert not half.loses_more_than(0.5)
    unread = fit_of(pa.table({"x": ["1,5", "2,5"]}), Bins(name="x", source="s", edges=RENT.edges, null=True))
    assert unread.lost == 0
    assert unread.loses_more_than(0.99)
    assert fit_of(pa.table({"x": pa.array([], pa.string())}), TOWN).loses_more_than(1)


def test_a_text_of_control_characters_is_shown_in_one_line():
    [column] = fit_of(pa.table({"x": ["a\nb\x1b[31m", "y" * 100]}), TOWN).columns
    assert [one.text for one in column.odd] == ["a\\x0ab\\x1b[31m", "y" * 39 + "…"]
