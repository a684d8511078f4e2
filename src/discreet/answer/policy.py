"""How much noise to ask for: what the analyst wishes, and what the vault does when nothing is said."""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from discreet.errors import InvalidNoise, VaultError
from discreet.ledger.guarantee import Budget, exact_epsilon
from discreet.noise.laplace import laplace_halfwidth
from discreet.query.plan import exact_scale

DEFAULT_SHARE = 100
"""Where nothing is said, a question spends one in so many parts of the budget in its region."""
FINEST_STEP = 1 << 20
"""Solved scales are multiples of 1 over this: fine enough, and exact."""


@dataclass(frozen=True)
class Policy:
    """`[policy]` of vault.toml: what `ask` does when nothing is said, and what it never does."""

    default_within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    min_scale: Fraction | None = None
    max_per_query: Fraction | None = None
    compound_size: int = 3
    """ξ: at most this many released answers make up a relaxed one."""

    @classmethod
    def parse(cls, settings: dict[str, Any]) -> "Policy":
        """From TOML; unknown keys and values that make no sense are refused."""
        known = [field.name for field in fields(cls)]
        values: dict[str, Any] = {}
        for key, value in settings.items():
            if key not in known:
                raise VaultError(f"[policy] in vault.toml has no {key!r}; it takes {', '.join(known)}")
            values[key] = value if key == "compound_size" else exact_scale(value, key)
        if not 0 < values.get("confidence", Fraction(1, 2)) < 1:
            raise VaultError("[policy] confidence in vault.toml must lie between 0 and 1")
        size = values.get("compound_size", 1)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise VaultError("[policy] compound_size in vault.toml must be a whole number, 1 or more")
        return cls(**values)


@dataclass(frozen=True)
class Wish:
    """What an analyst asks for: a scale, or to be within so much of the truth with some confidence, or nothing."""

    scale: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)

    @classmethod
    def of(cls, policy: Policy, scale: object, within: object, confidence: object) -> "Wish":
        if scale is not None and within is not None:
            raise InvalidNoise("say scale or within, not both")
        wanted = policy.confidence if confidence is None else exact_scale(confidence, "confidence")  # type: ignore[arg-type]
        if not 0 < wanted < 1:
            raise InvalidNoise("confidence must lie between 0 and 1, as in 0.95")
        if scale is not None:
            return cls(scale=exact_scale(scale), confidence=wanted)  # type: ignore[arg-type]
        if within is not None:
            return cls(within=exact_scale(within, "within"), confidence=wanted)  # type: ignore[arg-type]
        return cls(within=policy.default_within, confidence=wanted)


def default_scale(budget: Budget) -> Fraction:
    """The scale of a question that spends its default share of the budget."""
    return Fraction(DEFAULT_SHARE * budget.factor) / exact_epsilon(budget.epsilon)


def deviations(confidence: Fraction) -> float:
    """Within how many standard deviations noise stays, with at least this probability.

    A Laplace variable stays within ln(1/α)/√2 of them with probability 1 − α, a normal one within its quantile; a sum
    of independent Laplace variables lies between the two, so the larger one is safe for every sum.
    """
    alpha = float(1 - confidence)
    return max(math.log(1 / alpha) / math.sqrt(2), NormalDist().inv_cdf(1 - alpha / 2))


def scale_within(within: Fraction, confidence: Fraction, grain: Fraction = Fraction(1)) -> Fraction:
    """The largest scale (in steps) whose noise, in whole grains, stays within ±`within` with this confidence."""
    grains = math.floor(within / grain)
    if grains < 1:
        raise InvalidNoise(f"answers come in steps of {grain}, so within must be at least {grain}")
    alpha = float(1 - confidence)
    # Pr[|K| > w] = 2q^(w+1)/(1+q) lies between q^(w+1) and q^w: the solution lies between these two scales.
    low = _stepped(grains / math.log(1 / alpha))
    high = _stepped((grains + 1) / math.log(1 / alpha)) + Fraction(1, FINEST_STEP)
    while high - low > Fraction(1, FINEST_STEP):
        middle = _stepped(float(low + high) / 2)
        if middle in (low, high):
            break
        low, high = (middle, high) if laplace_halfwidth(middle, confidence) <= grains else (low, middle)
    return low * grain


def _stepped(value: float) -> Fraction:
    return Fraction(max(math.floor(value * FINEST_STEP), 1), FINEST_STEP)
