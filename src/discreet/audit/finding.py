"""What an audit says: checks, and under each what it found, with what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

Outcome = Literal["passed", "skipped", "warning", "failed"]
GRAVITY: dict[Outcome, int] = {"passed": 0, "skipped": 0, "warning": 1, "failed": 2}

MOST_LISTED = 20
"""So many findings of a check are listed; the others are counted."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be. `failed`: the promise is not known to hold; `warning`: look after it."""

    outcome: Outcome
    what: str
    next: str
    entry: int | None = None
    """The journal's entry that it is about, where it is about one."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Check:
    """One question that the audit asks, and the answer: `detail` says what was looked at, and how much of it."""

    name: str
    title: str
    detail: str
    findings: tuple[Finding, ...] = ()
    unlisted: int = 0
    """How many more findings there are."""
    skipped: bool = False
    """It could not be looked at, because of what other checks found."""

    @property
    def outcome(self) -> Outcome:
        if self.skipped:
            return "skipped"
        return max((finding.outcome for finding in self.findings), key=GRAVITY.__getitem__, default="passed")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "outcome": self.outcome,
            "detail": self.detail,
            "findings": [finding.to_json() for finding in self.findings],
            "unlisted": self.unlisted,
        }


@dataclass
class Findings:
    """Collects what one check finds, the gravest first, in bounded memory."""

    _kept: list[Finding] = field(default_factory=list)
    _more: int = 0

    def failed(self, what: str, next: str, entry: int | None = None) -> None:
        self._add(Finding("failed", what, next, entry))

    def warning(self, what: str, next: str, entry: int | None = None) -> None:
        self._add(Finding("warning", what, next, entry))

    def _add(self, finding: Finding) -> None:
        grave = finding.outcome == "failed" and any(kept.outcome == "warning" for kept in self._kept)
        if len(self._kept) >= MOST_LISTED:
            self._more += 1
            if not grave:
                return
            self._kept.remove(next(kept for kept in reversed(self._kept) if kept.outcome == "warning"))
        self._kept.append(finding)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def check(self, name: str, title: str, detail: str) -> Check:
        ordered = sorted(self._kept, key=lambda finding: -GRAVITY[finding.outcome])
        return Check(name, title, detail, tuple(ordered), self._more)


def skipped(name: str, title: str) -> Check:
    """A check that has nothing to look at."""
    return Check(name, title, "could not be looked at", skipped=True)


def by_advice(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that follow each other and call for the same, together."""
    return [list(alike) for _, alike in groupby(findings, key=lambda finding: (finding.outcome, finding.next))]


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: "1 charge", "2,000 charges"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(numbers: Sequence[int], most: int = 5) -> str:
    """Some numbers for people: "3, 5 and 9", or the first few and how many more there are."""
    shown = [f"{number}" for number in numbers[:most]]
    if len(numbers) > most:
        return f"{', '.join(shown)} and {len(numbers) - most:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else "none"
