"""A domain: the public description of a table, a finite box of points."""

import difflib
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from discreet.domain.attribute import Attribute, Category, Discoverable
from discreet.domain.date import Date
from discreet.domain.region import Box, Region
from discreet.errors import DomainError

NullIds = Literal["drop", "own", "refuse"]


@dataclass(frozen=True)
class Domain:
    """The table's name in SQL and its attributes, in order: axis i of every region is attribute i."""

    name: str
    attributes: tuple[Attribute, ...]
    null_ids: NullIds | None = None
    """What rows without an id are, where people have ids: nobody's and left out, each a person of its own, or
    a reason for a custodian's `init` to refuse the table. None where the domain does not say."""
    person: str | None = field(default=None, compare=False)
    """The column whose values are people, where a vault has one. It is no attribute: people can be counted, also by how
    many rows they have, and no more."""
    max_rows: int = field(default=1, compare=False)
    """How many rows a person has, at most."""
    each_period: bool = field(default=False, compare=False)
    """Whether that is of each period of a table that grows, and not of all of them."""
    _cuts: "dict[str, Domain]" = field(init=False, repr=False, compare=False, default_factory=dict)
    """What `until` has made."""

    @cached_property
    def _axes(self) -> dict[str, int]:
        return {attribute.name: axis for axis, attribute in enumerate(self.attributes)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def found(self) -> dict[str, tuple[str, ...]]:
        """The values that were found in the table, of attributes that declare none."""
        return {one.name: one.values for one, _ in self._discoverable}

    @property
    def found_in_words(self) -> dict[str, str]:
        """How many values were found of each of these; and where there are as many as may be named, so that others may
        have been found as well, that there are."""
        told = {}
        for one, able in self._discoverable:
            many = f"{len(one.values):,} value{'s' * (len(one.values) != 1)}"
            full = f", as many as most = {able.most:,} allows: if there are more, they are (other)"
            told[one.name] = many + full * (len(one.values) == able.most)
        return told

    @property
    def undiscovered(self) -> dict[str, Discoverable]:
        """The attributes whose values are still to be found."""
        return {one.name: able for one, able in self._discoverable if not able.looked_for}

    @property
    def _discoverable(self) -> list[tuple[Category, Discoverable]]:
        own = (attribute for attribute in self.attributes if isinstance(attribute, Category))
        return [(attribute, attribute.discoverable) for attribute in own if attribute.discoverable is not None]

    @cached_property
    def growing(self) -> Date | None:
        """The attribute whose periods are appended one after the other, where there is one: of one of several tables,
        that of its own rows, or of those that they belong to."""
        return next((one for one in self.attributes if isinstance(one, Date) and one.grows), None)

    def until(self, period: str) -> "Domain":
        """The same domain as far as the table goes, where it grows: up to the last period that is closed. Every code,
        and by that every region, is one of the whole domain too."""
        if period not in self._cuts:
            if self.growing is None:
                raise DomainError(f"{self.name} does not grow: no date attribute of its domain says grows = true")
            self._cuts[period] = replace(self, attributes=tuple(_until(period, one) for one in self.attributes))
        return self._cuts[period]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def points(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def everything(self) -> Region:
        return Region((Box((0,) * len(self.shape), tuple(size - 1 for size in self.shape)),))

    def axis(self, name: str) -> int:
        """The axis of an attribute; an unknown name raises with the near ones."""
        if name in self._axes:
            return self._axes[name]
        if name == self.person:
            raise DomainError(
                f"{name} says who is meant, and nobody is asked about by it: count people, COUNT(DISTINCT {name}), or "
                f"ask of them by {', '.join(self.names)}"
            )
        near = difflib.get_close_matches(name, self.names, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self.names)}"
        if (value := self._value_like(name)) is not None:
            hint = f"texts go in single quotes, as in '{value}'; {hint}"
        raise DomainError(f"{self.name} has no attribute {name!r}; {hint}")

    def _value_like(self, name: str) -> str | None:
        """The declared value of a category that is written so, whatever its case."""
        values = (value for one in self.attributes if isinstance(one, Category) for value in one.values)
        return next((value for value in values if value.lower() == name.lower()), None)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.axis(name)]

    def slab(self, name: str, low: int, high: int) -> Region:
        """The points whose code on one attribute lies in low … high."""
        axis = self.axis(name)
        whole = self.everything.boxes[0]
        return Region(
            (
                Box(
                    (*whole.low[:axis], low, *whole.low[axis + 1 :]),
                    (*whole.high[:axis], high, *whole.high[axis + 1 :]),
                ),
            )
        )


def _until(period: str, attribute: Attribute) -> Attribute:
    """An attribute whose periods are appended, as far as they are closed; any other as it is."""
    if not isinstance(attribute, Date) or not attribute.grows:
        return attribute
    last = attribute.named_code(period)
    if last is None:
        first, end = attribute.label(0), attribute.label(attribute.cells - 1)
        raise DomainError(
            f"{period!r:.40} is no {attribute.period} of {attribute.name}; these are called {first} to {end}"
        )
    return attribute.until(last)
