"""Names and texts as SQL writes them."""


def quoted(text: str) -> str:
    """Text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """The name of a column or table."""
    return '"' + name.replace('"', '""') + '"'
