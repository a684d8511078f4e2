"""Profiles: what the rows of one person come to, as one line for each person. Public but for who has which.

The inner SELECT of `SELECT a, COUNT(*) FROM (SELECT id, MAX(age) AS a FROM t WHERE … GROUP BY id) GROUP BY a` gives
each person one line. A trait is one column of it: a function of the bag of that person's rows in the region, with
finitely many values that the domain and the bound on rows imply. So lines have a domain of their own, and are counted
and summed over it as rows are over the table's. What that costs is proved in docs/explain/privacy-unit.md: each line is
paid for by a row of its own, wherever in the region that is.
"""

import datetime as dt
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Literal, get_args

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.exact import parse_exact
from discreet.query.cells import LARGEST, CellTable, Labelling

KEY = "of_person"
NOTHING = LARGEST
"""What a row has that says nothing of a trait: a missing value, or one that a FILTER leaves out."""
MOST_CODES = 1 << 20
"""A trait has at most so many values."""
MOST_PLACES = 1 << 62
SOURCE = "what a person's rows come to"

Fold = Literal["sum", "least", "greatest", "different", "first", "last", "own"]
"""How a person's rows come to one value; of a line that is a row, its own."""


@dataclass(frozen=True)
class Trait:
    """One number or label of a person, made of what each of their rows has.

    `of` says what a row has: an amount for a sum, a code of `attribute` for the least, greatest, first and last; some
    number for how many different there are. Rows that have NOTHING are passed over; a person without another has NULL,
    or 0 different. First and last are the rows that come so by the tables of `order`, one after the other; where that
    is equal, the one with the least `of`: a tie is settled by the person's own rows alone.
    """

    text: str = field(compare=False)
    """It as SQL."""
    fold: Fold
    attribute: Attribute
    of: CellTable
    order: tuple[CellTable, ...] = ()

    @property
    def tables(self) -> tuple[CellTable, ...]:
        return (*self.order, self.of)

    def require_in_domain(self, domain: Domain) -> None:
        for table in self.tables:
            table.require_in_domain(domain)
        if self.fold not in get_args(Fold) or bool(self.order) != (self.fold in ("first", "last")):
            raise UnsupportedQuery(f"a person's {self.fold} is not known here")
        if not 0 < self.attribute.size <= MOST_CODES:
            raise UnsupportedQuery(
                f"{self.attribute.name} has {self.attribute.size:,} values; at most {MOST_CODES:,} are told apart"
            )
        if self.fold != "sum" and prod(self.places) > MOST_PLACES:
            raise UnsupportedQuery("an order of rows has too many places; order them by fewer columns")

    @property
    def places(self) -> tuple[int, ...]:
        """How many places a row can have by each table: in an order, or among the values."""
        return tuple(int(table.table[table.table != NOTHING].max(initial=0)) + 1 for table in self.tables)

    def to_json(self) -> dict[str, Any]:
        body = {
            "text": self.text,
            "fold": self.fold,
            "values": attribute_to_json(self.attribute),
            "of": self.of.to_json(),
        }
        return body | ({"order": [table.to_json() for table in self.order]} if self.order else {})

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> "Trait":
        order = tuple(map(CellTable.from_json, body.get("order", ())))
        return cls(
            body["text"], body["fold"], attribute_from_json(body["values"]), CellTable.from_json(body["of"]), order
        )


@dataclass(frozen=True)
class PersonGroup:
    """A group of people by what their profiles are: `labelling` is over the domain of profiles.

    It is no function of a row's codes, so that profiles, and nothing else, may be grouped by it.
    """

    labelling: Labelling

    @property
    def text(self) -> str:
        return self.labelling.text

    @property
    def values(self) -> tuple[object, ...]:
        return self.labelling.values

    @property
    def attribute(self) -> Attribute:
        return self.labelling.attribute

    def require_in_domain(self, domain: Domain) -> None:
        """Its own domain is that of its query's profiles, which looks at it."""

    def sections(self, where: Region, domain: Domain) -> list[Region]:  # noqa: ARG002
        """Where rows can be that put a person into each group: anywhere in the region, for all of them."""
        return [where] * self.labelling.size

    def to_json(self) -> dict[str, Any]:
        return {KEY: self.labelling.to_json()}


