"""What to measure for a model: all cuboids of two dimensions, or of three, with equal shares.

A model makes finer cuboids from coarser ones, so it needs no fine ones of its own; and it reads single dimensions off
those that hold them. Pairs are enough under Laplace noise, whose standard deviation grows with the number of cuboids;
under Gaussian noise it grows with the root of that, and triples tell more, where they are not too many, as they are of
a joint that takes a mixture. Figures: docs/explain/models.md.
"""

from fractions import Fraction

from discreet.cube.noise_model import NoiseModel
from discreet.cube.planners.task import Shares, Task
from discreet.model.size import is_mixture
from discreet.query.lattice import Lattice

PAIRS, TRIPLES = 2, 3


def order_for_model(lattice: Lattice, noise: NoiseModel) -> int:
    """How many dimensions are measured together where nothing is said: power 1 is Gaussian noise, 2 Laplace."""
    triples = noise.power == 1 and not is_mixture(lattice)
    return min(TRIPLES if triples else PAIRS, lattice.dimensions)


def all_of_order(task: Task) -> Shares:
    """The finest of the published cuboids, those that no other one holds, each with an equal share."""
    published = sorted(task.published, key=lambda mask: -mask.bit_count())
    finest: list[int] = []
    for mask in published:
        if not any(not mask & ~finer for finer in finest):
            finest.append(mask)
    return dict.fromkeys(finest, Fraction(1, len(finest)))
