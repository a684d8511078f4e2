"""A fitted model: an estimate of the whole joint distribution, from which every cuboid can be read."""

from discreet.model.log_linear import LogLinear
from discreet.model.mixture import ProductMixture

Model = LogLinear | ProductMixture
"""Log-linear where the joint can be gone through, a mixture of products where it is too large for that."""
