"""Centred binomial noise with fair coins, exactly. The proof is in binomial.md."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.noise.bits import Bits, Words
from discreet.noise.deviation import require_trials
from discreet.noise.enclosure import enclose_exp
from discreet.noise.gaussian import sample_gaussian

COUNTED_TRIALS = 1024  # up to here the coins are flipped and counted
CHUNK_WORDS = 2**14
STEPS = 256  # of the table of bounds, 8 to 16 a standard deviation
LAST_WORD = 2**64 - 1


def sample_binomial(trials: int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `size` independent numbers of heads among `trials` fair coins, minus trials / 2, exactly.

    Requires an even number of trials from 2 to 10**12, so that draws are integers. [SuLQ, binomial noise]
    """
    require_trials(trials)
    if size < 0:
        raise InvalidNoise(f"the number of draws must not be negative, not {size}")
    return (_count_heads if trials <= COUNTED_TRIALS else _draw_near_gaussian)(trials, size, bits)


def _count_heads(trials: int, size: int, bits: Bits) -> NDArray[np.int64]:
    out = np.empty(size, np.int64)
    words_each = -(-trials // 64)
    draws_at_once = CHUNK_WORDS // words_each
    for start in range(0, size, draws_at_once):
        part = out[start : start + draws_at_once]
        words = bits.words(part.size * words_each).reshape(part.size, words_each)
        words[:, -1] >>= np.uint64(64 * words_each - trials)
        np.bitwise_count(words).sum(axis=1, out=part)
    out -= trials // 2
    return out


def _draw_near_gaussian(trials: int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Discrete Gaussian numbers; the few that are not accepted are drawn again."""
    out = sample_gaussian(Fraction(trials + 1, 4), size, bits)
    for start in range(0, size, CHUNK_WORDS):
        proposals = out[start : start + CHUNK_WORDS]
        rejected = _find_rejected(trials, proposals, bits)
        if rejected:
            proposals[rejected] = _draw_near_gaussian(trials, len(rejected), bits)
    return out


def _find_rejected(trials: int, proposals: NDArray[np.int64], bits: Bits) -> list[int]:
    points = bits.words(proposals.size)
    surely_accepted_below, shift = _bounds(trials)
    doubtful = points >= surely_accepted_below[np.minimum(np.abs(proposals) >> shift, STEPS - 1)]
    return [
        i
        for i in np.flatnonzero(doubtful).tolist()
        if not _accept(trials, abs(int(proposals[i])), int(points[i]), bits)
    ]


@lru_cache(maxsize=64)
def _bounds(trials: int) -> tuple[Words, int]:
    """For each step of 2**shift proposals, a word below which a point surely means acceptance."""
    shift = max(0, math.isqrt(trials // 4).bit_length() - 4)
    centre = Fraction(trials + 1, 2)
    bounds = []
    for step in range(STEPS - 1):
        furthest = (step + 1 << shift) - 1
        ratio = Fraction(furthest) / centre
        if ratio >= 1:
            break
        rejected = furthest**4 / (6 * centre**3 * (1 - ratio**2))  # at least delta(furthest): binomial.md
        bounds.append(max(0, math.floor((1 - rejected) * LAST_WORD)))
    return np.array(bounds + [0] * (STEPS - len(bounds)), np.uint64), shift


def _accept(trials: int, distance: int, point: int, bits: Bits) -> bool:
    """Whether a point, of which 64 binary digits are given, lies below the acceptance probability at a distance."""
    half, digits = trials // 2, 64
    if distance > half:
        return False
    exponent = Fraction(2 * distance**2, trials + 1)
    while True:
        # Both the product and the exponential are about 2**-loss.
        loss = math.ceil(exponent * 3 / 2) + 2
        precision = digits + 2 * loss + distance.bit_length() + 16
        low = high = 1 << precision
        for j in range(1, distance + 1):
            low = low * (half - j + 1) // (half + j)
            high = -(-high * (half - j + 1) // (half + j))
        gaussian = enclose_exp(exponent, precision)
        if (point + 1) * gaussian.high <= low << digits:
            return True
        if point * gaussian.low >= high << digits:
            return False
        point, digits = point << 64 | int(bits.words(1)[0]), digits + 64
