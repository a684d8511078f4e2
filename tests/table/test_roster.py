"""Rosters: one id for all its spellings, the same people for a seed everywhere, counts that a naive loop confirms."""

import hashlib
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from discreet.errors import TableError, VaultError
from discreet.query.subset import Everyone, Listed, Seeded
from discreet.table.roster import Roster, canonical_id, key_of, load_roster, read_roster, roster_bytes

MASK = 2**64 - 1


def roster_of(ids):
    return read_roster(pa.table({"person": pa.array([str(i) for i in ids])}), "person")


@pytest.mark.parametrize(
    ("spellings", "canonical"),
    [
        (["7", "007", "+7", " 7", "7 ", "7.0", "7.", "0007.000"], "7"),
        (["0", "000", "0.0", "+0"], "0"),
        (["00000000000000000000000012345678901234567890"], "12345678901234567890"),
        (["A-007"], "A-007"),
        (["a-007"], "a-007"),
        (["-7"], "-7"),
        (["7.5"], "7.5"),
        (["1e3"], "1e3"),
        (["٧"], "٧"),
        ([""], ""),
        ([" x "], " x "),
    ],
)
def test_a_record_id_has_one_canonical_text(spellings, canonical):
    assert {canonical_id(text.encode()) for text in spellings} == {canonical.encode()}
    assert {key_of(text) for text in spellings} == {key_of(canonical)}


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1)
       | st.lists(st.from_regex(r"\A *[+]?0*[0-9]+([.]0*)? *\Z"), min_size=1))  # fmt: skip
def test_a_roster_has_the_key_of_every_text(texts):
    unique = {canonical_id(text.encode()): text for text in texts}
    assert roster_of(unique.values()).keys.tolist() == sorted(key_of(text) for text in unique.values())


def test_keys_are_the_first_60_bits_of_sha_256():
    assert key_of("0007") == int.from_bytes(hashlib.sha256(b"7").digest()[:8], "big") >> 4


def test_equal_rosters_have_equal_fingerprints_in_any_order_spelling_and_type(tmp_path):
    (tmp_path / "roster.csv").write_text("number\n003\n001\n\n2.0\n")
    from_file = read_roster(tmp_path / "roster.csv", "person")
    from_frame = read_roster(pa.table({"person": [1, 2, 3], "name": ["a", "b", "c"]}), "person")
    assert from_file.fingerprint == from_frame.fingerprint == roster_of([1, 2, 3]).fingerprint
    assert from_file.people == 3
    assert from_file.fingerprint != roster_of([1, 2, 4]).fingerprint


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"person": ["7", "007"]}, "twice"),
        ({"person": [None, None]}, "nobody"),
        ({"name": ["a"], "town": ["b"]}, "one that is called person"),
    ],
)
def test_a_roster_that_is_none_is_refused(columns, words):
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    with pytest.raises(TableError, match=words):
        read_roster(table, "person")


def test_a_roster_comes_back_from_its_file_unless_it_was_touched(tmp_path):
    roster = roster_of(range(100))
    path = tmp_path / "roster.bin"
    path.write_bytes(roster_bytes(roster))
    assert len(roster_bytes(roster)) == 800
    assert load_roster(path, roster.fingerprint).keys.tolist() == roster.keys.tolist()
    path.write_bytes(roster_bytes(roster_of(range(101))))
    with pytest.raises(VaultError, match="not the roster"):
        load_roster(path, roster.fingerprint)
    with pytest.raises(VaultError, match="cannot be read"):
        load_roster(tmp_path / "gone", roster.fingerprint)


def mixed(word):
    """SplitMix64's finaliser in whole numbers, written from its definition."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = ((word ^ (word >> shift)) * factor) & MASK
    return word ^ (word >> 31)


def members(roster, seed, rate):
    salt = mixed((seed + 0x9E3779B97F4A7C15) & MASK)
    return [mixed(int(key) ^ salt) < rate * 2**64 for key in roster.keys]


@settings(max_examples=30)
@given(
    st.integers(1, 200), st.integers(0, MASK), st.fractions(Fraction(1, 1000), 1), st.integers(0, 2**200 - 1)
)  # fmt: skip
def test_a_seeded_count_is_that_of_a_naive_loop(people, seed, rate, flags):
    roster = Roster(np.sort(np.array([key_of(str(i)) for i in range(people)], np.uint64)))
    bits = [flags >> i & 1 for i in range(people)]
    words = [sum(bit << j for j, bit in enumerate(bits[start : start + 64])) for start in range(0, people, 64)]
    inside = members(roster, seed, rate)
    counts = roster.count([Seeded(seed, rate), Everyone()], np.array(words, np.uint64))
    assert counts.tolist() == [sum(map(int.__mul__, map(int, inside), bits)), sum(bits)]
    assert roster.count([Seeded(seed, rate), Everyone()]).tolist() == [sum(inside), people]


def test_a_list_counts_each_person_once_and_strangers_not_at_all():
    roster = roster_of(range(1000))
    assert roster.count([Listed(("7", "007", "8", "stranger", "1000")), Listed(())]).tolist() == [2, 0]
    nobody = np.zeros_like(roster.everyone)
    assert roster.count([Listed(("7",))], nobody).tolist() == [0]


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 100)])
def test_subsets_have_their_rate(rate):
    roster = roster_of(range(20_000))
    counts = roster.count([Seeded(seed, rate) for seed in range(100)])
    assert binomtest(int(counts.sum()), 100 * 20_000, float(rate)).pvalue > 1e-4
    assert binomtest(int(counts.sum()), 100 * 20_000, 1.1 * float(rate)).pvalue < 1e-4
    # Sizes vary as independent draws do: not less, as a stratified sample would, and not more.
    spread = counts.var() * 100 / (20_000 * float(rate * (1 - rate)))
    assert chi2.ppf(1e-4, 99) < spread < chi2.ppf(1 - 1e-4, 99)


def test_neighbouring_seeds_and_neighbouring_ids_are_independent():
    roster = roster_of(range(4096))
    inside = np.array([members(roster, seed, Fraction(1, 2)) for seed in range(64)])
    signs = np.where(inside, 1.0, -1.0)
    between_seeds = (signs @ signs.T)[np.triu_indices(64, 1)] / 4096**0.5
    assert abs(between_seeds.std() - 1) < 0.1
    assert np.abs(between_seeds).max() < 5
    places = roster.places(np.array([key_of(str(i)) for i in range(4096)]))
    between_ids = (signs[:, places[:-1]] * signs[:, places[1:]]).sum(axis=0) / 8
    assert abs(between_ids.std() - 1) < 0.1
