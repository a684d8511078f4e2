"""The parts of the relaxation experiments that figures rest on."""

import numpy as np
import pytest

from discreet.ledger.grid import GridSpend
from experiments.relaxation import sweep
from experiments.relaxation.database import Database, accepted, run
from experiments.relaxation.setting import EPSILONS, Quality, Setting, domain
from experiments.relaxation.workload import READINGS, SHAPE, workload


@pytest.mark.parametrize(("volume", "lengths"), [(0.04, (15, 2, 4, 19)), (0.16, (31, 5, 8, 39))])
def test_a_query_restricts_two_attributes_to_the_root_of_its_volume(volume, lengths):
    # relaxation, Section 5: y − x = √s·(max − min)
    for box in workload("uniform", volume, count=500):
        restricted = [axis for axis in range(4) if box.high[axis] - box.low[axis] + 1 < SHAPE[axis]]
        assert len(restricted) == 2
        assert all(box.high[axis] - box.low[axis] == lengths[axis] for axis in restricted)
        assert all(0 <= box.low[axis] <= box.high[axis] < SHAPE[axis] for axis in range(4))


def test_data_queries_are_around_people():
    somebody = np.array([[40, 7, 11, 50]])
    for box in workload("data", 0.04, somebody, count=100):
        assert tuple(somebody[0]) in box


def test_disjoint_answers_what_overlaps_nothing_before_it():
    queries, answered = workload("uniform", 0.04, count=300), []
    for asked, fits in zip(queries, accepted(GridSpend(domain(), 1), queries), strict=True):
        assert fits == all(asked.intersect(other) is None for other in answered)
        if fits:
            answered.append(asked)


@pytest.mark.parametrize("reading", READINGS)
def test_readings_are_asked_of_an_exact_map(reading):
    """Beside one number for each point, in a plain array."""
    queries, limit = workload("uniform", 0.04, count=200, reading=reading), 3
    counted, fits = np.zeros(SHAPE, np.int8), []
    for asked in queries:
        inside = counted[tuple(slice(low, high + 1) for low, high in zip(asked.low, asked.high, strict=True))]
        fits.append(inside.max() < limit)
        inside += fits[-1]
    assert accepted(GridSpend(domain(), limit), queries) == fits
    assert 0 < sum(fits) < len(fits)


def test_every_query_is_accepted_or_relaxed():
    outcomes = run(Database(GridSpend(domain(), 3)), workload("uniform", 0.04, count=300), most_answers=3)
    assert [one.answered_before for one in outcomes[:3]] == [0, 1, 2]
    relaxed = [one.relaxed for one in outcomes if one.relaxed is not None]
    assert 0 < len(relaxed) < 300
    assert all(one.compound.size <= 3 for one in relaxed)


def test_runs_are_read_back_as_they_were_written(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.page.DOCS", tmp_path)
    curves = sweep.sweep("epsilon", EPSILONS)
    found = {one: Quality(1, 2, 3, 0.5, 1.5, 0.25) for listed in curves.values() for one in listed}
    sweep.write_qualities("fig14", found)
    assert sweep.recorded("fig14") == found
    assert Setting("data").limit == 300
