"""PMost and PMostG against brute force, and against the thesis's algorithm as it is printed."""

import math
import random
from fractions import Fraction
from itertools import combinations, groupby

import pytest

from discreet.cube.noise_model import NoiseModel
from discreet.cube.planners.pmost import precision_bound, publish_most
from discreet.cube.planners.pmostg import publish_most_generally
from discreet.cube.planners.task import Task
from discreet.cube.planning import plan_cube
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice

ADULT = Lattice((9, 16, 7, 15, 6, 5, 2, 2))
LAPLACE = NoiseModel(PureBudget(Fraction(1), "add-remove"), continuous=True)
GAUSSIAN = NoiseModel(ConcentratedBudget(Fraction(1), "add-remove"), continuous=True)

INSTANCES = 1000
SLACK = 1 + 1e-9


def random_task(draw):
    """A few cuboids of two or three dimensions, with a bound that some number of equal shares may meet exactly."""
    lattice = Lattice(tuple(draw.randint(2, 9) for _ in range(draw.randint(2, 3))))
    published = sorted(draw.sample(range(lattice.base + 1), draw.randint(2, min(6, lattice.base + 1))))
    weights = [1.0 if draw.random() < 0.5 else float(draw.randint(1, 9)) for _ in published]
    noise = GAUSSIAN if draw.random() < 0.3 else LAPLACE
    exact = draw.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 16]) * draw.choice([1, 2, 3, 4]) ** noise.power
    bound = float(noise.unit) * (draw.uniform(0.5, 60) if draw.random() < 0.5 else exact)
    return Task(lattice, tuple(published), tuple(weights), noise, bound=bound)


def tasks():
    draw = random.Random(23)
    return [random_task(draw) for _ in range(INSTANCES)]


def variance_from(task, shares, cuboid):
    """The variance of a cuboid from its best source; inf without one."""
    unit, power = float(task.noise.unit), task.noise.power
    holding = [(source, share) for source, share in shares.items() if not cuboid & ~source]
    return min((task.lattice.cells(s & ~cuboid) * unit / float(b) ** power for s, b in holding), default=math.inf)


def precise_weight(task, shares):
    """The weight of what is precise; None where something is not computed at all."""
    variances = [variance_from(task, shares, cuboid) for cuboid in task.published]
    if math.inf in variances:
        return None
    return sum(w for w, variance in zip(task.weights, variances, strict=True) if variance <= task.bound * SLACK)


def most_by_equal_shares(task):
    """The most weight over all sets of sources that compute everything, with equal shares."""
    sources = [mask for mask in range(task.top + 1) if not mask & ~task.top]
    plans = (
        dict.fromkeys(cover, 1 / many)
        for many in range(1, len(task.published) + 1)
        for cover in combinations(sources, many)
    )
    return max(filter(None, (precise_weight(task, plan) for plan in plans)), default=0)


def coverage_sets(task, bound):
    """Every set of the thesis's (3.12): its source, what it covers, and the share that it takes (line 2)."""
    unit, power = float(task.noise.unit), task.noise.power
    for source in range(task.top + 1):
        row = sorted((task.lattice.cells(source & ~c), c) for c in task.published if not c & ~source)
        covered = frozenset()
        for magnification, level in groupby(row, key=lambda pair: pair[0]):
            covered |= {cuboid for _, cuboid in level}
            yield source, covered, (magnification * unit / bound) ** (1 / power)


def most_by_any_shares(task, budget):
    """The most weight that sets within a budget cover: the least cost of every set of cuboids, by what covers it."""
    places = {cuboid: 1 << place for place, cuboid in enumerate(task.published)}
    sets = [(sum(places[c] for c in covered), cost) for _, covered, cost in coverage_sets(task, task.bound)]
    costs, best = [0.0], 0.0
    for wanted in range(1, 1 << len(places)):
        costs.append(min(cost + costs[wanted & ~covered] for covered, cost in sets if wanted & covered))
        if costs[wanted] <= budget * SLACK:
            best = max(best, sum(w for w, bit in zip(task.weights, places.values(), strict=True) if wanted & bit))
    return best