@dataclass(frozen=True)
class FirstRows:
    """The rows of a person that come first by the tables of `order`, one after the other, and of equal ones by what
    they have of the traits: a rule that depends on that person's rows alone, whatever order they stand in."""

    text: str = field(compare=False)
    """The order as SQL."""
    order: tuple[CellTable, ...]
    most: int

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "order": [table.to_json() for table in self.order], "most": self.most}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> "FirstRows":
        return cls(body["text"], tuple(map(CellTable.from_json, body["order"])), int(body["most"]))


@dataclass(frozen=True)
class Profiles:
    """The lines of people: one for each person, and of each of `keys` in which that person has rows of the region. Of
    the `first` rows of each person, one for each row."""

    traits: tuple[Trait, ...]
    keys: tuple[tuple[str, str | Labelling], ...] = ()
    """What else parts a person's lines, by the names that this has among their columns."""
    first: FirstRows | None = None

    def domain_of(self, domain: Domain) -> Domain:
        """The domain of these lines, over rows of a domain."""
        own = [replace(domain[key] if isinstance(key, str) else key.attribute, name=name) for name, key in self.keys]
        return Domain(f"people of {domain.name}", (*own, *(trait.attribute for trait in self.traits)))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of rows whose codes are read."""
        keys = [(key,) if isinstance(key, str) else key.table.attributes for _, key in self.keys]
        own = [table.attributes for trait in self.traits for table in trait.tables]
        own += [table.attributes for table in (() if self.first is None else self.first.order)]
        return tuple(dict.fromkeys(name for names in (*keys, *own) for name in names))

    def require_in_domain(self, domain: Domain) -> None:
        for _, key in self.keys:
            if isinstance(key, str):
                domain.axis(key)
            else:
                key.require_in_domain(domain)
        for trait in self.traits:
            trait.require_in_domain(domain)
            if (trait.fold == "own") != (self.first is not None):
                raise UnsupportedQuery("a line is one row of a person, or made of several")
        for table in () if self.first is None else self.first.order:
            table.require_in_domain(domain)
        if self.first is not None and (self.keys or self.first.most < 1):
            raise UnsupportedQuery("of a person's rows the first one counts, or the first few")
        names = self.domain_of(domain).names
        if len(set(names)) < len(names):
            raise UnsupportedQuery("two columns of a person's line have one name")

    def to_json(self) -> dict[str, Any]:
        keys = [[name, key if isinstance(key, str) else key.to_json()] for name, key in self.keys]
        body = {"keys": keys, "traits": [trait.to_json() for trait in self.traits]}
        return body if self.first is None else {**body, "first": self.first.to_json()}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> "Profiles":
        keys = tuple((name, key if isinstance(key, str) else Labelling.from_json(key)) for name, key in body["keys"])
        first = FirstRows.from_json(body["first"]) if "first" in body else None
        return cls(tuple(map(Trait.from_json, body["traits"])), keys, first)


def attribute_to_json(attribute: Attribute) -> dict[str, Any]:
    """The values of a trait, as the journal keeps them."""
    body: dict[str, Any] = {"name": attribute.name, "null": attribute.null}
    match attribute:
        case Integer(low=low, high=high):
            return {**body, "integers": [low, high]}
        case Date(low=low, high=high, period=period):
            return {**body, "dates": [low.isoformat(), high.isoformat(), period]}
        case Category(values=values):
            return {**body, "texts": list(values)}
        case Bins(edges=edges, grain=grain):
            ends = [None if edge is None else str(edge) for edge in edges]
            return {**body, "edges": ends, "grain": None if grain is None else str(grain)}
    raise UnsupportedQuery(f"{attribute.name} has values of a kind that no person's line has")


def attribute_from_json(body: dict[str, Any]) -> Attribute:
    shared: dict[str, Any] = {"name": body["name"], "source": SOURCE, "null": bool(body["null"])}
    if "integers" in body:
        low, high = map(int, body["integers"])
        return Integer(**shared, low=low, high=high)
    if "dates" in body:
        first, last, period = body["dates"]
        return Date(**shared, low=dt.date.fromisoformat(first), high=dt.date.fromisoformat(last), period=period)
    if "texts" in body:
        return Category(**shared, values=tuple(body["texts"]))
    return Bins(**shared, edges=tuple(map(_exact, body["edges"])), grain=_exact(body["grain"]))


def _exact(number: str | None) -> Fraction | None:
    return None if number is None else parse_exact(number)
