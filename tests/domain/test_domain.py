"""A domain: axes by name, slabs, and a fingerprint of what codes mean."""

from dataclasses import replace

import pytest

from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError

TEXT = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
outside = "clamp"
source = "registry"
[attributes.sex]
kind = "category"
values = ["F", "M"]
null = true
source = "form"
[attributes.income]
kind = "bins"
edges = [0, 10000, 25000]
source = "classes"
"""


@pytest.fixture
def domain() -> Domain:
    return parse_domain(TEXT)


def test_axes_follow_the_order_of_the_text(domain: Domain) -> None:
    assert domain.names == ("age", "sex", "income")
    assert domain.shape == (100, 3, 2)
    assert domain.points == 600
    assert [domain.axis(name) for name in domain.names] == [0, 1, 2]
    assert domain["sex"] is domain.attributes[1]


def test_everything_is_every_point(domain: Domain) -> None:
    assert domain.everything == Region((Box((0, 0, 0), (99, 2, 1)),))
    assert domain.everything.volume == domain.points


def test_a_slab_limits_one_attribute_only(domain: Domain) -> None:
    assert domain.slab("sex", 1, 2) == Region((Box((0, 1, 0), (99, 2, 1)),))


def test_the_points_of_fifty_attributes_are_counted_exactly() -> None:
    tables = "".join(
        f'[attributes.a{i}]\nkind = "integer"\nlow = 0\nhigh = 99\nsource = "codebook"\n' for i in range(50)
    )
    assert parse_domain(f'name = "wide"\n{tables}').points == 100**50


@pytest.mark.parametrize(
    ("name", "hint"),
    [("ages", "did you mean age?"), ("incom", "did you mean income?"), ("zzz", "there are age, sex, income")],
)
def test_an_unknown_attribute_is_refused_with_near_names(domain: Domain, name: str, hint: str) -> None:
    with pytest.raises(DomainError, match="people has no attribute") as refusal:
        domain.axis(name)
    assert hint in str(refusal.value)


def test_who_asks_by_the_column_of_people_is_told_what_it_is(domain: Domain) -> None:
    with pytest.raises(DomainError, match=r"who says who is meant, .* COUNT\(DISTINCT who\), or .* age, sex, income"):
        replace(domain, person="who").axis("who")


def test_a_domain_does_not_change_with_how_the_text_is_written(domain: Domain) -> None:
    rewritten = TEXT.replace("low = 0\nhigh = 99", "high = 99 # inclusive\nlow = 0").replace("25000]", "25_000.0]")
    assert parse_domain(rewritten) == domain
