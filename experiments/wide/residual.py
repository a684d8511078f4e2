"""The least largest variance that ResidualPlanner's mechanisms reach, for attributes alike: a small convex program.

It measures, for every subset S of dimensions, the component of S with Gaussian noise of precision w(S), which costs
ρ = w(S)·∏_{i∈S}(1 − 1/n_i)/2. Attributes are alike, so w depends on |S| alone.
[Xiao, He, Zhang, Kifer: An Optimal and Scalable Matrix Mechanism for Noisy Marginals, NeurIPS 2023]
"""

from math import comb

import numpy as np
from scipy.optimize import minimize


def residual_planner_largest(attributes: int, values: int, order: int, rho: float) -> float:
    """The largest variance of a cell over all cuboids of at most `order` dimensions, at its optimum."""
    levels = np.arange(order + 1)
    kept = (1 - 1 / values) ** levels
    costs = np.array([comb(attributes, level) for level in levels]) * kept / (2 * rho)
    # Row k: the variance of a cuboid of k dimensions, from 1/w of its subsets.
    rows = np.array(
        [[comb(k, s) * kept[s] / float(values) ** (2 * (k - s)) if s <= k else 0.0 for s in levels] for k in levels]
    )

    def largest(logits: np.ndarray, power: float) -> float:
        # Variances scale with the inverse of the cost, so the budget is met by dividing.
        precisions = np.exp(logits)
        variances = rows @ (1 / precisions) * (costs @ precisions)
        return float(np.log(np.sum((variances / variances.max()) ** power)) / power + np.log(variances.max()))

    point = np.zeros(order + 1)
    for power in (8.0, 64.0, 512.0, 4096.0):
        point = minimize(largest, point, (power,), "Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9}).x
    return float(np.exp(largest(point, 1e6)))