def algorithm_4(task, bound, budget=1.0):
    """The weight that Algorithm 4 makes precise as it is printed; of sets beyond the budget, nothing."""
    weight = dict(zip(task.published, task.weights, strict=True))
    sets, used, covered, spent = list(coverage_sets(task, bound)), set(), frozenset(), 0.0
    before, last = covered, (0, frozenset(), 0.0)
    while spent <= budget * SLACK:
        open_sets = [s for s in sets if s[0] not in used and s[1] - covered]
        if not open_sets:
            return sum(map(weight.get, covered))
        last = max(open_sets, key=lambda s: sum(map(weight.get, s[1] - covered)) / s[2])
        before, covered, spent = covered, covered | last[1], spent + last[2]
        used.add(last[0])
    alone = last[1] if last[2] <= budget * SLACK else ()
    return max(sum(map(weight.get, before)), sum(map(weight.get, alone)))


def test_publish_most_is_within_its_ratio_of_brute_force():
    ratios = []
    for task in tasks():
        reached, most = precise_weight(task, publish_most(task)), most_by_equal_shares(task)
        assert reached >= (1 - 1 / math.e) * most  # cubes, Theorem 3.2.7
        ratios.append(reached / most if most else 1)
    assert sum(ratio < 1 for ratio in ratios) <= INSTANCES // 100


def test_publish_most_generally_is_within_its_ratio_of_brute_force_and_no_less_than_publish_most():
    ratios = []
    for task in tasks():
        shares = publish_most_generally(task)
        assert sum(shares.values()) <= SLACK
        reached, most = precise_weight(task, shares), most_by_any_shares(task, 0.999)
        assert reached >= (1 - 1 / math.e) / 2 * most  # cubes, Theorem 3.3.8, with ½ instead of ¼
        assert reached >= precise_weight(task, publish_most(task))
        ratios.append(reached / most if most else 1)
    assert sum(ratio < 1 for ratio in ratios) <= INSTANCES // 50


def test_publish_most_generally_makes_no_less_precise_than_the_printed_algorithm():
    for task in tasks():
        reached = precise_weight(task, publish_most_generally(task))
        assert reached >= algorithm_4(task, task.bound, 0.999), task


def test_two_sources_that_compute_everything_are_found_where_a_third_would_spoil_both():
    plan = plan_cube(Lattice((2, 2, 7)), LAPLACE, cuboids=[(), (0,), (1,), (0, 2)], planner="pmost", bound=9.6)
    assert (plan.variances(consistent=False) <= 9.6).sum() == 2


@pytest.mark.parametrize(("dimensions", "printed", "here"), [(2, 34, 34), (3, 88, 91), (4, 151, 154)])
def test_adult_without_its_base_cuboid_precise(dimensions, printed, here):
    published = ADULT.choose(dimensions)
    task = Task(ADULT, published, (1.0,) * len(published), LAPLACE)
    assert algorithm_4(task, precision_bound(task)) == printed
    plan = plan_cube(ADULT, LAPLACE, cuboids=dimensions, planner="pmostg")
    assert (plan.variances(consistent=False) <= plan.bound * SLACK).sum() == here


@pytest.mark.parametrize(
    ("sizes", "published", "bound"),
    [
        ((9, 4, 7), [(), (0,), (2,)], 40847780.3),
        ((2, 7, 4), [(), (1,), (0, 2)], 60037937.1),
        ((7, 3, 2), [(), (0,), (1,), (0, 1), (2,), (0, 2), (1, 2)], 173980450.5),
    ],
)
def test_shares_in_whole_units_of_the_ledger_keep_precise_what_was_planned_to_be(sizes, published, bound):
    """A small budget has few units: a share that was rounded down to them would miss its bound by that."""
    noise = NoiseModel(PureBudget(Fraction(1, 1000), "replace"))
    plans = [
        plan_cube(Lattice(sizes), noise, cuboids=published, planner=name, bound=bound) for name in ("pmost", "pmostg")
    ]
    most, generally = (plan.precise_weight(consistent=False) for plan in plans)
    assert generally >= most
