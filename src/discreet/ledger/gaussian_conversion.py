"""Between μ of Gaussian differential privacy and (ε, δ), certified.

μ-GDP is (ε, δ)-differential privacy exactly where  δ ≥ Φ(−u) − e^ε·Φ(−v),  u = ε/μ − μ/2,  v = ε/μ + μ/2
[Dong, Roth, Su 2022, Corollary 1; Balle, Wang 2018, Theorem 8]. Solutions are found numerically, and then certified:
with M(z) = Φ(−z)/φ(z) the right side is φ(u)·(M(u) − M(v)), as v² = u² + 2ε, and each part is enclosed by interval
arithmetic: the tail of the normal law by its series with a bounded remainder, M(v) from below by a continued fraction.
"""

import math
import threading
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.ledger.normal_tail import bits_of, density, quotient, tail

FINEST = 10**12
"""Solved values of μ² are multiples of 1 over this, rounded down."""
SPARE_BITS = 96
SOLVING_BITS = 160
STEPS = 90
FAR = 60
"""The series of the normal law's tail is summed up to here."""
DEPTH = 40
"""Levels of the continued fraction: an even number, so that it is a lower bound."""
_ALONE = threading.RLock()
"""A context of mpmath has one precision for all threads, so that one thread at a time calculates."""


@lru_cache(maxsize=1024)
def mu_squared_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest μ² (in steps, rounded down) for which μ-GDP is certified to imply (ε, δ). 0 where it is below a step.

    Requires ε > 0 and 0 < δ < 1.
    """
    with _ALONE:
        low, high = Fraction(0), Fraction(1, FINEST)
        while _delta(high, epsilon) <= delta:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if _delta(middle, epsilon) <= delta else (low, middle)
        steps = math.floor(low * FINEST)
        while steps > 0 and not mu_keeps(Fraction(steps, FINEST), epsilon, delta):
            steps -= 1 + steps // FINEST
        return Fraction(steps, FINEST)


@lru_cache(maxsize=1024)
def epsilon_for_mu(mu_squared: Fraction, delta: Fraction, finest: int) -> Fraction:
    """The least ε (in steps of 1 over `finest`, rounded up) for which μ-GDP is certified to imply (ε, δ)."""
    with _ALONE:
        low, high = 0, 1
        while _delta(mu_squared, Fraction(high, finest)) > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _delta(mu_squared, Fraction(middle, finest)) <= delta else (middle, high)
        while not mu_keeps(mu_squared, Fraction(high, finest), delta):
            high += 1
        return Fraction(high, finest)


@lru_cache(1)
def _contexts() -> tuple[Any, Any]:
    """Numbers and intervals of mpmath, in contexts of our own: whoever else calculates in this process sets the
    precision of theirs."""
    from mpmath.ctx_iv import MPIntervalContext  # opening a vault of ε takes none of this
    from mpmath.ctx_mp import MPContext

    return MPContext(), MPIntervalContext()


def _delta(mu_squared: Fraction, epsilon: Fraction) -> Any:
    """δ to many digits, uncertified."""
    mp, _ = _contexts()
    mp.prec = SOLVING_BITS
    mu = mp.sqrt(quotient(mp, mu_squared))
    e = quotient(mp, epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-e / mu - mu / 2)


def mu_keeps(mu_squared: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether μ-GDP is certified to imply (ε, δ). False where it does not, or hardly does. Requires μ² > 0."""
    with _ALONE:
        _, iv = _contexts()
        # Tails are as small as δ, which decides how many digits 1 less what is nearly 1 has to keep.
        iv.prec = SPARE_BITS + max(0, -3 * (delta.numerator.bit_length() - delta.denominator.bit_length()))
        iv.prec = max(iv.prec, *map(bits_of, (mu_squared, epsilon, delta)))
        mu, e = iv.sqrt(quotient(iv, mu_squared)), quotient(iv, epsilon)
        u, v = e / mu - mu / 2, e / mu + mu / 2
        if u.a < -FAR:  # then δ is nearly 1
            return False
        found = _tail_from_above(iv, u) - density(iv, u) * _mills_from_below(iv, v)
        return bool(found.b <= quotient(iv, delta).a)


def _tail_from_above(iv: Any, z: Any) -> Any:
    """At least Φ(−z): an interval whose upper end is what counts."""
    return density(iv, z) / z if z.b > FAR else tail(iv, z)


def _mills_from_below(iv: Any, z: Any) -> Any:
    """At most Φ(−z)/φ(z), for z > 0, and hardly less: an interval whose lower end is what counts."""
    if z.a < 8:
        return tail(iv, z) / density(iv, z)
    # 1/(z + 1/(z + 2/(z + 3/(z + …)))), cut off: below it where an even number of levels is left.
    bottom = z
    for level in range(DEPTH - 1, 0, -1):
        bottom = z + iv.mpf(level) / bottom
    return 1 / bottom
