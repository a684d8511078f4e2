"""Base: one source, the smallest cuboid from which all can be computed. [cubes, Theorem 3.2.2]"""

from fractions import Fraction

from discreet.cube.planners.task import Shares, Task


def give_all_to_base(task: Task) -> Shares:
    """Continuous Laplace noise of variance 2/ε² on each of its cells, and mag(C, base) times that on the cells of C."""
    return {task.top: Fraction(1)}
