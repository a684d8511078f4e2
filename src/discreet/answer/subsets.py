"""Counts over subsets of a roster: a predicate in, noisy counts out. Each subset is one of the vault's T queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.ledger.books import Books
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.receipt import Receipt
from discreet.noise.law import Binomial
from discreet.notebook import FieldsView
from discreet.query.plan import Measurement, Plan
from discreet.query.query import SubsetCount
from discreet.query.subset import Subset, subset_to_json
from discreet.release.purchase import Purchase
from discreet.release.release import Release
from discreet.sql.parse import parse_predicate

if TYPE_CHECKING:
    from discreet.replies import SubsetCountsJson

Sizes = Callable[[Sequence[Subset]], NDArray[np.int64]]


@dataclass(frozen=True, repr=False)
class SubsetAnswer(FieldsView):
    """Noisy counts of the people who meet a predicate, one for each subset, and the public sizes of the subsets."""

    predicate: str
    subsets: tuple[Subset, ...]
    release: Release
    notes: tuple[str, ...]
    _ledger: Books = field(repr=False, compare=False)
    _sizes: Sizes = field(repr=False, compare=False)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many people of the roster are in each subset, exactly: that is public."""
        return self._sizes(self.subsets)

    @property
    def values(self) -> NDArray[np.int64]:
        """The noisy counts; they may be below 0, or above the size: clip what you show, not what you calculate with."""
        return self.release.only.units

    @property
    def value(self) -> int:
        """The one count of an answer with one subset."""
        if len(self.subsets) != 1:
            raise UnsupportedQuery(f"this answer has {len(self.subsets):,} counts; look at .values")
        return int(self.values[0])

    @property
    def queries_left(self) -> int:
        """How many more queries the vault answers, ever, as of now."""
        return max(self._ledger.budget.limit - self._ledger.spent_max, 0)

    @property
    def variance(self) -> float:
        """Of the noise in each count: R/4."""
        return self.release.variance

    def halfwidth(self, confidence: float = 0.95) -> int:
        """The least w such that the noise stays within ±w with at least this probability."""
        return int(self.release.only.halfwidth(confidence))

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """Bounds that hold the true count with at least this probability; arrays where there are several."""
        low, high = self.values - self.halfwidth(confidence), self.values + self.halfwidth(confidence)
        return (int(low[0]), int(high[0])) if len(self.subsets) == 1 else (low, high)

    @property
    def guarantee(self) -> Guarantee:
        return self.release.guarantee

    @property
    def receipt(self) -> Receipt:
        return self.release.receipt

    def to_json(self) -> "SubsetCountsJson":
        return {
            "predicate": self.predicate,
            "subsets": [subset_to_json(subset) for subset in self.subsets],
            "values": self.values.tolist(),
            "sizes": self.sizes.tolist(),
            "variance": self.variance,
            "halfwidth": self.halfwidth(),
            "guarantee": {**self.guarantee.to_json(), "text": str(self.guarantee)},
            "charge": self.release.charge,
            "receipt": str(self.receipt),
            "queries_left": self.queries_left,
            "notes": list(self.notes),
        }


def ask_subsets(
    subsets: Sequence[Subset],
    predicate: str,
    domain: Domain,
    ledger: Books,
    law: Binomial,
    purchase: Purchase,
    sizes: Sizes,
) -> SubsetAnswer:
    """Ask about all subsets in one charge. What is refused is refused before anything is spent."""
    where, notes = _region(predicate, domain)
    release = purchase.measure(Plan((Measurement(SubsetCount(tuple(subsets), where), law),)))
    return SubsetAnswer(predicate, tuple(subsets), release, notes, ledger, sizes)


@lru_cache(maxsize=256)
def _region(predicate: str, domain: Domain) -> tuple[Region, tuple[str, ...]]:
    return parse_predicate(predicate, domain)
