"""The likelihood-ratio test: as good as ε allows and no better; and it finds a vault whose noise is too small."""

from fractions import Fraction
from math import log, tanh

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.attacks.bound import gaussian_advantage
from discreet.attacks.membership import attack_by_membership, log_ratio, roc
from discreet.noise import laplace
from discreet.noise.law import Gaussian, Laplace


@pytest.mark.parametrize("moved", [1, 3])
@pytest.mark.parametrize("noise", [Laplace(Fraction(5, 2)), Gaussian(Fraction(7))])
def test_a_log_ratio_is_that_of_the_masses(noise, moved):
    support = np.arange(-40, 41)
    masses = np.exp(-np.abs(support) / 2.5 if isinstance(noise, Laplace) else -(support**2) / 14)
    answers = np.arange(-30, 31)
    expected = [log(masses[a - moved + 40] / masses[a + 40]) for a in answers]
    assert log_ratio(answers.astype(float), noise, moved) == pytest.approx(expected)
    assert log_ratio(np.array([np.nan]), noise, moved) == [0]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_one_sharp_count_reaches_the_bound(epsilon, vault_of):
    """Two-sided: (e^ε − 1)/(e^ε + 1) exactly, within 4 deviations of 800 guesses."""
    found = attack_by_membership(vault_of(epsilon=epsilon, neighbours="add-remove"), trials=800)
    exact, at_once, in_parts = found.attempts
    assert exact.guesses.advantage == 1
    assert at_once.guesses.of == 800
    assert found.bound == pytest.approx(tanh(float(epsilon) / 2))
    assert at_once.guesses.advantage == pytest.approx(found.bound, abs=4 / np.sqrt(800))
    assert in_parts.guesses.interval(0.9999)[0] <= found.bound
    assert found.spent == 1
    assert not found.warns


def test_where_a_value_is_the_secret_both_values_are_counted(vault_of):
    found = attack_by_membership(vault_of(epsilon=2, neighbours="replace"), trials=400)
    at_once = found.attempts[1]
    assert at_once.answers == {"measured": 2 * at_once.guesses.of}
    assert found.bit == "whether a person's sex is F or M"
    # Two counts with noise of scale 2/ε = 1 each, simulated; of whom the two say the opposite, 0 is said.
    chance = np.random.default_rng(1)
    noise = chance.geometric(1 - np.exp(-1), (4, 400_000)).astype(float)
    one, zero = noise[0] - noise[1] + 1, noise[2] - noise[3]
    score = (np.abs(one) - np.abs(one - 1)) - (np.abs(zero) - np.abs(zero - 1))
    expected = (score > 0).mean() + (score >= 0).mean() - 1
    assert at_once.guesses.advantage == pytest.approx(expected, abs=4 / np.sqrt(at_once.guesses.of))
    assert at_once.guesses.interval(0.9999)[0] <= found.bound


def test_a_concentrated_vault_tells_what_gaussian_noise_does(vault_of):
    found = attack_by_membership(vault_of(rho="0.3", neighbours="add-remove"), trials=800)
    at_once = found.attempts[1]
    assert at_once.guesses.advantage == pytest.approx(gaussian_advantage(0.3), abs=4.5 / np.sqrt(800))
    assert gaussian_advantage(0.3) < found.bound
    false, true = found.chart.bounds["Gaussian noise of all of ρ"]
    assert (true - false).max() == pytest.approx(gaussian_advantage(0.3), abs=1e-3)


def test_a_vault_that_halves_its_noise_is_a_warning(vault_of, monkeypatch):
    honest = laplace.sample_laplace
    monkeypatch.setattr(laplace, "sample_laplace", lambda scale, size, bits: honest(scale / 2, size, bits))
    found = attack_by_membership(vault_of(epsilon=1, neighbours="add-remove"), trials=800)
    assert found.warns
    assert found.attempts[1].guesses.advantage == pytest.approx(tanh(1), abs=4 / np.sqrt(800))


def test_people_with_several_rows_are_attacked_with_all_of_them(vault_of, folder):
    visits = pa.table({"age": [1], "sex": ["F"], "income": [5.0], "who": ["a"]})
    pq.write_table(visits, folder / "people.parquet")
    vault = vault_of(epsilon=2, neighbours="add-remove", id="who", max_rows=3)
    found = attack_by_membership(vault, trials=400)
    # Discrete Laplace of scale 3/ε, moved by 3: the guess is 1 from 2 on, so Pr[−1 ≤ K ≤ 1].
    q = np.exp(-2 / 3)
    expected = 1 - 2 * q**2 / (1 + q)
    assert found.attempts[1].guesses.advantage == pytest.approx(expected, abs=4 / np.sqrt(400))
    assert expected <= found.bound


def test_rates_for_every_threshold():
    false, true = roc(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False]))
    assert false.tolist() == [1, 0.5, 0, 0]
    assert true.tolist() == [1, 0.5, 0.5, 0]
