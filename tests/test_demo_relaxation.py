"""The stand-in for the relaxation seed's CENSUS."""

import numpy as np
import pandas as pd
import pytest

from discreet.demo.relaxation import relaxation_census, relaxation_domain_path
from discreet.domain.attribute import Integer
from discreet.domain.read import read_domain


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return relaxation_census().to_pandas()


def test_a_million_rows_fill_domains_of_79_14_23_and_100(people: pd.DataFrame) -> None:
    domain = read_domain(relaxation_domain_path())
    assert domain.shape == (79, 14, 23, 100)  # relaxation, Section 5
    assert len(people) == 1_000_000
    assert tuple(people.columns) == domain.names
    for attribute in domain.attributes:
        assert isinstance(attribute, Integer)
        assert set(people[attribute.name]) == set(range(attribute.low, attribute.high + 1))


def test_the_same_seed_makes_the_same_rows_however_many() -> None:
    assert relaxation_census(5_000, seed=2).equals(relaxation_census(300_000, seed=2).slice(0, 5_000))
    assert not relaxation_census(5_000, seed=2).equals(relaxation_census(5_000, seed=3))


def test_attributes_are_correlated_as_in_life(people: pd.DataFrame) -> None:
    correlation = people.corr()
    assert correlation.loc["education", "income"] > 0.3
    assert correlation.loc["education", "occupation"] < -0.4
    assert correlation.loc["age", "education"] < -0.1
    middle_aged = people.income[people.age.between(40, 55)].mean()
    assert middle_aged > 1.3 * people.income[people.age < 22].mean()
    assert middle_aged > 1.3 * people.income[people.age > 75].mean()


@pytest.mark.parametrize(("attribute", "share"), [("age", 0.65), ("occupation", 0.7), ("income", 0.75)])
def test_attributes_are_skewed(people: pd.DataFrame, attribute: str, share: float) -> None:
    """The commoner half of an attribute's values holds more than `share` of the people."""
    counts = np.sort(people[attribute].value_counts().to_numpy())[::-1]
    assert counts[: len(counts) // 2].sum() > share * len(people)
