"""From a column's values to codes: one way for every source, total and canonical.

Whatever a source holds arrives here as Arrow, and NumPy does the rest: no engine's casts, collations or comparisons
decide what a value is. Text is compared by its bytes. Every value has a code or none, and none makes anything fail:
bytes that are not UTF-8 are text that no domain declares, NaN is missing, infinities lie outside, −0.0 is 0.

A mismatch of values is never reported, only one of names and types.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.notation import LONGEST_NUMBER, Notation
from discreet.errors import DomainError
from discreet.query.query import grain_of
from discreet.table.dates import is_dated, period_reader
from discreet.table.layout import has_units
from discreet.table.text import as_bytes, is_text
from discreet.table.written import number_text

Codes = NDArray[np.signedinteger[Any]]
"""Codes in the smallest type that has a place for NO_CODE too."""
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

NO_CODE = -1
"""Stands for a value without a code: its row is not in the population."""
PLAIN_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789.-", np.uint8))
"""Which bytes are characters of plain numbers."""
COMPARED_EDGES = 128
"""Edges that all numbers are compared with, one after the other: a fifteenth of the time of searching for each number
where there are four, two fifths where there are a hundred. Among more, each number is searched for."""
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Coded:
    """The codes of one column of a batch and, where the attribute can be summed in grains, its amounts."""

    codes: Codes
    units: NDArray[np.int64] | None


Coder = Callable[[pa.Array], Coded]
Reader = Callable[[pa.Array], tuple[NDArray[Any], Flags]]
"""Reads a column as numbers, and says which are missing."""


def coders(types: Callable[[str], pa.DataType], domain: Domain) -> dict[str, Coder]:
    """A coder for each attribute, by the type of its column. Raises DomainError where one does not suit the other."""
    return {attribute.name: _coder(attribute, types(attribute.name)) for attribute in domain.attributes}


def is_categorical(kind: pa.DataType) -> bool:
    """Whether a column of this type can be a category: its values have one spelling each."""
    types = pa.types
    return bool(is_text(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_date(kind))


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values: a dictionary is how they are stored, not what they are."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def type_in_words(kind: pa.DataType) -> str:
    return "text" if is_text(kind) else str(kind)


def _coder(attribute: Attribute, kind: pa.DataType) -> Coder:
    stored = stored_type(kind)
    if isinstance(attribute, Date):
        if not is_dated(stored):
            raise DomainError(_mismatch(attribute, stored, "dates, times, or text or whole numbers that write dates"))
        return _date_coder(attribute, stored)
    if isinstance(attribute, Category):
        if is_number(stored) and not pa.types.is_integer(stored):
            return _by_number(_category_coder(attribute, pa.string()))
        if not is_categorical(stored):
            raise DomainError(_mismatch(attribute, stored, "text, numbers, booleans or dates"))
        if attribute.prefix and pa.types.is_integer(stored):  # a number begins with digits as its text does
            by_text = _by_spelling(_category_coder(attribute, pa.string()), always=True)
            return lambda column: by_text(_decoded(column).cast(pa.string()))
        plain = _category_coder(attribute, stored)
    else:
        if not (is_number(stored) or is_text(stored)):
            raise DomainError(_mismatch(attribute, stored, "numbers, or text that holds numbers"))
        plain = _number_coder(attribute, stored)
    return _by_every_value(plain, stored) if _has_few(stored) else _by_spelling(plain, _is_spelt(attribute, stored))


def _date_coder(attribute: Date, kind: pa.DataType) -> Coder:
    """Codes periods; what is before or behind them all is outside."""
    read, cells = period_reader(attribute, kind), attribute.cells
    other, missing = _or_none(attribute.other_code), _missing(attribute)

    def plain(column: pa.Array) -> Coded:
        places, gone = read(column)
        codes: Codes = np.clip(places, 0, cells - 1).astype(_type_of_codes(attribute))
        if attribute.outside != "clamp":
            codes[(places < 0) | (places >= cells)] = other
        codes[gone] = missing
        return Coded(codes, None)

    if pa.types.is_integer(kind):
        by_text = _by_spelling(plain, always=True)
        return lambda column: by_text(_decoded(column).cast(pa.string()))
    return _by_spelling(plain, is_text(kind))


def _mismatch(attribute: Attribute, kind: pa.DataType, wanted: str) -> str:
    found = f"column {attribute.name!r} is {type_in_words(kind)}"
    return f"{found}, but the domain says {attribute.kind}, which needs {wanted}"


def _is_spelt(attribute: Attribute, kind: pa.DataType) -> bool:
    """Whether values are read one by one, so that it pays to read each spelling once."""
    if isinstance(attribute, Category):
        return is_text(kind) and (attribute.notation.folds or attribute.prefix)
    return is_text(kind) or bool(pa.types.is_decimal(kind))


def _has_few(kind: pa.DataType) -> bool:
    """Whether a type has so few values that a table of all their codes is short."""
    return bool(pa.types.is_integer(kind) and kind.bit_width <= 16)


def _by_every_value(plain: Coder, kind: pa.DataType) -> Coder:
    """Codes whatever the type can hold, once, and then the rows by what they hold."""
    unsigned = np.dtype(f"u{kind.bit_width // 8}")
    every = np.arange(1 << kind.bit_width).astype(unsigned).view(kind.to_pandas_dtype())
    coded = plain(pa.array([*every.tolist(), None], kind))

    def code(column: pa.Array) -> Coded:
        column = column.cast(kind)
        return _picked(coded, _places(column, unsigned))

    return code


def _by_spelling(plain: Coder, always: bool) -> Coder:
    """Codes the distinct values, and then the rows by what they point at, where they come so or `always`."""

    def code(column: pa.Array) -> Coded:
        if not (always or pa.types.is_dictionary(column.type)):
            return plain(column)
        spellings, places = distinct_values(column)
        # One more entry, a missing one, for rows that point nowhere.
        return _picked(plain(pa.concat_arrays([spellings, pa.nulls(1, spellings.type)])), places)

    return code


def _by_number(by_text: Coder) -> Coder:
    """Codes numbers that are stored with a point by the texts that write them: 1 for 1.0."""

    def code(column: pa.Array) -> Coded:
        numbers, places = distinct_values(column)
        texts = [None if number is None else number_text(number) for number in numbers.to_pylist()]
        return _picked(by_text(pa.array([*texts, None], pa.string())), places)

    return code


def _picked(coded: Coded, places: Places) -> Coded:
    return Coded(coded.codes.take(places), None if coded.units is None else coded.units.take(places))


def distinct_values(column: pa.Array) -> tuple[pa.Array, Places]:
    """The distinct values of a column, and which one each row has; -1, the last, where it has none."""
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_decimal(column.type) and column.type.bit_width < 128:  # Arrow makes no dictionary of these
            column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        column = column.dictionary_encode()
    return column.dictionary, _places(column.indices, column.indices.type.to_pandas_dtype())


def _places(numbers: pa.Array, seen_as: DTypeLike) -> Places:
    """Where each row points; to the last place, by -1, where it holds nothing."""
    plain = numbers.fill_null(0) if numbers.null_count else numbers
    places: Places = plain.to_numpy(zero_copy_only=False).view(seen_as).astype(np.int64)
    places[_is_null(numbers)] = -1
    return places


def _category_coder(attribute: Category, kind: pa.DataType) -> Coder:
    values, codes = _declared(attribute, kind)
    codes = np.append(codes, _or_none(attribute.other_code)).astype(_type_of_codes(attribute))
    missing = codes.dtype.type(_missing(attribute))

    notation = attribute.notation
    beginning = _beginning(attribute) if attribute.prefix else None

    def code(column: pa.Array) -> Coded:
        stored = as_bytes(column) if is_text(kind) else column
        if is_text(kind) and (notation.folds or attribute.prefix):
            folded = [None if text is None else notation.folded(text) for text in stored.to_pylist()]
            stored = pa.array(folded if beginning is None else map(beginning, folded), pa.large_binary())
        found = pc.index_in(stored, value_set=values.cast(stored.type)).fill_null(len(values))
        coded = codes.take(found.to_numpy(zero_copy_only=False))
        return Coded(np.where(_is_null(column), missing, coded) if column.null_count else coded, None)

    return code


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _beginning(attribute: Category) -> Callable[[bytes | None], bytes | None]:
    """Makes of a text the longest declared value that it begins with, where it is not declared itself."""
    folded = [(attribute.notation.folded(text.encode()), code) for text, code in attribute.spellings()]
    declared, exact = {text for text, code in folded if code is not None}, {text for text, _ in folded}
    longest = max(map(len, declared))

    def of(text: bytes | None) -> bytes | None:
        if text is None or text in exact:
            return text
        return next((text[:end] for end in range(min(longest, len(text)), 0, -1) if text[:end] in declared), text)

    return of


def _declared(attribute: Category, kind: pa.DataType) -> tuple[pa.Array, NDArray[np.int64]]:
    """What is declared, as a column stores it, and the codes of that. What it cannot store is nobody's."""
    missing, codes = _missing(attribute), dict[Any, int]()
    for text, code in attribute.spellings():
        value = attribute.notation.folded(text.encode()) if is_text(kind) else _stored_value(text, kind)
        if value is not None:
            codes.setdefault(value, missing if code is None else code)
    stored = pa.large_binary() if is_text(kind) else pa.date32() if pa.types.is_date(kind) else kind
    return pa.array(list(codes), stored), np.array(list(codes.values()), np.int64)


