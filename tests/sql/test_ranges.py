"""Between what the numbers of a public query lie: by tables drawn at random, and where nothing may be said."""

import math

import duckdb
import numpy as np
import pytest
import sqlglot

from discreet.domain.region import Box, Region
from discreet.query.query import Count
from discreet.sql.ranges import ANY, Range, Ranges, ranges

WHOLE, PART = (Region((Box((0,), (high,)),)) for high in (9, 3))
COLUMNS = {
    "g": ANY,
    "a": Range(-2.0, 9.24),
    "d": Range(0.0, 7.0),
    "n": Range(is_amount=True, quantities=(Count(WHOLE, ("g",)),)),
    "part": Range(is_amount=True, quantities=(Count(PART, ("g",)),)),
}
LINES = 6
ALL = {"total": Range(is_amount=True, quantities=(Count(WHOLE),))}
BLOCK = {"b": Ranges(COLUMNS, LINES), "lookup": Ranges({"g": ANY, "name": ANY}, 4), "one": Ranges(ALL, 1)}
BOUNDED = {
    "SELECT a FROM b": (-2, 9.24),
    "SELECT 2 * a + 1 AS x FROM b": (-3, 19.48),
    "SELECT 3 - a / 2 AS x FROM b": (-1.62, 4),
    "SELECT a * d AS x FROM b": (-14, 64.68),
    "SELECT a - d AS x FROM b": (-9, 9.24),
    "SELECT ROUND(a, 1) AS x FROM b": (-2, 9.3),
    "SELECT COALESCE(a, 12) AS x FROM b": (-2, 12),
    "SELECT CASE WHEN n > 3 THEN a ELSE -5 END AS x FROM b": (-5, 9.24),
    "SELECT GREATEST(a, d) AS x FROM b": (-2, 9.24),
    "SELECT AVG(a) AS x, MAX(a) AS y FROM b": (-2, 9.24),
    "SELECT SUM(d) FILTER (WHERE n > 2) AS x FROM b": (0, 42),
    "SELECT COUNT(*) AS x FROM b WHERE n > 5": (0, 6),
    "SELECT STDDEV(n) AS x FROM b": (0, math.inf),
    "SELECT RANK() OVER (ORDER BY n DESC) AS x FROM b": (1, 6),
    "SELECT DENSE_RANK() OVER (ORDER BY a) AS x FROM b WHERE n > 4": (1, 6),
    "SELECT NTILE(4) OVER (ORDER BY n) AS x FROM b": (1, 4),
    "SELECT PERCENT_RANK() OVER (ORDER BY n) AS x FROM b": (0, 1),
    "SELECT AVG(a) OVER (ORDER BY g ROWS 1 PRECEDING) AS x FROM b": (-2, 9.24),
    "SELECT LAG(a, 1, 20) OVER (ORDER BY g) AS x FROM b": (-2, 20),
    "SELECT SUM(d) OVER () AS x FROM b": (0, 42),
    "SELECT COUNT(*) OVER () AS x FROM b": (0, 6),
    "SELECT ROW_NUMBER() OVER (ORDER BY x.n) AS x FROM b AS x JOIN lookup AS y ON x.g < y.g": (1, 48),
    "WITH t (x, y) AS (SELECT a, n FROM b) SELECT MAX(x) - MIN(x) AS z FROM t": (-11.24, 11.24),
    "SELECT x FROM (SELECT a AS x FROM b UNION ALL SELECT d FROM b) AS t": (-2, 9.24),
    "SELECT (SELECT MAX(a) FROM b) + 1 AS x FROM b": (-1, 10.24),
    "SELECT 100.0 * part / NULLIF(n, 0) AS x FROM b": (0, 100),
    "WITH t AS (SELECT g, part AS p, n FROM b) SELECT p / (2 * n) AS x FROM t": (0, 0.5),
    "SELECT n / SUM(n) OVER () AS x FROM b": (0, 1),
    "SELECT 100.0 * n / NULLIF(SUM(n) OVER (PARTITION BY g % 2), 0) AS x FROM b": (0, 100),
    "SELECT ROUND(100 * CAST(n AS DECIMAL) / SUM(n) OVER (), 1) AS x FROM b": (0, 100),
    "SELECT part / SUM(n) OVER () AS x FROM b": (0, 1),
    "SELECT n / SUM(n) OVER (ORDER BY g) AS x FROM b": (0, 1),
    "SELECT n / SUM(n) OVER (ORDER BY g ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS x FROM b": (0, 1),
    "SELECT SUM(n) OVER (ORDER BY g) / SUM(n) OVER () AS x FROM b": (0, 1),
    "SELECT SUM(n) OVER (PARTITION BY g, d) / SUM(n) OVER (PARTITION BY d) AS x FROM b": (0, 1),
    "SELECT SUM(n) FILTER (WHERE g < 3) / SUM(n) AS x FROM b": (0, 1),
    "SELECT SUM(CASE WHEN g < 3 THEN part ELSE 0 END) / SUM(n) AS x FROM b": (0, 1),
    "SELECT n / SUM(n) OVER () AS x FROM (SELECT g, SUM(n) AS n FROM b GROUP BY g) AS t": (0, 1),
    "SELECT n / SUM(n) OVER () AS x FROM (SELECT g, n FROM b UNION ALL SELECT g, part FROM b) AS t": (0, 1),
    "SELECT p / n AS x FROM (SELECT part AS p, n FROM b UNION ALL SELECT part, n FROM b) AS t": (0, 1),
    "SELECT part / (SELECT total FROM one) AS x FROM b": (0, 1),
    "WITH t AS (SELECT total FROM one) SELECT 100 * n / total AS x FROM b, t": (0, 100),
}
OPEN = [
    "SELECT n FROM b",
    "SELECT n / part AS x FROM b",
    "SELECT part / n + n AS x FROM b",
    "SELECT one.part / two.n AS x FROM b AS one JOIN b AS two ON one.g < two.g",
    "WITH t AS (SELECT one.part AS p, two.n AS n FROM b AS one, b AS two) SELECT p / n AS x FROM t",
    "WITH t AS (SELECT (SELECT part FROM b LIMIT 1) AS p, n FROM b) SELECT p / n AS x FROM t",
    "SELECT SUM(part) / n AS x FROM b GROUP BY n",
    "SELECT SUM(n) AS x FROM b",
    "SELECT n / SUM(part) OVER () AS x FROM b",
    "SELECT n / SUM(n) OVER (ORDER BY g ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS x FROM b",
    "SELECT n / SUM(n) OVER (ORDER BY g ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS x FROM b",
    "SELECT n / SUM(n) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) AS x FROM b",
    "SELECT n / SUM(n) FILTER (WHERE g < 3) OVER () AS x FROM b",
    "SELECT m / SUM(m) OVER () AS x FROM (SELECT n - part AS m FROM b) AS t",
    "SELECT SUM(n) OVER (PARTITION BY d) / SUM(n) OVER (PARTITION BY g) AS x FROM b",
    "SELECT SUM(n) OVER () / SUM(n) OVER (ORDER BY g) AS x FROM b",
    "SELECT SUM(CASE WHEN g < 3 THEN n ELSE 9 END) / SUM(n) AS x FROM b",
    "SELECT SUM(n) FILTER (WHERE g < 3) / SUM(n) FILTER (WHERE g < 5) AS x FROM b",
    "SELECT n / (SELECT n FROM b LIMIT 1) AS x FROM b",
    "SELECT total / SUM(total) OVER () - n AS x FROM b, one",
    "SELECT x / y AS x FROM (SELECT part AS x, n AS y FROM b UNION ALL SELECT n, part FROM b) AS t",
    "SELECT a / d AS x FROM b",
    "SELECT EXP(a) AS x FROM b",
    "SELECT CAST(a AS DECIMAL(4, 1)) AS x FROM b",
    "SELECT * FROM unheard_of",
    "SELECT a, d AS a FROM b",
]


