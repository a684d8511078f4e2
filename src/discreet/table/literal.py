"""Names and texts as SQL writes them."""

from collections.abc import Iterable
from glob import escape


def quoted(text: str) -> str:
    """Text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """The name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


def quoted_paths(files: Iterable[str]) -> str:
    """A list of files for DuckDB's readers, which would expand a name that looks like a pattern."""
    return "[" + ", ".join(quoted(escape(file)) for file in files) + "]"
