"""What is made of a batch of rows that stay where they are: the same as of a snapshot of them."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError, TableError
from discreet.query.query import Count, Sum, answer_shape
from discreet.table.count import Total
from discreet.table.live import Counter, _times, require_live
from discreet.table.open import open_source
from discreet.table.unit import Unit
from tests.populations import population

DOMAIN = Domain(
    "t",
    (
        Integer(name="copies", source="s", low=-3, high=6),
        Category(name="town", source="s", values=("Arden", "Belmont"), outside="other"),
        Bins(name="income", source="s", edges=(-10, 0, 2**40), grain=1, null=True),
    ),
)
SLAB = Region((Box((2, 0, 0), (5, 2, 1)),))
TWO = Region.of([Box((0, 0, 0), (3, 1, 2)), Box((6, 1, 1), (9, 2, 2))])
QUERIES = (
    Count(DOMAIN.everything),
    Count(SLAB, ("town",)),
    Count(TWO),
    Count(Region(()), ("copies",)),
    Sum("income", DOMAIN.everything),
    Sum("income", TWO, ("town", "copies")),
    Sum("copies", SLAB, ("income",)),
)
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-5, 8),
        st.none() | st.sampled_from(["Arden", "arden", "Belmont"]),
        st.none() | st.sampled_from([-20.0, -10.0, -1.0, 0.0, 1.0, 2.0**32 - 1, 2.0**32, 2.0**40 - 1]),
    ),
    max_size=30,
)


def as_batch(rows):
    ages, towns, incomes = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = {"copies": pa.int64(), "town": pa.string(), "income": pa.float64()}
    arrays = [pa.array(c, kind) for c, kind in zip((ages, towns, incomes), kinds.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(kinds))


def added(pieces, queries):
    """What the pieces add up to."""
    answers = []
    for place, query in enumerate(queries):
        shape = answer_shape(query, DOMAIN)
        high, low = (np.zeros(int(np.prod(shape)), np.int64) for _ in range(2))
        for cells, highs, lows in (piece[place] for piece in pieces):
            assert ((lows >= 0) & (lows < 2**32)).all()
            assert len(set(cells.tolist())) == cells.size
            np.add.at(high, cells, highs)
            np.add.at(low, cells, lows)
        answers.append(Total(low, high).reshaped(shape).whole().tolist())
    return answers


def counter(queries, names=DOMAIN.names):
    types = dict(zip(DOMAIN.names, (pa.int64(), pa.string(), pa.float64()), strict=True))
    made = Counter(DOMAIN, {name: types[name] for name in names}, tuple(queries))
    return pickle.loads(pickle.dumps(made))  # as a worker gets it


@settings(max_examples=100)
@given(rows=ROWS, more=ROWS)
def test_pieces_add_up_to_what_a_snapshot_answers(rows, more):
    """An attribute called `copies` is one like any other."""
    table = pa.Table.from_batches([as_batch(rows), as_batch(more)])
    expected = [answer.tolist() for answer in population(table, DOMAIN).evaluate(QUERIES)]
    count = counter(QUERIES)
    assert added([count(as_batch(rows)), count(as_batch(more))], QUERIES) == expected


@settings(max_examples=50)
@given(rows=ROWS, data=st.data())
def test_a_row_that_stands_for_several_counts_as_often(rows, data):
    copies = data.draw(st.lists(st.integers(1, 5), min_size=len(rows), max_size=len(rows)))
    each = [row for row, times in zip(rows, copies, strict=True) for _ in range(times)]
    count = counter(QUERIES)
    assert added([count(as_batch(rows), np.array(copies, np.int64))], QUERIES) == added(
        [count(as_batch(each))], QUERIES
    )


def test_nothing_need_be_read_to_count_everybody():
    whole = Domain("t", DOMAIN.attributes[1:2])
    count = Counter(whole, {}, (Count(whole.everything),))
    [(cells, high, low)] = count(as_batch([(0, "x", None)] * 7))
    assert (cells.tolist(), high.tolist(), low.tolist()) == ([0], [0], [7])


@given(st.integers(-(2**53), 2**53), st.integers(1, 2**41))
def test_amounts_times_copies_are_exact_in_two_halves(units, copies):
    high, low = _times(np.array([units], np.int64), np.array([copies], np.int64))
    assert int(high[0]) * 2**32 + int(low[0]) == units * copies
    assert 0 <= low[0] < 2**33


def test_what_cannot_tell_when_it_changes_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("copies,town,income\n1,Arden,5\n")
    for table in (as_batch([(1, "Arden", 5.0)]), tmp_path / "t.csv"):
        source = open_source(pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table)
        with pytest.raises(TableError, match=r"only a plain table of Postgres, .* Leave out --live, and a snapshot"):
            require_live(source, DOMAIN, None, None)


def test_people_with_several_rows_are_counted_from_a_snapshot():
    source = open_source(pa.table({"x": [1]}))
    source = type(source)(source.location, source.columns, source.read, live=object())
    for unit, roster in ((Unit("x", 1), None), (None, object())):
        with pytest.raises(DomainError, match="people with several rows are counted from a snapshot"):
            require_live(source, DOMAIN, unit, roster)
