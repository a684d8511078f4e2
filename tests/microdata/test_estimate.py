"""Counts over buckets: against all pairings, and against the truth where buckets leave nothing open."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError, UnsupportedQuery
from discreet.microdata.estimate import Estimated, estimate

DOMAIN = Domain(
    "people",
    (
        Integer(name="age", source="s", low=0, high=3),
        Category(name="sex", source="s", values=("F", "M")),
        Category(name="disease", source="s", values=("a", "b", "c")),
    ),
)


class Small:
    """Buckets in memory: people as (age, sex) and values, by bucket."""

    domain, sensitive, fakes = DOMAIN, "disease", 0

    def __init__(self, contents):
        self.contents = contents
        self.bucket = np.repeat(np.arange(len(contents)), [len(people) for people, _ in contents])
        self.size_of = np.bincount(self.bucket)
        self.people = np.array([person for people, _ in contents for person in people])

    def codes(self, name):
        return self.people[:, DOMAIN.axis(name)]

    def listed_among(self, codes):
        return np.array([sum(value in codes for value in values) for _, values in self.contents], float)


buckets = st.lists(
    st.integers(1, 4).flatmap(
        lambda size: st.tuples(
            st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=size, max_size=size),
            st.lists(st.integers(0, 2), min_size=size, max_size=size),
        )
    ),
    min_size=1,
    max_size=3,
)
boxes = st.tuples(*(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted) for n in DOMAIN.shape)).map(
    lambda spans: Box(tuple(low for low, _ in spans), tuple(high for _, high in spans))
)


def over_all_pairings(contents, region):
    """The mean and the variance of the count, exactly, by going through all pairings of each bucket."""
    mean, variance = Fraction(0), Fraction(0)
    for people, values in contents:
        counts = [
            sum((*person, value) in region for person, value in zip(people, order, strict=True))
            for order in itertools.permutations(values)
        ]
        average = Fraction(sum(counts), len(counts))
        mean += average
        variance += sum((count - average) ** 2 for count in counts) / len(counts)
    return mean, variance


@settings(max_examples=150)
@given(buckets, st.lists(boxes, min_size=1, max_size=3))
def test_mean_and_spread_are_those_of_all_pairings(contents, chosen):
    region = Region.of(chosen)
    found = estimate(Small(contents), region)
    mean, variance = over_all_pairings(contents, region)
    assert found.value == pytest.approx(float(mean))
    assert found.deviation**2 == pytest.approx(float(variance), abs=1e-9)


def test_an_interval_is_never_below_nobody():
    low, high = Estimated(1.0, 5.0).range(0.95)
    assert low == 0
    assert high == pytest.approx(1 + 1.959964 * 5)


def truth(rows, keep):
    return sum(keep(row) for row in rows.to_pylist())


EXACT = [
    ("SELECT COUNT(*) FROM patients", lambda _: True),
    ("SELECT COUNT(*) FROM patients WHERE age < 40 AND sex = 'F'", lambda r: (r["age"] or 99) < 40 and r["sex"] == "F"),
    ("SELECT COUNT(*) FROM patients WHERE disease IN ('flu', 'HIV')", lambda r: r["disease"] in ("flu", "HIV")),
    ("SELECT COUNT(*) FROM patients WHERE age IS NULL", lambda r: r["age"] is None),
    ("SELECT COUNT(*) FROM patients WHERE weight >= 60 AND weight < 80", lambda r: 60 <= r["weight"] < 80),
]


@pytest.mark.parametrize(("sql", "keep"), EXACT, ids=[sql for sql, _ in EXACT])
def test_a_question_about_one_table_alone_has_its_exact_answer(patients, sql, keep):
    answer = patients.publish().ask(sql)
    assert answer.value == pytest.approx(truth(patients.rows, keep))
    assert answer.rows[0][0].deviation == pytest.approx(0, abs=1e-6)


def test_a_question_about_both_is_near_the_truth_where_they_are_independent(patients):
    buckets = patients.publish(sizes="two")
    answer = buckets.ask("SELECT COUNT(*) FROM patients WHERE age < 45 AND disease = 'flu'", 0.9999)
    low, high = answer.rows[0][0].range(0.9999)
    assert low <= truth(patients.rows, lambda r: (r["age"] or 99) < 45 and r["disease"] == "flu") <= high


def test_groups_add_up_and_come_in_the_order_asked_for(patients):
    buckets = patients.publish()
    answer = buckets.ask("SELECT disease, COUNT(*) AS n FROM patients WHERE sex = 'F' GROUP BY disease ORDER BY n DESC")
    numbers = [row[1].value for row in answer.rows]
    assert answer.columns == ("disease", "n")
    assert numbers == sorted(numbers, reverse=True)
    assert sum(numbers) == pytest.approx(truth(patients.rows, lambda r: r["sex"] == "F"))
    first = buckets.ask("SELECT disease, COUNT(*) AS n FROM patients WHERE sex = 'F' GROUP BY disease LIMIT 2 OFFSET 1")
    assert [row[0] for row in first.rows] == ["cold", "burn"]


def test_with_fakes_the_total_is_still_the_number_of_people(patients):
    buckets = patients.publish(fakes=2, limits="0.35")
    assert buckets.ask("SELECT COUNT(*) FROM patients WHERE sex = 'M'").value == pytest.approx(
        truth(patients.rows, lambda r: r["sex"] == "M")
    )
    flu = truth(patients.rows, lambda r: r["disease"] == "flu")
    assert buckets.ask("SELECT COUNT(*) FROM patients WHERE disease = 'flu'").value == pytest.approx(flu, rel=0.25)


REFUSED = [
    ("SELECT AVG(age) FROM patients", UnsupportedQuery, "COUNT"),
    ("SELECT COUNT(*) FROM people", UnsupportedQuery, "FROM patients"),
    ("SELECT COUNT(*) FROM patients WHERE number = 3", DomainError, "number"),
    ("SELECT disease FROM patients", UnsupportedQuery, "GROUP BY"),
    ("DROP TABLE patients", UnsupportedQuery, ""),
]


@pytest.mark.parametrize(("sql", "error", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_buckets_cannot_tell_is_refused(patients, sql, error, said):
    with pytest.raises(error, match=said):
        patients.publish().ask(sql)
