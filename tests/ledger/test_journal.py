import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import JournalCorrupt, JournalError
from discreet.ledger.journal import ORIGIN, Entry, canonical, chained, verified


def chain(count: int) -> list[Entry]:
    entries, head = [], ORIGIN
    for seq in range(1, count + 1):
        entries.append(chained(head, "charge", seq - 1 if seq % 2 == 0 else None, f'{{"v":1,"n":{seq}}}'))
        head = entries[-1].receipt
    return entries


def test_the_hash_covers_the_hash_before_and_every_field() -> None:
    first = chained(ORIGIN, "init", None, "{}")
    assert first.hash == hashlib.sha256(bytes(32) + b"1\ninit\n\n{}").digest()
    second = chained(first.receipt, "record", 1, '{"v":1}')
    assert second.hash == hashlib.sha256(first.hash + b'2\nrecord\n1\n{"v":1}').digest()


def test_a_whole_chain_passes_from_any_receipt_in_it() -> None:
    entries = chain(5)
    assert list(verified(entries, ORIGIN)) == entries
    assert list(verified(entries[3:], entries[2].receipt)) == entries[3:]


@given(st.integers(0, 4), st.sampled_from(["seq", "kind", "charge", "body", "hash"]))
def test_a_change_of_any_field_breaks_the_chain_there(index: int, field: str) -> None:
    entries = chain(5)
    changed = {"seq": 9, "kind": "note", "charge": 4, "body": '{"v":1}', "hash": bytes(32)}
    entries[index] = replace(entries[index], **{field: changed[field]})
    with pytest.raises(JournalCorrupt, match=f"entry {index + 1};"):
        list(verified(entries, ORIGIN))


@pytest.mark.parametrize("order", [[0, 1, 3, 4], [1, 2], [0, 2, 1], [0, 0]])
def test_a_missing_moved_or_repeated_entry_breaks_the_chain(order: list[int]) -> None:
    entries = chain(5)
    with pytest.raises(JournalCorrupt, match="damaged or was edited"):
        list(verified([entries[i] for i in order], ORIGIN))


def test_equal_values_have_one_spelling() -> None:
    assert canonical({"b": [1, 2], "a": "ε"}) == canonical({"a": "ε", "b": [1, 2]}) == '{"a":"\\u03b5","b":[1,2]}'


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_what_is_not_json_has_no_spelling(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical({"a": value})


def test_a_later_format_is_refused_with_what_to_do() -> None:
    with pytest.raises(JournalError, match="upgrade"):
        chained(ORIGIN, "charge", None, '{"v":2}').parsed()


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"v"', "7", '{"v":1}', "[" * 9000, '{"v":1,"content":' + "[" * 9000])
def test_a_body_without_a_format_or_a_content_is_damage(body: str) -> None:
    with pytest.raises(JournalCorrupt, match="entry 1 of the journal cannot be read"):
        chained(ORIGIN, "charge", None, body).parsed()
