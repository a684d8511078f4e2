"""Which types of columns are read, by what each source itself calls them. Everything else is refused by name."""

from collections.abc import Mapping

import pyarrow as pa

from discreet.table.coding import is_categorical, is_number, stored_type
from discreet.table.dates import is_dated

CAST = "not a type that is read here: make it text, a number, a boolean or a date"


def readable(schema: Mapping[str, pa.DataType]) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """The columns of an Arrow schema that can be coded, and what to say of the others."""
    columns, unread = {}, {}
    for name, kind in schema.items():
        stored = stored_type(kind)
        if is_categorical(stored) or is_number(stored) or is_dated(stored):
            columns[name] = kind
        else:
            unread[name] = f"{kind}, {CAST}"
    return columns, unread
