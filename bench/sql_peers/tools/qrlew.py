"""Qrlew over Postgres, as its documentation has it: ranges and possible values, a privacy unit, a rewritten query."""

from collections.abc import Callable
from typing import Any

import pyqrlew
import sqlalchemy as sa

SPELLINGS = 3
PACKAGE = "pyqrlew"
BUDGET = {"epsilon": 1000.0, "delta": 1e-6}


def opened(schema: dict[str, Any], uri: str) -> Callable[[str, str], tuple[list[str], list[Any]]]:
    engine = sa.create_engine(uri.replace("postgres://", "postgresql+psycopg2://"))
    dataset = pyqrlew.Dataset.from_database("people", engine, None)
    for table, about in schema.items():
        for name, column in about["columns"].items():
            if "values" in column:
                dataset = dataset.with_possible_values(None, table, name, column["values"])
            elif "lower" in column:
                dataset = dataset.with_range(None, table, name, column["lower"], column["upper"])
    units = [(table, [], about["id"] or about["row"]) for table, about in schema.items() if about["private"]]
    rows = max(about["max_rows"] for about in schema.values())

    def ask(_table: str, text: str) -> tuple[list[str], list[Any]]:
        relation = dataset.relation(text.strip().rstrip(";"), pyqrlew.Dialect.PostgreSql)
        rewritten = relation.rewrite_with_differential_privacy(dataset, units, BUDGET, max_multiplicity=float(rows))
        private = rewritten.relation().to_query(pyqrlew.Dialect.PostgreSql)
        with engine.connect() as connection:
            found = connection.execute(sa.text(private.replace(":", r"\:")))
            return list(found.keys()), [tuple(row) for row in found]

    return ask
