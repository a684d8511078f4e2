"""What was set aside, by what it is for: and what was drawn on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.cube.within import Within, date_called, period_code
from discreet.errors import UnsupportedQuery, VaultError
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, read_charge
from discreet.ledger.journal import canonical
from discreet.ledger.reserve import FROM, KIND, read_reserve
from discreet.ledger.spend import Cost


@dataclass(frozen=True)
class SetAside:
    """A reserve in the journal."""

    number: int
    content: Mapping[str, Any]
    cost: Cost


def set_aside_for(key: str, books: Books) -> Iterator[SetAside]:
    """All that was set aside for something, of every snapshot, in order."""
    for entry in books.notes(KIND):
        if key in (content := entry.parsed()["content"]):
            yield SetAside(entry.seq, content, read_reserve(entry).cost)


def set_aside_again(content: Mapping[str, Any], key: str, books: Books) -> int | None:
    """The number of the very same, for the table as it is now."""
    wanted = canonical(dict(content))
    same = (one.number for one in set_aside_for(key, books) if canonical(dict(one.content)) == wanted)
    return next((number for number in same if books.reserved(number) is not None), None)


def the_one(number: int | None, key: str, what: str, books: Books, home: Path) -> SetAside:
    """The one with this number; without one, the only one of the table as it is now, or of all."""
    found = {one.number: one for one in set_aside_for(key, books)}
    if number is not None and number in found:
        return found[number]
    now = [one for one in found.values() if books.reserved(one.number) is not None] or list(found.values())
    if number is None and len(now) == 1:
        return now[0]
    if not found:
        raise VaultError(f"nothing was set aside in {home} for {what}: declare them first")
    named = ", ".join(map(str, found))
    which = f"say which {what}, by the number (--number) of their entry in the journal"
    raise VaultError(f"{which}: {named}" if number is None else f"{number} is none of the {what}: {named}")


def ended(through: str | None, books: Books) -> str:
    """The period that is said to have ended, or the last one that is closed of a table that grows."""
    last = through or books.closed_period
    if last is None:
        raise UnsupportedQuery("say which period has ended: through=2027-02 (--through); what comes later is for later")
    return last


def reached(within: Within, through: str | None, books: Books) -> int:
    """Which of some periods is the last that has ended, from 0 on: the one that is named; where none is, the last that
    is closed of a table that grows, -1 where that is before all of them. Raises UnsupportedQuery where it cannot be."""
    horizon, closed = books.horizon, books.closed_period
    attribute = date_called(within.of, horizon)
    if through is None:
        return min(max(period_code(ended(None, books), attribute) - within.first, -1), within.periods - 1)
    if closed is not None and period_code(through, attribute) > period_code(closed, attribute):
        raise UnsupportedQuery(
            f"{through} is not closed yet: the table goes up to {closed}, and `discreet append` closes what comes next"
        )
    return within.place(through, horizon)


def charges_of(number: int, books: Books) -> list[Charge]:
    """The charges that were drawn on a reserve, in order, answered or not."""
    mark = f'"{FROM}":{number},'
    drawn = (read_charge(entry) for entry in books.entries(number) if entry.kind == "charge" and mark in entry.body)
    return [charge for charge in drawn if charge.reserve == number]
