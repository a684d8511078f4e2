"""Charges and records as entries say them: whatever is none is damage, and a closed charge has no record."""

import pytest

from discreet.errors import JournalCorrupt, Refreshed
from discreet.ledger.charge import read_charge, read_record, snapshot_in
from discreet.ledger.journal import ORIGIN, Entry, canonical, chained
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost


def entry(kind: str, charge: int | None, **body: object) -> Entry:
    return chained(ORIGIN, kind, charge, canonical({"v": 1, **body}))


def test_a_charge_is_read_with_its_cost_its_plan_its_snapshot_and_who_asked() -> None:
    snapshot, cost = SnapshotId(3, "f"), Cost(7)
    written = {"content": {"n": 1}, "cost": cost.to_json(), "snapshot": snapshot.to_json(), "by": "ada"}
    charge = read_charge(entry("charge", None, **written))
    assert (charge.id, charge.cost, charge.plan, charge.snapshot, charge.by) == (1, cost, {"n": 1}, snapshot, "ada")
    plain = read_charge(entry("charge", None, content={}, cost=cost.to_json()))
    assert (plain.snapshot, plain.by) == (None, None)


@pytest.mark.parametrize("body", [{"content": {}}, {"content": {}, "cost": 7}, {"content": {}, "cost": {"boxes": 1}}])
def test_an_entry_without_a_cost_is_no_charge(body: dict[str, object]) -> None:
    with pytest.raises(JournalCorrupt, match="entry 1 of the journal is no charge"):
        read_charge(entry("charge", None, **body))


def test_the_record_of_a_charge_names_it() -> None:
    found = entry("record", 7, content={"value": 41})
    record = read_record(7, found)
    assert (record.charge_id, record.receipt, record.body) == (7, found.receipt, {"value": 41})
    for other in (None, entry("record", 8, content={"value": 41}), entry("record", None, content={"value": 41})):
        with pytest.raises(JournalCorrupt, match="cannot find the record of charge 7"):
            read_record(7, other)


def test_a_closed_charge_has_no_record() -> None:
    with pytest.raises(Refreshed, match="charge 7 paid for a table that the vault is no longer over"):
        read_record(7, entry("close", 7, content={"because": "refreshed"}))


def test_a_snapshot_is_none_where_none_is_named_and_damage_where_it_cannot_be_read() -> None:
    assert snapshot_in({"vault_id": "test-vault"}) is None
    assert snapshot_in({"snapshot": SnapshotId(2, "f").to_json()}) == SnapshotId(2, "f")
    for content in ({"snapshot": None}, {"snapshot": {}}, {"snapshot": 7}, None):
        with pytest.raises(JournalCorrupt, match="names a snapshot that cannot be read"):
            snapshot_in(content)
