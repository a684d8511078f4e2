"""The exponential mechanism, exactly: no weight is ever a float. The proof is in exponential.md."""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from discreet.errors import InvalidNoise
from discreet.noise.bits import Bits
from discreet.noise.enclosure import Enclosure, enclose_exp


def sample_exponential(utilities: Sequence[int], rate: Fraction | int, bits: Bits) -> int:
    """Draw an index i with Pr[i] ∝ exp(rate * utilities[i]), exactly.

    Requires at least one utility and an exact rate > 0; for a utility that one row changes by at most Δ, the rate
    ε / (2Δ) makes the draw ε-differentially private. [cubes, Theorem 2.1.2, with the factor 2 that it lacks]
    """
    if type(rate) not in (Fraction, int) or rate <= 0:
        raise InvalidNoise(f"a rate must be exact and positive: a Fraction or an int above 0, not {rate!r}")
    if not utilities:
        raise InvalidNoise("the exponential mechanism needs at least one candidate")
    best = max(utilities)
    gaps = [int(best - utility) for utility in utilities]
    point = digits = 0
    while True:
        for word in bits.words(2).tolist():
            point, digits = point << 64 | word, digits + 64
        index = _locate(point, digits, gaps, Fraction(rate))
        if index is not None:
            return index


def _locate(point: int, digits: int, gaps: list[int], rate: Fraction) -> int | None:
    """The index whose share of [0, 1) holds all numbers that begin with these binary digits, if one does."""
    precision = digits + len(gaps).bit_length() + 16
    weights = [_weight(rate, gap, precision) for gap in gaps]
    lows = list(accumulate(weight.low for weight in weights))
    highs = [0, *accumulate(weight.high for weight in weights)]
    # In units of the total weight the numbers lie within [point * lows[-1], (point + 1) * highs[-1]) / 2**digits.
    index = bisect_left(lows, (point + 1) * highs[-1], key=lambda low: low << digits)
    index = min(index, len(gaps) - 1)  # no number of [0, 1) lies beyond the last share
    return index if highs[index] << digits <= point * lows[-1] else None


@lru_cache(maxsize=2**16)
def _weight(rate: Fraction, gap: int, precision: int) -> Enclosure:
    """exp(-rate * gap), as the product of the powers that the binary digits of the gap ask for."""
    if rate * gap > precision:
        return Enclosure(0, 1, precision)  # exp(-x) < 2**-x
    weight = Enclosure(1 << precision, 1 << precision, precision)
    for i in range(gap.bit_length()):
        if gap >> i & 1:
            weight = weight.times(_power(rate, i, precision))
    return weight


@lru_cache(maxsize=2**10)
def _power(rate: Fraction, i: int, precision: int) -> Enclosure:
    return enclose_exp(rate * 2**i, precision)
