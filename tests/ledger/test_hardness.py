"""Deciding an exact sensitivity is NP-hard [relaxation, Lemma 1 and Corollary 1]: the reduction, on small formulas."""

import itertools
import math
import random

import numpy as np
import pytest

VARIABLES = 4


def queries_of(clauses):
    """The six queries for each clause: {attribute: code}. A clause is two literals, (variable, is positive)."""
    queries = []
    for (first, one), (second, other) in clauses:
        for shift in (0, 2):
            yes, no = (shift + one, shift + other), (shift + 1 - one, shift + 1 - other)
            queries += [{first: yes[0], second: b} for b in (yes[1], no[1])] + [{first: no[0], second: yes[1]}]
    return queries


def counted(query, row):
    return all(row[attribute] == code for attribute, code in query.items())


ROWS = list(itertools.product(range(4), repeat=VARIABLES))


def counted_in(queries):
    """Which query counts which row: a row each, a column each."""
    return np.array([[counted(query, row) for query in queries] for row in ROWS], dtype=np.int64)


def apart(queries):
    """In how many answers two tables of one row each differ, for all pairs of rows."""
    told = counted_in(queries)
    return told @ (1 - told).T + (1 - told) @ told.T


def most_satisfied(clauses):
    return max(
        sum(any(values[variable] == positive for variable, positive in clause) for clause in clauses)
        for values in itertools.product((False, True), repeat=VARIABLES)
    )


def random_formula(draw):
    return [
        [(variable, draw.random() < 0.5) for variable in draw.sample(range(VARIABLES), 2)]
        for _ in range(draw.randint(1, 9))
    ]


@pytest.mark.parametrize("seed", range(40))
def test_the_exact_sensitivity_decides_how_many_clauses_can_be_true(seed):
    # Lemma 1: S_L1(Q) ≥ 2k if and only if some assignment makes k clauses true.
    clauses = random_formula(random.Random(seed))
    queries = queries_of(clauses)
    sensitivity = apart(queries).max()  # S_L1: one row is replaced by another
    assert sensitivity == 2 * most_satisfied(clauses)
    # Corollary 1: with Laplace noise of scale λ the largest log ratio of densities is S_L1/λ, so deciding whether it is
    # within ε decides the formula. Noise that is far out on one side of every answer shows it.
    scale = 3.0
    one, other = (ROWS[place] for place in np.unravel_index(apart(queries).argmax(), (len(ROWS), len(ROWS))))
    far = [100.0 if counted(query, one) else -100.0 for query in queries]
    loss = sum(
        (abs(x - counted(query, other)) - abs(x - counted(query, one))) / scale
        for x, query in zip(far, queries, strict=True)
    )
    assert math.isclose(loss, 2 * most_satisfied(clauses) / scale)
    # Lemma 2's bound, twice the largest popularity, is all of it here.
    assert sensitivity == 2 * counted_in(queries).sum(axis=1).max()
