"""A domain to fill in: names and types from the schema, never a value."""

import json
import re
from pathlib import Path
from typing import Any

from discreet.domain.read import NAME
from discreet.errors import DomainError
from discreet.table.coding import is_categorical
from discreet.table.open import open_source

BLANKS = {
    "integer": ["# low =", "# high =", 'outside = "drop"  # drop | clamp | other'],
    "category": ["values = []  # in order; or a hierarchy"],
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
    schema = open_source(table).rows.schema()
    for column, kind in schema.items():
        lines += ["", *_blank(column, kind)]
    return "\n".join(lines) + "\n"


def _blank(column: str, kind: Any) -> list[str]:
    if kind.is_integer():
        proposal = "integer"
    elif kind.is_floating() or kind.is_decimal():
        proposal = "bins"
    elif is_categorical(kind):
        proposal = "category"
    else:
        return [f"# {_key(column)} is {kind}: not a type that an attribute can have"]
    return [
        f"[attributes.{_key(column)}]",
        f'kind = "{proposal}"  # the column is {_type_in_words(kind)}; integer | category | bins',
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


def _type_in_words(kind: Any) -> str:
    return "text" if kind.is_string() else str(kind)
