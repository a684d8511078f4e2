"""How far noise strays, law by law: its variance, its half-widths, and the parameters that it may have. Why they are so
stands beside the samplers, in laplace.md, gaussian.md and binomial.md."""

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.noise.enclosure import enclose_exp

MAX_SCALE = 2**50  # leaves ten bits above the scale before a draw is out of range
MAX_SIGMA_SQUARED = 2**100  # the proposal's scale is then 2**50, or hardly more
LARGE_SIGMA = 1000  # from here on sums over the law are integrals to float precision
MAX_TRIALS = 10**12
LONGEST_TABLE = 10**6  # half-widths are summed up to here; with more trials the law is Gaussian to float precision


def require_scale(scale: Fraction | int) -> Fraction:
    """The scale as a Fraction, if it is exact and in range; otherwise InvalidNoise."""
    if type(scale) not in (Fraction, int):
        raise InvalidNoise(f"a scale must be exact: a Fraction or an int, not {type(scale).__name__}")
    if not 0 < scale <= MAX_SCALE:
        raise InvalidNoise(f"a scale must be above 0 and at most 2**50, not {scale}")
    return Fraction(scale)


def laplace_variance(scale: Fraction | int) -> float:
    """The discrete variance, 2q / (1-q)**2 with q = exp(-1/scale), to float precision."""
    # It equals 1 / (2 sinh(1/(2 scale))**2), which cancels nowhere; sinh overflows where the variance is 2q.
    half_rate = float(min(1 / (2 * require_scale(scale)), Fraction(500)))
    return 2 * math.exp(-2 * half_rate) if half_rate > 300 else 0.5 / math.sinh(half_rate) ** 2


@lru_cache(maxsize=256, typed=True)
def laplace_halfwidth(scale: Fraction | int, confidence: Fraction | float) -> int:
    """The smallest integer w >= 0 with Pr[|K| <= w] >= confidence, exactly. Requires 0 <= confidence < 1."""
    scale = require_scale(scale)
    if not 0 <= confidence < 1:
        raise InvalidNoise(f"a confidence must be at least 0 and below 1, not {confidence}")
    allowed = 1 - Fraction(confidence)
    # Pr[|K| > w] = 2 q**(w+1) / (1+q); floats give the neighbourhood, certified comparisons the integer.
    q = math.exp(-float(min(1 / scale, Fraction(1000))))
    logarithm = math.log(2 / (1 + q)) + math.log(allowed.denominator) - math.log(allowed.numerator)
    low = high = max(0, int(scale * Fraction(logarithm)) - 1)
    reach = 1
    while low > 0 and _exceeds_rarely(scale, low, allowed):
        low, reach = max(0, low - reach), 2 * reach
    reach = 1
    while not _exceeds_rarely(scale, high, allowed):
        high, reach = high + reach, 2 * reach
    return low + bisect_left(range(low, high), True, key=lambda w: _exceeds_rarely(scale, w, allowed))


def _exceeds_rarely(scale: Fraction, width: int, allowed: Fraction) -> bool:
    """Whether Pr[|K| > width] <= allowed. Equality cannot be: q is transcendental and `allowed` rational."""
    precision = 128
    while True:
        power, q = enclose_exp((width + 1) / scale, precision), enclose_exp(1 / scale, precision)
        one = 1 << precision
        if 2 * power.high <= allowed * (one + q.low):
            return True
        if 2 * power.low > allowed * (one + q.high):
            return False
        precision *= 2


def require_sigma_squared(sigma_squared: Fraction | int) -> Fraction:
    """The parameter as a Fraction, if it is exact and in range; otherwise InvalidNoise."""
    if type(sigma_squared) not in (Fraction, int):
        raise InvalidNoise(f"sigma squared must be exact: a Fraction or an int, not {type(sigma_squared).__name__}")
    if not 0 < sigma_squared <= MAX_SIGMA_SQUARED:
        raise InvalidNoise(f"sigma squared must be above 0 and at most 2**100, not {sigma_squared}")
    return Fraction(sigma_squared)


