"""How many different values there can be, by the domain alone: what a count of them is cut to."""

from math import prod

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.query.query import Distinct, group_attribute
from discreet.sql.codes import merged


def most_values(query: Distinct, region: Region, domain: Domain) -> int:
    """The most combinations of values that rows of a region can have."""
    if not region:
        return 0
    sizes = []
    for group in query.of:
        if isinstance(group, str):
            axis = domain.axis(group)
            reached = merged((box.low[axis], box.high[axis]) for box in region.boxes)
            sizes.append(sum(high - low + 1 for low, high in reached))
        else:
            sizes.append(group_attribute(group, domain).size)
    return prod(sizes)
