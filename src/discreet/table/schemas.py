"""Several files as one table: their columns have to be the same."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.coding import type_in_words

Schema = Mapping[str, pa.DataType]


def same_columns(files: Sequence[str], schema_of: Callable[[str], Schema]) -> Schema:
    """The columns that all files have, with one type each. Raises with the file and the column that differ."""
    first = schema_of(files[0])
    for file in files[1:]:
        schema = schema_of(file)
        for name, kind in first.items():
            if name not in schema:
                raise TableError(
                    f"{file} has no column {name!r}, which {files[0]} has; files of one table have the same"
                )
            if schema[name] != kind:
                here, there = type_in_words(schema[name]), type_in_words(kind)
                raise TableError(
                    f"{file}: column {name!r} is {here}, but {there} in {files[0]}; write them with one type"
                )
        more = next((name for name in schema if name not in first), None)
        if more is not None:
            raise TableError(
                f"{file} has a column {more!r}, which {files[0]} has not; files of one table have the same"
            )
    return first
