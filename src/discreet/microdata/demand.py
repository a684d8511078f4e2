"""What buckets have to hold and keep: the records of each sensitive value, and the limit of each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidLimits
from discreet.microdata.limits import Limits, Number, check_eligible, exact_number

Integers = NDArray[np.int64]

LARGEST_TABLE = 2**31 - 1
"""Records: losses, and products of two numbers of records, stay within 62 bits."""


@dataclass(frozen=True)
class Demand:
    """Counts and exact limits, side by side, by value. The seed's o and f'."""

    values: tuple[str, ...]
    counts: tuple[int, ...]
    limits: tuple[Fraction, ...]

    @classmethod
    def of(
        cls,
        counts: Sequence[SupportsIndex],
        limits: Limits | Sequence[Number],
        values: Sequence[str] | None = None,
    ) -> "Demand":
        """A demand that can be met by some buckets, perhaps large ones. Values are called x1, x2, … where they have no
        names. Raises InvalidLimits where it cannot be met [buckets, Lemma 1]."""
        exact = tuple(map(index, counts))
        names = tuple(values) if values is not None else tuple(f"x{place}" for place in range(1, len(exact) + 1))
        if len(names) != len(exact) or not 0 < sum(exact) <= LARGEST_TABLE or min(exact) < 0:
            raise InvalidLimits(
                f"give a count of 0 or more for each of {len(names)} values; in all, 1 to 2^31 − 1 records"
            )
        if isinstance(limits, Limits):
            return cls(names, exact, limits.of(names, exact))
        numbers = tuple(map(exact_number, limits))
        if len(numbers) != len(exact) or not all(0 <= limit <= 1 for limit in numbers):
            raise InvalidLimits(f"give a limit from 0 to 1 for each of {len(names)} values")
        check_eligible(names, exact, numbers)
        return cls(names, exact, numbers)

    @cached_property
    def total(self) -> int:
        """How many records there are: the seed's |T|."""
        return sum(self.counts)

    @cached_property
    def smallest_size(self) -> int:
        """No smaller bucket can hold any record: the seed's M, the least ⌈1/f'⌉."""
        return min(-(-1 // limit) for count, limit in zip(self.counts, self.limits, strict=True) if count)

    @cached_property
    def strictest(self) -> Fraction:
        """The least limit of a value that has records."""
        return min(limit for count, limit in zip(self.counts, self.limits, strict=True) if count)

    def caps(self, max_size: int) -> Integers:
        """caps[S, i] = ⌊f'ᵢ·S⌋, exactly: how many records of a value a bucket of size S may hold, for S ≤ max_size."""
        tops, bottoms = [f.numerator for f in self.limits], [f.denominator for f in self.limits]
        # Python's integers where 64 bits would not do: a limit of the user's may have any number of digits.
        kind = np.int64 if max(bottoms) * max_size < 2**62 else object
        sizes = np.arange(max_size + 1).astype(kind)
        caps: Integers = (sizes[:, None] * np.array(tops, kind) // np.array(bottoms, kind)).astype(np.int64)
        return caps

    def holding(self, counts: Sequence[int]) -> "Demand":
        """The same values and limits with other counts: a part of the records."""
        return replace(self, counts=tuple(counts))

    def words(self, place: int) -> str:
        """A value and its limit, for messages."""
        return f"{self.values[place]} (limit {float(self.limits[place]):.6g})"
