"""Parties over a made-up population, without its people: a random subset's counts follow from the table of cells alone.

Each person is in a subset with probability r, so that the number of people of each cell in it is binomial, and those of
different cells are independent. Both parties see the same subsets; noise is each party's own. The law is the same as
that of counting hashed people, which tests/mining checks against a real population.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExceeded
from discreet.mining.joint import JointShares, Sample, joint_of
from discreet.mining.party import SubsetAnswers
from discreet.mining.statistics import Statistics, StatisticsPlan, subsets_of
from discreet.query.subset import Seeded, Subset

Cells = NDArray[np.int64]


@dataclass
class Population:
    """How many people have each combination of attributes, and which combinations meet each predicate."""

    cells: Cells
    predicates: Mapping[str, NDArray[np.bool_]]
    generator: np.random.Generator
    drawn: dict[int, Cells] = field(default_factory=dict)

    @classmethod
    def of_two(cls, people: int, alpha: float, beta: float, gap: float, seed: int = 0) -> "Population":
        """People with α and β, such that Pr[β|α] = β + gap, to the nearest whole person."""
        both = alpha * (beta + gap)
        shares = np.array([both, alpha - both, beta - both, 1 - alpha - beta + both])
        cells = np.round(people * shares).astype(np.int64)
        cells[3] += people - cells.sum()
        held = {"alpha": np.array([1, 1, 0, 0], bool), "beta": np.array([1, 0, 1, 0], bool)}
        return cls(cells, held, np.random.default_rng(seed))

    @property
    def people(self) -> int:
        return int(self.cells.sum())

    def share(self, predicate: str) -> float:
        return float(self.cells[self.predicates[predicate]].sum()) / self.people

    def party(self, trials: int, queries: float = inf) -> "SimulatedParty":
        return SimulatedParty(self, trials, queries)

    def counts(self, subsets: Sequence[Seeded]) -> Cells:
        """The people of each cell in each subset."""
        new = [subset for subset in dict.fromkeys(subsets) if subset.seed not in self.drawn]
        if new:
            rates = np.array([float(subset.rate) for subset in new])[:, None]
            rows = self.generator.binomial(self.cells[None, :], rates)
            self.drawn.update(zip((subset.seed for subset in new), rows, strict=True))
        return np.array([self.drawn[subset.seed] for subset in subsets])


def sample_joint(
    population: Population, subsets: int, trials: int, generator: np.random.Generator, confidence: float = 0.95
) -> JointShares:
    """What regression finds from so many queries to each of two parties, without the parties."""
    counts = generator.binomial(population.cells, 0.5, (subsets, len(population.cells)))
    samples = []
    for name in ("alpha", "beta"):
        noise = generator.binomial(trials, 0.5, subsets) - trials // 2
        samples.append(Sample(counts[:, population.predicates[name]].sum(axis=1) + noise, trials / 4))
    return joint_of(*samples, counts.sum(axis=1), population.people, confidence)


@dataclass(eq=False)
class SimulatedParty:
    """A party that answers as a vault would, of a population that is nobody's."""

    population: Population
    trials: int
    queries: float = inf
    asked: list[tuple[int, str]] = field(default_factory=list)

    roster: str = "simulated"
    guarantee: str = "none: simulated people"

    @property
    def people(self) -> int:
        return self.population.people

    @property
    def queries_left(self) -> Any:
        return self.queries

    def ask_subsets(self, subsets: Sequence[Subset], predicate: str) -> SubsetAnswers:
        if len(subsets) > self.queries:
            raise BudgetExceeded(f"{self.queries} queries are left")
        self.queries -= len(subsets)
        self.asked.append((len(subsets), predicate))
        counts = self.population.counts([subset for subset in subsets if isinstance(subset, Seeded)])
        noise = self.population.generator.binomial(self.trials, 0.5, len(subsets)) - self.trials // 2
        met = counts[:, self.population.predicates[predicate]].sum(axis=1)
        return SubsetAnswers(met + noise, counts.sum(axis=1))


def publish(population: Population, plan: StatisticsPlan) -> Statistics:
    """Statistics as a vault would publish them, of predicates that are the attributes' names."""
    counts = population.counts(subsets_of(plan))
    having = [population.predicates[attribute.name] for attribute in plan.attributes]
    rows = []
    for chosen in combinations(having, plan.arity):
        for pattern in range(1 << plan.arity):
            met = np.all([held == bool(pattern >> bit & 1) for bit, held in enumerate(chosen)], axis=0)
            rows.append(counts[:, met].sum(axis=1))
    shape = -1, 1 << plan.arity, plan.subsets
    exact = np.array(rows).reshape(shape)
    noise = population.generator.binomial(plan.trials, 0.5, exact.shape) - plan.trials // 2
    sizes = counts.sum(axis=1)
    seeds = tuple(subset.seed for subset in subsets_of(plan))
    return Statistics(
        plan.attributes, plan.arity, seeds, sizes, exact + noise, plan.people, plan.trials, "simulated", "none", 0, ""
    )
