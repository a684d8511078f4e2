"""Do the domains of several tables fit their sources? Columns, keys and bounds, exactly: for the custodian alone.

Rows are read as for a snapshot, parents first, and nothing is written. Which of a person's rows are kept is drawn with
a key of its own: below a table that leaves some out, numbers may differ a little from those that `init` tells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.tables import LinkedTables
from discreet.fit import Fit
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent
from discreet.table.source import Source
from discreet.table.take import column_types
from discreet.table.take_tables import TableTaker, read_tables, rows_alike
from discreet.table.unit import Keys

KEY_WORDS = 4  # 256 bits


def fit_sources(sources: Mapping[str, Source], tables: LinkedTables, progress: Progress = silent) -> dict[str, Fit]:
    """Read each table once, and say what would become of its rows. Raises as taking a snapshot does, but for keys that
    are not unique: those are counted."""
    key = Bits().words(KEY_WORDS).tobytes()
    read = read_tables(TableFitter, sources, tables, key, progress, Path(), True, _read)
    return {name: taker.counter.fit() for name, taker in read.items() if taker.counter is not None}


def _read(taker: TableTaker) -> TableTaker:
    taker.columns()
    return taker


@dataclass
class TableFitter(TableTaker):
    """Reads one of several tables, and keeps in memory what the tables below it need."""

    _rows_kept: dict[str, NDArray[Any]] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """Read the table, and find which rows are kept. Nothing is written."""
        assert self.unit is not None, "of several tables each has people"
        assert self.counter is not None, "its rows are counted"
        whole: dict[str, list[NDArray[Any]]] = {
            name: [np.empty(0, kind)] for name, kind in column_types(self.written).items()
        }
        for batch in self._coded():
            for name, array in batch.items():
                whole[name].append(array.astype(whole[name][0].dtype, copy=False))
        arrays = {name: np.concatenate(parts) for name, parts in whole.items()}
        people = np.concatenate([np.empty(0, np.uint64), *self._people])
        self.kept = self._kept(people, arrays, self.unit)
        self.counter.beyond_bound = people.size - int(np.count_nonzero(self.kept))
        self._rows_kept = {name: array[self.kept] for name, array in arrays.items()}
        return {}

    def columns_kept(self) -> dict[str, NDArray[Any]]:
        return self._rows_kept

    def _require_unique(self, keys: Keys, column: str) -> None:  # noqa: ARG002
        """Nobody is refused who only looks."""
        assert self.counter is not None, "its rows are counted"
        self.counter.alike += rows_alike(keys)