def gaussian_variance(sigma_squared: Fraction | int) -> float:
    """The discrete variance, to float precision: a little below sigma_squared where that is small."""
    sigma_squared = require_sigma_squared(sigma_squared)
    if sigma_squared >= 4:
        return float(sigma_squared)  # they differ by a factor 1 - 2e-32 at 4, and less beyond (gaussian.md)
    weights = _weights(sigma_squared, 40)
    squares = np.arange(1, 41, dtype=np.float64) ** 2
    return 2 * math.fsum(squares * weights) / (1 + 2 * math.fsum(weights))


@lru_cache(maxsize=256, typed=True)
def gaussian_halfwidth(sigma_squared: Fraction | int, confidence: Fraction | float) -> int:
    """The smallest integer w >= 0 with Pr[|K| <= w] >= confidence, to float precision. Requires 0 <= confidence < 1."""
    sigma_squared = require_sigma_squared(sigma_squared)
    if not 0 <= confidence < 1:
        raise InvalidNoise(f"a confidence must be at least 0 and below 1, not {confidence}")
    allowed = float(1 - Fraction(confidence))
    sigma = math.sqrt(sigma_squared)
    if sigma < LARGE_SIGMA:
        weights = _weights(sigma_squared, math.ceil(39 * sigma))
        beyond = 2 * np.cumsum(weights[::-1])[::-1]  # from the far end, small to large
        return int(np.count_nonzero(beyond > allowed * (1 + beyond[0])))
    return bisect_left(range(math.ceil(39 * sigma)), True, key=lambda w: _tail(w, sigma) <= allowed)


def _weights(sigma_squared: Fraction, count: int) -> NDArray[np.float64]:
    """exp(-k**2 / (2 sigma_squared)) for k = 1 … count."""
    rate = float(min(1 / (2 * sigma_squared), Fraction(1000)))
    return np.exp(-rate * np.arange(1, count + 1, dtype=np.float64) ** 2)


def _tail(width: int, sigma: float) -> float:
    """Pr[|K| > width] by Euler and Maclaurin's formula at the midpoint, but for a share below (z / sigma)**4."""
    z = (width + 0.5) / sigma
    return math.erfc(z / math.sqrt(2)) - z * math.exp(-z * z / 2) / (12 * sigma**2 * math.sqrt(2 * math.pi))


def require_trials(trials: int) -> None:
    """Raise InvalidNoise unless the sampler takes so many trials."""
    if type(trials) is not int or not 2 <= trials <= MAX_TRIALS or trials % 2:
        raise InvalidNoise(f"the number of trials must be even, from 2 to 10**12, not {trials!r}")


@lru_cache(maxsize=256)
def binomial_halfwidth(trials: int, confidence: Fraction) -> int:
    """The smallest integer w >= 0 with Pr[|K| <= w] >= confidence, to float precision. Requires 0 <= confidence < 1."""
    require_trials(trials)
    if not 0 <= confidence < 1:
        raise InvalidNoise(f"a confidence must be at least 0 and below 1, not {confidence}")
    allowed, centre = float(1 - Fraction(confidence)), (trials + 1) / 2
    # b(k)/b(0), as in binomial.md; beyond 39 standard deviations nothing is left in floats.
    reach = min(trials // 2, math.ceil(39 * math.sqrt(trials) / 2))
    if reach > LONGEST_TABLE:  # the discrete Gaussian law of binomial.md has the same tails to a share of 1/trials
        return gaussian_halfwidth(Fraction(trials + 1, 4), confidence)
    weights = np.exp(-2 * np.cumsum(np.arctanh((np.arange(1, reach + 1) - 0.5) / centre)))
    beyond = 2 * np.cumsum(weights[::-1])[::-1]  # from the far end, small to large
    return int(np.count_nonzero(beyond > allowed * (1 + beyond[0])))
