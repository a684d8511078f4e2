"""Values as TOML writes them: what is proposed, or reused, is text that people go on editing."""

import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any


def quoted(text: str) -> str:
    """A text as TOML has it: JSON's way of writing one, but for a character that TOML wants escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def key_text(name: str) -> str:
    """A key, in quotes where it is not a plain word."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else quoted(name)


def value_text(value: object) -> str:
    """A value of a domain on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case Decimal():
            return str(value).lower().replace("infinity", "inf")
        case date():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{key_text(key)} = {value_text(held)}' for key, held in value.items())}}}"
    return str(value)


def attribute_lines(name: str, table: Mapping[str, Any], below: tuple[str, ...] = ()) -> Iterator[str]:
    """An attribute's table: its keys, each on a line, and below them its groups, level by level. Of several tables the
    one that it is `below`."""
    yield from _table((*below, "attributes", name), table)


def _table(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    below = {key: held for key, held in table.items() if isinstance(held, dict) and key != "values_from"}
    yield f"[{'.'.join(map(key_text, path))}]"
    yield from (f"{key_text(key)} = {value_text(held)}" for key, held in table.items() if key not in below)
    for key, held in below.items():
        yield from _table((*path, key), held)
