"""The privacy unit: a row, or a person who has up to k rows. Proofs: docs/explain/privacy-unit.md."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from discreet.domain.domain import NullIds
from discreet.errors import DomainError
from discreet.table.dialect import Dialect


@dataclass(frozen=True)
class Unit:
    """People are the values of a column; of each, at most `max_rows` rows are in the population."""

    id: str
    max_rows: int
    null_ids: NullIds = "drop"
    """Rows without an id are left out, or each is a person of its own, or there are none: see `null_ids` of Domain."""

    def __post_init__(self) -> None:
        if self.max_rows < 1:
            raise DomainError("a person has at least one row: max_rows is 1 or more")

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "max_rows": self.max_rows, "null_ids": self.null_ids}

    @classmethod
    def from_json(cls, unit: Mapping[str, Any]) -> "Unit":
        return cls(unit["id"], unit["max_rows"], unit["null_ids"])


def unit_of(id_column: str | None, max_rows: int | None, null_ids: NullIds | None = None) -> Unit | None:
    """The unit that somebody asks for; None is a row. An id needs a bound, and a bound needs an id.

    `null_ids` is what the domain says. A domain that speaks of ids is refused where nobody names the column.
    """
    if id_column is None and max_rows is None and null_ids is None:
        return None
    if id_column is None or max_rows is None:
        because = f"the domain says null_ids = {null_ids!r}; " if null_ids else ""
        raise DomainError(
            f"{because}people with several rows need both: the column of their id (--id), and the most rows to keep of "
            "one (--max-rows)"
        )
    return Unit(id_column, max_rows, null_ids or "drop")


def unit_on_roster(id_column: str | None, max_rows: int | None, null_ids: NullIds | None) -> Unit:
    """The unit of a table that is asked about a roster: one row of each person, and nobody without an id."""
    if id_column is None:
        raise DomainError("a roster needs the table's column of record ids: --id COLUMN")
    if max_rows not in (None, 1):
        raise DomainError("counts over a roster are of people, with one row each: leave max_rows out, or say 1")
    return Unit(id_column, 1, "refuse" if null_ids == "refuse" else "drop")


def bounded(rows: Any, unit: Unit, attributes: Sequence[str], dialect: Dialect, key: bytes) -> Any:
    """At most k rows of each person: those whose keyed hash is smallest. An Ibis table of the attributes' columns.

    Whether a row is kept depends on this person's rows only, as a bag: not on their order, nor on anybody else. The
    hash is of the id, the attributes and how many equal rows came before (whichever of them those are), so that every
    row of a person has the same chance.
    """
    require_id(rows, unit)
    columns = list(dict.fromkeys((unit.id, *(name for name in attributes if name in rows.columns))))
    read = rows.select(*columns)
    [held] = _fresh(("held",), columns)
    # Who has at most k rows keeps them whatever their lots: hashing and ranking is for the others, and they are few.
    people = read.group_by(unit.id).aggregate(**{held: read.count()})
    beyond = people.filter(people[held] > unit.max_rows)
    whole = read.anti_join(beyond, unit.id)
    kept = whole if unit.null_ids == "own" else whole.filter(whole[unit.id].notnull())
    return kept.union(_by_lot(read.semi_join(beyond, unit.id), unit, dialect, key))


def _by_lot(rows: Any, unit: Unit, dialect: Dialect, key: bytes) -> Any:
    """Of each person the k rows with the smallest lots."""
    columns = list(rows.columns)
    content, turn, rank = _fresh(("content", "turn", "rank"), columns)
    secret = hashlib.blake2b(b"rows of a person", key=key, digest_size=16).hexdigest()
    hashed = rows.mutate(**{content: dialect.digest(_joined([ibis.literal(secret), *map(_text, _each(rows))]))})
    counted = hashed.mutate(**{turn: ibis.row_number().over(group_by=[unit.id, content])})
    lot = dialect.digest(_joined([counted[content], ibis.literal("#"), counted[turn].cast("string")]))
    ranked = counted.mutate(**{rank: lot})
    place = ranked.mutate(**{rank: ibis.row_number().over(group_by=unit.id, order_by=ranked[rank])})
    return place.filter(place[rank] < unit.max_rows).select(*columns)


def without_id(rows: Any, unit: Unit) -> Any:
    """How many rows have no id: an Ibis table of one number."""
    nobodys = rows.filter(rows[unit.id].isnull())
    return nobodys.aggregate(found=nobodys.count())


def require_id(rows: Any, unit: Unit) -> None:
    """Raise unless the table has the unit's column, of a type that has one spelling for each value."""
    if unit.id not in rows.columns:
        raise DomainError(f"the table has no column {unit.id!r} for an id; its columns are {', '.join(rows.columns)}")
    kind = rows[unit.id].type()
    if not (kind.is_string() or kind.is_integer() or kind.is_decimal() or kind.is_uuid()):
        raise DomainError(f"column {unit.id!r} is {kind}; an id is text, a whole number or a UUID")


def _each(table: Any) -> list[Any]:
    return [table[name] for name in table.columns]


def _text(column: Any) -> Any:
    """A value as text with its length before it: joined, no two rows that differ have the same text."""
    text = column.cast("string")
    return ibis.cases((column.isnull(), "-"), else_=text.length().cast("string") + ":" + text)


def _joined(texts: Sequence[Any]) -> Any:
    first, *others = texts
    for text in others:
        first = first + text
    return first


def _fresh(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names for columns that no column has yet, in capitals or not."""
    longest = max(map(len, taken))
    return [name + "_" * longest for name in names]
