"""Draws by seed and row: the published function, and chances that come out as asked."""

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.demo.draw import ChanceTable, row_bits, split_bits


def test_rows_are_mixed_as_by_splitmix64() -> None:
    # The first outputs of SplitMix64 from state 0, as its reference code prints them; seed 0, stream 0 is that state.
    assert row_bits(0, 0, 0, 3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_row_has_its_bits_wherever_the_range_begins() -> None:
    whole = row_bits(5, 1, 0, 1000)
    assert np.array_equal(row_bits(5, 1, 600, 400), whole[600:])


@pytest.mark.parametrize(("seed", "stream"), [(5, 2), (6, 1), (-5, 1), (5 + 2**70, 3)])
def test_other_seeds_and_streams_have_other_bits(seed: int, stream: int) -> None:
    assert not np.isin(row_bits(seed, stream, 0, 1000), row_bits(5, 1, 0, 1000)).any()


def test_bits_are_cut_without_overlap() -> None:
    bits = np.array([0xFEDCBA9876543210], dtype=np.uint64)
    assert [int(part[0]) for part in split_bits(bits, (4, 12, 16, 32))] == [0x0, 0x321, 0x7654, 0xFEDCBA98]


def test_a_lookup_gives_each_code_its_share_of_the_numbers() -> None:
    chances = np.array([[[1.0, 3.0, 0.0], [0.0, 0.0, 5.0]], [[2.0, 1.0, 1.0], [1.0, 1.0, 1.0]]])
    lookup = ChanceTable.of(chances, width=8)
    numbers = np.arange(256)
    for given in np.ndindex(2, 2):
        codes = lookup.draw(numbers, *(np.full(256, code) for code in given))
        shares = np.bincount(codes, minlength=3) / 256
        assert np.abs(shares - chances[given] / chances[given].sum()).max() < 1 / 256


def test_drawn_codes_pass_a_chi_square_test_and_wrong_chances_fail_it() -> None:
    chances = np.array([0.5, 0.3, 0.15, 0.05])
    (numbers,) = split_bits(row_bits(11, 0, 0, 200_000), (16,))
    met = np.bincount(ChanceTable.of(chances, width=16).draw(numbers), minlength=4)
    assert chisquare(met, chances * len(numbers)).pvalue > 0.001
    assert chisquare(met, np.array([0.49, 0.31, 0.15, 0.05]) * len(numbers)).pvalue < 0.001
