"""How many rows a person has in a region: what people, and nothing else, can be grouped by.

It is no function of a row's codes, so that no other quantity may be grouped by it; `require_in_domain` sees to that,
and so does the price. What it costs is proved in docs/explain/privacy-unit.md.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.domain.attribute import Attribute, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery

KEY = "rows_per_person"


@dataclass(frozen=True)
class RowsPerPerson:
    """The groups 1 … most: people with so many rows in the query's region and its other groups; in the last, people
    with more as well. Who has none is in no group."""

    most: int

    @property
    def text(self) -> str:
        return "rows per person"

    @property
    def values(self) -> tuple[object, ...]:
        return tuple(range(1, self.most + 1))

    @cached_property
    def attribute(self) -> Attribute:
        """The groups as the values of an attribute."""
        return Integer(name=self.text, source="", null=False, low=1, high=self.most)

    def require_in_domain(self, domain: Domain) -> None:  # noqa: ARG002
        if self.most < 1:
            raise UnsupportedQuery("a person who is counted has at least one row")

    def sections(self, where: Region, domain: Domain) -> list[Region]:  # noqa: ARG002
        """Where rows can be that put a person into each group: anywhere in the region, for all of them."""
        return [where] * self.most

    def to_json(self) -> dict[str, Any]:
        return {KEY: self.most}
