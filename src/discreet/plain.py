"""Results as JSON: the same text on the command line and over HTTP."""

from fractions import Fraction

from discreet.exact import number_text


def plain(value: object) -> object:
    """What JSON has no word for, in words that it has: exact numbers as text, results as they describe themselves."""
    if isinstance(value, Fraction):
        return number_text(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
