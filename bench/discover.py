"""How many groups are found that nobody declared, on Adult at (1, 10⁻⁵): by the rule alone, with all of the budget, and
beside it with the part of a vault's budget that leaves the rest for questions.

A vault looks for the values of one attribute at a time. Groups by several are for comparison with what others publish.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from bench.figure import Figure
from discreet.ledger.squared_budget import GaussianBudget
from discreet.noise.bits import SeededBits
from discreet.release.selection import SelectionRule, draw_selected, half_found
from experiments.tables.tables import whole_adult

EPSILON, DELTA = Fraction(1), Fraction(1, 10**5)
GROUPS = (
    (("age", "occupation", "education"), 762, 769),
    (("occupation", "education", "native_country"), 164, 166),
    (("native_country",), 40, 40),
)
"""Columns, the bar, and what PyDP's truncated geometric rule finds."""
PARTS = (Fraction(1, 5), Fraction(1, 2))
RUNS = 1000


def found(people: np.ndarray, rule: SelectionRule) -> tuple[float, float]:
    """How many groups are found on average, over seeded runs, and the standard error of that."""
    many = [int(draw_selected(people, rule, SeededBits(run)).sum()) for run in range(RUNS)]
    return float(np.mean(many)), float(np.std(many) / np.sqrt(RUNS))


def of_a_vault(part: Fraction) -> SelectionRule:
    """The rule of a vault with one attribute to be discovered, for this part of ε and half of δ."""
    _, by_mu, by_epsilon = GaussianBudget.of(EPSILON, DELTA, "add-remove").setting_aside(part * EPSILON, DELTA / 2)
    rules = [SelectionRule(own.epsilon, own.mu_squared, own.delta) for own in (by_mu, by_epsilon)]
    return min(rules, key=half_found)


def figures() -> Iterator[Figure]:
    table = whole_adult()
    alone = SelectionRule(EPSILON, Fraction(0), DELTA)
    for columns, bar, peer in GROUPS:
        people = np.unique(table.only(*columns).rows, axis=0, return_counts=True)[1]
        mean, error = found(people.astype(np.int64), alone)
        beside = [f"{float(part):.0%} of ε {found(people, of_a_vault(part))[0]:.0f}" for part in PARTS]
        note = (
            f"of {people.size:,} that there are; ± {error:.2f} over {RUNS:,} seeded runs; PyDP {peer}; what a vault of "
            f"that budget finds: {', '.join(beside)}"
        )
        yield Figure(f"Adult by {' × '.join(columns)}, groups found at (1, 10⁻⁵)", mean, bar, "higher", "", note)