def declared_missing(attribute: Attribute, kind: pa.DataType, values: pa.Array) -> Flags:
    """Which values of a column stand for a missing one by declaration. Null is not among them."""
    notation = attribute.notation
    if is_text(kind):
        marks = {notation.folded(text.encode()) for text in notation.missing}
        numbers = () if isinstance(attribute, Category) else notation.missing_numbers
        texts = as_bytes(values).to_pylist()
        read = [t is not None and (notation.folded(t) in marks or notation.number(t) in numbers) for t in texts]
        return np.array(read, np.bool_)
    if isinstance(attribute, Category):
        stored = [value for text in notation.missing if (value := _stored_value(text, kind)) is not None]
        found = pc.is_in(values, value_set=pa.array(stored, pa.date32() if pa.types.is_date(kind) else kind).cast(kind))
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)
    return np.zeros(len(values), np.bool_)


def _stored_value(text: str, kind: pa.DataType) -> object:
    """The one value of a type other than text that is written like this, None where there is none."""
    types = pa.types
    if types.is_boolean(kind):
        return {"true": True, "false": False}.get(text)
    if types.is_date(kind):
        try:
            return (date.fromisoformat(text) - EPOCH).days if len(text) == len("1970-01-01") else None
        except ValueError:
            return None
    if re.fullmatch("0|-?[1-9][0-9]{0,19}", text):
        lowest = 0 if types.is_unsigned_integer(kind) else -(1 << kind.bit_width - 1)
        return int(text) if lowest <= int(text) < lowest + (1 << kind.bit_width) else None
    return None


