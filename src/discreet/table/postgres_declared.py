"""What the catalogue of Postgres declares of a table's columns: ENUM, CHECK, comments, NOT NULL, the key."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.table.checks import limits_in, together
from discreet.table.declared import Allowed, Declared
from discreet.table.literal import quoted

if TYPE_CHECKING:
    import psycopg

COLUMNS = """
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), COALESCE(col_description(a.attrelid, a.attnum), ''),
    a.attnotnull,
    (SELECT array_agg(enumlabel::text ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = a.atttypid),
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND i.indnatts = 1
        AND i.indkey[0] = a.attnum),
    a.atttypid::bigint
FROM pg_attribute a WHERE a.attrelid = to_regclass({0}) AND a.attnum > 0 AND NOT a.attisdropped
"""
CHECKS = """
SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE contype = 'c' AND conrelid = to_regclass({0})
"""
OF_TYPES = """
SELECT c.contypid::bigint, pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.contype = 'c' AND c.contypid IN
    (SELECT atttypid FROM pg_attribute WHERE attrelid = to_regclass({0}) AND attnum > 0)
"""


def declared_in(session: "psycopg.Connection", relation: str) -> Mapping[str, Declared]:
    """What is declared of each column of a table; nothing of a SELECT. The types of Postgres that are called domains
    have CHECKs of their own, about VALUE."""

    def found(query: str) -> list[tuple[object, ...]]:
        return session.execute(query.format(quoted(relation)).encode()).fetchall()

    columns = found(COLUMNS) if not relation.startswith("(") else []
    if not columns:
        return {}
    limits = together(limits_in(str(text), "postgres") for (text,) in found(CHECKS))
    of_types = [(kind, limits_in(_condition(str(text)), "postgres")) for kind, text in found(OF_TYPES)]
    return {
        str(name): Declared(
            words=str(words),
            title=str(comment),
            limits=_allowed(limits.get(str(name).lower(), Allowed()), of_types, oid, labels),
            null=not filled,
            by=f"the definition of {relation} in Postgres",
            key=bool(is_key),
        )
        for name, words, comment, filled, labels, is_key, oid in columns
    }


def _allowed(own: Allowed, of_types: list[tuple[object, dict[str, Allowed]]], oid: object, labels: object) -> Allowed:
    """What the column's CHECKs, those of its type, and the labels of an enumeration allow together."""
    for kind, limits in of_types:
        if kind == oid:
            own = own.within(limits.get("value", Allowed()))
    return own.within(Allowed(tuple(labels) if isinstance(labels, list) else None))


def _condition(definition: str) -> str:
    """What stands in `CHECK (…)`, maybe with NOT VALID behind it."""
    return definition.removeprefix("CHECK").removesuffix("NOT VALID").strip()
