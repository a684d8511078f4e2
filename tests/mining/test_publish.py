"""What is published is named by what was counted."""

from discreet.domain.read import parse_domain
from discreet.mining.publish import parse_attributes

DOMAIN = parse_domain("""
name = "hospital"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
[attributes.weight]
kind = "bins"
edges = [0, 50, 100]
source = "a test"
""")


def test_a_condition_between_the_edges_of_bins_becomes_the_one_that_is_counted():
    old, heavy = parse_attributes(["old: age > 50", "heavy: weight > 60"], DOMAIN)
    assert (old.condition, heavy.condition) == ("age > 50", "weight >= 50")
