"""A keyed hash of a table's rows that an engine computes: for rows that are not files in reach."""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from discreet.errors import EngineError, TableError
from discreet.table.engine import Engine
from discreet.table.watch import Told

MODULUS = 1 << 62
AT_ONCE = 3
"""So many pieces are read at the same time: as many processes as Postgres lets work on one scan by default."""


def hash_rows(engine: Engine, pieces: Sequence[str], columns: str, key: bytes, told: Told | None = None) -> str:
    """A keyed hash of the columns' description and of the rows, whatever their order and the pieces they are read in.

    The engine adds up 64 bits of each row, which tells tables apart that differ by accident (2^-62), in one scan
    without a sort; the sum is hashed with the key, so that who reads the fingerprint learns nothing of the rows.
    Requires pieces that have all the rows together, and none in common.
    """
    seed = int.from_bytes(hashlib.blake2b(b"rows", key=key, digest_size=7).digest(), "big")
    row_hash, total = engine.dialect.row_hash.format(seed=seed), engine.dialect.total
    added_up = f"CAST(MOD(COALESCE({total.format('hash')}, 0), {MODULUS}) AS BIGINT)"
    statements = [
        f"SELECT COUNT(*) AS n, {added_up} AS added FROM (SELECT {row_hash} AS hash FROM {piece} AS everyone) AS hashes"
        for piece in pieces
    ]
    try:
        sums = list(_each(engine, statements, told))
    except EngineError:
        raise unreadable() from None
    rows, added = (sum(column) for column in zip(*sums, strict=True))
    digest = hashlib.blake2b(key=key, digest_size=32)
    # An engine's remainder has the sign of its sum, and other pieces have other sums: Python's has none.
    digest.update(repr((columns, rows, added % MODULUS)).encode())
    return digest.hexdigest()


def unreadable() -> TableError:
    return TableError("the table cannot be read; is it still there, and have you the right to read it?")


def _each(engine: Engine, statements: Sequence[str], told: Told | None) -> Iterator[tuple[int, int]]:
    """How many rows each statement found, and what their hashes add up to."""
    if len(statements) == 1:
        [[rows], [added]] = engine.run(statements[0], told)
        yield int(rows), int(added)
        return
    # Each piece is read as it is then: a table that is written to meanwhile is no snapshot, and is not recognised.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done, [[rows], [added]] in enumerate(pool.map(engine.run, statements), start=1):
            yield int(rows), int(added)
            if told is not None:
                told(done / len(statements))
