"""What questions of people's lines cost, by brute force: every person and neighbour of a tiny domain; and what is
counted, by another database."""

from collections import Counter
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.audit.price import mispriced, read_cost, read_plan
from discreet.audit.terms import Terms, Unreadable
from discreet.domain.attribute import Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS, units_up
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.cells import Labelling
from discreet.query.plan import Measurement, Plan
from discreet.query.profiles import PersonGroup
from discreet.query.query import (
    Count,
    Distinct,
    People,
    ProfileSum,
    Quantile,
    Sum,
    query_from_json,
    query_to_json,
    require_in_domain,
)
from discreet.query.sensitivity import spends
from discreet.sql.describe import query_text
from discreet.sql.split import split
from discreet.table.count import CodedRows, count_people
from discreet.table.profiles import add_profiles

DOMAIN = Domain(
    "t",
    (
        Integer(name="a", source="a test", low=-1, high=1),
        Category(name="b", source="a test", values=("x", "y"), null=True),
    ),
    person="id",
    max_rows=3,
)
POINTS = [*product(*map(range, DOMAIN.shape))]
K = 3
PERSONS = [rows for size in range(K + 1) for rows in combinations_with_replacement(POINTS, size)]
"""All that a person can be: up to K rows, anywhere."""
SOME = PERSONS[::5]
EACH = "SELECT id, COUNT(*) AS n FROM t GROUP BY id"
STATEMENTS = (
    f"SELECT n, COUNT(*) FROM ({EACH}) GROUP BY n",
    "SELECT n, COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM t WHERE a >= 0 GROUP BY id) GROUP BY n",
    f"SELECT COUNT(*) FROM ({EACH} HAVING COUNT(*) >= 2)",
    f"SELECT SUM(n) FROM ({EACH}) WHERE n <= 2",
    f"SELECT SUM(n - 2) FROM ({EACH})",
    "SELECT m, COUNT(*) FROM (SELECT id, MAX(a) AS m FROM t GROUP BY id) GROUP BY m",
    "SELECT SUM(m) FROM (SELECT id, MAX(a) AS m FROM t GROUP BY id)",
    "SELECT SUM(2 * m) FROM (SELECT id, MIN(a) AS m FROM t WHERE b = 'x' GROUP BY id) WHERE m < 1",
    "SELECT m, n, COUNT(*) FROM (SELECT id, MIN(b) AS m, COUNT(b) AS n FROM t GROUP BY id) GROUP BY m, n",
    "SELECT d, COUNT(*) FROM (SELECT id, COUNT(DISTINCT b) AS d FROM t GROUP BY id) GROUP BY d",
    "SELECT COUNT(*) FROM (SELECT id, COUNT_IF(b = 'x') AS x, COUNT(*) AS n FROM t GROUP BY id) WHERE x = n",
    "SELECT s, COUNT(*) FROM (SELECT id, SUM(a) FILTER (WHERE b = 'y') AS s FROM t GROUP BY id) GROUP BY s",
    "SELECT SUM(s) FROM (SELECT id, SUM(a) AS s, COUNT(*) AS n FROM t GROUP BY id) WHERE n > 1",
    "SELECT o, COUNT(*) FROM (SELECT id, BOOL_OR(b = 'x') AS o, BOOL_AND(a > 0) AS p FROM t GROUP BY id) GROUP BY o",
    "SELECT COUNT(*) FROM (SELECT id, AVG(a) AS m FROM t GROUP BY id) WHERE m > 0",
    "SELECT b, n, COUNT(*) FROM (SELECT id, b, COUNT(*) AS n FROM t GROUP BY id, b) GROUP BY b, n",
    "SELECT b, SUM(m) FROM (SELECT id, b, MAX(a) AS m FROM t GROUP BY id, b) GROUP BY b",
    "SELECT SUM(m) FROM (SELECT id, b, MAX(a) AS m FROM t GROUP BY id, b) WHERE b = 'x' OR m < 1",
    "SELECT n, COUNT(*) FROM (SELECT id, b, COUNT(*) AS n FROM t GROUP BY id, b) GROUP BY n",
    "SELECT b, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY a, b) AS r FROM t) "
    "WHERE r = 1 GROUP BY b",
    "SELECT b, COUNT(*) FROM (SELECT * FROM t WHERE a >= 0 "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY b DESC, a) <= 2) GROUP BY b",
    "SELECT SUM(a) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY b NULLS FIRST, a DESC) AS r FROM t) "
    "WHERE r < 3",
    "SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY a, b) AS r FROM t QUALIFY r <= 2)",
    "SELECT a, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY a DESC, b) AS r FROM t) AS v "
    "WHERE r <= 1 AND b = 'x' GROUP BY a",
    "SELECT n % 2 = 0 AS even, COUNT(*) FROM (SELECT id, COUNT_IF(a = 1) AS n FROM t GROUP BY id) GROUP BY 1",
)
FIRSTS = (
    "SELECT f, COUNT(*) FROM (SELECT id, ARG_MIN(b, a) AS f FROM t GROUP BY id) GROUP BY f",
    "SELECT f, l, COUNT(*) FROM (SELECT id, ARG_MIN(a, b) AS f, ARG_MAX(a, b) AS l FROM t GROUP BY id) GROUP BY f, l",
    "SELECT SUM(f) FROM (SELECT id, ARG_MAX(a, b) FILTER (WHERE a <> 0) AS f FROM t GROUP BY id)",
)
SCALE = Fraction(7)
NEIGHBOURS = ("add-remove", "replace")
PURE = {neighbours: PureBudget(Fraction(100), neighbours, K) for neighbours in NEIGHBOURS}
RHO = {neighbours: ConcentratedBudget(Fraction(100), neighbours, K) for neighbours in NEIGHBOURS}
MU = {neighbours: GaussianBudget(Fraction(100), neighbours, K) for neighbours in NEIGHBOURS}


