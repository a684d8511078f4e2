"""The seed's own way to Δ: test procedure 𝒯 on sets that are heavy in α, and binary search. [SuLQ, Section 5.1]

Kept for comparison: each test turns two counts into one bit, and the search uses every bit once. The seed neglects what
is of lower order; at any size that people have it is not, so that the constants here are worked out with it:

- A set is heavy where its *noisy* count is σ_α above what its size lets expect, and of such a surplus only the share
  that is not noise, on average, is held to be people. σ_α = √(N·p(1 − p)), N being the set's size, is the paper's: √2
  standard deviations of a set of half of all people. So without noise 8% of sets are heavy.
- The shares have to be known far better than within 1/√n: the test looks for a shift of less than √n people. A pilot of
  random sets comes first, so that they are off by at most a sixth of the shift.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from discreet.mining.accuracy import AccuracyTerms, Shares, require_share
from discreet.mining.estimate import IntervalEstimate
from discreet.mining.joint import Numbers
from discreet.mining.party import Counts
from discreet.mining.sampling import BATCH, PILOT, RATE, PartyPredicate, fresh_subsets
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent

PILOT_SHARE = 1 / 6
RESOLUTION = 1.5
"""ε of a test by the error asked for: coarser tests cost less, and the search ends at an interval of 2 errors."""


@dataclass(frozen=True)
class Search:
    """The binary search that finds Δ within ±error with this confidence, worked out beforehand. [SuLQ, Theorem 3]"""

    terms: AccuracyTerms
    shares: Shares
    error: float
    confidence: float

    @property
    def range(self) -> tuple[float, float]:
        """Where Δ can lie at all, given both shares."""
        alpha, beta = require_share(self.shares[0]), self.shares[1]
        return max(0.0, alpha + beta - 1) / alpha - beta, min(alpha, beta) / alpha - beta

    @property
    def resolution(self) -> float:
        return RESOLUTION * self.error

    @property
    def steps(self) -> int:
        """A step takes an interval of width L to (L + ε)/2."""
        low, high = self.range
        return max(1, math.ceil(math.log2(max((high - low - self.resolution) / (2 * self.error - self.resolution), 1))))

    @property
    def shift(self) -> float:
        """By how much ε moves β's count on a heavy set, in standard deviations of that count."""
        beta_variance = self.terms.variances(self.shares)[1]
        surplus = self.kept * self.typical_excess
        return surplus * self.resolution / max(1 - self.shares[0], 1e-12) / math.sqrt(beta_variance)

    def excess(self, sizes: Counts) -> Numbers:
        """σ_α: by how many heavy sets of these sizes have more of α than their sizes let expect."""
        return self._root * np.sqrt(sizes)

    @property
    def typical_excess(self) -> float:
        """σ_α of a set of the size that is expected."""
        return self._root * math.sqrt(float(RATE) * self.terms.people)

    @property
    def _root(self) -> float:
        alpha = require_share(self.shares[0])
        return math.sqrt(alpha * (1 - alpha))

    @property
    def heavy(self) -> float:
        """How many random sets are heavy by their noisy counts."""
        deviation = math.sqrt(self.terms.variances(self.shares)[0])
        return NormalDist().cdf(-self.typical_excess / deviation)

    @property
    def advantage(self) -> float:
        """γ: how much rarer than 1/2 the test says 1 where Δ ≤ Δ₁ − ε. [SuLQ, Theorem 2]"""
        return NormalDist().cdf(self.shift) - 0.5

    @property
    def kept(self) -> float:
        """The share of a noisy surplus that is people, on average: the rest is noise."""
        variance = self.terms.variances(self.shares)[0]
        return (variance - self.terms.noise_alpha) / variance

    @property
    def pilot(self) -> int:
        """Random sets that tell the shares, so that what they let expect is off by at most PILOT_SHARE of the shift."""
        return max(PILOT, math.ceil((self._deviations / (PILOT_SHARE * max(self.shift, 1e-9))) ** 2))

    @property
    def tests(self) -> int:
        """Tests a step, so that pilot and all steps together go wrong with at most 1 − confidence."""
        margin = (0.5 - PILOT_SHARE) * max(self.advantage, 1e-9)
        return math.ceil((self._deviations / 2 / margin) ** 2)

    @property
    def _deviations(self) -> float:
        """The pilot can go wrong in two directions, each step in one."""
        return NormalDist().inv_cdf(1 - (1 - self.confidence) / (self.steps + 2))

    @property
    def queries_beta(self) -> int:
        return self.pilot + self.steps * self.tests

    @property
    def queries_alpha(self) -> int:
        """On average: most sets turn out not to be heavy."""
        return self.pilot + math.ceil(self.steps * self.tests / self.heavy)


def search(
    plan: Search, alpha: PartyPredicate, beta: PartyPredicate, bits: Bits, progress: Progress = silent
) -> tuple[IntervalEstimate, int]:
    """Δ by binary search on Δ₁, and how many queries α's party answered for it."""
    low, high = plan.range
    spent = 0
    for step in range(plan.steps):
        progress("searching", step / plan.steps)
        tried = (low + high + plan.resolution) / 2
        ones, queries = _count_ones(plan, tried, alpha, beta, bits)
        spent += queries
        if ones >= plan.tests * (0.5 - plan.advantage / 2):
            low = tried - plan.resolution
        else:
            high = tried
    progress("searching", 1.0)
    return IntervalEstimate((low + high) / 2, low, high), spent


def _count_ones(plan: Search, tried: float, alpha: PartyPredicate, beta: PartyPredicate, bits: Bits) -> tuple[int, int]:
    """How often 𝒯 says 1 for Δ₁ = tried, over fresh heavy sets, and how many sets were looked at for them."""
    found, ones, spent = 0, 0, 0
    while found < plan.tests:
        wanted = min(BATCH, math.ceil((plan.tests - found) / plan.heavy))
        subsets = fresh_subsets(wanted, bits)
        answers = alpha.party.ask_subsets(subsets, alpha.predicate)
        spent += wanted
        surplus = answers.values - plan.shares[0] * answers.sizes
        heavy = np.flatnonzero(surplus >= plan.excess(answers.sizes))[: plan.tests - found]
        if not heavy.size:
            continue
        second = beta.party.ask_subsets([subsets[place] for place in heavy], beta.predicate)
        ones += _says_one(plan, tried, surplus[heavy], second.values, second.sizes)
        found += heavy.size
    return ones, spent


def _says_one(plan: Search, tried: float, surplus: Numbers, counts: Counts, sizes: Counts) -> int:
    """Step 2 of 𝒯: β's count against what Δ₁ lets expect of a set with this surplus."""
    expected = plan.shares[1] * sizes + plan.kept * surplus * tried / max(1 - plan.shares[0], 1e-12)
    return int((counts >= expected).sum())
