"""Sensitive columns of the buckets experiments, as counts of their values.

The seed's CENSUS is not to be had. OCC and EDU are made up, with the number of values and the least and greatest
frequency that the seed states; Census-Income (KDD) stands in for the real table.
"""

import csv
import gzip
from collections import Counter
from functools import cache

import numpy as np
from numpy.typing import NDArray

from experiments.tables.tables import SHARED

# buckets, Section 7.1: values, least and greatest frequency
SHAPES = {"OCC": (50, 0.0018, 0.075), "EDU": (14, 0.0044, 0.273)}

CENSUS = SHARED / "census_income_kdd_adults10.csv.gz"
NO_OCCUPATION = "0"


def frequencies(table: str) -> NDArray[np.float64]:
    """From the rarest value to the most frequent: least·(greatest/least)^(u^p), u even, and p so that they sum to 1."""
    values, least, greatest = SHAPES[table]
    even = np.linspace(0, 1, values)
    low, high = 0.1, 10.0
    for _ in range(100):
        power = (low + high) / 2
        shares = least * (greatest / least) ** (even**power)
        low, high = (power, high) if shares.sum() > 1 else (low, power)
    return shares


def generated(table: str, rows: int) -> tuple[int, ...]:
    """How many of `rows` records have each value of OCC or EDU."""
    return rounded(frequencies(table), rows)


def rounded(shares: NDArray[np.float64], rows: int) -> tuple[int, ...]:
    """Whole numbers in proportion to some shares, with `rows` as their sum: the largest remainders are rounded up."""
    exact = shares / shares.sum() * rows
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: rows - counts.sum()]] += 1
    return tuple(counts.tolist())


@cache
def census(column: str) -> dict[str, int]:
    """Counts of a column of Census-Income, people with an occupation only where it is the occupation."""
    with gzip.open(CENSUS, "rt", encoding="utf-8", newline="") as lines:
        counts = Counter(row[column] for row in csv.DictReader(lines))
    if column == "detailed_occupation_recode":
        del counts[NO_OCCUPATION]
    return dict(sorted(counts.items(), key=lambda pair: pair[1]))
