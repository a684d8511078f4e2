"""Rows put in an order, numbered by somebody else, and written without a column: what a release of rows needs.

The codes of the rows stream, in batches, from whatever engine holds them into a DuckDB of this process, which shuffles,
orders and writes them; beyond its memory it goes to a folder that only this user can read. Python sees counts, and one
column of codes where somebody asks for it.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from math import prod
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute, Integer
from discreet.domain.domain import Domain
from discreet.errors import EngineError, TableError
from discreet.noise.bits import Bits
from discreet.table.literal import quoted, quoted_name
from discreet.table.table import Table

Array = NDArray[np.int64]

LARGEST_KEY = 2**31
"""Combinations of codes that fit beside a number of 31 bits, and a sign."""


@contextmanager
def held_rows(table: Table, names: Sequence[str], bits: Bits) -> Iterator["HeldRows"]:
    """The codes of some attributes of every row, held until the end of the block. No row can make it fail."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as aside, _connected(aside) as cursor:
        batches = table.codes()
        first = next(batches, None)
        if first is None:
            raise TableError("the table has no rows that its domain describes; there is nothing to arrange")
        cursor.register("streamed", pa.RecordBatchReader.from_batches(first.schema, chain([first], batches)))
        codes = ", ".join(f"{quoted_name(name)} AS {_held(place)}" for place, name in enumerate(names))
        cursor.execute(f"CREATE TABLE held AS SELECT {codes} FROM streamed")
        yield HeldRows(cursor, table.domain, tuple(names), bits)


@contextmanager
def _connected(aside: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"temp_directory": aside, "autoinstall_known_extensions": False}) as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


@dataclass(frozen=True)
class HeldRows:
    """Rows as codes, in a database of their own. Whoever holds them holds the data."""

    cursor: duckdb.DuckDBPyConnection
    domain: Domain
    names: tuple[str, ...]
    bits: Bits

    def counts(self, name: str) -> Array:
        """How many rows have each code of an attribute."""
        counts = np.zeros(self.domain[name].size, np.int64)
        codes, numbers = self._columns(f"SELECT {self._code(name)} AS c, COUNT(*) AS n FROM held GROUP BY c")
        counts[codes.astype(np.int64)] = numbers
        return counts

    def distinct(self, name: str) -> int:
        """How many codes of an attribute there are."""
        [[number]] = self._columns(f"SELECT COUNT(DISTINCT {self._code(name)}) AS n FROM held")
        return int(number)

    def entropy(self, name: str) -> float:
        """How many bits an attribute tells of a row, on average."""
        [[bits]] = self._columns(f"SELECT entropy({self._code(name)}) AS n FROM held")
        return float(bits)

    def order(self, by: Sequence[str], reported: str) -> Array:
        """Put the rows in order by the codes of some attributes, ties by lot; the codes of one of them, in that order.

        The lots are 64 fresh random bits a row, used once: beyond `by` the order tells nothing of the one before.
        """
        [[rows]] = self._columns("SELECT COUNT(*) AS n FROM held")
        self.cursor.register("lots", pa.table({"lot": self.bits.words(int(rows))}))
        codes = ", ".join(map(_held, range(len(self.names))))
        keys = ", ".join((*map(self._code, by), "lot"))
        self.cursor.execute(
            f"CREATE TABLE ordered AS SELECT {codes} FROM (SELECT * FROM held POSITIONAL JOIN lots) ORDER BY {keys}"
        )
        self.cursor.execute("DROP TABLE held")
        self.cursor.unregister("lots")
        [column] = self._columns(f"SELECT {self._code(reported)} AS c FROM ordered")
        return column.astype(np.int64)

    def deal(self, numbers: NDArray[np.int32], name: str, codes: Array) -> None:
        """Give the rows, in their order, these numbers. Requires that they have these codes of an attribute, which is
        checked: rows and numbers that parted company would be published as somebody else's."""
        self.cursor.register("dealt", pa.table({"number": numbers, "expected": codes}))
        columns = ", ".join(map(_held, range(len(self.names))))
        self.cursor.execute(
            f"CREATE TABLE numbered AS SELECT number, expected, {columns} FROM ordered POSITIONAL JOIN dealt"
        )
        self.cursor.execute("DROP TABLE ordered")
        self.cursor.unregister("dealt")
        [[strays]] = self._columns(
            f"SELECT COUNT(*) AS n FROM numbered WHERE {self._code(name)} IS DISTINCT FROM expected OR number IS NULL"
        )
        if strays:
            raise EngineError("the rows are not in the order that was asked for; nothing was written")

    def write(self, names: Sequence[str], number: str, path: Path) -> None:
        """Write the columns of some attributes with the rows' numbers to a Parquet file, ordered by what it holds: by
        number and then by the columns, so that the order tells nothing that the file does not."""
        columns = [self._value(self.domain[name]) + f" AS {quoted_name(name)}" for name in names]
        # Codes are sorted, and then made labels of: sorting texts takes twice as long.
        ordered = f"(SELECT * FROM numbered ORDER BY {self._content_key(names)})"
        self.cursor.execute(
            f"COPY (SELECT {', '.join((*columns, f'number AS {quoted_name(number)}'))} FROM {ordered}) "
            f"TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        )

    def _content_key(self, names: Sequence[str]) -> str:
        """What orders rows by number and then by codes: one whole number where 63 bits do, which sorts faster."""
        codes = [self._code(name) for name in names]
        sizes = [self.domain[name].size for name in names]
        if prod(sizes) >= LARGEST_KEY:
            return ", ".join(("number", *codes))
        key = "CAST(number AS BIGINT)"
        for code, size in zip(codes, sizes, strict=True):
            key = f"({key} * {size} + {code})"
        return key

    def sample(self, names: Sequence[str], first_numbers: int) -> tuple[Array, Array]:
        """The numbers and the codes of all rows with a number up to so many: for measuring what can be guessed."""
        codes = ", ".join(f"{self._code(name)} AS a{place}" for place, name in enumerate(names))
        number, *columns = self._columns(
            f"SELECT number, {codes} FROM numbered WHERE number <= {first_numbers} ORDER BY number"
        )
        return number.astype(np.int64), np.stack([column.astype(np.int64) for column in columns], axis=1)

    def _columns(self, sql: str) -> list[Array]:
        return [np.asarray(column) for column in self.cursor.execute(sql).fetchnumpy().values()]

    def _code(self, name: str) -> str:
        return _held(self.names.index(name))

    def _value(self, attribute: Attribute) -> str:
        """A code as the value that people read: a whole number, or a label; missing values are missing."""
        code = f"CAST({self._code(attribute.name)} AS BIGINT)"
        missing, other = attribute.null_code, attribute.other_code
        if not isinstance(attribute, Integer):
            labels = ("NULL" if c == missing else quoted(attribute.label(c)) for c in range(attribute.size))
            return f"[{', '.join(labels)}][{code} + 1]"
        whole = f"{code} + {attribute.low}"
        if other is not None:
            return f"CASE WHEN {code} < {other} THEN CAST({whole} AS VARCHAR) WHEN {code} = {other} THEN '(other)' END"
        return whole if missing is None else f"CASE WHEN {code} < {missing} THEN {whole} END"


def _held(place: int) -> str:
    return f"c{place}"
