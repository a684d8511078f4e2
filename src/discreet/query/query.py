"""The questions that the gate can measure, and the two that are made of them.

`where` is a region of the domain; `by` names the attributes whose codes group the answer, or labels cells with groups:
an answer is an array over codes and groups, in that order (a single number without any). A marginal, or cuboid, is a
Count of everything `by` its dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.exact import parse_exact
from discreet.query.cells import Amount, Labelling
from discreet.query.choice import Candidate
from discreet.query.profiles import KEY, PersonGroup, Profiles
from discreet.query.subset import MOST_SUBSETS, Subset, subset_from_json, subset_to_json

Json = dict[str, Any]
Group = str | Labelling | PersonGroup
"""What an answer is grouped by: an attribute's name, or an expression; people also by what their rows come to."""


class Asked:
    """What a query says of itself, unless its kind says otherwise."""

    @property
    def quantity(self) -> str | Amount | None:
        """What is summed; None where something is counted, or found."""
        return None

    def grain(self, domain: Domain) -> Fraction:  # noqa: ARG002
        """The unit of its answer: that is a whole number of it."""
        return Fraction(1)


@dataclass(frozen=True)
class Count(Asked):
    """How many rows lie in `where`."""

    where: Region
    by: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Residual(Asked):
    """What the counts of `where` by some attributes tell that coarser ones do not; see `residual.py`."""

    where: Region
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sum(Asked):
    """The sum of a numeric attribute, or of an expression, over the rows in `where`; missing and other values add
    nothing."""

    of: str | Amount
    where: Region
    by: tuple[Group, ...] = ()

    @property
    def quantity(self) -> str | Amount:
        return self.of

    def grain(self, domain: Domain) -> Fraction:
        return grain_of_sum(self.of, domain)


@dataclass(frozen=True)
class Distinct(Asked):
    """How many different combinations of codes and groups of `of` occur among the rows in `where`."""

    of: tuple[Group, ...]
    where: Region
    by: tuple[Group, ...] = ()


@dataclass(frozen=True)
class People(Asked):
    """How many people have a row in `where`; in several groups, one who has rows in several."""

    where: Region
    by: tuple[Group, ...] = ()


@dataclass(frozen=True)
class ProfileSum(Asked):
    """What the lines in `kept` add up to that `profiles` make of people's rows in `where`: in a number, or how many
    there are. A line adds `least` to `most` grains, whatever its number is."""

    profiles: Profiles
    where: Region
    kept: Region
    """Of the domain of profiles."""
    by: tuple[Group, ...] = ()
    """By keys of the profiles, and by what those are."""
    of: Amount | None = None
    """A number of a line; None where lines are counted."""
    least: int = 0
    most: int = 1

    def grain(self, domain: Domain) -> Fraction:  # noqa: ARG002
        return Fraction(1) if self.of is None else self.of.grain

    @property
    def largest(self) -> Fraction:
        """The most that a line adds or takes away."""
        return max(-self.least, self.most) * (Fraction(1) if self.of is None else self.of.grain)

    @property
    def is_one_signed(self) -> bool:
        return self.least >= 0 or self.most <= 0


@dataclass(frozen=True)
class Quantile(Asked):
    """The value of an attribute, or of an expression that is a number, below which a share `level` of the rows in
    `where` lies; 0 is MIN, 1 is MAX. The groups of an expression are its values in their order."""

    of: str | Labelling
    level: Fraction
    where: Region
    by: tuple[Group, ...] = ()


@dataclass(frozen=True)
class SubsetCount(Asked):
    """How many people of each subset of a roster have their row in `where`: the SuLQ queries (q, g), one a subset."""

    subsets: tuple[Subset, ...]
    where: Region
    by: tuple[str, ...] = ()
    """Always empty: the answer has one axis, that of the subsets."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.subsets) <= MOST_SUBSETS:
            raise UnsupportedQuery(f"a query names 1 to {MOST_SUBSETS:,} subsets, not {len(self.subsets):,}")
        if self.by:
            raise UnsupportedQuery("a count over subsets has no groups; ask for each with a condition of its own")


@dataclass(frozen=True)
class Choice(Asked):
    """Which of some marginals of `where` is furthest from what is expected of it: the place of one candidate."""

    candidates: tuple[Candidate, ...]
    where: Region
    by: tuple[str, ...] = ()
    """Always empty: the answer is one number."""

    def __post_init__(self) -> None:
        if not self.candidates or self.by:
            raise UnsupportedQuery("a choice has one candidate or more, and no groups")


Query = Count | Residual | Sum | Distinct | People | ProfileSum | Quantile | SubsetCount | Choice


@dataclass(frozen=True)
class Mean:
    """Sum over Count, both measured: AVG. Of an expression, `where` is where it has a value."""

    of: str | Amount
    where: Region
    by: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Combination:
    """A sum of Counts or of Sums, each times a whole number."""

    terms: tuple[tuple[int, Count | Sum], ...]


def group_attribute(group: Group, domain: Domain) -> Attribute:
    """A group's codes with their labels, as an attribute has them."""
    return domain[group] if isinstance(group, str) else group.attribute


