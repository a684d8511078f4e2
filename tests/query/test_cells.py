"""Public functions of codes: one form each, groups that part a region, sums that no row moves further than is paid."""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS
from discreet.noise.law import Laplace
from discreet.query.cells import PIECES, Amount, CellTable, Labelling, joined
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Distinct, Sum, answer_shape, query_from_json, query_to_json, require_in_domain
from discreet.query.sensitivity import spends
from discreet.sql.parse import parse
from discreet.table.count import CodedRows, count

A = Integer(name="a", source="a test", low=-1, high=2, null=True)
B = Category(name="b", source="a test", values=("x", "y"), outside="other")
C = Bins(name="c", source="a test", edges=(Fraction(-2), Fraction(1), Fraction(4)), grain=Fraction(1, 2))
DOMAIN = Domain("t", (A, B, C))
POINTS = list(product(*map(range, DOMAIN.shape)))
NEIGHBOURS = ("add-remove", "replace")


def rows_of(points: list[tuple[int, ...]], units: list[int]) -> CodedRows:
    codes = {name: np.array([point[axis] for point in points], np.uint8) for axis, name in enumerate(DOMAIN.names)}
    amounts = {"c": np.array(units, np.int64)}
    return CodedRows(DOMAIN, len(points), codes.__getitem__, amounts.__getitem__)


@st.composite
def functions(draw: st.DrawFn, values: Any = None) -> CellTable:
    names = draw(st.lists(st.sampled_from(("a", "b")), min_size=1, max_size=2, unique=True).map(sorted))
    shape = tuple(DOMAIN[name].size for name in names)
    numbers = draw(st.lists(values or st.integers(-3, 3), min_size=prod(shape), max_size=prod(shape)))
    classes = [np.arange(size) for size in shape]
    return CellTable.of(names, classes, np.array(numbers, np.int64).reshape(shape))


@st.composite
def regions(draw: st.DrawFn) -> Region:
    boxes = []
    for _ in range(draw(st.integers(1, 3))):
        ends = [sorted(draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)))) for size in DOMAIN.shape]
        boxes.append(Box(tuple(low for low, _ in ends), tuple(high for _, high in ends)))
    return Region.of(boxes)


def at(table: CellTable, point: tuple[int, ...]) -> int:
    return int(table.at(lambda name: np.array([point[DOMAIN.axis(name)]]))[0])


@given(table=functions(), twice=st.integers(2, 3))
def test_one_function_has_one_form_however_its_classes_are_numbered(table: CellTable, twice: int) -> None:
    # The same function with every class split, and in the other order.
    finer = [of_code * twice + np.arange(of_code.size) % twice for of_code in table.classes]
    spread = table.table
    for axis in range(spread.ndim):
        spread = np.repeat(spread, twice, axis=axis)
    again = CellTable.of(table.attributes, finer, spread)
    assert again == table
    assert hash(again) == hash(table)
    assert CellTable.from_json(table.to_json()) == table
    for point in POINTS:
        assert at(again, point) == at(table, point)


@given(one=functions(), other=functions())
def test_functions_are_joined_point_by_point(one: CellTable, other: CellTable) -> None:
    both = joined(lambda a, b: a * 10 + b, one, other)
    for point in POINTS:
        assert at(both, point) == 10 * at(one, point) + at(other, point)


@given(table=functions(st.integers(0, 2)), where=regions())
def test_groups_part_a_region_in_canonical_form(table: CellTable, where: Region) -> None:
    labelling = Labelling("f", table, ("p", "q", None))
    labelling.require_in_domain(DOMAIN)
    sections = labelling.sections(where, DOMAIN)
    for point in POINTS:
        assert [point in section for section in sections] == [
            point in where and at(table, point) == g for g in range(3)
        ]
    for section in sections:
        assert section == Region.of(section.boxes)


def amounts(table: CellTable, with_bins: bool) -> Amount:
    if not with_bins:
        return Amount("f", table, Fraction(1, 2))
    low = joined(lambda one: one - 3, table)
    high = joined(lambda one: one * 0 + 5, table)
    return Amount("f", table, Fraction(1, 2), ((("c",), table), (("c", "c"), table)), low, high)


@given(
    table=functions(),
    groups=functions(st.integers(0, 2)),
    where=regions(),
    with_bins=st.booleans(),
    neighbours=st.sampled_from(NEIGHBOURS),
    units=st.lists(st.integers(-4, 8), min_size=3, max_size=3),
    points=st.lists(st.sampled_from(POINTS), min_size=3, max_size=3),
)
def test_no_row_moves_an_answer_by_more_than_is_charged_at_its_point(
    table: CellTable, groups: CellTable, where: Region, with_bins: bool, neighbours: Any, units: Any, points: Any
) -> None:
    """A table with a row and without; and with one of two rows in its place, where neighbours replace."""
    budget = PureBudget(Fraction(100), neighbours)
    labelling = Labelling("g", groups, ("p", "q", None))
    queries: list[Any] = [
        Count(where, (labelling, "b")),
        Sum(amounts(table, with_bins), where, (labelling,)),
        Distinct(("a", labelling), where, ("b",)),
        Distinct((labelling,), where),
    ]
    law = Laplace(Fraction(3))
    for query in queries:
        require_in_domain(query, DOMAIN)
        charged = {
            point: sum(units for box, units in spends(query, law, DOMAIN, budget) if point in box) for point in points
        }
        base, one, other = (answer_to(query, rows_of(points[:n], units[:n])) for n in (1, 2, 3))
        moved = np.abs(one - base).sum() * grain(query)
        assert moved / law.scale <= Fraction(charged[points[1]] * budget.factor, UNITS)
        if neighbours == "replace":
            swapped = answer_to(query, rows_of([points[0], points[2]], [units[0], units[2]]))
            apart = np.abs(swapped - one).sum() * grain(query)
            most = max(charged[points[1]], charged[points[2]])
            assert apart / law.scale <= Fraction(most * budget.factor, UNITS)
        assert other.shape == answer_shape(query, DOMAIN)


