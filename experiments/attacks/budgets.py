"""The advantage of membership and reconstruction by the vault's budget, beside what is allowed."""

from math import tanh

import numpy as np

from discreet.attacks.guesses import BitAttack
from discreet.attacks.membership import attack_by_membership
from discreet.attacks.reconstruction import attack_by_reconstruction
from experiments.attacks.plot import HEADER, rows_of, save, write_rows
from experiments.attacks.vaults import vault_of
from experiments.cubes.plot import panels

BUDGETS = {
    "ε = 0.1": {"epsilon": "0.1", "neighbours": "add-remove"},
    "ε = 1": {"epsilon": 1, "neighbours": "add-remove"},
    "ε = 3": {"epsilon": 3, "neighbours": "add-remove"},
    "ε = 1, replace": {"epsilon": 1, "neighbours": "replace"},
    "ρ = 0.1": {"rho": "0.1", "neighbours": "add-remove"},
    "ε = 1, δ = 10^-6": {"epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"},
}
PURE = {"ε = 0.1": 0.1, "ε = 1": 1.0, "ε = 3": 3.0}
GUESSED, RECONSTRUCTED = 6000, 1600
COLOURS = {"vault, one question for everything": "#2a6fb5", "vault, in 6 parts": "#3f9b6c"}
SOLVED = {"vault, until it says no more": "#c98a1b"}


def attacked(name: str) -> list[BitAttack]:
    with vault_of(**BUDGETS[name]) as vault:
        return [
            attack_by_membership(vault, trials=GUESSED, confidence=0.99),
            attack_by_reconstruction(vault, trials=RECONSTRUCTED, confidence=0.99),
        ]


def draw() -> None:
    found = {name: attacked(name) for name in BUDGETS}
    rows = [row for name, attacks in found.items() for attack in attacks for row in rows_of(name, attack)]
    write_rows("budgets", HEADER, rows)
    figure, (panel,) = panels(1, width=8)
    along = np.geomspace(0.05, 5, 100)
    panel.plot(along, [tanh(epsilon / 2) for epsilon in along], color="#b5482a", ls="--", label="what ε allows")
    for answers, colour in (COLOURS | SOLVED).items():
        points = [
            (PURE[name], attempt.guesses.advantage, *attempt.guesses.interval(0.99))
            for name in PURE
            for attack in found[name]
            for attempt in attack.attempts
            if attempt.against == answers
        ]
        at, value, low, high = map(np.array, zip(*points, strict=True))
        label = answers if answers in COLOURS else "reconstruction, vault"
        panel.errorbar(at, value, yerr=[value - low, high - value], fmt="o", ms=4, capsize=3, color=colour, label=label)
    panel.set_xscale("log")
    panel.set_xticks(list(PURE.values()), labels=[f"{epsilon:g}" for epsilon in PURE.values()])
    panel.set_xlabel("ε")
    panel.set_ylabel("advantage over a coin, 99% intervals")
    panel.legend(frameon=False, fontsize=9)
    save(figure, "budgets")
