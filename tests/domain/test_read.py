"""TOML → Domain: what is read, and for every bad input a line, a key and what is allowed."""

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.read import leaves, parse_domain, read_domain
from discreet.errors import DomainError

FOUNDATION = """name = "people"                 # the table's name in SQL
[attributes.age]
kind = "integer"
low = 0
high = 99
outside = "clamp"               # drop | clamp | other
source = "national registry, ages 0 to 99"
[attributes.sex]
kind = "category"
values = ["F", "M"]
null = true                     # a code of its own for missing values
source = "questionnaire, item 2"
[attributes.income]
kind = "bins"
edges = [0, 10000, 25000, 50000, 100000]     # half-open [a, b); open ends only if said
source = "published income classes"
"""


def one(lines: str) -> str:
    """A domain with one attribute x, whose own lines start at line 3."""
    return f'name = "people"\n[attributes.x]\n{lines}'


INTEGER = 'kind = "integer"\nlow = 0\nhigh = 9\nsource = "codebook"\n'
CATEGORY = 'kind = "category"\nsource = "codebook"\n'
BINS = 'kind = "bins"\nsource = "codebook"\n'


def test_the_three_kinds_are_read_as_declared() -> None:
    domain = parse_domain(FOUNDATION)
    assert domain.name == "people"
    assert domain.attributes == (
        Integer(name="age", source="national registry, ages 0 to 99", low=0, high=99, outside="clamp"),
        Category(name="sex", source="questionnaire, item 2", values=("F", "M"), null=True),
        Bins(
            name="income",
            source="published income classes",
            edges=tuple(map(Fraction, (0, 10000, 25000, 50000, 100000))),
        ),
    )


@pytest.mark.parametrize("null_ids", ["drop", "own", "refuse"])
def test_what_rows_without_an_id_are_is_read_as_declared(null_ids: str) -> None:
    assert parse_domain(f'null_ids = "{null_ids}"\n{FOUNDATION}').null_ids == null_ids
    assert parse_domain(FOUNDATION).null_ids is None


def test_a_hierarchy_orders_the_values_from_left_to_right() -> None:
    domain = parse_domain(
        one(
            CATEGORY
            + 'values = ["none", "cook", "clerk", "guard"]\n'
            + "[attributes.x.hierarchy]\n"
            + 'home = ["none"]\n'
            + '[attributes.x.hierarchy."at work"]\n'
            + 'office = ["clerk"]\nfield = ["guard", "cook"]\n'
        )
    )
    job = domain["x"]
    assert isinstance(job, Category)
    assert job.values == ("none", "clerk", "guard", "cook")
    assert job.hierarchy == (
        ("home", ("none",)),
        ("at work", (("office", ("clerk",)), ("field", ("guard", "cook")))),
    )
    assert leaves(job.hierarchy) == job.values


def test_a_hierarchy_alone_declares_the_values() -> None:
    job = parse_domain(one(CATEGORY + "hierarchy = { low = [1, 2], high = [3, true] }"))["x"]
    assert job.labels == ("1", "2", "3", "true")


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("[0, 0.1, 1e1]", (Fraction(0), Fraction(1, 10), Fraction(10))),
        ("[-inf, -5]", (None, Fraction(-5))),
        ("[-5.25, +inf]", (Fraction(-21, 4), None)),
        ("[-inf, 0, inf]", (None, Fraction(0), None)),
        ("[1, 2.000000000000000000000000000001]", (Fraction(1), 2 + Fraction(1, 10**30))),
    ],
)
def test_edges_are_exact_decimals_and_infinity_opens_an_end(edges: str, expected: tuple[Fraction | None, ...]) -> None:
    bins = parse_domain(one(f"{BINS}edges = {edges}"))["x"]
    assert isinstance(bins, Bins)
    assert bins.edges == expected


