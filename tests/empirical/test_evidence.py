"""Empirical privacy: bounds against exact ones, a choice that cannot mislead, and the catalogue end to end."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner

from discreet.cli import app
from discreet.empirical import mechanisms
from discreet.empirical.catalogue import (
    ANOTHER,
    EMPTY_OR_ONE,
    EPSILON,
    FILLED_CELL,
    NOBODY_OR_ONE,
    TEN_ROWS,
    Case,
    catalogue,
)
from discreet.empirical.copies import runs_of
from discreet.empirical.evidence import ERROR, FEWEST_RUNS, audit, least_loss, lower_limit, upper_limit
from discreet.empirical.mechanisms import audit_mechanisms
from discreet.empirical.releases import drawn_rows, measured
from discreet.empirical.statistics import fitted_statistics, lowest_bit
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import GDP, ZCDP, ApproxDP, DeltaT, PureDP
from discreet.noise.bits import SeededBits
from discreet.noise.law import Gaussian, Laplace

ONE = PureDP(Fraction(1), "add-remove")
HALF_RHO = ZCDP(Fraction(1, 2), "add-remove")
SULQ = DeltaT(1, Fraction(1), Fraction(1, 10), Fraction(1, 50), trials=10, points=2)
RUNS = 40_000


def with_noise(law, truth: int, seed: int, runs: int = RUNS) -> np.ndarray:
    return truth + law.sample(runs, SeededBits(seed))


# Exact first ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "runs"), [(0, 500), (1, 500), (137, 500), (499, 500), (500, 500)])
def test_limits_are_those_of_clopper_and_pearson(count, runs):
    exact = stats.binomtest(count, runs).proportion_ci(1 - ERROR, method="exact")
    assert lower_limit(count, runs, ERROR / 2) == pytest.approx(exact.low, abs=1e-12)
    assert upper_limit(count, runs, ERROR / 2) == pytest.approx(exact.high, abs=1e-12)


@pytest.mark.parametrize(
    ("stated", "often", "seldom", "loss"),
    [
        (ONE, 0.5, 0.5, 0.0),
        (ONE, math.e / 10, 0.1, 1.0),
        (ONE, 0.1, 0.5, math.log(1 / 5)),
        (SULQ, 0.02 + math.e / 10, 0.1, 1.0),
        (SULQ, 0.02, 0.1, -math.inf),
        (HALF_RHO, 0.3, 0.3, 0.0),
        (HALF_RHO, 0.3, 0.6, 0.0),
    ],
)
def test_an_event_of_these_probabilities_takes_so_much_loss(stated, often, seldom, loss):
    assert float(least_loss(often, seldom, stated)) == pytest.approx(loss)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.sampled_from([1.005, 1.3, 2.0, 7.0, 50.0, 400.0]))
def test_the_loss_of_an_event_is_at_least_its_divergence_over_the_order(often, seldom, order):
    """An independent oracle: Rényi's divergence of two coins from its definition, at orders in between those used."""
    if often > seldom:
        found = float(least_loss(often, seldom, HALF_RHO))
        heads, tails = order * np.log([often, 1 - often]) + (1 - order) * np.log([seldom, 1 - seldom])
        assert found >= 0.97 * np.logaddexp(heads, tails) / (order - 1) / order
        kullback = often * math.log(often / seldom) + (1 - often) * math.log((1 - often) / (1 - seldom))
        assert found >= 0.99 * kullback


def test_a_gaussian_events_loss_never_exceeds_rho():
    """Thresholds of N(0, 1) and N(1, 1), which are ½-zCDP: no event of them takes more, and distant ones nearly all."""
    cuts = np.linspace(-4, 25, 300)
    losses = least_loss(stats.norm.sf(cuts - 1), stats.norm.sf(cuts), HALF_RHO)
    assert np.max(losses) <= 0.5
    assert np.max(losses) > 0.45


@pytest.mark.parametrize(
    ("value", "bit"),
    [(1.0, 0), (0.75, -2), (-0.75, -2), (6.0, 1), (1024.0, 10), (2.0**-60, -60), (1 + 2.0**-52, -52), (0.1, -55)],
)
def test_the_lowest_bit_of_a_double(value, bit):
    assert lowest_bit(np.array([value])).tolist() == [bit]


def test_equal_outcomes_bound_nothing():
    same = np.zeros(FEWEST_RUNS)
    assert audit(same, same, ONE).bound == 0


def test_outcomes_that_never_meet_bound_as_much_as_so_many_runs_can():
    found = audit(np.zeros(FEWEST_RUNS), np.ones(FEWEST_RUNS), ONE)
    held_out = FEWEST_RUNS // 2
    least = (ERROR / 2) ** (1 / held_out)  # Clopper and Pearson's limit for all of them, in closed form
    assert found.bound == pytest.approx(math.log(least / (1 - least)))
    assert not found.holds


