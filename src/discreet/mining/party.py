"""A party: an organisation that answers counts over subsets of a roster, with binomial noise, so many times.

The miner sees nothing else of it. It may be a vault on this machine or one behind `discreet serve`; two parties that
mine together hold different columns about the same roster, and never each other's rows.

Beside each noisy count comes the exact number of people in its subset: the roster is public, and which of it a seed
selects too, so that says nothing about anyone. It takes half of the variance out of what is learnt (joint.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PartyError
from discreet.query.subset import Subset

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class SubsetAnswers:
    """Noisy counts of a predicate over subsets, in their order, and the public sizes of the subsets."""

    values: Counts
    sizes: Counts
    receipt: str = ""
    notes: tuple[str, ...] = ()
    """Where the party answered about something else than the predicate says: about whole bins, for instance."""


@runtime_checkable
class Party(Protocol):
    """What the miner knows of a party, and the one thing that it can ask."""

    @property
    def people(self) -> int:
        """n: how many people are on the roster."""

    @property
    def roster(self) -> str:
        """The roster's fingerprint; equal rosters have equal ones."""

    @property
    def trials(self) -> int:
        """R of the noise: heads among R fair coins, less R/2; its variance is R/4."""

    @property
    def queries_left(self) -> int:
        """How many more queries it will ever answer, to anybody."""

    @property
    def guarantee(self) -> str:
        """What it promises to everyone on its roster, in words."""

    def ask_subsets(self, subsets: Sequence[Subset], predicate: str) -> SubsetAnswers:
        """How many people of each subset meet the predicate, with noise: as many queries as subsets, in one charge."""


def require_same_roster(*parties: Party) -> int:
    """The number of people on the roster that the parties share. Raises PartyError where they do not share one."""
    first, *others = parties
    for other in others:
        if (first.people, first.roster) != (other.people, other.roster):
            raise PartyError(
                f"the parties have different rosters ({first.people:,} and {other.people:,} people, "
                f"{first.roster[:12]}… and {other.roster[:12]}…); make both vaults with the same roster file"
            )
    return first.people


def noise_variance(party: Party) -> float:
    """The variance of a party's noise: R/4."""
    return party.trials / 4
