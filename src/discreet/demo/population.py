"""Who lives in the generated country: its categories, and the chances of each given the others.

The shapes are those of a European country of the 2020s; the figures are invented. An array `x_given_y_z` is indexed
[y, z, x]; ages run from 0 to 107, the oldest of whom lie outside the public domain, as in life.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Chances = NDArray[np.float64]

SEXES = ("F", "M")
REGIONS = (
    "Northgate", "Arden", "Belmont", "Carrow", "Dunmore", "Eastvale",
    "Fenwick", "Glenmoor", "Harwick", "Isley", "Kestrel Bay", "Lowmarsh",
)  # fmt: skip
ABROAD = "Abroad"
EDUCATION = ("none", "primary", "lower secondary", "upper secondary", "vocational", "bachelor", "postgraduate")
AT_WORK = (
    "manager", "professional", "technician", "clerk", "sales", "care", "farming", "building", "factory", "transport",
)  # fmt: skip
NOT_AT_WORK = ("child", "student", "at home", "unemployed", "retired")
UNLISTED_WORK = ("armed forces", "clergy")
OCCUPATIONS = (*AT_WORK, *NOT_AT_WORK, *UNLISTED_WORK)
MARITAL = ("never married", "married", "separated", "divorced", "widowed")
CHILDREN = 10
HOURS = 96
AGES = np.arange(108)

REGION_SHARES = np.array([2.6, 1.5, 1.2, 1.1, 0.9, 0.8, 0.7, 0.65, 0.5, 0.4, 0.35, 0.3, 0.03])
REGION_AGEING = np.array([-0.5, -0.2, -0.1, 0, 0.05, 0.1, 0.15, 0.25, 0.1, 0.4, 0.6, 0.3, -0.3])
REGION_PAY = np.array([1.22, 1.1, 1.05, 1.0, 0.98, 0.97, 0.95, 0.92, 0.96, 0.9, 0.94, 0.88, 1.1])


def age_given_region() -> Chances:
    pyramid = np.interp(
        AGES,
        [0, 10, 20, 30, 40, 52, 60, 68, 76, 85, 92, 99, 107],
        [0.95, 1.05, 1.1, 1.2, 1.3, 1.5, 1.35, 1.1, 0.85, 0.45, 0.14, 0.012, 0.0002],
    )
    return pyramid * np.exp(REGION_AGEING[:, None] * (AGES - 42) / 40)


def sex_given_age() -> Chances:
    female = np.interp(AGES, [0, 20, 50, 70, 80, 90, 107], [0.487, 0.489, 0.5, 0.53, 0.58, 0.68, 0.82])
    return np.stack([female, 1 - female], axis=1)


def education_given_age_sex() -> Chances:
    """An ordered probit: younger cohorts learned longer, women more so; nobody holds a degree before its age."""
    cohort = np.interp(AGES, [25, 40, 60, 80, 107], [0.55, 0.45, 0.0, -0.8, -1.1])
    women = np.interp(AGES, [25, 45, 65, 107], [0.2, 0.1, -0.15, -0.35])
    ability = np.stack([cohort + women, cohort], axis=1)
    at_most = ndtr(np.array([-2.3, -1.6, -0.7, 0.1, 0.55, 1.25, np.inf]) - ability[..., None])
    attained: Chances = np.diff(at_most, axis=-1, prepend=0)
    highest = np.searchsorted([11, 15, 18, 20, 22, 25], AGES, side="right")
    for age, cap in enumerate(highest):
        attained[age, :, cap] = attained[age, :, cap:].sum(axis=-1)
        attained[age, :, cap + 1 :] = 0
    return attained


def occupation_given_age_sex_education() -> Chances:
    """First what a person does at that age, then which work, by education and sex."""
    levels = np.arange(len(EDUCATION)) - 3
    working = np.interp(AGES, [14, 15, 20, 26, 35, 50, 58, 62, 66, 72, 85], [0, 0.06, 0.5, 0.78, 0.86, 0.85, 0.74, 0.45,
                        0.14, 0.04, 0])  # fmt: skip
    studying = np.interp(AGES, [14, 15, 18, 20, 23, 27, 35], [0, 0.93, 0.75, 0.45, 0.22, 0.05, 0.004])
    retired = np.interp(AGES, [50, 56, 60, 63, 66, 70, 80], [0.003, 0.03, 0.16, 0.42, 0.83, 0.95, 0.99])
    child = np.where(AGES < 15, 1e9, 0.0)
    spare = np.clip(1 - working - studying - retired, 0.004, None)
    status = np.zeros((len(AGES), 2, len(EDUCATION), len(OCCUPATIONS)))
    first = len(AT_WORK)
    status[..., first] = child[:, None, None]
    status[..., first + 1] = studying[:, None, None] * np.exp(0.1 * levels)
    status[..., first + 2] = spare[:, None, None] * np.array([0.75, 0.12])[:, None] * np.exp(-0.15 * levels)
    status[..., first + 3] = spare[:, None, None] * 0.45 * np.exp(-0.3 * levels)
    status[..., first + 4] = retired[:, None, None]
    work = work_given_sex_education() * (working[:, None, None, None] * np.exp(0.12 * levels)[:, None])
    status[..., :first] = work[..., :first]
    status[..., first + len(NOT_AT_WORK) :] = work[..., first:]
    return status


def work_given_sex_education() -> Chances:
    """The kinds of work, those that no list names last; their weights sum to 1 for each sex and level."""
    common = np.array([0.5, 1.0, 1.1, 1.3, 1.4, 1.2, 0.35, 1.0, 1.2, 0.9, 0.05, 0.01])
    learned = np.array([0.45, 0.95, 0.5, 0.15, -0.15, 0.05, -0.4, -0.35, -0.45, -0.4, 0.05, 0.5])
    women = np.array([-0.5, 0.15, -0.1, 0.8, 0.45, 1.5, -0.6, -2.4, -0.8, -1.5, -1.5, -1.0])
    levels = np.arange(len(EDUCATION)) - 3
    weights: Chances = common * np.exp(learned * levels[:, None] + women * np.array([0.5, -0.5])[:, None, None])
    sums: Chances = weights.sum(axis=-1, keepdims=True)
    return weights / sums


def hours_given_occupation_sex() -> Chances:
    """Full time peaks at 38 to 40 hours, part time at 20 and 30; managers and farmers work long, a few beyond 80."""
    hours = np.arange(HOURS)
    peaks = {38: 3.0, 40: 4.0, 35: 1.0, 36: 1.0, 42: 0.8, 45: 0.9, 50: 0.6, 60: 0.15}
    full = np.exp(-(((hours - 40) / 5.0) ** 2)) * 0.3 + sum(weight * (hours == peak) for peak, weight in peaks.items())
    part = (hours > 0) * np.exp(-(((hours - 24) / 8.0) ** 2)) * 0.4 + 2.0 * (hours == 20) + 1.2 * (hours == 30)
    long = np.where(hours >= 40, np.exp(-(hours - 40) / 12.0), 0.0)
    full, part, long = (shape / shape.sum() for shape in (full, part, long))
    idle = (hours == 0).astype(np.float64)
    small_job = (hours >= 4) * (hours <= 20) / 17
    chances = np.zeros((len(OCCUPATIONS), 2, HOURS))
    for code, occupation in enumerate(OCCUPATIONS):
        long_share = {"manager": 0.4, "farming": 0.6, "professional": 0.15, "clergy": 0.4}.get(occupation, 0.06)
        for sex, part_share in enumerate((0.42, 0.11)):
            if occupation in NOT_AT_WORK:
                jobs = {"student": 0.3, "retired": 0.05, "at home": 0.04}.get(occupation, 0.0)
                chances[code, sex] = jobs * small_job + (1 - jobs) * idle
            else:
                chances[code, sex] = part_share * part + (1 - part_share) * (
                    long_share * long + (1 - long_share) * full
                )
    return chances


def marital_given_age_sex() -> Chances:
    never = np.interp(AGES, [17, 20, 25, 30, 35, 45, 60, 75, 107], [1, 0.985, 0.86, 0.6, 0.42, 0.28, 0.14, 0.07, 0.06])
    once = 1 - never
    widowed = np.stack(
        [
            np.interp(AGES, [40, 55, 65, 75, 85, 95], [0.004, 0.03, 0.11, 0.33, 0.68, 0.88]),
            np.interp(AGES, [40, 55, 65, 75, 85, 95], [0.001, 0.01, 0.03, 0.1, 0.28, 0.55]),
        ],
        axis=1,
    )
    apart = (1 - widowed) * np.interp(AGES, [20, 35, 50, 65, 85], [0.05, 0.16, 0.27, 0.2, 0.1])[:, None]
    married = 1 - widowed - apart
    ever = np.stack([married, 0.15 * apart, 0.85 * apart, widowed], axis=-1)
    return np.concatenate([np.broadcast_to(never[:, None, None], (*ever.shape[:2], 1)), once[:, None, None] * ever], -1)


def children_given_age_marital() -> Chances:
    """How many children a person has had: Poisson with the age's and the status's mean, a little more often two."""
    by_age = np.interp(AGES, [16, 22, 30, 38, 45, 65, 90, 107], [0, 0.12, 0.8, 1.6, 1.8, 1.95, 2.5, 2.7])
    by_status = np.array([0.3, 1.05, 1.0, 0.95, 1.1])
    mean = np.clip(by_age[:, None] * by_status, 1e-9, None)
    number = np.arange(CHILDREN)
    factorial = np.cumprod(np.maximum(number, 1)).astype(np.float64)
    poisson: Chances = np.exp(-mean[..., None]) * mean[..., None] ** number / factorial
    return poisson * np.where(number == 2, 1.5, 1.0)
