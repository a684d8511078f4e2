"""From a source to a snapshot: read once, coded, bounded, written. What fails leaves nothing behind that counts."""

import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import TableError
from discreet.fit import Fitted
from discreet.noise.bits import Bits
from discreet.private import private_file, private_folder
from discreet.progress import Progress, silent
from discreet.table.coding import Coded, Coder, coders, distinct_values
from discreet.table.count import MOST_ROWS
from discreet.table.fit import FitCounter
from discreet.table.layout import (
    ERASED,
    FORMAT,
    MANIFEST,
    PEOPLE,
    PERSON,
    PLACE,
    code_type,
    codes_file,
    has_units,
    unit_type,
    units_file,
)
from discreet.table.periods import Periods
from discreet.table.roster import Roster, canonical_id, key_of
from discreet.table.snapshot import Snapshot, column_digest
from discreet.table.source import Source, read_ahead
from discreet.table.unit import Keys, Unit, id_texts, in_period, kept_rows, person_keys, require_id

READING = "reading the table"


def take_snapshot(
    source: Source,
    domain: Domain,
    unit: Unit | None,
    roster: Roster | None,
    key: bytes,
    folder: Path,
    progress: Progress = silent,
    fitted: Fitted | None = None,
    erased: Keys | None = None,
    periods: Periods | None = None,
) -> str:
    """Write the population of a source into a new folder, synced; the text of its manifest. `fitted` is told how the
    domain fits, which is for the custodian alone, and may raise. Whose key is `erased` is left out. Of a table that
    grows only some `periods` are taken; where they are appended, the rows of the snapshot before stand first, as they
    were.

    Raises DomainError where the columns do not fit the domain, and TableError where the source cannot be read to its
    end, or has rows without an id that the domain refuses: both are for the custodian, and quote no value.
    """
    counter = None if fitted is None else FitCounter(domain, source)
    if counter is not None and periods is not None:
        counter.expect(periods.attribute.name, periods.first, periods.last)
    taker = Taker(source, domain, unit, roster, key, folder, progress, counter, erased, periods)
    return write_manifest(folder, taken(taker, fitted))


def taken(taker: "Taker", fitted: Fitted | None) -> dict[str, Any]:
    """Write the rows of one table into its folder; what a manifest says of them."""
    private_folder(taker.folder)
    periods = taker.periods
    of_rows_before = periods is not None and periods.elsewhere and periods.onto
    stamp = of_rows_before.manifest["stamp"] if of_rows_before else taker.source.stamp()
    columns = taker.columns()
    if fitted is not None and taker.counter is not None:
        fitted(taker.counter.fit())
    grown = None if periods is None else {**periods.rows_before, periods.closed: taker.rows}
    return manifest_of(taker.rows, columns, stamp, grown)


