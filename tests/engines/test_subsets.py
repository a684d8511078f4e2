"""Counts over a roster, on every engine: the same people, the same keys, whatever type their ids have there."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.domain.read import parse_domain
from discreet.query.query import SubsetCount
from discreet.query.subset import Everyone, Listed, Seeded
from discreet.table.roster import key_of, read_roster
from discreet.table.unit import Unit
from tests.populations import population

DOMAIN = parse_domain("""
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
""")
N = 500
ROSTER = read_roster(pa.table({"person": range(N)}), "person")
SUBSETS = (Everyone(), Seeded(3), Seeded(4), Listed(("7", "8", "stranger")))


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(range(10, N + 50), pa.int64()),
        pa.array([f"{i:05d}" for i in range(10, N + 50)]),
        pa.array([f" +{i}.00" if i % 2 else str(i) for i in range(10, N + 50)]),
    ],
    ids=["numbers", "padded", "mixed"],
)
def test_counts_are_the_same_on_every_engine_and_for_every_spelling(engine, tmp_path, ids):
    ages = [i % 100 for i in range(10, N + 50)]
    place = engine(pa.table({"person": ids, "age": ages}), tmp_path)
    table = population(place, DOMAIN, Unit("person", 1), roster=ROSTER)
    [counts, everyone] = table.evaluate(
        [SubsetCount(SUBSETS, DOMAIN.slab("age", 0, 49)), SubsetCount(SUBSETS, DOMAIN.everything)]
    )
    assert counts[0] == sum(i % 100 < 50 for i in range(10, N))
    assert everyone.tolist()[0] == N - 10
    assert everyone.tolist()[3] == 0
    inside = [str(i) for i in range(10, N) if i % 100 < 50]
    for place in (1, 2):
        chosen = [i for i in inside if ROSTER.count([SUBSETS[place]], _bit(i))[0]]
        assert counts[place] == len(chosen)


def _bit(person):
    vector = np.zeros_like(ROSTER.everyone)
    [place] = ROSTER.places(np.array([key_of(person)]))
    vector[place // 64] = np.uint64(1) << np.uint64(place % 64)
    return vector
