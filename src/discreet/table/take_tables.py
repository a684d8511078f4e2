"""A snapshot of several tables of the same people. Parents are taken first; a row has its parent's attributes beside
its own, and is left out where its parent is not there: not in the source, not that person's, or not among the rows that
are kept of them.

So what is kept of a person depends on that person's rows alone, in all tables: a key that two rows of a parent have
would break that, and is refused. [docs/explain/several-tables.md, Lemma 1]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
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
from discreet.table.layout import PEOPLE, PERSON, codes_file, key_file, units_file
from discreet.table.periods import Periods
from discreet.table.snapshot import Snapshot
from discreet.table.source import Source
from discreet.table.take import ColumnFiles, Taker, column_types, manifest_of, rows_without_id, taken, write_manifest
from discreet.table.unit import Keys, Unit, id_texts, person_keys

Mask = NDArray[np.bool_]
Read = TypeVar("Read")

NO_KEY = np.uint64(0)
"""The key of a row that has none, and is nobody's parent: as unlikely to be a row's hash as two are to be alike."""


def take_tables(
    sources: Mapping[str, Source],
    tables: LinkedTables,
    key: bytes,
    folder: Path,
    progress: Progress = silent,
    fitted: Fitted | None = None,
    erased: Keys | None = None,
    periods: Mapping[str, Periods] = MappingProxyType({}),
    standing: Mapping[str, Snapshot] = MappingProxyType({}),
) -> str:
    """Write the population of several sources into a new folder, synced; the text of its manifest. `fitted` is told of
    each. Whose key is `erased` is left out of all. Of tables that grow only some `periods` are taken; where those are
    appended, tables that do not grow are `standing`. Raises as `take_snapshot`, and TableError where the key of a
    parent is not unique, for the custodian."""

    def take(taker: TableTaker) -> dict[str, Any]:
        taker.erased, taker.periods = erased, periods.get(taker.table.name)
        taker.grows = bool(periods)
        if taker.counter is not None and taker.periods is not None and taker.has_own_periods:
            taker.counter.expect(taker.periods.attribute.name, taker.periods.first, taker.periods.last)
        return taken(taker, fitted)

    def stays(table: LinkedTable, links: tuple[str, ...]) -> tuple[dict[str, Any], Parent]:
        return _written_again(standing[table.name], folder / table.name), _parent_before(standing[table.name], links)

    private_folder(folder)
    counted = fitted is not None
    parts = read_tables(TableTaker, sources, tables, key, progress, folder, counted, take, stays if standing else None)
    return write_manifest(folder, {"tables": parts})


def read_tables(
    kind: "type[TableTaker]",
    sources: Mapping[str, Source],
    tables: LinkedTables,
    key: bytes,
    progress: Progress,
    folder: Path,
    counted: bool,
    read: "Callable[[TableTaker], Read]",
    stays: "Callable[[LinkedTable, tuple[str, ...]], tuple[Read, Parent]] | None" = None,
) -> dict[str, Read]:
    """What is read of each table, parents first; how its domain fits is `counted` on the way. One without a source is
    not read: it `stays`."""
    done, parents = dict[str, Read](), dict[str, Parent]()
    for table in tables:
        links = tuple(dict.fromkeys(below.key or "" for below in tables if below.parent == table.name))
        if stays is not None and table.name not in sources:
            done[table.name], parents[table.name] = stays(table, links)
            continue
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


def people_of(snapshot: Snapshot) -> Keys:
    """The key of each row's person."""
    keys: Keys = snapshot.column(PEOPLE)[snapshot.column(PERSON)]
    return keys


def _written_again(snapshot: Snapshot, folder: Path) -> dict[str, Any]:
    """A table that stays as it is, in another folder; what a manifest says of it."""
    private_folder(folder)
    types = {name: np.dtype(about["type"]) for name, about in snapshot.manifest["columns"].items()}
    with ColumnFiles(folder, types, snapshot.key) as written:
        written.add({name: snapshot.column(name) for name in types})
        about = written.about()
    return manifest_of(snapshot.size, about, snapshot.manifest["stamp"])


def _parent_before(snapshot: Snapshot, links: tuple[str, ...]) -> "Parent":
    people = people_of(snapshot)
    keys = {link: snapshot.column(key_file(place)) if link else people for place, link in enumerate(links)}
    columns = {name: snapshot.column(name) for name in column_types(snapshot.domain)}
    return Parent(columns, people, keys, people.size)


@dataclass(frozen=True)
class Parent:
    """The kept rows of a table, to be found by the rows below it; behind them those of people who were erased, by which
    the rows below are known to be theirs."""

    columns: Mapping[str, NDArray[Any]]
    people: Keys
    keys: Mapping[str, Keys]
    """By each column that says which row is meant; by "" the people themselves."""
    before: int = 0
    """How many of them, the first, were there before rows were appended."""

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
    grows: bool = False
    """Whether rows of later periods may be appended, here or below."""
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
            if self.periods is not None and not self.has_own_periods:
                somebody &= ~self._late(kept & somebody, self.parent, self.periods)
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

    @property
    def has_own_periods(self) -> bool:
        """Whether a row says itself of which period it is; else it is of that of the row that it belongs to."""
        return self.domain.growing is not None

    def _in_periods(self, coded: dict[str, Coded], kept: Mask, periods: Periods) -> Mask:
        return super()._in_periods(coded, kept, periods) if self.has_own_periods else np.ones(kept.size, np.bool_)

    def _late(self, somebodys: Mask, parent: Parent, periods: Periods) -> Mask:
        """Rows that belong to one of a period that was closed before, and so are of it too."""
        late = periods.left_out(somebodys & (self._found < parent.before))
        if self.counter is not None:
            self.counter.late += int(np.count_nonzero(late))
            self.counter.nameless -= int(np.count_nonzero(late))
        return late

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
        """The rows that were kept, behind those from before. Raises TableError where those below could mean several."""
        people = np.concatenate([np.empty(0, np.uint64), *self._people])
        rows = np.concatenate([np.flatnonzero(self.kept), np.flatnonzero(self.gone)])
        keys = {}
        for link in self.links:
            mine, before = (self._keys_by(link), self._keys_before(link)) if link else (people, self._people_before)
            # Of people who come again the row from before stays; of rows that are told apart there can be one.
            told = np.concatenate([before, mine]) if link else mine
            self._require_unique(told[told != NO_KEY], link or str(self.table.id))
            keys[link] = np.concatenate([before, mine[rows]])
        nothing = np.zeros(np.count_nonzero(self.gone), np.uint8)
        columns = {name: np.append(kept, nothing.astype(kept.dtype)) for name, kept in self.columns_kept().items()}
        return Parent(columns, np.concatenate([self._people_before, people[rows]]), keys, self._people_before.size)

    @property
    def _people_before(self) -> Keys:
        return np.empty(0, np.uint64) if self._onto is None else people_of(self._onto)

    def _keys_before(self, link: str) -> Keys:
        onto = self._onto
        return np.empty(0, np.uint64) if onto is None else onto.column(key_file(self.links.index(link)))

    def _keys_by(self, link: str) -> Keys:
        """What the rows that were read are called by those below."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys.get(link, [])])
        return np.where(np.concatenate([np.empty(0, np.bool_), *self._keyless.get(link, [])]), NO_KEY, keys)

    def _beside(self, kept: Mask) -> dict[str, NDArray[Any]]:
        """Where rows below may be appended later, they are to find the row that they belong to."""
        named = [(place, link) for place, link in enumerate(self.links) if link and self.grows]
        return {key_file(place): self._keys_by(link)[kept] for place, link in named}

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
