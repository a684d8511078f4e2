"""Charges and records: what was spent and what was answered, as entries of the journal say it."""

from dataclasses import dataclass
from typing import Any

from discreet.errors import JournalCorrupt, Refreshed
from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.ledger.reserve import FROM
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost


@dataclass(frozen=True, slots=True)
class Charge:
    """What was spent, durably, and the public plan that it was spent for."""

    id: int
    receipt: Receipt
    cost: Cost
    plan: Any
    snapshot: SnapshotId | None = None
    """The snapshot that it pays for; None in a vault that had none yet."""
    by: str | None = None
    """Who asked, where it was asked through a server."""
    reserve: int | None = None
    """The entry of the reserve that it was drawn on, where it was: then nothing was charged for it again."""
    table: str | None = None
    """What was asked, where the vault has several tables; the cost is over a person's points then."""


@dataclass(frozen=True, slots=True)
class Record:
    """The one answer of a charge, durably: the first that was recorded, whoever drew it."""

    charge_id: int
    receipt: Receipt
    body: Any


def read_charge(entry: Entry) -> Charge:
    """The charge of an entry. Raises JournalCorrupt where it is none."""
    body = entry.parsed()
    try:
        cost, snapshot = Cost.from_json(body["cost"]), snapshot_in(body)
        asked = body.get("by"), body.get(FROM), body.get("table")
        return Charge(entry.seq, entry.receipt, cost, body["content"], snapshot, *asked)
    except (LookupError, TypeError, ValueError):
        raise JournalCorrupt(f"entry {entry.seq} of the journal is no charge", "restore it from a backup") from None


def read_record(charge_id: int, entry: Entry | None) -> Record:
    """The record of a charge. Raises JournalCorrupt where it is not there, and Refreshed where it was closed."""
    if entry is None or entry.charge != charge_id:  # it was found by an index, which no hash covers
        raise JournalCorrupt(f"the journal cannot find the record of charge {charge_id}", "restore it from a backup")
    if entry.kind == "close":
        raise Refreshed(
            f"charge {charge_id} paid for a table that the vault is no longer over: it was closed unanswered"
        )
    return Record(charge_id, entry.receipt, entry.parsed()["content"])


def snapshot_in(content: Any) -> SnapshotId | None:
    """What a header, a charge, a refresh or an erasure names; None in journals of a version that took no snapshots."""
    try:
        return SnapshotId.from_json(content["snapshot"]) if "snapshot" in content else None
    except (LookupError, TypeError, ValueError):
        raise JournalCorrupt("the journal names a snapshot that cannot be read", "restore it from a backup") from None