def _number_coder(attribute: Attribute, kind: pa.DataType) -> Coder:
    read = number_reader(kind, attribute.notation)
    if isinstance(attribute, Integer):
        return lambda column: Coded(_integer_codes(attribute, *read(column)), None)
    assert isinstance(attribute, Bins)
    summed = has_units(attribute)

    def code(column: pa.Array) -> Coded:
        numbers, missing = read(column)
        doubles = numbers.astype(np.float64)
        codes = _bin_codes(attribute, doubles, missing)
        return Coded(codes, _units(attribute, doubles, codes) if summed else None)

    return code


def number_reader(kind: pa.DataType, notation: Notation) -> Reader:
    """Reads a column as numbers (64-bit integers or doubles), and says which are missing; those are 0."""

    def read(column: pa.Array) -> tuple[NDArray[Any], Flags]:
        if is_text(kind):
            numbers: NDArray[Any] = _numbers_in_text(as_bytes(column), notation)
        elif pa.types.is_decimal(kind):
            numbers = np.array([_nearest(value) for value in column.to_pylist()], np.float64)
        elif pa.types.is_integer(kind):
            plain = column.fill_null(0).to_numpy(zero_copy_only=False)
            # Beyond 63 bits everything is the largest number, which lies outside every domain.
            numbers = np.minimum(plain, np.uint64(2**63 - 1)).astype(np.int64) if plain.dtype == np.uint64 else plain
        else:
            numbers = column.fill_null(np.nan).to_numpy(zero_copy_only=False).astype(np.float64)
        floating = np.issubdtype(numbers.dtype, np.floating)
        missing = np.isnan(numbers) if floating else _is_null(column)
        for number in notation.missing_numbers:
            missing = missing | (numbers == (number if floating else _whole(number)))
        return np.where(missing, 0.0, numbers) if floating else numbers, missing

    return read


