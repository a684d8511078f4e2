"""Choices: which of some marginals a public expectation misses most. Nothing in here depends on a table.

A candidate is a marginal with the counts that are expected of it, made of released numbers alone, and an allowance: how
far off noise would put it in any case. Its utility is the sum of |count − expected| over its cells, less the allowance.
A row that is added or removed changes one cell of a marginal, by 1, and so the utility of every candidate by at most 1:
Δu = 1, whatever is expected and whatever the allowances are.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsupportedQuery

Counts = NDArray[np.int64]
MOST = 1 << 60
"""What is expected of a marginal adds up to at most this, and so does an allowance: utilities fit 64 bits."""


@dataclass(frozen=True)
class Candidate:
    """A marginal by some attributes, what is expected of its cells, in row-major order, and its allowance."""

    by: tuple[str, ...]
    expected: tuple[int, ...]
    allowance: int

    def __post_init__(self) -> None:
        if not self.by or len(set(self.by)) < len(self.by):
            raise UnsupportedQuery("a marginal to choose is by one attribute or more, each once")
        if sum(map(abs, self.expected)) > MOST or abs(self.allowance) > MOST:
            raise UnsupportedQuery(f"what is expected of a marginal, and its allowance, are at most {MOST:,}")

    def to_json(self) -> dict[str, Any]:
        packed = zlib.compress(np.array(self.expected, "<i8").tobytes(), 9)
        return {"by": list(self.by), "expected": base64.b64encode(packed).decode(), "allowance": self.allowance}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Candidate":
        counts = np.frombuffer(zlib.decompress(base64.b64decode(body["expected"])), "<i8")
        return cls(tuple(map(str, body["by"])), tuple(counts.tolist()), int(body["allowance"]))


def utilities(candidates: tuple[Candidate, ...], counts: list[Counts]) -> Counts:
    """How far each candidate's counts are from what is expected of them, less its allowance."""
    return np.array(
        [
            np.abs(own.reshape(-1) - np.array(one.expected, np.int64)).sum() - one.allowance
            for one, own in zip(candidates, counts, strict=True)
        ],
        np.int64,
    )
