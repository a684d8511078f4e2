"""What entries add up to: each kind of entry, read by whoever wrote it and by whoever opens the journal later."""

from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.errors import Refreshed
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost
from discreet.ledger.standing import LIVE


def test_a_charge_that_was_closed_waits_no_more_stays_spent_and_is_never_answered(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    old, answered = ledger.charge(Cost(5), {}), ledger.charge(Cost(2), {})
    ledger.record(answered.id, {"value": 41})
    assert not ledger.close_charge(old.id)  # it can be answered still
    ledger.note_refresh(SnapshotId(1, "f"))
    assert not ledger.close_charge(answered.id)
    assert ledger.close_charge(old.id)
    for seen in (ledger, Ledger.open(path, domain, budget)):
        assert (seen.pending(), seen.closed(), seen.spent_max) == ([], [old.id], 7)
        assert seen.recorded(old.id) is None
        assert not seen.close_charge(old.id)
        with pytest.raises(Refreshed, match=f"charge {old.id} paid for a table"):
            seen.record(old.id, {"value": 42})


@pytest.mark.parametrize("live", [True, False])
def test_a_table_that_was_live_from_the_start_is_said_to_be(
    tmp_path: Path, domain: Domain, budget: PureBudget, live: bool
) -> None:
    Ledger.create(tmp_path / "journal.db", {"vault_id": "live-vault", "live": live})
    ledger = Ledger.open(tmp_path / "journal.db", domain, budget)
    assert ledger.is_live == live
    assert ledger.guarantee.remarks == (LIVE,) * live
    ledger.note_refresh(SnapshotId(1, "f"), live=not live)
    again = Ledger.open(tmp_path / "journal.db", domain, budget)
    assert ledger.is_live == again.is_live == (not live)
    assert ledger.guarantee == again.guarantee
    assert LIVE in again.guarantee.remarks  # what was read while it was live is out


def test_after_a_refresh_every_point_starts_at_the_most_that_was_spent_anywhere(
    path: Path, domain: Domain, ledger: Ledger
) -> None:
    ledger.charge(Cost(2, ((domain.slab("a", 1, 1).boxes[0], 5),)), {})
    ledger.note_refresh(SnapshotId(1, "f"))
    ledger.charge(Cost(0, ((domain.slab("b", 0, 0).boxes[0], 1),)), {}, snapshot=ledger.snapshot)
    for seen in (ledger, Ledger.open(path, domain, ledger.budget)):
        assert (ledger.budget.limit - seen.left_by((1,))).tolist() == [8, 7, 7, 7]


def test_after_an_erasure_every_point_has_what_was_spent_there_and_a_charge_names_the_next_snapshot(
    path: Path, domain: Domain, ledger: Ledger
) -> None:
    ledger.note_refresh(SnapshotId(1, "f"))
    spent = Cost(2, ((domain.slab("a", 1, 1).boxes[0], 5),))
    ledger.charge(spent, {}, snapshot=SnapshotId(1, "f"))
    before, promise = ledger.left_by((0, 1)), ledger.guarantee
    ledger.note_erasure(SnapshotId(2, "e"))
    with pytest.raises(Refreshed, match="another snapshot in the meantime; nothing was spent"):
        ledger.charge(spent, {}, snapshot=SnapshotId(1, "f"))
    for seen in (ledger, Ledger.open(path, domain, ledger.budget)):
        assert seen.left_by((0, 1)).tolist() == before.tolist()
        assert seen.guarantee == promise  # one table, without some people: no version more
        assert seen.reach == (SnapshotId(2, "e"), 4, 4)
        assert not seen.is_live
    with pytest.raises(Refreshed, match="another snapshot was taken in between"):
        ledger.note_erasure(SnapshotId(2, "other"))
