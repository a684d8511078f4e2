"""Exact answers from coded rows, against an oracle that counts one by one; the same whichever way they are counted."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.query import Count, Sum
from discreet.table import count as count_module
from discreet.table.count import SATURATION, CodedRows, attributes_read, count, in_region
from tests.populations import points, population

YOUNG = Region((Box((0, 0, 0), (4, 2, 4)),))
RICH_OR_MISSING = Region.of([Box((0, 0, 3), (10, 2, 4)), Box((10, 0, 0), (10, 2, 4))])
NOBODY = Region(())
EVERYONE = Region((Box((0, 0, 0), (10, 2, 4)),))
CHEQUERED = Region.of(Box(p, p) for p in itertools.product(range(11), range(3), range(5)) if sum(p) % 2)

PLANS = {
    "regions": [Count(YOUNG), Count(RICH_OR_MISSING), Count(NOBODY), Count(EVERYONE)],
    "the same query twice": [Count(YOUNG), Count(YOUNG), Count(EVERYONE, ("sex",)), Count(EVERYONE, ("sex",))],
    "sums of grains and of whole numbers": [Sum("income", YOUNG), Sum("age", RICH_OR_MISSING), Sum("age", NOBODY)],
    "a count and a sum of one region": [Count(YOUNG), Sum("income", YOUNG)],
    "a marginal": [Count(EVERYONE, ("age", "sex", "income"))],
    "marginals that share a count": [
        Count(EVERYONE, ("sex", "age")),
        Count(EVERYONE, ("income",)),
        Count(EVERYONE, ("income", "sex")),
        Count(EVERYONE),
        Sum("income", YOUNG, ("sex",)),
    ],
    "groups within a region": [Count(YOUNG, ("age",)), Count(RICH_OR_MISSING, ("age",)), Sum("age", YOUNG, ("age",))],
    "groups of nobody": [Count(NOBODY, ("sex",)), Sum("age", NOBODY, ("sex",))],
    "a region of many boxes": [
        Count(CHEQUERED),
        Count(CHEQUERED, ("income",)),
        Sum("income", CHEQUERED, ("sex",)),
        Count(YOUNG),
    ],
}
EVERY_PLAN = [query for plan in PLANS.values() for query in plan]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_every_source_answers_as_the_oracle_counts(engine, plan, people, domain, oracle, as_groups, tmp_path):
    snapshot, truth = population(engine(people, tmp_path), domain), oracle(people, domain)
    answers = snapshot.evaluate(plan)
    assert [array.shape for array in answers] == [tuple(domain[name].size for name in query.by) for query in plan]
    assert [as_groups(array) for array in answers] == [truth.answer(query) for query in plan]
    assert all(array.dtype == np.int64 for array in answers)


def test_every_source_has_the_codes_of_the_oracle(engine, people, domain, oracle, tmp_path):
    snapshot = population(engine(people, tmp_path), domain)
    assert sorted(points(snapshot)) == sorted(oracle(people, domain).points)


def test_an_empty_table_has_empty_answers(engine, domain, tmp_path):
    snapshot = population(engine([], tmp_path), domain)
    total, by_sex, income = snapshot.evaluate([Count(EVERYONE), Count(EVERYONE, ("sex",)), Sum("income", YOUNG)])
    assert (total.tolist(), by_sex.tolist(), income.tolist()) == (0, [0, 0, 0], 0)


def test_the_order_of_the_rows_does_not_matter(people, domain, make, tmp_path):
    forwards = population(make.arrow_frame(people, tmp_path), domain).evaluate(EVERY_PLAN)
    backwards = population(make.arrow_frame(people[::-1], tmp_path), domain).evaluate(EVERY_PLAN)
    assert all(np.array_equal(a, b) for a, b in zip(forwards, backwards, strict=True))


def test_threads_that_read_one_snapshot_agree(people, domain, oracle, as_groups, make, tmp_path):
    snapshot, plan = population(make.parquet(people * 20, tmp_path), domain), PLANS["groups within a region"]
    expected = [oracle(people * 20, domain).answer(query) for query in plan]
    start, wrong = threading.Barrier(8), []

    def read():
        start.wait()
        for _ in range(5):
            if [as_groups(array) for array in snapshot.evaluate(plan)] != expected:
                wrong.append(1)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- random domains, rows and regions, by every way to count ---

WAYS = {
    "as it is": {},
    "in small blocks": {"BLOCK_ROWS": 8},
    "on all cores": {"BLOCK_ROWS": 8, "ENOUGH": 1},
    "each core too many cells": {"BLOCK_ROWS": 8, "ENOUGH": 1, "SMALL_CELLS": 0, "SPARSER": 10**6},
    "many boxes from a finer grouping": {"FEW_BOXES": 0},
    "many boxes each by itself": {"FEW_BOXES": 0, "SHARED_CELLS": 0},
    "every marginal by itself": {"SHARED_CELLS": 0},
    "marginals by compiled code": {"SHARED_CELLS": 0, "MANY": 2},
}


def domain_of(sizes):
    """An attribute of so many codes each: whole numbers and bins in turn, some with a code for what is missing."""
    attributes = []
    for place, size in enumerate(sizes):
        null = place % 3 == 1 and size > 1
        cells = size - null
        if place % 2:
            edges = tuple(range(-2, cells - 1))
            attributes.append(Bins(name=f"a{place}", source="s", edges=edges, grain=1, null=null, outside="drop"))
        else:
            attributes.append(Integer(name=f"a{place}", source="s", low=-1, high=cells - 2, null=null))
    return Domain("t", tuple(attributes))


def rows_of(domain, codes, units):
    """Rows with these codes; what a row adds to a sum of bins is any whole number, as the coder would have it."""
    columns = {name: column.astype(np.min_scalar_type(domain[name].size - 1)) for name, column in codes.items()}
    return CodedRows(domain, next(iter(codes.values())).size, columns.__getitem__, units.__getitem__)


@st.composite
def boxes(draw, domain):
    ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in domain.shape]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


@st.composite
def queries(draw, domain):
    where = Region.of(draw(st.lists(boxes(domain), max_size=5))) if draw(st.booleans()) else domain.everything
    by = tuple(draw(st.lists(st.sampled_from(domain.names), max_size=3, unique=True)))
    of = draw(st.sampled_from([None, None, *domain.names]))
    return Count(where, by) if of is None else Sum(of, where, by)


def counted(query, domain, codes, units):
    """The answer by adding up one row at a time, in Python's whole numbers."""
    answer = np.zeros([domain[name].size for name in query.by], object)
    for row in range(next(iter(codes.values())).size):
        point = tuple(int(codes[name][row]) for name in domain.names)
        if point not in query.where:
            continue
        worth = 1
        if isinstance(query, Sum):
            attribute, code = domain[query.of], point[domain.axis(query.of)]
            whole = attribute.low + code if isinstance(attribute, Integer) else int(units[query.of][row])
            worth = whole if code < attribute.cells else 0
        answer[tuple(point[domain.axis(name)] for name in query.by)] += worth
    return np.asarray(np.clip(answer, -SATURATION, SATURATION)).astype(np.int64)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@settings(max_examples=60)
