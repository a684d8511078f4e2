"""What a question would be answered without noise: the same SQL, by DuckDB, over a snapshot's rows, decoded.

This reads rows, as only tests may. Codes are decoded by what docs/reference/domain.md says, not by the package's code:
an integer is its value; a period its first day; a category its text (or true and false), `(other)` or NULL; bins the
amount that is summed, which lies in them. A number outside the declared ones is NULL. Groups of a hierarchy are columns
NAME_group.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from discreet.domain.attribute import Attribute, Bins, Category, Hierarchy, Integer
from discreet.domain.date import Date
from discreet.table.count import CodedRows
from discreet.table.layout import PERSON
from discreet.vault import Vault
from tests.questions.tables import ID, LOOKUPS, QUESTIONS

OTHER = "(other)"


def truth_of(vault: Vault) -> duckdb.DuckDBPyConnection:
    """A database of the vault's rows, decoded, and of the public tables beside them."""
    snapshot = vault._own.snapshot()
    columns: dict[str, Any] = {}
    for attribute in vault.domain.attributes:
        columns |= decoded(attribute, snapshot.rows)
    if PERSON in snapshot.manifest["columns"]:
        columns[ID] = np.asarray(snapshot.column(PERSON), np.int64)
    engine = duckdb.connect()
    engine.register("rows_of_it", pa.table(columns))
    engine.execute(f"CREATE TABLE {vault.domain.name} AS FROM rows_of_it")
    for lookup, key in LOOKUPS[vault.domain.name].items():
        path = QUESTIONS / f"{lookup}.csv"
        engine.execute(f"CREATE TABLE {lookup} AS FROM read_csv('{path}', types = {{'{key}': 'VARCHAR'}})")
    return engine


def decoded(attribute: Attribute, rows: CodedRows) -> dict[str, Any]:
    """A column of coded rows, and that of its groups, by name."""
    codes = np.asarray(rows.codes(attribute.name), np.int64)
    missing = codes == attribute.null_code if attribute.null else np.zeros(codes.size, bool)
    if isinstance(attribute, Integer | Bins):
        missing |= codes >= attribute.cells
    match attribute:
        case Date():
            first = [date.fromisoformat(f"{value}-01"[:10]) for value in attribute.values]
            return {attribute.name: pa.array([first[code] for code in codes], mask=missing)}
        case Integer():
            return {attribute.name: pa.array(codes + attribute.low, mask=missing)}
        case Bins():
            units = np.asarray(rows.units(attribute.name), np.int64)
            return {attribute.name: pa.array(units * float(attribute.grain or 1), mask=missing)}
        case Category():
            values = [*attribute.values, OTHER] if attribute.outside == "other" else [*attribute.values]
            if set(values) == {"true", "false"}:
                return {attribute.name: pa.array(codes == values.index("true"), mask=missing)}
            found = {attribute.name: _texts(values, codes, missing)}
            if attribute.hierarchy is not None:
                groups = {leaf: group for group, leaves in _groups(attribute.hierarchy) for leaf in leaves}
                found[f"{attribute.name}_group"] = _texts([groups.get(value) for value in values], codes, missing)
            return found
    raise AssertionError(attribute)


def _texts(values: list[Any], codes: Any, missing: Any) -> pa.Array:
    return pa.array([None if gone else values[code] for code, gone in zip(codes, missing, strict=True)], pa.string())


def _groups(hierarchy: Hierarchy) -> Iterator[tuple[str, list[str]]]:
    """The lowest groups of a hierarchy of one level, with their values."""
    for node in hierarchy:
        assert not isinstance(node, str)
        yield node[0], [leaf for leaf in node[1] if isinstance(leaf, str)]