def first(sql):
    found = ranges(sqlglot.parse_one(sql, read="duckdb"), BLOCK).columns
    return next(iter(found.values()), ANY)


@pytest.mark.parametrize(("sql", "ends"), BOUNDED.items())
def test_what_a_query_makes_of_numbers_lies_between_what_theirs_do(sql, ends):
    found = first(sql)
    assert (found.low, found.high) == pytest.approx(ends)
    rng, engine = np.random.default_rng(1), duckdb.connect()
    engine.execute("CREATE TABLE lookup AS SELECT i AS g, 'x' AS name FROM range(4) AS t(i)")
    for _ in range(20):
        lines = [(g, rng.uniform(-2, 9.24), rng.integers(0, 8), n, rng.integers(0, n + 1))
                 for g, n in enumerate(rng.integers(0, 9, LINES).tolist())]  # fmt: skip
        engine.execute("CREATE OR REPLACE TABLE b (g INT, a DOUBLE, d DOUBLE, n DOUBLE, part DOUBLE)")
        engine.executemany("INSERT INTO b VALUES (?, ?, ?, ?, ?)", [[*map(float, line)] for line in lines])
        engine.execute("CREATE OR REPLACE TABLE one AS SELECT SUM(n) AS total FROM b")
        for value, *_ in engine.execute(sql).fetchall():
            assert value is None or math.isnan(value) or found.low - 1e-9 <= value <= found.high + 1e-9


@pytest.mark.parametrize("sql", OPEN)
def test_nothing_is_said_of_what_may_be_anything(sql):
    assert first(sql).is_open


def test_places_and_counts_of_lines_are_whole():
    for call in ("RANK() OVER (ORDER BY n)", "NTILE(3) OVER (ORDER BY n)", "COUNT(*) OVER ()"):
        assert first(f"SELECT {call} AS x FROM b").is_whole
    assert not first("SELECT AVG(a) AS x FROM b").is_whole