def test_a_grain_is_read_exactly() -> None:
    bins = parse_domain(one(f"{BINS}edges = [0, 10]\ngrain = 0.01"))["x"]
    assert isinstance(bins, Bins)
    assert bins.grain == Fraction(1, 100)


@pytest.mark.parametrize(
    "text",
    [
        'name = "p"\n[attributes]\nx = { kind = "integer", low = 1, high = 2, source = "s" }',
        'name = "p"\nattributes.x.kind = "integer"\nattributes.x.low = 1\nattributes.x.high = 2\n'
        'attributes.x.source = "s"',
        'name = "p"\r\n[attributes."x"]\r\nkind = "integer"\r\nlow = 1\r\nhigh = 2\r\nsource = "s"\r\n',
    ],
)
def test_every_way_to_write_a_table_in_toml_is_read_alike(text: str) -> None:
    assert parse_domain(text).attributes == (Integer(name="x", source="s", low=1, high=2),)


BAD_DOCUMENTS = [
    ("", 1, "name", "is required: the table's name in SQL"),
    ('name = 3\n[attributes.x]\nkind = "integer"', 1, "name", "is required"),
    ('\nname = "two words"\n', 2, "name", "letters, digits, _"),
    ('name = "1st"', 1, "name", "letters, digits, _"),
    ('name = "people"', 1, "", "at least one [attributes.NAME] table"),
    ('name = "people"\n\nattributes = 3', 3, "", "at least one [attributes.NAME] table"),
    ('name = "people"\n[attributes]', 2, "", "at least one [attributes.NAME] table"),
    ('name = "people"\nnull_ids = "own "', 2, "null_ids", "must be one of drop, own, refuse"),
    ('name = "people"\nnull_ids = ["own"]', 2, "null_ids", "must be one of drop, own, refuse"),
    (
        'name = "people"\ncolour = "red"',
        2,
        "unknown key 'colour'",
        "allowed: name, null_ids, [notation], [attributes.…]",
    ),
    (
        'name = "people"\n\n[attribute.age]\nlow = 1',
        3,
        "unknown key 'attribute'",
        "allowed: name, null_ids, [notation], [attributes.…]",
    ),
    ('name = "people"\n[attributes]\nage = 3', 3, "attributes.age", "must be a table: [attributes.age]"),
    ('name = "people"\n[[attributes.age]]\nlow = 3', 2, "attributes.age", "must be a table"),
    ('name = "people"\n[attributes.""]\nlow = 3', 2, "attributes.", "at least one visible character"),
    ('name = "people"\n[attributes."a\\u0000b"]\nlow = 3', 2, "attributes.", "no control characters"),
    (
        one(INTEGER) + "[attributes.X]\n" + INTEGER,
        7,
        "attributes.X",
        "SQL cannot tell it from x: the names differ in case only",
    ),
]

