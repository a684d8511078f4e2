"""A snapshot of several tables of the same people. Parents are taken first; a row has its parent's attributes beside
its own, and is left out where its parent is not there: not in the source, not that person's, or not among the rows that
are kept of them.

So what is kept of a person depends on that person's rows alone, in all tables: a key that two rows of a parent have
would break that, and is refused. [docs/explain/several-tables.md, Lemma 1]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.errors import DomainError, TableError
from discreet.fit import Fitted
from discreet.noise.bits import Bits
from discreet.private import private_folder
from discreet.progress import Progress, silent
from discreet.table.coding import Coded, distinct_values
from discreet.table.fit import FitCounter
from discreet.table.layout import codes_file, units_file
from discreet.table.source import Source
from discreet.table.take import Taker, column_types, rows_without_id, taken, write_manifest
from discreet.table.unit import Keys, Unit, id_texts, person_keys

Mask = NDArray[np.bool_]
Read = TypeVar("Read")


def take_tables(
    sources: Mapping[str, Source],
    tables: LinkedTables,
    key: bytes,
    folder: Path,
    progress: Progress = silent,
    fitted: Fitted | None = None,
) -> str:
    """Write the population of several sources into a new folder, synced; the text of its manifest. `fitted` is told of
    each. Raises as `take_snapshot`, and TableError where the key of a parent is not unique, for the custodian."""
    private_folder(folder)
    read = partial(read_tables, TableTaker, sources, tables, key, progress)
    return write_manifest(folder, {"tables": read(folder, fitted is not None, lambda taker: taken(taker, fitted))})


def read_tables(
    kind: "type[TableTaker]",
    sources: Mapping[str, Source],
    tables: LinkedTables,
    key: bytes,
    progress: Progress,
    folder: Path,
    counted: bool,
    read: "Callable[[TableTaker], Read]",
) -> dict[str, Read]:
    """What is read of each table, parents first; how its domain fits is `counted` on the way."""
    done, parents = dict[str, Read](), dict[str, Parent]()
    for table in tables:
        links = tuple(dict.fromkeys(below.key or "" for below in tables if below.parent == table.name))
        unit = Unit(table.id or table.key or "", table.max_rows, table.domain.null_ids or "drop")
        parent = None if table.parent is None else parents[table.parent]
        try:
            counter = FitCounter(table.own_domain, sources[table.name], table.name) if counted else None
            taking = sources[table.name], table.own_domain, unit, None, key, folder / table.name, progress, counter
            taker = kind(*taking, table=table, parent=parent, links=links)
            done[table.name] = read(taker)
            parents[table.name] = taker.as_parent()
        except (DomainError, TableError) as error:
            raise type(error)(f"{table.name}: {error}") from None
    return done


@dataclass(frozen=True)
class Parent:
    """The kept rows of a table, to be found by the rows below it."""

    columns: Mapping[str, NDArray[Any]]
    people: Keys
    keys: Mapping[str, Keys]
    """By each column that says which row is meant; by "" the people themselves."""

    def places(self, link: str, wanted: Keys, missing: Mask) -> NDArray[np.int64]:
        """Which row each key means; −1 where none."""
        order = np.argsort(self.keys[link], kind="stable")
        found = np.searchsorted(self.keys[link], wanted, sorter=order)
        rows = np.append(order, -1)[np.minimum(found, order.size)]
        same = np.append(self.keys[link], np.uint64(0))[rows] == wanted
        return np.where(same & (rows >= 0) & ~missing, rows, -1)


@dataclass
class TableTaker(Taker):
    """Reads one of several tables: `domain` is its own attributes, `unit` a person."""

    table: LinkedTable = field(kw_only=True)
    parent: Parent | None = field(kw_only=True)
    links: tuple[str, ...] = field(kw_only=True)
    """What tells its rows apart for those below: columns, or "" for the people."""
    _found: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The parents of the rows that were read last."""
    _keys: dict[str, list[Keys]] = field(default_factory=dict)
    _keyless: dict[str, list[Mask]] = field(default_factory=dict)

    @property
    def written(self) -> Domain:
        return self.table.domain

    @property
    def telling(self) -> tuple[str, ...]:
        named = (self.table.id, self.table.key, *self.links)
        return tuple(dict.fromkeys(column for column in named if column))

    def _identified(self, batch: pa.RecordBatch, kept: Mask, unit: Unit) -> Mask:
        somebody = np.ones(batch.num_rows, np.bool_)
        people = np.zeros(batch.num_rows, np.uint64)
        if self.table.id is not None:
            people, missing = self._hashed(batch.column(self.table.id))
            if unit.null_ids == "refuse" and missing.any():
                raise rows_without_id(unit)
            if unit.null_ids == "own":
                people[missing] = Bits().words(int(missing.sum()))
            else:
                somebody &= ~missing
        if self.parent is not None:
            people, somebody = self._below(batch, self.parent, people, somebody)
        chosen = kept & somebody
        self._people.append(people[chosen])
        for link in filter(None, self.links):
            keys, missing = self._hashed(batch.column(link))
            self._keys.setdefault(link, []).append(keys[chosen])
            self._keyless.setdefault(link, []).append(missing[chosen])
        return somebody

    def _below(self, batch: pa.RecordBatch, parent: Parent, people: Keys, somebody: Mask) -> tuple[Keys, Mask]:
        """Whose the rows are whose parents are there, and which rows those are."""
        link = self.table.key or ""
        keys, missing = (people, ~somebody) if not link else self._hashed(batch.column(link))
        self._found = parent.places(link, keys, missing)
        theirs = np.append(parent.people, np.uint64(0))[self._found]
        agrees = somebody if self.table.id is None else somebody & (people == theirs)
        return theirs, agrees & (self._found >= 0)

    def _hashed(self, column: pa.Array) -> tuple[Keys, Mask]:
        """A keyed hash of every value, and which are missing."""
        distinct, places = distinct_values(column)
        texts = id_texts(distinct)
        missing = (places < 0) | np.array([*(text is None for text in texts), True])[places]
        keys = person_keys([b"" if text is None else text for text in texts], self.key)
        return np.append(keys, np.uint64(0))[places], missing

    def _arrays(self, coded: dict[str, Coded], kept: Mask) -> dict[str, NDArray[Any]]:
        arrays = super()._arrays(coded, kept)
        if self.parent is not None:
            places = self._found[kept]
            for axis in range(self.table.own, len(self.table.domain.attributes)):
                for of in (codes_file, units_file):
                    if (column := self.parent.columns.get(of(axis - self.table.own))) is not None:
                        arrays[of(axis)] = column[places]
        return arrays

    def columns_kept(self) -> dict[str, NDArray[Any]]:
        """The codes and amounts of the rows that were kept."""
        return {name: np.fromfile(self.folder / name, kind) for name, kind in column_types(self.table.domain).items()}

    def as_parent(self) -> Parent:
        """The rows that were kept. Raises TableError where those below could mean several."""
        people = np.concatenate([np.empty(0, np.uint64), *self._people])
        keys = {}
        for link in self.links:
            mine, gone = people, np.zeros(people.size, np.bool_)
            if link:
                mine = np.concatenate([np.empty(0, np.uint64), *self._keys.get(link, [])])
                gone = np.concatenate([np.empty(0, np.bool_), *self._keyless.get(link, [])])
            self._require_unique(mine[~gone], link or str(self.table.id))
            # A row without a key is nobody's parent: nothing hashes to a number that is drawn.
            keys[link] = np.where(gone, Bits().words(gone.size), mine)[self.kept]
        return Parent(self.columns_kept(), people[self.kept], keys)

    def _require_unique(self, keys: Keys, column: str) -> None:
        alike = rows_alike(keys)
        if alike:
            raise TableError(
                f"{alike:,} rows have a {column} that another row has too, and the rows below know "
                "their parent by it; make it unique in the table, or name another key"
            )


def rows_alike(keys: Keys) -> int:
    """How many rows have a key that another one has too."""
    _, counts = np.unique(keys, return_counts=True)
    return int(counts[counts > 1].sum())
