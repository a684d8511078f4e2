"""What differs between the engines' SQL. Everything else is written once, in Ibis or in words that all of them know."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis


@dataclass(frozen=True)
class Dialect:
    """An engine's way to write what the others write differently."""

    name: str
    """As Ibis calls it."""
    quote: str
    """Stands on both sides of a name."""
    total: str
    """The sum of a 64-bit column, in a type that it cannot leave; empty sums are missing."""
    row_hash: str
    """64 bits of the text of a whole row of `everyone`, seeded; equal rows have equal ones."""
    digest: Callable[[Any], Any]
    """SHA-256 of a text, in hexadecimal, as an Ibis expression."""
    leading_bits: str
    """The first 60 bits of a hexadecimal text, as a whole number."""
    counts_first: bool = True
    """Whether it counts rows by what is stored faster than it codes them."""
    together: str = ""
    """A hint after SELECT that a few rows are best dealt with in one place."""
    position: Callable[[Any, list[str]], Any] = lambda text, among: text.find_in_set(among)
    """Where a text stands in a list, from 0, and -1 if nowhere, as an Ibis expression."""

    def name_of(self, name: str) -> str:
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


@ibis.udf.scalar.builtin
def sha256(text: str) -> str: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin
def sha2(text: str, bits: int) -> str: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin(name="sha256")
def sha256_bytes(data: bytes) -> bytes: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin
def convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin
def encode(data: bytes, form: str) -> str: ...  # type: ignore[empty-body]


DUCKDB = Dialect(
    name="duckdb",
    quote='"',
    total="SUM({})",
    row_hash="md5_number_lower(to_json(everyone) || '{seed}')",
    digest=sha256,
    leading_bits="CAST('0x' || substr({}, 1, 15) AS BIGINT)",
    counts_first=False,
)
POSTGRES = Dialect(
    name="postgres",
    quote='"',
    total="SUM({})",
    row_hash="hashtextextended(CAST(everyone AS TEXT), {seed})",
    digest=lambda text: encode(sha256_bytes(convert_to(text, "UTF8")), "hex"),
    leading_bits="CAST(CAST('x0' || substr({}, 1, 15) AS BIT(64)) AS BIGINT)",
)
SPARK = Dialect(
    name="pyspark",
    quote="`",
    total="SUM(CAST({} AS DECIMAL(38, 0)))",
    row_hash="xxhash64(to_json(struct(*)), {seed})",
    digest=lambda text: sha2(text, 256),
    leading_bits="CAST(conv(substr({}, 1, 15), 16, 10) AS BIGINT)",
    together="/*+ COALESCE(1) */",
    position=lambda text, among: ibis.array(among).index(text),
)
