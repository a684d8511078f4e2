"""What people by rows per person cost, by brute force: every region, person and neighbour of a tiny domain."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
import pytest

from discreet.audit.price import mispriced, read_cost, read_plan
from discreet.audit.terms import Terms, Unreadable
from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import (
    Count,
    Distinct,
    People,
    Quantile,
    Sum,
    answer_shape,
    query_from_json,
    query_to_json,
    require_in_domain,
)
from discreet.query.rows_per_person import RowsPerPerson
from discreet.query.sensitivity import spends
from discreet.sql.describe import query_text
from discreet.table.count import CodedRows, count_people

DOMAIN = Domain(
    "t",
    (
        Integer(name="a", source="a test", low=0, high=1),
        Category(name="b", source="a test", values=("x", "y")),
    ),
    person="id",
    max_rows=3,
)
POINTS = [*product(*map(range, DOMAIN.shape))]
K = 3
EACH = RowsPerPerson(K)
REGIONS = [
    Region.of(Box(point, point) for point in chosen)
    for chosen in chain.from_iterable(combinations(POINTS, size) for size in range(1, len(POINTS) + 1))
]
QUERIES = [People(where, by) for where in REGIONS for by in ((EACH,), ("a", EACH), (EACH, "b"))]
PERSONS = [rows for size in range(K + 1) for rows in combinations_with_replacement(POINTS, size)]
"""All that a person can be: up to K rows, anywhere."""
SCALE = Fraction(7)
PURE = {neighbours: PureBudget(Fraction(100), neighbours, K) for neighbours in ("add-remove", "replace")}
RHO = {neighbours: ConcentratedBudget(Fraction(100), neighbours, K) for neighbours in ("add-remove", "replace")}


def counted(query, people):
    """The exact answer, as the table counts it."""
    rows = [(number, point) for number, own in enumerate(people) for point in own]
    columns = {name: np.array([point[axis] for _, point in rows], np.uint8) for axis, name in enumerate(DOMAIN.names)}
    coded = CodedRows(DOMAIN, len(rows), columns.__getitem__, columns.__getitem__)
    return count_people(query, coded, np.array([number for number, _ in rows], np.int64))


@cache
def alone(query, rows):
    """What one person adds to every cell."""
    return counted(query, [rows])


def by_hand(query, people):
    """The same, slowly and obviously."""
    found = np.zeros(answer_shape(query, DOMAIN), np.int64)
    for own in people:
        groups = Counter()
        for point in own:
            if point in query.where:
                groups[tuple(point[DOMAIN.axis(name)] for name in query.by if name != EACH)] += 1
        for group, n in groups.items():
            rest = iter(group)
            found[tuple(n - 1 if name == EACH else next(rest) for name in query.by)] += 1
    return found


def charge(query, law, budget, rows):
    """What the map has at these rows' points, all together, in the budget's currency."""
    pieces = [*spends(query, law, DOMAIN, budget)]
    return sum(Fraction(units, UNITS) for point in rows for box, units in pieces if point in box)


def size_of(move):
    return int(np.abs(move).sum())


def squared(move):
    return int((move**2).sum())


@pytest.mark.parametrize("query", QUERIES[:: len(QUERIES) // 12])
def test_a_table_counts_people_by_their_rows_as_one_does_by_hand(query):
    crowd = PERSONS[::3]
    assert (counted(query, crowd) == by_hand(query, crowd)).all()
    assert (counted(query, []) == 0).all()
    assert (sum(alone(query, rows) for rows in crowd) == counted(query, crowd)).all()  # nobody's rows count for another


def test_every_point_of_the_region_is_charged_and_no_other():
    for query, (law, budget) in product(
        QUERIES, [(Laplace(SCALE), PURE["replace"]), (Gaussian(SCALE), RHO["replace"])]
    ):
        alike = {point: charge(Count(query.where), law, budget, [point]) for point in POINTS}
        assert {point: charge(query, law, budget, [point]) for point in POINTS} == alike
        assert all((alike[point] > 0) == (point in query.where) for point in POINTS)


def test_a_person_who_is_added_or_removed_loses_no_more_than_their_rows_are_charged():
    law, normal, reached = Laplace(SCALE), Gaussian(SCALE), False
    for query, rows in product(QUERIES, PERSONS):
        move = alone(query, rows)
        paid = charge(query, law, PURE["add-remove"], rows)
        assert size_of(move) / SCALE <= paid
        assert squared(move) / (2 * SCALE) <= charge(query, normal, RHO["add-remove"], rows)
        reached = reached or bool(move.any() and size_of(move) / SCALE == paid)
    assert reached  # so that no lower price would do


def test_a_person_who_is_replaced_loses_no_more_than_the_rows_of_both_are_charged():
    law, normal, reached = Laplace(SCALE), Gaussian(SCALE), False
    for query in QUERIES[::2]:
        costs = {rows: charge(query, law, PURE["replace"], rows) for rows in PERSONS}
        squares = {rows: charge(query, normal, RHO["replace"], rows) for rows in PERSONS}
        as_squares = {rows: charge(query, law, RHO["replace"], rows) for rows in PERSONS}
        for one, other in product(PERSONS, repeat=2):
            move = alone(query, one) - alone(query, other)
            loss = size_of(move) / SCALE
            assert loss <= costs[one] + costs[other]
            assert squared(move) / (2 * SCALE) <= squares[one] + squares[other]
            assert loss**2 / 2 <= K * (as_squares[one] + as_squares[other])
            reached = reached or (loss > 0 and loss == costs[one] + costs[other])
    assert reached


def test_a_person_who_gains_or_loses_some_rows_is_paid_for_by_all_of_them():
    """Two cells move then, and one row alone would not pay: those that stay do."""
    law, one_row_pays = Laplace(SCALE), True
    for query, rows in product(QUERIES[::2], PERSONS):
        for size in range(len(rows)):
            for kept in set(combinations(rows, size)):
                move = alone(query, rows) - alone(query, kept)
                loss = size_of(move) / SCALE
                assert loss <= charge(query, law, PURE["add-remove"], rows)
                assert loss**2 / 2 <= K * charge(query, law, RHO["add-remove"], rows)
                assert squared(move) / (2 * SCALE) <= charge(query, Gaussian(SCALE), RHO["add-remove"], rows)
                gone = Counter(rows) - Counter(kept)
                one_row_pays = one_row_pays and loss <= charge(query, law, PURE["add-remove"], gone.elements())
    assert not one_row_pays


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_neighbour_loses_more_than_is_stated_whatever_is_asked_together(neighbours):
    """Many questions at once: the map's maximum, times what a person costs, covers the loss of the worst neighbour."""
    plan = [(query, Fraction(place % 5 + 1)) for place, query in enumerate(QUERIES[::4])]
    plan += [(People(REGIONS[-1], ("a",)), Fraction(3)), (Count(REGIONS[4]), Fraction(2))]
    pairs = [(rows, ()) for rows in PERSONS] if neighbours == "add-remove" else [*product(PERSONS, repeat=2)]
    budget = PURE[neighbours]
    cost = Plan(tuple(Measurement(query, Laplace(scale)) for query, scale in plan)).cost(DOMAIN, budget)

    def loss(one, other):
        total = Fraction(0)
        for query, scale in plan:
            if isinstance(query, Count):
                moved = abs(sum(p in query.where for p in one) - sum(p in query.where for p in other))
            else:
                moved = size_of(alone(query, one) - alone(query, other))
            total += moved / scale
        return total

    assert max(loss(*pair) for pair in pairs) <= budget.amount_of(cost.peak)


