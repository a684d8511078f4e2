from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.sql.parse import parse
from discreet.sql.where_text import where_text

SOURCE = {"source": "made for the tests"}
EDGES = tuple(Fraction(edge) for edge in ("-1", "0.5", "25000"))
EXPRESSIBLE = Domain(
    "order",
    (
        Integer(name="age", low=-2, high=3, null=True, **SOURCE),
        Category(name="marital status", values=("it's", "a -- b", "é"), outside="other", null=True, **SOURCE),
        Category(name="select", values=("1", "2", "3"), **SOURCE),
        Bins(name="income", edges=EDGES, null=True, **SOURCE),
        Bins(name="Wealth", edges=(None, *EDGES), **SOURCE),
        Bins(name="debt", edges=(None, Fraction(0), None), null=True, **SOURCE),
    ),
)


@st.composite
def regions(draw: st.DrawFn, domain: Domain) -> Region:
    boxes = []
    for _ in range(draw(st.integers(0, 4))):
        ends = [sorted((draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1)))) for size in domain.shape]
        free = draw(st.sets(st.integers(0, len(domain.shape) - 1)))
        low = tuple(0 if axis in free else low for axis, (low, _) in enumerate(ends))
        high = tuple(domain.shape[axis] - 1 if axis in free else high for axis, (_, high) in enumerate(ends))
        boxes.append(Box(low, high))
    return Region.of(boxes)


@settings(max_examples=120)
@given(region=regions(EXPRESSIBLE))
def test_the_words_of_a_region_are_read_back_as_the_same_region_without_a_note(region: Region) -> None:
    question = parse(f'SELECT COUNT(*) FROM "order" WHERE {where_text(region, EXPRESSIBLE)}', EXPRESSIBLE)
    assert question.where == region
    assert bool(question.notes) == (not region)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("TRUE", "TRUE"),
        ("FALSE", "FALSE"),
        ("age = 3", "age = 3"),
        ("age > 3 AND age < 6 AND sex = 'F'", "age BETWEEN 4 AND 5 AND sex = 'F'"),
        ("age = 3 OR age = 5 OR age > 90", "(age IN (3, 5) OR age >= 91)"),
        ("NOT age BETWEEN 10 AND 20", "(age <= 9 OR age >= 21)"),
        ("age < 18 OR age IS NULL", "(age <= 17 OR age IS NULL)"),
        ("education NOT IN ('none', 'school')", "education NOT IN ('none', 'school')"),
        ("education = 'none' OR education IS NULL", "(education = 'none' OR education IS NULL)"),
        ("income < 50000 AND income >= 25000", "income >= 25000 AND income < 50000"),
        ("age > 90 AND sex = 'F' OR age < 3 AND sex = 'M'", "(age <= 2 AND sex = 'M') OR (age >= 91 AND sex = 'F')"),
        ("born <> 1950", "(born <= 1949 OR born >= 1951 OR born is outside its declared values)"),
    ],
)
def test_regions_are_worded_as_people_would(condition: str, words: str, people: Domain) -> None:
    assert where_text(parse(f"SELECT COUNT(*) FROM people WHERE {condition}", people).where, people) == words
