"""Bucket settings: what pruning is worth, growth with the table, and how far many sizes are from the least loss.

The tables have the frequencies of the seed's OCC and EDU, 300,000 records unless it is said, limits min(1, θ·f + 0.02),
sizes up to 50. Without pruning, every pair of every two sizes is put to Theorem 3 by the same compiled code, which
leaves off at the first value that fails: an honest baseline, not a slow one.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bench.figure import Figure, race
from discreet.errors import InvalidLimits
from discreet.microdata.anatomy import anatomy_loss, diversity
from discreet.microdata.assign import assign
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.optimal import optimal_setting
from discreet.microdata.settings import two_size_setting
from experiments.buckets.tables import generated

ROWS = 300_000
THETAS = (2, 4, 8, 16, 32)
DEFAULT = Limits.linear(8, "0.02")
RANDOM_TABLES, NEAR = 100, 1.05


def figures() -> Iterator[Figure]:
    two_size_setting((1, 1), DEFAULT), multi_size_setting((1, 1), DEFAULT)  # compile, or load
    yield from pruning_figures()
    yield growth_figure()
    yield from loss_figures()
    yield random_figure()
    yield assign_figure()


def pruning_figures() -> Iterator[Figure]:
    counts = generated("OCC", ROWS)
    works = [partial(two_size_setting, counts, DEFAULT, pruning=pruning) for pruning in ("full", "loss", "none")]
    full, loss, none = race(*works, repeats=7)
    note = f"full {full * 1e3:.2f} ms, loss {loss * 1e3:.1f} ms, none {none * 1e3:.0f} ms"
    yield Figure("OCC, full pruning", full, 0.1, "lower", "s", "50 values, limits and records' division included")
    yield Figure("OCC, no pruning, to full", none / full, 50, "higher", "×", note)


def growth_figure() -> Figure:
    few, many = (partial(two_size_setting, generated("OCC", rows), DEFAULT) for rows in (100_000, 500_000))
    short, long = race(few, many, repeats=25)
    note = f"{short * 1e3:.2f} ms and {long * 1e3:.2f} ms"
    return Figure("OCC, full pruning, 500,000 records to 100,000", long / short, 1.5, "lower", "×", note)


def loss_figures() -> Iterator[Figure]:
    """The worst ratios of losses over θ: of MSEs, then, since the number of records is the same."""
    for table in ("OCC", "EDU"):
        counts = generated(table, ROWS)
        limits = [Limits.linear(theta, "0.02") for theta in THETAS]
        two = [two_size_setting(counts, limit).loss for limit in limits]
        start = time.perf_counter()
        multi = [multi_size_setting(counts, limit).loss for limit in limits]
        seconds = time.perf_counter() - start
        anatomy = [anatomy_loss(ROWS, diversity(counts, limit)) for limit in limits]
        least = [optimal_setting(counts, limit, seconds=120).loss for limit in limits]
        yield ratio_figure(f"{table}, MSE of two sizes, to Anatomy's", two, anatomy, 1)
        yield ratio_figure(f"{table}, MSE of many sizes, to two sizes'", multi, two, 1)
        yield ratio_figure(f"{table}, MSE of many sizes, to the integer program's", multi, least, 1.05)
        note = "the recursion and rounding, the mean over θ"
        yield Figure(f"{table}, many sizes", seconds / len(THETAS), 2, "lower", "s", note)


def ratio_figure(name: str, ours: list[int], theirs: list[int], bar: float) -> Figure:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    note = ", ".join(f"θ = {theta}: {ratio:.3f}" for theta, ratio in zip(THETAS, ratios, strict=True))
    return Figure(f"{name}, at worst", max(ratios), bar, "lower", "×", note)


def random_figure(told: Callable[[str], None] = lambda _words: None) -> Figure:
    """Many sizes on tables of any frequencies: to what prices prove that all lose, or else to what the integer program
    says; where it does not say enough in its time, that is counted."""
    chance, ratios, by_program, open_still = np.random.default_rng(560), [], 0, 0
    while len(ratios) < RANDOM_TABLES:
        counts, limits = random_table(chance)
        try:
            multi = multi_size_setting(counts, limits)
        except InvalidLimits:
            continue
        least = multi.least
        if multi.loss > NEAR * least:
            by_program += 1
            least = optimal_setting(counts, limits, seconds=120).least
            open_still += multi.loss > NEAR * least
            told(f"{len(ratios)}: {sum(counts)} records, {multi.loss} for {multi.least}, {least} by the program")
        ratios.append(multi.loss / least if least else 1.0)
    note = (
        f"{RANDOM_TABLES} tables of 2 to 60 values and 100 to 30,000 records; {by_program} not by prices but by the "
        f"integer program, {open_still} by neither"
    )
    return Figure("random tables, loss of many sizes, to the least, at worst", max(ratios), NEAR, "lower", "×", note)


def random_table(chance: np.random.Generator) -> tuple[list[int], Limits]:
    """Frequencies from nearly even to very skewed, and limits from strict to lax."""
    values, records = int(chance.integers(2, 61)), int(10 ** chance.uniform(2, 4.48))
    shares = chance.dirichlet(np.full(values, chance.choice([0.3, 1, 5])))
    counts = np.maximum(chance.multinomial(records, shares), 1).tolist()
    return counts, Limits.linear(int(chance.choice(THETAS)), str(chance.choice(["0.02", "0.05", "0.1"])))


def assign_figure() -> Figure:
    setting = two_size_setting(generated("OCC", 10_000_000), DEFAULT)
    (seconds,) = race(lambda: np.bincount(assign(setting).all_buckets()), repeats=3)
    return Figure("10,000,000 records, a bucket for each", seconds, 1, "lower", "s", "and the buckets' sizes counted")
