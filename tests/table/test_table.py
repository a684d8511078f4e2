"""Exact answers on every engine, against an oracle that counts rows one by one."""

import itertools
import threading

import numpy as np
import pyarrow as pa
import pytest
from discreet.table.table import open_table

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import EngineError
from discreet.query.query import Count, Sum
from discreet.table import table as table_module

YOUNG = Region((Box((0, 0, 0), (4, 2, 4)),))
RICH_OR_MISSING = Region.of([Box((0, 0, 3), (10, 2, 4)), Box((10, 0, 0), (10, 2, 4))])
NOBODY = Region(())
EVERYONE = Region((Box((0, 0, 0), (10, 2, 4)),))
CHEQUERED = Region.of(Box(p, p) for p in itertools.product(range(11), range(3), range(5)) if sum(p) % 2)

PLANS = {
    "regions in one query": [Count(YOUNG), Count(RICH_OR_MISSING), Count(NOBODY), Count(EVERYONE)],
    "the same query twice": [Count(YOUNG), Count(YOUNG), Count(EVERYONE, ("sex",)), Count(EVERYONE, ("sex",))],
    "sums of grains and of whole numbers": [Sum("income", YOUNG), Sum("age", RICH_OR_MISSING), Sum("age", NOBODY)],
    "a count and a sum of one region": [Count(YOUNG), Sum("income", YOUNG)],
    "a marginal": [Count(EVERYONE, ("age", "sex", "income"))],
    "marginals that share a scan": [
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


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_every_engine_answers_as_the_oracle_counts(engine, plan, people, domain, oracle, as_groups, tmp_path):
    table, truth = open_table(engine(people, tmp_path), domain), oracle(people, domain)
    expected = [truth.answer(query) for query in plan]
    shapes = [tuple(domain[name].size for name in query.by) for query in plan]
    for reading in ("computed", "again, from memory", "and once more"):
        answers = table.evaluate(plan)
        assert [array.shape for array in answers] == shapes, reading
        assert [as_groups(array) for array in answers] == expected, reading
        assert all(array.dtype == np.int64 for array in answers)


def test_codes_are_those_of_the_oracle(engine, people, domain, oracle, tmp_path):
    table = open_table(engine(people, tmp_path), domain)
    for _ in range(3):
        batches = list(table.codes(batch_rows=100))
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        assert sorted(rows) == sorted(oracle(people, domain).points)
        assert batches[0].schema.names == ["age", "sex", "income"]


def test_an_empty_table_has_empty_answers(engine, domain, tmp_path):
    table = open_table(engine([], tmp_path), domain)
    for _ in range(3):
        total, by_sex, income = table.evaluate([Count(EVERYONE), Count(EVERYONE, ("sex",)), Sum("income", YOUNG)])
        assert (total.tolist(), by_sex.tolist(), income.tolist()) == (0, [0, 0, 0], 0)


def test_the_order_of_the_rows_does_not_matter(people, domain, make, tmp_path):
    plan = [query for queries in PLANS.values() for query in queries]
    forwards = open_table(make.arrow_frame(people, tmp_path), domain).evaluate(plan)
    backwards = open_table(make.arrow_frame(people[::-1], tmp_path), domain).evaluate(plan)
    assert all(np.array_equal(a, b) for a, b in zip(forwards, backwards, strict=True))


def test_codes_come_in_batches_of_bounded_size(people, domain, make, tmp_path):
    table = open_table(make.arrow_frame(people * 50, tmp_path), domain)
    sizes = [batch.num_rows for batch in table.codes(batch_rows=2048)]
    assert max(sizes) <= 2048
    assert len(sizes) > 10


def test_threads_that_read_while_the_copy_is_made_agree(people, domain, oracle, as_groups, make, tmp_path):
    table, plan = open_table(make.parquet(people * 20, tmp_path), domain), PLANS["groups within a region"]
    expected = [oracle(people * 20, domain).answer(query) for query in plan]
    start, wrong = threading.Barrier(8), []

    def read():
        start.wait()
        for _ in range(5):
            if [as_groups(array) for array in table.evaluate(plan)] != expected:
                wrong.append(1)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_codes_that_do_not_fit_in_memory_are_computed_each_time(people, domain, make, monkeypatch, tmp_path):
    table = open_table(make.parquet(people, tmp_path), domain)
    monkeypatch.setattr(table_module, "COPY_LIMIT", 100)
    answers = [table.evaluate([Count(YOUNG)])[0].item() for _ in range(4)]
    assert len(set(answers)) == 1
    copies = "SELECT * FROM duckdb_tables() WHERE table_name = 'codes'"
    assert not table.source.engine.connection.execute(copies).fetchall()


def test_a_copy_that_cannot_be_made_is_done_without(people, domain, make, tmp_path):
    table = open_table(make.parquet(people, tmp_path), domain)
    table.source.engine.connection.execute("CREATE TABLE codes (taken INTEGER)")
    assert len({table.evaluate([Count(YOUNG)])[0].item() for _ in range(4)}) == 1


def test_a_region_of_many_boxes_is_read_as_fast_as_one_box(people, domain, make, tmp_path, monkeypatch):
    table = open_table(make.arrow_frame(people, tmp_path), domain)
    statements = []
    run = table_module.Table._run
    monkeypatch.setattr(table_module.Table, "_run", lambda self, sql, *_more: statements.append(sql) or run(self, sql))
    table.evaluate([Count(CHEQUERED)])
    [sql] = statements
    assert len(CHEQUERED.boxes) > 70
    assert sql.count("BETWEEN") == 0


@pytest.mark.parametrize("value", [2**53, -(2**53)])
def test_sums_saturate_instead_of_wrapping(value):
    attributes = (
        Integer(name="x", source="a test", low=-(2**53), high=2**53),
        Integer(name="g", source="a test", low=0, high=99),
    )
    wide = Domain("t", attributes)
    even = Region.of(box for code in range(0, 100, 2) for box in wide.slab("g", code, code).boxes)
    table = open_table(pa.table({"x": [value] * 60_000, "g": list(range(100)) * 600}), wide)
    plain, by_group, of_many_boxes = table.evaluate(
        [Sum("x", wide.everything), Sum("x", wide.everything, ("g",)), Sum("x", even)]
    )
    assert plain == np.sign(value) * 2**62
    assert (by_group == np.sign(value) * 2**62).all()
    assert of_many_boxes == np.sign(value) * 2**62


def test_an_engine_that_fails_half_way_says_nothing_of_the_data(people, domain, make, tmp_path):
    path = make.parquet(people, tmp_path)
    table = open_table(path, domain)
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    path.write_bytes(content)
    with pytest.raises(EngineError) as failure:
        table.evaluate([Count(YOUNG)])
    assert str(failure.value).startswith("the engine failed")
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__
    with pytest.raises(EngineError, match="the engine failed"):
        list(table.codes())
