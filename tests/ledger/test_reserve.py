"""Reserves: charged when they are made, and what is drawn on them is never more, and not charged again."""

import random
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded, JournalCorrupt, Refreshed
from discreet.ledger.budget import PureBudget
from discreet.ledger.journal import canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.ledger.reserve import Reserve
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import UNITS, Cost, most_beyond
from discreet.ledger.sqlite import SQLiteJournal

SIZES = (4, 3, 3)
EVERYWHERE = Box((0, 0), (5, 3))
LOWER = Box((0, 0), (2, 3))


def some_cost(draw: random.Random) -> Cost:
    boxes = []
    for _ in range(draw.randrange(5)):
        low = tuple(draw.randrange(size) for size in SIZES)
        high = tuple(draw.randrange(first, size) for first, size in zip(low, SIZES, strict=True))
        boxes.append((Box(low, high), draw.randrange(4)))
    return Cost(draw.randrange(3), tuple(boxes))


@pytest.mark.parametrize("seed", range(60))
def test_how_far_a_cost_is_above_another_is_what_every_point_says(seed: int) -> None:
    draw = random.Random(seed)
    cost, other = some_cost(draw), some_cost(draw)
    whole = Box((0, 0, 0), tuple(size - 1 for size in SIZES))
    points = product(*map(range, SIZES))
    assert most_beyond(cost, other, whole) == max(cost.at(point) - other.at(point) for point in points)


def left(ledger: Ledger, box: Box = EVERYWHERE) -> int:
    return ledger.left(Region((box,)))


def test_what_is_set_aside_is_spent_at_once_and_drawing_on_it_spends_nothing_more(ledger: Ledger) -> None:
    number = ledger.reserve(Cost(0, ((LOWER, UNITS // 2),)), {"for": "later"}).seq
    assert left(ledger, LOWER) == UNITS // 2
    with pytest.raises(BudgetExceeded):
        ledger.charge(Cost(UNITS // 2 + 1), {"n": 1})
    for share in (4, 4):
        charge = ledger.draw(number, Cost(0, ((LOWER, UNITS // share),)), {"n": share})
        assert charge.reserve == number
        ledger.record(charge.id, {"value": 1})
        assert left(ledger, LOWER) == UNITS // 2
    assert ledger.charges == 2
    assert left(ledger, Box((3, 0), (5, 3))) == UNITS


@pytest.mark.parametrize(
    "cost",
    [
        Cost(0, ((LOWER, UNITS // 4 + 1),)),
        Cost(0, ((Box((2, 0), (3, 0)), 1),)),
        Cost(1),
        Cost(0, ((Box((1, 1), (1, 1)), UNITS // 8 + 1), (LOWER, UNITS // 8))),
    ],
    ids=["too much", "beside it", "everywhere", "too much where boxes meet"],
)
def test_a_draw_beyond_what_is_left_is_refused_and_unrecorded(ledger: Ledger, cost: Cost) -> None:
    number = ledger.reserve(Cost(0, ((LOWER, UNITS // 2),)), {"for": "later"}).seq
    ledger.draw(number, Cost(0, ((LOWER, UNITS // 4),)), {"n": 1})
    before = ledger.head
    with pytest.raises(BudgetExceeded, match="drawn already, or is for something else"):
        ledger.draw(number, cost, {"n": 2})
    assert ledger.head == before


def test_what_does_not_fit_is_not_set_aside(ledger: Ledger) -> None:
    ledger.charge(Cost(UNITS // 2), {"n": 1})
    before = ledger.head
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Cost(0, ((LOWER, UNITS // 2 + 1),)), {"for": "later"})
    assert ledger.head == before


@pytest.mark.parametrize("note", [Ledger.note_refresh, Ledger.note_erasure], ids=["a refresh", "an erasure"])
def test_another_snapshot_ends_what_was_set_aside_and_it_stays_spent(
    ledger: Ledger, note: Callable[[Ledger, SnapshotId], Receipt]
) -> None:
    number = ledger.reserve(Cost(0, ((LOWER, UNITS // 2),)), {"for": "later"}).seq
    note(ledger, SnapshotId(1, "f"))
    assert left(ledger) == UNITS // 2
    assert ledger.reserved(number) is None
    with pytest.raises(BudgetExceeded, match="a refresh ends what was set aside"):
        ledger.draw(number, Cost(0, ((LOWER, 1),)), {"n": 1}, SnapshotId(1, "f"))
    with pytest.raises(Refreshed):
        ledger.reserve(Cost(1), {"for": "later"})


def test_every_process_counts_reserves_and_draws_alike(
    ledger: Ledger, path: Path, domain: Domain, budget: PureBudget
) -> None:
    number = ledger.reserve(Cost(0, ((LOWER, UNITS // 2),)), {"for": "later"}).seq
    other = Ledger.open(path, domain, budget)
    ledger.draw(number, Cost(0, ((LOWER, UNITS // 4),)), {"n": 1})
    with pytest.raises(BudgetExceeded):
        other.draw(number, Cost(0, ((LOWER, UNITS // 4 + 1),)), {"n": 2})
    other.draw(number, Cost(0, ((LOWER, UNITS // 4),)), {"n": 2})
    again = Ledger.open(path, domain, budget)
    assert again.reserved(number) == ledger.reserved(number) == Reserve(*(Cost(0, ((LOWER, UNITS // 2),)),) * 2)
    assert left(again) == left(ledger) == UNITS // 2


def test_of_many_who_draw_the_same_at_once_no_more_are_let_through_than_was_set_aside(ledger: Ledger) -> None:
    number = ledger.reserve(Cost(0, ((LOWER, 3),)), {"for": "later"}).seq
    refused: list[Any] = []

    def draw(name: int) -> None:
        try:
            ledger.draw(number, Cost(0, ((LOWER, 1),)), {"n": name})
        except BudgetExceeded as error:
            refused.append(error)

    threads = [threading.Thread(target=draw, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ledger.charges, len(refused)) == (3, 5)


def test_a_draw_on_nothing_is_no_journal_of_a_ledger(
    ledger: Ledger, path: Path, domain: Domain, budget: PureBudget
) -> None:
    journal = SQLiteJournal(path)
    body = canonical({"v": 1, "at": "2026-01-01T00:00:00+00:00", "content": [], "cost": Cost(1).to_json(), "from": 7})
    with journal.turn():
        journal.append(chained(ledger.head, "charge", None, body))
    with pytest.raises(JournalCorrupt, match="draws on what was not set aside"):
        Ledger.open(path, domain, budget)
