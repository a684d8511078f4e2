"""How many people have each value of a column that nobody declared: exact, to draw from and for nothing else.

A person counts once for each value, and for at most so many values as rows of theirs count: where they have more, lots
decide, which depend on that person's id and values alone. So no person moves more than that many numbers, by 1 each.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent
from discreet.table.coding import coders, distinct_values, is_number
from discreet.table.source import Source
from discreet.table.text import as_bytes, is_text
from discreet.table.unit import Keys, Unit, id_texts, kept_rows, person_keys, require_id
from discreet.table.written import number_text

LOOKING = "looking for values"
Places = NDArray[np.int64]
NOBODY = -1


class PeopleByValue(NamedTuple):
    """Values that may be named, and how many people have each."""

    names: list[str]
    people: NDArray[np.int64]


def people_by_value(
    source: Source, attribute: Category, unit: Unit | None, key: bytes, progress: Progress = silent
) -> PeopleByValue:
    """Read one column of every row. Values that no name can have are left out."""
    coders(source.require, Domain(attribute.name, (attribute,)))  # its column is there, and can be a category
    places_of: dict[str, int] = {}
    if unit is None:
        counts = np.zeros(0, np.int64)
        for batch in source.read([attribute.name], lambda share: progress(LOOKING, share)):
            places = _places(attribute, batch.column(attribute.name), places_of)
            counts = np.pad(counts, (0, len(places_of) - counts.size))
            counts += np.bincount(places[places >= 0], minlength=counts.size)
        return PeopleByValue(list(places_of), counts)
    require_id(unit.id, source.require(unit.id))
    read = list(_pairs(source, attribute, unit, key, places_of, progress))
    people = np.concatenate([np.empty(0, np.uint64), *(people for people, _ in read)])
    places = np.concatenate([np.empty(0, np.int64), *(places for _, places in read)])
    return PeopleByValue(list(places_of), _bounded(people, places, list(places_of), unit, key))


def _pairs(
    source: Source, attribute: Category, unit: Unit, key: bytes, places_of: dict[str, int], progress: Progress
) -> Iterator[tuple[Keys, Places]]:
    """The person and the value of each row that has both."""
    names = list(dict.fromkeys((attribute.name, unit.id)))
    for batch in source.read(names, lambda share: progress(LOOKING, share)):
        places = _places(attribute, batch.column(attribute.name), places_of)
        distinct, of_row = distinct_values(batch.column(unit.id))
        texts = id_texts(distinct)
        keys = np.append(person_keys([text or b"" for text in texts], key), np.uint64(0))[of_row]
        nameless = (of_row < 0) | np.array([*(text is None for text in texts), True])[of_row]
        keys[nameless] = Bits().words(int(nameless.sum()))
        counted = (places >= 0) & (~nameless if unit.null_ids != "own" else True)
        yield keys[counted], places[counted]


def _bounded(people: Keys, places: Places, names: list[str], unit: Unit, key: bytes) -> NDArray[np.int64]:
    """How many people have each value, where each counts for so many values as they have rows at most."""
    order = np.lexsort((places, people))
    people, places = people[order], places[order]
    first = np.ones(people.size, np.bool_)
    first[1:] = (people[1:] != people[:-1]) | (places[1:] != places[:-1])
    people, places = people[first], places[first]
    # Lots are drawn by the values' own hashes: their places depend on what others have.
    secret = hashlib.blake2b(b"values found", key=key, digest_size=32).digest()
    hashes = person_keys((name.encode() for name in names), secret).view(np.int64)
    kept = kept_rows(people, [hashes[places]], unit.max_rows, secret)
    return np.bincount(places[kept], minlength=len(names))


def _places(attribute: Category, column: pa.Array, places_of: dict[str, int]) -> Places:
    """Which value each row has; NOBODY where it is missing, or cannot be named. New values are added."""
    distinct, of_row = distinct_values(column)
    places = [
        NOBODY if name is None else places_of.setdefault(name, len(places_of)) for name in _names(attribute, distinct)
    ]
    return np.array([*places, NOBODY], np.int64)[of_row]


def _names(attribute: Category, values: pa.Array) -> Iterator[str | None]:
    """The name that each value would have; None where it has none, or stands for a missing one."""
    notation, able = attribute.notation, attribute.discoverable
    assert able is not None, "its values are declared"
    missing = {notation.folded(text.encode()) for text in notation.missing}
    for text in _texts(values):
        folded = None if text is None else notation.folded(text)
        yield folded.decode() if folded is not None and folded not in missing and able.can_name(folded) else None


def _texts(values: pa.Array) -> list[bytes | None]:
    """The one text of each value, as a category declares it."""
    if is_text(values.type):
        return list(as_bytes(values).to_pylist())
    if is_number(values.type) and not pa.types.is_integer(values.type):
        written = [None if value is None else number_text(value) for value in values.to_pylist()]
    else:
        written = values.cast(pa.string()).to_pylist()
    return [None if text is None else text.encode() for text in written]
