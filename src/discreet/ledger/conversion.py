"""Between ρ of zero-concentrated differential privacy and (ε, δ).

ρ-zCDP implies (ε, δ)-differential privacy for every ε ≥ 0 with

    δ = min over α > 1 of  exp((α−1)·(α·ρ − ε)) / (α−1) · (1 − 1/α)^α

[Canonne, Kamath, Steinke 2020, Proposition 12; Bun, Steinke 2016 has the weaker ε = ρ + 2√(ρ·ln(1/δ))]. The minimum is
found numerically, but any α gives a valid δ, so an inexact minimum only states less than what holds; a relative margin
covers the rounding of the arithmetic itself.
"""

import math
from fractions import Fraction

MARGIN = 1e-9
STEPS = 200
FINEST = 10**12
"""Solved values of ρ are multiples of 1 over this, rounded down."""


def log_delta(rho: float, epsilon: float) -> float:
    """ln δ such that ρ-zCDP implies (ε, δ)-differential privacy. Requires ρ > 0."""
    # The derivative of the exponent in α is positive beyond (ε + ρ)/(2ρ), by a golden-section search below it.
    low, high = 1 + 1e-12, max(2.0, (epsilon + rho) / rho + 2)
    shrink = (math.sqrt(5) - 1) / 2
    for _ in range(STEPS):
        left, right = high - shrink * (high - low), low + shrink * (high - low)
        if _exponent(left, rho, epsilon) < _exponent(right, rho, epsilon):
            high = right
        else:
            low = left
    return min(_exponent((low + high) / 2, rho, epsilon), 0.0)


def _exponent(alpha: float, rho: float, epsilon: float) -> float:
    return (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ (in steps, rounded down) for which ρ-zCDP implies (ε, δ)-differential privacy."""
    target = math.log(delta) * (1 + MARGIN)
    low, high = 0.0, float(epsilon)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle and log_delta(middle, float(epsilon)) <= target else (low, middle)
    return Fraction(math.floor(low * FINEST), FINEST)


def epsilon_for(rho: Fraction, delta: Fraction) -> float:
    """The least ε (rounded up) for which ρ-zCDP implies (ε, δ)-differential privacy."""
    target = math.log(delta) * (1 + MARGIN)
    low, high = 0.0, float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta))) + MARGIN
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if log_delta(float(rho), middle) <= target else (middle, high)
    return high
