"""Results as JSON and as cells of CSV: the same text on the command line and over HTTP."""

import re
from collections.abc import Iterable
from fractions import Fraction

from discreet.exact import number_text

FORMULA = re.compile(r"[=+\-@\t\r]")
"""What a cell begins with that a spreadsheet takes for a formula."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def plain(value: object) -> object:
    """What JSON has no word for, in words that it has: exact numbers as text, results as they describe themselves."""
    if isinstance(value, Fraction):
        return number_text(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def cells_of_text(texts: Iterable[str | None]) -> list[str | None]:
    """Texts for a CSV file that people open in a spreadsheet: one that it would run as a formula has an apostrophe
    before it, which it shows as text. Numbers stay numbers."""
    return [f"'{text}" if text and FORMULA.match(text) and not NUMBER.fullmatch(text) else text for text in texts]