def manifest_of(
    rows: int, columns: dict[str, Any], stamp: Any, grown: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """What a table's folder holds. `grown`: how many rows there are up to each period that an append closed, of a table
    that grows."""
    nonce = Bits().words(2).tobytes().hex()  # two that are taken of one table are still two
    manifest = {"format": FORMAT, "rows": rows, "columns": columns, "stamp": stamp, "nonce": nonce}
    return {**manifest, "grown": dict(grown)} if grown else manifest


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Write what a snapshot consists of, synced; the same as text."""
    text = json.dumps(manifest, sort_keys=True)
    with _new_file(folder / MANIFEST) as file:
        file.write(text.encode())
        _sync(file)
    return text


@dataclass
class Taker:
    """Reads one source, and writes its population as columns."""

    source: Source
    domain: Domain
    unit: Unit | None
    roster: Roster | None
    key: bytes
    folder: Path
    progress: Progress
    counter: FitCounter | None
    erased: Keys | None = None
    periods: Periods | None = None
    rows: int = 0
    kept: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    """Which of the rows that are somebody's are written."""
    gone: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    """Which of them are of people who were erased."""
    _people: list[Keys] = field(default_factory=list)
    _places: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def written(self) -> Domain:
        """What columns are written of."""
        return self.domain

    def columns(self) -> dict[str, Any]:
        """Write every column; its type and digest by its name."""
        types = column_types(self.written)
        if self.unit is None:
            with ColumnFiles(self.folder, types, self.key) as written:
                if self._onto is not None:
                    self.rows = self._onto.size
                    written.add({name: self._onto.column(name) for name in types})
                for batch in self._coded():
                    written.add(batch)
                return written.about()
        with ColumnFiles(self.folder, {f"{name}.all": kind for name, kind in types.items()}, self.key) as everyone:
            for batch in self._coded():
                everyone.add({f"{name}.all": array for name, array in batch.items()})
        return self._bounded(self.unit, types)

    @property
    def _onto(self) -> Snapshot | None:
        return None if self.periods is None else self.periods.onto

    def _coded(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The codes and amounts of rows that have a code for every attribute, a batch at a time."""
        code = coders(self.source.require, self.domain)
        names = list(self.domain.names)
        for column in self.telling:
            require_id(column, self.source.require(column))
        names = list(dict.fromkeys((*names, *self.telling)))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            batches = self.source.read(names, lambda share: self.progress(READING, share))
            for batch in read_ahead(batches, pool):
                coded = dict(zip(code, pool.map(partial(self._coded_column, code, batch), code), strict=True))
                kept = np.logical_and.reduce([column.codes >= 0 for column in coded.values()])
                if self.counter is not None:
                    self.counter.add_rows(kept)
                if self.periods is not None:
                    kept &= self._in_periods(coded, kept, self.periods)
                if self.unit is not None:
                    fitting = int(np.count_nonzero(kept))
                    kept &= self._identified(batch, kept, self.unit)
                    if self.counter is not None:
                        self.counter.nameless += fitting - int(np.count_nonzero(kept))
                self.rows += int(np.count_nonzero(kept))
                if self.rows >= MOST_ROWS:
                    raise TableError(f"the table has {MOST_ROWS:,} rows or more; read it where it is, with --live")
                yield self._arrays(coded, kept)
        self.progress(READING, 1.0)

    def _in_periods(self, coded: dict[str, Coded], kept: NDArray[np.bool_], periods: Periods) -> NDArray[np.bool_]:
        """Which rows are of the periods that are taken."""
        codes = coded[periods.attribute.name].codes
        late, to_come = periods.late(codes), periods.to_come(codes)
        if self.counter is not None:
            self.counter.late += int(np.count_nonzero(late & kept))
            self.counter.to_come += int(np.count_nonzero(to_come & kept))
        return np.asarray(~late & ~to_come)

    def _coded_column(self, code: dict[str, Coder], batch: pa.RecordBatch, name: str) -> Coded:
        coded = code[name](batch.column(name))
        if self.counter is not None:
            self.counter.add_column(name, batch.column(name), coded.codes)
        return coded

    def _arrays(self, coded: dict[str, Coded], kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        everyone = bool(kept.all())
        arrays = {}
        for axis, column in enumerate(coded.values()):
            arrays[codes_file(axis)] = column.codes if everyone else column.codes[kept]
            if column.units is not None:
                arrays[units_file(axis)] = column.units if everyone else column.units[kept]
        return arrays

    @property
    def telling(self) -> tuple[str, ...]:
        """The columns that tell people apart, beside the attributes."""
        return () if self.unit is None else (self.unit.id,)

    def _identified(self, batch: pa.RecordBatch, kept: NDArray[np.bool_], unit: Unit) -> NDArray[np.bool_]:
        """Which rows are somebody's; the keys of those, and of `kept`, are remembered."""
        distinct, places = distinct_values(batch.column(unit.id))
        texts = id_texts(distinct)
        if self.roster is not None:
            texts = [text and canonical_id(text) for text in texts]
        missing = (places < 0) | np.array([*(text is None for text in texts), True])[places]
        if unit.null_ids == "refuse" and missing.any():
            raise rows_without_id(unit)
        known = [b"" if text is None else text for text in texts]
        keys = np.append(person_keys(known, self.key), np.uint64(0))[places]
        somebody = ~missing if unit.null_ids != "own" else np.ones(missing.size, np.bool_)
        if self.roster is not None:
            on_roster = np.append(self.roster.places(np.array([key_of(text) for text in known], np.int64)), -1)[places]
            somebody &= on_roster >= 0
            self._places.append(on_roster[kept & somebody])
        keys[missing] = Bits().words(int(missing.sum()))
        self._people.append(keys[kept & somebody])
        return somebody

    def _bounded(self, unit: Unit, types: dict[str, np.dtype[Any]]) -> dict[str, Any]:
        """Keep at most so many rows of each person who was not erased, and number the people."""
        whole = {name: np.fromfile(self.folder / f"{name}.all", kind) for name, kind in types.items()}
        people = np.concatenate([np.empty(0, np.uint64), *self._people])
        kept = self._kept(people, whole, unit)
        self.gone = np.isin(people, [] if self.erased is None else self.erased)
        kept &= ~self.gone
        self.kept = kept
        before, onto = np.empty(0, np.uint64), self._onto
        arrays = {name: column[kept] for name, column in whole.items()} | self._beside(kept)
        types = types | {name: array.dtype for name, array in arrays.items() if name not in types}
        if onto is not None:
            before = onto.column(PEOPLE)[onto.column(PERSON)]
            arrays = {name: np.concatenate([onto.column(name), column]) for name, column in arrays.items()}
        keys, numbers = np.unique(np.concatenate([before, people[kept]]), return_inverse=True)
        arrays |= {PERSON: numbers, PEOPLE: keys}
        types = types | {PERSON: np.min_scalar_type(max(keys.size - 1, 0)), PEOPLE: np.dtype(np.uint64)}
        if self.erased is not None:
            arrays[ERASED], types[ERASED] = self.erased, np.dtype(np.uint64)
        if self.roster is not None:
            arrays[PLACE] = np.concatenate([np.empty(0, np.int64), *self._places])[kept]
            types[PLACE] = np.dtype(np.int64)
        self.rows = numbers.size
        if self.counter is not None:
            self.counter.erased = int(np.count_nonzero(self.gone))
            self.counter.beyond_bound = people.size - self.counter.erased - int(np.count_nonzero(kept))
        with ColumnFiles(self.folder, types, self.key) as written:
            written.add(arrays)
            about = written.about()
        for name in whole:
            (self.folder / f"{name}.all").unlink()
        return about

    def _beside(self, kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Further columns of the rows that are kept."""
        return {}

    def _kept(self, people: Keys, whole: dict[str, NDArray[Any]], unit: Unit) -> NDArray[np.bool_]:
        """Which new rows are in the population. Those that a person has already are never displaced: so many fewer new
        ones are kept. Where the bound is on the rows of one period, each period is bounded by itself."""
        if self.periods is not None and unit.each_period:
            codes = whole[codes_file(self.domain.axis(self.periods.attribute.name))]
            return kept_rows(in_period(people, codes), whole.values(), unit.max_rows, self.key)
        onto = self._onto
        if onto is None:
            return kept_rows(people, whole.values(), unit.max_rows, self.key)
        rows = np.bincount(onto.column(PERSON), minlength=onto.column(PEOPLE).size)
        return kept_rows(people, whole.values(), unit.max_rows, self.key, (onto.column(PEOPLE), rows))


def column_types(domain: Domain) -> dict[str, np.dtype[Any]]:
    """The types of the columns of codes and amounts, by their names."""
    types = {codes_file(axis): code_type(a) for axis, a in enumerate(domain.attributes)}
    return types | {units_file(axis): unit_type(a) for axis, a in enumerate(domain.attributes) if has_units(a)}


def rows_without_id(unit: Unit) -> TableError:
    return TableError(
        f"the table has rows without {unit.id}, and its domain refuses them (null_ids): complete them, leave "
        'them out of the table, or say null_ids = "drop" or "own" in the domain of a new vault'
    )


class ColumnFiles:
    """Files that columns are appended to, hashed as they grow."""

    def __init__(self, folder: Path, types: dict[str, np.dtype[Any]], key: bytes) -> None:
        self.types = types
        self._files = {name: _new_file(folder / name) for name in types}
        self._digests = {name: column_digest(key) for name in types}

    def __enter__(self) -> "ColumnFiles":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            narrow = np.ascontiguousarray(array.astype(self.types[name], copy=False))
            self._digests[name].update(narrow.data)
            self._files[name].write(narrow.data)

    def about(self) -> dict[str, Any]:
        for file in self._files.values():
            _sync(file)
        return {
            name: {"type": self.types[name].str, "digest": digest.hexdigest()} for name, digest in self._digests.items()
        }


def _new_file(path: Path) -> IO[bytes]:
    return os.fdopen(private_file(path, os.O_WRONLY | os.O_EXCL), "wb")


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
