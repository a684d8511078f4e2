"""64 writers, threads in processes, against a budget that allows a fraction: spent to the last unit, and no more."""

import random
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import Cost
from discreet.ledger.spend_map import spend_map
from discreet.postgres_address import of_vault
from tests.trust.doomed import Never, Tell, begin, in_threads
from tests.trust.replay import Book, lines_of_file, lines_of_postgres, replayed

PROCESSES, THREADS = 8, 8
SIZES = (6, 4)
DOMAIN = Domain("t", tuple(Integer(name=n, source="test", low=0, high=s - 1) for n, s in zip("ab", SIZES, strict=True)))
BUDGET = PureBudget(Fraction(1), "add-remove")
LIMIT = BUDGET.limit


def costs_that_fill(charges: int) -> list[Cost]:
    """Costs of several sizes and places, of which about so many fit."""
    share = LIMIT // charges
    return [
        Cost(share),
        Cost(0, ((Box((0, 0), (2, 3)), share + 1),)),
        Cost(0, ((Box((2, 1), (5, 2)), 2 * share - 1), (Box((0, 3), (5, 3)), 7))),
        Cost(share // 3, ((Box((5, 0), (5, 3)), share),)),
    ]


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Callable[[], Book]]:
    """A journal of its own, in a file or in Postgres; and its replay, by nothing of Discreet's."""
    vault_id = f"test-{uuid.uuid4().hex}"
    if request.param == "file":
        path = tmp_path / "journal.db"
        Ledger.create(path, {"vault_id": vault_id})
        return path, lambda: replayed(lines_of_file(path), SIZES, LIMIT)
    server = request.getfixturevalue("postgres")
    Ledger.create(server.ledger(), {"vault_id": vault_id})
    return of_vault(server.ledger(), vault_id), lambda: replayed(lines_of_postgres(server, vault_id), SIZES, LIMIT)


def charge_all(location: Any, costs: list[Cost], seed: int, attempts: int, tell: Tell) -> None:
    """In threads: try to charge, so many times each, and tell which costs went through how often and which did not."""

    def work(thread: int) -> None:
        chance, fitted, refused = random.Random(seed * THREADS + thread), Counter[int](), Counter[int]()
        for _ in range(attempts):
            which = chance.randrange(len(costs))
            try:
                ledger.charge(costs[which], {"cost": which})
                fitted[which] += 1
            except BudgetExceeded:
                refused[which] += 1
        tell({"fitted": list(fitted.items()), "refused": list(refused.items())})

    with closing(Ledger.open(location, DOMAIN, BUDGET)) as ledger:
        in_threads(THREADS, work)


def raced(location: Any, costs: list[Cost], attempts: int) -> tuple[Counter[int], Counter[int]]:
    """How often each cost went through, and how often it was refused, in all processes together."""
    each = attempts // (PROCESSES * THREADS)
    spend_map(DOMAIN, LIMIT).refusal(costs[0])  # children inherit what is compiled here
    children = [begin(partial(charge_all, location, costs, seed, each), Never()) for seed in range(PROCESSES)]
    fitted, refused = Counter[int](), Counter[int]()
    for lines, _ in [child.told(within=900) for child in children]:
        for line in lines:
            fitted.update(dict(line["fitted"]))
            refused.update(dict(line["refused"]))
    return fitted, refused


def test_as_many_charges_go_through_as_fit_to_the_last_unit(
    place: tuple[Any, Callable[[], Book]], amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    location, replay = place
    attempts = amount(960, 51_200)
    fit = attempts // 8
    fitted, refused = raced(location, [Cost(LIMIT // fit)], attempts)
    assert LIMIT % fit == 0, "or it would not be spent to the last unit"
    assert (fitted[0], refused[0]) == (fit, attempts - fit)
    book = replay()
    assert (len(book.charges), int(book.spent.min()), int(book.spent.max())) == (fit, LIMIT, LIMIT)
    counted(attempts=attempts, charges=fit, units_overspent=0, units_left=0)


def test_nothing_is_refused_that_would_still_fit_and_nothing_goes_through_that_does_not(
    place: tuple[Any, Callable[[], Book]], amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    location, replay = place
    attempts = amount(1_024, 51_200)
    costs = costs_that_fill(attempts // 8)
    fitted, refused = raced(location, costs, attempts)
    book = replay()  # which checks the limit after each charge
    assert Counter(charge["content"]["cost"] for charge in book.charges.values()) == fitted
    assert sum(refused.values()) == attempts - fitted.total()
    for which in refused:
        boxes = [(box.low, box.high, units) for box, units in costs[which].regional]
        assert not book.fits(costs[which].everywhere, boxes, LIMIT), f"cost {which} was refused, and fits"
    with closing(Ledger.open(location, DOMAIN, BUDGET)) as ledger:
        assert (LIMIT - ledger.left_by((0, 1)) == book.spent).all()
    counted(attempts=attempts, charges=fitted.total(), units_overspent=0)
