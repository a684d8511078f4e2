"""A plain table of Postgres, read live: it groups equal values, by their bytes, and what they are is decided here."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.table.live import Counter, Parts, changed
from discreet.table.postgres import Column, Relation, copied, selected

if TYPE_CHECKING:
    import psycopg

MODULUS = 1 << 62


@dataclass
class LivePostgres:
    """Rows of a plain table. The server's own snapshot tells whether they changed: which transactions it takes for
    finished decides what is seen, so that while those are the same, the rows are. Otherwise they are hashed again."""

    relation: Relation
    columns: Mapping[str, Column] = field(repr=False)
    _seen: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict, repr=False)

    def digest(self, names: Sequence[str], key: bytes) -> str:
        with self.relation.session() as session:
            return self._digest(session, names, key)

    def parts(self, count: Counter, names: Sequence[str], key: bytes, digest: str) -> Iterator[list[Parts]]:
        with self.relation.session() as session:
            if self._digest(session, names, key) != digest:
                raise changed()
            read = [self.columns[name] for name in count.types]
            # By place: a name would be that of a column of the table, if there is one.
            groups = ", ".join(str(place) for place, _ in enumerate(read, start=1))
            by = f" GROUP BY {groups}" if read else ""
            copies = Column("", "COUNT(*)", pa.int64())
            sql = f"SELECT {selected([*read, copies])} FROM {self.relation.text} AS everyone{by}"
            for batch in copied(session, sql, [*read, copies]):
                last = batch.num_columns - 1
                yield count(batch.remove_column(last), batch.column(last).to_numpy())

    def _digest(self, session: "psycopg.Connection", names: Sequence[str], key: bytes) -> str:
        """Adds up 64 bits of each row, seeded by the key, which tells tables apart that differ by accident (2^-62)."""
        # Held until the end: what empties or rewrites a table shows in every snapshot, also in those from before.
        session.execute(f"LOCK TABLE {self.relation.text} IN ACCESS SHARE MODE".encode())
        [[moment]] = session.execute(
            b"SELECT concat(pg_current_snapshot(), ' ', pg_postmaster_start_time())"
        ).fetchall()
        if self._seen.get(tuple(names), ("", ""))[0] == moment:
            return self._seen[tuple(names)][1]
        seed = int.from_bytes(hashlib.blake2b(b"rows", key=key, digest_size=7).digest(), "big")
        row = f"ROW({', '.join(self.columns[name].reading for name in names)})"
        [[rows, added]] = session.execute(
            f"SELECT COUNT(*), COALESCE(SUM(hashtextextended(CAST({row} AS TEXT), {seed})::numeric), 0) % {MODULUS} "
            f"FROM {self.relation.text} AS everyone".encode()
        ).fetchall()
        kinds = repr([(name, str(self.columns[name].kind)) for name in names])
        text = repr((kinds, int(rows), int(added) % MODULUS)).encode()
        digest = hashlib.blake2b(text, key=key, digest_size=32).hexdigest()
        self._seen[tuple(names)] = (moment, digest)
        return digest
