"""One attribute against values: for which codes a comparison is true, and for which false.

In neither set is a code for which it is unknown, as SQL has it for missing values. What a code cannot tell:

- Values outside the declared ones (outside = "other") differ from every declared value, so = is false and <> true; but
  on which side of a bound they lie is unknown.
- Clamped values (outside = "clamp") are compared as the end of the range that they are counted at.
- A bound within a bin moves to the nearest edge (half-way: to the lower), so that a condition and its opposite still
  divide the rows between them. A single value becomes the bin that it lies in, and so does a range with two declared
  ends that would vanish.

Wherever the answer may differ from what was asked, a note says so.
"""

import difflib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import EPOCH, Date, Days, days_named, moment_of
from discreet.errors import UnsupportedQuery
from discreet.exact import number_text
from discreet.sql.codes import Codes, complement, merged
from discreet.sql.tokens import shown
from discreet.sql.where_text import identifier, range_text, text_literal

Value = Fraction | str | bool
NOTED_VALUES = 3
LISTED_VALUES = 10
NEAR_VALUES = 1000
MOST_NEAR = 3
LEAST_HELD = 3
"""The least length of a text by which values that contain it are suggested."""


@dataclass(frozen=True)
class Verdict:
    """The codes for which a comparison is true and those for which it is false, disjoint."""

    true: Codes
    false: Codes
    notes: tuple[str, ...] = ()
    notes_if_false: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bound:
    """One end of a range; `strict` leaves the value itself out."""

    value: Fraction
    strict: bool


def is_missing(attribute: Attribute) -> Verdict:
    """IS NULL."""
    if attribute.null_code is not None:
        return Verdict(((attribute.null_code, attribute.null_code),), ((0, attribute.null_code - 1),))
    where = "are counted among its other values" if attribute.outside == "other" else "are not in the population"
    note = f"{attribute.name} has no code for missing values: rows without a value {where}"
    return Verdict((), ((0, attribute.size - 1),), (note,))


def is_among(attribute: Attribute, values: Sequence[Value]) -> Verdict:
    """= and IN. A category must be declared; a number that is not declared holds for no row, and a note says so."""
    if isinstance(attribute, Date):
        return _is_among_periods(attribute, values)
    if isinstance(attribute, Category):
        found = [(code, code) for code in (_category_code(attribute, value) for value in values)]
        return _divided(attribute, merged(found), certain=True)
    attribute = ordered(attribute)
    numbers = [number(attribute, value) for value in values]
    codes = [_number_code(attribute, value) for value in numbers]
    true = merged((code, code) for code in codes if code is not None)
    undeclared = [value for value, code in zip(numbers, codes, strict=True) if code is None]
    verdict = _divided(attribute, true, certain=not undeclared)
    notes = []
    if undeclared:
        notes.append(f"{_asked_values(attribute, undeclared)} holds for no row: {_declares(attribute)}")
    if isinstance(attribute, Bins) and true:
        inside = [value for value, code in zip(numbers, codes, strict=True) if code is not None]
        answered = " OR ".join(range_text(attribute, *interval) for interval in true)
        notes.append(f"{_asked_values(attribute, inside)} was answered as {answered}: a bin is the least that is known")
    return replace(verdict, notes=tuple(notes))


def _is_among_periods(attribute: Date, values: Sequence[Value]) -> Verdict:
    """= and IN of days: each is the period that it lies in, and a note says so where that is more than a day."""
    wider = [value for value in values if _codes_named(attribute, value)]
    values = [value for value in values if value not in wider]
    spans = [span for value in wider for span in _codes_named(attribute, value)]
    days = [day_number(attribute, value) for value in values]
    codes = [attribute.code_of_day(floor(day) - EPOCH) for day in days]
    true = merged([*spans, *((code, code) for code in codes if code is not None)])
    undeclared = [day for day, code in zip(days, codes, strict=True) if code is None]
    notes = []
    if undeclared:
        notes.append(f"{_asked_values(attribute.days, undeclared)} holds for no row: {_declares(attribute.days)}")
    named = {*attribute.values, *attribute.labels}
    if any(str(value) not in named for value, day in zip(values, days, strict=True) if not _is_exact(attribute, day)):
        answered = " OR ".join(range_text(attribute.days, *interval) for interval in true) or "no value"
        known = [day for day, code in zip(days, codes, strict=True) if code is not None]
        if known:
            notes.append(
                f"{_asked_values(attribute.days, known)} was answered as {answered}: a {attribute.period} is the least "
                "that is known"
            )
    return replace(_divided(attribute, true, certain=not undeclared), notes=tuple(notes))


