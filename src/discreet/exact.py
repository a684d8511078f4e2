"""Exact numbers, as people and files write them."""

import math
from decimal import Decimal
from fractions import Fraction

MOST_READ = 10**15
"""Whole numbers from here on are shown by their size: nobody reads so many digits."""
Number = Fraction | Decimal | int | float | str
"""What people may hand over as a number."""


def parse_exact(text: str) -> Fraction:
    """A number as people write it, exactly. Raises ValueError where it is none that is finite."""
    try:
        if "/" in text:
            return Fraction(text)
        decimal = Decimal(text)
    except (ArithmeticError, ValueError):
        raise ValueError("no number") from None
    # 1e999999999 is a short text, but its digits would fill the memory.
    if not decimal.is_finite() or abs(decimal.adjusted()) > 50:
        raise ValueError("no number of a size that is meant")
    return Fraction(decimal)


def number_text(value: Fraction) -> str:
    """A rational as people write it: 25000, 0.5, or 1/3 where no decimal is exact."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, places = value.denominator, 0
    while rest % 10 == 0:
        rest //= 10
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    scaled = value
    while scaled.denominator != 1:
        scaled, places = scaled * 10, places + 1
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def equals_text(value: Fraction) -> str:
    """A rational for people, after its name: "= 0.01" or "= 1/3" where that is short, else "≈ 0.01337"."""
    exact = number_text(value)
    return f"= {exact}" if len(exact) <= 8 else f"≈ {float(value):.4g}"


def count_text(count: int) -> str:
    """A whole number for people: 316,800, or about 10^140."""
    return f"{count:,}" if count < MOST_READ else f"about 10^{round(math.log10(count))}"
