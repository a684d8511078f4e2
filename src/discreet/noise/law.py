"""The laws that a measurement's noise can have, as nouns: what is drawn, how far it strays, how it is written down."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.exact import parse_exact
from discreet.noise.bits import Bits
from discreet.noise.deviation import (
    binomial_halfwidth,
    gaussian_halfwidth,
    gaussian_variance,
    laplace_halfwidth,
    laplace_variance,
    require_scale,
    require_sigma_squared,
    require_trials,
)

LEAST_VARIANCE = 1e-200
"""A law that practically never strays is said to have this one: what is shared out by precision divides by it."""

MOST_LAWS = 4096
"""Size of the cache of laws that were read."""


@dataclass(frozen=True)
class Laplace:
    """Integers k with Pr ∝ exp(−|k|/scale)."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", require_scale(self.scale))

    def times(self, factor: Fraction) -> "Laplace":
        """The law of a number that is so many times as spread out."""
        return Laplace(self.scale * factor)

    @property
    def scale_squared(self) -> Fraction:
        """The square of the scale, here and of every law: exact, also where the scale itself is no fraction."""
        return self.scale**2

    @cached_property
    def variance(self) -> float:
        return max(laplace_variance(self.scale), LEAST_VARIANCE)

    def halfwidth(self, confidence: Fraction) -> int:
        """The least w such that a draw stays within ±w with at least this probability."""
        return laplace_halfwidth(self.scale, confidence)

    @property
    def continuous_variance(self) -> Fraction:
        """The variance of the continuous law of the same scale, which papers state."""
        return 2 * self.scale**2

    def continuous_halfwidth(self, confidence: Fraction) -> float:
        """The width for the continuous law of the same scale."""
        return -math.log(float(1 - confidence)) * float(self.scale)

    def sample(self, size: int, bits: Bits) -> NDArray[np.int64]:
        from discreet.noise.laplace import sample_laplace  # samplers bring compiled code that planning does not need

        return sample_laplace(self.scale, size, bits)


@dataclass(frozen=True)
class Gaussian:
    """Integers k with Pr ∝ exp(−k²/(2σ²))."""

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", require_sigma_squared(self.sigma_squared))

    def times(self, factor: Fraction) -> "Gaussian":
        return Gaussian(self.sigma_squared * factor * factor)

    @property
    def scale(self) -> float:
        """σ."""
        return math.sqrt(self.sigma_squared)

    @property
    def scale_squared(self) -> Fraction:
        return self.sigma_squared

    @cached_property
    def variance(self) -> float:
        return max(gaussian_variance(self.sigma_squared), LEAST_VARIANCE)

    def halfwidth(self, confidence: Fraction) -> int:
        return gaussian_halfwidth(self.sigma_squared, confidence)

    @property
    def continuous_variance(self) -> Fraction:
        return self.sigma_squared

    def continuous_halfwidth(self, confidence: Fraction) -> float:
        return NormalDist().inv_cdf(0.5 + float(confidence) / 2) * self.scale

    def sample(self, size: int, bits: Bits) -> NDArray[np.int64]:
        from discreet.noise.gaussian import sample_gaussian

        return sample_gaussian(self.sigma_squared, size, bits)


@dataclass(frozen=True)
class Binomial:
    """Heads among `trials` fair coins, less trials/2. [SuLQ, Section 4: the seed's σ = √R is √R/2]"""

    trials: int

    def __post_init__(self) -> None:
        require_trials(self.trials)

    def times(self, factor: Fraction) -> "Binomial":
        if factor != 1:
            raise InvalidNoise("binomial noise is for counts of people, and has no other scale")
        return self

    @property
    def scale(self) -> float:
        """σ = √R/2."""
        return math.sqrt(self.trials) / 2

    @property
    def scale_squared(self) -> Fraction:
        return Fraction(self.trials, 4)

    @property
    def variance(self) -> float:
        return self.trials / 4

    def halfwidth(self, confidence: Fraction) -> int:
        return binomial_halfwidth(self.trials, confidence)

    @property
    def continuous_variance(self) -> Fraction:
        return self.scale_squared

    def continuous_halfwidth(self, confidence: Fraction) -> float:
        return NormalDist().inv_cdf(0.5 + float(confidence) / 2) * self.scale

    def sample(self, size: int, bits: Bits) -> NDArray[np.int64]:
        from discreet.noise.binomial import sample_binomial

        return sample_binomial(self.trials, size, bits)


@dataclass(frozen=True)
class Exponential:
    """The exponential mechanism: a candidate with Pr ∝ exp(utility/(2·scale)), for a utility that a row moves by 1."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", require_scale(self.scale))

    @property
    def scale_squared(self) -> Fraction:
        return self.scale**2


Noise = Laplace | Gaussian | Binomial
Law = Noise | Exponential


def law_to_json(law: Law) -> dict[str, str]:
    match law:
        case Laplace():
            return {"laplace": str(law.scale)}
        case Gaussian():
            return {"gaussian": str(law.sigma_squared)}
        case Binomial():
            return {"binomial": str(law.trials)}
        case Exponential():
            return {"exponential": str(law.scale)}


def law_from_json(body: dict[str, str]) -> Law:
    [(kind, parameter)] = body.items()
    return _law(kind, parameter)


@lru_cache(MOST_LAWS)
def _law(kind: str, parameter: str) -> Law:
    """Journals name few laws again and again, and each knows its variance from when that was first asked for."""
    match kind:
        case "laplace":
            return Laplace(parse_exact(parameter))
        case "gaussian":
            return Gaussian(parse_exact(parameter))
        case "binomial":
            return Binomial(int(parameter))
        case "exponential":
            return Exponential(parse_exact(parameter))
    raise InvalidNoise(f"noise of kind {kind!r:.40}; this version knows laplace, gaussian, binomial and exponential")


def law_text(law: Law) -> str:
    """The noise as people read it."""
    scale = float(law.scale)
    digits = f"{scale:.0f}" if scale.is_integer() or scale >= 1e6 else f"{scale:.6g}"
    return f"σ = {digits}" if isinstance(law, Gaussian | Binomial) else f"scale {digits}"
