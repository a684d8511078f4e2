"""A domain to fill in: names and types from the schema, never a value."""

import json
import re
from pathlib import Path

import pyarrow as pa

from discreet.domain.read import NAME
from discreet.errors import DomainError
from discreet.table.coding import stored_type, type_in_words
from discreet.table.open import open_source

BLANKS = {
    "integer": ["# low =", "# high =", 'outside = "drop"  # drop | clamp | other'],
    "category": ["values = []  # in order; or a hierarchy"],
    "date": [
        "# low = 2020-01-01  # the first day of a period",
        "# high = 2029-12-31  # the last day of one",
        'period = "month"  # day | week | month | quarter | year',
    ],
    "bins": [
        "edges = []  # half-open [a, b); -inf or inf at an end opens it",
        "# grain = 1  # the unit to round to, for SUM and AVG",
    ],
}


def propose(table: object, name: str | None = None) -> str:
    """TOML with a table for each column; ranges, categories, bins and sources are left to the custodian."""
    name = _name_of(table) if name is None else name
    if not NAME.fullmatch(name):
        raise DomainError("a table's name in SQL has letters, digits and _, and does not begin with a digit")
    lines = [
        "# Fill in what is missing from public documents, never from the data: values read off the data leak it.",
        "# A column that nobody needs to ask about is best left out.",
        f'name = "{name}"',
    ]
    source = open_source(table)
    for column, kind in source.columns.items():
        lines += ["", *_blank(column, stored_type(kind))]
    for column, why in source.unread.items():
        lines += ["", f"# {_key(column)} is {why}"]
    return "\n".join(lines) + "\n"


def _blank(column: str, kind: pa.DataType) -> list[str]:
    if pa.types.is_integer(kind):
        proposal = "integer"
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        proposal = "bins"
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        proposal = "date"
    else:
        proposal = "category"
    return [
        f"[attributes.{_key(column)}]",
        f'kind = "{proposal}"  # the column is {type_in_words(kind)}; integer | category | bins | date',
        *BLANKS[proposal],
        'source = ""  # required',
    ]


def _key(column: str) -> str:
    plain = column.isascii() and column.replace("_", "").replace("-", "").isalnum()
    return column if plain else json.dumps(column, ensure_ascii=False)


def _name_of(table: object) -> str:
    path = str(table).partition("?")[0] if isinstance(table, str | Path) else "people"
    stem = re.sub(r"\W", "_", Path(path).name.partition(".")[0], flags=re.ASCII)
    return stem if stem[:1].isalpha() else f"t_{stem}"
