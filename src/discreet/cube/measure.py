"""What a cube's cells hold: how many rows there are, or the sum of an attribute over them. [cubes, Section 3.4.2]

One row moves one cell of a cuboid: by 1 in a count, by at most its largest |value| in a sum. That is the Λ of the seed,
which prints the range of values instead: under add-remove a row of value v adds v, not v − low. Sums are of whole
grains, as everywhere: the engine clamps each row to the declared range and rounds it to the attribute's grain.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import grain_of
from discreet.query.sensitivity import is_one_signed, largest_addend


@dataclass(frozen=True)
class Measure:
    """`of` is the attribute that is summed, None for a count; a row moves a cell by at most `move`, a multiple of
    `grain`; where it is `one_signed`, no two rows move one in opposite directions. `complete`: every row has a value;
    otherwise missing and other values add nothing to a sum, though their rows are counted."""

    of: str | None = None
    move: Fraction = Fraction(1)
    grain: Fraction = Fraction(1)
    one_signed: bool = True
    complete: bool = True

    @property
    def name(self) -> str:
        return "count" if self.of is None else "sum"

    def __str__(self) -> str:
        return "count" if self.of is None else f"sum({self.of})"


COUNT = Measure()


def parse_measure(text: str, domain: Domain) -> Measure:
    """`count`, or `sum(income)`. Raises UnsupportedQuery where an attribute cannot be summed."""
    if text.strip().lower() == "count":
        return COUNT
    found = re.fullmatch(r"\s*sum\s*\(\s*(\w+)\s*\)\s*", text, flags=re.IGNORECASE)
    if found is None:
        raise UnsupportedQuery(f"a measure is count or sum(attribute), not {text!r}; an average is made of both")
    attribute = domain[found[1]]
    largest = largest_addend(attribute)
    if not largest:
        raise UnsupportedQuery(f"every value of {attribute.name} is 0, and so is its sum")
    complete = attribute.cells == attribute.size
    return Measure(attribute.name, largest, grain_of(attribute), is_one_signed(attribute), complete)
