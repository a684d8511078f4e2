"""The one source of random bits: fresh in every thread and process, re-keyed, refused when seeded."""

import os
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB

from discreet.errors import InvalidNoise
from discreet.noise import bits as bits_module
from discreet.noise.bits import Bits, SeededBits, require_production

EQUAL_WORDS = 2e-10
"""More than the chance that two of 80,000 fair words are equal: 80,000²/2 pairs, each with 2^-64."""
pytestmark = pytest.mark.alarm(EQUAL_WORDS)


def read_in_child(bits: Bits, count: int) -> bytes:
    """What a forked child draws first from the same object."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, bits.words(count).tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        drawn = pipe.read()
    os.waitpid(child, 0)
    return drawn


@pytest.mark.parametrize("count", [0, 1, 7, 2**13 - 1, 2**13, 2**13 + 1, 3 * 2**13])
def test_as_many_words_come_as_were_asked_for(count: int) -> None:
    words = Bits().words(count)
    assert words.shape == (count,)
    assert words.dtype == np.uint64
    assert np.unique(words).size == count


def test_two_sources_and_two_calls_share_no_word() -> None:
    one, other = Bits(), Bits()
    words = np.concatenate([one.words(10_000), other.words(10_000), one.words(10_000)])
    assert np.unique(words).size == words.size


def test_a_seeded_stream_is_the_aes_counter_mode_of_its_key() -> None:
    stream = SeededBits(7).words(1000)
    key = (7).to_bytes(16, "big") + (1).to_bytes(16, "big")
    counters = b"".join(block.to_bytes(16, "big") for block in range(500))
    assert stream.tobytes() == Cipher(AES256(key), ECB()).encryptor().update(counters)


def test_pieces_of_a_seeded_stream_join_to_the_whole() -> None:
    whole, pieces = SeededBits(3), SeededBits(3)
    parts = [pieces.words(count) for count in (1, 2, 9_000, 997)]
    assert np.array_equal(whole.words(10_000), np.concatenate(parts))


def test_a_key_is_replaced_after_a_bounded_number_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits_module, "REKEY_WORDS", 100)
    keys: list[bytes] = []

    class Watched(Bits):
        def _key(self) -> bytes:
            keys.append(super()._key())
            return keys[-1]

    bits = Watched()
    words = np.concatenate([bits.words(30) for _ in range(10)])
    assert len(set(keys)) == 4  # three calls fit a key
    assert np.unique(words).size == words.size


def test_threads_on_one_source_never_see_the_same_word() -> None:
    bits, drawn = Bits(), []
    start = threading.Barrier(8)

    def draw() -> None:
        start.wait()
        drawn.extend(bits.words(500) for _ in range(20))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(drawn)
    assert words.size == np.unique(words).size == 8 * 20 * 500


def test_after_a_fork_parent_and_children_draw_different_words() -> None:
    bits = Bits()
    bits.words(1)
    first, second = read_in_child(bits, 64), read_in_child(bits, 64)
    drawn = np.frombuffer(first + second + bits.words(64).tobytes(), np.uint64)
    assert drawn.size == np.unique(drawn).size == 3 * 64


def test_a_child_that_got_an_ancestors_process_id_is_still_re_keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1234)
    bits = Bits()
    bits.words(1)
    assert read_in_child(bits, 8) != bits.words(8).tobytes()


def test_a_fork_that_python_did_not_see_is_known_by_its_process_id(monkeypatch: pytest.MonkeyPatch) -> None:
    keys_made = []
    bits = SeededBits(1)
    monkeypatch.setattr(bits, "_key", lambda: keys_made.append(1) or bytes(32))
    bits.words(1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    bits.words(1)
    assert len(keys_made) == 2


def test_releases_share_no_word_with_each_other_nor_with_their_source() -> None:
    bits = Bits()
    sources = [bits, *(bits.for_release(bytes([charge])) for charge in (1, 2, 2))]
    words = np.concatenate([source.words(10_000) for source in sources])
    assert np.unique(words).size == words.size


def test_a_release_asks_the_operating_system_for_its_key_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    bits = Bits()
    bits.words(1)
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes(size))
    bits.words(1)
    assert not asked
    bits.for_release(b"charge").words(1)
    assert asked == [32]


def test_a_machine_that_was_resumed_twice_draws_other_words_for_another_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even where the operating system hands out the same bytes again; for the same charge, it is the same answer."""
    monkeypatch.setattr(os, "urandom", bytes)
    drawn = {charge: Bits().for_release(charge).words(100).tobytes() for charge in (b"one", b"other")}
    assert drawn[b"one"] != drawn[b"other"]
    assert Bits().for_release(b"one").words(100).tobytes() == drawn[b"one"]


def test_a_forked_child_draws_other_words_for_a_release_that_was_begun_before() -> None:
    release = Bits().for_release(b"charge")
    first = release.words(8).tobytes()
    assert len({first, release.words(8).tobytes(), read_in_child(release, 8), read_in_child(release, 8)}) == 4


def test_the_releases_of_a_seed_are_repeatable_and_differ_from_each_other() -> None:
    one, other = SeededBits(3), SeededBits(3)
    drawn = [one.for_release(charge).words(5).tolist() for charge in (b"a", b"b")]
    assert drawn == [other.for_release(charge).words(5).tolist() for charge in (b"c", b"d")]
    assert drawn[0] != drawn[1]
    assert one.words(5).tolist() not in drawn


def test_every_bit_position_is_fair_and_neighbours_do_not_agree_too_often() -> None:
    words = SeededBits(11).words(100_000)
    planes = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).astype(np.int64)
    deviations = np.abs(planes.sum(axis=0) - 50_000) / np.sqrt(25_000)
    agreements = (planes[1:] == planes[:-1]).sum(axis=0)
    assert deviations.max() < 5  # 64 normal deviates, two-sided: p = 4e-5
    assert (np.abs(agreements - 49_999.5) / np.sqrt(25_000)).max() < 5


@pytest.mark.parametrize("bits", [SeededBits(1), type("Mine", (Bits,), {})()], ids=["seeded", "subclass"])
def test_a_source_that_is_not_the_production_one_is_refused(bits: Bits) -> None:
    with pytest.raises(InvalidNoise, match="not a production source"):
        require_production(bits)


def test_the_production_source_is_accepted() -> None:
    require_production(Bits())
    require_production(Bits().for_release(b"charge"))


def test_an_array_with_gaps_is_refused_rather_than_filled_in_part() -> None:
    with pytest.raises((TypeError, ValueError)):
        Bits().fill(np.empty(10, np.uint64)[::2])
