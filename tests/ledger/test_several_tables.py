"""One budget for several tables, against the loss of every person in every small database.

Brute force: a person is a choice of rows in each table, as many as are kept. What all measurements together may tell of
them is added up measurement by measurement, and never above what the ledger says; and somewhere it is reached.
"""

import random
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import prod

import pytest

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.domain.tables import LinkedTable, LinkedTables
from discreet.errors import BudgetExceeded
from discreet.ledger.asker import Asker
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, People, Residual, Sum


def attribute(name, size):
    return Integer(name=name, source="test", low=0, high=size - 1)


def table(name, rows, own, above=None, tables=()):
    parent = next((one for one in tables if one.name == above), None)
    attributes = tuple(attribute(f"{name}{place}", size) for place, size in enumerate(own))
    whole = (*attributes, *(parent.domain.attributes if parent else ()))
    return LinkedTable(Domain(name, whole, person="id", max_rows=rows), len(own), "id", above, None)


def schema(*tables):
    """Tables by (name, rows of a person, sizes of their own attributes, parent)."""
    made = []
    for one in tables:
        made.append(table(*one, tables=made))
    return LinkedTables(tuple(made))


SCHEMAS = {
    "two": schema(("p", 1, (2,)), ("e", 2, (2,), "p")),
    "three": schema(("p", 1, (2,)), ("e", 2, (2,), "p"), ("r", 1, (2,), "e")),
    "no person's table": schema(("v", 2, (2,)), ("w", 1, (2,))),
    "many rows above": schema(("v", 2, (3,)), ("w", 2, (2,), "v")),
}


def people(tables):
    """Every way in which somebody's rows can be in all tables: a list of points of each."""
    roots = [one for one in tables if one.parent is None]
    ways = [{}]
    for one in roots:
        own = list(product(*(range(a.size) for a in one.domain.attributes)))
        ways = [{**way, one.name: rows} for way in ways for rows in _bags(own, one.max_rows)]
    for one in tables:
        if one.parent is not None:
            below = []
            for way in ways:
                above = sorted(set(way[one.parent]))
                own = product(*(range(a.size) for a in one.domain.attributes[: one.own]))
                points = [(*codes, *parent) for codes, parent in product(list(own), above)]
                below += [{**way, one.name: rows} for rows in _bags(points, one.max_rows)]
            ways = below
    return ways


def _bags(points, most):
    return [bag for many in range(most + 1) for bag in combinations_with_replacement(points, many)]


def random_measurement(tables, chance, law):
    one = chance.choice(list(tables))
    low, high = [], []
    for each in one.domain.attributes:
        first, last = sorted((chance.randrange(each.size), chance.randrange(each.size)))
        low.append(first)
        high.append(last)
    region = Region((Box(tuple(low), tuple(high)),))
    of = chance.choice(one.domain.names)
    groups = chance.choice([(), (of,)])
    query = chance.choice([Count(region, groups), Count(region, groups), People(region, groups), Sum(of, region, ())])
    if isinstance(query, People) and chance.random() < 0.5:
        query = People(one.domain.everything, groups)  # which all rows of a person pay for together
    return one.name, Measurement(query, law)


def moves(measurement, rows, domain):
    """How far somebody's rows move each number of a measurement: by its group."""
    query, moved = measurement.query, Counter()
    axes = [domain.axis(name) for name in query.by]
    for row in rows:
        if any(row in box for box in query.where.boxes):
            amount = row[domain.axis(query.of)] if isinstance(query, Sum) else 1
            moved[tuple(row[axis] for axis in axes)] += amount
    return dict.fromkeys(moved, 1) if isinstance(query, People) else moved


def lost(budget, measurement, rows, domain):
    """What a measurement tells of somebody with these rows, by the definition of its currency. Counts of people: the
    moves have one sign."""
    moved = moves(measurement, rows, domain).values()
    if isinstance(budget, PureBudget):
        return Fraction(sum(moved)) / measurement.law.scale
    squared = sum(move**2 for move in moved)
    if isinstance(budget, ConcentratedBudget):
        return squared / (2 * measurement.law.sigma_squared)
    return squared / measurement.law.sigma_squared  # of μ²; a price of discrete noise is hardly above


