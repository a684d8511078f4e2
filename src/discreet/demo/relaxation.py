"""A stand-in for the relaxation seed's CENSUS table: its size and domain sizes, and the skew and correlation of life.

The original is an extract that cannot be had any more, so its exact counts cannot be matched; what the seed's
experiments depend on is the shape: 79 × 14 × 23 × 100 points, a million rows, far from uniform, dependent attributes.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.demo.draw import ChanceTable, row_bits, split_bits

AGES = np.arange(17, 96)
EDUCATION_LEVELS = 14
OCCUPATIONS = 23
INCOME_CLASSES = 100
WIDTHS = (16, 16, 16, 12)
STREAM = 16  # apart from those of the census
CHUNK = 2**18


def relaxation_census(rows: int = 1_000_000, seed: int = 0) -> Any:
    """A pyarrow.Table of whole numbers: age 17 … 95, education 1 … 14, occupation 1 … 23, income class 0 … 99."""
    chunks = [_codes(seed, first, min(CHUNK, rows - first)) for first in range(0, max(rows, 1), CHUNK)]
    lows = {"age": 17, "education": 1, "occupation": 1, "income": 0}
    columns = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    return pa.table(
        {name: (codes + low).astype(np.int16) for (name, low), codes in zip(lows.items(), columns, strict=True)}
    )


def relaxation_domain_path() -> Path:
    """The public domain of `relaxation_census`."""
    return Path(__file__).with_name("relaxation.toml")


def _codes(seed: int, first: int, rows: int) -> tuple[NDArray[np.int64], ...]:
    age_lookup, education_lookup, occupation_lookup, income_lookup = _lookups()
    draws = tuple(split_bits(row_bits(seed, STREAM, first, rows), WIDTHS))
    age = age_lookup.draw(draws[0])
    education = education_lookup.draw(draws[1], age // 8)
    occupation = occupation_lookup.draw(draws[2], education)
    income = income_lookup.draw(draws[3], age // 8, education // 2, occupation)
    return age, education, occupation, income


@cache
def _lookups() -> tuple[ChanceTable, ...]:
    age = np.interp(AGES, [17, 22, 35, 45, 60, 75, 85, 95], [1.0, 1.3, 1.6, 1.5, 0.9, 0.6, 0.25, 0.03])
    decades = AGES[::8] + 4
    learning = np.interp(decades, [20, 30, 50, 90], [-0.3, 0.4, 0.2, -0.9])
    education = _ordered(learning, EDUCATION_LEVELS)
    # Common codes first within a level's neighbourhood: Zipf's skew, moved along the list by education.
    centre = np.linspace(19, 3, EDUCATION_LEVELS)
    code = np.arange(OCCUPATIONS)
    occupation = np.exp(-(((code - centre[:, None]) / 6) ** 2)) / (1 + (code * 7) % OCCUPATIONS) ** 0.8
    career = np.interp(decades, [17, 25, 45, 60, 70, 95], [-1.1, -0.3, 0.4, 0.3, -0.5, -0.9])
    worth = (
        career[:, None, None]
        + np.linspace(-0.6, 0.9, EDUCATION_LEVELS // 2)[:, None]
        + 0.5 * np.cos(code / OCCUPATIONS * np.pi)
    )
    chances = (age, education, occupation, _income_classes(worth))
    return tuple(map(ChanceTable.of, chances, WIDTHS))


def _ordered(mean: NDArray[np.float64], levels: int) -> NDArray[np.float64]:
    """Chances of ordered levels from a normal variable cut at equal steps from −2 to 2."""
    cuts = np.append(np.linspace(-2, 2, levels - 1), np.inf)
    chances: NDArray[np.float64] = np.diff(ndtr(cuts - mean[..., None]), axis=-1, prepend=0)
    return chances


def _income_classes(worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-normal incomes in 100 classes of equal width, the last one open: most people are in the lowest third."""
    upper = np.append(np.log(np.arange(1, INCOME_CLASSES)), np.inf)
    middle = 2.8 + 0.7 * worth[..., None]
    chances: NDArray[np.float64] = np.diff(ndtr((upper - middle) / 0.65), axis=-1, prepend=0)
    return chances
