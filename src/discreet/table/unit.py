"""The privacy unit: a row, or a person who has up to k rows. Proofs: docs/explain/privacy-unit.md."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.domain import NullIds
from discreet.errors import DomainError
from discreet.table.coding import stored_type, type_in_words
from discreet.table.text import as_bytes, is_text

Keys = NDArray[np.uint64]
"""A keyed 64-bit hash of an id. Two of n people share one with a chance of n² / 2^65, and are bounded as one then."""


@dataclass(frozen=True)
class Unit:
    """People are the values of a column; of each, at most `max_rows` rows are in the population."""

    id: str
    max_rows: int
    null_ids: NullIds = "drop"
    """Rows without an id are left out, or each is a person of its own, or there are none: see `null_ids` of Domain."""
    each_period: bool = False
    """Of a table that grows: whether `max_rows` bounds a person's rows of each period by itself, and not of all."""

    def __post_init__(self) -> None:
        if self.max_rows < 1:
            raise DomainError("a person has at least one row: max_rows is 1 or more")

    def to_json(self) -> dict[str, Any]:
        each = {"each_period": True} if self.each_period else {}
        return {"id": self.id, "max_rows": self.max_rows, "null_ids": self.null_ids, **each}

    @classmethod
    def from_json(cls, unit: Mapping[str, Any]) -> "Unit":
        return cls(unit["id"], unit["max_rows"], unit["null_ids"], bool(unit.get("each_period")))


def unit_of(
    id_column: str | None, max_rows: int | None, null_ids: NullIds | None = None, each_period: bool = False
) -> Unit | None:
    """The unit that somebody asks for; None is a row. An id needs a bound, and a bound needs an id.

    `null_ids` is what the domain says. A domain that speaks of ids is refused where nobody names the column. The bound
    is on all of a person's rows, or on those of `each_period`.
    """
    if each_period and max_rows is None:
        raise DomainError("each_period is about people with several rows: say --id and --max-rows as well")
    if id_column is None and max_rows is None and null_ids is None:
        return None
    if id_column is None or max_rows is None:
        because = f"the domain says null_ids = {null_ids!r}; " if null_ids else ""
        raise DomainError(
            f"{because}people with several rows need both: the column of their id (--id), and the most rows to keep of "
            "one (--max-rows)"
        )
    return Unit(id_column, max_rows, null_ids or "drop", each_period)


def unit_on_roster(id_column: str | None, max_rows: int | None, null_ids: NullIds | None) -> Unit:
    """The unit of a table that is asked about a roster: one row of each person, and nobody without an id."""
    if id_column is None:
        raise DomainError("a roster needs the table's column of record ids: --id COLUMN")
    if max_rows not in (None, 1):
        raise DomainError("counts over a roster are of people, with one row each: leave max_rows out, or say 1")
    return Unit(id_column, 1, "refuse" if null_ids == "refuse" else "drop")


def require_id(name: str, kind: pa.DataType) -> None:
    """Raise unless a column of ids has a type with one spelling for each value."""
    kind = stored_type(kind)
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise DomainError(f"column {name!r} is {type_in_words(kind)}; an id is text, a whole number or a UUID")


def id_texts(column: pa.Array) -> list[bytes | None]:
    """Ids as bytes: those of a text, the digits of a number."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        return list(as_bytes(column).to_pylist())
    return [None if value is None else _digits(value).encode() for value in column.to_pylist()]


def _digits(number: int | Decimal) -> str:
    return str(number) if isinstance(number, int) else f"{number:f}"


def person_keys(ids: Iterable[bytes], key: bytes) -> Keys:
    """The key of each id, in order."""
    secret = hashlib.blake2b(b"people", key=key, digest_size=32).digest()
    digests = b"".join(hashlib.blake2b(text, key=secret, digest_size=8).digest() for text in ids)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def in_period(people: Keys, periods: NDArray[Any]) -> Keys:
    """A key for each person in each period, where rows are bounded by period: a person's are told apart by it."""
    return _mixed(people ^ _mixed(periods.astype(np.uint64)))


def kept_rows(
    people: Keys,
    columns: Iterable[NDArray[Any]],
    max_rows: int,
    key: bytes,
    before: tuple[Keys, NDArray[np.int64]] | None = None,
) -> NDArray[np.bool_]:
    """Which rows are in the population: at most k of each person, those whose lot is smallest. Where people have rows
    `before` (their keys, ascending, and how many), so many fewer of these are kept.

    Whether a row is kept depends on this person's rows only, as a bag: not on their order, nor on anybody else. A lot
    is a keyed hash of the person, the row's content and how many equal rows came before (whichever of them those are),
    so that every row of a person has the same chance.
    """
    content = _mixed(people ^ _secret(key))
    for column in columns:
        content = _mixed(content ^ column.astype(np.int64).view(np.uint64))
    order = np.lexsort((content, people))
    turns = _turns((people[order], content[order]))
    lots = np.empty_like(content)
    lots[order] = _mixed(content[order] + turns)
    order = np.lexsort((lots, people))
    kept = np.zeros(people.size, np.bool_)
    room = np.full(people.size, max_rows, np.int64)
    if before is not None and before[0].size:
        places = np.minimum(np.searchsorted(before[0], people), before[0].size - 1)
        room -= np.where(before[0][places] == people, before[1][places], 0)
    kept[order] = _turns((people[order],)).astype(np.int64) < room[order]
    return kept


def _turns(sorted_by: tuple[Keys, ...]) -> Keys:
    """How many rows with the same values stand before each, in an order in which they stand together."""
    size = sorted_by[0].size
    begins = np.ones(size, np.bool_)
    begins[1:] = False
    for values in sorted_by:
        begins[1:] |= values[1:] != values[:-1]
    places = np.arange(size, dtype=np.uint64)
    return places - np.maximum.accumulate(np.where(begins, places, 0))


def _secret(key: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(b"rows of a person", key=key, digest_size=8).digest(), "little"))


def _mixed(words: Keys) -> Keys:
    """A bijection of 64 bits after which no bit remembers another. [Steele, Lea, Flood 2014: SplitMix64]"""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