BAD_ATTRIBUTES = [
    # what all kinds share
    ('source = "s"', 2, "kind", 'must be "integer", "category", "bins" or "date"'),
    ('source = "s"\nkind = "float"', 4, "kind", 'must be "integer", "category", "bins" or "date"'),
    ('source = "s"\nkind = ["integer"]', 4, "kind", 'must be "integer", "category", "bins" or "date"'),
    ('kind = "integer"\nlow = 0\nhigh = 9', 2, "source", "required: the public document"),
    ('kind = "integer"\nsource = "  "', 4, "source", "required: the public document"),
    ('kind = "integer"\nsource = 7', 4, "source", "required: the public document"),
    (INTEGER + "null = 1", 7, "null", "must be true or false"),
    (INTEGER + 'outside = "keep"', 7, "outside", "must be one of drop, clamp, other where kind is integer"),
    (INTEGER + 'outside = ["drop"]', 7, "outside", "must be one of drop, clamp, other"),
    (INTEGER + "edges = [0, 1]", 7, "edges", "unknown key; integer allows kind, source, outside, null, low, high"),
    (
        CATEGORY + "low = 1",
        5,
        "low",
        "unknown key; category allows kind, source, outside, null, values, values_from, hierarchy, prefix",
    ),
    (BINS + "values = []", 5, "values", "unknown key; bins allows kind, source, outside, null, edges, grain"),
    # integers
    ('kind = "integer"\nsource = "s"\nhigh = 9', 2, "low", "required: a whole number"),
    ('kind = "integer"\nsource = "s"\nlow = 9', 2, "high", "required: a whole number"),
    ('kind = "integer"\nsource = "s"\nlow = 0.5\nhigh = 9', 5, "low", "a whole number within ±2^53"),
    ('kind = "integer"\nsource = "s"\nlow = 0\nhigh = true', 6, "high", "a whole number"),
    (f'kind = "integer"\nsource = "s"\nlow = 0\nhigh = {2**53 + 1}', 6, "high", "within ±2^53"),
    ('kind = "integer"\nsource = "s"\nlow = 10\nhigh = 9', 5, "low", "low = 10 is above high = 9"),
    # categories
    (CATEGORY, 2, "values", "required: the list of categories, in order"),
    (CATEGORY + 'values = "F"', 5, "values", "must be a list of strings, whole numbers or true/false"),
    (CATEGORY + "values = []", 5, "values", "at least one category is needed"),
    (CATEGORY + 'values = ["F", "M", "F"]', 5, "values", "'F' is listed twice"),
    (CATEGORY + 'values = ["1", 1]', 5, "values", "'1' is listed twice"),
    (CATEGORY + "values = [1.5]", 5, "values", "a category is a string, a whole number or true/false"),
    (CATEGORY + 'values = [["F"]]', 5, "values", "a category is a string, a whole number or true/false"),
    (CATEGORY + f"values = [0x{'f' * 5000}]", 5, "values", "a number that is a category has at most 30 digits"),
    (CATEGORY + f"values = ['{'F' * 99}', '{'F' * 99}']", 5, "values", f"'{'F' * 59}…' is listed twice"),
    (CATEGORY + f"hierarchy.{'a.' * 2000}a = ['F']", 5, "hierarchy", "has more than 64 levels"),
    (CATEGORY + 'values = ["F"]\noutside = "clamp"', 6, "outside", "must be one of drop, other where kind is category"),
    (CATEGORY + 'hierarchy = ["F"]', 5, "hierarchy", "must be a table of groups"),
    (CATEGORY + "[attributes.x.hierarchy]", 5, "hierarchy", "at least one category is needed"),
    (CATEGORY + "[attributes.x.hierarchy]\na = []", 5, "hierarchy", "group 'a' must be a non-empty list"),
    (CATEGORY + "[attributes.x.hierarchy]\na = {}", 5, "hierarchy", "group 'a' must be a non-empty list"),
    (CATEGORY + '[attributes.x.hierarchy]\na = "F"', 5, "hierarchy", "a table of groups"),
    (CATEGORY + "[attributes.x.hierarchy]\na = [1.5]", 5, "hierarchy", "a category is a string"),
    (CATEGORY + '[attributes.x.hierarchy]\na = ["F"]\nb = ["F"]', 5, "hierarchy", "'F' is listed twice"),
    (
        CATEGORY + 'values = ["F"]\n[attributes.x.hierarchy]\na = ["F", "M"]',
        6,
        "hierarchy",
        "its leaves must be exactly the values",
    ),
    # bins
    (BINS, 2, "edges", "required: at least two numbers, ascending; -inf or inf at an end opens it"),
    (BINS + "edges = [1]", 5, "edges", "at least two numbers"),
    (BINS + "edges = 3", 5, "edges", "at least two numbers"),
    (BINS + "edges = [0, 0]", 5, "edges", "must ascend, but 0 is followed by 0"),
    (BINS + "edges = [0, 0.5, 0.25]", 5, "edges", "must ascend, but 0.5 is followed by 0.25"),
    (BINS + "edges = [0, inf, 5]", 5, "edges", "must ascend, but inf is followed by 5"),
    (BINS + "edges = [0, -inf]", 5, "edges", "must ascend, but 0 is followed by -inf"),
    (BINS + "edges = [-inf, inf]", 5, "edges", "one edge must be finite"),
    (BINS + 'edges = [0, "5"]', 5, "edges", "must hold numbers"),
    (BINS + "edges = [false, true]", 5, "edges", "must hold numbers"),
    (BINS + "edges = [0, nan]", 5, "edges", "must hold numbers"),
    (BINS + "edges = [0, 2024-01-01]", 5, "edges", "must hold numbers"),
    (BINS + "edges = [0, 1e400]", 5, "edges", "below 10^30, with at most 30 decimals"),
    (BINS + "edges = [0, 1e999999999]", 5, "edges", "below 10^30, with at most 30 decimals"),
    (BINS + f"edges = [0, {10**400}]", 5, "edges", "below 10^30, with at most 30 decimals"),
    (BINS + "edges = [1e-999999999, 1]", 5, "edges", "below 10^30, with at most 30 decimals"),
    (BINS + f"edges = [0, {2**53 + 1}]", 5, "edges", "must stay within ±2^53"),
    (BINS + "edges = [0, 1e9]\ngrain = 1e-9", 5, "edges", "within ±2^53 grains"),
    (BINS + "edges = [0, 1]\ngrain = 0", 6, "grain", "must be a positive number"),
    (BINS + "edges = [0, 1]\ngrain = -1", 6, "grain", "must be a positive number"),
    (BINS + "edges = [0, 1]\ngrain = inf", 6, "grain", "must be a positive number"),
    (BINS + "edges = [0, 1]\ngrain = true", 6, "grain", "must hold numbers"),
]


