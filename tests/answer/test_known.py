"""What was released is taken in once, with what is needed of it, and leaves the process as it was."""

import gc

import pytest

from discreet.errors import JournalCorrupt
from discreet.ledger.books import Books
from discreet.release.gate import Gate
from discreet.vault import Vault

QUESTIONS = [f"SELECT COUNT(*) FROM people WHERE age BETWEEN {low} AND {low + 3}" for low in range(5)]


@pytest.fixture
def asked(vault):
    """A vault, opened anew, of which five questions were asked."""
    for sql in QUESTIONS:
        vault.ask(sql, scale=50)
    return Vault.open(vault.path)


def test_past_answers_are_read_without_what_each_promises(asked, monkeypatch):
    told = [Vault.open(asked.path).ask(sql, scale=50).value for sql in QUESTIONS]
    promised = []
    promise = Books.promise
    monkeypatch.setattr(Books, "promise", lambda books, units: promised.append(units) or promise(books, units))
    asked._memory.known.refresh()
    assert promised == []
    assert [asked.ask(sql, scale=50).value for sql in QUESTIONS] == told
    assert [release.value for release in asked.releases()] == pytest.approx(told)
    assert len(promised) == 2 * len(QUESTIONS)


@pytest.mark.parametrize("was_looking", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_garbage_is_looked_for_afterwards_as_before(asked, monkeypatch, was_looking, fails):
    looking = []

    def recorded(gate, charge, record):
        looking.append(gc.isenabled())
        if fails:
            raise JournalCorrupt("made up", "for this test")
        return real(gate, charge, record)

    real = Gate.recorded
    monkeypatch.setattr(Gate, "recorded", recorded)
    known = Vault.open(asked.path)._memory.known
    if not was_looking:
        gc.disable()
    try:
        if fails:
            with pytest.raises(JournalCorrupt):
                known.refresh()
        else:
            known.refresh()
        assert gc.isenabled() == was_looking
    finally:
        gc.enable()
    assert set(looking) == {False}
