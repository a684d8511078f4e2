"""What stands beside the SQL editor: the schema, what each construct does, and where a mistake is."""

import re
from typing import Any

from discreet.domain.attribute import MISSING, OTHER, Integer
from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.server.console.pick import summable
from discreet.sql.tables import keys_of
from discreet.sql.where_text import identifier

MOST_VALUES = 40
"""Values of a column that are listed and completed."""
CONSTRUCTS: tuple[tuple[str, str], ...] = (
    ("COUNT(*)", "how many rows"),
    ("COUNT(DISTINCT …)", "how many different values occur; costs what a count costs"),
    ("COUNT_IF(…)", "how many rows for which a condition is true"),
    ("SUM(…)", "of a column of numbers, or of an expression"),
    ("AVG(…)", "a SUM over a COUNT, both noisy; costs more than a count"),
    ("MEDIAN(…)", "the value in the middle; its error is in ranks"),
    ("QUANTILE(…, 0.9)", "the value below which so many lie; its error is in ranks"),
    ("STDDEV(…)", "by noisy sums of the values and of their squares"),
    ("FILTER (WHERE …)", "behind an aggregate: of some of the rows only"),
    ("WHERE …", "who is counted: only their region's budget is spent"),
    ("GROUP BY …", "a line for each value, also where nobody is; costs what one line costs"),
    ("HAVING …", "of the lines, those whose noisy number meets a condition; free"),
    ("ORDER BY … DESC LIMIT 5", "the largest by their noisy numbers; free"),
    ("BETWEEN … AND …", "from one value to another, both included"),
    ("IN (…)", "any of several values"),
    ("IS NULL", "where a value is missing"),
    ("CASE WHEN … THEN … ELSE … END", "a value by conditions; can be grouped by and summed"),
    ("FLOOR(… / 10)", "an expression of columns: groups of ten"),
    ("SUM(COUNT(*)) OVER ()", "over all lines: for shares; free"),
    ("WITH t AS (…) SELECT …", "a name for a query; its results are noisy numbers, and more of them is free"),
)
NO_VALUES = (MISSING, OTHER)
"""Labels of codes that SQL does not write as a value in quotes."""
PLACE = re.compile(r"line (\d{1,6}), column (\d{1,6})")
QUOTED = re.compile(r"'([^'\n]{1,200})'")


def schema(tables: LinkedTables) -> dict[str, Any]:
    """The tables as their editor shows and completes them. Each has its own columns, those of the tables above it by
    their names, and how it is joined with its parent."""
    return {"tables": [_table(table, tables) for table in tables]}


def _table(table: LinkedTable, tables: LinkedTables) -> dict[str, Any]:
    person = table.domain.person
    above = list(tables.above(table))[1:]
    return {
        "name": identifier(table.name),
        "columns": _columns(table.own_domain),
        "person": None if person is None else identifier(person),
        "rows": rows_of(table),
        "above": [identifier(one.name) for one in above],
        "join": None if table.parent is None else join_of(table, tables),
    }


def rows_of(table: LinkedTable) -> str:
    """How many rows of a person a table has, in words."""
    return "one row of each person" if table.max_rows == 1 else f"up to {table.max_rows} rows of a person"


def _columns(domain: Domain) -> list[dict[str, Any]]:
    numbers = set(summable(domain))
    columns = []
    for attribute in domain.attributes:
        labels = (
            [] if isinstance(attribute, Integer) else [label for label in attribute.labels if label not in NO_VALUES]
        )
        kind = "number" if attribute.name in numbers else "values"
        ends = f"{attribute.labels[0]} to {attribute.labels[-1]}" if kind == "number" else ""
        shown = [] if kind == "number" else labels[:MOST_VALUES]
        columns.append({"name": identifier(attribute.name), "kind": kind, "ends": ends, "values": shown,
                        "more": 0 if kind == "number" else max(len(labels) - MOST_VALUES, 0)})  # fmt: skip
    return columns


def join_of(table: LinkedTable, tables: LinkedTables) -> dict[str, str]:
    """The parent of a table, and the columns here and there that are equal."""
    own, its = keys_of(table, tables)
    return {"parent": identifier(tables[str(table.parent)].name), "own": identifier(own), "its": identifier(its)}


def place_of(message: str, sql: str) -> tuple[int, int] | None:
    """Where in a text a message says that the mistake is: by its line and column, else by what it quotes; None where
    it names no place."""
    quoted = [word for word in QUOTED.findall(message) if word]
    if found := PLACE.search(message):
        line, column = int(found[1]), int(found[2])
        lines = sql.split("\n")
        if line <= len(lines):
            start = min(sum(len(each) + 1 for each in lines[: line - 1]) + max(column - 1, 0), len(sql))
            long = len(quoted[0]) if quoted and sql.startswith(quoted[0], start) else 1
            return start, min(start + long, len(sql))
    for word in quoted:
        if (at := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sql, re.IGNORECASE)) is not None:
            return at.span()
    return None