BUDGETS = {
    "pure": (PureBudget(Fraction(10**6), "add-remove", 1), Laplace(Fraction(7, 3))),
    "rho": (ConcentratedBudget(Fraction(10**6), "add-remove", 1), Gaussian(Fraction(7, 3))),
    "mu": (GaussianBudget(Fraction(10**6), "add-remove", 1), Gaussian(Fraction(7, 3))),
}


def opened(path, tables, budget):
    budget = budget.over(tables.rows)
    Ledger.create(path, {"vault_id": "several-tables", "budget": budget.to_json()})
    return Ledger.open(path, tables.person, budget)


@pytest.mark.parametrize("currency", BUDGETS)
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(8))
def test_nobody_loses_more_than_the_ledger_says_and_somebody_as_much_as_it_can(tmp_path, name, currency, seed):
    tables, (budget, law) = SCHEMAS[name], BUDGETS[currency]
    ledger, chance = opened(tmp_path / "journal", tables, budget), random.Random(seed)
    charged = []
    for _ in range(5):
        over, measurement = random_measurement(tables, chance, law)
        mine = ledger.at(tables.place(over))
        plan = Plan((measurement,))
        mine.charge(plan.cost(mine.domain, mine.budget), plan.condensed())
        charged.append((tables[over], measurement))
    stated = ledger.budget.amount_of(ledger.spent_max)
    worst = max(
        sum(lost(budget, measurement, person[one.name], one.domain) for one, measurement in charged)
        for person in people(tables)
    )
    assert worst <= stated
    exact = not any(isinstance(measurement.query, People) for _, measurement in charged)
    if currency == "pure" and name in ("two", "no person's table") and exact:
        # Somebody has all rows of each table where most is spent. Below a table with several rows of a person that may
        # not be so: a row there is counted as if its parent could be another than the rows that are counted above. And
        # of people a person is one, however many rows they have in a group.
        assert stated <= worst + Fraction(len(charged) * 12, UNITS)


def a_cubes_plan(one, law, chance):
    """Several tables of everybody in one plan, as a cube measures them; by Gaussian noise some as residuals."""
    names, groups = one.domain.names, []
    for size in range(len(names) + 1):
        groups += list(combinations(names, size))
    kinds = [Count, Residual] if isinstance(law, Gaussian) else [Count]
    return [
        Measurement(chance.choice(kinds)(one.domain.everything, by), law)
        for by in chance.sample(groups, min(3, len(groups)))
    ]


def lost_to(budget, measurement, rows, domain):
    """The same as `lost`, of residuals too: by the inner products of what rows add to them."""
    if not isinstance(measurement.query, Residual):
        return lost(budget, measurement, rows, domain)
    axes = [domain.axis(name) for name in measurement.query.by]
    squared = sum(
        prod(domain.shape[axis] * (domain.shape[axis] * (row[axis] == other[axis]) - 1) for axis in axes)
        for row, other in product(rows, rows)
    )
    assert squared >= 0
    return Fraction(squared) / (measurement.law.sigma_squared * (2 if isinstance(budget, ConcentratedBudget) else 1))


@pytest.mark.parametrize("currency", BUDGETS)
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(4))
def test_cubes_of_several_tables_tell_of_nobody_more_than_the_ledger_says(tmp_path, name, currency, seed):
    tables, (budget, law) = SCHEMAS[name], BUDGETS[currency]
    ledger, chance = opened(tmp_path / "journal", tables, budget), random.Random(seed)
    charged = []
    for one in tables:
        mine, measured = ledger.at(tables.place(one.name)), a_cubes_plan(one, law, chance)
        plan = Plan(tuple(measured))
        mine.charge(plan.cost(mine.domain, mine.budget), plan.condensed())
        charged += [(one, measurement) for measurement in measured]
    stated = ledger.budget.amount_of(ledger.spent_max)
    worst = max(
        sum(lost_to(budget, measurement, person[one.name], one.domain) for one, measurement in charged)
        for person in people(tables)
    )
    assert worst <= stated
    if name == "two" and currency != "mu":  # whose rows are all at one point loses just that
        assert stated <= worst + Fraction(len(charged) * 12, UNITS)


