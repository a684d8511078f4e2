"""A keyed hash of a table's rows that an engine computes: for rows that are not files in reach."""

import hashlib

from discreet.errors import EngineError, TableError
from discreet.table.engine import Engine

MODULUS = 1 << 62


def hash_rows(engine: Engine, relation: str, columns: str, key: bytes) -> str:
    """A keyed hash of the columns' description and of the rows, whatever their order.

    The engine adds up 64 bits of each row, which tells tables apart that differ by accident (2^-62), in one scan
    without a sort; the sum is hashed with the key, so that who reads the fingerprint learns nothing of the rows.
    """
    seed = int.from_bytes(hashlib.blake2b(b"rows", key=key, digest_size=7).digest(), "big")
    row_hash, total = engine.dialect.row_hash.format(seed=seed), engine.dialect.total
    hashed = f"SELECT {row_hash} AS hash FROM {relation} AS everyone"
    added_up = f"CAST(MOD(COALESCE({total.format('hash')}, 0), {MODULUS}) AS BIGINT)"
    try:
        count, added = engine.run(f"SELECT COUNT(*) AS n, {added_up} AS added FROM ({hashed}) AS hashes")
    except EngineError:
        raise TableError("the table cannot be read; is it still there, and have you the right to read it?") from None
    digest = hashlib.blake2b(key=key, digest_size=32)
    digest.update(repr((columns, int(count[0]), int(added[0]))).encode())
    return digest.hexdigest()
