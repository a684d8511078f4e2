"""Least squares finds everybody's bit from exact answers, and hardly anybody's from a vault's."""

import numpy as np
import pytest

from discreet.attacks.reconstruction import Equations, attack_by_reconstruction, halves
from discreet.noise.bits import SeededBits


def test_halves_charge_everybody_once_a_pair():
    counted = halves(20, 12, SeededBits(1))
    assert (counted[0::2] ^ counted[1::2]).all()
    assert (counted.sum(axis=0) == 20).all()


def test_the_solution_is_that_of_least_squares_with_a_prior():
    """Against a dense solve of the stacked system, block by block, with an answer missing."""
    chance = np.random.default_rng(3)
    counted = chance.random((9, 2, 5)) < 0.5
    truth = chance.random((2, 5)) < 0.5
    variances = chance.uniform(0.5, 3, (9, 2))
    answers = np.einsum("qbp,bp->qb", counted, truth) + chance.normal(size=(9, 2)) * np.sqrt(variances)
    answers[4, 1] = np.nan
    said = Equations(counted, answers, variances).solved(9)
    for block in range(2):
        kept = ~np.isnan(answers[:, block])
        weights = 1 / np.sqrt(variances[kept, block])
        system = np.vstack([counted[kept, block] * weights[:, None], 2 * np.eye(5)])
        right = np.concatenate([answers[kept, block] * weights, np.ones(5)])
        dense = np.linalg.lstsq(system, right, rcond=None)[0]
        assert (said[block] == (dense >= 0.5)).all()


def test_a_budget_that_is_no_protection_gives_everybody_away(vault_of):
    """Noise that is never there has no variance either."""
    *_, vault = attack_by_reconstruction(vault_of(epsilon=5000, neighbours="add-remove"), trials=64).attempts
    assert vault.guesses.advantage == 1


@pytest.mark.parametrize(
    "wishes",
    [
        {"epsilon": "0.1", "neighbours": "add-remove"},
        {"epsilon": 3, "neighbours": "add-remove"},
        {"epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"},
    ],
)
def test_an_unprotected_table_falls_and_a_vault_stays_within_its_bound(wishes, vault_of):
    found = attack_by_reconstruction(vault_of(**wishes), trials=128)
    exact, fresh, vault = found.attempts
    assert exact.guesses.right >= 0.95 * exact.guesses.of
    assert fresh.guesses.advantage > 0.25  # for ε = 0.1, where 2,048 answers have a deviation of 14 each
    assert vault.protected
    assert vault.guesses.interval(0.9999)[0] <= found.bound
    assert found.spent == pytest.approx(1, abs=1e-4)
    assert vault.answers["refused"] > 0
    assert not found.warns
    places, shares = found.chart.lines["exact answers"]
    assert shares[-1] >= 0.95
    assert places[-1] == exact.questions
