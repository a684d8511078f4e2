"""A table in Postgres as a source: found in the catalogue, copied, or read live where its changes can be told."""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import TableError
from discreet.postgres_address import TablePlace, table_place
from discreet.table.declared import Declared
from discreet.table.literal import quoted, quoted_name
from discreet.table.postgres import Relation
from discreet.table.postgres_declared import declared_in
from discreet.table.postgres_live import LivePostgres
from discreet.table.source import Source

CONNECT_SECONDS = "10"


def open_postgres(uri: str) -> Source:
    """Open `postgres://user@host:port/database?table=people`; the columns are read, and no row."""
    place = table_place(uri)
    _require_driver()
    somewhere = Relation({"connect_timeout": CONNECT_SECONDS, **place.parameters}, place.where, "pg_class")
    found = _find(somewhere, place)
    relation = Relation(somewhere.parameters, place.where, f"{quoted_name(found.schema)}.{quoted_name(place.table)}")
    return source_of(relation, place.location, found.is_plain, found.can_be_live)


def source_of(relation: Relation, location: str, is_plain: bool = False, can_be_live: bool = False) -> Source:
    """A relation as a source. Only of a plain table can it be told whether it was written to."""
    columns, unread = relation.columns()
    return Source(
        location=location,
        columns={name: column.kind for name, column in columns.items()},
        read=lambda names, told: relation.read(columns, names, told),
        stamp=lambda: _stamp(relation) if is_plain else None,
        unread=unread,
        declared=lambda: _declared(relation),
        live=LivePostgres(relation, columns) if is_plain and can_be_live else None,
    )


def _declared(relation: Relation) -> Mapping[str, Declared]:
    with relation.session() as session:
        return declared_in(session, relation.text)


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise TableError("a table in Postgres needs its driver: pip install 'discreet[postgres]'") from None


@dataclass(frozen=True)
class Found:
    """A table in the catalogue."""

    schema: str
    is_plain: bool
    """It has rows of its own and nobody else's: no view, partitions, heirs or rules about who sees which row."""
    can_be_live: bool
    """No crash empties it, and every text has bytes that arrive as they are, or as UTF-8."""


def _find(somewhere: Relation, place: TablePlace) -> Found:
    wanted = f"= {quoted(place.schema)}" if place.schema else "= ANY (current_schemas(false))"
    with somewhere.session() as session:
        found = session.execute(
            "SELECT n.nspname::text, c.relkind = 'r' AND NOT c.relhassubclass AND NOT c.relrowsecurity, "
            "c.relpersistence = 'p' AND getdatabaseencoding() IN ('UTF8', 'SQL_ASCII') "
            "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE c.relname = {quoted(place.table)} AND n.nspname {wanted} "
            "AND c.relkind IN ('r', 'v', 'm', 'p', 'f') "
            "ORDER BY array_position(current_schemas(false), n.nspname)".encode()
        ).fetchall()
    if not found:
        raise TableError(f"{place.where} has no table {place.full_name} that you may see; name another, or its schema")
    return Found(*found[0])


def _stamp(relation: Relation) -> list[str]:
    """What the server counts of writes to the table. It may be seconds late, and is reset after a crash."""
    with relation.session() as session:
        rows = session.execute(
            "SELECT concat_ws(' ', c.oid, pg_relation_filenode(c.oid), s.n_tup_ins, s.n_tup_upd, s.n_tup_del) "
            "FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid "
            f"WHERE c.oid = to_regclass({quoted(relation.text)})".encode()
        ).fetchall()
    return [str(row[0]) for row in rows]
