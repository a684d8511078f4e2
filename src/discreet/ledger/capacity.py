"""How many counts any mechanism can answer with Laplace noise of one scale, whatever it keeps account by.

All bounds are for neighbours by replacement: siblings that differ in one tuple. Each is an upper bound that is never
reached: fewer queries than this can be answered. [relaxation, Section 3.3]
"""

from fractions import Fraction


def capacity_at_volume(epsilon: Fraction, scale: Fraction, volume: Fraction) -> Fraction:
    """For queries that all cover the same share of the domain's points: ελ/(2s(1−s)). [relaxation, Lemma 3.1]"""
    if not 0 < volume < 1:
        raise ValueError("a volume is a share of the domain, above 0 and below 1")
    return epsilon * scale / (2 * volume * (1 - volume))


def capacity_between_volumes(epsilon: Fraction, scale: Fraction, least: Fraction) -> Fraction:
    """For queries that cover a share of at least s' and at most 1 − s' of the domain: ελ/s'. [relaxation, Lemma 3.2]"""
    if not 0 < least <= Fraction(1, 2):
        raise ValueError("the least volume is above 0 and at most 1/2")
    return epsilon * scale / least


def capacity_at_all(epsilon: Fraction, scale: Fraction, points: int) -> Fraction:
    """For any queries that cover some points of the domain, but not all: n·ελ. [relaxation, Corollary 2]"""
    if points < 2:
        raise ValueError("a query can cover some points and not all only where there are two or more")
    return capacity_between_volumes(epsilon, scale, Fraction(1, points))
