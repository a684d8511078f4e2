"""How many regions the values of a sub-query could have chosen."""

import pytest

from discreet.domain.read import parse_domain
from discreet.sql.split import Stepwise, split

DOMAIN = parse_domain("""
name = "people"
[attributes.g]
kind = "integer"
low = 0
high = 7
source = "a test"
[attributes.a]
kind = "integer"
low = 0
high = 9
source = "a test"
""")
GROUPS = "SELECT g FROM people GROUP BY g"


@pytest.mark.parametrize(
    ("condition", "regions"),
    [
        (f"g IN ({GROUPS} ORDER BY COUNT(*) DESC LIMIT 1)", 1 + 8),
        (f"g IN ({GROUPS} ORDER BY COUNT(*) DESC LIMIT 2)", 1 + 8 + 28),
        (f"g IN ({GROUPS} ORDER BY COUNT(*) DESC LIMIT 20)", 2**8),
        (f"g IN ({GROUPS} HAVING COUNT(*) > 9)", 2**8),
        (f"NOT g IN ({GROUPS} HAVING COUNT(*) > 9)", 2**8),
        (f"g = ({GROUPS} ORDER BY COUNT(*) DESC LIMIT 1)", 2 * 8 + 1),
        ("a > (SELECT AVG(a) FROM people)", 2 * 10 + 1),
        ("a + 1 > (SELECT AVG(a) FROM people) AND g = 3", 2 * 10 + 1),
        ("a + g > (SELECT AVG(a) FROM people)", 2 * 80 + 1),
        ("a BETWEEN (SELECT MIN(a) FROM people) AND (SELECT AVG(a) FROM people)", (2 * 10 + 1) ** 2),
    ],
)
def test_a_sub_query_chooses_one_of_so_many_regions(condition, regions):
    found = split(f"SELECT COUNT(*) AS n FROM people WHERE {condition}", DOMAIN)
    assert isinstance(found, Stepwise)
    product = 1
    for count in found.regions.values():
        product *= count
    assert product == regions
