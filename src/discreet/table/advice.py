"""Which setting of a domain, or of a file's location, would give values a code that have none: names, never a guess.

It is tried, not assumed: a setting is named only where values that were seen would be read by it.
"""

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from discreet.domain.attribute import TRUTHS, Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.notation import PLAIN, Notation
from discreet.table.csv_format import CsvFormat

BOOLEANS = (
    "True/False", "TRUE/FALSE", "t/f", "T/F", "yes/no", "Yes/No", "YES/NO", "y/n", "Y/N", "1/0", "on/off", "ja/nein",
)  # fmt: skip
MARKS = ("", "?", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "NaN", "nan", "-", "--", ".", "..", "unknown")
"""Texts that people write where they know nothing."""
NUMBERS = (
    ('decimal = ","', {"decimal": ","}),
    ('thousands = ","', {"thousands": ","}),
    ('thousands = " "', {"thousands": " "}),
    ('thousands = "\'"', {"thousands": "'"}),
    ('decimal = "," and thousands = "."', {"decimal": ",", "thousands": "."}),
    ('decimal = "," and thousands = " "', {"decimal": ",", "thousands": " "}),
    ("trim = true", {"trim": True}),
)
FORMATS = ("DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "YYYY/MM/DD", "YYYYMMDD", "YYYY-MM", "YYYY")
NEAR_VALUES = 1000
SHOWN_CHARACTERS = 40


@dataclass(frozen=True)
class Odd:
    """A value without a code of its own, as the bytes that are written."""

    bytes: bytes

    @property
    def text(self) -> str:
        """As people can read it: short, and in one line."""
        text = self.bytes.decode(errors="replace")
        shown = text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
        return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in shown)

    @property
    def is_utf8(self) -> bool:
        try:
            self.bytes.decode()
        except UnicodeDecodeError:
            return False
        return True


def nearest(attribute: Attribute, odd: Odd) -> str | None:
    """The declared value that is the same number; of a text, the one that is written most alike. None where none is."""
    if not isinstance(attribute, Category) or isinstance(attribute, Date):
        return None
    number, declared = _number(odd.bytes), attribute.values[:NEAR_VALUES]
    if number is not None:
        same = next((value for value in declared if _number(value.encode()) == number), None)
        if same is not None:
            return same
        declared = tuple(value for value in declared if _number(value.encode()) is None)  # 20 is not near 12.0
    by_spelling = {value.lower(): value for value in declared}
    found = difflib.get_close_matches(odd.text.lower().strip(), by_spelling, n=1)
    return by_spelling[found[0]] if found else None


def _number(text: bytes) -> float | None:
    """A text as a number, written as people write them; None where it is none."""
    number = PLAIN.number(text.strip())
    return number if math.isfinite(number) else None


def advice_on_rounded(rows: int) -> Iterator[str]:
    """What to set where numbers between two whole ones are clamped to the lower."""
    if rows:
        yield (
            f'{rows:,} rows hold numbers between two whole ones, and count as the lower: kind = "bins" with a grain '
            'keeps what they hold, and outside = "drop" leaves them out'
        )


def advice_on(
    attribute: Attribute, odd: Mapping[Odd, int], location: str, missing: int, has_utf8: bool
) -> Iterator[str]:
    """What to set, each with how many of the remembered rows it would give a code; the most first. `has_utf8` says that
    values were read which are beyond ASCII."""
    if isinstance(attribute, Date):
        tried = list(_of_date(attribute, odd))
    else:
        tried = list(_of_category(attribute, odd) if isinstance(attribute, Category) else _of_number(attribute, odd))
    tried.append(_encoding(attribute, odd, location, has_utf8))
    for setting, rows in sorted(tried, key=lambda found: -found[1]):
        if rows:
            yield f"{setting} would read {rows:,} rows"
    marks = [value for value in odd if value.bytes.decode(errors="replace") in MARKS]
    if marks:
        said = ", ".join(f'"{mark.text}"' for mark in marks)
        yield f"missing = [{said}] would say what {sum(odd[mark] for mark in marks):,} rows mean, if they are missing"
    if missing and not attribute.null and not (isinstance(attribute, Date) and attribute.grows):
        yield f"null = true would keep {missing:,} rows without a value"


