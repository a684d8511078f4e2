"""Faults in the protocol, each as somebody might make it, planted where the real code is; where a search finds it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import discreet.home
import discreet.ledger.followed
import discreet.vault.succession
from discreet.answer.known import Known
from discreet.domain.domain import Domain
from discreet.ledger.asker import Asker
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge, Record
from discreet.ledger.followed import FollowedJournal
from discreet.ledger.growth import Growth
from discreet.ledger.journal import ORIGIN, Entry
from discreet.ledger.ledger import ROLLBACK, Ledger, _body
from discreet.ledger.receipt import Receipt
from discreet.ledger.reserve import Reserve
from discreet.ledger.snapshot import SNAPSHOTS, SnapshotId, snapshot_folder
from discreet.ledger.spend import Cost, SpendMap
from discreet.ledger.spend_map import spend_map
from discreet.ledger.state import LedgerState
from discreet.ledger.together import JointTurn
from discreet.query.plan import Plan
from discreet.release.gate import Gate
from discreet.release.own_table import OwnTable, Table
from discreet.release.release import Release
from discreet.vault import Vault
from tests.trust.protocol_search import Scope

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Fault:
    """A fault, a scope that it shows in, and the rules of the promise that it breaks."""

    name: str
    plant: Plant
    scope: Scope
    rules: str


def completed_from_the_current_table(patch: pytest.MonkeyPatch) -> None:
    def complete(gate: Gate, charge: Charge) -> Release:
        plan = Plan.from_json(charge.plan)
        return gate._answer(charge, plan, gate._ready(plan))

    patch.setattr(Gate, "complete", complete)


def checked_before_the_turn(patch: pytest.MonkeyPatch) -> None:
    real, require = Ledger.charge, LedgerState.require_current

    def charge(
        ledger: Ledger, cost: Cost, plan: Any, asker: Asker | None = None, snapshot: SnapshotId | None = None
    ) -> Charge:
        with ledger._followed.current() as state:
            require(state, snapshot)
        return real(ledger, cost, plan, asker, snapshot)

    patch.setattr(Ledger, "charge", charge)
    patch.setattr(LedgerState, "require_current", lambda _state, _snapshot: None)


def every_record_is_kept(patch: pytest.MonkeyPatch) -> None:
    def record(ledger: Ledger, charge_id: int, body: Any) -> Record:
        with ledger._followed.turn():
            stored = ledger._followed.append("record", charge_id, _body(body))
        ledger._followed.give(stored.receipt)
        return Record(charge_id, stored.receipt, body)

    patch.setattr(Ledger, "record", record)


def the_own_draw_is_returned(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.record

    def record(ledger: Ledger, charge_id: int, body: Any) -> Record:
        return replace(real(ledger, charge_id, body), body=body)

    patch.setattr(Ledger, "record", record)


def known_by_the_place_of_the_record(patch: pytest.MonkeyPatch) -> None:
    def refresh(known: Known) -> None:
        known.snapshot, since, _ = known.ledger.reach
        if since > known._since:
            known._by_quantity, known._quantiles = {}, {}
            known._since, known._upto = since, max(since, known._upto)
        for charge, record in known.ledger.answered(known._upto):
            known._add(known.recall(charge, record))
            known._upto = record.receipt.seq

    patch.setattr(Known, "refresh", refresh)


def known_passes_over(patch: pytest.MonkeyPatch) -> None:
    def refresh(known: Known) -> None:
        snapshot = known.ledger.snapshot
        if snapshot != known.snapshot:
            known._by_quantity, known._quantiles = {}, {}
            known.snapshot = snapshot
        for charge, record in known.ledger.answered(known._upto):
            if charge.snapshot == snapshot:
                known._add(known.recall(charge, record))
            known._upto = record.receipt.seq

    patch.setattr(Known, "refresh", refresh)


def not_levelled(patch: pytest.MonkeyPatch) -> None:
    def levelled(state: LedgerState) -> SpendMap:
        return state.map

    patch.setattr(LedgerState, "levelled", levelled)


def every_refresh_wins(patch: pytest.MonkeyPatch) -> None:
    def note_refresh(ledger: Ledger, snapshot: SnapshotId, live: bool = False) -> Receipt:  # noqa: ARG001
        with ledger._followed.turn():
            receipt = ledger._followed.append("refresh", None, _body({"snapshot": snapshot.to_json()})).receipt
        ledger._followed.give(receipt)
        return receipt

    patch.setattr(Ledger, "note_refresh", note_refresh)


def every_erasure_wins(patch: pytest.MonkeyPatch) -> None:
    def note_erasure(ledger: Ledger, snapshot: SnapshotId) -> Receipt:
        with ledger._followed.turn():
            receipt = ledger._followed.append("erase", None, _body({"snapshot": snapshot.to_json()})).receipt
        ledger._followed.give(receipt)
        return receipt

    patch.setattr(Ledger, "note_erasure", note_erasure)


def every_append_wins(patch: pytest.MonkeyPatch) -> None:
    def note_append(ledger: Ledger, snapshot: SnapshotId, closed: str) -> Receipt:
        with ledger._followed.turn():
            text = _body({"snapshot": snapshot.to_json(), "closed": closed})
            receipt = ledger._followed.append("append", None, text).receipt
        ledger._followed.give(receipt)
        return receipt

    patch.setattr(Ledger, "note_append", note_append)
    patch.setattr(Growth, "is_later", lambda _growth, period: isinstance(period, str))


def periods_to_come_pay_as_well(patch: pytest.MonkeyPatch) -> None:
    """What covers all that is closed counts everywhere."""
    real = Plan.cost

    def cost(plan: Plan, domain: Domain, budget: Budget) -> Cost:
        found = real(plan, domain, budget)
        return Cost(sum(units for _, units in found.regional))

    patch.setattr(Plan, "cost", cost)


def an_append_forgets_what_was_spent(patch: pytest.MonkeyPatch) -> None:
    real = LedgerState._absorb

    def absorb(state: LedgerState, entries: Iterator[Entry]) -> bool:
        def seen() -> Iterator[Entry]:
            for entry in entries:
                yield entry
                if entry.kind == "append":
                    state.map = spend_map(state.domain, state.budget.limit)

        return real(state, seen())

    patch.setattr(LedgerState, "_absorb", absorb)


def what_was_known_outlives_an_erasure(patch: pytest.MonkeyPatch) -> None:
    """The next snapshot is of the same people, after all."""

    def refresh(known: Known) -> None:
        known.snapshot, _, _ = known.ledger.reach
        levelled = known.ledger._followed.state.noted.get("refresh", ORIGIN).seq
        if levelled > known._since:
            known._by_quantity, known._since = {}, levelled
        for charge, record in known.ledger.answered(known._upto):
            if charge.id > levelled:
                known._add(known.recall(charge, record))
            known._upto = record.receipt.seq

    patch.setattr(Known, "refresh", refresh)


def draws_beyond_what_was_set_aside(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reserve, "has", lambda *_: True)


def decided_on_another_snapshot(patch: pytest.MonkeyPatch) -> None:
    real = Gate.measure
    patch.setattr(Gate, "measure", lambda gate, plan, _decided_on=None: real(gate, plan))


def closed_while_it_could_be_answered(patch: pytest.MonkeyPatch) -> None:
    def complete(vault: Vault) -> list[Release]:
        for charge in vault.ledger.pending():
            with vault.ledger._followed.turn():
                vault.ledger._followed.append("close", charge.id, _body({}))
        return []

    patch.setattr(Vault, "complete", complete)


def a_snapshot_that_is_to_be_named_removed(patch: pytest.MonkeyPatch) -> None:
    """A refresh removes all snapshots but its own: also the next one, which somebody is about to name."""

    def forget_snapshots(home: Path, before: SnapshotId) -> None:
        for folder in (home / SNAPSHOTS).glob("*"):
            if folder != snapshot_folder(home, before):
                discreet.home.shutil.rmtree(folder)

    patch.setattr(discreet.vault.succession, "forget_snapshots", forget_snapshots)


def a_lost_refresh_leaves_its_snapshot(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(discreet.vault.succession, "forget_snapshot", lambda _home, _id: None)


def opened_once(patch: pytest.MonkeyPatch) -> None:
    def current(own: OwnTable) -> Table:
        id = own.ledger.snapshot
        assert id is not None
        return own._open(id)

    patch.setattr(OwnTable, "current", current)


def mapped_once(patch: pytest.MonkeyPatch) -> None:
    def ready(gate: Gate, _plan: Plan) -> Table:
        table = gate._table()
        table.require([])
        return table

    patch.setattr(Gate, "_ready", ready)


def decided_as_if_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(JointTurn, "require_fit", lambda turn, cost, asker: turn.state.require_fit(cost, asker))


def last(*receipts: Receipt) -> Receipt:
    return max(receipts, key=lambda receipt: receipt.seq)


def nobody_looks_for_an_older_journal(patch: pytest.MonkeyPatch) -> None:
    """Receipts are kept, and looked at when a vault is opened, and never again."""

    def give(followed: FollowedJournal, receipt: Receipt) -> None:
        followed.last, followed.given = last(followed.last, receipt), last(followed.given, receipt)
        discreet.ledger.followed.keep_receipt(followed.vault_id, receipt, goes_on_from=followed.holds)

    patch.setattr(FollowedJournal, "give", give)


def nothing_given_for_what_others_wrote(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def current(followed: FollowedJournal) -> Iterator[LedgerState]:
        followed.count()
        yield followed.state

    patch.setattr(FollowedJournal, "current", current)


def a_rollback_goes_unsaid(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.note
    patch.setattr(Ledger, "note", lambda ledger, kind, *more: None if kind == ROLLBACK else real(ledger, kind, *more))


AT_ONCE = Scope((("too much at once",),), steps=60, operations=1)
ALONE = Scope((("Arden", "Belmont", "refresh", "complete"),), steps=60, operations=4, crashes=1)
BESIDE_A_REFRESH = Scope((("Arden", "Belmont"), ("refresh",)), steps=60, operations=2)
KNOWN = Scope((("half of Arden",), ("refresh", "ask")), steps=60, operations=(1, 2))
DECIDED = Scope((("half of Arden", "ask"), ("refresh",)), steps=60, operations=(2, 1))
REPEATED = Scope((("repeat",), ("refresh", "half of Arden")), steps=60, operations=2)
COMPLETED_TWICE = Scope((("Arden",), ("complete",), ("complete",)), steps=60, operations=1, crashes=1)
REFRESHED_TWICE = Scope((("refresh",), ("refresh",)), steps=60, operations=2)
ERASED_TWICE = Scope((("erase",), ("erase",)), steps=60, operations=2)
KNOWN_AND_ERASED = Scope((("half of Arden",), ("erase", "repeat")), steps=60, operations=(1, 2))
PUT_BACK = Scope((("Arden",),), steps=60, operations=3, crashes=1, rollbacks=1)
PUT_BACK_UNDER = Scope((("Arden",), ("ask",)), steps=60, operations=1, rollbacks=1)
PUT_BACK_UNSEEN = Scope((("Arden", "complete"), ("repeat",)), steps=60, operations=(2, 1), crashes=1, rollbacks=1)

DRAWN = Scope((("set aside", "draw"),), steps=60, operations=4)

APPENDED_TWICE = Scope((("append",), ("append",)), steps=60, operations=2)
SPENT_AND_APPENDED = Scope((("first year", "append", "half of the first year"),), steps=60, operations=3)

GROWING_FAULTS = [
    Fault("every append wins", every_append_wins, APPENDED_TWICE, "56"),
    Fault("periods to come pay as well", periods_to_come_pay_as_well, SPENT_AND_APPENDED, "5"),
    Fault("an append forgets what was spent", an_append_forgets_what_was_spent, SPENT_AND_APPENDED, "25"),
]
FAULTS = [
    Fault("a charge is completed from another table", completed_from_the_current_table, ALONE, "12"),
    Fault("the snapshot is checked before the turn", checked_before_the_turn, BESIDE_A_REFRESH, "25"),
    Fault("every record is kept, and returned", every_record_is_kept, COMPLETED_TWICE, "235"),
    Fault("the own draw is returned", the_own_draw_is_returned, COMPLETED_TWICE, "23"),
    Fault("known by where the record stands", known_by_the_place_of_the_record, KNOWN, "4"),
    Fault("known answers are passed over", known_passes_over, REPEATED, "7"),
    Fault("no levelling at a refresh", not_levelled, ALONE, "25"),
    Fault("charges of one turn are decided as if alone", decided_as_if_alone, AT_ONCE, "25"),
    Fault("every refresh wins", every_refresh_wins, REFRESHED_TWICE, "56"),
    Fault("every erasure wins", every_erasure_wins, ERASED_TWICE, "56"),
    Fault("what was known outlives an erasure", what_was_known_outlives_an_erasure, KNOWN_AND_ERASED, "4"),
    Fault("draws beyond what was set aside", draws_beyond_what_was_set_aside, DRAWN, "25"),
    Fault("decided on another snapshot", decided_on_another_snapshot, DECIDED, "4"),
    Fault("closed while it could be answered", closed_while_it_could_be_answered, COMPLETED_TWICE, "5"),
    Fault("the next snapshot is removed", a_snapshot_that_is_to_be_named_removed, REFRESHED_TWICE, "6"),
    Fault("a lost refresh leaves its snapshot", a_lost_refresh_leaves_its_snapshot, REFRESHED_TWICE, "6"),
    Fault("a snapshot is opened once", opened_once, BESIDE_A_REFRESH, "7"),
    Fault("a snapshot is mapped once", mapped_once, BESIDE_A_REFRESH, "7"),
    Fault("nobody looks for an older journal", nobody_looks_for_an_older_journal, PUT_BACK_UNDER, "2"),
    Fault("nothing is given for what others wrote", nothing_given_for_what_others_wrote, PUT_BACK_UNSEEN, "2"),
    Fault("a rollback goes unsaid", a_rollback_goes_unsaid, PUT_BACK, "2"),
]
