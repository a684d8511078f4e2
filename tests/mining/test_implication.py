"""What α implies, across two parties: plans, both methods, refusals."""

import math

import numpy as np
import pytest

from discreet.errors import PartyError
from discreet.mining.accuracy import AccuracyTerms
from discreet.mining.heavy import Search
from discreet.mining.implication import implication, queries_needed
from discreet.mining.parties import party_of
from discreet.mining.party import require_same_roster
from discreet.mining.sampling import PILOT
from experiments.sulq.simulated import Population, SimulatedParty

TRIALS = 20_000
EVERY = 1_000_000


def parties(*, queries: float = EVERY, trials: int = TRIALS, **shares) -> tuple[SimulatedParty, SimulatedParty]:
    terms = {"people": 200_000, "alpha": 0.5, "beta": 0.5, "gap": 0.1, **shares}
    population = Population.of_two(**terms)
    return population.party(trials, queries), population.party(trials, queries)


def test_regression_finds_the_gap_within_the_error_asked_for():
    first, second = parties()
    found = implication((first, "alpha"), (second, "beta"), error=0.04)
    assert abs(found.gap.value - 0.1) < 2.5 * found.gap.halfwidth  # 4.9 standard deviations; the interval is 1.96
    assert 0.03 <= found.gap.halfwidth <= 0.042  # the plan is for a gap of 0, where it is widest
    assert found.conditional.value == pytest.approx(found.share_beta.value + found.gap.value)
    assert (found.share_alpha.value, found.share_beta.value) == pytest.approx((0.5, 0.5), abs=0.001)
    planned = queries_needed(first, second, error=0.04)
    assert found.queries_alpha == pytest.approx(planned.queries_alpha, rel=0.05)


def test_what_is_spent_is_what_is_told():
    first, second = parties()
    found = implication((first, "alpha"), (second, "beta"), error=0.05)
    assert sum(count for count, _ in first.asked) == EVERY - first.queries_left == found.queries_alpha
    assert sum(count for count, _ in second.asked) == EVERY - second.queries_left == found.queries_beta


def test_both_parties_are_asked_on_the_same_subsets():
    first, second = parties()
    implication((first, "alpha"), (second, "beta"), queries=300)
    assert len(first.population.drawn) == 300
    assert [count for count, _ in first.asked] == [count for count, _ in second.asked] == [PILOT, PILOT, 256, 12]


@pytest.mark.parametrize(
    ("shares", "gap"), [((0.5, 0.5), -0.1), ((0.1, 0.4), 0.2), ((0.8, 0.3), 0.05), ((0.3, 0.3), 0.7)]
)
def test_the_plan_follows_the_shares(shares, gap):
    first, second = parties(alpha=shares[0], beta=shares[1], gap=gap)
    found = implication((first, "alpha"), (second, "beta"), error=0.08, confidence=0.999)
    assert found.gap.low <= gap <= found.gap.high
    # The plan takes the least favourable gap, 0.
    assert found.gap.halfwidth <= 0.08 * 1.25


def test_a_plan_on_paper():
    # The issue: n = 10^6, σ² = 55,000, T = 2,000: (n/16 + σ²)/√T ÷ n/8 is 0.021, and 1.96 times that 0.0412.
    terms = AccuracyTerms(1_000_000, 55_000, 55_000)
    assert terms.error_of_gap(2001, 0.95) == pytest.approx(0.0412, abs=1e-4)
    assert terms.queries_for_gap(0.0412, 0.95) == pytest.approx(2001, rel=0.002)


def test_half_of_the_roster_is_the_best_subset():
    # The error is v/(r(1 − r)·n·p√T) with v = r(1 − r)·n·p(1 − p) + σ²: least where r(1 − r) is largest.
    rates = np.linspace(0.05, 0.95, 19)
    spread = rates * (1 - rates) * 1_000_000
    assert rates[np.argmin((spread / 4 + 55_000) / spread)] == pytest.approx(0.5)


def test_too_few_queries_are_refused_before_any_is_spent():
    first, second = parties(queries=100)
    with pytest.raises(PartyError, match=r"takes [\d,]+ queries, and 100 are left .* 100 would give ±0\.\d"):
        implication((first, "alpha"), (second, "beta"), error=0.02)
    assert not first.asked
    assert not second.asked


def test_a_rare_alpha_is_refused_after_the_first_batch_with_what_would_fit():
    first, second = parties(alpha=0.02, gap=0.0, queries=2000)
    with pytest.raises(PartyError, match="would give"):
        implication((first, "alpha"), (second, "beta"), error=0.05)
    assert first.queries_left == second.queries_left == 2000 - PILOT