@pytest.mark.parametrize("currency", BUDGETS)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_drawn_on_reserves_of_several_tables_tells_of_nobody_more_than_was_set_aside(tmp_path, currency, seed):
    tables, (budget, law) = SCHEMAS["three"], BUDGETS[currency]
    ledger, chance = opened(tmp_path / "journal", tables, budget), random.Random(seed)
    planned = [random_measurement(tables, chance, law) for _ in range(4)]
    reserves = {}
    for one in tables:
        mine, own = ledger.at(tables.place(one.name)), [each for over, each in planned if over == one.name]
        if own:
            cost = Plan(tuple(own)).cost(mine.domain, mine.budget)
            reserves[one.name] = mine.reserve(cost + Cost(), {"of": one.name}).seq
    kept, drawn = ledger.spent_max, []
    for _ in range(40):
        over, measurement = chance.choice(planned) if chance.random() < 0.7 else random_measurement(tables, chance, law)
        mine, plan = ledger.at(tables.place(over)), Plan((measurement,))
        if over not in reserves:
            continue
        with suppress(BudgetExceeded):
            charge = mine.draw(reserves[over], plan.cost(mine.domain, mine.budget), plan.condensed())
            assert (charge.table, charge.reserve) == (over, reserves[over])
            drawn.append((tables[over], measurement))
    assert drawn
    assert ledger.spent_max == kept
    worst = max(
        sum(lost(budget, measurement, person[one.name], one.domain) for one, measurement in drawn)
        for person in people(tables)
    )
    assert worst <= ledger.budget.amount_of(kept)


def test_books_of_a_table_have_its_own_notes(tmp_path):
    tables = SCHEMAS["two"]
    ledger = opened(tmp_path / "journal", tables, PureBudget(Fraction(1), "add-remove"))
    patients, encounters = (ledger.at(tables.place(name)) for name in ("p", "e"))
    mine, theirs = (books.note("cube", {"of": books.table}, of_table=True).seq for books in (patients, encounters))
    of_all = patients.note("lookups", {}).seq
    assert [[entry.seq for entry in books.notes("cube")] for books in (patients, encounters, ledger)] == [
        [mine],
        [theirs],
        [mine, theirs],
    ]
    assert [entry.seq for entry in ledger.notes("lookups")] == [of_all]


def by_definition(tables, charges, person):
    """Σ over tables of the largest spend at a point that agrees with a person's own attributes."""
    total = 0
    for one in tables:
        shared = [place for place, axis in enumerate(tables.place(one.name).axes) if axis in person]
        own = tables.place(one.name).axes
        points = [
            point
            for point in product(*(range(each.size) for each in one.domain.attributes))
            if all(point[place] == person[own[place]] for place in shared)
        ]
        total += max(sum(cost.at(point) for over, cost in charges if over == one.name) for point in points)
    return total


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_of_a_region_is_the_limit_less_the_sum_over_tables_of_the_most_at_a_persons_attributes(
    tmp_path, seed
):
    tables, chance = schema(("p", 1, (3,)), ("e", 2, (3,), "p"), ("f", 3, (2,), "p")), random.Random(seed)
    ledger, charges = opened(tmp_path / "journal", tables, PureBudget(Fraction(1), "add-remove")), []
    for _ in range(6):
        over, measurement = random_measurement(tables, chance, Laplace(Fraction(1000)))
        mine = ledger.at(tables.place(over))
        cost = Plan((measurement,)).cost(mine.domain, mine.budget)
        mine.charge(cost, [])
        charges.append((over, cost))
    by_code = [by_definition(tables, charges, {0: code}) for code in range(3)]
    assert ledger.spent_max == max(by_code)
    patients = ledger.at(tables.place("p"))
    assert patients.left_by([0]).tolist() == [ledger.budget.limit - spent for spent in by_code]
    assert [patients.left(patients.domain.slab("p0", code, code)) for code in range(3)] == patients.left_by(
        [0]
    ).tolist()


