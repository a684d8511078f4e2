"""All: every published cuboid is a source, with an equal share. [cubes, Theorem 3.2.1]"""

from fractions import Fraction

from discreet.cube.planners.task import Shares, Task


def share_among_all(task: Task) -> Shares:
    """Continuous Laplace noise of variance 2·|L|²/ε² on every cell, before consistency."""
    return dict.fromkeys(task.published, Fraction(1, len(task.published)))