def asked(statement):
    """The one question of people's lines in a statement."""
    [query] = [one.query for block in split(statement, DOMAIN).blocks for one in block.question.aggregates]
    return query


QUERIES = [asked(one) for one in (*STATEMENTS, *FIRSTS)]
BY_LINE = [query for query in QUERIES if isinstance(query, ProfileSum)]
PEOPLE = [People(DOMAIN.everything), People(DOMAIN.everything, ("a",)), People(DOMAIN.slab("b", 0, 1))]


def counted(query, people):
    """The exact answer, as the table counts it."""
    add = count_people if isinstance(query, People) else add_profiles
    rows = [(number, point) for number, own in enumerate(people) for point in own]
    columns = {name: np.array([point[axis] for _, point in rows], np.uint8) for axis, name in enumerate(DOMAIN.names)}
    coded = CodedRows(DOMAIN, len(rows), columns.__getitem__, columns.__getitem__)
    return add(query, coded, np.array([number for number, _ in rows], np.int64))


@cache
def alone(query, rows):
    """What one person adds to every cell."""
    return counted(query, [rows])


def charge(query, law, budget, rows):
    """What the map has at these rows' points, all together, in the budget's currency; at k points, where it is charged
    to all of a person's rows together, wherever they are."""
    pieces = [*spends(query, law, DOMAIN, budget)]
    if is_shared(query, law, budget):
        [(box, units)] = pieces
        assert box == DOMAIN.everything.boxes[0]
        return K * Fraction(units, UNITS)
    return sum(Fraction(units, UNITS) for point in rows for box, units in pieces if point in box)


def is_shared(query, law, budget):
    """Whether it costs less than each of a person's rows would pay that has to pay alone."""
    if isinstance(query, Count):
        return False
    adds = (1, True) if isinstance(query, People) else (query.largest, query.is_one_signed)
    alone = units_up(budget.loss(law, *adds, query.grain(DOMAIN)))
    return any(units < alone for _, units in spends(query, law, DOMAIN, budget))


def size_of(query, move):
    return int(np.abs(move).sum()) * query.grain(DOMAIN)


def squared(query, move):
    return int((move**2).sum()) * query.grain(DOMAIN) ** 2


def by_duckdb(statement, people):
    """The statement's lines in another database, without those that count nobody."""
    a, b = DOMAIN.attributes
    rows = [
        (number, a.low + x, None if y == b.null_code else b.values[y])
        for number, own in enumerate(people)
        for x, y in own
    ]
    t = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("id", "a", "b"))})  # noqa: F841
    found = duckdb.sql(statement).fetchall()
    return Counter({tuple(line[:-1]): line[-1] for line in found if line[-1]})


def by_table(query, people):
    """The same as the table counts it."""
    found = counted(query, people) * query.grain(DOMAIN)
    keys = {key: DOMAIN[key] for _, key in query.profiles.keys}
    labels = [
        group.values
        if isinstance(group, PersonGroup)
        else [keys[group].label(code) if code != keys[group].null_code else None for code in range(keys[group].size)]
        for group in query.by
    ]
    return Counter(
        {
            tuple(own[code] for own, code in zip(labels, codes, strict=True)): value
            for codes, value in np.ndenumerate(found)
            if value
        }
    )


