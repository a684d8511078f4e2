"""How well anybody can tell one person's bit, whatever they do: what a guarantee implies for a guess.

The advantage of a guess is Pr[says 1 | bit is 1] − Pr[says 1 | bit is 0]: 0 for a coin, 1 for who knows. It is at most
the total variation distance between what the two neighbours release:

    ε:        TPR ≤ e^ε·FPR and 1 − FPR ≤ e^ε·(1 − TPR), hence at most (e^ε − 1)/(e^ε + 1)
    (ε, δ):   the same with + δ on the right of both, hence at most (e^ε − 1 + 2δ)/(e^ε + 1)
    μ (GDP):  that of N(0, 1) and N(μ, 1), hence 2·Φ(μ/2) − 1; where values were found, its μ² is added, and the
              distances of its ε and its δ
    ρ (zCDP): the Kullback–Leibler divergence is at most ρ, hence √(ρ/2) [Pinsker] and √(1 − e^−ρ) [Bretagnolle, Huber]

Gaussian noise of ρ by itself gives about 2·Φ(√(ρ/2)) − 1, a fifth less than Pinsker's bound where ρ is small.
"""

from math import exp, expm1, sqrt, tanh
from statistics import NormalDist

from discreet.ledger.guarantee import GDP, ZCDP, ApproxDP, DeltaT, Guarantee, PureDP


def advantage_bound(guarantee: Guarantee) -> float:
    """The most that anybody's guess of one person's bit can be better than a coin, as an advantage between 0 and 1."""
    match guarantee:
        case PureDP(epsilon=epsilon):
            return _by_epsilon(float(epsilon), 0.0)
        case DeltaT(delta=epsilon, dp_delta=delta):
            return _by_epsilon(float(epsilon), float(delta))
        case ZCDP(rho=rho):
            return _by_rho(float(rho))
        case ApproxDP(epsilon=epsilon, delta=delta, rho=rho):
            return min(_by_epsilon(float(epsilon), float(delta)), _by_rho(float(rho)))
        case GDP(mu_squared=mu_squared, discovering=found):
            own = 2 * NormalDist().cdf(sqrt(mu_squared + found.mu_squared) / 2) - 1
            return min(own + _by_epsilon(float(found.epsilon), 0.0) + float(found.delta), 1.0)


def gaussian_advantage(rho: float) -> float:
    """The advantage that Gaussian noise gives which spends ρ on one person: shifted by √(2ρ) deviations."""
    return 2 * NormalDist().cdf(sqrt(rho / 2)) - 1


def _by_epsilon(epsilon: float, delta: float) -> float:
    return min(tanh(epsilon / 2) + 2 * delta / (exp(min(epsilon, 700.0)) + 1), 1.0)


def _by_rho(rho: float) -> float:
    return min(sqrt(rho / 2), sqrt(-expm1(-rho)), 1.0)
