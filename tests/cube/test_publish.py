"""Publishing: one charge everywhere, sources with their exact scales, cuboids from them, refusals before spending."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.cube.memory import TABLE, available_bytes, needed_bytes, require_memory
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import PLANNERS, plan_cube
from discreet.cube.publish import cube_of, measurements_of
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import units_down
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("epsilon", ["1", "1/2", "1/3", "0.01"])
def test_a_plan_spends_its_epsilon_evenly_everywhere_to_the_last_unit(town, planner, epsilon):
    plan = town.plan(epsilon, planner=planner)
    cost = measurements_of(plan, town.domain).cost(town.domain, town.budget)
    assert cost.regional == ()
    assert cost.everywhere == units_down(Fraction(epsilon))


@pytest.mark.parametrize(("neighbours", "people"), [("add-remove", 1), ("replace", 1), ("replace", 3)])
def test_a_plan_spends_its_epsilon_over_the_cost_of_a_person(town, neighbours, people):
    noise = NoiseModel(PureBudget(Fraction(1, 2), neighbours, people))
    plan = plan_cube(Lattice(town.domain.shape, town.domain.names), noise, planner="bmaxg")
    spent = measurements_of(plan, town.domain).cost(town.domain, town.budget).everywhere
    assert spent == units_down(Fraction(1, 2) / noise.factor)


def test_each_source_is_a_count_of_everything_by_its_dimensions(town):
    plan = town.plan(planner="bmax")
    measurements = measurements_of(plan, town.domain).measurements
    assert [m.query.by for m in measurements] == list(plan.sources)
    assert all(m.query.where == town.domain.everything for m in measurements)
    assert [m.law.scale for m in measurements] == [1 / share for share in plan.shares]


def test_a_cube_is_one_measurement(town):
    cube = town.publish(town.plan())
    assert len(town.measured) == 1
    assert cube.origin.charge == 7
    assert cube.guarantee.epsilon == 1


def test_a_consistent_cube_adds_up_in_every_roll_up(town):
    cube = town.publish(town.plan(planner="all"))
    base = cube["sex", "age", "region"]
    for names in [(), ("sex",), ("age",), ("region",), ("sex", "age"), ("age", "region")]:
        others = [name for name in town.domain.names if name not in names]
        np.testing.assert_allclose(cube[names], base.sum(others), atol=1e-9)


def test_without_noise_worth_speaking_of_a_cube_is_the_truth(town):
    for consistent in (True, False):
        cube = town.publish(town.plan("1000"), consistent)
        np.testing.assert_allclose(cube["sex", "region"], town.exact("sex", "region"), atol=1e-9)


def test_without_consistency_each_cuboid_is_rolled_up_from_its_best_source(town):
    plan = town.plan(planner="bmaxg", epsilon="1/10")
    cube = town.publish(plan, consistent=False)
    for mask in plan.published:
        source = plan.best_source(mask)
        gone = tuple(place for place, axis in enumerate(plan.lattice.axes(source)) if not mask >> axis & 1)
        np.testing.assert_array_equal(cube.cuboids[mask], cube.sources[source].sum(axis=gone))


def test_a_cube_is_made_again_from_its_release_alone(town):
    plan = town.plan(planner="bmaxg")
    release = town.measure(measurements_of(plan, town.domain))
    first, second = (cube_of(plan, town.domain, release) for _ in range(2))
    assert all(np.array_equal(first.cuboids[mask], second.cuboids[mask]) for mask in plan.published)


def test_progress_tells_what_is_done(town):
    told = []
    plan = town.plan(planner="all")
    cube_of(plan, town.domain, town.measure(measurements_of(plan, town.domain)), progress=lambda *now: told.append(now))
    assert {what for what, _ in told} == {"making consistent"}
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert told[-1][1] == 1
    assert len({done for _, done in told}) == len(plan.source_masks) + 1


@pytest.mark.parametrize(("meminfo", "limit", "least"), [(5, "max", 5 * 1024), (5, "99", 99), (9, "99999", 9 * 1024)])
def test_the_memory_that_is_left_is_the_least_that_the_system_tells(monkeypatch, meminfo, limit, least):
    told = {
        "/proc/meminfo": f"MemTotal: 99999999 kB\nMemAvailable: {meminfo} kB\nBuffers: 1 kB\n",
        "/sys/fs/cgroup/memory.max": limit,
    }
    monkeypatch.setattr(Path, "read_text", lambda path, **_: told[str(path)])
    assert available_bytes() == least


def test_a_cube_that_does_not_fit_in_memory_is_refused_before_anything_is_measured(town, monkeypatch):
    monkeypatch.setattr("discreet.cube.memory.available_bytes", lambda: 100)
    with pytest.raises(UnsupportedQuery, match=r"needs about 0\.0 GB of memory .* nothing was spent"):
        town.publish(town.plan())
    assert town.measured == []


def test_the_memory_that_a_cube_needs_is_known_from_its_plan():
    lattice = Lattice((9, 16, 7, 15, 6, 5, 2, 2))
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), planner="base")
    cells = 9 * 16 * 7 * 15 * 6 * 5 * 2 * 2
    assert needed_bytes(plan) == 8 * (cells + 10 * 17 * 8 * 16 * 7 * 6 * 3 * 3) + TABLE
    require_memory(plan, available=needed_bytes(plan))
    with pytest.raises(UnsupportedQuery):
        require_memory(plan, available=needed_bytes(plan) - 1)


def test_a_plan_that_is_for_comparison_only_is_not_published(town):
    lattice = Lattice(town.domain.shape, town.domain.names)
    with pytest.raises(UnsupportedQuery, match="comparison only"):
        town.publish(
            plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")).as_continuous(), planner="base")
        )
    assert town.measured == []


def test_gaussian_noise_does_not_fit_a_budget_of_epsilon(town):
    lattice = Lattice(town.domain.shape, town.domain.names)
    plan = plan_cube(lattice, NoiseModel(ConcentratedBudget(Fraction(1), "add-remove")), planner="base")
    with pytest.raises(InvalidNoise, match="no pure guarantee"):
        measurements_of(plan, town.domain).cost(town.domain, town.budget)
