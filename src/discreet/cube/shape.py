"""The shapes that a cube's numbers can have."""

from typing import Literal

Norm = Literal["l2", "l1", "linf"]
"""The distance from the sources that a consistent cube makes least."""
Counts = Literal["real", "nonnegative", "whole"]
"""What cells may be: any number, none below 0, or whole numbers that are not below 0."""
