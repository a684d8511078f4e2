"""Labels are text: what people hand over for one, as it is written."""

from datetime import date
from fractions import Fraction
from numbers import Integral, Rational, Real

from discreet.exact import number_text


def spelled(value: object) -> str:
    """A value as a label spells it: 1, 1.0 and "1" are the same, and True is true. Numbers of other libraries too."""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()  # NumPy's
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Integral():
            return str(int(value))
        case Rational():
            return number_text(Fraction(value))
        case Real():
            number = float(value)
            return str(int(number)) if number.is_integer() else str(number)
        case date():
            return value.isoformat()
    return str(value)


def whole(value: object) -> int | None:
    """The whole number that a value spells; None where it is none."""
    text = spelled(value)
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
