"""The parameters of the relaxation seed's experiments, and runs with them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import fmean
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.answer.relax import STARTS
from discreet.demo.relaxation import relaxation_census, relaxation_domain_path
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.read import read_domain
from discreet.domain.region import Box
from discreet.ledger.buckets import BucketedSpend
from discreet.ledger.grid import GridSpend
from discreet.ledger.spend import SpendMap
from experiments.relaxation.database import Database, run
from experiments.relaxation.workload import NOISE_SCALE, Distribution, workload

# relaxation, Table 2
EPSILONS = (Fraction(1, 10), Fraction(2, 10), Fraction(3, 10), Fraction(4, 10), Fraction(5, 10))
VOLUMES = (0.01, 0.02, 0.04, 0.08, 0.16)
COMPOUND_SIZES = (1, 2, 3, 4, 5)
BUCKETS = (10**2, 10**3, 10**4, 10**5, 10**6)

DISTRIBUTIONS: tuple[Distribution, ...] = ("data", "uniform")
PROCESSES = 2
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Setting:
    """Where nothing is said, the bold values of Table 2, and relaxation as this system does it on such a domain.

    That is with an exact spend map and from several starts; `as_in_the_paper` has a histogram and a single start.
    """

    distribution: Distribution
    epsilon: Fraction = Fraction(3, 10)
    volume: float = 0.04
    most_answers: int = 3
    most_buckets: int | None = None
    starts: int = STARTS

    @classmethod
    def as_in_the_paper(cls, distribution: Distribution) -> "Setting":
        return cls(distribution, most_buckets=10**5, starts=1)

    @property
    def limit(self) -> int:
        """How many counts a point may be in: ελ/2 [relaxation, Lemma 2]."""
        return int(self.epsilon * NOISE_SCALE / 2)

    def queries(self) -> list[Box]:
        return workload(self.distribution, self.volume, people() if self.distribution == "data" else None)

    def database(self) -> Database:
        return Database(self.spend_map())

    def spend_map(self) -> SpendMap:
        if self.most_buckets is None:
            return GridSpend(domain(), self.limit)
        return BucketedSpend(domain(), self.limit, self.most_buckets, cut_by="sum")


@dataclass(frozen=True)
class Quality:
    """Means over the relaxed queries; the processor time is a mean over all queries, with the spend map."""

    accepted: int
    relaxed: int
    bought: int
    mean_error: float
    mean_size: float
    milliseconds: float


def quality(setting: Setting) -> Quality:
    """Ask the whole workload, and relax what is denied."""
    outcomes = run(setting.database(), setting.queries(), setting.most_answers, setting.starts)
    relaxed = [one.relaxed for one in outcomes if one.relaxed is not None]
    return Quality(
        accepted=len(outcomes) - len(relaxed),
        relaxed=len(relaxed),
        bought=sum(len(one.measured) for one in relaxed),
        mean_error=fmean(one.error for one in relaxed),
        mean_size=fmean(one.compound.size for one in relaxed),
        milliseconds=1e3 * fmean(one.seconds for one in outcomes),
    )


def for_each(settings: Sequence[Setting], measure: Callable[[Setting], Measured]) -> dict[Setting, Measured]:
    """Run settings side by side, a core each."""
    people()  # made once, and inherited by the processes
    distinct = list(dict.fromkeys(settings))
    with ProcessPoolExecutor(PROCESSES) as pool:
        return dict(zip(distinct, pool.map(measure, distinct), strict=True))


@cache
def domain() -> Domain:
    return read_domain(relaxation_domain_path())


@cache
def people() -> NDArray[np.int64]:
    """The census as codes, a row a person."""
    table = relaxation_census()
    columns = []
    for attribute in domain().attributes:
        assert isinstance(attribute, Integer)
        columns.append(table[attribute.name].to_numpy().astype(np.int64) - attribute.low)
    return np.stack(columns, axis=1)