@given(
    data=st.data(), sizes=st.lists(st.sampled_from([1, 2, 3, 5, 300]), min_size=1, max_size=4), seed=st.integers(0, 99)
)
def test_any_queries_of_any_rows_are_those_of_a_loop(way, data, sizes, seed):
    domain, rng = domain_of(sizes), np.random.default_rng(seed)
    size = data.draw(st.sampled_from([0, 1, 7, 100]))
    codes = {name: rng.integers(0, domain[name].size, size) for name in domain.names}
    most = data.draw(st.sampled_from([3, 2**20, 2**53]))
    units = {
        name: np.where(codes[name] < domain[name].cells, rng.integers(-most, most + 1, size), 0)
        for name in domain.names
    }
    plan = data.draw(st.lists(queries(domain), min_size=1, max_size=4))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in way.items():
            patch.setattr("discreet.cores.ENOUGH" if name == "ENOUGH" else f"{count_module.__name__}.{name}", value)
        answers = count(plan, rows_of(domain, codes, units))
    for query, answer in zip(plan, answers, strict=True):
        assert answer.dtype == np.int64
        np.testing.assert_array_equal(answer, counted(query, domain, codes, units))
    for query in plan:
        flags = in_region(query.where, rows_of(domain, codes, units))
        every = zip(*(codes[name].tolist() for name in domain.names), strict=True)
        assert flags.tolist() == [point in query.where for point in every]