def grain(query: Any) -> Fraction:
    return query.of.grain if isinstance(query, Sum) else Fraction(1)


def answer_to(query: Any, rows: CodedRows) -> Any:
    if isinstance(query, Distinct):
        [read] = count([Count(query.where, (*query.by, *query.of))], rows)
        return np.asarray(np.count_nonzero(read, axis=tuple(range(len(query.by), read.ndim)))).astype(object)
    return count([query], rows)[0].astype(object)


@given(table=functions(), where=regions())
def test_the_pieces_of_a_sum_are_disjoint_and_exact_where_they_are_few(table: CellTable, where: Region) -> None:
    amount = Amount("f", table)
    for box in where.boxes:
        pieces = list(amount.pieces(box, DOMAIN))
        for point in POINTS:
            grains = [most for piece, most in pieces if point in piece]
            assert grains == ([abs(at(table, point))] if point in box and at(table, point) else [])


def test_a_sum_of_many_amounts_is_charged_in_few_pieces_and_never_too_little() -> None:
    wide = Domain("w", tuple(Integer(name=name, source="a test", low=0, high=99) for name in "ab"))
    question = parse("SELECT SUM(a * b) FROM w", wide)
    [query] = [column.query for column in question.aggregates]
    assert isinstance(query, Sum)
    assert isinstance(query.of, Amount)
    pieces = list(query.of.pieces(wide.everything.boxes[0], wide))
    assert len(pieces) <= PIECES
    for point in product(range(0, 100, 7), repeat=2):
        assert sum(most for piece, most in pieces if point in piece) >= point[0] * point[1]


@pytest.mark.parametrize(
    "text",
    ["c * c", "(c - 1) * (c - 1)", "c * a", "c * a - c", "CASE WHEN b = 'x' THEN c ELSE -2 * c END", "c / 4 + a"],
)
def test_what_rows_in_bins_add_is_enclosed_and_never_clamped(text: str) -> None:
    question = parse(f"SELECT SUM({text}) FROM t", DOMAIN)
    [query] = [column.query for column in question.aggregates]
    assert isinstance(query, Sum)
    amount = query.of
    assert isinstance(amount, Amount)
    assert amount.low is not None
    assert amount.high is not None
    for point in POINTS:
        if point not in query.where:
            continue
        for units in range(-4, 9):
            if not (C.edges[point[2]] <= Fraction(units, 2) <= C.edges[point[2] + 1]):  # type: ignore[operator]
                continue
            own = rows_of([point], [units])
            free = Amount("free", amount.table, amount.grain, amount.terms)
            assert amount.of_rows(own.codes, own.units) == free.of_rows(own.codes, own.units)


def test_a_square_of_a_difference_is_enclosed_exactly() -> None:
    domain = Domain(
        "t", (Bins(name="c", source="a test", edges=(Fraction(0), Fraction(40), Fraction(100)), grain=Fraction(1)),)
    )
    question = parse("SELECT SUM((c - 50) * (c - 50)) FROM t", domain)
    [query] = [column.query for column in question.aggregates]
    assert isinstance(query, Sum)
    assert isinstance(query.of, Amount)
    assert query.of.largest == 2500


@given(table=functions(st.integers(0, 2)), amount=functions(), where=regions(), with_bins=st.booleans())
def test_queries_with_expressions_survive_the_journal(
    table: CellTable, amount: CellTable, where: Region, with_bins: bool
) -> None:
    labelling = Labelling("g", table, ("p", "q", None))
    for query in (
        Count(where, (labelling, "b")),
        Sum(amounts(amount, with_bins), where, ("b", labelling)),
        Distinct((labelling, "a"), where),
    ):
        assert query_from_json(query_to_json(query)) == query
        plan = Plan((Measurement(query, Laplace(Fraction(1))),) * 2)
        assert Plan.from_json(plan.condensed()) == plan


def test_tables_that_do_not_fit_the_domain_are_refused() -> None:
    zeros = np.zeros(1, np.int64)
    bad = [
        Count(DOMAIN.everything, (Labelling("g", CellTable(("a",), (np.zeros(3, np.int64),), zeros), ("p",)),)),
        Count(DOMAIN.everything, (Labelling("g", CellTable(("a",), (np.zeros(5, np.int64),), zeros + 1), ("p",)),)),
        Count(DOMAIN.everything, (Labelling("g", CellTable(("a",), (np.zeros(5, np.int64),), zeros), ("p", "p")),)),
        Sum(Amount("f", CellTable(("a",), (np.zeros(5, np.int64) + 2,), zeros)), DOMAIN.everything),
        Sum(Amount("f", CellTable(("a",), (np.zeros(5, np.int64),), zeros + 2**60)), DOMAIN.everything),
        Sum(
            Amount(
                "f",
                CellTable(("a",), (np.zeros(5, np.int64),), zeros),
                terms=((("c",), CellTable(("a",), (np.zeros(5, np.int64),), zeros)),),
            ),
            DOMAIN.everything,
        ),
        Distinct(("b",), DOMAIN.everything, ("b",)),
    ]
    for query in bad:
        with pytest.raises(UnsupportedQuery):
            require_in_domain(query, DOMAIN)
