"""Several files as one table: their columns have to be the same.

How wide a number or a text is stored may differ, and a column may be empty in one of them: many writers choose that by
the rows of each file.
"""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import TableError
from discreet.table.coding import stored_type, type_in_words
from discreet.table.text import is_text

LONGEST_DECIMAL = 76
Schema = Mapping[str, pa.DataType]


def same_columns(files: Sequence[str], schema_of: Callable[[str], Schema]) -> Schema:
    """The columns that all files have, with one type each. Raises with the file and the column that differ."""
    first = dict(schema_of(files[0]))
    for file in files[1:]:
        schema = schema_of(file)
        for name, kind in list(first.items()):
            if name not in schema:
                raise TableError(
                    f"{file} has no column {name!r}, which {files[0]} has; files of one table have the same"
                )
            common = kind if schema[name] == kind else _common(stored_type(kind), stored_type(schema[name]))
            if common is None:
                here, there = type_in_words(stored_type(schema[name])), type_in_words(stored_type(kind))
                raise TableError(
                    f"{file}: column {name!r} is {here}, but {there} in {files[0]}; write them with one type"
                )
            first[name] = common
        more = next((name for name in schema if name not in first), None)
        if more is not None:
            raise TableError(
                f"{file} has a column {more!r}, which {files[0]} has not; files of one table have the same"
            )
    return first


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds whatever two do, where they differ in how they store the same; None where they do not."""
    types = pa.types
    if types.is_null(one) or types.is_null(other):
        return other if types.is_null(one) else one
    if is_text(one) and is_text(other):
        return pa.large_string()
    wider = max(one, other, key=lambda kind: kind.bit_width if types.is_primitive(kind) else 0)
    if (
        (types.is_signed_integer(one) and types.is_signed_integer(other))
        or (types.is_unsigned_integer(one) and types.is_unsigned_integer(other))
        or (types.is_floating(one) and types.is_floating(other))
    ):
        return wider
    if types.is_decimal(one) and types.is_decimal(other):
        whole, scale = max(one.precision - one.scale, other.precision - other.scale), max(one.scale, other.scale)
        return pa.decimal256(whole + scale, scale) if whole + scale <= LONGEST_DECIMAL else None
    if types.is_timestamp(one) and types.is_timestamp(other) and (one.tz is None) == (other.tz is None):
        return pa.timestamp("s", one.tz)
    return None


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as the type that all files have in common. Of moments whole seconds are enough to tell the day."""
    stored, wanted = stored_type(column.type), stored_type(kind)
    if stored == wanted:
        return column
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if pa.types.is_timestamp(stored):
        whole = pc.floor_temporal(column.cast(pa.timestamp(stored.unit)), unit="second")
        return whole.cast(pa.timestamp("s")).cast(wanted)
    return column.cast(wanted)
