"""Clicks as SQL: an aggregate, groups, and a condition for each attribute, chosen from the declared domain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.where_text import codes_text, identifier

AGGREGATES = {"count": "COUNT(*)", "sum": "SUM({})", "mean": "AVG({})", "median": "MEDIAN({})"}
NO_SUCH = "this was not chosen from what the page offers; reload it"


@dataclass(frozen=True)
class PickField:
    """What a page lets one choose of an attribute: a range of its cells, or any of its codes."""

    attribute: Attribute

    @property
    def name(self) -> str:
        return self.attribute.name

    @property
    def is_range(self) -> bool:
        return isinstance(self.attribute, Integer | Bins)

    @property
    def starts(self) -> list[tuple[int, str]]:
        """Where a range may begin: codes, and what they are called."""
        return [(code, _edge(self.attribute, code)) for code in range(self.attribute.cells)]

    @property
    def ends(self) -> list[tuple[int, str]]:
        """Where a range may end."""
        last = 1 if isinstance(self.attribute, Bins) else 0
        return [(code, _edge(self.attribute, code + last)) for code in range(self.attribute.cells)]

    @property
    def values(self) -> list[tuple[int, str]]:
        return list(enumerate(self.attribute.labels))


def offers(domain: Domain) -> list[PickField]:
    return [PickField(attribute) for attribute in domain.attributes]


def summable(domain: Domain) -> list[str]:
    """The attributes that have sums, averages and medians."""
    return [
        a.name for a in domain.attributes if isinstance(a, Integer) or (isinstance(a, Bins) and a.grain is not None)
    ]


def picked_sql(domain: Domain, first: Callable[[str], str], all_of: Callable[[str], Sequence[str]]) -> str:
    """The SELECT that the fields `aggregate`, `of`, `by`, `from.A`, `to.A` and `in.A` of a form stand for."""
    by = [domain[name].name for name in all_of("by")]
    conditions = [text for attribute in domain.attributes if (text := _condition(attribute, first, all_of))]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    groups = ", ".join(map(identifier, by))
    select = ", ".join([*map(identifier, by), _aggregate(domain, first("aggregate") or "count", first("of"))])
    return f"SELECT {select} FROM {identifier(domain.name)}{where}" + (f" GROUP BY {groups}" if by else "")


def _aggregate(domain: Domain, kind: str, of: str) -> str:
    if kind not in AGGREGATES:
        raise UnsupportedQuery(NO_SUCH)
    return AGGREGATES[kind] if kind == "count" else AGGREGATES[kind].format(identifier(domain[of].name))


def _condition(attribute: Attribute, first: Callable[[str], str], all_of: Callable[[str], Sequence[str]]) -> str:
    """The condition on one attribute; "" where everything is chosen, or nothing."""
    name = attribute.name
    if PickField(attribute).is_range:
        low, high = first(f"from.{name}"), first(f"to.{name}")
        if not low and not high:
            return ""
        start, end = _code(attribute, low, 0), _code(attribute, high, attribute.cells - 1)
        if start > end:
            raise UnsupportedQuery(f"{name} begins above where it ends; exchange the two")
        if (start, end) == (0, attribute.size - 1):
            return ""
        codes = [(start, end)]
    else:
        chosen = sorted({_code(attribute, code, 0) for code in all_of(f"in.{name}")})
        if not chosen or len(chosen) == attribute.size:
            return ""
        codes = _runs(chosen)
    return codes_text(attribute, tuple(codes))


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending codes as intervals; those that touch are one."""
    runs: list[tuple[int, int]] = []
    for code in codes:
        runs[-1:] = [(runs[-1][0], code)] if runs and runs[-1][1] == code - 1 else [*runs[-1:], (code, code)]
    return runs


def _code(attribute: Attribute, text: str, default: int) -> int:
    if not text:
        return default
    if not text.isdigit() or not 0 <= int(text) < attribute.size:
        raise UnsupportedQuery(NO_SUCH)
    return int(text)


def _edge(attribute: Attribute, place: int) -> str:
    """The name of a bin's edge, or of a whole number."""
    if isinstance(attribute, Bins):
        edge = attribute.edges[place]
        return "∞" if edge is None else f"{float(edge):,.10g}"
    return attribute.label(place)
