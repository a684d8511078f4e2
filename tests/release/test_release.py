"""Releases: values in their units, the exact variance, intervals that hold the truth as often as they say."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.noise.deviation import laplace_variance
from discreet.noise.law import Exponential, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, Sum
from discreet.release.release import MOST_TOLD, Noisy


def noisy_sum(domain, units, grain=Fraction(1, 2), scale=10):
    return Noisy(Measurement(Sum("income", domain.everything), Laplace(Fraction(scale))), grain, np.array(units))


def test_values_are_in_the_units_of_the_attribute(domain):
    halves = noisy_sum(domain, [3, -4])
    assert halves.values.tolist() == [1.5, -2.0]
    assert halves.variance == pytest.approx(laplace_variance(20) / 4, rel=1e-12)
    tens = noisy_sum(domain, [3, -4], grain=Fraction(10))
    assert tens.values.tolist() == [30, -40]
    assert tens.values.dtype == np.int64


def test_values_beyond_64_bits_are_floats_not_wrapped(domain):
    huge = noisy_sum(domain, [2**62, -1], grain=Fraction(1000))
    assert huge.values.tolist() == [2.0**62 * 1000, -1000.0]


def test_the_variance_is_the_discrete_one(domain):
    noisy = Noisy(Measurement(Count(domain.everything), Laplace(Fraction(3))), Fraction(1), np.array(7))
    q = math.exp(-1 / 3)
    assert noisy.variance == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-12)


def test_an_interval_is_the_narrowest_that_holds_as_often_as_said(domain):
    noisy = Noisy(Measurement(Count(domain.everything), Laplace(Fraction(3))), Fraction(1), np.array(100))
    q = math.exp(-1 / 3)
    for confidence in (0.5, 0.9, 0.95, 0.999):
        low, high = noisy.interval(confidence)
        width = high - 100
        beyond = 2 * q ** (width + 1) / (1 + q)
        assert 100 - low == width
        assert beyond <= 1 - confidence < beyond / q


def test_the_words_of_a_release_say_how_far_off_its_number_or_each_of_them_may_be(domain):
    within = 10 * math.log(20)  # of Laplace noise with scale 10, 95% of the time; here in halves
    one, many = noisy_sum(domain, [3]).words, noisy_sum(domain, range(MOST_TOLD + 2)).words
    told = re.fullmatch(r"1\.5 ± ([\d.]+) at 95%", one)
    assert float(told[1]) == pytest.approx(within, abs=0.5)
    first = ", ".join(f"{number / 2:g}" for number in range(MOST_TOLD))
    assert many == f"{first}, … {MOST_TOLD + 2} in all ± {told[1]} each at 95%"


def test_the_interval_of_an_array_is_two_arrays(domain):
    low, high = noisy_sum(domain, [3, -4]).interval(0.9)
    assert low.shape == high.shape == (2,)
    assert (high - low).tolist() == [float(2 * noisy_sum(domain, [0]).halfwidth(0.9))] * 2


@pytest.mark.parametrize("confidence", [1, 1.5, -0.1, math.nan, math.inf, "often"])
def test_a_confidence_that_is_none_is_refused(domain, confidence):
    with pytest.raises(InvalidNoise, match="confidence"):
        noisy_sum(domain, [1]).halfwidth(confidence)


def test_a_release_of_one_query_is_its_value(gate, domain):
    release = gate.measure(Plan((Measurement(Count(domain.everything), Laplace(Fraction(2))),)))
    assert isinstance(release.value, int)
    assert release.variance == release.only.variance
    low, high = release.interval(0.95)
    assert low < release.value < high
    assert json.loads(json.dumps(release.to_json())) == {
        "answers": [
            {
                "query": {"count": {"where": [[[0, 0, 0, 0], [50, 1, 2, 9999]]], "by": []}},
                "noise": {"laplace": "2"},
                "value": release.value,
                "variance": release.variance,
            }
        ],
        "guarantee": {"kind": "pure", "epsilon": "1/2", "neighbours": "add-remove", "max_rows": 1},
        "charge": 2,
        "receipt": str(release.receipt),
        "facts": [],
    }


def test_a_release_of_several_queries_has_several_answers(gate, domain):
    release = gate.measure(Plan((Measurement(Count(domain.everything), Laplace(Fraction(2))),) * 2))
    assert len(release.answers) == 2
    with pytest.raises(UnsupportedQuery, match=r"has 2 answers; look at \.answers"):
        _ = release.value


def test_rows_carry_the_labels_of_their_groups(gate, domain):
    release = gate.measure(Plan((Measurement(Count(domain.everything, ("sex", "income")), Laplace(Fraction(1, 100))),)))
    rows = list(release.only.rows(domain))
    assert [row.labels for row in rows][:4] == [
        ("F", "[-10, 0)"),
        ("F", "[0, 10)"),
        ("F", "[10, 40)"),
        ("M", "[-10, 0)"),
    ]
    assert [row.value for row in rows] == release.value.ravel().tolist()
    assert all(row.low <= row.value <= row.high for row in rows)


def test_a_row_s_interval_is_that_of_its_cell(gate, domain):
    release = gate.measure(Plan((Measurement(Sum("income", domain.everything, ("sex",)), Laplace(Fraction(7, 3))),)))
    for confidence in (0.5, 0.95):
        low, high = release.only.interval(confidence)
        rows = list(release.only.rows(domain, confidence))
        assert [row.low for row in rows] == low.tolist()
        assert [row.high for row in rows] == high.tolist()
        assert all(row.low < row.value < row.high for row in rows)


def test_a_quantile_has_a_code_and_no_variance(gate, domain):
    release = gate.measure(
        Plan((Measurement(Quantile("age", Fraction(1, 2), domain.everything), Exponential(Fraction(1))),))
    )
    assert 10 <= release.value <= 30
    assert release.to_json()["answers"][0]["variance"] is None
    with pytest.raises(UnsupportedQuery, match="rank error"):
        _ = release.variance
    [row] = release.only.rows(domain)
    assert (row.low, row.high) == (None, None)


def expected(scale, span):
    """Discrete Laplace probabilities of −span … span, and of everything beyond."""
    q = math.exp(-1 / scale)
    inside = np.array([(1 - q) / (1 + q) * q ** abs(k) for k in range(-span, span + 1)])
    return np.append(inside, 1 - inside.sum())


def fits(noise, scale, span=12):
    """The p-value of noise being discrete Laplace of this scale, by chi-square."""
    within = noise[np.abs(noise) <= span]
    seen = np.append(np.bincount(within + span, minlength=2 * span + 1), noise.size - within.size)
    return chisquare(seen, expected(scale, span) * noise.size).pvalue


@pytest.mark.parametrize(
    ("query", "scale", "in_grains"),
    [
        (lambda d: Count(d.everything, ("number",)), 3, 3),
        (lambda d: Count(d.slab("sex", 0, 0), ("number",)), 3, 3),
        (lambda d: Sum("income", d.everything, ("number",)), 2, 4),
    ],
    ids=["a count", "a count of a region", "a sum"],
)
def test_noise_has_the_stated_scale_and_no_other(gate, table, domain, query, scale, in_grains):
    """With production bits; p = 1e-6 for one false alarm in a million runs."""
    asked = query(domain)
    [exact] = table.evaluate([asked])
    plan = Plan((Measurement(asked, Laplace(Fraction(scale))),))
    noise = np.concatenate([(gate.measure(plan).only.units - exact).ravel() for _ in range(3)])
    assert fits(noise, in_grains) > 1e-6
    assert fits(noise, in_grains * 1.3) < 1e-6
    assert fits(noise, in_grains * 0.7) < 1e-6


def test_noise_is_fresh_in_every_release(gate, domain):
    plan = Plan((Measurement(Count(domain.everything), Laplace(Fraction(3))),))
    noise = np.array([gate.measure(plan).value - 1200 for _ in range(300)])
    assert fits(noise, 3, span=6) > 1e-6
    assert fits(noise, 6, span=6) < 1e-6
