"""Averaging at ε = 1, with and without protection."""

from discreet.attacks.averaging import attack_by_averaging
from experiments.attacks.plot import keep
from experiments.attacks.vaults import vault_of

TRIALS = 400


def draw() -> None:
    with vault_of(epsilon=1, neighbours="add-remove") as vault:
        keep("ε = 1", attack_by_averaging(vault, trials=TRIALS))
