"""Facts about several tables of the same people, against every small change of who is there.

Brute force: a person is a choice of rows in each table. A change takes some people away and brings others; it is one
between neighbours where it keeps all facts and no part of it does. None changes more people than S_Q, and what all
measurements tell of none is more than the ledger says.
"""

import random
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from discreet.errors import InvalidFact
from discreet.facts.facts import CountFact, CuboidFact
from discreet.facts.generic import FactsOfTable, induced_by, induced_together
from discreet.ledger.budget import Induced, PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Plan
from discreet.query.query import People
from tests.ledger.test_several_tables import moves, opened, people, random_measurement, schema

SCHEMAS = {
    "one row below": schema(("p", 1, (2,)), ("e", 1, (2,), "p")),
    "two rows below": schema(("p", 1, (2,)), ("e", 2, (2,), "p")),
    "two roots": schema(("v", 2, (2,)), ("w", 1, (2,))),
}
MOST = 5
"""Changes of up to so many people are looked at."""


def random_facts(tables, names, chance):
    """A few facts about each of these tables: cuboids and counts."""
    found = {}
    for name in names:
        domain = tables[name].domain
        found[name] = []
        for _ in range(chance.choice([1, 1, 2])):
            attribute = chance.choice(domain.attributes)
            axis, code = domain.axis(attribute.name), chance.randrange(attribute.size)
            if chance.random() < 0.5:
                found[name].append(CountFact(((1, domain.slab(attribute.name, code, code)),), 1))
            else:
                found[name].append(CuboidFact((attribute.name,), np.ones(domain.shape[axis], np.int64)))
    return found


def matrix_of(tables, facts, everybody):
    """What each person adds to each number that a fact says."""
    rows = []
    for name, known in facts.items():
        for fact in known:
            for terms, _ in fact.rows(tables[name].domain):
                boxes = [(times, box) for times, region in terms for box in region.boxes]
                rows.append(
                    [sum(times * (row in box) for times, box in boxes for row in one[name]) for one in everybody]
                )
    return np.array(rows, np.int64).reshape(len(rows), len(everybody))


def changes(matrix, most, balanced):
    """Every change of at most so many people that keeps the facts, and of which no part does: by columns."""
    size = matrix.shape[1]
    if balanced:
        matrix = np.vstack([matrix, np.ones(size, np.int64)])
    minimal = []
    for many in range(1, most + 1):
        for chosen in combinations_with_replacement(range(2 * size), many):
            if any(other < size and other + size in chosen for other in chosen):
                continue
            signs = [1 if one < size else -1 for one in chosen]
            columns = [one % size for one in chosen]
            if (matrix[:, columns] @ signs).any():
                continue
            change = tuple(zip(columns, signs, strict=True))
            if not any(_is_part(smaller, change) for smaller in minimal):
                minimal.append(change)
    return minimal


def _is_part(smaller, change):
    left = list(change)
    for one in smaller:
        if one not in left:
            return False
        left.remove(one)
    return True


def induced(tables, facts, neighbours):
    groups = [FactsOfTable(one.domain, one.max_rows, tuple(facts.get(one.name, ()))) for one in tables]
    return induced_together(groups, neighbours)


CASES = [
    (name, about)
    for name, abouts in {
        "one row below": [("p",), ("e",), ("p", "e")],
        "two rows below": [("p",), ("e",)],
        "two roots": [("v",), ("v", "w")],
    }.items()
    for about in abouts
]


@pytest.mark.parametrize(("name", "about"), CASES)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("seed", range(2))
def test_no_neighbours_that_facts_leave_are_further_apart_than_s_q(name, about, neighbours, seed):
    tables = SCHEMAS[name]
    facts, everybody = random_facts(tables, about, random.Random(seed)), people(tables)
    most = 4 if len(everybody) > 9 else MOST
    found = induced(tables, facts, neighbours)
    for change in changes(matrix_of(tables, facts, everybody), most, neighbours == "replace"):
        signs = [sign for _, sign in change]
        added, removed = signs.count(1), signs.count(-1)
        assert added + removed <= found.people
        assert added**2 + removed**2 <= found.squares