def group_name(group: Group) -> str:
    return group if isinstance(group, str) else group.text


def summed_name(of: str | Amount) -> str:
    """What is summed, in words."""
    return of if isinstance(of, str) else of.text


def grain_of_sum(of: str | Amount, domain: Domain) -> Fraction:
    """The unit in which a sum is measured."""
    return grain_of(domain[of]) if isinstance(of, str) else of.grain


def grain_of(attribute: Attribute) -> Fraction:
    """The unit in which an attribute is summed: every row adds a whole number of it."""
    match attribute:
        case Integer():
            return Fraction(1)
        case Bins(grain=None):
            raise UnsupportedQuery(
                f"SUM and AVG of {attribute.name} need a `grain` in the domain: the unit to round to"
            )
        case Bins(grain=grain) if not attribute.open and grain is not None:
            return grain
        case Bins():
            raise UnsupportedQuery(f"{attribute.name} has an open bin, so a sum has no bound; COUNT and quantiles work")
    raise UnsupportedQuery(f"{attribute.name} is a category: it can be counted, not summed")


def grains_of(edge: Fraction | None, attribute: Bins) -> int:
    """An edge in grains, rounded as an engine rounds rows: divided as doubles, then to the nearest."""
    grain = grain_of(attribute)
    assert edge is not None, "what has an open bin has no grain"
    grains = Fraction(float(edge) / float(grain))
    whole = floor(abs(grains) + Fraction(1, 2))
    return whole if grains >= 0 else -whole


def query_to_json(query: Query) -> Json:
    """The query as the journal keeps it: codes, not labels."""
    where = _boxes_to_json(query.where)
    body: Json = {"where": where, "by": groups_to_json(query.by)}
    match query:
        case Count():
            return {"count": body}
        case Residual():
            return {"residual": body}
        case Sum():
            return {"sum": {**body, "of": query.of if isinstance(query.of, str) else query.of.to_json()}}
        case People():
            return {"people": body}
        case ProfileSum():
            added = {} if query.of is None else {"of": query.of.to_json()}
            lines = {"kept": _boxes_to_json(query.kept), "least": query.least, "most": query.most}
            return {"profiles": {**body, **query.profiles.to_json(), **lines, **added}}
        case Distinct():
            return {"distinct": {**body, "of": groups_to_json(query.of)}}
        case Quantile():
            of = groups_to_json((query.of,))[0]
            return {"quantile": {**body, "of": of, "level": str(query.level)}}
        case SubsetCount():
            return {"subset_count": {"where": where, "subsets": [subset_to_json(subset) for subset in query.subsets]}}
        case Choice():
            return {"choice": {"where": where, "candidates": [one.to_json() for one in query.candidates]}}


def _boxes_to_json(region: Region) -> list[list[list[int]]]:
    return [[list(box.low), list(box.high)] for box in region.boxes]


def _region_from_json(boxes: Any) -> Region:
    return Region(tuple(Box(tuple(low), tuple(high)) for low, high in boxes))


def groups_to_json(by: tuple[Group, ...]) -> list[str | Json]:
    return [group if isinstance(group, str) else group.to_json() for group in by]


def groups_from_json(by: Sequence[str | Json]) -> tuple[Group, ...]:
    return tuple(map(_group_from_json, by))


def _group_from_json(group: str | Json) -> Group:
    if isinstance(group, str):
        return group
    return PersonGroup(Labelling.from_json(group[KEY])) if KEY in group else Labelling.from_json(group)


