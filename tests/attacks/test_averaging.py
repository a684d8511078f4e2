"""Averaging converges where nobody adds up, and does not in a vault."""

import numpy as np
import pytest

from discreet.attacks.averaging import SHARES, attack_by_averaging, equivalents, running_means
from discreet.attacks.stage import set_stage
from discreet.errors import UnsupportedQuery


@pytest.mark.parametrize(
    "wishes",
    [
        {"epsilon": 1, "neighbours": "add-remove"},
        {"rho": "0.1", "neighbours": "replace"},
    ],
)
def test_fresh_noise_is_averaged_away_and_a_vaults_is_not(wishes, vault_of):
    found = attack_by_averaging(vault_of(**wishes), trials=40)
    exact, fresh, same, reworded = found.attempts
    assert exact.guesses.advantage == 1
    assert fresh.guesses.advantage > 0.95
    for attempt in (same, reworded):
        assert attempt.protected
        assert attempt.guesses.interval(0.9999)[0] <= found.bound
    assert found.spent == pytest.approx(1, abs=1e-4)
    assert not found.warns
    _, errors = found.chart.lines["vault, the same question"]
    assert len(set(errors.tolist())) == 1
    places, errors = found.chart.lines["fresh noise on every answer"]
    # m answers are √m times as close, within four deviations of what 40 people show.
    assert errors[-1] * np.sqrt(places[-1]) == pytest.approx(errors[0], rel=0.5)


def test_a_repeated_question_is_free_and_other_words_are_charged(vault_of):
    found = attack_by_averaging(vault_of(epsilon=1, neighbours="add-remove"), trials=20)
    same, reworded = found.attempts[2:]
    assert same.answers == {"measured": 20, "repeated": 3 * 20}
    assert reworded.answers == {"repeated": 20, "measured": (SHARES - 1) * 20}


def test_a_policy_binds_the_attacker_too(vault_of):
    vault = vault_of(epsilon=1, neighbours="add-remove")
    settings = vault.path / "vault.toml"
    settings.write_text(settings.read_text() + "max_per_query = 0.01\n")
    found = attack_by_averaging(type(vault).open(vault.path), trials=20)
    assert found.spent == pytest.approx(SHARES / 100)


def test_equivalent_questions_differ_and_all_have_the_persons_cell(vault_of):
    stage = set_stage(vault_of(epsilon=1, neighbours="replace").domain, "replace", 4, 10)
    asked = equivalents(stage, 100)
    assert len({tuple(cells) for cells in asked}) == len(asked) == 8
    assert all(cells[0] == 0 and max(cells) < stage.width for cells in asked)


def test_an_average_is_of_the_answers_there_are():
    answers = np.array([[np.nan, 2.0], [4.0, np.nan], [8.0, 4.0]])
    places, means = running_means(answers)
    assert places.tolist() == [1, 2, 3]
    assert means.tolist() == [[0, 2], [4, 2], [6, 3]]


@pytest.mark.parametrize("trials", [0, -1, 10**6])
def test_trials_are_within_reason(trials, vault_of):
    with pytest.raises(UnsupportedQuery, match="trials"):
        attack_by_averaging(vault_of(epsilon=1, neighbours="replace"), trials=trials)
