"""The privacy proof in the form of a test: what one row changes, measured on real tables, is covered by its charge."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, Sum, grain_of
from discreet.query.sensitivity import PIECES, is_one_signed, largest_addend, spends
from tests.populations import points, population

NEIGHBOURS = 12
LARGEST = 2**53


def treatments(*outside):
    return st.tuples(st.sampled_from(outside), st.booleans())


BUDGET = PureBudget(Fraction(1), "add-remove")


@st.composite
def domains(draw):
    """Age, income and sex with every treatment of odd values, and `trial`: which of several tables a row is in."""
    ends = draw(st.sampled_from([(0, 3), (-3, 2), (-2, -1), (5, 5), (-300, 400), (-LARGEST, LARGEST)]))
    outside, null = draw(treatments("drop", "clamp", "other"))
    age = Integer(name="age", source="a test", low=ends[0], high=ends[1], outside=outside, null=null)
    grain = draw(st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3), Fraction(7, 10)]))
    bounds = [Fraction(n, 10) for n in (-25, -20, -7, 0, 3, 11, 42)] + [grain * LARGEST, -grain * LARGEST]
    edges = draw(st.lists(st.sampled_from(bounds), min_size=2, max_size=5, unique=True))
    outside, null = draw(treatments("drop", "clamp", "other"))
    income = Bins(name="income", source="a test", edges=tuple(sorted(edges)), grain=grain, outside=outside, null=null)
    outside, null = draw(treatments("drop", "other"))
    sex = Category(name="sex", source="a test", values=("F", "M"), outside=outside, null=null)
    trial = Integer(name="trial", source="a test", low=0, high=NEIGHBOURS)
    return Domain("t", (age, income, sex, trial))


def rows(domain):
    age, income = domain["age"], domain["income"]
    doubles = [float(edge) for edge in income.edges]
    near = [
        step for edge in doubles for step in (edge, math.nextafter(edge, math.inf), math.nextafter(edge, -math.inf))
    ]
    odd = [math.nan, math.inf, -math.inf, 1e300, 0.05, 0.15, -0.25, 1.5]
    return st.fixed_dictionaries(
        {
            "age": st.none() | st.sampled_from([age.low - 1, age.low, age.high, age.high + 1, 0, 1, -1, 2**62]),
            "income": st.none() | st.sampled_from([*near, *odd]) | st.floats(min(doubles), max(doubles)),
            "sex": st.none() | st.sampled_from(["F", "M", "X"]),
        }
    )


@st.composite
def regions(draw, domain):
    """One to three boxes; all tables at once, as `trial` only tells them apart."""
    boxes = []
    for _ in range(draw(st.integers(1, 3))):
        ends = [sorted((draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1)))) for size in domain.shape[:-1]]
        boxes.append(Box((*(low for low, _ in ends), 0), (*(high for _, high in ends), NEIGHBOURS)))
    return draw(st.sampled_from([Region.of(boxes), domain.everything]))


@st.composite
def plans(draw, domain):
    measurements = []
    for _ in range(draw(st.integers(1, 3))):
        where = draw(regions(domain))
        small = [name for name in ("age", "income", "sex") if domain[name].size < 1000]
        by = tuple(draw(st.lists(st.sampled_from(small), max_size=2, unique=True)))
        kind = draw(st.sampled_from(["count", "age", "income"]))
        query = Count(where, (*by, "trial")) if kind == "count" else Sum(kind, where, (*by, "trial"))
        measurements.append(
            Measurement(query, Laplace(draw(st.sampled_from([Fraction(1, 3), Fraction(7), Fraction(100)]))))
        )
    return Plan(tuple(measurements))


@st.composite
def cases(draw):
    domain = draw(domains())
    listed = st.lists(rows(domain), max_size=6)
    return domain, draw(listed), draw(st.lists(rows(domain), min_size=1, max_size=NEIGHBOURS)), draw(plans(domain))


def side_by_side(base, added):
    """Table 0 is the base, table t the base and the t-th added row, all in one frame."""
    listed = [{**row, "trial": trial} for trial in range(len(added) + 1) for row in base]
    listed += [{**row, "trial": trial} for trial, row in enumerate(added, start=1)]
    kinds = [("age", pa.int64()), ("income", pa.float64()), ("sex", pa.string()), ("trial", pa.int64())]
    return pa.Table.from_pylist(listed, schema=pa.schema(kinds))


def points_of_added(table, trials):
    """The point of each added row, None where it is not in the population."""
    there = {trial: Counter() for trial in range(trials + 1)}
    for *point, trial in points(table):
        there[trial][tuple(point)] += 1
    added = [list((there[trial] - there[0]).elements()) for trial in range(1, trials + 1)]
    assert all(len(points) <= 1 for points in added)
    return [(*points[0], trial) if points else None for trial, points in enumerate(added, start=1)]


@settings(max_examples=25)
@given(case=cases())
def test_one_row_changes_an_answer_by_no_more_than_is_charged_at_its_point(case):
    domain, base, added, plan = case
    table = population(side_by_side(base, added), domain)
    cost = plan.cost(domain, BUDGET)
    answers = table.evaluate([m.query for m in plan.measurements])
    for trial, point in enumerate(points_of_added(table, len(added)), start=1):
        loss = Fraction(0)
        for measurement, answer in zip(plan.measurements, answers, strict=True):
            change = answer[..., trial] - answer[..., 0]
            changed = [tuple(cell) for cell in np.argwhere(change).tolist()]
            if point is None:
                assert not changed
                continue
            group = tuple(point[domain.axis(name)] for name in measurement.query.by[:-1])
            assert changed in ([], [group])
            grain = grain_of(domain[measurement.query.of]) if isinstance(measurement.query, Sum) else 1
            loss += abs(int(change[group])) * grain / measurement.law.scale
        if point is not None:
            assert loss <= Fraction(cost.at(point), UNITS)


AGE = Integer(name="age", source="a test", low=-2, high=3, outside="other", null=True)
INCOME = Bins(
    name="income",
    source="a test",
    edges=(Fraction(-10), Fraction(0), Fraction(10), Fraction(55, 2)),
    grain=Fraction(5),
    null=True,
)
SMALL = Domain("t", (AGE, INCOME))


def charges(query, scale=1):
    """The units at every point, in ones."""
    spent = {}
    for box, units in spends(query, Laplace(Fraction(scale)), SMALL, BUDGET):
        for point in np.ndindex(SMALL.shape):
            if point in box:
                assert point not in spent, "boxes overlap"
                spent[point] = Fraction(units, UNITS)
    return spent


def test_a_count_charges_one_over_its_scale_on_its_region_only():
    where = SMALL.slab("age", 1, 2)
    assert charges(Count(where, ("income",)), 4) == {
        point: Fraction(1, 4) for point in np.ndindex(SMALL.shape) if point in where
    }
    assert charges(Quantile("age", Fraction(1, 2), where), 4) == charges(Count(where), 4)


def test_a_sum_of_whole_numbers_charges_each_for_its_size():
    spent = charges(Sum("age", SMALL.slab("income", 0, 0)))
    assert [spent.get((code, 0), 0) for code in range(AGE.size)] == [2, 1, 0, 1, 2, 3, 0, 0]


def test_a_sum_of_bins_charges_the_larger_edge_rounded_to_the_grain():
    spent = charges(Sum("income", SMALL.everything))
    # 27.5 is 5.5 grains and rounds to 30.
    assert [spent.get((0, code), 0) for code in range(INCOME.size)] == [10, 10, 30, 0]


SIGNS = [
    *(
        Integer(name="x", source="a test", low=low, high=high)
        for low, high in [(-3, 2), (-1, 5), (0, 4), (-4, 0), (2, 3)]
    ),
    *(
        Bins(name="x", source="a test", edges=tuple(map(Fraction, edges)), grain=Fraction(1))
        for edges in [(-3, -1, 2), (-1, 0, 7), (0, 2, 5), (-6, -2, 0)]
    ),
]


def values(attribute, code):
    """The least and the greatest value of rows with a code."""
    if isinstance(attribute, Integer):
        return [attribute.low + code]
    return attribute.edges[code : code + 2]


@pytest.mark.parametrize("attribute", SIGNS, ids=str)
@pytest.mark.parametrize(("law", "squared"), [(Gaussian(Fraction(9)), 9), (Laplace(Fraction(3)), 9)])
def test_a_row_that_becomes_another_moves_a_sum_by_no_more_than_both_are_charged(attribute, law, squared):
    domain = Domain("t", (attribute,))
    budget = ConcentratedBudget(Fraction(1), "replace")
    charged = dict.fromkeys(range(attribute.size), Fraction(0))
    for box, units in spends(Sum("x", domain.everything), law, domain, budget):
        charged |= dict.fromkeys(range(box.low[0], box.high[0] + 1), Fraction(units, UNITS))
    for old, new in itertools.product(range(attribute.size), repeat=2):
        move = max(abs(a - b) for a in values(attribute, old) for b in values(attribute, new))
        assert Fraction(move**2, 2 * squared) <= charged[old] + charged[new]


@pytest.mark.parametrize("attribute", SIGNS, ids=str)
def test_gaussian_sums_are_charged_twice_only_where_rows_can_pull_both_ways(attribute):
    domain, law = Domain("t", (attribute,)), Gaussian(Fraction(9))
    of = {
        neighbours: [
            units
            for _, units in spends(
                Sum("x", domain.everything), law, domain, ConcentratedBudget(Fraction(1), neighbours)
            )
        ]
        for neighbours in ("add-remove", "replace")
    }
    ends = [value for code in range(attribute.size) for value in values(attribute, code)]
    times = 2 if min(ends) < 0 < max(ends) else 1
    assert of["replace"] == pytest.approx([times * units for units in of["add-remove"]], abs=1)


def test_an_amount_that_is_no_whole_number_of_units_is_rounded_up():
    [(_, units)] = spends(Count(SMALL.everything), Laplace(Fraction(17)), SMALL, BUDGET)
    assert Fraction(1, 17) <= Fraction(units, UNITS) < Fraction(1, 17) + Fraction(1, UNITS)


@given(low=st.integers(-(10**6), 10**6), size=st.integers(1, 10**9), data=st.data())
def test_a_wide_attribute_is_charged_in_few_pieces_never_too_little(low, size, data):
    wide = Domain("t", (Integer(name="x", source="a test", low=low, high=low + size - 1),))
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size - 1))
    pieces = list(spends(Sum("x", wide.slab("x", first, last)), Laplace(Fraction(1)), wide, BUDGET))
    assert len(pieces) <= PIECES
    code = data.draw(st.integers(first, last))
    units = sum(units for box, units in pieces if (code,) in box)
    assert units >= abs(low + code) * UNITS
    step = -(-(last - first + 1) // PIECES)
    assert units <= (abs(low + code) + step) * UNITS


def test_the_largest_addend_is_that_of_the_farthest_end():
    assert largest_addend(AGE) == 3
    assert largest_addend(INCOME) == 30


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        (Category(name="x", source="s", values=("a",)), "it can be counted, not summed"),
        (Bins(name="x", source="s", edges=(Fraction(0), Fraction(1))), "need a `grain` in the domain"),
        (Bins(name="x", source="s", edges=(Fraction(0), None), grain=Fraction(1)), "has an open bin"),
    ],
    ids=["a category", "bins without a grain", "an open bin"],
)
def test_what_has_no_bound_has_no_sum(attribute, words):
    domain = Domain("t", (attribute,))
    with pytest.raises(UnsupportedQuery, match=words):
        list(spends(Sum("x", domain.everything), Laplace(Fraction(1)), domain, BUDGET))


def test_what_cannot_be_summed_is_not_taken_for_one_signed():
    assert not is_one_signed(Category(name="x", source="s", values=("a",)))
