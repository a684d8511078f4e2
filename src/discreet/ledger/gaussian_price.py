"""What mechanisms cost as Gaussian differential privacy: μ², exactly or hardly above.

A mechanism is μ-GDP where telling any two neighbours apart by its outcome is at least as hard as telling N(0, 1) from
N(μ, 1) [Dong, Roth, Su 2022]. Coordinates, and steps of an interaction, add their μ². docs/explain/gaussian-privacy.md
proves what stands here.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from discreet.ledger.little_noise import little_noise_costing, little_noise_price
from discreet.noise.law import Gaussian

STEEP, LITTLE, SMOOTH = Fraction(1, 100), Fraction(1, 2), Fraction(25, 48)
"""Below the first σ² the price is 4/σ²; then what the best test shows, up to the second; from the last one on the root
of d − d²/12 = 1/σ². Between the last two it stays the same, so that more noise never costs more."""
MOST_SMOOTH = Fraction(12, 5)
"""That root at the least σ² that it is for."""
PER_SQUARED_RANGE = Fraction(11, 28)
"""A mechanism whose privacy loss stays within an interval of length r is μ-GDP with μ² = (π/8)·r², and π < 22/7."""
DIGITS = 256
"""To which the root is taken, in bits."""


@lru_cache(maxsize=4096)
def gaussian_price(sigma_squared: Fraction) -> Fraction:
    """A μ² for a whole number that moves by 1 under discrete Gaussian noise of this σ²; moved by m it costs m² as much.

    The least d with d − d²/12 ≥ 1/σ², exactly where it is a fraction, otherwise up to a share of 2^-255 above it, so
    that whole units come out the same; for little noise less than that. It falls as σ² grows.
    """
    if sigma_squared < STEEP:
        return 4 / sigma_squared
    if sigma_squared < SMOOTH:
        return little_noise_price(min(sigma_squared, LITTLE))
    # 6·(1 − √(1 − 1/(3σ²))), in the form that does not cancel; a root rounded down makes a price rounded up.
    inside = 1 - 1 / (3 * sigma_squared)
    above, below = inside.numerator, inside.denominator
    root = Fraction(isqrt(above * below << 2 * DIGITS), below << DIGITS)
    return 2 / (sigma_squared * (1 + root))


def gaussian_at_price(price: Fraction) -> Gaussian:
    """The least discrete Gaussian noise with which a whole number that moves by 1 costs at most this μ²; little noise
    hardly more than that."""
    if price <= MOST_SMOOTH:
        return Gaussian(12 / (price * (12 - price)))
    if price >= 4 / STEEP:
        return Gaussian(4 / price)
    little = little_noise_costing(price, STEEP)
    return Gaussian(little if little <= LITTLE else SMOOTH)


def pure_price(epsilon: Fraction) -> Fraction:
    """A μ² for a mechanism with a pure loss of ε: the loss lies between −ε and ε."""
    return PER_SQUARED_RANGE * (2 * epsilon) ** 2


def exponential_price(epsilon: Fraction) -> Fraction:
    """A μ² for the exponential mechanism with a pure loss of ε: its loss stays within some interval of length ε."""
    return PER_SQUARED_RANGE * epsilon**2
