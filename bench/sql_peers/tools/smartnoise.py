"""SmartNoise SQL over Postgres, as its documentation has it: metadata with bounds, a private key and rows a person."""

from collections.abc import Callable
from typing import Any

import psycopg2
import snsql

SPELLINGS = 3
PACKAGE = "smartnoise-sql"
EPSILON, DELTA = 1000.0, 1e-6
TYPES = {"integer": "int", "double precision": "float", "text": "string", "boolean": "boolean"}


def opened(schema: dict[str, Any], uri: str) -> Callable[[str, str], tuple[list[str], list[Any]]]:
    tables = {table: described(about) for table, about in schema.items()}
    connection = psycopg2.connect(uri)
    connection.autocommit = True
    privacy = snsql.Privacy(epsilon=EPSILON, delta=DELTA)
    reader = snsql.from_connection(
        connection, privacy=privacy, metadata={"people": {"public": tables}}, engine="postgres"
    )

    def ask(_table: str, text: str) -> tuple[list[str], list[Any]]:
        lines = reader.execute(text.strip().rstrip(";"))
        return list(lines[0]), [tuple(line) for line in lines[1:]]

    return ask


def described(about: dict[str, Any]) -> dict[str, Any]:
    """Its metadata. A public table is one of rows."""
    columns: dict[str, Any] = {}
    for name, column in about["columns"].items():
        bounds = {key: column[key] for key in ("lower", "upper") if key in column}
        columns[name] = {"type": TYPES[column["type"]], "nullable": column["nullable"], **bounds}
    if about["id"] is None:
        return {"row_privacy": True, "rows": about["rows"], **columns}
    columns[about["id"]]["private_id"] = True
    return {"max_ids": about["max_rows"], "rows": about["rows"], **columns}
