"""How many people have each value: nobody moves more numbers than they have rows, and only by one."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.attribute import Category
from discreet.domain.read import parse_domain
from discreet.table.open import open_source
from discreet.table.unit import Unit
from discreet.table.values_of_people import people_by_value

KEY = b"a key of a vault"
DOMAIN = """name = "people"
[attributes.job]
kind = "category"
values = "discover"
longest = 12
source = "their own words"
"""


def attribute(more: str = "") -> Category:
    found = parse_domain(DOMAIN + more)["job"]
    assert isinstance(found, Category)
    return found


def counted(table: pa.Table, unit: Unit | None = None, more: str = "") -> dict[str, int]:
    names, people = people_by_value(open_source(table), attribute(more), unit, KEY)
    return {name: int(many) for name, many in zip(names, people, strict=True) if many}


def of_people(rows: Sequence[tuple[str | None, str | None]]) -> pa.Table:
    return pa.table(
        {"id": pa.array([one for one, _ in rows], pa.string()), "job": pa.array([job for _, job in rows], pa.string())}
    )


ROWS = st.lists(
    st.tuples(st.sampled_from([None, "ann", "bob", "cy", "dee"]), st.sampled_from([None, "a", "b", "c", "d", "e"])),
    max_size=14,
)


@given(ROWS, st.integers(1, 3), st.sampled_from(["drop", "own"]))
def test_whoever_leaves_takes_one_away_from_as_many_values_as_their_rows_and_nothing_else_moves(rows, most, null_ids):
    unit = Unit("id", most, null_ids)
    everybody = counted(of_people(rows), unit)
    for person in ("ann", "bob", "cy", "dee"):
        others = counted(of_people([row for row in rows if row[0] != person]), unit)
        moved = {job: everybody.get(job, 0) - others.get(job, 0) for job in everybody | others}
        assert set(moved.values()) <= {0, 1}
        own = {job for one, job in rows if one == person and job is not None}
        assert sum(moved.values()) == min(len(own), most)
        assert {job for job, by in moved.items() if by} <= own
    for place, (person, job) in enumerate(rows):
        if person is None:
            others = counted(of_people(rows[:place] + rows[place + 1 :]), unit)
            by = int(null_ids == "own" and job is not None)
            assert sum(everybody.values()) - sum(others.values()) == by


@given(ROWS, ROWS, st.integers(1, 3))
def test_rows_of_a_period_that_come_or_go_move_twice_as_many_at_most(rows, others, most):
    """Where each period is protected by itself: a person's other rows stay, and lots decide among all of them."""
    unit = Unit("id", most, each_period=True)
    both = counted(of_people(rows + [("ann", job) for _, job in others]), unit)
    one = counted(of_people(rows), unit)
    assert sum(abs(both.get(job, 0) - one.get(job, 0)) for job in both | one) <= 2 * most


@given(ROWS, st.integers(1, 2), st.randoms(use_true_random=False))
def test_the_order_of_rows_decides_nothing(rows, most, random):
    mixed = list(rows)
    random.shuffle(mixed)
    unit = Unit("id", most)
    assert counted(of_people(mixed), unit) == counted(of_people(rows), unit)


def test_of_a_persons_values_each_is_as_likely_to_count():
    rows = [(f"p{person}", job) for person in range(4000) for job in "abcde"]
    found = counted(of_people(rows), Unit("id", 2))
    assert sum(found.values()) == 8000
    assert all(abs(many - 1600) < 6 * 31 for many in found.values())  # each of 4000 with 2/5: σ = 31


def test_a_person_counts_once_for_each_value():
    assert counted(of_people([("ann", "a")] * 5 + [("bob", "a")]), Unit("id", 3)) == {"a": 2}


def test_who_has_no_id_is_nobody_or_each_a_person_as_the_domain_says():
    rows = of_people([(None, "a"), (None, "a"), (None, "b"), ("ann", "a")])
    assert counted(rows, Unit("id", 1, "own")) == {"a": 3, "b": 1}
    assert counted(rows, Unit("id", 1, "drop")) == {"a": 1}


def test_without_an_id_every_row_is_a_person():
    assert counted(pa.table({"job": ["a", "b", "a", None]})) == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("baker", True),
        ("Bäcker", True),
        ("a b", True),
        ("x" * 12, True),
        ("x" * 13, False),
        ("ä" * 7, False),
        ("x" * 1_000_000, False),
        ("", False),
        ("  ", False),
        ("a\tb", False),
        ("a\x00", False),
        ("a\x1b[31m", False),
        ("\u202eabc", False),
        ("(other)", False),
        ("(Missing)", False),
    ],
)
def test_what_can_be_a_name_depends_on_the_text_alone(text, named):
    assert counted(pa.table({"job": [text, "other"]})) == {"other": 1, **({text: 1} if named else {})}


def test_bytes_that_are_no_text_are_nobodys_name():
    broken = pa.array([b"a\xff", b"fine"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, broken.buffers())
    assert counted(pa.table({"job": text})) == {"fine": 1}


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (pa.array([1, 1, -2, None], pa.int64()), {"1": 2, "-2": 1}),
        (pa.array([1.0, 1.5, float("nan")]), {"1": 1, "1.5": 1}),
        (pa.array([Decimal("2.50"), Decimal("2.00")]), {"2.5": 1, "2": 1}),
        (pa.array([True, False, True]), {"true": 2, "false": 1}),
        (pa.array([date(2026, 1, 31)]), {"2026-01-31": 1}),
        (pa.array(["a", "b", "a"]).dictionary_encode(), {"a": 2, "b": 1}),
    ],
)
def test_other_types_are_named_by_the_text_that_a_domain_would_declare(values, names):
    assert counted(pa.table({"job": values})) == names


def test_what_is_written_alike_is_one_value_and_what_is_missing_none():
    table = pa.table({"job": [" Baker", "baker ", "BAKER", "?", "n/a"]})
    more = 'trim = true\nignore_case = true\nmissing = ["?", "N/A"]\n'
    assert counted(table, None, more) == {"baker": 3}


def test_many_batches_are_one_table():
    jobs = [f"job {number % 700}" for number in np.random.default_rng(1).integers(0, 10**6, 300_000)]
    assert counted(pa.table({"job": jobs})) == Counter(jobs)


def test_an_empty_table_has_none():
    assert counted(pa.table({"job": pa.array([], pa.string())})) == {}
    assert counted(of_people([]), Unit("id", 2)) == {}
