"""Groups that may have nobody in them: said where a statement calculates with them, and only there."""

import pandas as pd
import pytest

from discreet.vault import Vault

DOMAIN = """
name = "visits"
[attributes.day]
kind = "integer"
low = 0
high = 19
source = "made for the tests"
[attributes.ward]
kind = "category"
values = ["A", "B"]
source = "made for the tests"
[attributes.wait]
kind = "integer"
low = 0
high = 60
source = "made for the tests"
"""
OPEN_DAYS = range(6, 20)
BY_DAY = "(SELECT day, COUNT(*) AS n FROM visits GROUP BY day {having}) AS t"
DIFFERENT = [
    f"SELECT MIN(n) AS least FROM {BY_DAY}",
    f"SELECT AVG(n) AS mean FROM {BY_DAY}",
    f"SELECT MEDIAN(n) AS middle FROM {BY_DAY}",
    f"SELECT STDDEV(n) AS spread FROM {BY_DAY}",
    f"SELECT COUNT(*) AS days FROM {BY_DAY}",
    f"SELECT day, n, NTILE(4) OVER (ORDER BY n) AS quarter FROM {BY_DAY}",
    f"SELECT day, PERCENT_RANK() OVER (ORDER BY n) AS place FROM {BY_DAY}",
    f"SELECT day, n - LAG(n) OVER (ORDER BY day) AS more FROM {BY_DAY}",
    f"SELECT day, 2 * n AS twice FROM {BY_DAY} ORDER BY twice LIMIT 3",
    f"SELECT day, n FROM {BY_DAY} ORDER BY n LIMIT 3",
    f"SELECT g.d FROM generate_series(0, 19) AS g(d) LEFT JOIN {BY_DAY} ON t.day = g.d WHERE t.day IS NULL",
    f"SELECT COUNT(*) AS n FROM visits WHERE wait > (SELECT AVG(n) / 10 FROM {BY_DAY})",
]
THE_SAME = [
    f"SELECT SUM(n) AS total FROM {BY_DAY}",
    f"SELECT MAX(n) AS most FROM {BY_DAY}",
    f"SELECT day, n / SUM(n) OVER () AS share FROM {BY_DAY}",
    f"SELECT day, RANK() OVER (ORDER BY n DESC) AS place FROM {BY_DAY}",
    f"SELECT day, 2 * n AS twice FROM {BY_DAY} ORDER BY twice DESC LIMIT 3",
    f"SELECT day, n FROM {BY_DAY} ORDER BY n DESC LIMIT 3",
    f"SELECT g.d, COALESCE(t.n, 0) AS n FROM generate_series(0, 19) AS g(d) LEFT JOIN {BY_DAY} ON t.day = g.d",
    "SELECT day, COUNT(*) AS n FROM visits GROUP BY ROLLUP (day)",
    "SELECT day, COUNT(*) AS n FROM visits GROUP BY day",
]


@pytest.fixture
def visits(tmp_path):
    """Fourteen of twenty days have a hundred visits and more; the others none."""
    rows = [(day, "AB"[turn % 2], turn % 61) for day in OPEN_DAYS for turn in range(100 + day)]
    (tmp_path / "visits.toml").write_text(DOMAIN)
    table = pd.DataFrame(rows, columns=["day", "ward", "wait"])
    place = {"table": table, "domain": tmp_path / "visits.toml"}
    return Vault.init(tmp_path / "vault", **place, epsilon=1_000, neighbours="add-remove")


def said(reply):
    return [note for note in reply.notes if "empty" in note or "nobody is in" in note]


@pytest.mark.parametrize("sql", [one.format(having="") for one in DIFFERENT])
def test_where_empty_groups_change_what_comes_out_it_is_said_once_with_what_leaves_them_out(visits, sql):
    told = visits.explain(sql, scale=2)
    assert len(said(told)) == 1
    answer = visits.ask(sql, scale=2)
    [note] = said(answer)
    assert "HAVING COUNT(*) > 6 " in note
    assert " of 20 groups" in note or "come first" in note
    assert said(visits.explain(sql, scale=2)), "released counts still cannot tell them from empty"


@pytest.mark.parametrize("sql", [one.format(having="HAVING COUNT(*) > 6") for one in DIFFERENT])
def test_what_the_note_says_to_write_leaves_them_out_and_the_note_with_them(visits, sql):
    assert not said(visits.ask(sql, scale=2))


def test_a_bound_within_the_noise_does_not_leave_them_out(visits):
    answer = visits.ask(DIFFERENT[0].format(having="HAVING COUNT(*) > -3"), scale=2)
    assert "HAVING COUNT(*) > 6 " in said(answer)[0]


@pytest.mark.parametrize("sql", [one.format(having="") for one in DIFFERENT])
def test_a_where_within_which_all_groups_occur_needs_no_note(visits, sql):
    narrowed = sql.replace("FROM visits GROUP BY", "FROM visits WHERE day >= 6 GROUP BY").replace("(0, 19)", "(6, 19)")
    assert not said(visits.ask(narrowed, scale=2))
    assert not said(visits.explain(narrowed, scale=2)), "counts were released that tell them from empty"


@pytest.mark.parametrize("sql", [one.format(having="") for one in THE_SAME])
def test_where_they_change_nothing_nothing_is_said(visits, sql):
    assert not said(visits.explain(sql, scale=2))
    assert not said(visits.ask(sql, scale=2))


def test_averages_and_sums_tell_that_a_group_occurs_too(visits):
    of_means = "SELECT AVG(w) AS mean FROM (SELECT day, AVG(wait) AS w FROM visits {where} GROUP BY day)"
    assert not said(visits.ask(of_means.format(where="WHERE day >= 6"), scale=2))
    assert any(" of 20 groups" in note for note in said(visits.ask(of_means.format(where=""), scale=2)))
