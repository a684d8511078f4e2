"""Relaxation on the relaxation seed's own setting: how near, how large, how quick; and what derivation adds to it."""

import time
from collections.abc import Iterator
from statistics import fmean, median

import numpy as np

from bench.figure import Figure
from discreet.answer.compound import Metric
from discreet.answer.derive import derive
from discreet.answer.index import Answers
from discreet.answer.past import PastAnswer
from discreet.answer.relax import relax
from discreet.demo.relaxation import relaxation_domain_path
from discreet.domain.read import read_domain
from discreet.domain.region import Box, Region
from discreet.ledger.grid import GridSpend
from experiments.relaxation.database import Database, Outcome, run
from experiments.relaxation.workload import SHAPE, workload

LIMIT = 300  # ελ/2 with ε = 0.3 and λ = 2000
VOLUME = 0.04
MOST_ANSWERS = 3
PAST = 5_000
MANY = 100_000
ASKED = 400


def figures() -> Iterator[Figure]:
    database = Database(GridSpend(read_domain(relaxation_domain_path()), LIMIT))
    outcomes = run(database, workload("uniform", VOLUME), MOST_ANSWERS)
    relaxed = [one for one in outcomes if one.relaxed is not None]
    yield from _quality(relaxed, len(outcomes) - len(relaxed))
    yield _near_5000(relaxed)
    yield from _derivation(database, relaxed)
    yield _growth()
    yield _fresh()


def _quality(relaxed: list[Outcome], accepted: int) -> Iterator[Figure]:
    compounds = [one.relaxed for one in relaxed if one.relaxed is not None]
    bought = sum(len(one.measured) for one in compounds)
    note = f"{accepted:,} accepted, {len(relaxed):,} relaxed, {bought:,} patches bought, ξ = {MOST_ANSWERS}"
    yield Figure("mean relaxation error", fmean(one.error for one in compounds), 0.001, "lower", "", note)
    yield Figure("mean compound size", fmean(one.compound.size for one in compounds), 2, "lower", "counts", note)


def _near_5000(relaxed: list[Outcome]) -> Figure:
    seconds = [one.seconds for one in relaxed if abs(one.answered_before - PAST) <= PAST // 10]
    note = f"processor time, mean of {len(seconds)} queries, spend map included; median {median(seconds) * 1e3:.2f} ms"
    return Figure(f"relaxation with {PAST:,} past answers", fmean(seconds) * 1e3, 2, "lower", "ms", note)


def _derivation(database: Database, relaxed: list[Outcome]) -> Iterator[Figure]:
    """What the best combination makes of the answers of the last relaxed queries, when all is released."""
    ratios, seconds = [], []
    for one in relaxed[-ASKED:]:
        assert one.relaxed is not None
        compound = one.relaxed.compound
        start = time.perf_counter()
        derived = derive(Region((compound.difference,)), database.past, (*compound.plus, *compound.minus))
        seconds.append(time.perf_counter() - start)
        assert derived is not None
        ratios.append(derived.variance / compound.variance)
    note = f"mean over {ASKED} relaxed queries, {database.answered:,} past answers; {median(seconds) * 1e3:.1f} ms each"
    yield Figure("derived variance to the compound's", fmean(ratios), 1, "lower", "×", note)
    yield Figure("largest derived variance to the compound's", max(ratios), 1 + 1e-9, "lower", "×", note)


def _random_boxes(count: int, seed: int) -> list[Box]:
    """Distinct boxes on two attributes each, of any extent: the workload's own has less than 10,000 distinct ones."""
    generator, found = np.random.default_rng(seed), dict[Box, None]()
    while len(found) < count:
        low, high = [0] * len(SHAPE), [size - 1 for size in SHAPE]
        for axis in generator.choice(len(SHAPE), 2, replace=False):
            low[axis], high[axis] = sorted(generator.integers(0, SHAPE[axis], 2).tolist())
        found[Box(tuple(low), tuple(high))] = None
    return list(found)


def _released(boxes: list[Box]) -> Answers:
    past = Answers(SHAPE)
    for number, box in enumerate(boxes):
        past.add(PastAnswer(Region((box,)), 0, 1.0, (number, 0)))
    return past


def _growth() -> Figure:
    """The whole relaxation where no budget is left at all."""
    boxes, metric = _random_boxes(MANY + ASKED, 1), Metric.even(SHAPE)
    medians = []
    for count in (PAST, MANY):
        past, seconds = _released(boxes[:count]), []
        past.nearest(boxes[-1], metric.step)
        for asked in boxes[MANY:]:
            start = time.perf_counter()
            relax(asked, past, metric, MOST_ANSWERS, lambda *_: False, _never)
            seconds.append(time.perf_counter() - start)
        medians.append(median(seconds))
    note = f"{medians[0] * 1e3:.2f} ms → {medians[1] * 1e3:.2f} ms, medians; linear growth would be {MANY // PAST}×"
    return Figure(f"relaxation with {MANY:,} past answers to {PAST:,}", medians[1] / medians[0], 20, "lower", "×", note)


def _never(_box: Box) -> PastAnswer:
    raise AssertionError("nothing may be bought where no budget is left")


def _fresh() -> Figure:
    """How long it takes to see that a fresh query is not derivable."""
    boxes, seconds = _random_boxes(PAST + ASKED, 2), []
    past = _released(boxes[:PAST])
    for asked in boxes[PAST:]:
        start = time.perf_counter()
        derive(Region((asked,)), past)
        seconds.append(time.perf_counter() - start)
    ordered = sorted(seconds)
    note = f"median of {ASKED} queries; 95 of 100 within {ordered[ASKED * 95 // 100] * 1e3:.2f} ms"
    return Figure(f"derivation of a fresh query, {PAST:,} past answers", median(seconds) * 1e3, 1, "lower", "ms", note)
