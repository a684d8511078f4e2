"""MEDIAN, MIN, MAX and QUANTILE of expressions, against DuckDB's own distribution of the expression."""

from fractions import Fraction

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.audit.report import audit_vault
from discreet.errors import UnsupportedQuery

EXACTLY = {"scale": "0.01"}
CALLS = {
    "MEDIAN({})": Fraction(1, 2),
    "MIN({})": Fraction(0),
    "MAX({})": Fraction(1),
    "QUANTILE({}, 0.3)": Fraction(3, 10),
    "PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY {})": Fraction(3, 4),
    "PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY {})": Fraction(1, 10),
}
NUMBERS = [
    "age * 2",
    "age % 4 * 3",
    "9 - age",
    "age / 4",
    "CASE WHEN age < 3 THEN 1 WHEN sex = 'F' THEN age ELSE 20 END",
    "CASE WHEN sex = 'M' THEN age END",
    "age + LENGTH(sex)",
    "ABS(age - 5)",
    "CASE WHEN income < 20 THEN 0 ELSE age END",
]
IN_BINS = ["income / 10", "-income", "100 - income * 2", "ROUND(income / 7)", "3 + FLOOR(income)", "income / -4"]


@pytest.fixture(scope="module")
def truth(people):
    engine = duckdb.connect()
    engine.register("people", people)
    return engine


@pytest.fixture(scope="module")
def vault(people, tmp_path_factory):
    from discreet.vault import Vault

    from .conftest import DOMAIN

    home = tmp_path_factory.mktemp("quantiles")
    (home / "people.toml").write_text(DOMAIN)
    place = {"table": people, "domain": home / "people.toml"}
    return Vault.init(home / "vault", **place, neighbours="add-remove", epsilon=6_000_000)


def quantiles(truth, expression, level, where):
    """The values that hold the rank; a rank is at least one row from either end."""
    condition = f"({expression}) IS NOT NULL AND ({where})"
    counted = f"SELECT {expression} AS v, COUNT(*) FROM people WHERE {condition} GROUP BY v ORDER BY v"
    lines, below, found = truth.execute(counted).fetchall(), 0, set()
    total = sum(count for _, count in lines)
    rank = min(max(level * total, 1), total - 1)
    for value, count in lines:
        if below <= rank <= below + count:
            found.add(float(value))
        below += count
    return found


@given(
    call=st.sampled_from([*CALLS]),
    expression=st.sampled_from(NUMBERS),
    filtered=st.sampled_from(["TRUE", "age > 2", "sex = 'F'", "sex IS NULL OR age < 5"]),
    by=st.sampled_from([None, "sex", "age % 2"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_without_noise_it_is_a_value_that_duckdb_has_at_that_rank(vault, truth, call, expression, filtered, by):
    quantile = f"{call.format(expression)} FILTER (WHERE {filtered}) AS q"
    sql = f"SELECT {by + ' AS g, ' if by else ''}{quantile} FROM people{f' GROUP BY {by}' if by else ''}"
    for row in vault.ask(sql, **EXACTLY).rows:
        own = "TRUE" if not by else f"({by}) IS NULL" if row.labels[0] == "(missing)" else f"({by}) = '{row.labels[0]}'"
        expected = quantiles(truth, expression, CALLS[call], f"({filtered}) AND {own}")
        assert (row.value in expected) if expected else row.value is None
        assert row.value is None or row.low <= row.value <= row.high


@pytest.mark.parametrize("expression", IN_BINS)
@pytest.mark.parametrize("call", CALLS)
def test_what_rises_or_falls_with_a_column_in_bins_is_within_its_bin(vault, truth, call, expression):
    where = "sex = 'F'"
    [row] = vault.ask(f"SELECT {call.format(expression)} FILTER (WHERE {where}) AS q FROM people", **EXACTLY).rows
    expected = quantiles(truth, expression, CALLS[call], where)
    assert any(row.low <= value <= row.high for value in expected)


def test_a_quantile_of_an_expression_costs_what_one_of_a_column_does_and_is_free_again(make_vault):
    vault = make_vault(epsilon=10)
    plain = vault.explain("SELECT MEDIAN(age) FROM people", scale=20)
    said = vault.explain("SELECT MEDIAN(age % 4) AS m FROM people", scale=20)
    first = vault.ask("SELECT MEDIAN(age % 4) AS m FROM people", scale=20)
    assert plain.cost == said.cost == first.cost
    again = vault.ask("SELECT MEDIAN(age % 4) AS m FROM people", scale=20)
    assert (again.cost, again.value) == (0, first.value)
    report = audit_vault(vault)
    assert report.holds


def test_counts_by_the_expression_narrow_its_interval(make_vault):
    vault = make_vault(epsilon=100)
    sql = "SELECT MEDIAN(age * 2) AS m FROM people"
    [wide] = vault.ask(sql, scale=5).rows
    assert (wide.low, wide.high) == (0, 18)
    vault.ask("SELECT age * 2, COUNT(*) FROM people GROUP BY age * 2", scale=5)
    [narrow] = vault.ask(sql, scale=5).rows
    assert wide.low < narrow.low <= narrow.value <= narrow.high < wide.high


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("sex || 'x'", "takes numbers"),
        ("age > 3", "takes numbers"),
        ("income * income", "known in bins only"),
        ("income + age", "known in bins only"),
        ("COUNT(*)", "COUNT is not supported here"),
    ],
)
def test_what_has_no_ranks_is_refused_and_spends_nothing(make_vault, of, words):
    vault = make_vault(epsilon=10)
    with pytest.raises(UnsupportedQuery, match=words):
        vault.ask(f"SELECT MEDIAN({of}) AS m FROM people", scale=20)
    assert not vault.ledger.charges
