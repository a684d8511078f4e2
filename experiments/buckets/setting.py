"""The seed's parameters [buckets, Table 4], the tables, and the loss of each method on them."""

from collections.abc import Callable, Mapping

from discreet.errors import UnsupportedQuery
from discreet.microdata.anatomy import anatomy_loss, diversity
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.optimal import optimal_setting
from discreet.microdata.settings import two_size_setting
from experiments.buckets.tables import census, generated

THETAS = (2, 4, 8, 16, 32)
DEFAULT_THETA = 8
ROWS = 300_000
MAX_SIZE = 50
SECONDS = 120
"""What the integer program may take."""

Counts = tuple[int, ...]


def limits(theta: int) -> Limits:
    """min(1, θ·f + 0.02)"""
    return Limits.linear(theta, "0.02")


def tables() -> dict[str, Counts]:
    """The seed's two tables, made up, and the two columns of Census-Income that come closest to them."""
    return {
        "OCC-300K": generated("OCC", ROWS),
        "EDU-300K": generated("EDU", ROWS),
        "Census-Income, occupation": tuple(census("detailed_occupation_recode").values()),
        "Census-Income, education": tuple(census("education").values()),
    }


METHODS: Mapping[str, Callable[[Counts, Limits], int]] = {
    "Anatomy": lambda counts, limits: anatomy_loss(sum(counts), diversity(counts, limits)),
    "TwoSize": lambda counts, limits: two_size_setting(counts, limits, max_size=MAX_SIZE).loss,
    "MultiSize (seed's)": lambda counts, limits: (
        multi_size_setting(counts, limits, max_size=MAX_SIZE, rounds=False).loss
    ),
    "MultiSize": lambda counts, limits: multi_size_setting(counts, limits, max_size=MAX_SIZE).loss,
    "Optimal": lambda counts, limits: optimal_setting(counts, limits, max_size=MAX_SIZE, seconds=SECONDS).loss,
}


def mean_squared_errors(counts: Counts) -> dict[str, dict[float, float]]:
    """The MSE of each method, by θ, where it can be computed."""
    lines: dict[str, dict[float, float]] = {method: {} for method in METHODS}
    for method, loss in METHODS.items():
        for theta in THETAS:
            try:
                lines[method][theta] = loss(counts, limits(theta)) / (sum(counts) - 1)
            except UnsupportedQuery:
                continue
    return lines
