"""Which values are named: each by a coin of its own, whose bias grows with the number of people who have it.

A rule is a loss, ε or μ², and a δ. From a value that k people have to one that k + 1 have, its bias grows as fast as
these allow, beginning with 0 where nobody has it: no rule that keeps them names any value with a greater probability.
Biases are multiples of 2^-128, rounded down and certified, so that coins are flipped exactly. The proof is in
selection.md. [Desfontaines, Voss, Gipson, Mandayam 2022]
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidBudget
from discreet.ledger.normal_tail import bits_of, quotient, tail
from discreet.noise.bits import Bits
from discreet.noise.enclosure import enclose_exp

DIGITS = 128
ONE = 1 << DIGITS
"""A bias of 1, in multiples of 2^-DIGITS."""
LEAST_DELTA = Fraction(1, 1 << 64)
"""Below it biases would be rounded noticeably."""
MOST_STEPS = 4096
"""A rule that names a value for certain only where more people than this have it is refused: it finds next to nothing,
and takes long to work out."""
WORKING = 256
SCORES = 1 << 160
"""Places on the normal law are multiples of 1 over this, rounded down."""
STEEPEST = Fraction(2, 5)
"""The normal law's density is less than this everywhere."""
NEWTON = 4
"""Steps of Newton's method, which doubles the digits of a double in each."""


@dataclass(frozen=True)
class SelectionRule:
    """What a coin may lose for one person: ε, or μ² of Gaussian differential privacy, but for a probability of δ."""

    epsilon: Fraction
    mu_squared: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if (self.epsilon > 0) == (self.mu_squared > 0) or not LEAST_DELTA <= self.delta < 1:
            raise InvalidBudget(
                "finding values takes a loss above 0, and a δ from 2^-64 to 1, for each value of a person"
            )


def biases(rule: SelectionRule) -> tuple[int, ...]:
    """The bias of a value that 0, 1, 2, … people have, in multiples of 2^-128, up to the first that is 1."""
    found = () if _is_hopeless(rule) else _grown(rule)
    if not found or found[-1] < ONE:
        raise InvalidBudget(
            f"with so little, not even a value of {MOST_STEPS:,} people would be found for certain: give finding "
            "values a larger part"
        )
    return found


def half_found(rule: SelectionRule) -> int:
    """The least number of people with whom a value is found at least every other time; or more than are looked at."""
    found = () if _is_hopeless(rule) else _grown(rule)
    return next((people for people, bias in enumerate(found) if 2 * bias >= ONE), MOST_STEPS + 1)


def _is_hopeless(rule: SelectionRule) -> bool:
    """Whether μ is so small that all steps together, of which none adds more than δ + μ/√(2π), do not reach a half."""
    room = Fraction(1, 2) - (MOST_STEPS + 1) * rule.delta
    return rule.epsilon == 0 and room > 0 and rule.mu_squared * (MOST_STEPS * STEEPEST) ** 2 < room**2


@lru_cache(maxsize=32)
def _grown(rule: SelectionRule) -> tuple[int, ...]:
    grow = _pure_growth(rule) if rule.epsilon else _gaussian_growth(rule)
    found = [0]
    while found[-1] < ONE and len(found) <= MOST_STEPS:
        found.append(grow(found[-1]))
    return tuple(found)


def draw_selected(people: NDArray[np.int64], rule: SelectionRule, bits: Bits) -> NDArray[np.bool_]:
    """Which of some values are named, each of which so many people have. Exact."""
    heads = biases(rule)
    certain = people >= len(heads) - 1
    places = np.minimum(people, len(heads) - 2)
    high = np.array([bias >> 64 for bias in heads[:-1]], np.uint64)[places]
    low = np.array([bias & (1 << 64) - 1 for bias in heads[:-1]], np.uint64)[places]
    drawn = bits.words(2 * people.size).reshape(2, -1)
    below: NDArray[np.bool_] = (drawn[0] < high) | ((drawn[0] == high) & (drawn[1] < low))
    return certain | below


def _pure_growth(rule: SelectionRule) -> Callable[[int], int]:
    """min(e^ε·b + δ, 1 − e^−ε·(1 − δ − b), 1), never more."""
    shrunk, delta = enclose_exp(rule.epsilon, WORKING), _rounded_down(rule.delta)

    def grow(bias: int) -> int:
        rest = ONE - delta - bias
        if rest <= 0:
            return ONE
        raised = (bias << WORKING) // shrunk.high + delta
        return min(raised, ONE - (-(-rest * shrunk.high >> WORKING)), ONE)

    return grow


def _gaussian_growth(rule: SelectionRule) -> Callable[[int], int]:
    """δ + (1 − δ)·Φ(z + μ), never more, where b = (1 − δ)·Φ(z); δ where b is 0, and 1 where it is 1 − δ or above."""
    from mpmath.ctx_iv import MPIntervalContext  # few vaults look for values
    from mpmath.ctx_mp import MPContext

    mp, iv = MPContext(), MPIntervalContext()
    mp.prec = iv.prec = WORKING + bits_of(rule.mu_squared)
    delta = _rounded_down(rule.delta)
    kept = ONE - delta
    step = iv.sqrt(quotient(iv, rule.mu_squared))

    def grow(bias: int) -> int:
        if bias >= kept:
            return ONE
        if bias == 0:
            return delta
        place = _place_below(mp, iv, Fraction(bias, kept))
        moved = tail(iv, -(quotient(iv, place) + step)) * kept
        return min(delta + int(mp.floor(mp.mpf(moved.a))), ONE)

    return grow


def _rounded_down(delta: Fraction) -> int:
    """A δ in multiples of 2^-DIGITS: the rule keeps this one."""
    return (delta.numerator << DIGITS) // delta.denominator


def _place_below(mp: Any, iv: Any, share: Fraction) -> Fraction:
    """A z with Φ(z) ≤ share, certified, and hardly less than the largest."""
    upper = 2 * share > 1
    wanted = 1 - share if upper else share
    z, aim = mp.mpf(NormalDist().inv_cdf(float(wanted))), quotient(mp, wanted)
    for _ in range(NEWTON):
        found = mp.erfc(-z / mp.sqrt(2)) / 2
        z -= mp.log(found / aim) * found / mp.npdf(z)
    place, slack = Fraction(int(mp.floor((-z if upper else z) * SCORES)), SCORES), Fraction(1, SCORES)
    while not tail(iv, -quotient(iv, place)).b <= quotient(iv, share).a:
        place, slack = place - slack, 2 * slack
    return place
