"""The second reader: it says what it does before it reads, and nothing that it leaves behind is silent."""

from types import SimpleNamespace

import pytest

from discreet.errors import EngineError, InvalidLimits, InvalidNoise, VaultError
from discreet.noise.bits import Bits, SeededBits
from discreet.release.rows import NOTE, RowGate


class Crash(BaseException):
    """The process is gone."""


@pytest.fixture
def rows(make_ledger, table):
    return RowGate(SimpleNamespace(snapshot=lambda: table), make_ledger(), Bits())


def states(ledger):
    """What the journal says of publications, with everything read that is in it."""
    assert ledger.head
    return [entry.parsed()["content"]["state"] for entry in ledger.entries() if entry.kind == NOTE]


def test_it_is_journalled_before_a_row_is_read_and_after_all_is_written(rows):
    seen = []

    def write(held, begun):
        seen.append((states(rows.ledger), rows.ledger.head == begun, int(held.counts("sex").sum())))
        return {"sha256": "ab"}

    rows.publish({"sensitive": "sex"}, ("age", "sex"), write)
    assert seen == [(["begun"], True, 1200)]
    assert states(rows.ledger) == ["begun", "published"]
    assert rows.ledger.latest(NOTE)["sha256"] == "ab"
    assert rows.ledger.spent_max == 0


@pytest.mark.alarm(1e-30)  # two keys of 256 bits are equal
def test_every_publication_has_a_key_of_its_own_that_is_drawn_after_it_was_journalled(rows, monkeypatch):
    keys, draw = [], Bits._key

    def watched(bits):
        keys.append((draw(bits), states(rows.ledger)[-1]))
        return keys[-1][0]

    def write(held, _begun):
        held.order((), "sex")
        assert held.bits.words(1).size
        return {}

    monkeypatch.setattr(Bits, "_key", watched)
    for again in (False, True):
        rows.publish({}, ("sex",), write, again)
    assert [state for _, state in keys] == ["begun", "begun"]
    assert keys[0] != keys[1]


def test_a_crash_on_the_way_is_never_silent(rows, make_ledger):
    def crash(_held, _begun):
        raise Crash

    with pytest.raises(Crash):
        rows.publish({}, ("sex",), crash)
    again = make_ledger()
    assert states(again) == ["begun"]
    assert "microdata was published" in str(again.guarantee)
    with pytest.raises(VaultError, match="or begun"):
        RowGate(rows.table, again, Bits()).publish({}, ("sex",), lambda *_: {})


@pytest.mark.parametrize(("error", "seen"), [(InvalidLimits("no"), InvalidLimits), (OSError("row 7"), EngineError)])
def test_a_failure_leaves_no_remark_and_its_words_quote_nothing(rows, error, seen):
    def fail(_held, _begun):
        raise error

    with pytest.raises(seen) as caught:
        rows.publish({}, ("sex",), fail)
    assert "row 7" not in str(caught.value)
    assert states(rows.ledger) == ["begun", "withdrawn"]
    assert rows.ledger.guarantee.remarks == ()
    assert rows.ledger.publications == ()


def test_a_failure_after_a_publication_keeps_what_is_said_of_that(rows):
    def fail(_held, _begun):
        raise InvalidLimits("no")

    rows.publish({}, ("sex",), lambda *_: {})
    with pytest.raises(InvalidLimits):
        rows.publish({}, ("sex",), fail, again=True)
    assert states(rows.ledger) == ["begun", "published", "begun", "withdrawn"]
    assert rows.ledger.guarantee.remarks == (
        "microdata was published in buckets: F'-privacy, not differential privacy",
    )
    rows.publish({}, ("sex",), lambda *_: {}, again=True)
    assert states(rows.ledger)[-1] == "published"
    assert "2 times" in rows.ledger.guarantee.remarks[0]


def test_bits_that_can_be_foretold_are_refused_before_anything_is_journalled(make_ledger, table):
    gate = RowGate(SimpleNamespace(snapshot=lambda: table), make_ledger(), SeededBits(1))
    with pytest.raises(InvalidNoise):
        gate.publish({}, ("sex",), lambda *_: {})
    assert states(gate.ledger) == []
