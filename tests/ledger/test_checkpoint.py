"""Checkpoints: a ledger that was opened from one stands where a ledger stands that counted every entry."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, JournalCorrupt, JournalError
from discreet.ledger import buckets, checkpoint, deferred, own_spend, spend_map, state
from discreet.ledger.asker import Asker
from discreet.ledger.budget import Budget, PureBudget
from discreet.ledger.journal import canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt, keep_checkpoint, kept_checkpoint
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.sqlite import SQLiteJournal
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget

ONE = Fraction(1)
SHAPE = (3, 5)
DOMAIN = Domain("t", tuple(Integer(name=n, source="test", low=0, high=s - 1) for n, s in zip("ab", SHAPE, strict=True)))
EVERY_BOX = [
    Box((a, c), (b, d)) for a in range(SHAPE[0]) for b in range(a, SHAPE[0]) for c in range(5) for d in range(c, 5)
]
PIECES = st.lists(st.tuples(st.sampled_from(EVERY_BOX), st.integers(0, 9)), max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), st.integers(0, 2), PIECES, st.sampled_from([None, "ada", "bo"])),
        st.tuples(st.just("ask"), st.integers(0, 2), PIECES, st.sampled_from([None, "ada", "bo"])),
        st.tuples(st.just("ask"), st.just(0), PIECES.filter(bool), st.just("ada")),
        st.tuples(st.just("fact"), st.integers(1, 4)),
        st.tuples(st.just("reserve"), st.integers(0, 2), PIECES),
        st.tuples(st.just("draw"), st.integers(0, 2), PIECES),
        st.tuples(st.just("note"), st.sampled_from(["cube", "lookups"]), st.integers(0, 9)),
        st.sampled_from([("refresh",), ("live refresh",), ("erase",), ("close",), ("begin",), ("publish",), ("lose",)]),
        st.just(("open again",)),
    ),
    min_size=5,
    max_size=40,
)


def take(ledger: Ledger, path: Path, budget: Budget, step: Any) -> Ledger:
    """Do what a step says, if it can be done."""
    unit = budget.limit // 200
    match step:
        case "charge" | "ask" as kind, everywhere, pieces, name:
            cost = Cost(everywhere * unit, tuple((box, units * unit) for box, units in pieces))
            try:
                charge = ledger.charge(cost, {"n": 1}, Asker(name) if name else None, ledger.snapshot)
            except BudgetExceeded:
                return ledger
            if kind == "ask":
                ledger.record(charge.id, {"value": everywhere})
        case "reserve" | "draw" as kind, everywhere, pieces:
            cost = Cost(everywhere * unit, tuple((box, units * unit) for box, units in pieces))
            try:
                if kind == "reserve":
                    ledger.reserve(cost, {"for": 1}, ledger.snapshot)
                for number in list(ledger._followed.state.reserves) if kind == "draw" else ():
                    ledger.draw(number, cost, {"n": 1}, ledger.snapshot)
            except BudgetExceeded:
                return ledger
        case "fact", people:
            ledger.note_fact({"fact": {"text": "n"}, "induced": [people, people**2]}, ledger.head.seq)
        case "note", kind, value:
            ledger.note(kind, {"value": value})
        case ("refresh" | "live refresh" as kind,):
            now = ledger.snapshot
            ledger.note_refresh(SnapshotId(1 if now is None else now.number + 1, "f"), live=kind == "live refresh")
        case ("erase",):
            now = ledger.snapshot
            ledger.note_erasure(SnapshotId(1 if now is None else now.number + 1, "e"))
        case ("close",):
            for number in [charge.id for charge in ledger.pending()][:1]:
                ledger.close_charge(number)
        case ("begin",):
            ledger.note("buckets", {"state": "begun"})
        case ("publish",):
            for number in ledger.publications[:1]:
                ledger.note("buckets", {"state": "published", "begun": number})
        case ("lose",):
            ledger.accept_lost(Receipt(ledger.head.seq + 100, bytes(32)))
        case ("open again",):
            ledger.close()
            return Ledger.open(path, DOMAIN, budget)
    return ledger


def standing(ledger: Ledger) -> dict[str, Any]:
    """Everything that anybody is told by a ledger, or decided by it."""
    points = [Cost(0, ((box, ledger.budget.limit // many),)) for box in EVERY_BOX[::7] for many in (1, 2, 5, 20)]
    return {
        "head": ledger.head,
        "header": ledger.header,
        "promise": ledger.guarantee,
        "left": [ledger.left_by(axes).tolist() for axes in ((0, 1), (0,))],
        "most": ledger.spent_max,
        "refused": [ledger.refusal(cost) for cost in points],
        "fits Ada": [ledger.fits(cost, Asker("ada", Fraction(1, 3))) for cost in points],
        "askers": list(ledger.spent_by().items()),
        "charges": ledger.charges,
        "pending": ledger.pending(),
        "closed": ledger.closed(),
        "facts": ledger.facts,
        "rows": ledger.publications,
        "table": (ledger.reach, ledger.is_live),
        "notes": {kind: ledger.latest(kind) for kind in ("cube", "lookups", "fact", "refresh", "erase", "buckets")},
        "lost": ledger._lost,
        "set aside": dict(ledger._followed.state.reserves),
        "answers": list(ledger.answered()),
    }


@settings(max_examples=60)
@given(
    steps=STEPS,
    budget=st.sampled_from(
        [PureBudget(ONE, "replace", 2), ConcentratedBudget(ONE, "replace"), GaussianBudget(ONE, "add-remove")]
    ),
    every=st.integers(1, 12),
    maps=st.sampled_from(["grid", "histogram", "small histogram"]),
)
def test_a_ledger_opened_from_a_checkpoint_stands_where_one_stands_that_counted_all(
    steps: list[Any], budget: Budget, every: int, maps: str
) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", f"{name}/state")
        patch.setattr(checkpoint, "EVERY", every)
        patch.setattr(deferred, "MOST_REPLAYED", 3)
        patch.setattr(state, "AT_ONCE", 5)
        patch.setattr(own_spend, "MOST_CELLS", 12)
        if maps != "grid":
            patch.setattr(spend_map, "MAX_POINTS", 0)
        if maps == "small histogram":
            patch.setattr(buckets.BucketedSpend.__init__, "__defaults__", (4, "larger"))
        path = Path(name, "j")
        Ledger.create(path, {"vault_id": "test-vault", "live": False})
        ledger = Ledger.open(path, DOMAIN, budget)
        for step in steps:
            ledger = take(ledger, path, budget, step)
        from_checkpoint, from_start = Ledger.open(path, DOMAIN, budget), Ledger(SQLiteJournal(path), DOMAIN, budget)
        assert standing(from_checkpoint) == standing(from_start) == standing(ledger)
        stated, whole = (each._followed.state.stated() for each in (from_checkpoint, from_start))
        assert checkpoint.says(checkpoint.packed(stated), whole)
        assert from_start.untrue_checkpoints == []
        assert from_checkpoint._followed.state.begun_at == (kept_checkpoint("test-vault") or Receipt(0, bytes(32)))
        for each in (ledger, from_checkpoint, from_start):
            each.close()


@pytest.fixture
def domain() -> Domain:
    return DOMAIN


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 6)


def ask(ledger: Ledger, times: int = 1) -> None:
    for _ in range(times):
        ledger.record(ledger.charge(Cost(UNITS // 100), {"n": 1}, Asker("ada")).id, {"value": 7})


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def counted_from(path: Path, ledger: Ledger) -> int:
    """The number of the entry that opening counts from."""
    with closing(Ledger.open(path, ledger.domain, ledger.budget)) as again:
        assert again.spent_max == ledger.spent_max
        return again._followed.state.begun_at.seq


def true_statement(ledger: Ledger) -> Any:
    """What a checkpoint would state now."""
    with ledger._followed.current() as now:
        return json.loads(json.dumps(checkpoint.packed(now.stated())))


def append(path: Path, ledger: Ledger, content: Any) -> int:
    """An insider's checkpoint, with a hash that fits."""
    journal = SQLiteJournal(path)
    body = canonical({"v": 1, "at": "2030-01-01T00:00:00+00:00", "content": content})
    with closing(journal), journal.turn():
        entry = chained(ledger.head, checkpoint.KIND, None, body)
        journal.append(entry)
    return entry.seq


