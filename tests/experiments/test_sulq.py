"""The parts of the SuLQ experiments that figures rest on."""

import numpy as np
import pytest

from discreet.mining.attribute import BooleanAttribute
from discreet.mining.learn import learn
from discreet.mining.statistics import StatisticsPlan
from discreet.query.subset import Seeded
from experiments.sulq.learnt import KINDS, YES, some_function, sum_of_rows
from experiments.sulq.simulated import Population, publish, sample_joint


def test_a_population_has_the_gap_that_it_was_made_with():
    population = Population.of_two(100_000, 0.3, 0.6, -0.1)
    both, alone, _, _ = population.cells
    assert population.people == 100_000
    assert both / (both + alone) - population.share("beta") == pytest.approx(-0.1, abs=1e-4)


def test_both_parties_see_the_same_subset_and_noise_of_their_own():
    population = Population.of_two(100_000, 0.5, 0.5, 0.1)
    subsets = [Seeded(seed) for seed in range(2000)]
    first, again = (population.party(400).ask_subsets(subsets, "alpha") for _ in range(2))
    np.testing.assert_array_equal(first.sizes, again.sizes)
    # Two draws of variance 100 each.
    assert (first.values - again.values).var() == pytest.approx(200, rel=0.15)


def test_parties_and_the_short_cut_give_the_same_estimate_on_average():
    population = Population.of_two(100_000, 0.5, 0.5, 0.1)
    generator = np.random.default_rng(5)
    values = [sample_joint(population, 200, 2, generator).gap.value for _ in range(200)]
    assert np.mean(values) == pytest.approx(0.1, abs=4 * np.std(values) / 200**0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seeds_sum_of_rows_finds_what_learning_finds(kind):
    """On people without noise both are near the truth, by different sums."""
    generator = np.random.default_rng(7)
    combination = np.arange(1 << len(YES))
    held = {name: (combination >> place & 1).astype(bool) for place, name in enumerate(YES)}
    cells = generator.multinomial(10_000_000, generator.dirichlet(np.ones(combination.size)))
    plan = StatisticsPlan(tuple(BooleanAttribute(name, name) for name in YES), 2, 400, 10_000_000, 2, 0.95)
    published = publish(Population(cells, held, generator), plan)
    formula = some_function(kind, 4, generator)
    index = sum(held[name].astype(int) << place for place, name in enumerate(formula.names))
    truth = cells[formula.table[index]].sum() / cells.sum()
    assert sum_of_rows(published, formula) == pytest.approx(truth, abs=0.1)
    assert learn(published, formula).probability.value == pytest.approx(truth, abs=0.08)
