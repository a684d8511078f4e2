"""What little discrete Gaussian noise costs as μ²: what its best test shows, hardly rounded up.

Up to σ² = 25/48 that test is whether an outcome is above 0 [docs/explain/gaussian-privacy.md, Theorem 2′]: the price is
4z² with Φ(−z) = Pr[X ≥ 1] = s/(1 + 2s), s = Σ exp(−k²/(2σ²)) over k ≥ 1. Both ways are solved numerically; a price is
then certified in interval arithmetic. The contexts are our own: those of mpmath are shared by all threads.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.ledger.normal_tail import bits_of, quotient, tail

BITS = 320
"""Of all arithmetic, or more for longer fractions. Where σ² is 1/100 or more, what lies beyond z is above 2^-80."""
TERMS = 16
"""Of the sum over k: where σ² is 25/48 or less, the next one is below 2^-BITS."""
SCORES, VARIANCES = 2**128, 2**64
"""Values of z and of σ² that are solved for are multiples of 1 over these, rounded up."""
STEPS = 12
"""Of Newton's method, which doubles the digits in each; where it ended early, a price would still be certified."""


@lru_cache(maxsize=4096)
def little_noise_price(sigma_squared: Fraction) -> Fraction:
    """A μ² for a whole number that moves by 1. Requires 1/100 ≤ σ² ≤ 25/48. It falls as σ² grows."""
    mp = _numbers()
    steps = int(mp.ceil(_score(mp, _above_0(mp, sigma_squared)) * SCORES))
    while not is_enough(Fraction(steps, SCORES), sigma_squared):
        steps += 1
    return 4 * Fraction(steps, SCORES) ** 2


def is_enough(score: Fraction, sigma_squared: Fraction) -> bool:
    """Whether it is certain that Φ(−score) ≤ Pr[X ≥ 1]."""
    from mpmath.ctx_iv import MPIntervalContext  # few budgets buy so little noise

    iv = MPIntervalContext()
    iv.prec = max(BITS, bits_of(score), bits_of(sigma_squared))
    # A sum that is cut off is below the whole one, and s/(1 + 2s) grows with s: its lower end is what counts.
    return bool(tail(iv, quotient(iv, score)).b <= _above_0(iv, sigma_squared).a)


@lru_cache(maxsize=4096)
def little_noise_costing(price: Fraction, least: Fraction) -> Fraction:
    """The least σ², hardly rounded up, with that price or less; `least` where it is below that. Requires 12/5 or more
    of a price."""
    mp = _numbers()
    above_0 = mp.erfc(mp.sqrt(quotient(mp, price) / 8)) / 2
    # s is a convex function q + q⁴ + q⁹ + … of q = exp(−1/(2σ²)), and above q.
    s = q = above_0 / (1 - 2 * above_0)
    for _ in range(STEPS):
        powers = [(k * k, q ** (k * k)) for k in range(1, TERMS + 1)]
        q -= (sum(power for _, power in powers) - s) * q / sum(square * power for square, power in powers)
    solved = Fraction(int(mp.ceil(-VARIANCES / (2 * mp.log(q)))), VARIANCES)
    while solved > least and little_noise_price(solved) > price:
        solved += Fraction(1, VARIANCES)
    return max(solved, least)


def _above_0(context: Any, sigma_squared: Fraction) -> Any:
    """Pr[X ≥ 1]."""
    rate = quotient(context, 1 / sigma_squared) / 2
    s = sum(context.exp(-k * k * rate) for k in range(1, TERMS + 1))
    return s / (1 + 2 * s)


def _score(mp: Any, beyond: Any) -> Any:
    """z with Φ(−z) = beyond, by Newton's method on the logarithm, which is concave."""
    z = mp.sqrt(-2 * mp.log(2 * beyond))
    for _ in range(STEPS):
        found = mp.erfc(z / mp.sqrt(2)) / 2
        z += mp.log(found / beyond) * found / mp.npdf(z)
    return z


def _numbers() -> Any:
    from mpmath import MPContext

    mp = MPContext()
    mp.prec = BITS
    return mp