def _of_category(attribute: Category, odd: Mapping[Odd, int]) -> Iterator[tuple[str, int]]:
    notation = attribute.notation
    yield "trim = true", _matched(attribute, replace(notation, trim=True), odd)
    yield "ignore_case = true", _matched(attribute, replace(notation, ignore_case=True), odd)
    yield _same_numbers(attribute, odd)
    if set(attribute.values) & set(TRUTHS):
        for pair in BOOLEANS:
            true, _, false = pair.partition("/")
            written = replace(notation, booleans=((true, false),))
            yield f'booleans = "{pair}"', _matched(attribute, written, odd)


def _same_numbers(attribute: Category, odd: Mapping[Odd, int]) -> tuple[str, int]:
    """What to set where numbers are declared, and written otherwise: 12 as 12.0."""
    declared = {number for value in attribute.values if (number := _number(value.encode())) is not None}
    same = {value: rows for value, rows in odd.items() if _number(value.bytes) in declared}
    if not same:
        return "", 0
    whole = all(number.is_integer() for number in declared) and len(declared) == len(attribute.values)
    integers = 'kind = "integer", or ' if whole else ""
    return f'{integers}values as they are written ("{next(iter(same)).text}")', sum(same.values())


def _of_date(attribute: Date, odd: Mapping[Odd, int]) -> Iterator[tuple[str, int]]:
    for form in FORMATS:
        other = replace(attribute, format=form)
        days = ((other.day_in(value.bytes), rows) for value, rows in odd.items())
        yield f'format = "{form}"', sum(rows for day, rows in days if day is not None and _in_range(other, day))


def _in_range(attribute: Date, day: int | float) -> bool:
    edges = attribute.edges_in_days if isinstance(day, int) else attribute.edges_in_seconds
    return attribute.outside == "clamp" or edges[0] <= day < edges[-1]


def _matched(attribute: Category, notation: Notation, odd: Mapping[Odd, int]) -> int:
    spellings = replace(attribute, notation=notation).spellings()
    known = {notation.folded(text.encode()) for text, code in spellings if code is not None}
    return sum(rows for value, rows in odd.items() if notation.folded(value.bytes) in known)


def _of_number(attribute: Attribute, odd: Mapping[Odd, int]) -> Iterator[tuple[str, int]]:
    plain = attribute.notation
    unread = {value: rows for value, rows in odd.items() if plain.number(value.bytes) != plain.number(value.bytes)}
    most = 0
    for setting, changed in NUMBERS:
        notation = replace(plain, **changed)
        read = sum(rows for value, rows in unread.items() if _fits(attribute, notation.number(value.bytes)))
        if read > most:  # the simplest of those that do the same
            yield setting, read
            most = read


def _fits(attribute: Attribute, number: float) -> bool:
    if attribute.outside == "clamp":
        return number == number
    match attribute:
        case Integer(low=low, high=high):
            return low <= number <= high and number.is_integer()
        case Bins(edges=edges):
            low_edge, high_edge = edges[0], edges[-1]
            return (low_edge is None or number >= low_edge) and (high_edge is None or number < high_edge)
    return False


def _encoding(attribute: Attribute, odd: Mapping[Odd, int], location: str, has_utf8: bool) -> tuple[str, int]:
    """Whether what is not UTF-8 would be a declared value in another encoding."""
    foreign = {value: rows for value, rows in odd.items() if not value.is_utf8}
    if not isinstance(attribute, Category) or isinstance(attribute, Date) or not foreign:
        return "", 0
    found = []
    for encoding in ("latin-1", "cp1252"):
        written = CsvFormat(encoding)
        read = {Odd(written.to_utf8(value.bytes)): rows for value, rows in foreign.items()}
        path = location.partition("?")[0]
        mixed = f"one encoding for all of {path}, where some rows are in UTF-8 and some in {encoding},"
        setting = mixed if has_utf8 else f"the location {path}?encoding={encoding}"
        found.append((setting, _matched(attribute, attribute.notation, read)))
    return max(found, key=lambda one: one[1])
