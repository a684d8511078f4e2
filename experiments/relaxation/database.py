"""A statistical database as in the relaxation seed: a spend map, the answers so far, and relaxation for what is denied.

No table: neither whether a query is denied nor how it is relaxed depends on the rows, so that the answers' values play
no part in what the experiments measure.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.answer.compound import Metric
from discreet.answer.index import Answers
from discreet.answer.past import PastAnswer
from discreet.answer.relax import STARTS, Relaxed, relax
from discreet.domain.region import Box, Region
from discreet.ledger.spend import Cost, SpendMap
from discreet.noise.deviation import laplace_variance
from experiments.relaxation.workload import NOISE_SCALE, SHAPE

VARIANCE = laplace_variance(NOISE_SCALE)


@dataclass
class Database:
    """Every count spends 1 at the points of its box; the map's limit is how many counts a point may be in."""

    spent: SpendMap
    past: Answers = field(default_factory=lambda: Answers(SHAPE))
    answered: int = 0
    """Counts so far: queries that were accepted, and patches that were bought."""

    def can_measure(self, *boxes: Box) -> bool:
        return self.spent.refusal(Cost(0, tuple((box, 1) for box in boxes))) is None

    def measure(self, box: Box) -> PastAnswer:
        self.spent.add(Cost(0, ((box, 1),)))
        self.answered += 1
        answer = PastAnswer(Region((box,)), 0, VARIANCE, (self.answered, 0))
        self.past.add(answer)
        return answer

    def relax(self, asked: Box, most_answers: int, starts: int = STARTS) -> Relaxed:
        metric = Metric.even(SHAPE)
        relaxed = relax(asked, self.past, metric, most_answers, self.can_measure, self.measure, starts)
        assert relaxed is not None
        return relaxed


@dataclass(frozen=True)
class Outcome:
    """What became of one query: accepted, or relaxed; and the processor time that it took."""

    relaxed: Relaxed | None
    seconds: float
    answered_before: int


def run(database: Database, queries: Iterable[Box], most_answers: int, starts: int = STARTS) -> list[Outcome]:
    """Ask the queries one after the other."""
    outcomes = []
    for asked in queries:
        before, start = database.answered, time.thread_time()
        relaxed = None
        if database.can_measure(asked):
            database.measure(asked)
        else:
            relaxed = database.relax(asked, most_answers, starts)
        outcomes.append(Outcome(relaxed, time.thread_time() - start, before))
    return outcomes


def accepted(spent: SpendMap, queries: Iterable[Box]) -> list[bool]:
    """Which queries fit when they are asked one after the other, and denied ones are not relaxed."""
    fits = []
    for asked in queries:
        fits.append(spent.left(Region((asked,))) >= 1)
        if fits[-1]:
            spent.add(Cost(0, ((asked, 1),)))
    return fits