def test_a_checkpoint_is_written_after_so_many_entries_and_what_was_before_is_not_counted_again(
    path: Path, ledger: Ledger
) -> None:
    ask(ledger, 10)
    written = [number for number, kind in enumerate(kinds(ledger), 1) if kind == checkpoint.KIND]
    assert written == [8, 17]
    assert kept_checkpoint("test-vault") == ledger._followed.journal.receipt_at(17)
    assert counted_from(path, ledger) == 17


def test_checkpoints_take_no_more_room_than_the_entries_between_them(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 1)
    ask(ledger, 100)
    sizes: list[tuple[int, int]] = []
    since = 0
    for entry in ledger.entries():
        if entry.kind == checkpoint.KIND:
            sizes.append((len(entry.body), since))
            since = 0
        else:
            since += len(entry.body)
    assert len(sizes) > 5
    assert all(size <= later for (size, _), (_, later) in pairwise(sizes))


def test_without_a_kept_receipt_every_entry_is_counted(
    path: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(ledger, 5)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    assert counted_from(path, ledger) == 0
    assert counted_from(path, ledger) == 8  # compared by now


def test_a_home_that_cannot_be_written_loses_no_answer(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    ask(ledger, 5)
    assert checkpoint.KIND in kinds(ledger)
    assert counted_from(path, ledger) == 0


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "less spent everywhere": lambda said: said["spent"].update(everywhere=0),
    "less spent in a region": lambda said: said["spent"].update(steps=None),
    "less spent by an asker": lambda said: said["askers"][0][1].update(everywhere=0),
    "an asker forgotten": lambda said: said.update(askers=[]),
    "a charge that waits for its answer": lambda said: said.update(pending=checkpoint.packed(np.array([], np.int64))),
    "fewer charges": lambda said: said.update(charges=1),
    "a fact forgotten": lambda said: said.update(facts=[]),
    "a fact of another table": lambda said: said["facts"][0].__setitem__(1, 1),
    "another header": lambda said: said["noted"].update(init=said["noted"]["cube"]),
    "a note forgotten": lambda said: said["noted"].pop("cube"),
    "no rows published": lambda said: said.update(begun=[]),
    "nothing lost": lambda said: said.update(lost=[]),
    "fewer versions": lambda said: said.update(versions=0),
    "never live": lambda said: said.update(live=True),
    "a number for a truth": lambda said: said.update(live=0),
    "something more": lambda said: said.update(more=1),
    "something less": lambda said: said.pop("closed"),
    "no array": lambda said: said["pending"].update(zlib="!"),
    "a longer array": lambda said: said["pending"].update(shape=[1 << 60]),
    "floats": lambda said: said["pending"].update(numbers="float64"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_an_untrue_checkpoint_is_passed_over_by_everybody(
    path: Path, ledger: Ledger, lie: Callable[[dict[str, Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 1000)
    ledger.note("cube", {"a": 1})
    ledger.note("buckets", {"state": "begun"})
    ledger.note_fact({"fact": {"text": "n"}, "induced": [1, 1]}, ledger.head.seq)
    ledger.accept_lost(Receipt(100, bytes(32)))
    ledger.charge(Cost(3, ((Box((0, 0), (1, 1)), 5),)), {}, Asker("ada"))
    ask(ledger, 2)
    said = true_statement(ledger)
    lie(said)
    seq = append(path, ledger, said)
    told = standing(ledger)
    for seen in (ledger, Ledger(SQLiteJournal(path), ledger.domain, ledger.budget)):
        assert seen.untrue_checkpoints == [seq]
        assert standing(seen) == told
        assert counted_from(path, ledger) == 0
        ask(seen)
        told = standing(seen)
    seq = append(path, ledger, true_statement(ledger))
    assert counted_from(path, ledger) == 0  # compared now,
    assert counted_from(path, ledger) == seq  # and gone by


@pytest.mark.parametrize("content", ["text", None, [], 7])
def test_a_checkpoint_that_states_nothing_is_untrue(path: Path, ledger: Ledger, content: Any) -> None:
    assert ledger.untrue_checkpoints == []
    seq = append(path, ledger, content)
    assert ledger.untrue_checkpoints == [seq]


def test_a_checkpoint_of_another_form_is_passed_over(path: Path, ledger: Ledger) -> None:
    ask(ledger)
    seq = append(path, ledger, {"form": 2, "all": "new"})
    assert (ledger.untrue_checkpoints, ledger.head.seq) == ([], seq)
    keep_checkpoint("test-vault", ledger.head)  # by another version, which knew it
    assert counted_from(path, ledger) == 0


def test_a_checkpoint_that_was_changed_since_it_was_compared_is_not_gone_by(path: Path, ledger: Ledger) -> None:
    ask(ledger, 5)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute("UPDATE entries SET body = replace(body, 'everywhere', 'elsewhere') WHERE seq = 8")
    with pytest.raises(JournalCorrupt, match="edited at entry 8"):
        Ledger.open(path, ledger.domain, ledger.budget)


def test_a_receipt_of_a_branch_that_was_lost_is_not_gone_by(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    ask(ledger, 2)
    ledger.close()
    shutil.copy(path, tmp_path / "backup")
    ledger = Ledger.open(path, ledger.domain, ledger.budget)
    ask(ledger, 9)
    ledger.close()
    os.replace(tmp_path / "backup", path)
    again = Ledger.open(path, ledger.domain, ledger.budget, accept_rollback=True)
    assert again._followed.state.begun_at.seq == 0
    ask(again, 3)
    assert counted_from(path, again) == kinds(again).index(checkpoint.KIND) + 1


def test_an_entry_before_the_checkpoint_is_checked_when_it_is_read(path: Path, ledger: Ledger) -> None:
    ask(ledger, 5)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute("""UPDATE entries SET body = replace(body, '"value":7', '"value":8') WHERE seq = 5""")
        connection.execute("""UPDATE entries SET body = replace(body, '"n":1', '"n":2') WHERE seq = 6""")
    again = Ledger.open(path, ledger.domain, ledger.budget)
    assert again._followed.state.begun_at.seq == 8
    reads: list[Callable[[], object]] = [
        lambda: again.charge_at(6),
        lambda: again.recorded(4),
        lambda: list(again.entries()),
        lambda: list(again.answered(4)),
        lambda: list(again.answered(2)),
    ]
    for read in reads:
        with pytest.raises(JournalCorrupt, match=r"edited at entry [56]"):
            read()
    kept = SQLiteJournal(path).receipt_at(3)
    assert kept is not None
    with pytest.raises(JournalCorrupt, match="edited at entry 5"):
        again.check_receipt(kept)  # the journal has it, and does not go on from it
    assert [entry.seq for entry in again.entries(6)] == [7, 8, 9, 10, 11, 12]
    assert again.recorded(9) is not None


def test_of_two_ledgers_at_work_one_writes_and_the_other_compares(path: Path, ledger: Ledger) -> None:
    other = Ledger.open(path, ledger.domain, ledger.budget)
    for _ in range(10):
        ask(ledger)
        ask(other)
    assert kinds(ledger).count(checkpoint.KIND) >= 4
    for each in (ledger, other):
        assert each._followed.state.checkpoint == each._followed.journal.receipt_at(kept_checkpoint("test-vault").seq)
        assert each.untrue_checkpoints == []


def test_a_forked_child_counts_from_the_checkpoint_that_was_compared(ledger: Ledger) -> None:
    ask(ledger, 5)
    spent = ledger.spent_max
    ledger.after_fork()
    assert ledger.spent_max == spent
    assert ledger._followed.state.begun_at.seq == 8


def test_an_answer_is_given_where_no_checkpoint_can_be_written(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, whole = [], ledger._followed.append

    def full(kind: str, charge: int | None, body: str) -> Any:
        if kind == checkpoint.KIND:
            tried.append(ledger._followed.state.head.seq)
            raise JournalError("the disk is full")
        return whole(kind, charge, body)

    monkeypatch.setattr(ledger._followed, "append", full)
    ask(ledger, 10)
    assert tried == [7, 13, 19]  # and not with each answer
    assert (ledger.charges, ledger.pending()) == (10, [])


def test_another_domain_or_budget_is_told_by_the_entries_and_not_by_the_checkpoint(
    path: Path, ledger: Ledger, domain_of: Callable[..., Domain]
) -> None:
    ledger.charge(Cost(0, ((Box((2, 4), (2, 4)), 5),)), {})
    ask(ledger, 5)
    assert counted_from(path, ledger) > 0
    with pytest.raises(JournalCorrupt, match="charges that its domain cannot have"):
        Ledger.open(path, domain_of(2, 2), ledger.budget)


def test_a_vault_id_that_is_no_file_name_is_looked_for_nowhere(path: Path, ledger: Ledger) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute("UPDATE entries SET body = replace(body, 'test-vault', '../../etc')")
    with pytest.raises(JournalCorrupt, match="edited at entry 1"):
        Ledger.open(path, ledger.domain, ledger.budget)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((), np.int64),
        np.zeros((0, 3), np.int64),
        np.arange(24).reshape(2, 3, 4),
        np.ones((4, 4), np.int32)[:, 1],
    ],
)
def test_what_is_packed_is_unpacked_the_same(array: np.ndarray[Any, Any]) -> None:
    content = json.loads(json.dumps(checkpoint.packed({"a": [array, 1, "x", None]})))
    found = checkpoint.unpacked(content)["a"]
    assert found[1:] == [1, "x", None]
    assert (found[0].dtype, found[0].shape) == (array.dtype, array.shape)
    assert (found[0] == array).all()
    assert checkpoint.says(content, {"a": [array, 1, "x", None]})
    if array.size:
        assert not checkpoint.says(content, {"a": [array + 1, 1, "x", None]})


def test_what_would_unpack_to_more_than_it_says_is_not_unpacked_to_its_end() -> None:
    bomb = checkpoint.packed(np.zeros(10**6, np.int64))
    for shape in ([1], [10**6 + 1], [-1], ["1"]):
        with pytest.raises(ValueError, match="packed"):
            checkpoint.unpacked({**bomb, "shape": shape})