@pytest.mark.parametrize("size", [255, 256, 257, 2**16, 2**16 + 1])
def test_ranges_are_right_at_the_ends_of_every_type_of_code(size):
    domain = Domain("t", (Integer(name="x", source="s", low=0, high=size - 1),))
    codes = np.array([0, 1, 2, size // 2, size - 3, size - 2, size - 1])
    rows = rows_of(domain, {"x": codes}, {})
    for low, high in itertools.combinations_with_replacement(codes.tolist(), 2):
        [found] = count([Count(domain.slab("x", low, high))], rows)
        assert found == np.count_nonzero((codes >= low) & (codes <= high)), (low, high)


# --- sums ---

WIDE = Domain(
    "t",
    (
        Integer(name="x", source="a test", low=-(2**53), high=2**53),
        Integer(name="g", source="a test", low=0, high=99),
    ),
)
EVEN = Region.of(box for code in range(0, 100, 2) for box in WIDE.slab("g", code, code).boxes)


def wide_rows(values):
    """Rows with these values of x, dealt to the groups in turn."""
    values = np.asarray(values, np.int64)
    return rows_of(WIDE, {"x": values + 2**53, "g": np.arange(values.size) % 100}, {})


@pytest.mark.parametrize("value", [2**53, -(2**53)])
def test_sums_saturate_instead_of_wrapping(value):
    plain, by_group, of_many_boxes = count(
        [Sum("x", WIDE.everything), Sum("x", WIDE.everything, ("g",)), Sum("x", EVEN)], wide_rows([value] * 60_000)
    )
    assert plain == np.sign(value) * 2**62
    assert (by_group == np.sign(value) * 2**62).all()
    assert of_many_boxes == np.sign(value) * 2**62


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("beyond", [-2, -1, 0, 1, 2])
def test_sums_are_exact_up_to_where_they_saturate(sign, beyond):
    """512 times 2^53 is 2^62."""
    values = np.full(512, sign * 2**53)
    values[0] += -sign * 5
    rows = wide_rows(np.append(values, sign * (5 + beyond)))
    assert count([Sum("x", WIDE.everything)], rows)[0] == sign * min(2**62 + beyond, 2**62)


@pytest.mark.parametrize("rows", [1, 10**5, 3 * 10**6])
def test_large_sums_of_either_sign_that_cancel_are_exact(rows):
    """Every half of every block is at its largest; a sum in doubles would be off."""
    values = np.full(2 * rows, 2**53 - 1)
    values[1::2] = -(2**53)
    values[-1] += 7
    assert count([Sum("x", WIDE.everything)], wide_rows(values))[0] == 7 - rows


def test_what_several_cores_counted_is_added_up(monkeypatch):
    values = np.full(1000, 2**52 - 1)
    values[::3] = -(2**40)
    queries = [Sum("x", WIDE.everything, ("g",)), Sum("x", WIDE.everything), Count(EVEN, ("g",)), Count(EVEN)]
    monkeypatch.setattr(count_module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(count_module, "on_all_cores", lambda work, steps, _: [work(at, at + 1) for at in range(steps)])
    sums, total, counts, number = count(queries, wide_rows(values))
    groups = np.arange(1000) % 100
    assert sums.tolist() == [int(values[groups == group].sum()) for group in range(100)]
    assert total == sum(values.tolist())
    assert counts.tolist() == [10, 0] * 50
    assert number == 500


def test_low_halves_that_are_all_ones_do_not_lose_a_carry():
    values = np.full(2**21 + 3, 2**32 - 1)
    [total] = count([Sum("x", WIDE.everything)], wide_rows(values))
    assert total == (2**21 + 3) * (2**32 - 1)


def test_only_columns_that_a_query_restricts_groups_by_or_sums_are_read(people, domain, make, tmp_path):
    rows = population(make.arrow_frame(people, tmp_path), domain).rows
    for query in EVERY_PLAN:
        read = set()
        watched = CodedRows(domain, rows.size, lambda n, read=read: read.add(n) or rows.codes(n), rows.units)
        count([query], watched)
        assert read <= set(attributes_read(query, domain)), query
    assert attributes_read(Count(domain.everything), domain) == []
    assert attributes_read(Sum("age", YOUNG, ("sex",)), domain) == ["sex", "age"]
