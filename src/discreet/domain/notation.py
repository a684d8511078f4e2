"""How a column writes its values: which texts stand for missing ones, for yes and no, and how numbers are written.

All of it is declared, never guessed, and public like the rest of a domain. It is applied to each value by itself.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

DecimalSign = Literal[".", ","]
LONGEST_NUMBER = 1000
"""A text that is longer than this is no number that somebody wrote."""
INFINITE = re.compile(rb" *[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])? *")


@dataclass(frozen=True, kw_only=True)
class Notation:
    """What is declared about the writing of a column; with nothing declared, values are compared byte by byte."""

    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value; where a column holds numbers, the numbers that they write."""
    booleans: tuple[tuple[str, str], ...] = ()
    """Further ways to write true and false, in pairs."""
    decimal: DecimalSign = "."
    thousands: str = ""
    """What may stand between each three digits of a whole number, or nothing."""
    trim: bool = False
    """Whether spaces, tabs and line ends around a value are no part of it."""
    ignore_case: bool = False

    @property
    def folds(self) -> bool:
        """Whether two texts can be the same value."""
        return self.trim or self.ignore_case

    def folded(self, text: bytes) -> bytes:
        """A text as it is compared. Total: bytes that are not UTF-8 have no case."""
        if self.trim:
            text = text.strip()
        if self.ignore_case:
            try:
                text = text.decode().casefold().encode()
            except UnicodeDecodeError:
                return text
        return text

    def number(self, text: bytes | None) -> float:
        """Text as a double where it is written as people write numbers; NaN where it is not."""
        if text is None or len(text) > LONGEST_NUMBER:
            return math.nan
        if self.trim:
            text = text.strip()
        if self._number.fullmatch(text):
            return float(text.replace(self.thousands.encode(), b"").replace(self.decimal.encode(), b"."))
        return float(text) if INFINITE.fullmatch(text) else math.nan

    @cached_property
    def missing_numbers(self) -> tuple[float, ...]:
        """Those of the texts for missing values that are numbers."""
        read = (self.number(text.encode()) for text in self.missing)
        return tuple(number for number in read if not math.isnan(number))

    @cached_property
    def _number(self) -> re.Pattern[bytes]:
        whole, point = rb"[0-9]+", re.escape(self.decimal.encode())
        if self.thousands:
            whole = rb"(?:%s|[0-9]{1,3}(?:%s[0-9]{3})+)" % (whole, re.escape(self.thousands.encode()))
        return re.compile(rb" *[+-]?(?:%s(?:%s[0-9]*)?|%s[0-9]+)(?:[eE][+-]?[0-9]{1,4})? *" % (whole, point, point))


PLAIN = Notation()
NOTATION_KEYS = {
    "missing": ("integer", "category", "bins", "date"),
    "trim": ("integer", "category", "bins", "date"),
    "ignore_case": ("category",),
    "booleans": ("category",),
    "decimal": ("integer", "bins"),
    "thousands": ("integer", "bins"),
}
"""What may be declared, and of which kinds of attributes."""

Fail = Callable[[str, str], None]


def read_notation(said: dict[str, object], fail: Fail, default: Notation = PLAIN) -> Notation:
    """The notation that some keys of a domain declare; what they do not say is as in `default`. `fail` raises."""
    return Notation(
        missing=_texts(said["missing"], fail) if "missing" in said else default.missing,
        booleans=_pairs(said["booleans"], fail) if "booleans" in said else default.booleans,
        decimal=_decimal(said["decimal"], fail) if "decimal" in said else default.decimal,
        thousands=_thousands(said["thousands"], fail) if "thousands" in said else default.thousands,
        trim=_flag("trim", said["trim"], fail) if "trim" in said else default.trim,
        ignore_case=_flag("ignore_case", said["ignore_case"], fail) if "ignore_case" in said else default.ignore_case,
    )


def _flag(key: str, value: object, fail: Fail) -> bool:
    if not isinstance(value, bool):
        fail(key, "must be true or false")
    return bool(value)


def _texts(values: object, fail: Fail) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(_is_written(value) for value in values):
        fail("missing", 'must be a list of texts or whole numbers that stand for a missing value: ["?", "", -9]')
        return ()
    return tuple(dict.fromkeys(map(str, values)))


def _is_written(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**64
    return isinstance(value, str)


def _pairs(values: object, fail: Fail) -> tuple[tuple[str, str], ...]:
    listed = [values] if isinstance(values, str) else values
    pairs = []
    for value in listed if isinstance(listed, list) else [None]:
        yes, _, no = value.partition("/") if isinstance(value, str) else ("", "", "")
        if not yes or not no or yes == no or "/" in no:
            fail("booleans", 'must be how true and false are written, "yes/no" say, or a list of such: ["t/f", "1/0"]')
        pairs.append((yes, no))
    return tuple(pairs)


def _decimal(value: object, fail: Fail) -> DecimalSign:
    if value not in (".", ","):
        fail("decimal", 'must be "." or ","')
    return "," if value == "," else "."


def _thousands(value: object, fail: Fail) -> str:
    if not isinstance(value, str) or len(value) > 1 or value.isalnum() or value in ("+", "-"):
        fail("thousands", "must be the one character between each three digits, or empty; no letter, digit or sign")
    return str(value)
