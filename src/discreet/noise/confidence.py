"""How surely an interval may be asked to hold: what a door lets in."""

from fractions import Fraction

from discreet.errors import InvalidNoise
from discreet.exact import Number, parse_exact

LEAST, MOST = Fraction(1, 100), 1 - Fraction(1, 10**6)
"""Below, the noise of many a count is 0 that surely, and the interval a point; above, doubles and draws tell nothing
any more of the chance that is left, least of all where many lines share it."""


def exact_confidence(value: Number, name: str = "confidence") -> Fraction:
    """A confidence, exactly. Raises InvalidNoise where no interval can be made of it, before anything is spent."""
    try:
        confidence = value if isinstance(value, Fraction) else parse_exact(str(value))
    except ValueError:
        confidence = Fraction(0)
    if not LEAST <= confidence <= MOST:
        raise InvalidNoise(f"{name} must lie between 0 and 1, as in 0.95: from {float(LEAST):g} to {float(MOST):.6f}")
    return confidence
