"""Values that were found when a vault was made: whether its first entry pays for them, in arithmetic of our own."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.audit.terms import Terms
from discreet.exact import parse_exact

PARTS = ("epsilon", "mu_squared", "delta")


def unpaid(header: Mapping[str, Any], terms: Terms, found: Mapping[str, Sequence[str]]) -> str:
    """What is wrong with what values were `found` for, by their attributes; nothing where all is right."""
    prices = header.get("discovered", {})
    if "discovered" not in header and not any(terms.found):
        return ""
    if not isinstance(prices, Mapping) or set(prices) != set(found):
        return "it does not say of each attribute whose values were found what that cost"
    try:
        paid = [tuple(parse_exact(price[part]) for part in PARTS) for price in prices.values()]
    except (LookupError, TypeError, ValueError):
        return "what finding values cost cannot be read"
    if any((epsilon > 0) == (square > 0) or min(epsilon, square) < 0 or delta <= 0 for epsilon, square, delta in paid):
        return "values were found for a price that none can be found for"
    whole = tuple(sum(amounts, Fraction(0)) for amounts in zip(*paid, strict=True))
    if any(spent > set_aside for spent, set_aside in zip(whole, terms.found, strict=True)):
        return "finding values cost more than its budget has set aside for that"
    unordered = next((name for name, values in found.items() if list(values) != _ordered(values)), None)
    return "" if unordered is None else f"the values of {unordered} are in an order that may tell of the table"


def _ordered(values: Sequence[str]) -> list[str]:
    return sorted(values, key=str.encode)
