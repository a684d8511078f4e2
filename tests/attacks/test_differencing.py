"""Differences and trackers find one person in exact counts, small ones withheld or not, and not in a vault."""

import numpy as np
import pytest

from discreet.attacks.differencing import attack_by_differencing, crowded, formulas, targets, withheld
from discreet.attacks.stage import set_stage
from discreet.noise.bits import SeededBits


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("width", [2, 3, 4, 8])
def test_every_formula_comes_to_the_target_and_asks_for_large_counts_only(width, neighbours, vault_of):
    stage = set_stage(vault_of(epsilon=1, neighbours=neighbours).domain, neighbours, width, 40)
    ones, zeros = crowded(stage, SeededBits(2))
    target = targets(stage)
    bits = ones[:, :, target].sum(axis=2)
    assert set(np.unique(bits)) == {0, 1}
    assert (bits + zeros[:, :, target].sum(axis=2) == 1).all()
    for formula in formulas(stage):
        found = formula.value(lambda cells: withheld(ones[:, :, cells].sum(axis=2)))
        assert (found == bits).all()
    assert np.isnan(withheld(bits)).all()


@pytest.mark.parametrize(
    ("wishes", "trials"),
    [({"epsilon": 1, "neighbours": "replace"}, 40), ({"epsilon": 3, "neighbours": "add-remove"}, 60)],
)
def test_a_vault_stays_within_its_bound_and_withholding_does_not_help(wishes, trials, vault_of):
    found = attack_by_differencing(vault_of(**wishes), trials=trials)
    exact, direct, tracked, *protected = found.attempts
    assert exact.guesses.advantage == tracked.guesses.advantage == 1
    assert abs(direct.guesses.advantage) < 5 / np.sqrt(trials)
    assert [attempt.protected for attempt in protected] == [True, True]
    for attempt in protected:
        assert attempt.guesses.interval(0.9999)[0] <= found.bound
    assert found.spent == pytest.approx(1)
    assert not found.warns
