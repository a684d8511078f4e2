"""Census-Income as people: seven quasi-identifiers and a sensitive column, in codes."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.buckets.tables import CENSUS, NO_OCCUPATION

COLUMNS = (
    "age",
    "sex",
    "education",
    "marital_stat",
    "race",
    "class_of_worker",
    "country_of_birth_self",
    "detailed_occupation_recode",
)
SENSITIVE = {"occupation": "detailed_occupation_recode", "education": "education"}


@dataclass(frozen=True, eq=False)
class People:
    """Codes from 0, without gaps: a row a person, a column a quasi-identifier; and their sensitive values."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    values: NDArray[np.int64]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple((self.codes.max(axis=0) + 1).tolist())

    @cached_property
    def counts(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.values).tolist())

    @cached_property
    def by_entropy(self) -> list[int]:
        """The quasi-identifiers, from the one that tells the least of a person."""

        def bits(column: NDArray[np.int64]) -> float:
            shares = np.bincount(column) / len(column)
            return -float((shares[shares > 0] * np.log2(shares[shares > 0])).sum())

        return sorted(range(len(self.names)), key=lambda axis: bits(self.codes[:, axis]))


@cache
def census_people(sensitive: str) -> People:
    """The seed's OCC or EDU, as near as Census-Income comes; people with an occupation only, where it is sensitive."""
    rows = pd.read_csv(CENSUS, dtype=str, usecols=list(COLUMNS))
    if sensitive == "occupation":
        rows = rows[rows[SENSITIVE[sensitive]] != NO_OCCUPATION]
    rows["age"] = rows["age"].str.zfill(3)
    coded = {name: pd.factorize(rows[name], sort=True)[0].astype(np.int64) for name in COLUMNS}
    names = tuple(name for name in COLUMNS if name != SENSITIVE[sensitive])
    return People(names, np.stack([coded[name] for name in names], axis=1), coded[SENSITIVE[sensitive]])
