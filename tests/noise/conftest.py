"""Sources of bits that tests write out by hand."""

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.noise.bernoulli import Coins, expand
from discreet.noise.bits import Bits
from discreet.noise.enclosure import Enclosure


class Exhausted(Exception):
    """The script is at its end and the sampler still asks: this string of bits decides nothing yet."""


class ScriptedBits(Bits):
    """Hands out the given words, at most `at_once` of them at a time."""

    def __init__(self, words: Iterable[int], at_once: int | None = None) -> None:
        super().__init__()
        self.left = [int(word) for word in words]
        self._at_once = at_once

    def fill(self, out: NDArray[np.uint64]) -> int:
        count = min(out.size, len(self.left), self._at_once or out.size)
        if count == 0:
            raise Exhausted
        out[:count] = np.array(self.left[:count], np.uint64)
        del self.left[:count]
        return count


@pytest.fixture
def scripted() -> Callable[..., ScriptedBits]:
    return ScriptedBits


@pytest.fixture
def exhausted() -> type[Exception]:
    return Exhausted


@pytest.fixture
def rational_coins() -> Callable[[list[Fraction]], Coins]:
    """Coins of rational bias, whose laws are Fractions."""

    def enclose(bias: Fraction, precision: int) -> Enclosure:
        low = (bias.numerator << precision) // bias.denominator
        return Enclosure(low, low + 1, precision)

    return lambda biases: expand(lambda precision: [enclose(bias, precision) for bias in biases], further_words=1)
