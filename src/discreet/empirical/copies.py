"""Neighbouring tables in one vault, many copies of each side by side: one release is many runs.

A public column `copy` tells the copies apart. What is released by copy, of any query, is computed and drawn for each of
them by itself; so every copy's numbers are one run of what the vault does with the small table that was copied, from
SQL to the ledger, and the stated cost of the release is that of one run: nobody is in two copies. Which copies are of
which table is drawn by lot, in one vault: where something is computed from all of them together, as the roll-ups of a
consistent cube are, it is the same for both.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.empirical.evidence import Outcomes
from discreet.ledger.guarantee import Guarantee, Neighbours
from discreet.noise.bits import Bits
from discreet.release.release import Numbers
from discreet.vault.vault import Vault

Row = tuple[object, ...]
"""A row's values of the attributes, in their order; with an id, a person's number first."""
Released = tuple[Outcomes | Numbers, Guarantee]
Releasing = Callable[[Vault, int], Released]
"""Releases so many runs: as many as the vault has copies, or where it has one so many of it."""

PEOPLE = 1000
"""Ids of people in copy n are n times this and up: no copy has as many people."""
ATTRIBUTES = {
    "sex": (pa.string(), 'kind = "category"\nvalues = ["F", "M"]\nnull = true'),
    "age": (pa.int64(), 'kind = "integer"\nlow = 0\nhigh = 9\noutside = "clamp"'),
    "change": (pa.int64(), 'kind = "integer"\nlow = -5\nhigh = 5\noutside = "clamp"'),
    "income": (pa.float64(), 'kind = "bins"\nedges = [0, 10, 50]\ngrain = 1\noutside = "clamp"\nnull = true'),
}


@dataclass(frozen=True)
class Tables:
    """Two small tables that are neighbours. `max_rows` where people have ids, and several rows each."""

    words: str
    attributes: tuple[str, ...]
    first: Sequence[Row]
    second: Sequence[Row]
    neighbours: Neighbours
    max_rows: int | None = None

    def copied(self, of_first: NDArray[np.bool_]) -> pa.Table:
        """A copy for each flag: of the first table, or of the second. A person of one copy is in no other."""
        parts = [(self.first, np.flatnonzero(of_first)), (self.second, np.flatnonzero(~of_first))]
        return pa.concat_tables(self._copied(rows, places) for rows, places in parts)

    def _copied(self, rows: Sequence[Row], places: NDArray[np.int64]) -> pa.Table:
        copy = np.repeat(places, len(rows))
        columns = {"copy": pa.array(copy, pa.int64())}
        if self.max_rows is not None:
            people = pa.array([row[0] for row in rows] * len(places), pa.int64())
            columns["person"] = pc.add(people, pa.array(PEOPLE * copy, pa.int64()))
        for place, name in enumerate(self.attributes, start=self.max_rows is not None):
            columns[name] = pa.array([row[place] for row in rows] * len(places), ATTRIBUTES[name][0])
        return pa.table(columns)

    def domain(self, copies: int) -> str:
        """The domain of so many copies, in TOML."""
        copy = f'[attributes.copy]\nkind = "integer"\nlow = 0\nhigh = {copies - 1}\nsource = "made up"'
        parts = [f'[attributes.{name}]\n{ATTRIBUTES[name][1]}\nsource = "made up"' for name in self.attributes]
        ids = [] if self.max_rows is None else ['null_ids = "own"']
        return "\n".join(['name = "audited"', *ids, copy, *parts]) + "\n"

    @property
    def unit(self) -> dict[str, Any]:
        return {} if self.max_rows is None else {"id": "person", "max_rows": self.max_rows}


def runs_of(
    tables: Tables, release: Releasing, runs: int, budget: Mapping[str, Any], most_copies: int
) -> tuple[Outcomes, Outcomes, Guarantee]:
    """So many runs of what a vault with this budget releases for either table, and what is stated of each run.

    A vault has at most so many copies; there are as many vaults as that takes. With one copy a vault has nothing but
    the first table, or the second, and releases all runs of it.
    """
    settings = {"neighbours": tables.neighbours, **budget, **tables.unit}

    def released(of_first: NDArray[np.bool_], number: int) -> tuple[Outcomes, Guarantee]:
        with vault_over(tables.copied(of_first), tables.domain(len(of_first)), settings) as vault:
            outcomes, stated = release(vault, number)
        return np.asarray(outcomes, np.float64).reshape(number, -1), stated

    if most_copies == 1:
        (first, stated), (second, _) = (released(np.array([of_first]), runs) for of_first in (True, False))
        return first, second, stated
    parts, vaults = [], -(-2 * runs // most_copies)
    for place in range(vaults):
        part = runs * (place + 1) // vaults - runs * place // vaults
        of_first = np.argsort(Bits().words(2 * part)) < part
        parts.append((of_first, *released(of_first, 2 * part)))
    # What vaults have computed from all of their copies may differ a little between them: runs of all are mixed.
    first = _mixed(np.concatenate([outcomes[of_first] for of_first, outcomes, _ in parts]))
    second = _mixed(np.concatenate([outcomes[~of_first] for of_first, outcomes, _ in parts]))
    return first, second, parts[0][2]


def _mixed(outcomes: Outcomes) -> Outcomes:
    return outcomes[np.argsort(Bits().words(len(outcomes)))]


@contextmanager
def vault_over(table: pa.Table, domain: str, settings: dict[str, Any]) -> Iterator[Vault]:
    """A vault in a folder that is thrown away, and its receipts too: an audit's vaults are not the user's."""
    before = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = name
        try:
            (folder / "audited.toml").write_text(domain)
            vault = Vault.init(folder / "vault", table=table, domain=folder / "audited.toml", **settings)
            with closing(vault.ledger):
                yield vault
        finally:
            if before is None:
                del os.environ["XDG_STATE_HOME"]
            else:
                os.environ["XDG_STATE_HOME"] = before
