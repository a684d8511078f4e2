"""What all attacks on a vault do: people are made up, and a copy is asked about all of them until it says no more."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answer.reply import Row
from discreet.attacks.guesses import Attempt, BitAttack, Chart
from discreet.attacks.stage import ONE, Counts, Stage, set_stage
from discreet.attacks.stand_in import require_sql, stand_in
from discreet.errors import BudgetExceeded, UnsupportedQuery
from discreet.noise.bits import Bits
from discreet.noise.law import Noise
from discreet.progress import Progress
from discreet.query.plan import Measurement, Plan
from discreet.vault.vault import Vault

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_TRIALS = 100_000
MOST_COPIES = 20
"""Where a domain has room for few people at a time, at most so many copies are attacked one after another."""


@dataclass
class Rehearsal:
    """The setting of an attack: whose promise, where people stand, where coins come from; and what it took."""

    vault: Vault
    stage: Stage
    copies: int
    confidence: float
    bits: Bits
    progress: Progress
    spent: float = 0.0
    """The share of a copy's budget that was spent where most was."""

    @classmethod
    def of(
        cls,
        vault: Vault,
        width: int,
        people: int,
        trials: int,
        confidence: float,
        bits: Bits | None,
        progress: Progress,
    ) -> "Rehearsal":
        """Room for so many trials: as many blocks of this width as take them, with so many people in each to guess at
        most."""
        if not 1 <= trials <= MOST_TRIALS:
            raise UnsupportedQuery(f"an attack takes 1 to {MOST_TRIALS:,} trials")
        if not 0 < confidence < 1:
            raise UnsupportedQuery("a confidence lies between 0 and 1, as in 0.95")
        require_sql(vault)
        stage = set_stage(vault.domain, vault.ledger.budget.neighbours, width, -(-trials // people))
        at_once = stage.blocks * min(people, stage.width)
        return cls(vault, stage, min(-(-trials // at_once), MOST_COPIES), confidence, bits or Bits(), progress)

    @property
    def rows_each(self) -> int:
        """A person has as many rows as the privacy unit allows."""
        return self.vault.ledger.budget.max_rows

    def play(self, people: Callable[[], tuple[Counts, Counts]]) -> Iterator[tuple[Counts, Vault]]:
        """Copies of the vault, each over people of its own: how many there are with a bit of 1 and of 0 at each cell.
        Yields the former with the copy."""
        unit = self.vault.ledger.header["unit"]
        for number in range(self.copies):
            self.progress("attacking", number / self.copies)
            ones, zeros = people()
            with stand_in(self.vault, self.stage.table(ones, zeros, self.rows_each, unit and unit["id"])) as copy:
                yield ones, copy
                report = copy.budget()
                self.spent = max(self.spent, float(report.spent / (report.spent + report.left)))

    def found(self, kind: str, attempts: tuple[Attempt, ...], chart: Chart) -> BitAttack:
        # A copy is unspent, whatever the vault is: facts that came too late have overdrawn the vault, not the copy.
        guarantee = self.vault.ledger.guarantee
        return BitAttack(kind, self._bit, guarantee, self.spent, attempts, self.confidence, chart)

    @property
    def _bit(self) -> str:
        if self.stage.secret is None:
            return "whether a person is in the table"
        one, zero = (self.stage.domain[self.stage.secret].label(code) for code in (0, 1))
        return f"whether a person's {self.stage.secret} is {one} or {zero}"


def ask_run(
    copy: Vault, stage: Stage, run: int, cells: list[int], scale: Fraction, kinds: Counter[str], code: int = ONE
) -> list[Row]:
    """What a vault says of some cells of a run, group by group; nothing where it refuses. `kinds` counts numbers."""
    try:
        rows = list(copy.ask(stage.sql(run, cells, code), scale=scale).rows)
    except BudgetExceeded:
        kinds["refused"] += stage.groups
        return []
    kinds.update("refused" if row.value is None else row.kind for row in rows)
    return rows


def ask_blocks(
    copy: Vault, stage: Stage, cells: list[int], scale: Fraction, kinds: Counter[str], code: int = ONE
) -> Floats:
    """What a vault says of some cells of every block; NaN where it refuses, or answers for other cells than asked."""
    values = np.full((stage.runs, stage.groups), np.nan)
    for run in range(stage.runs):
        for group, row in enumerate(ask_run(copy, stage, run, cells, scale, kinds, code)):
            if row.value is not None and row.answered == row.asked:
                values[run, group] = row.value
    return values


def measure_blocks(copy: Vault, stage: Stage, cells: list[int], law: Noise, kinds: Counter[str]) -> Floats:
    """Some cells of every block, measured: what `ask` does where nothing that was released will do, without looking
    for it first. NaN where the budget is gone."""
    if not cells:
        return np.zeros((stage.runs, stage.groups))
    queries = [stage.query(run, cells) for run in range(stage.runs)]
    try:
        release = copy.measure(Plan(tuple(Measurement(query, law) for query in queries)))
    except BudgetExceeded:
        kinds["refused"] += stage.blocks
        return np.full((stage.runs, stage.groups), np.nan)
    kinds["measured"] += stage.blocks
    return np.stack([stage.groups_of(noisy.units) for noisy in release.answers]).astype(np.float64)
