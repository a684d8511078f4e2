"""Predicates: conditions as after WHERE, and nothing else; columns of true and false are conditions by themselves."""

import pytest

from discreet.domain.read import parse_domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.sql.parse import parse, parse_predicate

DOMAIN = parse_domain("""
name = "hospital"
[attributes.smoker]
kind = "category"
values = ["true", "false"]
null = true
source = "a test"
[attributes.insured]
kind = "integer"
low = 0
high = 1
source = "a test"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
[attributes.married]
kind = "category"
values = ["0", "1"]
source = "a test"
[attributes.weight]
kind = "bins"
edges = [0, 50, 100]
source = "a test"
""")


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("smoker", "smoker = TRUE"),
        ("NOT smoker", "smoker = FALSE"),
        ("insured", "insured = 1"),
        ("NOT insured", "insured = 0"),
        ("married AND NOT insured", "married = 1 AND insured = 0"),
        ("SMOKER AND age > 50", "smoker = 'true' AND age >= 51"),
        ("smoker AND (insured OR NOT age < 9)", "smoker = TRUE AND (insured = 1 OR age >= 9)"),
        ("hospital.smoker", "smoker = TRUE"),
        ("(smoker)", "smoker = TRUE"),
    ],
)
def test_a_column_of_true_and_false_is_a_condition_by_itself(short, long):
    assert parse_predicate(short, DOMAIN) == parse_predicate(long, DOMAIN)
    asked = parse(f"SELECT COUNT(*) FROM hospital WHERE {short}", DOMAIN)
    assert asked.where == parse_predicate(short, DOMAIN)[0]


def test_whoever_has_no_value_neither_smokes_nor_not():
    smokers, others = (parse_predicate(text, DOMAIN)[0] for text in ("smoker", "NOT smoker"))
    assert [box.low[0] for box in (*smokers.boxes, *others.boxes)] == [0, 1]
    assert parse_predicate("smoker OR NOT smoker", DOMAIN)[0] != DOMAIN.everything


def test_a_note_says_where_the_region_is_another():
    _, notes = parse_predicate("weight > 60", DOMAIN)
    assert "bins have edges" in notes[0]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("age", UnsupportedQuery, "alone is not a condition"),
        ("weight", UnsupportedQuery, "alone is not a condition"),
        ("height > 3", DomainError, "no attribute"),
        ("", UnsupportedQuery, "understood"),
        ("smoker GROUP BY age", UnsupportedQuery, "GROUP"),
        ("smoker ORDER BY 1", UnsupportedQuery, "ORDER"),
        ("smoker LIMIT 3", UnsupportedQuery, "LIMIT"),
        ("smoker; SELECT COUNT(*) FROM hospital", UnsupportedQuery, "more than one"),
        ("smoker UNION SELECT COUNT(*) FROM hospital", UnsupportedQuery, "UNION"),
        ("smoker) OR (insured", UnsupportedQuery, "understood|parenthes"),
        ("age IN (SELECT age FROM hospital)", UnsupportedQuery, "sub-query"),
        ("smoker HAVING COUNT(*) > 1", UnsupportedQuery, "HAVING"),
        ("smoker AND", UnsupportedQuery, "understood"),
        ("smoker AND )", UnsupportedQuery, r"at '\)', line 1, column 12"),
        ("smoker\nAND AND insured", UnsupportedQuery, "line 2, column 5"),
    ],
)
def test_anything_but_a_condition_is_refused(text, kind, words):
    with pytest.raises(kind, match=words):
        parse_predicate(text, DOMAIN)
