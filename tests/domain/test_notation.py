"""How values are written is declared: what is read of a declaration, what is refused, and what a text means by it."""

import math

import pytest

from discreet.domain.notation import Notation
from discreet.domain.read import parse_domain
from discreet.errors import DomainError
from tests.domain.test_read import BINS, CATEGORY, INTEGER, one

COMMA = Notation(decimal=",", thousands=".")
NUMBERS = [
    (Notation(), "1.5", 1.5),
    (Notation(), "1,5", None),
    (Notation(), "1,500", None),
    (Notation(), "\t5", None),
    (Notation(trim=True), "\t5\n", 5),
    (COMMA, "1,5", 1.5),
    (COMMA, "-1.234.567,89", -1234567.89),
    (COMMA, "1234567,89", 1234567.89),
    (COMMA, ",5", 0.5),
    (COMMA, "1.5", None),
    (COMMA, "1.2345", None),
    (COMMA, "12.34.567", None),
    (COMMA, "1,5e3", 1500),
    (COMMA, "1,234,567", None),
    (COMMA, "inf", math.inf),
    (Notation(thousands=","), "1,234,567.5", 1234567.5),
    (Notation(thousands=" "), " 1 234 ", 1234),
    (Notation(thousands="\u202f"), "12\u202f345", 12345),
    (Notation(thousands="'"), "1'2345", None),
]


@pytest.mark.parametrize(("notation", "text", "number"), NUMBERS)
def test_a_number_is_read_as_its_notation_says_and_else_not_at_all(
    notation: Notation, text: str, number: float | None
) -> None:
    found = notation.number(text.encode())
    assert math.isnan(found) if number is None else found == number


def test_a_text_is_folded_by_declaration_only() -> None:
    assert Notation().folded(b" A ") == b" A "
    assert Notation(trim=True).folded(b" A\t") == b"A"
    assert Notation(ignore_case=True).folded("Straße".encode()) == Notation(ignore_case=True).folded(b"STRASSE")
    assert Notation(ignore_case=True).folded(b"\xff A") == b"\xff A"


def test_an_attribute_has_what_is_declared_for_all_and_its_own_goes_first() -> None:
    every = '[notation]\nmissing = ["?", -9]\ndecimal = ","\ntrim = true\nbooleans = "yes/no"\n'
    domain = parse_domain(
        'name = "t"\n' + every + "[attributes.a]\n" + BINS + "edges = [0, 1]\n"
        "[attributes.b]\n" + CATEGORY + 'values = [false, true]\nmissing = []\nbooleans = ["t/f", "1/0"]\n'
        "[attributes.c]\n" + CATEGORY + 'values = ["x"]\ntrim = false\n'
    )
    a, b, c = (attribute.notation for attribute in domain.attributes)
    assert a == Notation(missing=("?", "-9"), decimal=",", trim=True)
    assert b == Notation(booleans=(("t", "f"), ("1", "0")), trim=True)
    assert c == Notation(missing=("?", "-9"), booleans=(("yes", "no"),))


REFUSED = [
    (one(INTEGER + "missing = 9\n"), "line 7: attributes.x.missing: must be a list of texts or whole numbers"),
    (one(INTEGER + "missing = [1.5]\n"), "line 7: attributes.x.missing: must be a list"),
    (one(INTEGER + "trim = 1\n"), "line 7: attributes.x.trim: must be true or false"),
    (one(INTEGER + "ignore_case = true\n"), "attributes.x.ignore_case: unknown key; integer allows"),
    (one(INTEGER + 'decimal = ";"\n'), 'attributes.x.decimal: must be "." or ","'),
    (one(INTEGER + 'thousands = "."\n'), "attributes.x.thousands: '.' is the decimal sign already"),
    (one(INTEGER + 'thousands = "00"\n'), "attributes.x.thousands: must be the one character"),
    (one(INTEGER + 'thousands = "3"\n'), "attributes.x.thousands: must be the one character"),
    (one(CATEGORY + 'values = ["a"]\ndecimal = ","\n'), "attributes.x.decimal: unknown key; category allows"),
    (one(CATEGORY + 'values = [true]\nbooleans = "yes"\n'), "attributes.x.booleans: must be how true and false"),
    (one(CATEGORY + 'values = [true]\nbooleans = "y/y"\n'), "attributes.x.booleans: must be how true and false"),
    (one(CATEGORY + "values = [true]\nbooleans = [3]\n"), "attributes.x.booleans: must be how true and false"),
    (one(CATEGORY + 'values = ["a"]\nbooleans = "yes/no"\n'), "is for a category whose values are true and false"),
    (one(CATEGORY + 'values = ["a", "A"]\nignore_case = true\n'), "attributes.x.values: 'a' and 'A' cannot be told"),
    (one(CATEGORY + 'values = ["a", "a "]\ntrim = true\n'), "attributes.x.values: 'a' and 'a ' cannot be told"),
    (one(CATEGORY + 'values = ["NA"]\nmissing = ["NA"]\n'), "attributes.x.missing: 'NA' is one of its values"),
    (one(CATEGORY + 'values = ["na"]\nmissing = ["NA"]\nignore_case = true\n'), "'NA' is one of its values"),
    (one(CATEGORY + 'values = [false, true, "no"]\nbooleans = "yes/no"\n'), "'no' would be two of its values"),
    (one(CATEGORY + 'values = [false, true]\nbooleans = ["y/n", "n/y"]\n'), "'n' would be two of its values"),
    (one(CATEGORY + 'values = [false, true]\nbooleans = "y/n"\nmissing = ["n"]\n'), "'n' is one of its values"),
    ('name = "t"\n[notation]\nmising = []\n' + one(INTEGER)[16:], "line 3: notation.mising: unknown key; allowed:"),
    ('name = "t"\nnotation = 3\n' + one(INTEGER)[16:], "line 2: notation must be a table"),
    ('name = "t"\n[notation]\nthousands = "."\n' + one(INTEGER)[16:], "line 3: notation.thousands: '.' is the decimal"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_notation_that_contradicts_itself_is_refused_by_line_and_key(text: str, message: str) -> None:
    with pytest.raises(DomainError) as refusal:
        parse_domain(text)
    assert message in str(refusal.value)
