"""An audit is worth what it would find: every planted mistake is caught, and what is correct is never accused."""

import pytest

from discreet.empirical.catalogue import catalogue
from discreet.empirical.mechanisms import audit_case
from tests.trust.planted import ALONE, IN_THE_PRODUCT, Planted

SLOW = 20
"""Cases that are so much slower than others are audited in `make soak` alone."""
PARTS = 4


@pytest.mark.parametrize("kind", [ALONE, IN_THE_PRODUCT], ids=["by themselves", "in the product"])
def test_every_planted_mistake_is_caught(kind: list[Planted], counted):
    missed = [planted.name for planted in kind if planted.audited().holds]
    counted(mistakes=len(kind), caught=len(kind) - len(missed))
    assert not missed


@pytest.mark.parametrize("part", range(PARTS))
def test_correct_mechanisms_are_not_accused(part, amount, counted):
    """The whole catalogue, 100 times in `make soak`: at 10^-5 an audit, the chance of one alarm is about 5%."""
    cases = [case for case in catalogue() if case.slower < amount(SLOW, 1_000)][part::PARTS]
    passes = amount(1, 100)
    audited = [audit_case(case, 2_000) for _ in range(passes) for case in cases]
    alarms = [one for one in audited if not one.holds]
    counted(passes=passes, audits=len(audited), alarms=len(alarms))
    assert not alarms
