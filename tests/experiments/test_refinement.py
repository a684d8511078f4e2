"""The parts of the refinement experiments that figures rest on."""

from fractions import Fraction

import numpy as np
import pytest

from experiments.facts.adult_gain import Tables, gain
from experiments.facts.example1 import exact_log_ratio, simulated_log_ratio
from experiments.facts.grades import cases, errors, rho_over_epsilon
from experiments.tables.tables import synthetic


def test_the_density_ratio_of_example_1_stays_below_two_epsilon_and_approaches_it():
    ratios = exact_log_ratio(Fraction(2), np.arange(-500, 500, 0.5))
    assert np.abs(ratios).max() < 1
    assert np.abs(ratios).max() > 0.99


def test_simulated_ratios_are_the_exact_ones():
    outputs = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    simulated = simulated_log_ratio(Fraction(2), outputs, 400_000)
    assert simulated == pytest.approx(exact_log_ratio(Fraction(2), outputs), abs=0.03)


def test_what_holds_by_definition_costs_nothing_and_a_published_count_two_thirds():
    found = {case.name: case for case in cases()}
    assert rho_over_epsilon(found["what holds by definition"]) == pytest.approx(1)
    assert rho_over_epsilon(found["and A + B = 80"]) == pytest.approx(5 / 3)
    assert rho_over_epsilon(found["and A + B = 80, calibrated"]) == pytest.approx(1)
    for case in found.values():
        assert case.simulated == pytest.approx(case.stated, rel=0.04, abs=1e-9)


def test_without_knowledge_the_error_is_the_noises_own():
    assert errors("nothing", None, 6.0, runs=10).stated == pytest.approx(6 * np.sqrt(2))


def test_all_tables_agree_with_each_other_and_facts_take_their_own_error_away():
    tables = Tables(synthetic((2, 3, 2), rows=500))
    assert not np.any(tables.consistency() @ tables.truth)
    names = tables.table.domain.names
    known = gain(tables, "a table", [(names[0],)], runs=2)
    rough = gain(tables, "nothing", [], runs=2)
    assert known.one_stated < rough.one_stated
    assert known.people == 2
    every = gain(tables, "all single attributes", [(name,) for name in names], runs=2)
    assert every.one == pytest.approx(0, abs=1e-6)
