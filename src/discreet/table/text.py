"""Columns of text, by the bytes that they are stored in."""

import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return any(is_it(kind) for is_it in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def as_bytes(column: pa.Array) -> pa.Array:
    """Text as the bytes that it is stored in."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_binary())
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())
