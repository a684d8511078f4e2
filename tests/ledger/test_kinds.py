"""Kinds of entries: those that a version does not know are refused, whoever comes upon them."""

from contextlib import closing
from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.errors import JournalError
from discreet.ledger import checkpoint, reserve
from discreet.ledger.budget import PureBudget
from discreet.ledger.journal import NOTES, canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.snapshot import SUCCESSIONS
from discreet.ledger.sqlite import SQLiteJournal

OWN = ("init", "charge", "record", "close", "fact", "append", *SUCCESSIONS, reserve.KIND, checkpoint.KIND)


@pytest.mark.parametrize(("kind", "charge"), [("loan", None), ("record", None), ("close", None), ("Charge", None)])
def test_a_kind_that_this_version_does_not_know_is_refused_and_not_taken_for_a_note(
    path: Path, ledger: Ledger, domain: Domain, budget: PureBudget, kind: str, charge: int | None
) -> None:
    """An older version took a reserve for a note, and would have let it be spent again."""
    body = canonical({"v": 1, "at": "2026-11-20T00:00:00+00:00", "content": {}})
    with closing(SQLiteJournal(path)) as other, other.turn():
        other.append(chained(ledger.head, kind, charge, body))
    with pytest.raises(JournalError, match=r"entry 2 .* a kind that this version of Discreet does not know"):
        _ = ledger.head
    with pytest.raises(JournalError, match="upgrade Discreet"):
        Ledger.open(path, domain, budget)


@pytest.mark.parametrize("kind", [*OWN, "loan"])
def test_no_note_is_written_of_a_kind_that_is_counted_otherwise_or_that_nobody_knows(ledger: Ledger, kind: str) -> None:
    with pytest.raises(ValueError, match="has a method of its own, or no version knows it"):
        ledger.note(kind, {})
    assert ledger.head.seq == 1


def test_every_kind_that_is_written_is_listed_in_the_format() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/journal-format.md").read_text()
    assert [kind for kind in (*NOTES, *OWN) if f"| `{kind}` |" not in page] == []
