"""Yearly incomes in euros: log-normal around what such people earn, with a Pareto tail above."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.demo import population as people
from discreet.demo.draw import split_bits

Codes = NDArray[np.int64]
Logs = NDArray[np.float32]
TYPICAL = {
    "manager": 62000, "professional": 47000, "technician": 40000, "clerk": 32000, "sales": 27000, "care": 28500,
    "farming": 22000, "building": 32000, "factory": 31000, "transport": 30000, "child": 1, "student": 3200,
    "at home": 2500, "unemployed": 10500, "retired": 19500, "armed forces": 34000, "clergy": 29000,
}  # fmt: skip
LEVEL_RAISES = {"child": 0.0, "student": 0.05, "unemployed": 0.06, "retired": 0.17}
LEVEL_RAISE = 0.09  # of the logarithm, a level of education, where nothing else is said
WOMEN_AT_WORK = -0.09
SPREAD, SPREAD_AT_WORK = 0.3, 0.42
EARN_NOTHING = {"child": 1.0, "student": 0.4, "at home": 0.45, "unemployed": 0.1, "retired": 0.01}
MAKE_A_LOSS = {"manager": 0.008, "farming": 0.03}
LOSS = -0.3
RICH_SHARE, RICH_EXPONENT = 0.015, 1.7
UNSAID = 0.02
MOST_EUROS = 999_999_999
NORMAL_WIDTH, TAIL_WIDTH, FATE_WIDTH = 16, 24, 12


def draw_income(
    bits: NDArray[np.uint64], occupation: Codes, education: Codes, sex: Codes, age: Codes, hours: Codes, region: Codes
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Whole euros for each person, and whose income is not known: some earn nothing, some lose, some do not say."""
    pay = _pay()
    normal_draw, tail_draw, fate = split_bits(bits, (NORMAL_WIDTH, TAIL_WIDTH, FATE_WIDTH))
    at_work = pay.at_work[occupation]
    log_income = pay.log_typical[occupation, education, sex, age]
    log_income += pay.log_hours[at_work.view(np.int8), hours]
    log_income += pay.log_region[region]
    log_income += pay.spread[occupation] * pay.normal[normal_draw]
    tail = RICH_SHARE * 2**TAIL_WIDTH
    rich = np.flatnonzero((tail_draw < tail) & at_work)
    log_income[rich] -= np.log((tail_draw[rich] + 1) / tail).astype(np.float32) / np.float32(RICH_EXPONENT)
    euros = np.minimum(np.exp(log_income), MOST_EUROS)
    euros[fate >= pay.nothing_from[occupation]] = 0
    euros[fate >= pay.loss_from[occupation]] *= LOSS
    return np.rint(euros).astype(np.int32), fate < UNSAID * 2**FATE_WIDTH


@dataclass(frozen=True)
class _Pay:
    """Tables by code. Those that end in `from` hold the first of 2^12 fates that means nothing earned, or a loss."""

    log_typical: Logs
    log_hours: Logs
    log_region: Logs
    at_work: NDArray[np.bool_]
    spread: Logs
    nothing_from: NDArray[np.float64]
    loss_from: NDArray[np.float64]
    normal: Logs


@cache
def _pay() -> _Pay:
    """Indexed [occupation, education, sex, age], [at work, hours], [region], and [occupation]."""
    at_work = np.array([name not in people.NOT_AT_WORK for name in people.OCCUPATIONS])
    raises = np.array([LEVEL_RAISES.get(name, LEVEL_RAISE) for name in people.OCCUPATIONS])
    typical = np.log([TYPICAL[name] for name in people.OCCUPATIONS])
    by_level = typical[:, None] + raises[:, None] * (np.arange(len(people.EDUCATION)) - 3)
    by_age = np.interp(people.AGES, [15, 20, 30, 45, 55, 65, 107], [-1.0, -0.6, -0.15, 0.0, 0.05, 0.0, -0.1])
    by_sex_and_age = by_age + np.array([WOMEN_AT_WORK, 0.0])[:, None]
    log_typical = by_level[:, :, None, None] + at_work[:, None, None, None] * by_sex_and_age
    log_hours = 0.9 * np.log(np.clip(np.arange(people.HOURS), 5, 60) / 40)
    normal = ndtri((np.arange(2**NORMAL_WIDTH) + 0.5) / 2**NORMAL_WIDTH)
    return _Pay(
        log_typical=log_typical.astype(np.float32),
        log_hours=np.stack([np.zeros(people.HOURS), log_hours]).astype(np.float32),
        log_region=np.log(people.REGION_PAY).astype(np.float32),
        at_work=at_work,
        spread=np.where(at_work, SPREAD_AT_WORK, SPREAD).astype(np.float32),
        nothing_from=_last_fates(EARN_NOTHING),
        loss_from=_last_fates(MAKE_A_LOSS),
        normal=normal.astype(np.float32),
    )


def _last_fates(shares: dict[str, float]) -> NDArray[np.float64]:
    return np.array([(1 - shares.get(name, 0.0)) * 2**FATE_WIDTH for name in people.OCCUPATIONS])