def query_from_json(body: Json) -> Query:
    [(kind, fields)] = body.items()
    where = _region_from_json(fields["where"])
    by = groups_from_json(fields.get("by", ()))
    match kind:
        case "count":
            return Count(where, by)
        case "residual":
            return Residual(where, tuple(map(group_name, by)))
        case "sum":
            of = fields["of"]
            return Sum(of if isinstance(of, str) else Amount.from_json(of), where, by)
        case "people":
            return People(where, by)
        case "distinct":
            return Distinct(groups_from_json(fields["of"]), where, by)
        case "profiles":
            of = Amount.from_json(fields["of"]) if "of" in fields else None
            kept, ends = _region_from_json(fields["kept"]), (int(fields["least"]), int(fields["most"]))
            return ProfileSum(Profiles.from_json(fields), where, kept, by, of, *ends)
        case "quantile":
            [ranked] = groups_from_json((fields["of"],))
            if isinstance(ranked, PersonGroup):
                raise UnsupportedQuery("a quantile of what people's rows come to")
            return Quantile(ranked, parse_exact(fields["level"]), where, by)
        case "subset_count":
            return SubsetCount(tuple(map(subset_from_json, fields["subsets"])), where)
        case "choice":
            return Choice(tuple(map(Candidate.from_json, fields["candidates"])), where)
    raise UnsupportedQuery(
        f"a query of kind {kind!r:.40}; this version knows count, residual, sum, distinct, people, profiles, "
        "quantile, subset_count and choice"
    )


def answer_shape(query: Query, domain: Domain) -> tuple[int, ...]:
    """The shape of the query's answer: one axis for each attribute of `by`; for subsets, one for them."""
    if isinstance(query, SubsetCount):
        return (len(query.subsets),)
    return tuple(group_attribute(group, domain).size for group in query.by)


def _parts(query: Query) -> tuple[Group | Amount, ...]:
    match query:
        case Sum() | Quantile():
            return (*query.by, query.of)
        case Distinct():
            return (*query.by, *query.of)
        case Choice():
            return tuple(name for candidate in query.candidates for name in candidate.by)
    return query.by


EACH_PERIOD = (
    "how many rows a person has in all is not asked of a table whose rows are bounded period by period: rows of one "
    "period would move people from one number to another; make the vault without --each-period for that"
)


def require_people(query: Query) -> None:
    """Raise where anything but profiles is grouped by what a person's rows come to, or profiles by what is no key of
    theirs: they are not priced for that."""
    if not isinstance(query, ProfileSum):
        if any(isinstance(part, PersonGroup) for part in _parts(query)):
            raise UnsupportedQuery("by what a person's rows come to, people are counted, and nothing else")
        return
    keys = {key for _, key in query.profiles.keys}
    if not all(isinstance(group, PersonGroup) or group in keys for group in query.by):
        raise UnsupportedQuery("people's lines are grouped by what parts them, and by what their rows come to")
    if not query.least <= 0 <= query.most or (query.of is None and (query.least, query.most) != (0, 1)):
        raise UnsupportedQuery("a line adds something between two bounds around 0; a count adds 0 or 1")


def _require_profiles(query: ProfileSum, domain: Domain) -> None:
    """Raise unless what is asked of lines is of their domain."""
    query.profiles.require_in_domain(domain)
    lines = query.profiles.domain_of(domain)
    for group in query.by:
        if isinstance(group, PersonGroup):
            group.labelling.require_in_domain(lines)
    if query.of is not None:
        query.of.require_in_domain(lines)
        if query.of.terms:
            raise UnsupportedQuery("of a line's numbers in bins there is no sum")
    _require_inside(query.kept, lines)


def require_in_domain(query: Query, domain: Domain) -> None:
    """Raise unless the query's attributes and its region are the domain's own."""
    for part in _parts(query):
        if isinstance(part, str):
            domain.axis(part)
        else:
            part.require_in_domain(domain)
    require_people(query)
    if isinstance(query, ProfileSum):
        if domain.each_period:
            raise UnsupportedQuery(EACH_PERIOD)
        _require_profiles(query, domain)
    if isinstance(query, Distinct) and set(query.of) & set(query.by):
        raise UnsupportedQuery(
            "what groups an answer has one value in each group; count the different values of others"
        )
    if len(set(query.by)) < len(query.by):
        raise UnsupportedQuery("an attribute or an expression groups an answer once")
    _require_inside(query.where, domain)


def _require_inside(region: Region, domain: Domain) -> None:
    if region is domain.everything:
        return
    whole = domain.everything.boxes[0]
    if not all(len(box.low) == len(whole.low) and whole.covers(box) for box in region.boxes):
        raise UnsupportedQuery(f"a region reaches out of the domain {domain.name}; make it from the domain itself")