@pytest.mark.parametrize("statement", [one for one in STATEMENTS if isinstance(asked(one), ProfileSum)])
def test_people_are_counted_as_another_database_counts_them(statement):
    query = asked(statement)
    for people in (PERSONS, SOME, PERSONS[:1], PERSONS[1:2]):
        assert by_table(query, people) == by_duckdb(statement, people)
    assert (sum(alone(query, rows) for rows in SOME) == counted(query, SOME)).all()  # nobody counts for another


def test_of_equal_rows_those_with_the_least_values_come_first():
    """Whatever order they stand in."""
    first = "SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY a) <= 2"
    query = asked(f"SELECT b, COUNT(*) FROM ({first}) GROUP BY b")
    b = DOMAIN["b"]
    for rows in PERSONS:
        chosen = [y for _, y in sorted(rows)][:2]
        expected = Counter((None if y == b.null_code else b.values[y],) for y in chosen)
        assert by_table(query, [rows]) == by_table(query, [rows[::-1]]) == expected


def test_of_a_persons_first_rows_the_least_value_counts():
    """Where databases take any of them: a rule that depends on that person's rows alone."""
    query = asked(FIRSTS[0])
    for rows in PERSONS:
        there = [(x, y) for x, y in rows if y != DOMAIN["b"].null_code]
        first = min(there)[1] if there else None
        expected = Counter({(None if first is None else DOMAIN["b"].values[first],): 1}) if rows else Counter()
        assert by_table(query, [rows]) == expected


@pytest.mark.parametrize("query", [*BY_LINE, *PEOPLE])
def test_a_line_is_paid_for_wherever_a_row_can_make_it(query):
    law, normal = Laplace(SCALE), Gaussian(SCALE)
    most = Count(query.where) if isinstance(query, People) or query.of is None else None
    for neighbours in NEIGHBOURS:
        for budget, kind in ((PURE, law), (RHO, law), (RHO, normal), (MU, normal)):
            own = {point: charge(query, kind, budget[neighbours], [point]) for point in POINTS}
            assert all((own[point] > 0) == (point in query.where) for point in POINTS)
            if most is not None and not is_shared(query, kind, budget[neighbours]):
                assert own == {point: charge(most, kind, budget[neighbours], [point]) for point in POINTS}


@pytest.mark.parametrize("query", [*BY_LINE, *PEOPLE])
def test_a_person_who_is_added_or_removed_loses_no_more_than_their_rows_are_charged(query):
    law, normal, reached = Laplace(SCALE), Gaussian(SCALE), False
    for rows in PERSONS:
        move = alone(query, rows)
        paid = charge(query, law, PURE["add-remove"], rows)
        assert size_of(query, move) / SCALE <= paid
        assert squared(query, move) / (2 * SCALE) <= K * charge(query, normal, RHO["add-remove"], rows)
        assert squared(query, move) / SCALE <= K * charge(query, normal, MU["add-remove"], rows)
        reached = reached or bool(move.any() and size_of(query, move) / SCALE == paid)
    if is_shared(query, law, PURE["add-remove"]):
        return
    steps = [size_of(query, alone(query, (point,))) for point in POINTS]
    most = 1 if isinstance(query, People) else query.largest
    assert reached or max(steps) < most  # where one row makes a line, no lower price would do


@pytest.mark.parametrize("query", [*BY_LINE, *PEOPLE])
def test_a_person_who_is_replaced_loses_no_more_than_the_rows_of_both_are_charged(query):
    law, normal = Laplace(SCALE), Gaussian(SCALE)
    many = PERSONS[::3]
    costs = {rows: charge(query, law, PURE["replace"], rows) for rows in many}
    squares = {rows: charge(query, normal, RHO["replace"], rows) for rows in many}
    as_squares = {rows: charge(query, law, RHO["replace"], rows) for rows in many}
    mu = {rows: charge(query, normal, MU["replace"], rows) for rows in many}
    for one, other in product(many, repeat=2):
        move = alone(query, one) - alone(query, other)
        loss = size_of(query, move) / SCALE
        assert loss <= costs[one] + costs[other]
        assert squared(query, move) / (2 * SCALE) <= K * (squares[one] + squares[other])
        assert squared(query, move) / SCALE <= K * (mu[one] + mu[other])
        assert loss**2 / 2 <= K * (as_squares[one] + as_squares[other])