def _codes_named(attribute: Date, value: Value) -> list[tuple[int, int]]:
    """The codes of a period by its name that is several of the attribute's own: the months of 2026-Q1. None where it is
    not divided into such."""
    named = days_named(value) if isinstance(value, str) and attribute.named_code(value) is None else None
    edges = attribute.edges_in_days
    if named is None or named[0] not in edges or named[1] + 1 not in edges:
        return []
    return [(edges.index(named[0]), edges.index(named[1] + 1) - 1)]


def _is_exact(attribute: Date, day: Fraction) -> bool:
    """Whether a period holds nothing but that day, and the day is meant as a whole."""
    return attribute.period == "day" and day.denominator == 1


def day_number(attribute: Date, value: Value, at_end: bool = False) -> Fraction:
    """The moment that a literal names, in days counted from 1 January of the year 1, a day being its midnight; of a
    period's name its first day, or its last."""
    text = value if isinstance(value, str) else ""
    named = days_named(text)
    day = moment_of(text, attribute.zone) if named is None else Fraction(named[at_end])
    if day is None:
        like = text_literal(attribute.values[0])
        raise UnsupportedQuery(
            f"{attribute.name} holds dates; compare it with {like} say, not with {shown(str(value))}"
        )
    return day + EPOCH


def is_within(attribute: Integer | Bins, low: Bound | None, high: Bound | None) -> Verdict:
    """<, <=, >, >= and BETWEEN: above `low` and below `high`, each where it is given."""
    notes = []
    if isinstance(attribute, Days):
        asked, (low, high) = (low, high), _in_whole_days(low, high)
        if any(bound is not None and bound.value.denominator != 1 for bound in asked):
            taken = _asked_range(attribute, low, high)
            notes.append(f"{_asked_range(attribute, *asked)} was asked as {taken}: {attribute.name} is known by days")
    if isinstance(attribute, Integer):
        first, last, said = _whole_range(attribute, low, high)
    else:
        first, last, said = _bin_range(attribute, low, high)
    notes += said
    true = ((first, last),) if first <= last else ()
    if attribute.other_code is not None:
        notes.append(
            f"values of {attribute.name} outside the declared ones are left out of "
            f"{_asked_range(attribute, low, high)}: on which side they lie is not known"
        )
    return Verdict(true, complement(true, attribute.cells), tuple(notes))


def _in_whole_days(low: Bound | None, high: Bound | None) -> tuple[Bound | None, Bound | None]:
    """The same bounds on days, each of which is its midnight: after one is from the next on, up to one is before the
    next."""
    if low is not None:
        low = Bound(Fraction(floor(low.value) + 1 if low.strict else ceil(low.value)), strict=False)
    if high is not None:
        high = Bound(Fraction(ceil(high.value) if high.strict else floor(high.value) + 1), strict=True)
    return low, high


def ordered(attribute: Attribute) -> Integer | Bins:
    """The attribute, if its values have the order that SQL compares them by."""
    if isinstance(attribute, Integer | Bins):
        return attribute
    if isinstance(attribute, Date):
        return attribute.days
    raise UnsupportedQuery(
        f"{attribute.name} is a category, and SQL would order its values by spelling; compare it with = <> IN"
    )


def number(attribute: Attribute, value: Value, at_end: bool = False) -> Fraction:
    """The value as a number that an ordered attribute can be compared with; of a date, its day; of a period's name, its
    first day or its last."""
    if isinstance(attribute, Date):
        return day_number(attribute, value, at_end)
    if isinstance(value, Fraction):
        return value
    written = shown(value) if isinstance(value, str) else str(value).upper()
    raise UnsupportedQuery(f"{attribute.name} holds numbers; compare it with a number, not with {written}")


def _divided(attribute: Attribute, true: Codes, certain: bool) -> Verdict:
    """Equal to the codes in `true`, different from all others; `certain`: from the undeclared values too."""
    false = complement(true, attribute.cells)
    if attribute.other_code is None or not certain:
        return Verdict(true, false)
    note = f"missing values of {attribute.name} are counted among its other values, which differ from all declared ones"
    different = merged([*false, (attribute.other_code, attribute.other_code)])
    return Verdict(true, different, notes_if_false=() if attribute.null else (note,))


