"""What a plan has to cost, worked out again from the plan alone, and compared with the cost that the journal has.

A row lies in one group of a count and moves it by 1; a sum it moves by the value that it adds, and all numbers of a
residual. A person's line, of what their rows come to, is paid for by any of their rows in its region. How much that is
comes from the domain; what it costs from `Terms`. Slow and obvious on purpose.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.cells import (
    OF_PERSON,
    AddedByLine,
    groups_in,
    names_of,
    read_amount,
    read_line,
    require_lines,
    rows_in_lines,
)
from discreet.audit.sums import Piece, PricedSum, Run, compared
from discreet.audit.terms import Terms, Unreadable
from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.exact import parse_exact

Corner = tuple[int, ...]
KINDS = (
    "count",
    "counts",
    "residual",
    "residuals",
    "sum",
    "distinct",
    "people",
    "profiles",
    "quantile",
    "subset_count",
    "choice",
)
ONE = Fraction(1)
LAWS = ("laplace", "gaussian", "exponential", "binomial")


@dataclass(frozen=True)
class ClaimedCost:
    """What the journal says a charge cost."""

    everywhere: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Mispriced:
    """How a cost differs from what its plan needs. One that is `overpaid` harms nobody."""

    what: str
    overpaid: bool = False


@dataclass(frozen=True)
class ExpectedAnswer:
    """What the answer of one measurement must look like: so many whole numbers, within bounds where there are any."""

    by: tuple[str, ...]
    cells: int
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class PlanLine:
    """A line of a plan, read: `times` measurements of one region with the same noise."""

    kind: str
    fields: Mapping[str, Any]
    boxes: tuple[tuple[Corner, Corner], ...]
    law: str
    parameter: Fraction
    groups: tuple[tuple[Any, ...], ...]

    @property
    def times(self) -> int:
        return len(self.groups)


def read_cost(cost: object, domain: Domain) -> ClaimedCost:
    """The cost of a charge. Raises Unreadable where it is none of this domain."""
    try:
        everywhere, regional = cost["everywhere"], cost["regional"]  # type: ignore[index]
        pieces = tuple((*read_box((low, high), domain), units) for low, high, units in regional)
    except (LookupError, TypeError, ValueError):
        raise Unreadable("its cost cannot be read") from None
    if any(type(units) is not int or units < 0 for units in (everywhere, *(units for _, _, units in pieces))):
        raise Unreadable("its cost is not in whole units above 0")
    return ClaimedCost(everywhere, pieces)


def read_plan(plan: object, domain: Domain) -> list[PlanLine]:
    """The lines of a plan. Raises Unreadable where one has no meaning in this domain."""
    try:
        return [_line(line, domain) for line in plan]  # type: ignore[attr-defined]
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise Unreadable("its plan cannot be read") from None


def _line(line: Mapping[str, Any], domain: Domain) -> PlanLine:
    [(kind, fields)], [(law, parameter)] = line["query"].items(), line["noise"].items()
    if kind not in KINDS or law not in LAWS or (kind in ("quantile", "choice")) != (law == "exponential"):
        raise Unreadable(f"its plan has a {kind} with {law} noise")
    by = fields.get("by", [])
    groups = tuple(map(tuple, by if kind in ("counts", "residuals") else [by]))
    for group in groups:
        names = [one for one in group if isinstance(one, str)]
        if len(set(names)) < len(names) or (kind.startswith("residual") and len(names) < len(group)):
            raise Unreadable("its plan groups by what the domain does not have")
        groups_in(group, domain)
        if kind == "profiles":
            require_lines(fields, group, domain)
        elif any(not isinstance(one, str) and OF_PERSON in one for one in group):
            raise Unreadable(f"its plan has a {kind} by what a person's rows come to, whose price is not known")
    if kind == "quantile":
        groups_in([fields["of"]], domain)
    if kind == "distinct":
        groups_in(fields["of"], domain)
        if any(not isinstance(one, str) and OF_PERSON in one for one in fields["of"]):
            raise Unreadable("its plan counts what people's rows come to, whose price is not known")
    elif kind == "sum" and not isinstance(fields["of"], str):
        read_amount(fields["of"], domain)
    elif kind == "sum" and fields["of"] not in domain.names:
        raise Unreadable("its plan is about an attribute that the domain does not have")
    if kind == "choice":
        _require_candidates(fields["candidates"], domain)
    if kind == "subset_count" and not isinstance(fields["subsets"], list):
        raise Unreadable("its plan counts over no subsets")
    exact = _exact(parameter)
    if exact <= 0:
        raise Unreadable("its plan has noise of no size")
    return PlanLine(kind, fields, tuple(read_box(box, domain) for box in fields["where"]), law, exact, groups)


def _require_candidates(candidates: Sequence[Mapping[str, Any]], domain: Domain) -> None:
    """Raise Unreadable unless each is a marginal of the domain: a row is in one cell of it, and moves its utility by 1,
    whatever is expected there."""
    for one in candidates:
        names = list(one["by"])
        if not names or len(set(names)) < len(names) or not set(names) <= set(domain.names):
            raise Unreadable("its plan chooses among what the domain does not have")
    if not candidates:
        raise Unreadable("its plan chooses among nothing")


@lru_cache(maxsize=4096)
def _exact(parameter: str) -> Fraction:
    return parse_exact(parameter)


def read_box(box: Sequence[Sequence[int]], domain: Domain) -> tuple[Corner, Corner]:
    """A box by its lowest and highest codes. Raises Unreadable where it reaches out of the domain."""
    low, high = tuple(box[0]), tuple(box[1])
    if len(low) != len(domain.shape) or not all(
        type(a) is type(b) is int and 0 <= a <= b < size for a, b, size in zip(low, high, domain.shape, strict=True)
    ):
        raise Unreadable("a region reaches out of the domain")
    return low, high


def expected_answers(plan: Sequence[PlanLine], domain: Domain, people: int | None) -> Iterator[ExpectedAnswer]:
    """The shape and the support of each answer. `people` are those on the roster, where the vault has one."""
    for line in plan:
        for group in line.groups:
            if line.kind == "subset_count":
                reach = floor(line.parameter / 2)
                yield ExpectedAnswer(
                    (), len(line.fields["subsets"]), -reach, None if people is None else people + reach
                )
                continue
            cells = groups_in(group, domain)
            top = None
            if line.kind == "quantile":
                top = groups_in([line.fields["of"]], domain) - 1
            elif line.kind == "choice":
                top = len(line.fields["candidates"]) - 1
            yield ExpectedAnswer(tuple(names_of(group)), cells, None if top is None else 0, top)


def mispriced(plan: Sequence[PlanLine], cost: ClaimedCost, domain: Domain, terms: Terms) -> Mispriced | None:
    """Why a cost is less than its plan needs, or more; None where it is exactly what it has to be."""
    everywhere, left = 0, Counter(cost.pieces)
    sums = [_priced_sum(line, domain, terms) for line in plan if line.kind == "sum"]
    for line in plan:
        if line.kind == "subset_count":
            everywhere += _queries(line, terms)
        elif line.kind != "sum":
            for (units, times), box in product(_prices(line, domain, terms).items(), line.boxes):
                if _is_whole(box, domain):
                    everywhere += times * units
                elif not _take(left, (*box, units), times):
                    return Mispriced(_short(units, box, cost))
    if cost.everywhere < everywhere:
        return Mispriced(f"it costs {cost.everywhere:,} units everywhere, and its plan needs {everywhere:,}")
    verdict = compared(sums, [*left.elements()], cost.everywhere - everywhere)
    if verdict == "short":
        return Mispriced("a sum is not paid for in all of its region")
    reaches_all = any(_is_whole(box, domain) for one in sums for box in one.boxes)
    if verdict == "over" or (cost.everywhere > everywhere and not reaches_all):
        return Mispriced("it costs more than its plan needs", overpaid=True)
    return None


def _prices(line: PlanLine, domain: Domain, terms: Terms) -> Counter[int]:
    """The units that each measurement of a line costs where it counts, and how many cost so much."""
    if line.kind in ("people", "profiles"):
        return Counter({_price_of_lines(line, domain, terms): line.times})
    if line.kind not in ("residual", "residuals"):
        return Counter({terms.units(line.law, line.parameter, ONE, one_signed=True): line.times})
    if line.law != "gaussian":
        raise Unreadable(f"its plan has a residual with {line.law} noise")
    prices = Counter[int]()
    for sizes, times in Counter(tuple(sorted(domain[name].size for name in group)) for group in line.groups).items():
        squared = _squared_move(sizes, terms.neighbours)
        prices[terms.units(line.law, line.parameter, squared, one_signed=True)] += times
    return prices


def _price_of_lines(line: PlanLine, domain: Domain, terms: Terms) -> int:
    """What people, and their lines, cost: each of their rows there pays for its line; or, asked of the whole table, all
    k rows pay for all lines of their person together, of which there are no more than groups, twice where some rows may
    stay."""
    [group] = line.groups
    if line.kind == "people":
        adds, keys = AddedByLine(ONE, ONE, True), list(group)
    else:
        adds, keys = read_line(line.fields), [key for _, key in line.fields["keys"]]
    price = terms.units(line.law, line.parameter, adds.most**2, adds.is_one_signed, adds.grain)
    if not all(_is_whole(box, domain) for box in line.boxes) or domain.growing is not None:
        return price
    lines = min(groups_in(keys, domain) * rows_in_lines(line.fields, domain), terms.max_rows)
    turns = not adds.is_one_signed or any(not isinstance(one, str) and OF_PERSON in one for one in group)
    share = Fraction(lines * (2 if turns and terms.neighbours == "add-remove" else 1), terms.max_rows)
    return min(price, terms.units(line.law, line.parameter, (adds.most * share) ** 2, adds.is_one_signed, adds.grain))


def _squared_move(sizes: Sequence[int], neighbours: str) -> Fraction:
    """The squared length by which a row moves a residual; half of that between two rows, where they are replaced and
    that is more. What a row adds is an outer product of columns, one an axis, and so inner products are products."""
    if min(sizes, default=2) < 2:
        raise Unreadable("its plan has a residual over an attribute of one value")
    square = least = most = 1
    for size in sizes:
        column, other = ([size - 1 if place == code else -1 for place in range(size)] for code in (0, 1))
        same, apart = sum(a * a for a in column), sum(a * b for a, b in zip(column, other, strict=True))
        square *= same
        # Of all pairs of rows, whether they agree on an axis or not, the least and the largest inner product so far.
        ends = [end * factor for end in (least, most) for factor in (same, apart)]
        least, most = min(ends), max(ends)
    # |v − w|² = |v|² + |w|² − 2·v·w, and |v| = |w|.
    return Fraction(max(square, square - least) if neighbours == "replace" else square)


def _queries(line: PlanLine, terms: Terms) -> int:
    if terms.currency != "queries" or line.law != "binomial" or line.parameter != terms.trials:
        raise Unreadable("its plan counts over subsets with noise that this vault does not promise")
    return len(line.fields["subsets"])


def _take(left: Counter[Piece], piece: Piece, times: int) -> bool:
    if left[piece] < times:
        return False
    left[piece] -= times
    return True


def _short(units: int, box: tuple[Corner, Corner], cost: ClaimedCost) -> str:
    paid = max((paid for low, high, paid in cost.pieces if (low, high) == box), default=0)
    return f"it costs {paid:,} units in a region, and its plan needs {units:,} there"


def _priced_sum(line: PlanLine, domain: Domain, terms: Terms) -> PricedSum:
    of = line.fields["of"]
    if isinstance(of, str):
        column = AddedColumn(domain[of], domain.axis(of))
        return PricedSum(column, line.boxes, _units(line, terms, _one_signed(domain[of]), _grain(domain[of])))
    amount = read_amount(of, domain)
    return PricedSum(amount, line.boxes, _units(line, terms, amount.is_one_signed, amount.grain))


def _units(line: PlanLine, terms: Terms, one_signed: bool, grain: Fraction) -> Callable[[Fraction], int]:
    return lambda most: terms.units(line.law, line.parameter, most**2, one_signed, grain)


@dataclass(frozen=True)
class AddedColumn:
    """What the rows of a sum of a column add; those with a missing or another value add nothing."""

    attribute: Attribute
    axis: int

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis,)

    def cuts(self, axis: int) -> set[int]:
        """Where missing and other values begin."""
        return {self.attribute.cells} if axis == self.axis else set()

    def most(self, runs: Sequence[Sequence[Run]]) -> tuple[list[Fraction], NDArray[np.intp]]:
        [own] = runs
        adds = [_most_added(self.attribute, *run) if run[0] < self.attribute.cells else Fraction(0) for run in own]
        return adds, np.arange(len(own))


def _is_whole(box: tuple[Corner, Corner], domain: Domain) -> bool:
    """Whether what a box costs is said in one number. Where a table grows it never is: periods to come pay nothing."""
    return (
        domain.growing is None
        and not any(box[0])
        and all(high == size - 1 for high, size in zip(box[1], domain.shape, strict=True))
    )


def _most_added(attribute: Attribute, first: int, last: int) -> Fraction:
    """The largest |value| that a row with a code in first … last adds to a sum."""
    match attribute:
        case Integer(low=low):
            return Fraction(max(abs(low + first), abs(low + last)))
        case Bins(edges=edges, grain=Fraction() as grain):
            # An engine divides as doubles and rounds to whole grains; a row between two edges adds no more than they.
            sides = [edge for edge in edges[first : last + 2] if edge is not None]
            if len(sides) == last - first + 2:
                return grain * max(floor(abs(Fraction(float(edge) / float(grain))) + Fraction(1, 2)) for edge in sides)
    raise Unreadable(f"its plan sums {attribute.name}, which has no bound")


def _grain(attribute: Attribute) -> Fraction:
    """What a sum's noise is drawn in whole numbers of."""
    return attribute.grain if isinstance(attribute, Bins) and attribute.grain is not None else ONE


def _one_signed(attribute: Attribute) -> bool:
    """Whether all values that rows can add have one sign."""
    match attribute:
        case Integer(low=low, high=high):
            ends: list[Fraction | int | None] = [low, high]
        case Bins(edges=edges):
            ends = list(edges)
        case _:
            return False
    return all(end is not None and end >= 0 for end in ends) or all(end is not None and end <= 0 for end in ends)
