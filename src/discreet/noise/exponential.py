"""The exponential mechanism, exactly, in steps that do not depend on the utilities. The proof is in exponential.md."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.native import kernel
from discreet.noise.bits import Bits, Words
from discreet.noise.enclosure import enclose_exp

Array = NDArray[np.int64]

POINT_WORDS = 2  # of the uniform number, at first and each time that they leave the draw open
LIMB = 32  # a limb is half a word, so that the product of two, and what is carried, fits a word
GUARD_LIMBS = 1  # by which weights are longer than the point: their errors are small beside its last digit

_SHIFT, _LOW = np.uint64(LIMB), np.uint64(2**LIMB - 1)


class Gaps(NamedTuple):
    """How far candidates fall short of the best: whole numbers from 0 to `most`, each unit a factor exp(-rate).

    A row is a draw, its columns are the candidates. Shape, rate and most are public, the numbers are not.
    """

    numbers: Array
    rate: Fraction
    most: int = 2**63 - 1


class _Digits(NamedTuple):
    """The binary digits that gaps can have: of which part, at which place, and exp(-rate * 2**place) in limbs."""

    part: Words
    place: Words
    power: Words


def sample_exponential(gaps: Sequence[Gaps], bits: Bits) -> Array:
    """Draw in each row an index i with Pr[i] ∝ exp(-gap[i]), exactly; a gap is the sum of rate * number of its parts.

    For a utility that one row of a table changes by at most Δ, gaps of ε / (2Δ) for each unit below the best make a
    draw ε-differentially private. [cubes, Theorem 2.1.2, with the factor 2 that it lacks]

    What runs depends on shapes, rates and the number of random words asked for; and that number is the same for all
    gaps, but with probability 2**-106 (for 2**20 candidates in all, if in each row one has no gap).
    """
    for part in gaps:
        if type(part.rate) not in (Fraction, int) or part.rate <= 0:
            raise InvalidNoise(f"a rate must be exact and positive: a Fraction or an int above 0, not {part.rate!r}")
    rows, candidates = gaps[0].numbers.shape
    if not candidates:
        raise InvalidNoise("the exponential mechanism needs at least one candidate")
    rates = tuple((Fraction(part.rate), part.most) for part in gaps)
    point = np.empty((rows, 0), np.uint64)
    least, most = np.empty((2, rows), np.int64)
    while True:
        point = np.hstack((point, bits.words(POINT_WORDS * rows).reshape(rows, POINT_WORDS)))
        digits, reaches, error = _digits(rates, 2 * point.shape[1] + GUARD_LIMBS)
        clipped = [np.minimum(part.numbers, reach) for part, reach in zip(gaps, reaches, strict=True)]
        slack = _limbs(candidates * error, 3)
        _locate(_point_limbs(point), np.stack(clipped).astype(np.uint64), digits, slack, least, most)
        if np.array_equal(least, most):
            return least


@lru_cache(maxsize=256)
def _digits(rates: tuple[tuple[Fraction, int], ...], limbs: int) -> tuple[_Digits, list[int], int]:
    """The digits that matter at a precision, where each part's numbers are clipped, and the error of a weight in units.

    Beyond the clip a weight is less than one unit.
    """
    precision = LIMB * limbs
    reaches = [min(most, ceil(precision / rate)) for rate, most in rates]
    places = [(part, place) for part, reach in enumerate(reaches) for place in range(reach.bit_length())]
    powers = [enclose_exp(rates[part][0] * 2**place, precision) for part, place in places]
    error = 1 + sum(max(power.high - power.low, 1) + 1 for power in powers)
    digits = _Digits(
        part=np.array([part for part, _ in places], np.uint64),
        place=np.array([place for _, place in places], np.uint64),
        power=np.array([_limbs(power.low, limbs) for power in powers], np.uint64).reshape(-1, limbs),
    )
    return digits, reaches, error


def _limbs(number: int, count: int) -> Words:
    """A number as limbs, the lowest first."""
    return np.frombuffer(number.to_bytes(count * LIMB // 8, "little"), "<u4").astype(np.uint64)


def _point_limbs(point: Words) -> Words:
    return np.ascontiguousarray(point[:, ::-1]).astype("<u8").view("<u4").astype(np.uint64)


@kernel
def _locate(points: Words, gaps: Words, digits: _Digits, slack: Words, least: Array, most: Array) -> None:
    """In each row count the candidates, but for the last, whose share ends at the point at the latest: surely, and
    possibly. Where both counts agree they are the index that was drawn."""
    known, limbs, candidates = points.shape[1], digits.power.shape[1], gaps.shape[2]
    weight = np.empty(limbs, np.uint64)
    scaled = np.empty(known + limbs + 1, np.uint64)
    ends = np.empty((candidates, limbs + 1), np.uint64)
    one = np.ones(1, np.uint64)
    for row in range(points.shape[0]):
        total = np.zeros(limbs + 1, np.uint64)
        for i in range(candidates):
            _weigh(gaps[:, row, i], digits, weight)
            _add(total, weight)
            ends[i] = total
            _add(ends[i], slack)
        _multiply(points[row], total, scaled)
        surely = scaled[known:]
        _add(surely, one)
        possibly = surely + np.uint64(0)
        _add(possibly, total[known:])
        _add(possibly, slack)
        _add(possibly, slack)
        _add(possibly, one)
        least[row] = most[row] = 0
        for i in range(candidates - 1):
            least[row] += _is_below(ends[i], surely)
            most[row] += _is_below(ends[i], possibly)


@kernel
def _weigh(gap: Words, digits: _Digits, weight: Words) -> None:
    """The product of the powers of all digits of a gap that are 1, and of as many ones, each step rounded down."""
    limbs, count = weight.size, digits.part.size
    product = np.empty(2 * limbs, np.uint64)
    factor = np.empty(limbs, np.uint64)
    is_set = np.empty(count, np.uint8)
    for digit in range(count):
        is_set[digit] = (gap[digits.part[digit]] >> digits.place[digit]) & np.uint64(1)
    weight[:] = _LOW
    for digit in range(count):
        # The power, or 1 less one unit: a choice without a branch. By way of memory, for a compiler that sees that it
        # is 0 or 1 makes a branch of it.
        chosen = np.uint64(is_set[digit])
        for j in range(limbs):
            factor[j] = _LOW - chosen * (_LOW - digits.power[digit, j])
        _multiply(weight, factor, product)
        weight[:] = product[limbs:]


@kernel
def _multiply(left: Words, right: Words, product: Words) -> None:
    product[:] = 0
    for i in range(left.size):
        carry = np.uint64(0)
        for j in range(right.size):
            carry += left[i] * right[j] + product[i + j]
            product[i + j] = carry & _LOW
            carry >>= _SHIFT
        product[i + right.size] = carry


@kernel
def _add(number: Words, other: Words) -> None:
    """Add to a number another one, of as many limbs or fewer."""
    carry = np.uint64(0)
    for i in range(other.size):
        carry += number[i] + other[i]
        number[i] = carry & _LOW
        carry >>= _SHIFT
    for i in range(other.size, number.size):
        carry += number[i]
        number[i] = carry & _LOW
        carry >>= _SHIFT


@kernel
def _is_below(left: Words, right: Words) -> int:
    """1 where left < right, else 0: what a subtraction would have to borrow."""
    borrow = np.uint64(0)
    for i in range(left.size):
        borrow = np.uint64(1) - ((left[i] + (np.uint64(1) << _SHIFT) - right[i] - borrow) >> _SHIFT)
    return int(borrow)