@pytest.mark.parametrize(("first", "second"), [(200, 201), (199, 199)])
def test_too_few_or_unequal_runs_are_refused(first, second):
    with pytest.raises(UnsupportedQuery, match="equally many"):
        audit(np.zeros(first), np.zeros(second), ONE)


# Then two-sided: at most the truth, and near it -----------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_the_bound_is_near_the_exact_loss_of_laplace_noise_and_not_above_it(epsilon):
    law = Laplace(1 / epsilon)
    found = audit(with_noise(law, 0, 1), with_noise(law, 1, 2), PureDP(epsilon, "add-remove"))
    assert found.holds
    assert float(epsilon) - 0.15 < found.bound <= float(epsilon)


def test_the_bound_is_near_what_the_best_event_of_gaussian_noise_can_show():
    """The exact probabilities of every tail give what 20,000 runs show of it on average: the best is nearly found."""
    values, held_out = np.arange(-40, 41), RUNS // 2
    masses = np.exp(-(values**2) / 2) / np.exp(-(values**2) / 2).sum()
    shown = [
        float(
            least_loss(
                lower_limit(round(held_out * masses[values + 1 >= cut].sum()), held_out, ERROR / 2),
                upper_limit(round(held_out * masses[values >= cut].sum()), held_out, ERROR / 2),
                HALF_RHO,
            )
        )
        for cut in range(-3, 6)
    ]
    law = Gaussian(Fraction(1))
    found = audit(with_noise(law, 0, 3), with_noise(law, 1, 4), HALF_RHO)
    assert 0.85 * max(shown) < found.bound < 1.15 * max(shown) < 0.5


def test_of_many_numbers_the_likelihood_of_all_tells_more_than_any_one():
    law, runs = Laplace(Fraction(6)), 20_000
    one, other = (
        np.stack([with_noise(law, truth, seed, runs) for seed in seeds], axis=1)
        for truth, seeds in ((0, range(10, 16)), (1, range(20, 26)))
    )
    stated = PureDP(Fraction(1), "add-remove")
    together, alone = audit(one, other, stated), audit(one[:, 0], other[:, 0], stated)
    assert alone.bound <= 1 / 6
    assert 1 / 6 < together.bound <= 1


@pytest.mark.parametrize(
    ("event", "first", "second"),
    [
        ("x", [0, 0, 0, 1], [0, 1, 1, 1]),
        ("likelihood of x", [0, 2, 4, 6], [1, 3, 5, 7]),
        ("likelihood of x mod 16", [16 * k for k in range(999)], [16 * k + 3 for k in range(999)]),
        ("lowest bit of x", [k + 0.5 for k in range(99)], [k + 0.25 for k in range(99)]),
    ],
)
def test_there_is_a_statistic_that_tells_such_outcomes_apart(event, first, second):
    one, other = (np.array(values, np.float64)[:, None] for values in (first, second))
    [found] = [statistic for statistic in fitted_statistics(one, other) if statistic.name == event]
    mine, theirs = found.score(one), found.score(other)
    assert mine.min() > theirs.max() or mine.max() < theirs.min() or event == "x"


def test_a_choice_among_thousands_of_events_accuses_nobody():
    """Outcomes of one law with 40 numbers each: whatever was chosen on the first half, the second does not confirm."""
    nothing = PureDP(Fraction(1, 10**6), "add-remove")
    draws = SeededBits(5)
    for _ in range(20):
        one, other = (Laplace(Fraction(1)).sample(800 * 40, draws).reshape(800, 40) for _ in range(2))
        assert audit(one, other, nothing).bound == 0


def test_the_bound_of_a_coin_holds_in_every_one_of_many_audits():
    """Randomised response tells the truth with probability e/(1 + e): ε = 1 exactly, and no bound is above it."""
    draw, truth = np.random.default_rng(6), math.e / (1 + math.e)
    for _ in range(300):
        first, second = draw.random(2_000) < truth, draw.random(2_000) > truth
        assert audit(first, second, ONE).holds


@pytest.mark.parametrize(
    ("stated", "symbol", "amount"),
    [
        (ONE, "ε", 1.0),
        (HALF_RHO, "ρ", 0.5),
        (ApproxDP(Fraction(1), Fraction(1, 10**6), Fraction(1, 50), "replace"), "ρ", 0.02),
        (GDP(Fraction(1, 4), "replace", 1, (), Fraction(1), Fraction(1, 10**6)), "μ²", 0.25),
        (SULQ, "ε", 1.0),
    ],
)
def test_what_is_stated_is_read_off_the_guarantee(stated, symbol, amount):
    found = audit(np.zeros(FEWEST_RUNS), np.zeros(FEWEST_RUNS), stated)
    assert (found.symbol, found.stated) == (symbol, amount)


