"""A domain to fill in: names and types from the schema, never a value."""

from typing import Any

from discreet.table.open import open_source

BLANKS = {
    "integer": ["# low =", "# high =", 'outside = "drop"  # drop | clamp | other'],
    "category": ["values = []  # in order; or a hierarchy"],
    "bins": [
        "edges = []  # half-open [a, b); -inf or inf at an end opens it",
        "# grain = 1  # the unit to round to, for SUM and AVG",
    ],
}


def propose(table: object, name: str) -> str:
    """TOML with a table for each column; ranges, categories, bins and sources are left to the custodian."""
    lines = [
        "# Fill in what is missing from public documents, never from the data: values read off the data leak it.",
        f'name = "{name}"',
    ]
    schema = open_source(table).rows.schema()
    for column, kind in schema.items():
        lines += ["", f"[attributes.{_key(column)}]", *_blank(kind), 'source = ""  # required']
    return "\n".join(lines) + "\n"


def _key(column: str) -> str:
    plain = column.isascii() and column.replace("_", "").replace("-", "").isalnum()
    escaped = column.replace("\\", "\\\\").replace('"', '\\"')
    return column if plain else f'"{escaped}"'


def _blank(kind: Any) -> list[str]:
    if kind.is_integer():
        proposal = "integer"
    elif kind.is_floating() or kind.is_decimal():
        proposal = "bins"
    else:
        proposal = "category"
    return [f'kind = "{proposal}"  # the column is {kind}; integer | category | bins', *BLANKS[proposal]]
