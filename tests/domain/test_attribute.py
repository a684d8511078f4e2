"""What codes mean: sizes, special codes, labels."""

from fractions import Fraction

import pytest

from discreet.domain.attribute import Attribute, Bins, Category, Integer


def age(**options: object) -> Integer:
    return Integer(**{"name": "age", "source": "registry", "low": -1, "high": 2, **options})


def sex(**options: object) -> Category:
    return Category(**{"name": "sex", "source": "form", "values": ("F", "M"), **options})


def income(**options: object) -> Bins:
    edges = (Fraction(0), Fraction(1, 2), Fraction(10))
    return Bins(**{"name": "income", "source": "classes", "edges": edges, **options})


LABELS = [
    (age(), ("-1", "0", "1", "2")),
    (age(outside="clamp"), ("-1", "0", "1", "2")),
    (age(outside="other"), ("-1", "0", "1", "2", "(other)")),
    (age(null=True), ("-1", "0", "1", "2", "(missing)")),
    (age(outside="other", null=True), ("-1", "0", "1", "2", "(other)", "(missing)")),
    (age(low=7, high=7), ("7",)),
    (sex(), ("F", "M")),
    (sex(outside="other", null=True), ("F", "M", "(other)", "(missing)")),
    (income(), ("[0, 0.5)", "[0.5, 10)")),
    (income(edges=(None, Fraction(0), None)), ("(−∞, 0)", "[0, ∞)")),
    (income(edges=(None, Fraction(-5)), outside="clamp", null=True), ("(−∞, -5)", "(missing)")),
]


@pytest.mark.parametrize(("attribute", "labels"), LABELS)
def test_labels_are_cells_then_other_then_missing(attribute: Attribute, labels: tuple[str, ...]) -> None:
    assert attribute.labels == labels
    assert attribute.size == len(labels)
    assert attribute.other_code == (labels.index("(other)") if "(other)" in labels else None)
    assert attribute.null_code == (labels.index("(missing)") if "(missing)" in labels else None)
    assert attribute.cells == len([label for label in labels if label not in ("(other)", "(missing)")])


@pytest.mark.parametrize(("attribute", "labels"), LABELS)
def test_a_code_beyond_the_last_or_below_zero_has_no_label(attribute: Attribute, labels: tuple[str, ...]) -> None:
    for code in (-1, len(labels)):
        with pytest.raises(IndexError, match=f"codes 0 to {len(labels) - 1}"):
            attribute.label(code)


@pytest.mark.parametrize(
    ("outside", "null", "total"),
    [
        ("drop", False, False),
        ("drop", True, False),
        ("clamp", False, False),
        ("clamp", True, True),
        ("other", False, True),
        ("other", True, True),
    ],
)
def test_an_attribute_is_total_when_every_value_has_a_code(outside: str, null: bool, total: bool) -> None:
    assert age(outside=outside, null=null).total is total


def test_a_category_knows_the_codes_of_its_values_and_of_no_others() -> None:
    assert [sex().code(value) for value in ("F", "M", "f", "")] == [0, 1, None, None]


@pytest.mark.parametrize(
    ("edges", "is_open"),
    [((Fraction(0), Fraction(1)), False), ((None, Fraction(1)), True), ((Fraction(0), None), True)],
)
def test_bins_are_open_when_an_end_is(edges: tuple[Fraction | None, ...], is_open: bool) -> None:
    assert income(edges=edges).open is is_open


def test_attributes_compare_by_what_they_declare() -> None:
    assert sex() == sex()
    assert hash(sex()) == hash(sex())
    assert sex() != sex(values=("M", "F"))
    assert age() != age(null=True)
