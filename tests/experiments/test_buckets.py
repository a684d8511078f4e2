"""The parts of the buckets experiments that figures rest on."""

import csv
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidLimits
from discreet.microdata.settings import two_size_setting
from experiments.buckets import plot
from experiments.buckets.setting import limits, mean_squared_errors
from experiments.buckets.tables import SHAPES, frequencies, generated, rounded
from experiments.buckets.two_size_program import two_sizes_by_programs


# buckets, Section 7.1: 0.18% to 7.5% on OCC, 0.44% to 27.3% on EDU
@pytest.mark.parametrize("table", SHAPES)
def test_made_up_tables_have_the_values_and_the_extremes_that_the_seed_states(table):
    values, least, greatest = SHAPES[table]
    shares = frequencies(table)
    assert len(shares) == values
    assert (shares[0], shares[-1]) == pytest.approx((least, greatest))
    assert shares.sum() == pytest.approx(1)
    assert np.all(np.diff(shares) > 0)


@pytest.mark.parametrize("rows", [1, 7, 100, 300_000])
def test_counts_add_up_to_the_rows_and_are_off_by_less_than_one(rows):
    counts = np.array(generated("OCC", rows))
    assert counts.sum() == rows
    assert np.all(np.abs(counts - frequencies("OCC") * rows) < 1)


def test_remainders_are_rounded_up_from_the_largest():
    assert rounded(np.array([0.24, 0.36, 0.4]), 10) == (2, 4, 4)


def test_the_methods_stand_in_the_order_of_figure_4():
    errors = mean_squared_errors(generated("EDU", 20_000))
    for theta in errors["Anatomy"]:
        lines = [
            errors[method][theta] for method in ("Optimal", "MultiSize", "MultiSize (seed's)", "TwoSize", "Anatomy")
        ]
        assert lines == sorted(lines)
    assert str(limits(8)) == "min(1, 8*f + 0.02)"


def test_lines_are_drawn_and_written_with_what_has_no_number_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.page.DOCS", tmp_path)
    plot.draw_lines("few", {"OCC": {"TwoSize": {2: 1.5, 4: 3}, "Optimal": {4: 2}}}, "θ", "MSE")
    with (tmp_path / "buckets" / "few.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    expected = [["OCC", "TwoSize", "2", "1.5"], ["OCC", "TwoSize", "4", "3"], ["OCC", "Optimal", "4", "2"]]
    assert rows == [["table", "method", "θ", "MSE"], *expected]
    assert (tmp_path / "buckets" / "few.png").stat().st_size > 0


@pytest.mark.parametrize("seed", range(25))
def test_the_papers_programs_for_two_sizes_have_the_loss_of_algorithm_1(seed):
    draw = np.random.default_rng(seed)
    counts = tuple(int(count) for count in draw.integers(1, 12, int(draw.integers(2, 5))))
    shares = [Fraction(int(draw.integers(max(1, 100 * count // sum(counts)), 101)), 100) for count in counts]
    most = int(draw.integers(2, 9))
    try:
        loss = two_size_setting(counts, shares, max_size=most).loss
    except InvalidLimits:
        with suppress(InvalidLimits):  # no size suits a value
            assert two_sizes_by_programs(counts, shares, most) is None
        return
    assert two_sizes_by_programs(counts, shares, most) == loss