def test_one_party_for_both_sides_pays_for_both():
    only, _ = parties(queries=1000)
    with pytest.raises(PartyError, match="takes 1,200 queries, and 1,000 are left"):
        implication((only, "alpha"), (only, "beta"), queries=600)


def test_unequal_rosters_are_refused():
    first, second = parties()
    other = SimulatedParty(second.population, TRIALS, roster="another")
    fewer, _ = parties(people=100_000)
    for stranger in (other, fewer):
        with pytest.raises(PartyError, match="different rosters"):
            implication((first, "alpha"), (stranger, "beta"))
    assert not first.asked
    assert require_same_roster(first, second) == 200_000


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"error": 0}, "between 0 and 1"),
        ({"error": 1.5}, "between 0 and 1"),
        ({"error": 0, "method": "paper"}, "between 0 and 1"),
        ({"queries": 3}, "fewer than 16"),
        ({"method": "magic"}, "regression and paper"),
        ({"method": "paper", "queries": 100}, "as many queries as it needs"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish, why):
    first, second = parties()
    with pytest.raises(PartyError, match=why):
        implication((first, "alpha"), (second, "beta"), **wish)
    assert not first.asked


def test_a_party_is_a_vault_an_address_or_itself():
    first, _ = parties()

    class HasOne:
        def party(self):
            return first

    assert party_of(first) is party_of(HasOne()) is first
    with pytest.raises(PartyError, match="a vault with a budget of queries"):
        party_of(17)  # type: ignore[arg-type]


@pytest.mark.parametrize(("gap", "shares"), [(0.1, (0.5, 0.5)), (-0.2, (0.4, 0.6)), (0.0, (0.5, 0.3))])
def test_the_papers_search_finds_the_gap(gap, shares):
    first, second = parties(people=1_000_000, trials=2000, alpha=shares[0], beta=shares[1], gap=gap)
    found = implication((first, "alpha"), (second, "beta"), error=0.1, method="paper")
    assert found.method == "paper"
    assert found.gap.low <= gap <= found.gap.high
    assert found.gap.halfwidth <= 0.1
    assert EVERY - first.queries_left == found.queries_alpha
    assert EVERY - second.queries_left == found.queries_beta


def test_the_papers_search_takes_far_more_queries():
    first, second = parties(people=1_000_000, trials=208_390)
    regression, paper = (queries_needed(first, second, error=0.05, method=method) for method in ("regression", "paper"))
    assert paper.queries_alpha > 300 * regression.queries_alpha
    assert paper.queries_beta > 50 * regression.queries_beta


def test_the_tests_advantage_is_the_seeds_without_noise():
    # SuLQ, proof of Theorem 2: Φ(−ε·σ_α/(1 − p_α)/√Var_β) = 1/2 − γ, here with sets of half the roster.
    plan = Search(AccuracyTerms(1_000_000, 0, 0), (0.5, 0.5), 0.05, 0.95)
    assert plan.kept == 1
    assert plan.shift == pytest.approx(plan.resolution / 0.5 * math.sqrt(2))  # σ_α is √2 of such a set's deviation
    assert plan.advantage == pytest.approx(0.0840, abs=1e-4)


@pytest.mark.parametrize(("noise", "share"), [(0, 0.0786), (62_500, 0.1587)])
def test_heavy_is_what_exceeds_the_papers_sigma(noise, share):
    # n = 10^6 and half of them: σ_α² = 125,000; a set's count varies by 62,500 given its size, and by the noise.
    plan = Search(AccuracyTerms(1_000_000, noise, 0), (0.5, 0.5), 0.05, 0.95)
    assert plan.typical_excess**2 == pytest.approx(125_000)
    assert plan.heavy == pytest.approx(share, abs=1e-4)
    rng = np.random.default_rng(1)
    having = rng.hypergeometric(500_000, 500_000, 500_000, 20_000) + rng.normal(0, math.sqrt(noise), 20_000)
    assert np.mean(having - 250_000 >= plan.excess(np.array([500_000]))) == pytest.approx(share, abs=0.008)


def test_a_search_narrows_to_the_error():
    plan = Search(AccuracyTerms(1_000_000, 50_000, 50_000), (0.3, 0.6), 0.05, 0.95)
    low, high = plan.range
    assert (low, high) == pytest.approx((0 - 0.6, 1 - 0.6))
    width = high - low
    for _ in range(plan.steps):
        width = (width + plan.resolution) / 2
    assert width <= 2 * plan.error
    assert plan.queries_alpha == pytest.approx(plan.pilot + plan.steps * plan.tests / plan.heavy, abs=1)