def test_two_tables_that_are_charged_elsewhere_leave_each_other_alone(tmp_path):
    tables = SCHEMAS["two"]
    ledger = opened(tmp_path / "journal", tables, PureBudget(Fraction(1), "add-remove"))
    patients, encounters = (ledger.at(tables.place(name)) for name in ("p", "e"))
    all_of_it = ledger.budget.limit
    patients.charge(Cost(regional=((Box((0,), (0,)), all_of_it),)), [])
    encounters.charge(Cost(regional=((Box((0, 1), (1, 1)), all_of_it),)), [])
    for mine, box in ((patients, Box((1,), (1,))), (encounters, Box((1, 0), (1, 0)))):
        with pytest.raises(BudgetExceeded):
            mine.charge(Cost(regional=((box, 1),)), [])


def test_a_refusal_names_where_in_the_table_that_was_asked(tmp_path):
    tables = SCHEMAS["two"]
    ledger = opened(tmp_path / "journal", tables, PureBudget(Fraction(1), "add-remove"))
    patients, encounters = (ledger.at(tables.place(name)) for name in ("p", "e"))
    patients.charge(Cost(regional=((Box((1,), (1,)), ledger.budget.limit),)), [])
    refusal = encounters.refusal(Cost(1))
    assert len(refusal.where.low) == len(encounters.domain.shape)
    with pytest.raises(BudgetExceeded, match=r"p\.p0 1"):
        encounters.charge(Cost(1), [])
    assert encounters.left(encounters.domain.slab("p0", 0, 0)) == ledger.budget.limit


def test_a_quota_is_one_for_all_tables(tmp_path):
    tables = SCHEMAS["two"]
    ledger = opened(tmp_path / "journal", tables, PureBudget(Fraction(1), "add-remove"))
    patients, encounters = (ledger.at(tables.place(name)) for name in ("p", "e"))
    asker = Asker("ann", Fraction(1, 2))
    patients.charge(Cost(regional=((Box((0,), (0,)), UNITS // 2),)), [], asker)
    there, elsewhere = (encounters.domain.slab("p0", code, code) for code in (0, 1))
    assert (encounters.quota_left(asker, there), encounters.quota_left(asker, elsewhere)) == (0, Fraction(1, 2))
    assert not encounters.fits(Cost(1), asker)


def test_the_books_of_a_table_tell_of_its_charges_alone_and_those_of_all_of_every_one(tmp_path):
    tables = SCHEMAS["two"]
    ledger = opened(tmp_path / "journal", tables, PureBudget(Fraction(1), "add-remove"))
    patients, encounters = (ledger.at(tables.place(name)) for name in ("p", "e"))
    one, two = patients.charge(Cost(1), ["a"]), encounters.charge(Cost(1), ["b"])
    assert [[charge.id for charge in books.pending()] for books in (patients, encounters, ledger)] == [
        [one.id],
        [two.id],
        [one.id, two.id],
    ]
    assert (patients.unanswered(), encounters.unanswered()) == ([one.id], [two.id])
    patients.record(one.id, "answer")
    encounters.record(two.id, "answer")
    assert [[charge.table for charge, _ in books.answered()] for books in (patients, encounters, ledger)] == [
        ["p"],
        ["e"],
        ["p", "e"],
    ]


def test_what_noise_costs_is_what_the_budget_buys_it_for():
    for budget, _ in BUDGETS.values():
        for rows in (1, 3):
            mine = budget.over(rows)
            law = mine.noise_costing(Fraction(1, 7))
            spent = mine.amount_of(1) * UNITS * mine.loss(law, Fraction(1), one_signed=True)
            assert Fraction(1, 7) * Fraction(999, 1000) <= spent <= Fraction(1, 7)
