"""What a public query does with noise: whether it chooses by it, which decides how its intervals are made."""

import pytest

from discreet.sql.lineage import Lineage, lineage
from discreet.sql.syntax import read_query

LINES = Lineage({"g": False, "n": True, "m": True}, lines=12)


def of(sql):
    return lineage(read_query(sql), {"lines": LINES})


@pytest.mark.parametrize(
    "number",
    [
        "MAX(n)",
        "MEDIAN(n)",
        "COUNT(*) FILTER (WHERE n > 22)",
        "SUM(n) FILTER (WHERE n > 22)",
        "SUM(CASE WHEN n > 22 THEN 1 ELSE 0 END)",
        "SUM(CASE WHEN n > 22 THEN n ELSE 0 END)",
        "SUM(IF(n > m, 1, 0))",
        "SUM(GREATEST(n, 22))",
        "AVG(LEAST(n, m))",
        "SUM(ABS(n - 20))",
        "VAR_SAMP(n)",
        "STDDEV(n)",
        "GREATEST(SUM(n), SUM(m))",
        "FIRST_VALUE(n) OVER (ORDER BY n DESC)",
        "SUM(g) OVER (ORDER BY n)",
        "RANK() OVER (ORDER BY n)",
    ],
)
def test_what_picks_or_counts_numbers_by_their_noise_chooses(number):
    assert of(f"SELECT {number} AS x FROM lines").deep


@pytest.mark.parametrize(
    "number",
    [
        "SUM(n)",
        "SUM(n) / NULLIF(SUM(m), 0)",
        "SUM(n) FILTER (WHERE g = 3)",
        "SUM(CASE WHEN g > 3 THEN n ELSE 0 END)",
        "SUM(n) OVER (ORDER BY g)",
        "n - LAG(n) OVER (ORDER BY g)",
        "GREATEST(n, 0)",
        "CASE WHEN n > 100 THEN 'many' ELSE 'few' END",
        "ROUND(100.0 * n / SUM(n) OVER (), 1)",
    ],
)
def test_sums_ratios_and_single_lines_do_not(number):
    assert not of(f"SELECT {number} AS x FROM lines").is_chosen


def test_a_sub_query_in_from_sees_the_noise_of_the_tables_before_it():
    inside = "SELECT t.x FROM lines AS a, (SELECT b.n AS x FROM lines AS b WHERE b.g = a.{}) AS t"
    assert of(inside.format("n")).is_chosen
    assert not of(inside.format("g")).is_chosen
    assert of("SELECT t.x FROM lines AS a, (SELECT a.n * 2 AS x) AS t").columns == {"x": True}
    assert of("SELECT t.x FROM lines AS a, (SELECT a.g * 2 AS x) AS t").columns == {"x": False}


def test_a_column_of_the_table_around_is_not_taken_for_one_of_the_same_name():
    """`a.n` is noisy, though the sub-query's own table has a public column of that name."""
    public = Lineage({"n": False, "g": False}, lines=3)
    text = "SELECT (SELECT SUM(p.g) FROM public AS p WHERE p.n < a.n) AS x FROM lines AS a"
    assert lineage(read_query(text), {"lines": LINES, "public": public}).columns == {"x": True}
