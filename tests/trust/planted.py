"""Broken mechanisms that an audit has to catch: mistakes by themselves, and mistakes planted in the product.

Those of the second kind change one line of Discreet, as a careless edit would, and are looked for by a case of the
catalogue as it stands.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.empirical import catalogue
from discreet.empirical.catalogue import RHO, Case, vault_case
from discreet.empirical.mechanisms import Audited, audit_case
from discreet.empirical.releases import measured
from discreet.ledger.budget import PureBudget
from discreet.ledger.guarantee import SENSES, PureDP
from discreet.ledger.spend import Cost
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.binomial import sample_binomial
from discreet.noise.bits import Bits, SeededBits
from discreet.noise.gaussian import sample_gaussian
from discreet.noise.laplace import sample_laplace
from discreet.noise.law import Binomial, Gaussian, Laplace
from discreet.query import residual, sensitivity
from discreet.query.plan import Plan
from discreet.query.query import Quantile
from discreet.release import quantile
from discreet.release.gate import Gate
from discreet.table import take

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Planted:
    """A mistake, and where it has to show."""

    name: str
    case: Case
    plant: Plant = lambda _: None
    runs: int = 6_000

    def audited(self) -> Audited:
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            return audit_case(self.case, self.runs)


# Mistakes by themselves -----------------------------------------------------------------------------------------------


def laplace(scale: object, size: int) -> np.ndarray:
    return sample_laplace(Fraction(scale), size, Bits()).astype(np.float64)


def alone(name: str, epsilon: object, first: Callable, second: Callable) -> Planted:
    """Two samplers, each of a number of runs."""
    stated = PureDP(Fraction(epsilon), "add-remove")
    return Planted(name, Case(name, "", lambda runs: (first(runs), second(runs), stated)))


def pair_of(left: Callable, right: Callable) -> Callable:
    return lambda runs: np.stack([left(runs), right(runs)], axis=1)


def twice(shift: int) -> Callable:
    """Two numbers with the same noise, of which a row moves one."""

    def sample(runs: int) -> np.ndarray:
        noise = laplace(10, runs)
        return np.stack([noise, shift + noise], axis=1)

    return sample


def floats(truth: float, scale: float, seed: int) -> Callable:
    return lambda runs: truth + np.random.default_rng(seed).laplace(0, scale, runs)


def suppressed(truth: int) -> Callable:
    """A true count below 5 is shown as 0."""
    return lambda runs: np.zeros(runs) if truth < 5 else truth + laplace(1, runs)


def moved(name: str, epsilon: object, noise: Callable, by: int = 1) -> Planted:
    """Noise on 0, or on what a row makes of it."""
    return alone(name, epsilon, noise, lambda runs: by + noise(runs))


ALONE = [
    moved("scale × 0.7", 1, lambda n: laplace("7/10", n)),
    moved("scale × 0.7, ε = 3", 3, lambda n: laplace("7/30", n)),
    moved("noise rounded to tens", "1/100", lambda n: 10 * np.rint(laplace(100, n) / 10)),
    moved("noise of even numbers", "1/10", lambda n: 2 * laplace(10, n)),
    moved("noise cut off at ±3 scales", 1, lambda n: np.clip(laplace(1, n), -3, 3)),
    moved("noise of one sign", 1, lambda n: np.abs(laplace(1, n))),
    moved("the same noise every time", 1, lambda n: np.full(n, 3.0)),
    moved("a value that was not clamped", 1, lambda n: laplace(50, n), by=500),
    moved("charged once for two numbers", 1, pair_of(lambda n: laplace(1, n), lambda n: laplace(1, n))),
    alone(
        "no factor 2 for replace",
        1,
        pair_of(lambda n: 1 + laplace(1, n), lambda n: laplace(1, n)),
        pair_of(lambda n: laplace(1, n), lambda n: 1 + laplace(1, n)),
    ),
    alone("no noise in an empty cell", 1, np.zeros, lambda n: 1 + laplace(1, n)),
    alone("small counts suppressed", 1, suppressed(4), suppressed(5)),
    alone("the same noise in two numbers", "1/10", twice(0), twice(1)),
    alone("noise in floats", 1, floats(0, 1, 1), floats(1, 1, 2)),
    alone("noise in floats, ε = 1/10", "1/10", floats(0, 10, 3), floats(1, 10, 4)),
]


# Mistakes in the product ----------------------------------------------------------------------------------------------


CASES = {(case.mechanism, case.inputs): case for case in catalogue.catalogue()}


def less_laplace(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Laplace, "sample", lambda law, size, bits: sample_laplace(law.scale * Fraction(7, 10), size, bits))


def less_gaussian(patch: pytest.MonkeyPatch) -> None:
    less = Fraction(49, 100)
    patch.setattr(Gaussian, "sample", lambda law, size, bits: sample_gaussian(law.sigma_squared * less, size, bits))


def less_binomial(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Binomial, "sample", lambda law, size, bits: sample_binomial(law.trials // 4 * 2, size, bits))


def fewer_coins(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Binomial, "sample", lambda law, size, bits: sample_binomial(law.trials // 16 * 2, size, bits))


def no_second_sense(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(SENSES, "replace", 1)


def silent_empty_cells(patch: pytest.MonkeyPatch) -> None:
    noisy = Gate._noisy

    def only_where_somebody_is(gate, measurements, read, bits):
        drawn = noisy(gate, measurements, [[array.copy() for array in each] for each in read], bits)
        return [np.where(truth == 0, 0, with_noise) for [truth], with_noise in zip(read, drawn, strict=True)]

    patch.setattr(Gate, "_noisy", only_where_somebody_is)


def repeated_bits(patch: pytest.MonkeyPatch) -> None:
    """Every release has the same key."""
    patch.setattr(Bits, "for_release", lambda *_: SeededBits(1))


def second_one_free(patch: pytest.MonkeyPatch) -> None:
    cost = Plan.cost

    def of_different_ones(plan: Plan, domain, budget) -> Cost:
        return cost(Plan(tuple(dict.fromkeys(plan.measurements))), domain, budget)

    patch.setattr(Plan, "cost", of_different_ones)


def one_row_a_person(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PureBudget, "factor", property(lambda budget: SENSES[budget.neighbours]))


def all_rows_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(take, "kept_rows", lambda people, *_: np.ones(people.size, np.bool_))


def linear_in_rows(patch: pytest.MonkeyPatch) -> None:
    """k for k², in the concentrated currency."""
    factor = property(lambda budget: budget.max_rows * SENSES[budget.neighbours])
    patch.setattr(ConcentratedBudget, "factor", factor)


def facts_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PureBudget, "factor", property(lambda budget: budget.max_rows * SENSES[budget.neighbours]))


def lower_edge(patch: pytest.MonkeyPatch) -> None:
    """The bound of a sum from the wrong edge of a bin."""
    rounded = sensitivity._rounded

    def least(attribute, first, last):
        return max(rounded(attribute.edges[first], attribute), rounded(attribute.edges[last], attribute))

    patch.setattr(sensitivity, "_most_grains", least)


def without_the_two(patch: pytest.MonkeyPatch) -> None:
    """The exponential mechanism as in the cubes seed, Theorem 2.1.2."""
    draw = quantile.sample_exponential

    def twice(gaps):
        return [part._replace(rate=2 * part.rate) for part in gaps]

    patch.setattr(quantile, "sample_exponential", lambda gaps, bits: draw(twice(gaps), bits))


def all_one_signed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sensitivity, "is_one_signed", lambda _: True)


def charged_as_counts(patch: pytest.MonkeyPatch) -> None:
    """A row moves a count by 1, and all numbers of a residual."""
    patch.setattr(residual, "squared_move", lambda *_: Fraction(1))


SIGNED_SUMS = vault_case(
    "sums, ρ", catalogue.OPPOSITE, measured(lambda vault: vault.sum("change", by="copy"), scale=5), budget=RHO
)
MINIMA = vault_case(
    "minima",
    catalogue.ONE_MORE,
    measured(lambda vault: Quantile("age", Fraction(0), vault.domain.everything, ("copy",)), scale=1),
)
IN_THE_PRODUCT = [
    Planted("Laplace noise × 0.7", CASES["Laplace noise", "0, or 1"], less_laplace),
    Planted("Laplace noise × 0.7 in a vault", CASES["counts", "nobody, or one row"], less_laplace),
    Planted("Laplace noise × 0.7 in a cube", CASES["cube, consistent", "nobody, or one row"], less_laplace),
    Planted("Laplace noise × 0.7 asked in SQL", CASES["ask COUNT", "20 equal rows, or 19"], less_laplace, 20_000),
    Planted("Gaussian noise × 0.7", CASES["counts, ρ", "nobody, or one row"], less_gaussian, 50_000),
    Planted("half the coins", CASES["binomial noise, T = 1", "0, or 1"], less_binomial, 100_000),
    Planted("no factor 2 for replace in a vault", CASES["cell counts", "a row, or another"], no_second_sense, 20_000),
    Planted("no noise in empty cells", CASES["cell counts", "nobody, or one row"], silent_empty_cells),
    Planted("no noise in a cube's empty cells", CASES["cube, consistent", "nobody, or one row"], silent_empty_cells),
    Planted(
        "no noise in empty cells, made of two answers",
        CASES["ask twice, then the first again", "nobody, or one row"],
        silent_empty_cells,
        8_000,
    ),
    Planted("bits that come again", CASES["a count, one by one", "empty table, or one row"], repeated_bits, 20_000),
    Planted("charged once for two counts", CASES["two counts in a plan", "nobody, or one row"], second_one_free),
    Planted("no factor k", CASES["counts, k = 3", "nobody, or 3 rows"], one_row_a_person),
    Planted("rows beyond k kept", CASES["counts, k = 3", "nobody, or 10 rows"], all_rows_kept),
    Planted("k for k²", CASES["counts, ρ, k = 3", "3 rows, or 3 others"], linear_in_rows, 20_000),
    Planted("facts forgotten", CASES["cube beside a fact", "a row, or another"], facts_forgotten, 20_000),
    Planted("a sum bounded by the lower edge", CASES["ask SUM", "nobody, or one to clamp"], lower_edge),
    Planted("no 2 in the exponential mechanism", MINIMA, without_the_two, 16_000),
    Planted("sums of both signs charged as of one", SIGNED_SUMS, all_one_signed, 100_000),
    Planted(
        "a residual charged as a count", CASES["residual, ρ", "empty table, or one row"], charged_as_counts, 24_000
    ),
    Planted("an eighth of the coins in a vault", CASES["sulq ask, T = 4", "all 0, or all 1"], fewer_coins, 20_000),
]

PLANTED = ALONE + IN_THE_PRODUCT
