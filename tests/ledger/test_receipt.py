import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from discreet.ledger import receipt
from discreet.ledger.receipt import Receipt, keep_lost, keep_receipt, last_receipt, lost_receipts, receipt_path
from discreet.private import private_file
from tests.patience import PATIENCE

EARLY, LATE = Receipt(7, bytes(32)), Receipt(17, bytes(range(32)))


def test_a_receipt_is_a_number_and_a_hash_in_one_text() -> None:
    assert str(LATE).startswith("17:000102")
    assert Receipt.parse(f" {LATE}\n") == LATE


@pytest.mark.parametrize("text", ["", "17", "17:ab", "x:" + "0" * 64, "0:" + "0" * 64, "-1:" + "0" * 64])
def test_a_text_that_is_no_receipt_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="looks like"):
        Receipt.parse(text)


def test_the_last_receipt_only_moves_forward_unless_told_to() -> None:
    keep_receipt("vault-one", LATE)
    keep_receipt("vault-one", EARLY)
    assert last_receipt("vault-one") == LATE
    assert last_receipt("vault-two") is None
    keep_receipt("vault-one", EARLY, even_if_older=True)
    assert last_receipt("vault-one") == EARLY


def test_a_receipt_of_another_journal_stays_and_is_told() -> None:
    keep_receipt("vault-one", EARLY)
    assert keep_receipt("vault-one", LATE, goes_on_from=lambda seen: seen != EARLY) == EARLY
    assert last_receipt("vault-one") == EARLY
    assert keep_receipt("vault-one", LATE, goes_on_from=lambda seen: seen == EARLY) is None
    assert last_receipt("vault-one") == LATE


def test_of_two_receipts_kept_at_once_the_later_one_stays() -> None:
    """A process that is slow between its look and its writing does not put its own in the place of a later one."""
    first, looked, go_on = Receipt(1, bytes(32)), threading.Event(), threading.Event()
    keep_receipt("vault-one", first)

    def slowly(_seen: Receipt) -> bool:
        looked.set()
        return go_on.wait(PATIENCE)

    slow = threading.Thread(target=keep_receipt, args=("vault-one", EARLY), kwargs={"goes_on_from": slowly})
    quick = threading.Thread(target=keep_receipt, args=("vault-one", LATE))
    slow.start()
    assert looked.wait(PATIENCE)
    quick.start()
    quick.join(0.1)  # without a lock it is over by now
    go_on.set()
    slow.join()
    quick.join()
    assert last_receipt("vault-one") == LATE


def test_receipts_are_kept_under_the_state_home_for_their_owner_only(state_home: Path) -> None:
    keep_receipt("vault-one", EARLY)
    path = receipt_path("vault-one")
    assert path == state_home / "discreet" / "receipts" / "vault-one"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"17", b"17:" + b"0" * 64, b"\xff" * 96])
def test_a_half_written_receipt_counts_as_none_and_is_replaced(damage: bytes) -> None:
    keep_receipt("vault-one", LATE)
    receipt_path("vault-one").write_bytes(damage)
    assert last_receipt("vault-one") is None
    keep_receipt("vault-one", EARLY)
    assert last_receipt("vault-one") == EARLY


def test_a_receipt_of_the_right_form_with_another_hash_is_not_taken_for_whole() -> None:
    keep_receipt("vault-one", LATE)
    path = receipt_path("vault-one")
    path.write_bytes(path.read_bytes().replace(b"0001", b"0002"))
    assert last_receipt("vault-one") is None


def test_lost_branches_are_remembered_by_receipts_in_the_one_spelling(state_home: Path) -> None:
    keep_lost("vault-one", [str(LATE)])
    keep_lost("vault-one", [str(LATE), str(EARLY)])
    assert lost_receipts("vault-one") == {str(EARLY), str(LATE)}
    path = state_home / "discreet" / "receipts" / "vault-one.lost"
    other_spellings = [f" {EARLY}", f"0{EARLY}", str(LATE).upper(), f"+{EARLY}"]
    path.write_text("\n".join([*other_spellings, str(LATE)]))
    assert lost_receipts("vault-one") == {str(LATE)}


def test_no_file_of_receipts_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, closed, close = [], [], os.close

    def opening(path: Path, flags: int) -> int:
        opened.append(private_file(path, flags))
        return opened[-1]

    def closing(file: int) -> None:
        closed.append(file)
        close(file)

    monkeypatch.setattr(receipt, "private_file", opening)
    monkeypatch.setattr(os, "close", closing)
    keep_receipt("vault-one", EARLY)
    keep_lost("vault-one", [str(LATE)])
    assert len(opened) >= 2
    assert Counter(opened) - Counter(closed) == Counter()  # the same number may be given to one after the other


def test_a_state_home_that_cannot_be_written_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    keep_receipt("vault-one", LATE)
    assert last_receipt("vault-one") is None


def test_without_a_state_home_receipts_are_kept_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert receipt_path("v") == tmp_path / ".local" / "state" / "discreet" / "receipts" / "v"
