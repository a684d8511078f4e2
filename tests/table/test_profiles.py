"""People's lines are made in the same steps whatever the rows hold."""

import sys

import numpy as np

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.sql.split import split
from discreet.table.count import CodedRows
from discreet.table.profiles import add_profiles

DOMAIN = Domain(
    "t",
    (
        Integer(name="a", source="a test", low=0, high=9),
        Category(name="b", source="a test", values=("x", "y"), null=True),
    ),
    person="id",
    max_rows=4,
)
LINES = (
    "SELECT id, COUNT(*) AS n, SUM(a) AS s, MIN(b) AS m, COUNT(DISTINCT a) AS d, ARG_MAX(a, b) AS f FROM t WHERE a > 2 "
    "GROUP BY id"
)
ASKED = (
    f"SELECT m, f, COUNT(*) FROM ({LINES}) WHERE n > 1 AND d < 4 GROUP BY m, f",
    f"SELECT SUM(s + n) FROM ({LINES}) WHERE n > 1",
    "SELECT b, SUM(a) FROM (SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY a DESC) <= 2) "
    "GROUP BY b",
    "SELECT b, n, COUNT(*) FROM (SELECT id, b, COUNT(*) AS n FROM t GROUP BY id, b) GROUP BY b, n",
)
ROWS = 60


def steps(query, columns, person):
    """Which lines of ours run, in order, and how large all arrays are that they hold."""
    found = []

    def watch(frame, event, _):
        if "discreet" not in frame.f_code.co_filename:
            return None
        sizes = [(name, one.size) for name, one in sorted(frame.f_locals.items()) if isinstance(one, np.ndarray)]
        found.append((frame.f_code.co_name, frame.f_lineno, event, sizes))
        return watch

    rows = CodedRows(DOMAIN, ROWS, columns.__getitem__, columns.__getitem__)
    sys.settrace(watch)
    try:
        add_profiles(query, rows, person)
    finally:
        sys.settrace(None)
    return found


def test_lines_are_made_in_the_same_steps_whatever_the_rows_hold():
    draw = np.random.default_rng(3)
    apart, alike = np.arange(ROWS), np.zeros(ROWS, np.int64)
    tables = [
        ({"a": draw.integers(0, 10, ROWS), "b": draw.integers(0, 3, ROWS)}, person)
        for person in (apart, alike, draw.integers(0, 20, ROWS))
    ]
    tables += [({"a": np.full(ROWS, code), "b": np.full(ROWS, other)}, apart // 4) for code, other in ((0, 0), (9, 2))]
    for statement in ASKED:
        [query] = [one.query for block in split(statement, DOMAIN).blocks for one in block.question.aggregates]
        steps(query, *tables[0])  # what a question keeps of itself is made once
        first, *others = [steps(query, *table) for table in tables]
        assert first
        assert all(other == first for other in others)