@pytest.mark.parametrize(("text", "line", "key", "allowed"), BAD_DOCUMENTS)
def test_a_bad_document_is_refused_with_line_key_and_what_is_allowed(
    text: str, line: int, key: str, allowed: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        parse_domain(text)
    assert str(refusal.value).startswith(f"line {line}: ")
    assert key in str(refusal.value)
    assert allowed in str(refusal.value)


@pytest.mark.parametrize(("lines", "line", "key", "allowed"), BAD_ATTRIBUTES)
def test_a_bad_attribute_is_refused_with_line_key_and_what_is_allowed(
    lines: str, line: int, key: str, allowed: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        parse_domain(one(lines))
    assert str(refusal.value).startswith(f"line {line}: attributes.x.{key}: ")
    assert allowed in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('name = "people', "not TOML: "),
        ('name = "people"\nname = "again"\n', "line 2"),
        ("x = " + "[" * 5000, "nested too deeply"),
        ("x = " + "9" * 5000, "a number is too long"),
        ("x = 1e99999999999999999999", "a number is too long"),
    ],
)
def test_what_is_not_toml_is_refused_in_words(text: str, problem: str) -> None:
    with pytest.raises(DomainError) as refusal:
        parse_domain(text)
    assert problem in str(refusal.value)


def test_the_line_of_an_error_is_that_of_its_own_attribute() -> None:
    text = one(INTEGER) + "[attributes.y]\n" + INTEGER.replace("high = 9", "high = -9")
    with pytest.raises(DomainError, match=r"line 9: attributes\.y\.low: low = 0 is above high = -9"):
        parse_domain(text)


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    for prefix in (b"", b"\xef\xbb\xbf"):
        path = tmp_path / "people.toml"
        path.write_bytes(prefix + FOUNDATION.encode())
        assert read_domain(path) == parse_domain(FOUNDATION)


@pytest.mark.parametrize("content", [None, b'name = "\xff"'])
def test_a_missing_or_undecodable_file_is_refused_with_what_to_do(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "people.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DomainError, match=r"cannot read .*people\.toml; a domain is a UTF-8 TOML file"):
        read_domain(path)