def _numbers_in_text(texts: pa.Array, notation: Notation) -> NDArray[np.float64]:
    """What each text is as a number; NaN where it is none, or nothing.

    Texts of digits, points and minus signs alone are read by Arrow, which reads those as Python does, and faster.
    """
    if not notation.thousands and notation.decimal == "." and _is_plain(texts):
        try:
            read = texts.cast(pa.large_string()).cast(pa.float64()).fill_null(np.nan)
            return np.asarray(read.to_numpy(zero_copy_only=False), np.float64)
        except pa.ArrowInvalid:
            pass  # one of them is no number
    return np.array([notation.number(text) for text in texts.to_pylist()], np.float64)


def _is_plain(texts: pa.Array) -> bool:
    """Whether texts have characters of plain numbers only, and none is longer than a number may be."""
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST_NUMBER:
        return False
    data = texts.buffers()[2]
    return data is None or bool(PLAIN_NUMBERS[np.frombuffer(data, np.uint8)].all())


def _whole(number: float) -> float | int:
    """The same number for whole ones to be compared with: exact, where a double would round them."""
    return int(number) if number.is_integer() and abs(number) < 2**63 else np.nan


def numbers_in(text: pa.Array) -> pa.Array:
    """Numbers that a database wrote as text, of any length, as doubles; each spelling is read once."""
    entries = text.dictionary_encode()
    numbers = pa.array([float(value) for value in as_bytes(entries.dictionary).to_pylist()], pa.float64())
    return numbers.take(entries.indices)


def _nearest(value: Decimal | None) -> float:
    return np.nan if value is None else float(value)


def _is_null(column: pa.Array) -> Flags:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    flags: Flags = column.is_null().to_numpy(zero_copy_only=False)
    return flags


def _missing(attribute: Attribute) -> int:
    return _or_none(attribute.null_code if attribute.null else attribute.other_code)


def _or_none(code: int | None) -> int:
    return NO_CODE if code is None else code


def _type_of_codes(attribute: Attribute) -> np.dtype[Any]:
    return np.min_scalar_type(-attribute.size)


def _integer_codes(attribute: Integer, numbers: NDArray[Any], missing: Flags) -> Codes:
    """Whole steps above `low`. A number between two whole ones is outside; clamped, it goes to the lower."""
    bounds = (-abs(bound) - 1 for bound in (attribute.low, attribute.high, attribute.high - attribute.low))
    numbers = numbers.astype(np.result_type(numbers.dtype, *map(np.min_scalar_type, bounds)), copy=False)
    inside = np.clip(numbers, attribute.low, attribute.high)
    whole = np.floor(inside).astype(np.int64) if inside.dtype.kind == "f" else inside
    codes: Codes = (whole - attribute.low).astype(_type_of_codes(attribute))
    if attribute.outside != "clamp":
        codes[(inside != numbers) | (inside != whole)] = _or_none(attribute.other_code)
    codes[missing] = _missing(attribute)
    return codes


def _bin_codes(attribute: Bins, numbers: NDArray[np.float64], missing: Flags) -> Codes:
    low, *inner, high = (None if edge is None else float(edge) for edge in attribute.edges)
    if len(inner) <= COMPARED_EDGES:
        codes: Codes = np.zeros(numbers.size, _type_of_codes(attribute))
        for edge in inner:
            assert edge is not None, "only the first and the last may be open"
            codes += numbers >= edge
    else:
        codes = np.searchsorted(np.array(inner, np.float64), numbers, side="right").astype(_type_of_codes(attribute))
    if attribute.outside != "clamp":
        outside = np.zeros(numbers.size, np.bool_)
        if low is not None:
            outside |= numbers < low
        if high is not None:
            outside |= numbers >= high
        codes[outside] = _or_none(attribute.other_code)
    codes[missing] = _missing(attribute)
    return codes


def _units(attribute: Bins, numbers: NDArray[np.float64], codes: Codes) -> NDArray[np.int64]:
    """Values clamped to the declared range, in whole grains, halves away from zero. What has no bin adds nothing."""
    low, *_, high = (float(edge) for edge in attribute.edges if edge is not None)
    grains = np.clip(numbers, low, high) / float(grain_of(attribute))
    size = np.abs(grains)
    whole = np.floor(size)
    units = np.copysign(whole + (size - whole >= 0.5), grains).astype(np.int64)
    return np.where((codes >= 0) & (codes < attribute.cells), units, 0)