@pytest.mark.parametrize("currency", ["pure", "rho"])
@pytest.mark.parametrize(("name", "about"), CASES)
def test_what_all_measurements_tell_between_neighbours_is_within_what_the_ledger_says(tmp_path, name, about, currency):
    tables, chance = SCHEMAS[name], random.Random(name + currency)
    budget, law = {
        "pure": (PureBudget(Fraction(10**6), "add-remove"), Laplace(Fraction(7, 3))),
        "rho": (ConcentratedBudget(Fraction(10**6), "add-remove"), Gaussian(Fraction(7, 3))),
    }[currency]
    facts, everybody = random_facts(tables, about, chance), people(tables)
    ledger, charged = opened(tmp_path / "journal", tables, budget), []
    while len(charged) < 5:
        over, measurement = random_measurement(tables, chance, law)
        if isinstance(measurement.query, People):
            continue
        mine = ledger.at(tables.place(over))
        plan = Plan((measurement,))
        mine.charge(plan.cost(mine.domain, mine.budget), plan.condensed())
        charged.append((tables[over], measurement))
    stated = ledger.budget.under(induced(tables, facts, "add-remove")).amount_of(ledger.spent_max)
    most = 4 if len(everybody) > 9 else MOST
    for change in changes(matrix_of(tables, facts, everybody), most, balanced=False):
        assert _told(charged, change, everybody, currency) <= stated


def _told(charged, change, everybody, currency):
    total = Fraction(0)
    for one, measurement in charged:
        moved = {}
        for column, sign in change:
            for group, amount in moves(measurement, everybody[column][one.name], one.domain).items():
                moved[group] = moved.get(group, 0) + sign * amount
        if currency == "pure":
            total += Fraction(sum(map(abs, moved.values()))) / measurement.law.scale
        else:
            total += Fraction(sum(each**2 for each in moved.values())) / (2 * measurement.law.sigma_squared)
    return total


def test_facts_about_one_table_need_what_they_need_there():
    tables = SCHEMAS["two rows below"]
    for name in ("p", "e"):
        domain, rows = tables[name].domain, tables[name].max_rows
        fact = CuboidFact(domain.names[:1], np.ones(domain.shape[:1], np.int64))
        for neighbours in ("add-remove", "replace"):
            assert induced(tables, {name: [fact]}, neighbours) == induced_by([fact], domain, neighbours, rows)
    assert induced(tables, {}, "replace") == Induced()


def test_facts_about_two_tables_reach_as_far_as_those_of_each_or_further():
    tables = SCHEMAS["one row below"]
    facts = {
        name: [CuboidFact(tables[name].domain.names, np.ones(tables[name].domain.shape, np.int64))]
        for name in ("p", "e")
    }
    each = [induced(tables, {name: known}, "add-remove") for name, known in facts.items()]
    together = induced(tables, facts, "add-remove")
    assert together.people >= max(one.people for one in each)
    assert together.people > 2


def test_too_many_kinds_of_people_are_refused_in_words():
    tables = schema(("p", 5, (6,)), ("e", 5, (6,)))
    facts = {
        name: [CuboidFact(tables[name].domain.names, np.ones(tables[name].domain.shape, np.int64))]
        for name in ("p", "e")
    }
    with pytest.raises(InvalidFact, match="Give fewer facts, or coarser ones"):
        induced(tables, facts, "add-remove")


def test_everybody_who_could_be_is_looked_at():
    tables = SCHEMAS["one row below"]
    assert len(people(tables)) == 1 + 2 + 2 * 2
    assert {len(one["p"]) for one, _ in product(people(tables), range(1))} == {0, 1}
