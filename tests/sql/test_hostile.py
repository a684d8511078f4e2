"""Text that is long, deep, broken or random: a refusal of our own, after bounded work."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.errors import DiscreetError, UnsupportedQuery
from discreet.sql.parse import parse
from tests.steps import calls_of

LEVELS = ("none", "school", "bachelor", "master")
COUNT = "SELECT COUNT(*) FROM people WHERE "
LONG = {
    "a megabyte": (COUNT + "age = 1 OR " * 100_000 + "age = 1", "longer than 65536 characters"),
    "a megabyte of one number": (COUNT + "age = " + "9" * 1_000_000, "longer than 65536 characters"),
    "10,000 OR terms": (COUNT + " OR ".join(["age=1"] * 10_000), "longer than 65536 characters"),
    "10,000 short terms": ("SELECT COUNT(*) FROM people WHERE age IN (" + "1," * 10_000 + "1)", "more than 8000 words"),
    "7,000 NOTs": (COUNT + "NOT " * 7_000 + "age = 1", "nested too deeply"),
    "7,000 signs": (COUNT + "age = " + "- " * 7_000 + "1", "nested too deeply"),
    "nested NOTs": (COUNT + "NOT sex = " * 2_000 + "'F'", "nested too deeply"),
    "deep parentheses": (COUNT + "(" * 100 + "age = 1" + ")" * 100, "more than 16 deep"),
    "open parentheses": (COUNT + "(" * 7_000, "more than 16 deep"),
    "brackets": (COUNT + "[" * 3_000 + "]" * 3_000, "nested too deeply"),
    "CASEs": (COUNT + "CASE WHEN " * 1_500, "nested too deeply"),
    "a list that never ends": ("SELECT COUNT(*) FROM people x (a, NOT", "not understood"),
    "a parser's slip": ("SELECT COUNT(*) people LIMIT ALL (", "not understood"),
    "a long number": (COUNT + "age = " + "9" * 60_000, "is not a decimal number of at most 38 digits"),
    "a long name": (COUNT + "x" * 60_000 + " = 1", "people has no attribute"),
    "a long text": (COUNT + "sex = '" + "F" * 60_000 + "'", "sex has no declared value"),
    "51 aggregates": ("SELECT " + "+".join(["COUNT(*)"] * 51) + " FROM people", "51 aggregates"),
    "3,150 boxes": (
        COUNT + f"age IN {tuple(range(0, 100, 2))} AND born IN {tuple(range(1900, 2026, 2))}",
        "2000 separate boxes",
    ),
    "a million cells": (
        COUNT
        + " OR ".join(
            f"age = {n} AND born = {1900 + n} AND children = {n // 5} AND education = '{LEVELS[n % 4]}'"
            for n in range(101)
        ),
        "cells, and at most 524288",
    ),
}


MOST_CALLS_REFUSED, MOST_CALLS_READ = 500_000, 2_000_000
"""Function calls for a long statement: a tenth of a second, and a quarter of one."""


@pytest.mark.parametrize(("text", "words"), LONG.values(), ids=LONG.keys())
def test_long_and_deep_statements_are_refused_after_little_work(text: str, words: str, people: Domain) -> None:
    def refused() -> None:
        with pytest.raises(DiscreetError, match=words) as refusal:
            parse(text, people)
        assert len(str(refusal.value)) < 400

    assert calls_of(refused) < MOST_CALLS_REFUSED


def test_the_largest_statements_that_are_taken_are_read_with_bounded_work(people: Domain) -> None:
    many = COUNT + " OR ".join(f"age = {n % 101} AND born = {1900 + n % 127}" for n in range(800))
    read = []
    assert calls_of(lambda: read.append(parse(many, people))) < MOST_CALLS_READ
    assert read[0].where


ODD = {
    "empty": "",
    "spaces": " \n\t",
    "a semicolon": ";",
    "only a comment": "-- nothing",
    "NUL": "SELECT COUNT(*) FROM people\0",
    "a lone surrogate": "SELECT COUNT(*) FROM people WHERE sex = '\ud800'",
    "an escape character": "SELECT COUNT(*) FROM people WHERE sex = '\x1b[31m'",
    "a fullwidth SELECT": "ＳＥＬＥＣＴ COUNT(*) FROM people",
    "a right-to-left override": "SELECT COUNT(*) FROM people WHERE \u202eega = 1",
    "a zero-width space": "SELECT COUNT(*) FROM people WHERE a\u200bge = 1",
    "Arabic digits": "SELECT COUNT(*) FROM people WHERE age = ٣",
    "superscripts": "SELECT COUNT(*) FROM people WHERE age = 3²",
    "smart quotes": "SELECT COUNT(*) FROM people WHERE sex = ‘F’",
    "an accent": "SELECT COUNT(*) FROM people WHERE age\u0301 = 1",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_characters_are_refused_and_shown_as_plain_ones(text: str, people: Domain) -> None:
    with pytest.raises(DiscreetError) as refusal:
        parse(text, people)
    assert all(character.isprintable() for character in str(refusal.value))


PIECES = """
SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET COUNT SUM AVG QUANTILE ( ) ( ) * , . ; = <> < > + - / AND OR NOT IN
IS NULL BETWEEN TRUE CASE WHEN THEN END CAST AS FILTER OVER JOIN UNION WITH HAVING DISTINCT EXISTS people age sex income
'F' "x" 1 2.5 1e9 ? : :: [ ] { } -> || @ $1 INTERVAL DATE LIKE ESCAPE VALUES LATERAL WITHIN PERCENTILE_CONT
"""


@settings(max_examples=250)
@given(tail=st.lists(st.sampled_from(PIECES.split()), max_size=25))
@example(tail=[])
def test_random_statements_raise_nothing_but_our_errors(tail: list[str], people: Domain) -> None:
    for head in ("SELECT", "SELECT COUNT(*) FROM people WHERE", "SELECT COUNT(*) FROM people GROUP BY"):
        with suppress(DiscreetError):
            parse(f"{head} {' '.join(tail)}", people)


@settings(max_examples=100)
@given(text=st.text(max_size=80))
def test_random_text_raises_nothing_but_our_errors(text: str, people: Domain) -> None:
    with pytest.raises(UnsupportedQuery):
        parse(text, people)
    with suppress(DiscreetError):
        parse(f"SELECT COUNT(*) FROM people WHERE sex = '{text}'", people)
