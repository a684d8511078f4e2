"""The normal law's tail, enclosed: for interval contexts of mpmath, which are passed in."""

from fractions import Fraction
from typing import Any


def quotient(context: Any, exact: Fraction) -> Any:
    """A fraction as a number of a context; of an interval context, one that holds it."""
    return context.mpf(exact.numerator) / context.mpf(exact.denominator)


def bits_of(exact: Fraction) -> int:
    """To which its parts are whole: mpmath takes a longer number for the nearest one, and says so by no interval."""
    return max(exact.numerator.bit_length(), exact.denominator.bit_length())


def density(iv: Any, z: Any) -> Any:
    """φ(z), for an interval of z."""
    return iv.exp(-z * z / 2) / iv.sqrt(2 * iv.pi)


def tail(iv: Any, z: Any) -> Any:
    """Φ(−z), for an interval of z: ½ − φ(z)·Σ z^(2n+1)/(1·3·…·(2n+1)), with a remainder below the last term taken."""
    term = total = z
    order, square = 1, z * z
    smallest = iv.mpf(2) ** -iv.prec
    while not (2 * square.b <= order and abs(term).b <= smallest):
        order += 2
        term = term * square / order
        total += term
    # From here on each term is at most half of the one before it, and all have z's sign.
    return iv.mpf(1) / 2 - density(iv, z) * (total + term * iv.mpf([0, 1]))