def test_nothing_but_people_is_grouped_by_their_rows():
    everything = DOMAIN.everything
    bad = [
        Count(everything, (EACH,)),
        Sum("a", everything, ("b", EACH)),
        Distinct((EACH,), everything),
        Distinct(("a",), everything, (EACH,)),
        Quantile("a", Fraction(1, 2), everything, (EACH,)),
        People(everything, (EACH, RowsPerPerson(2))),
        People(everything, (RowsPerPerson(0),)),
    ]
    for query in bad:
        with pytest.raises(UnsupportedQuery):
            require_in_domain(query, DOMAIN)
    for query in bad[:-1]:
        with pytest.raises(UnsupportedQuery):
            [*spends(query, Laplace(SCALE), DOMAIN, PURE["replace"])]


@pytest.mark.parametrize("query", QUERIES[::9])
def test_it_survives_the_journal_and_is_said_as_sql(query):
    assert query_from_json(query_to_json(query)) == query
    assert "COUNT(*) AS n FROM t" in query_text(query, DOMAIN)
    assert query_text(query, DOMAIN).endswith("n")


class TestAudit:
    """The second reading knows the kind by itself."""

    def plan(self, query, budget, law):
        plan = Plan((Measurement(query, law),))
        return plan.to_json(), plan.cost(DOMAIN, budget)

    def terms(self, budget):
        return Terms("epsilon" if budget.symbol == "ε" else "rho", budget.total, budget.neighbours, budget.max_rows)

    def test_it_asks_the_same_price_and_finds_a_lower_one(self):
        for query, (budget, law) in product(
            QUERIES[::5], [(PURE["replace"], Laplace(SCALE)), (RHO["add-remove"], Gaussian(SCALE))]
        ):
            plan, cost = self.plan(query, budget, law)
            lines, claimed = read_plan(plan, DOMAIN), read_cost(cost.to_json(), DOMAIN)
            assert mispriced(lines, claimed, DOMAIN, self.terms(budget)) is None
            cheaper = Plan((Measurement(query, type(law)(SCALE * 2)),)).cost(DOMAIN, budget)
            found = mispriced(lines, read_cost(cheaper.to_json(), DOMAIN), DOMAIN, self.terms(budget))
            assert found is not None
            assert not found.overpaid

    @pytest.mark.parametrize(
        "query",
        [Count(DOMAIN.everything, (EACH,)), Sum("a", DOMAIN.everything, (EACH,)), Distinct((EACH,), REGIONS[0])],
    )
    def test_it_takes_it_for_people_alone(self, query):
        with pytest.raises(Unreadable):
            read_plan([{"query": query_to_json(query), "noise": {"laplace": "7"}}], DOMAIN)

    @pytest.mark.parametrize("most", [0, -1, "3", 2.5, True])
    def test_a_number_of_rows_that_is_none_is_not_read(self, most):
        query = {"people": {"where": [[[0, 0], [1, 1]]], "by": [{"rows_per_person": most}]}}
        with pytest.raises(Unreadable):
            read_plan([{"query": query, "noise": {"laplace": "7"}}], DOMAIN)
