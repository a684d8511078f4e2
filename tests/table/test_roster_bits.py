"""Bit vectors over a roster: the same as a loop over the rows, and silent about who is in the table."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.read import parse_domain
from discreet.errors import DomainError, EngineError
from discreet.query.query import SubsetCount
from discreet.query.subset import Everyone, Listed, Seeded
from discreet.sql.parse import parse_predicate
from discreet.table import roster_bits
from discreet.table.roster import key_of, read_roster
from discreet.table.unit import Unit, unit_on_roster
from tests.populations import population

DOMAIN = parse_domain("""
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
[attributes.smoker]
kind = "category"
values = ["false", "true"]
null = true
source = "a test"
""")
ROSTER = read_roster(pa.table({"person": range(300)}), "person")
UNIT = Unit("person", 1)


def opened(rows):
    """A table of (person, age, smoker)."""
    persons, ages, smokers = zip(*rows, strict=True)
    table = pa.table({"person": pa.array(map(str, persons)), "age": ages, "smoker": pa.array(smokers, pa.bool_())})
    return population(table, DOMAIN, UNIT, roster=ROSTER)


def bits_of(table, predicate):
    """Whose bit is set, by their id."""
    vector = table._bits.vector(parse_predicate(predicate, DOMAIN)[0])
    flags = np.unpackbits(vector.view(np.uint8), bitorder="little")
    places = ROSTER.places(np.array([key_of(str(person)) for person in range(300)]))
    return {person for person, place in enumerate(places) if flags[place]}


PEOPLE = [(person, person * 7 % 100, (True, False, None)[person % 3]) for person in range(0, 300, 2)]


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        ("smoker", lambda row: row[2] is True),
        ("NOT smoker", lambda row: row[2] is False),
        ("smoker IS NULL", lambda row: row[2] is None),
        ("smoker AND age > 50", lambda row: row[2] is True and row[1] > 50),
        ("smoker OR NOT age BETWEEN 10 AND 90", lambda row: row[2] is True or not 10 <= row[1] <= 90),
        ("age IN (3, 70) OR age = 14 AND NOT smoker", lambda row: row[1] in (3, 70) or row[1:] == (14, False)),
        ("TRUE", lambda _: True),
        ("FALSE", lambda _: False),
    ],
)  # fmt: skip
def test_a_bit_is_whether_the_persons_row_meets_the_predicate(predicate, holds):
    table = opened(PEOPLE)
    assert bits_of(table, predicate) == {row[0] for row in PEOPLE if holds(row)}
    assert not (table._bits.vector(DOMAIN.everything) & ~ROSTER.everyone).any()


def test_who_is_not_on_the_roster_or_not_in_the_table_counts_0_without_an_error():
    table = opened([("5", 30, True), ("301", 30, True), ("stranger", 30, True), ("6", 130, True)])
    assert bits_of(table, "smoker") == {5}  # 6 has an age outside the domain, and so no code
    [counts] = table.evaluate([SubsetCount((Everyone(), Listed(("5", "7", "301", "stranger"))), DOMAIN.everything)])
    assert counts.tolist() == [1, 1]


def test_two_spellings_of_one_id_are_one_person_with_one_row():
    rows = [("7", 20, True), ("007", 80, False), ("7.0", 50, None), ("8", 20, True)]
    found = [bits_of(opened(order), predicate) for order in (rows, rows[::-1]) for predicate in (
        "age = 20 AND smoker", "age = 80 AND NOT smoker", "age = 50 AND smoker IS NULL")]  # fmt: skip
    assert [sorted(found[i] & {7}) for i in range(3)] == [sorted(found[i] & {7}) for i in range(3, 6)]
    assert sum(7 in those for those in found[:3]) == 1, "one row, whole, whichever"


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(st.integers(0, 320), st.integers(0, 99), st.booleans()), min_size=1, unique_by=lambda row: row[0]
    ),
    st.integers(0, 99),
    st.lists(st.integers(0, 330), max_size=20),
)
def test_counts_over_subsets_are_those_of_a_loop(rows, least, ids):
    where, _ = parse_predicate(f"age >= {least}", DOMAIN)
    query = SubsetCount((Everyone(), Seeded(9), Listed(tuple(map(str, ids)))), where)
    [counts] = opened(rows).evaluate([query])
    meets = {person for person, age, _ in rows if age >= least and person < 300}
    seeded = {p for p in meets if ROSTER.count([Seeded(9)], _bit(p))[0]}
    assert counts.tolist() == [len(meets), len(seeded), len(meets & set(ids))]


def _bit(person):
    vector = np.zeros_like(ROSTER.everyone)
    [place] = ROSTER.places(np.array([key_of(str(person))]))
    vector[place // 64] = np.uint64(1) << np.uint64(place % 64)
    return vector


def test_vectors_are_kept_within_bounds(monkeypatch):
    table = opened(PEOPLE)
    monkeypatch.setattr(roster_bits, "VECTOR_BYTES", 3 * ROSTER.everyone.nbytes)
    for _ in range(2):
        for least in range(10):
            assert bits_of(table, f"age > {least}") == {row[0] for row in PEOPLE if row[1] > least}
    assert len(table._bits._vectors) <= 3


def test_a_table_without_a_roster_answers_no_counts_over_one():
    table = population(pa.table({"age": [1], "smoker": [True]}), DOMAIN)
    with pytest.raises(EngineError, match="no roster"):
        table.evaluate([SubsetCount((Everyone(),), DOMAIN.everything)])


def test_a_unit_on_a_roster_has_one_row_of_each_person():
    assert unit_on_roster("person", None, None) == unit_on_roster("person", 1, "own") == Unit("person", 1, "drop")
    assert unit_on_roster("person", None, "refuse").null_ids == "refuse"
    for id_column, max_rows in ((None, None), ("person", 2)):
        with pytest.raises(DomainError):
            unit_on_roster(id_column, max_rows, None)
