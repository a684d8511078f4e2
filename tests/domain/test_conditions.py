"""Conditions in Python against the codes that they mean."""

from fractions import Fraction

import pytest

from discreet.domain.conditions import region_where
from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError

INF = float("inf")


@pytest.fixture(scope="module")
def domain() -> Domain:
    return parse_domain("""
name = "people"
[attributes.age]
kind = "integer"
low = 18
high = 27
outside = "other"
source = "registry"
[attributes.job]
kind = "category"
values = ["cook", "clerk", "1", "true"]
null = true
source = "form"
[attributes.income]
kind = "bins"
edges = [0, 0.1, 10, inf]
source = "classes"
""")


def codes(region: Region, axis: int) -> set[int]:
    return {code for box in region.boxes for code in range(box.low[axis], box.high[axis] + 1)}


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("age", 18, {0}),
        ("age", (18, 20), {0, 1, 2}),
        ("age", (0, 19), {0, 1}),
        ("age", (26, 200), {8, 9}),
        ("age", (28, 30), set()),
        ("age", (25, 20), set()),
        ("job", "clerk", {1}),
        ("job", ["cook", "1"], {0, 2}),
        ("job", {"cook", "clerk"}, {0, 1}),
        ("job", 1, {2}),
        ("job", True, {3}),
        ("job", [], set()),
        ("job", None, {4}),
        ("income", (0, 0.1), {0}),
        ("income", (0.1, 10), {1}),
        ("income", (Fraction(1, 10), INF), {1, 2}),
        ("income", (-INF, 10), {0, 1}),
        ("income", (-INF, INF), {0, 1, 2}),
    ],
)
def test_a_condition_selects_its_codes(domain: Domain, name: str, wanted: object, expected: set[int]) -> None:
    region = region_where(domain, {name: wanted})
    assert codes(region, domain.axis(name)) == expected
    assert region.volume == domain.points // domain[name].size * len(expected)


def test_conditions_are_met_together(domain: Domain) -> None:
    both = region_where(domain, {"age": (18, 20), "job": ["cook", "1"]})
    assert both == Region.of([Box((0, 0, 0), (2, 0, 2)), Box((0, 2, 0), (2, 2, 2))])


def test_no_condition_selects_everything(domain: Domain) -> None:
    assert region_where(domain, {}) == domain.everything


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({"ages": 3}, "did you mean age?"),
        ({"age": "young"}, "age takes a whole number, or"),
        ({"age": 20.5}, "age takes a whole number, or"),
        ({"age": (20, 30, 40)}, "age takes a whole number, or"),
        ({"age": None}, "age has no code for missing values"),
        ({"job": "baker"}, "job has no value 'baker'; there are cook, clerk, 1, true"),
        ({"job": ["cook", "baker"]}, "job has no value 'baker'"),
        ({"income": 10}, "income takes (low, high), two of its edges in order"),
        ({"income": (10, 0)}, "two of its edges in order"),
        ({"income": (10, 10)}, "two of its edges in order"),
        ({"income": (0, 5)}, "income has no edge at 5; its bins are [0, 0.1), [0.1, 10), [10, ∞)"),
        ({"income": (0, -INF)}, "income has no edge at -inf"),
        ({"income": (INF, 10)}, "income has no edge at inf"),
        ({"income": (float("nan"), 10)}, "income has no edge at nan"),
    ],
)
def test_a_condition_that_cannot_be_met_is_refused_in_words(
    domain: Domain, conditions: dict[str, object], problem: str
) -> None:
    with pytest.raises(DomainError) as refusal:
        region_where(domain, conditions)
    assert problem in str(refusal.value)
