"""Tables of groups that say nothing of each other, against least squares and group by group."""

from itertools import product

import numpy as np
import pytest

from discreet.answer.independent import are_independent
from discreet.domain.region import Box
from discreet.vault import Vault

SHAPE = (2, 3, 3)
BY = (0,)


def all_boxes() -> list[Box]:
    """Every box of the last two axes, over all groups of the first."""
    ranges = [(low, high) for low in range(3) for high in range(low, 3)]
    return [Box((0, a[0], b[0]), (1, a[1], b[1])) for a, b in product(ranges, repeat=2)]


def is_left_as_measured(boxes: list[Box]) -> bool:
    """Whether least squares over single cells changes none of the counts that were measured."""
    cells = [*product(range(3), repeat=2)]
    counted = np.array(
        [[all(box.low[i + 1] <= c[i] <= box.high[i + 1] for i in (0, 1)) for c in cells] for box in boxes], float
    )
    return np.allclose(counted @ np.linalg.pinv(counted), np.eye(len(boxes)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_tables_are_independent_where_least_squares_leaves_them_as_they_were_measured(size):
    rng = np.random.default_rng(size)
    found = []
    for _ in range(200):
        boxes = [all_boxes()[place] for place in rng.integers(0, 36, size)]
        found.append(are_independent([(BY, box) for box in boxes]))
        assert found[-1] == is_left_as_measured(boxes)
    assert any(found)
    assert size == 1 or not all(found)


def test_tables_by_other_attributes_are_not_told():
    whole = Box((0, 0, 0), (1, 2, 2))
    assert are_independent([((0,), whole)])
    assert not are_independent([((0,), whole), ((1,), whole)])


SPLIT = "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') AS f, COUNT(*) AS n, AVG(income) AS m FROM people GROUP BY age"


@pytest.mark.parametrize("wish", [{"scale": 20}, {"within": 200}])
@pytest.mark.parametrize("before", [(), ("SELECT age, COUNT(*) AS n FROM people GROUP BY age",)])
def test_a_filter_beside_a_total_is_in_arrays_what_it_is_group_by_group(make_vault, monkeypatch, wish, before):
    vault: Vault = make_vault(epsilon=100)
    for sql in before:
        vault.ask(sql, scale=10)
    said = vault.explain(SPLIT, **wish)
    first = vault.ask(SPLIT, **wish)
    assert first.cost == said.cost
    again = vault.ask(SPLIT, **wish)
    monkeypatch.setattr("discreet.answer.public.are_independent", lambda _: False)
    single = vault.ask(SPLIT, **wish)
    shown = [[(row.labels, row.column, row.value, row.low, row.high) for row in one.rows] for one in (again, single)]
    assert shown[0] == [(*row[:2], *(pytest.approx(part) for part in row[2:])) for row in shown[1]]
    assert [row.value for row in first.rows] == [pytest.approx(row.value) for row in single.rows]
    assert [row.kind for row in again.rows] == [row.kind for row in single.rows]
    assert again.cost == single.cost == 0