def _category_code(attribute: Category, value: Value) -> int:
    match value:
        case str():
            text = value
        case bool():
            text = "true" if value else "false"
        case _:
            text = number_text(value)
    code = attribute.code(text)
    if code is not None:
        return code
    level = next((place for place, groups in enumerate(attribute.levels, start=1) if text in groups), None)
    if level is not None:
        raise UnsupportedQuery(
            f"{shown(text)} is a group of {attribute.name} and no value; ask for "
            f"{identifier(f'{attribute.name}_group{level}')} = {text_literal(text)}"
        )
    listed = map(text_literal, attribute.labels[: min(attribute.cells, LISTED_VALUES)])
    more = f" and {attribute.cells - LISTED_VALUES} more" if attribute.cells > LISTED_VALUES else ""
    near = _near(text[:64], [*attribute.values[:NEAR_VALUES], *filter(None, attribute.titles[:NEAR_VALUES])])
    hint = f"did you mean {' or '.join(map(text_literal, near))}?" if near else f"there are {', '.join(listed)}{more}"
    raise UnsupportedQuery(f"{attribute.name} has no declared value {shown(text)}; {hint}")


def _near(text: str, values: Sequence[str]) -> list[str]:
    by_spelling = {value.lower(): value for value in values}
    close = difflib.get_close_matches(text.lower(), by_spelling, n=MOST_NEAR)
    holding = [spelling for spelling in by_spelling if len(text) >= LEAST_HELD and text.lower() in spelling]
    return [by_spelling[match] for match in (close or holding)[:MOST_NEAR]]


def _number_code(attribute: Integer | Bins, value: Fraction) -> int | None:
    if isinstance(attribute, Integer):
        declared = value.denominator == 1 and attribute.low <= value <= attribute.high
        return int(value) - attribute.low if declared else None
    return _bin_of(attribute, value)


def _whole_range(attribute: Integer, low: Bound | None, high: Bound | None) -> tuple[int, int, list[str]]:
    first, last = 0, attribute.cells - 1
    beyond = False
    if low is not None:
        start = (floor(low.value) + 1 if low.strict else ceil(low.value)) - attribute.low
        beyond |= not 0 <= start <= attribute.cells
        first = max(first, start)
    if high is not None:
        end = (ceil(high.value) - 1 if high.strict else floor(high.value)) - attribute.low
        beyond |= not -1 <= end < attribute.cells
        last = min(last, end)
    return first, last, [_beyond_note(attribute, low, high)] if beyond else []


def _bin_range(attribute: Bins, low: Bound | None, high: Bound | None) -> tuple[int, int, list[str]]:
    """Codes between the edges nearest to the bounds, with a note where that is not exactly what was asked."""
    first = 0 if low is None else _nearest_edge(attribute, low.value)
    if low is not None and first == attribute.cells and _holds_at_clamped_end(attribute, low):
        last = range_text(attribute, attribute.cells - 1, attribute.cells - 1)
        raise UnsupportedQuery(
            f"{_asked_range(attribute, low, None)} cannot be told: values from there on are counted in the last bin, "
            f"with all of {last}; ask for that"
        )
    stop = attribute.cells if high is None else _nearest_edge(attribute, high.value)
    if low is not None and high is not None:
        if low.value > high.value or (low.value == high.value and (low.strict or high.strict)):
            return 0, -1, []
        middle = _bin_of(attribute, (low.value + high.value) / 2)
        declared = not _outside(attribute, low.value) and not _outside(attribute, high.value)
        if first >= stop and declared and middle is not None:
            first, stop = middle, middle + 1
    notes = []
    moved = [bound for bound in (low, high) if bound is not None and not _on_edge(attribute, bound, bound is low)]
    if moved:
        asked, answered = _asked_range(attribute, low, high), _answered_range(attribute, first, stop - 1)
        near = dict.fromkeys(edge for bound in moved for _, edge in _edges_around(attribute, bound.value))
        edges = ", ".join(map(attribute.value_text, near))
        what = "periods begin on" if isinstance(attribute, Days) else "bins have edges"
        notes.append(f"{asked} was answered as {answered}: {what} {edges}")
    if any(bound is not None and _outside(attribute, bound.value) for bound in (low, high)):
        notes.append(_beyond_note(attribute, low, high))
    return first, stop - 1, notes


