"""Discreet's cubes as whole numbers that are not below 0."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.peers.tools import discreet_vault
from bench.peers.workload import Table

PACKAGE = "discreet"


def marginals(table: Table, masks: Sequence[int], epsilon: float) -> Iterator[tuple[int, NDArray[np.float64]]]:
    return discreet_vault.marginals(table, masks, epsilon, counts="whole")