@pytest.mark.parametrize("query", [*BY_LINE, *PEOPLE])
def test_a_person_who_gains_or_loses_some_rows_is_paid_for_by_all_of_them(query):
    law, normal = Laplace(SCALE), Gaussian(SCALE)
    for rows in PERSONS:
        paid = charge(query, law, PURE["add-remove"], rows)
        pure, gauss = (charge(query, one, RHO["add-remove"], rows) for one in (law, normal))
        for size in range(len(rows)):
            for kept in set(combinations(rows, size)):
                move = alone(query, rows) - alone(query, kept)
                loss = size_of(query, move) / SCALE
                assert loss <= paid
                assert loss**2 / 2 <= K * pure
                assert squared(query, move) / (2 * SCALE) <= K * gauss


def test_one_row_alone_may_lose_more_than_its_point_is_charged():
    """What nobody is promised: the rows of a person that stay pay as well."""
    query, law, rows = QUERIES[1], Laplace(SCALE), (POINTS[-2], POINTS[-1])
    move = alone(query, rows) - alone(query, rows[:1])
    assert size_of(query, move) / SCALE > charge(query, law, PURE["add-remove"], rows[1:])


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_no_neighbour_loses_more_than_is_stated_whatever_is_asked_together(neighbours):
    """Many questions at once: the map's maximum, times what a person costs, covers the loss of the worst neighbour."""
    plan = [(query, Fraction(place % 5 + 1)) for place, query in enumerate(BY_LINE)]
    people, rows = People(DOMAIN.everything, ("a",)), Count(Region.of([Box(POINTS[4], POINTS[4])]))
    plan += [(people, Fraction(3)), (rows, Fraction(2))]
    assert any(is_shared(query, Laplace(scale), PURE[neighbours]) for query, scale in plan)
    pairs = [(one, ()) for one in PERSONS] if neighbours == "add-remove" else [*product(PERSONS[::4], repeat=2)]
    budget = PURE[neighbours]
    cost = Plan(tuple(Measurement(query, Laplace(scale)) for query, scale in plan)).cost(DOMAIN, budget)

    def moved(query, one, other):
        if isinstance(query, Count):
            return abs(sum(p in query.where for p in one) - sum(p in query.where for p in other))
        return size_of(query, alone(query, one) - alone(query, other))

    assert max(sum(moved(q, *pair) / scale for q, scale in plan) for pair in pairs) <= budget.amount_of(cost.peak)


def test_nothing_but_lines_is_grouped_by_what_peoples_rows_come_to():
    everything, query = DOMAIN.everything, QUERIES[0]
    [each] = query.by
    bad = [
        Count(everything, (each,)),
        Sum("a", everything, ("b", each)),
        Distinct((each,), everything),
        Distinct(("a",), everything, (each,)),
        Quantile("a", Fraction(1, 2), everything, (each,)),
        People(everything, (each,)),
        ProfileSum(query.profiles, everything, query.kept, ("b",)),
        ProfileSum(query.profiles, everything, query.kept, (), None, 0, 2),
        ProfileSum(query.profiles, everything, query.kept, (), None, 1, 1),
    ]
    for one in bad:
        with pytest.raises(UnsupportedQuery):
            require_in_domain(one, DOMAIN)
        with pytest.raises(UnsupportedQuery):
            [*spends(one, Laplace(SCALE), DOMAIN, PURE["replace"])]
    other = PersonGroup(Labelling.from_json({**each.labelling.to_json(), "of": ["MAX(a)"]}))
    for one in (
        ProfileSum(query.profiles, everything, query.kept, (other,)),
        ProfileSum(query.profiles, everything, everything),
    ):
        with pytest.raises(Exception, match=r"people of t|domain"):
            require_in_domain(one, DOMAIN)


def test_a_sum_stays_between_its_bounds_whatever_its_lines_are():
    """The price depends on the bounds alone, and so does what is added."""
    query = asked(f"SELECT SUM(n) FROM ({EACH}) WHERE n <> 2")
    assert (query.least, query.most) == (0, 3)
    lower = ProfileSum(query.profiles, query.where, query.kept, (), query.of, 0, 1)
    assert counted(lower, PERSONS) == sum(len(rows) in (1, 3) for rows in PERSONS)


@pytest.mark.parametrize("query", BY_LINE)
def test_it_survives_the_journal_and_is_said_as_sql(query):
    assert query_from_json(query_to_json(query)) == query
    assert hash(query_from_json(query_to_json(query))) == hash(query)
    again = query_text(query, DOMAIN)
    assert asked(again) == query  # so that it can be asked as it is told


SHARED = [query for query in BY_LINE if is_shared(query, Laplace(SCALE), PURE["replace"])]