def _edges_around(attribute: Bins, value: Fraction) -> list[tuple[int, Fraction]]:
    """The last finite edge up to the value and the first beyond it, where there are such, with their places."""
    finite = [(place, edge) for place, edge in enumerate(attribute.edges) if edge is not None]
    beyond = bisect_right([edge for _, edge in finite], value)
    return finite[max(beyond - 1, 0) : beyond + 1]


def _nearest_edge(attribute: Bins, value: Fraction) -> int:
    return min((abs(edge - value), place) for place, edge in _edges_around(attribute, value))[1]


def _bin_of(attribute: Bins, value: Fraction) -> int | None:
    """The bin that holds a value, None where no bin does."""
    if _is_clamped_end(attribute, value):
        return attribute.cells - 1
    if _outside(attribute, value) or value == attribute.edges[-1]:
        return None
    place, edge = _edges_around(attribute, value)[0]
    return place if edge <= value else place - 1


def _outside(attribute: Bins, value: Fraction) -> bool:
    lowest, highest = attribute.edges[0], attribute.edges[-1]
    return (lowest is not None and value < lowest) or (highest is not None and value > highest)


def _is_clamped_end(attribute: Bins, value: Fraction) -> bool:
    """Whether a value is the upper end at which larger ones are counted: it lies in the last bin."""
    return attribute.outside == "clamp" and not isinstance(attribute, Days) and value == attribute.edges[-1]


def _holds_at_clamped_end(attribute: Bins, low: Bound) -> bool:
    """Whether the upper end at which larger values are counted lies above a bound."""
    end = attribute.edges[-1]
    if end is None or not _is_clamped_end(attribute, end):
        return False
    return low.value < end or (low.value == end and not low.strict)


def _on_edge(attribute: Bins, bound: Bound, is_low: bool) -> bool:
    """Whether the bound divides the declared values exactly between two bins, or leaves them all on one side."""
    if _outside(attribute, bound.value) or bound.value == attribute.edges[-1]:
        return True
    return bound.strict != is_low and bound.value == _edges_around(attribute, bound.value)[0][1]


def _asked_range(attribute: Integer | Bins, low: Bound | None, high: Bound | None) -> str:
    name = identifier(attribute.name)
    bounds = [f"{name} {'>' if low.strict else '>='} {attribute.value_text(low.value)}"] if low else []
    bounds += [f"{name} {'<' if high.strict else '<='} {attribute.value_text(high.value)}"] if high else []
    return " AND ".join(bounds)


def _answered_range(attribute: Bins, first: int, last: int) -> str:
    if first > last or (first, last) == (0, attribute.cells - 1):
        return f"{'no' if first > last else 'every'} value of {attribute.name}"
    return range_text(attribute, first, last)


def _asked_values(attribute: Integer | Bins, values: Sequence[Fraction]) -> str:
    shown = ", ".join(map(attribute.value_text, values[:NOTED_VALUES]))
    more = f" and {len(values) - NOTED_VALUES} more" if len(values) > NOTED_VALUES else ""
    return f"{identifier(attribute.name)} = {shown}{more}"


def _beyond_note(attribute: Integer | Bins, low: Bound | None, high: Bound | None) -> str:
    return f"{_asked_range(attribute, low, high)} reaches beyond the domain: {_declares(attribute)}"


def declares(attribute: Attribute) -> str | None:
    """The range that is declared of numbers or dates; None of a category."""
    if isinstance(attribute, Date):
        return _declares(attribute.days)
    return _declares(attribute) if isinstance(attribute, Integer | Bins) else None


def _declares(attribute: Integer | Bins) -> str:
    ends: tuple[int | Fraction | None, ...] = (
        (attribute.low, attribute.high) if isinstance(attribute, Integer) else attribute.edges[:: attribute.cells]
    )
    if isinstance(attribute, Days):
        ends = (ends[0], (ends[1] or 1) - 1)  # the day before the one behind the last
    words = [
        f"{word} {attribute.value_text(Fraction(end))}"
        for word, end in zip(("from", "up to"), ends, strict=True)
        if end is not None
    ]
    counted = ", and values beyond are counted at the ends" if attribute.outside == "clamp" else ""
    if isinstance(attribute, Days) and attribute.grows:
        return f"{attribute.name} goes {' '.join(words)} as yet, where the table is closed; later rows are appended"
    return f"{attribute.name} is declared {' '.join(words)}{counted}"
