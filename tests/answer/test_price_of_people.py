"""What all rows of a person pay for together costs a part of what each would pay: the usual noise, `within` and what is
offered instead of it know that."""

import re
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.errors import BudgetExceeded
from discreet.vault import Vault

K = 5
DOMAIN = """\
name = "visits"
null_ids = "drop"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "a test"
"""
COUNT = "SELECT COUNT(*) FROM visits"
PEOPLE = "SELECT COUNT(DISTINCT patient) FROM visits"
BY_ROWS = "SELECT n, COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) GROUP BY n"
SUMMED = "SELECT SUM(LEAST(n, 3)) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)"
BUDGETS = [{"epsilon": 1}, {"rho": 1}, {"mu": 1}, {"epsilon": 1, "delta": "1e-6"}]


def made(tmp_path, **budget):
    (tmp_path / "visits.toml").write_text(DOMAIN)
    table = pa.table({"patient": [i % 97 for i in range(400)], "age": [i * 7 % 10 for i in range(400)]})
    return Vault.init(tmp_path / "vault", table=table, domain=tmp_path / "visits.toml", id="patient", max_rows=K,
                      **{"neighbours": "replace", **budget})  # fmt: skip


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("sql", [PEOPLE, BY_ROWS, SUMMED])
def test_the_usual_noise_costs_the_usual_share_and_is_so_much_less(tmp_path, budget, sql):
    vault = made(tmp_path, **budget)
    told, count = vault.explain(sql), vault.explain(COUNT)
    usual = vault.ledger.budget.total / 100
    unit = vault.ledger.budget.amount_of(1)  # what is charged is whole ones, rounded up
    assert 0.999 * usual < told.cost <= usual + unit
    assert 0.999 * usual < count.cost <= usual + unit
    [people], [rows] = told.forecasts, count.forecasts
    most = 3 if sql == SUMMED else 1  # of one person
    assert people.scale == pytest.approx(most * rows.scale / K, rel=0.01)
    assert people.halfwidth == pytest.approx(most * rows.halfwidth / K, abs=3)
    assert vault.ask(sql).cost == told.cost


def test_some_of_a_persons_rows_can_move_a_line_twice_where_people_come_and_go(tmp_path):
    vault = made(tmp_path, epsilon=1, neighbours="add-remove")
    parts = [
        vault.explain(sql).forecasts[0].scale / vault.explain(COUNT).forecasts[0].scale for sql in (PEOPLE, BY_ROWS)
    ]
    assert parts == pytest.approx([1 / K, 2 / K])


def test_a_part_of_the_table_is_charged_by_the_row_and_has_the_usual_noise(tmp_path):
    vault = made(tmp_path, epsilon=1)
    some = vault.explain(f"{PEOPLE} WHERE age > 3")
    assert some.cost == vault.explain(f"{COUNT} WHERE age > 3").cost
    assert some.forecasts[0].scale == vault.explain(COUNT).forecasts[0].scale


@pytest.mark.parametrize(("budget", "power"), [*zip(BUDGETS, [1, 2, 2, 2], strict=True)])
def test_within_a_bound_people_cost_a_part_of_what_rows_cost(tmp_path, budget, power):
    vault = made(tmp_path, **budget)
    people, rows = (vault.explain(sql, within=200).cost for sql in (PEOPLE, COUNT))
    assert float(people / rows) == pytest.approx(K**-power, rel=1e-3)


def test_the_least_noise_that_a_policy_allows_is_least_of_people_too(tmp_path):
    vault = made(tmp_path, epsilon=1)
    text = (vault.path / "vault.toml").read_text()
    (vault.path / "vault.toml").write_text(text.replace("# min_scale = 10 ", "min_scale = 300 "))
    least = Vault.open(vault.path)
    assert least.explain(PEOPLE).forecasts[0].scale == 300
    assert vault.explain(PEOPLE).forecasts[0].scale < 300


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_offered_instead_is_granted_and_what_is_much_sharper_is_not(tmp_path, budget):
    vault = made(tmp_path, **budget)
    with pytest.raises(BudgetExceeded) as refused:
        vault.ask(PEOPLE, within=1, relax=False)
    offered = Fraction(re.search(r"within ([\d.]+)", str(refused.value).split("allows", 1)[1])[1])
    with pytest.raises(BudgetExceeded):
        vault.explain(PEOPLE, within=offered * 4 / 5, relax=False)
    assert vault.ask(PEOPLE, within=offered, relax=False).cost <= vault.ledger.budget.total
