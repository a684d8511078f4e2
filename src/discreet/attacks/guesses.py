"""What an attack on a vault comes to: guesses of people's bits, counted, beside what the guarantee lets them be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.bound import advantage_bound
from discreet.empirical.evidence import lower_limit, upper_limit
from discreet.ledger.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALARM = 1e-5
"""The chance that an attack on a vault which keeps its promise is a warning."""


@dataclass(frozen=True)
class Guesses:
    """How many bits, each a fair coin, were guessed right."""

    right: int
    of: int

    @classmethod
    def of_bits(cls, said: NDArray[np.bool_], bits: NDArray[np.bool_]) -> "Guesses":
        return cls(int(np.count_nonzero(said == bits)), bits.size)

    @property
    def advantage(self) -> float:
        """TPR − FPR, estimated: with fair bits its mean is twice the share that is right, less one."""
        return 2 * self.right / self.of - 1

    def interval(self, confidence: float) -> tuple[float, float]:
        """Clopper and Pearson's, for the advantage.

        Bits that are guessed from the same answers are not independent. The lower end holds against an ε all the same:
        given the answers and all other bits, a guess is right with probability at most e^ε/(1 + e^ε), so that how many
        are right is at most binomial. [Steinke, Nasr, Jagielski 2023, Proposition 5.1]
        """
        error = (1 - confidence) / 2
        low, high = lower_limit(self.right, self.of, error), upper_limit(self.right, self.of, error)
        return 2 * low - 1, 2 * high - 1


@dataclass(frozen=True)
class Attempt:
    """One way to answer questions, and what an attacker guessed from the answers."""

    against: str
    guesses: Guesses
    questions: int
    protected: bool = False
    """Whether it is the vault that answers."""
    answers: Mapping[str, int] = field(default_factory=dict)
    """Of a vault: how many numbers were measured, repeated, derived, relaxed or refused."""


@dataclass(frozen=True)
class Chart:
    """Lines that show how an attack gets on: names with their places and heights."""

    title: str
    along: str
    meaning: str
    lines: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    level: float | None = None
    """A height to compare with, …"""
    levelled: str = ""
    """… and what it means."""
    scales: Literal["linear", "log-x", "log-log"] = "linear"
    bounds: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict)
    """Lines that are no result of the attack."""


@dataclass(frozen=True)
class BitAttack:
    """An attack on made-up people behind a vault's own promise: how well their bits are guessed, with and without."""

    kind: str
    bit: str
    """What a person's bit says."""
    guarantee: Guarantee
    spent: float
    """The share of the copy's budget that was spent where most was."""
    attempts: tuple[Attempt, ...]
    confidence: float
    chart: Chart

    @property
    def bound(self) -> float:
        return advantage_bound(self.guarantee)

    @property
    def people(self) -> int:
        return max(attempt.guesses.of for attempt in self.attempts)

    @property
    def warns(self) -> bool:
        """Whether the vault surely tells more than its guarantee lets it."""
        vaults = [attempt.guesses for attempt in self.attempts if attempt.protected]
        confidence = 1 - 2 * ALARM / len(vaults)
        return max(guesses.interval(confidence)[0] for guesses in vaults) > self.bound

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "bit": self.bit,
            "people": self.people,
            "guarantee": self.guarantee.to_json(),
            "bound": self.bound,
            "spent": self.spent,
            "confidence": self.confidence,
            "attempts": [self._attempt_json(attempt) for attempt in self.attempts],
        }

    def _attempt_json(self, attempt: Attempt) -> dict[str, Any]:
        low, high = attempt.guesses.interval(self.confidence)
        return {
            "against": attempt.against,
            "protected": attempt.protected,
            "questions": attempt.questions,
            "answers": dict(attempt.answers),
            "right": attempt.guesses.right,
            "of": attempt.guesses.of,
            "advantage": attempt.guesses.advantage,
            "low": low,
            "high": high,
        }

    def picture(self) -> "Figure":
        """The advantage of every attempt with its interval and the bound, and how the attack got on."""
        from discreet.picture.attack import attack_picture

        return attack_picture(
            [attempt.against for attempt in self.attempts],
            [(attempt.guesses.advantage, *attempt.guesses.interval(self.confidence)) for attempt in self.attempts],
            self.bound,
            self.chart,
            self.kind.capitalize(),
            f"{self.people:,} made-up people, intervals at {100 * self.confidence:.6g}%",
        )

    def plot(self, path: str | Path) -> None:
        from discreet.picture.save import save_picture

        save_picture(self.picture(), path)
