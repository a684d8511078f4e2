"""Regions that hang together by their corners, against a search that is written down as it is said."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answer import links as room
from discreet.answer.links import Links

pytestmark = pytest.mark.usefixtures("either_way", "few_wait")


@pytest.fixture
def few_wait(monkeypatch):
    """Regions are entered into the columns a few at a time."""
    monkeypatch.setattr(room, "AT_ONCE", 3)


corners = st.sets(st.integers(0, 25), max_size=5)
regions = st.lists(corners, max_size=40)


def on_each(listed):
    """The regions on each corner; corners are numbered as they come."""
    at = {}
    for number, own in enumerate(listed):
        for corner in own:
            at.setdefault(corner, []).append(number)
    return at


def searched(listed, start, most):
    """Level by level, nearest first."""
    at = on_each(listed)
    found, met, seen, frontier = [], set(), set(start), set(start)
    while frontier and len(found) < most:
        links = Counter()
        known = [corner for corner in at if corner in frontier]
        for corner in sorted(known, key=lambda corner: len(at[corner])):
            links.update(number for number in at[corner][:most] if number not in met)
            if len(links) >= most:
                break
        met |= set(links)
        new = [one for one, _ in links.most_common() if all(c in start or len(at[c]) > 1 for c in listed[one])]
        new = new[: most - len(found)]
        found += new
        frontier = {corner for one in new for corner in listed[one]} - seen
        seen |= frontier
    return found


def linked(listed, start, most, useful):
    links = Links()
    for own in listed:
        links.add(own)
    return links.linked(start, most, useful)


@given(regions, corners, st.integers(1, 50))
def test_those_nearest_to_the_start_are_found_in_order(listed, start, most):
    assert linked(listed, start, most, useful=False) == searched(listed, start, most)


@given(regions, corners, st.integers(1, 50))
def test_the_useful_ones_have_no_corner_to_themselves(listed, start, most):
    left = searched(listed, start, most)
    while True:
        owners = Counter(corner for one in left for corner in listed[one])
        kept = [one for one in left if all(corner in start or owners[corner] > 1 for corner in listed[one])]
        if kept == left:
            break
        left = kept
    assert linked(listed, start, most, useful=True) == left
