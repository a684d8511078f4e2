"""What a peer did at a task, and how it is kept: frozen records, in JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Noise:
    draws: int
    seconds: float
    mean_size: float
    """The mean of |noise|, which is what tells that the scale was the one asked for."""
    kind: str

    @property
    def nanoseconds(self) -> float:
        return 1e9 * self.seconds / self.draws


@dataclass(frozen=True)
class Marginals:
    """Cuboids at ε = 1 in all. Errors are of the cuboids that were finished; a cell without an answer counts as 0."""

    wanted: int
    finished: int
    seconds: float
    scaled_seconds: float | None
    """What all of them would take, by those that were finished; None where all were, or too few."""
    peak_bytes: int
    cells: int
    """Of the cuboids that were finished."""
    answered_cells: int
    mean_error: float
    """The mean over cuboids of the mean absolute error of their cells. [cubes, Section 6.1]"""
    people_error: float
    """The same for cells in which there are people."""
    max_error: float
    roll_up_gap: float | None
    """The most by which two cuboids disagree about a cell of a cuboid that both contain; None where no two do."""

    @property
    def whole_seconds(self) -> float | None:
        return self.seconds if self.finished == self.wanted else self.scaled_seconds

    @property
    def complete(self) -> bool:
        """Every cell of what was finished has an answer."""
        return self.answered_cells == self.cells

    @property
    def consistent(self) -> bool:
        return self.complete and self.agreeing

    @property
    def agreeing(self) -> bool:
        """Nothing disagrees, be it that next to nothing was answered."""
        return self.roll_up_gap is not None and self.roll_up_gap < 1e-3


@dataclass(frozen=True)
class Counts:
    asked: int
    median_seconds: float
    slowest_seconds: float
    mean_error: float
    peak_bytes: int
    after: str
    budget: str


Outcome = Noise | Marginals | Counts
KINDS: dict[str, type[Noise] | type[Marginals] | type[Counts]] = {
    "noise": Noise,
    "pairs": Marginals,
    "cuboids": Marginals,
    "counts": Counts,
}


@dataclass(frozen=True)
class Attempt:
    """A peer in a run: its version, and for each task what it did or, in a line, why it did not."""

    title: str
    version: str
    outcomes: Mapping[str, Outcome]
    failures: Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """One run: where, when, with how much time for a task, and everybody's attempts."""

    machine: str
    date: str
    limit_seconds: float
    people: int
    attempts: tuple[Attempt, ...]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Comparison":
        saved = json.loads(path.read_text(encoding="utf-8"))
        return cls(**saved | {"attempts": tuple(_attempt(one) for one in saved["attempts"])})

    def of(self, task: str) -> list[tuple[Attempt, Any]]:
        return [(attempt, attempt.outcomes[task]) for attempt in self.attempts if task in attempt.outcomes]


def _attempt(saved: dict[str, Any]) -> Attempt:
    outcomes = {task: KINDS[task](**fields) for task, fields in saved["outcomes"].items()}
    return Attempt(**saved | {"outcomes": outcomes})
