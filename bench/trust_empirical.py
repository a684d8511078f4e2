"""Empirical privacy: planted mistakes caught, alarms where nothing is wrong, how near bounds come, and the time."""

import itertools
import time
from collections.abc import Iterator

import pytest

from bench.figure import Figure
from discreet.empirical.catalogue import Case, catalogue
from discreet.empirical.mechanisms import RUNS, audit_case, audit_mechanisms
from discreet.noise.bits import KEY_BYTES, Bits
from tests.trust.planted import PLANTED

PASSES = 100
PASS_RUNS = 2_000
QUICK = ("noise", "mechanism", "counts", "cube, consistent")


def figures() -> Iterator[Figure]:
    yield caught_figure()
    yield alarm_figure()
    yield from catalogue_figures()


def caught_figure() -> Figure:
    keys = itertools.count(1)
    with pytest.MonkeyPatch.context() as patch:  # the same bits in every run
        patch.setattr(Bits, "_key", lambda _: next(keys).to_bytes(KEY_BYTES, "big"))
        missed = [planted.name for planted in PLANTED if planted.audited().holds]
    note = "missed: " + ", ".join(missed) if missed else "by themselves, and in the product"
    return Figure("planted mistakes caught", len(PLANTED) - len(missed), len(PLANTED), "higher", "", note)


def alarm_figure() -> Figure:
    """The quick cases; `make soak` does the same with all of them."""
    cases = [case for case in catalogue() if is_quick(case)]
    alarms = sum(not audit_case(case, PASS_RUNS).holds for _ in range(PASSES) for case in cases)
    note = f"{PASSES} passes of {len(cases)} mechanisms, {PASS_RUNS:,} runs each"
    return Figure("alarms, correct mechanisms", alarms, 0, "lower", "", note)


def is_quick(case: Case) -> bool:
    return (case.slower == 1 and case.mechanism.startswith(QUICK)) or "noise" in case.mechanism


def catalogue_figures() -> Iterator[Figure]:
    start = time.perf_counter()
    audited = list(audit_mechanisms())
    seconds = time.perf_counter() - start
    above = sum(not one.holds for one in audited)
    note = f"{len(audited)} audits of up to {RUNS:,} runs of either input"
    yield Figure("mechanisms that lose more than they state", above, 0, "lower", "", note)
    yield Figure("discreet audit mechanisms", seconds, 60, "lower", "s", note)
    laplace = audited[0].evidence
    yield Figure(
        "what is found of Laplace noise's ε",
        laplace.bound / laplace.stated,
        0.85,
        "higher",
        "of it",
        str(laplace.event),
    )