# The catalogue --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tables", [NOBODY_OR_ONE, ANOTHER, TEN_ROWS])
def test_each_copy_is_a_table_of_its_own(tables):
    of_first = np.array([True, False, False, True, False])
    made = tables.copied(of_first).to_pylist()
    for copy, first in enumerate(of_first):
        rows = tables.first if first else tables.second
        held = [tuple(row[name] for name in tables.attributes) for row in made if row["copy"] == copy]
        assert held == [row[tables.max_rows is not None :] for row in rows]
    if tables.max_rows is not None:
        people = {(row["copy"], row["person"]) for row in made}
        assert len({person for _, person in people}) == len({copy for copy, _ in people})


def test_an_audits_vaults_leave_no_receipt_behind(state_home):
    release = measured(lambda vault: vault.count(by="copy"), scale=1)
    first, second, stated = runs_of(NOBODY_OR_ONE, release, 8, EPSILON, most_copies=100)
    assert (first.shape, second.shape) == ((8, 1), (8, 1))
    assert stated == PureDP(Fraction(1), "add-remove")
    assert not list(state_home.rglob("receipts"))


def test_synthetic_rows_are_measured_fitted_and_drawn_anew_for_every_run():
    release = drawn_rows(("sex", "income"), epsilon=1)
    first, second, stated = runs_of(FILLED_CELL, release, 4, EPSILON, most_copies=1)
    assert stated == PureDP(Fraction(1), "add-remove")
    for outcomes in (first, second):
        assert outcomes.shape == (4, 1 + 3 * 3)
        assert (outcomes[:, 0] == outcomes[:, 1:].sum(axis=1)).all()
        assert len({tuple(run) for run in outcomes.tolist()}) > 1


def test_runs_are_dealt_out_over_as_many_vaults_as_it_takes():
    sizes = []

    def release(vault, runs):
        sizes.append((vault.domain["copy"].size, runs))
        return np.arange(runs), ONE

    first, second, _ = runs_of(NOBODY_OR_ONE, release, 10, EPSILON, most_copies=8)
    assert sizes == [(6, 6), (6, 6), (8, 8)]
    assert len(first) == len(second) == 10
    sizes.clear()
    runs_of(EMPTY_OR_ONE, release, 10, EPSILON, most_copies=1)
    assert sizes == [(1, 10), (1, 10)]


def test_every_law_and_every_kind_of_release_is_in_the_catalogue():
    names = " ".join(case.mechanism for case in catalogue())
    for word in ("Laplace", "Gaussian", "binomial", "exponential", "COUNT", "SUM", "AVG", "MEDIAN", "MIN", "MAX",
                 "cube", "residual", "rows", "fact", "the first again", "sulq", "k = 3", "ρ", "δ"):  # fmt: skip
        assert word in names
    cases = [(case.mechanism, case.inputs) for case in catalogue()]
    assert len(set(cases)) == len(cases)


def test_only_what_is_called_so_is_audited():
    found = list(audit_mechanisms(1_000, "binomial"))
    assert [one.mechanism for one in found] == ["binomial noise, T = 1", "binomial noise, T = 8"]
    assert all(one.neighbours == "replace" and one.holds for one in found)


def broken(runs: int):
    return np.zeros(runs), np.ones(runs), ONE


def test_the_command_prints_what_is_stated_beside_what_was_found():
    result = CliRunner().invoke(app, ["audit", "mechanisms", "--only", "laplace", "--runs", "2000"])
    assert result.exit_code == 0
    assert "neighbours: add-remove" in result.output
    assert "ε = 3" in result.output
    assert "None of 4 was found to lose more than it states, in up to 2,000 runs." in result.output


def test_the_command_fails_where_something_loses_more_than_it_states(monkeypatch):
    monkeypatch.setattr(mechanisms, "catalogue", lambda: [Case("a broken one", "0, or 1", broken)])
    result = CliRunner().invoke(app, ["audit", "mechanisms"])
    assert result.exit_code == 1
    assert "BROKEN" in result.output
    assert "1 of 1 lose more than they state." in result.output
    result = CliRunner().invoke(app, ["audit", "mechanisms", "--json"])
    assert result.exit_code == 1
    printed = json.loads(result.output)
    assert not printed["holds"]
    [found] = printed["mechanisms"]
    assert (found["mechanism"], found["neighbours"], found["stated"]) == ("a broken one", "add-remove", 1.0)
    assert found["often"] == found["runs"] / 2
    assert found["seldom"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--runs", "10"], "runs is a number from 200 to 1,000,000"),
        (["--only", "nothing like it"], "no mechanism has 'nothing like it' in its name"),
    ],
)
def test_the_command_says_what_it_takes(options, message):
    result = CliRunner().invoke(app, ["audit", "mechanisms", *options])
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())


def test_progress_is_told_for_each_case():
    told = []
    list(itertools.islice(audit_mechanisms(1_000, progress=lambda what, done: told.append((what, done))), 3))
    assert told[0] == ("Laplace noise: 0, or 1", 0.0)
    assert [done for _, done in told] == sorted(done for _, done in told)
