"""Values that a domain does not declare: what it may say of them, and what may stand in [found]."""

import pytest

from discreet.domain.attribute import Category, Discoverable
from discreet.domain.read import LONGEST_FOUND, MOST_FOUND, parse_domain
from discreet.errors import DomainError

DOMAIN = """name = "people"
[attributes.job]
kind = "category"
values = "discover"
source = "their own words"
"""


def job(text: str) -> Category:
    found = parse_domain(text)["job"]
    assert isinstance(found, Category)
    return found


def test_before_values_are_found_there_is_other_alone():
    assert job(DOMAIN).labels == ("(other)",)
    assert job(DOMAIN + "null = true\n").labels == ("(other)", "(missing)")
    assert job(DOMAIN).discoverable == Discoverable(MOST_FOUND, LONGEST_FOUND)
    assert parse_domain(DOMAIN).undiscovered == {"job": Discoverable(MOST_FOUND, LONGEST_FOUND)}


def test_found_values_are_values_like_any_other():
    text = DOMAIN + 'most = 3\n[found]\njob = ["baker", "Köchin"]\n'
    assert job(text).labels == ("baker", "Köchin", "(other)")
    assert job(text).code("Köchin") == 1
    assert parse_domain(text).found == {"job": ("baker", "Köchin")}
    assert parse_domain(text).undiscovered == {}
    assert parse_domain(DOMAIN + "[found]\njob = []\n").undiscovered == {}


def test_what_a_column_of_truths_is_called_elsewhere_is_no_matter():
    text = (
        DOMAIN.replace("[attributes", '[notation]\nbooleans = "yes/no"\n[attributes')
        + '[found]\njob = ["true", "yes"]\n'
    )
    assert dict(job(text).spellings()) == {"true": 0, "yes": 1}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("most = 0", "line 6: attributes.job.most: must be a whole number from 1 to 100,000"),
        ("most = true", "a whole number from 1"),
        ("most = 1000001", "a whole number from 1"),
        ("longest = 1001", "line 6: attributes.job.longest: must be a whole number from 1 to 1,000"),
        ('outside = "drop"', "what is not found is (other)"),
        ("prefix = true", "is for declared values"),
        ("hierarchy = {all = ['a']}", "is for declared values"),
        ('booleans = "yes/no"', "is for declared values"),
        ("[found]\njob = 3", "found holds lists of values"),
        ("[found]\njobs = ['a']", "'jobs' is no attribute whose values are to be discovered"),
        ("most = 1\n[found]\njob = ['a', 'b']", "or more than 1"),
        ("[found]\njob = ['a', 'a']", "that nobody can have found"),
        ("[found]\njob = [1]", "that nobody can have found"),
        ("[found]\njob = ['(other)']", "that nobody can have found"),
        ("[found]\njob = ['a\\u0007']".replace("'", '"'), "that nobody can have found"),
        ("longest = 3\n[found]\njob = ['baker']", "that nobody can have found"),
        ("trim = true\n[found]\njob = [' a']", "that nobody can have found"),
        ("missing = ['?']\n[found]\njob = ['?']", "that nobody can have found"),
    ],
)
def test_what_cannot_be_said_of_them_is_refused(more, words):
    with pytest.raises(DomainError) as refused:
        parse_domain(DOMAIN + more + "\n")
    assert words in str(refused.value)


@pytest.mark.parametrize("key", ["most = 3", "longest = 3"])
def test_bounds_are_for_what_nobody_declares(key):
    with pytest.raises(DomainError, match="is for values that nobody declares"):
        parse_domain(DOMAIN.replace('"discover"', '["a"]') + key)


def test_nothing_is_found_of_declared_values():
    with pytest.raises(DomainError, match="is no attribute whose values are to be discovered"):
        parse_domain(DOMAIN.replace('"discover"', '["a"]') + "[found]\njob = ['a']\n")