def test_what_is_asked_of_everybody_costs_a_part_of_what_each_row_would_pay():
    """One line of k rows: in a `replace` vault a k-th, and a k²-th where squares add up; by a key, one for each of its
    groups; where some rows may stay and a line change its group, twice that."""
    by_count, having, by_key = (asked(STATEMENTS[place]) for place in (0, 2, 16))
    assert {by_count, having, by_key} & {*SHARED} == {by_count, having}
    law, normal = Laplace(SCALE), Gaussian(SCALE)
    for query, apart, together in ((by_count, 2, 1), (having, 1, 1)):
        for neighbours, share in (("add-remove", apart), ("replace", together)):
            [(_, pure)] = spends(query, law, DOMAIN, PURE[neighbours])
            [(_, squared)] = spends(query, normal, DOMAIN, RHO[neighbours])
            assert pure == units_up(Fraction(share, K) / SCALE)
            assert squared == units_up(Fraction(share, K) ** 2 / (2 * SCALE))


def test_of_a_table_that_grows_nothing_is_charged_to_rows_that_may_come_later():
    """Later rows are at points where nothing was spent yet: they pay for nothing that was asked before them."""
    months = {"low": date(2026, 1, 1), "high": date(2026, 12, 31), "period": "month"}
    for grows, share in ((False, Fraction(1, K)), (True, Fraction(1))):
        month = Date(name="month", source="a test", **months, grows=grows)
        domain = Domain("t", (*DOMAIN.attributes, month), person="id", max_rows=K)
        query = ProfileSum(SHARED[0].profiles, domain.everything, SHARED[0].kept, SHARED[0].by)
        for one in (query, People(domain.everything)):
            for budget in (PURE["replace"], RHO["replace"]):
                law = Laplace(SCALE) if budget.symbol == "ε" else Gaussian(SCALE)
                [(_, units)] = spends(one, law, domain, budget)
                assert units == units_up(share / SCALE if budget.symbol == "ε" else share**2 / (2 * SCALE))
                plan = Plan((Measurement(one, law),))
                found = mispriced(
                    read_plan(plan.to_json(), domain),
                    read_cost(plan.cost(domain, budget).to_json(), domain),
                    domain,
                    TestAudit().terms(budget),
                )
                assert found is None


class TestAudit:
    """The second reading knows the kind by itself."""

    def plan(self, query, budget, law):
        plan = Plan((Measurement(query, law),))
        return plan.to_json(), plan.cost(DOMAIN, budget)

    def terms(self, budget):
        currency = {"ε": "epsilon", "ρ": "rho", "μ²": "mu_squared"}[budget.symbol]
        return Terms(currency, budget.total, budget.neighbours, budget.max_rows)

    def priced(self, plan):
        lines, cost = read_plan(plan, DOMAIN), read_cost({"everywhere": 0, "regional": []}, DOMAIN)
        return mispriced(lines, cost, DOMAIN, self.terms(PURE["replace"]))

    @pytest.mark.parametrize("query", [*BY_LINE, *PEOPLE])
    def test_it_asks_the_same_price_and_finds_a_lower_one(self, query):
        of_squares = [(budget[neighbours], Gaussian(SCALE)) for budget in (RHO, MU) for neighbours in NEIGHBOURS]
        for budget, law in [*((PURE[neighbours], Laplace(SCALE)) for neighbours in NEIGHBOURS), *of_squares]:
            plan, cost = self.plan(query, budget, law)
            lines, claimed = read_plan(plan, DOMAIN), read_cost(cost.to_json(), DOMAIN)
            assert mispriced(lines, claimed, DOMAIN, self.terms(budget)) is None
            cheaper = Plan((Measurement(query, type(law)(SCALE * 2)),)).cost(DOMAIN, budget)
            found = mispriced(lines, read_cost(cheaper.to_json(), DOMAIN), DOMAIN, self.terms(budget))
            assert found is not None
            assert not found.overpaid

    def test_it_takes_groups_of_people_for_lines_alone(self):
        [each] = QUERIES[0].by
        for query in (
            Count(DOMAIN.everything, (each,)),
            Sum("a", DOMAIN.everything, (each,)),
            Distinct((each,), DOMAIN.everything),
            People(DOMAIN.everything, (each,)),
        ):
            with pytest.raises(Unreadable):
                read_plan([{"query": query_to_json(query), "noise": {"laplace": "7"}}], DOMAIN)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"most": 2},
            {"least": -1},
            {"most": True},
            {"most": "1"},
            {"by": ["b"]},
            {"keys": [["b", "c"]]},
            {"traits": [{}]},
        ],
    )
    def test_a_plan_of_lines_that_makes_no_sense_is_not_read(self, wrong):
        body = query_to_json(QUERIES[2])["profiles"]
        plan = [{"query": {"profiles": {**body, **wrong}}, "noise": {"laplace": "7"}}]
        with pytest.raises(Unreadable):
            self.priced(plan)
