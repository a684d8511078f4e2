"""One statement over several tables of a vault: each private block about one, all planned, charged and explained
together."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.policy import Policy
from discreet.audit.report import audit_vault
from discreet.errors import BudgetExceeded, EngineError, InvalidNoise, QuotaExceeded, UnsupportedQuery
from discreet.ledger.asker import Asker
from discreet.release.gate import Gate
from tests.server.hospital import make_hospital
from tests.test_vault_tables import EXACT, joined

RATIO = "SELECT (SELECT COUNT(*) FROM encounters) * 1.0 / (SELECT COUNT(*) FROM patients) AS visits_of_each"
BY_SEX = (
    "WITH e AS (SELECT sex, COUNT(*) AS n FROM encounters GROUP BY sex), p AS (SELECT sex, COUNT(*) AS m FROM patients "
    "GROUP BY sex) SELECT e.sex, n, m, n / m AS each FROM e JOIN p ON e.sex = p.sex ORDER BY e.sex"
)
THREE = (
    "SELECT ward, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM patients) AS a, "
    "(SELECT COUNT(*) FROM prescriptions WHERE drug = 'x') AS b FROM encounters GROUP BY ward ORDER BY ward"
)


@pytest.fixture
def vault(tmp_path):
    return make_hospital(tmp_path, epsilon=10**6)


def numbers(answer, column):
    return [row.value for row in answer.rows if row.column == column]


def test_a_statement_over_several_tables_is_what_it_says(vault):
    patients, visits, drugs = joined()
    assert vault.ask(RATIO, scale=EXACT).value == pytest.approx(len(visits) / len(patients))
    by_sex, answer = visits.groupby("sex").size(), vault.ask(BY_SEX, scale=EXACT)
    assert [row.labels[0] for row in answer.rows if row.column == "each"] == ["F", "M"]
    assert numbers(answer, "each") == pytest.approx(list(by_sex / patients.groupby("sex").size()))
    answer = vault.ask(THREE, scale=EXACT)
    assert numbers(answer, "a") == pytest.approx(list(visits.groupby("ward").size() / len(patients)))
    kept = drugs.groupby("patient").size().clip(upper=5).sum()
    both = vault.ask("SELECT drug, COUNT(*) FROM prescriptions GROUP BY drug", scale=EXACT)
    assert sum(row.value for row in both.rows) == pytest.approx(kept, abs=1)
    assert numbers(answer, "b") == pytest.approx([both.rows[0].value] * 3, abs=1)


@pytest.mark.parametrize("budget", [{"epsilon": 4}, {"rho": "1/2"}, {"mu": 1}, {"epsilon": 4, "delta": "1e-6"}])
@pytest.mark.parametrize("sql", [RATIO, BY_SEX, THREE])
def test_it_spends_what_explain_says_to_the_unit_and_the_audit_adds_up_the_same(tmp_path, budget, sql):
    vault = make_hospital(tmp_path, **{"epsilon": None, **budget})
    for wish in ({"scale": 40}, {"within": 100}, {}):
        told, before = vault.explain(sql, **wish), vault.budget().spent
        assert vault.budget().spent == before
        answer = vault.ask(sql, **wish)
        assert told.is_exact
        assert answer.cost == told.cost
        assert vault.budget().spent <= before + told.cost
    assert vault.ask(sql).cost == 0
    audit = audit_vault(vault.path)
    assert [check for check in audit.checks if check.findings] == []
    assert audit.spent == vault.budget().spent


def test_what_it_costs_is_the_most_that_one_person_pays_in_all_its_tables(tmp_path):
    vault = make_hospital(tmp_path)
    of_all = "SELECT (SELECT COUNT(*) FROM encounters WHERE {}) / (SELECT COUNT(*) FROM patients WHERE {}) AS r"
    women, men = "sex = 'F'", "sex = 'M'"
    both, apart = (vault.explain(of_all.format(women, whose), scale=30).cost for whose in (women, men))
    assert both == Fraction(4, 30)  # three rows and one
    assert apart == Fraction(3, 30)  # nobody is in both
    vault.ask(of_all.format("sex = 'F'", "sex = 'M'"), scale=30)
    assert vault.budget().spent == Fraction(3, 30)
    charges = [entry["body"]["table"] for entry in vault.entries() if entry["kind"] == "charge"]
    assert sorted(charges) == ["encounters", "patients"]


def test_its_interval_is_that_of_a_ratio_of_independent_noises(vault):
    """Against draws of our own: the two tables' numbers share no noise."""
    answer = vault.ask(RATIO, scale=8)
    visits = vault.ask("SELECT COUNT(*) FROM encounters", scale=8).value
    people = vault.ask("SELECT COUNT(*) FROM patients", scale=8).value
    draw = np.random.default_rng(3)
    drawn = (visits - draw.laplace(0, 8, 200_000)) / (people - draw.laplace(0, 8, 200_000))
    low, high = answer.interval()
    assert answer.value == pytest.approx(visits / people)
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), rel=0.08)
    sum_of = "SELECT (SELECT COUNT(*) FROM encounters) + (SELECT COUNT(*) FROM patients) AS s"
    low, high = vault.ask(sum_of, scale=8).interval()
    both = draw.laplace(0, 8, 200_000) + draw.laplace(0, 8, 200_000)
    assert high - low == pytest.approx(np.ptp(np.quantile(both, [0.025, 0.975])), rel=0.1)


def test_numbers_of_different_tables_are_no_part_of_one_another(vault):
    answer = vault.ask(
        "SELECT 100.0 * (SELECT COUNT(*) FROM encounters WHERE sex = 'F') / "
        "(SELECT COUNT(*) FROM patients WHERE sex = 'F') AS share",
        scale=EXACT,
    )
    assert answer.value > 150  # a share of its own total would be cut to 100


def test_what_was_released_of_one_table_is_not_bought_again(tmp_path):
    vault = make_hospital(tmp_path)
    vault.ask("SELECT COUNT(*) FROM encounters", scale=30)
    assert vault.explain(RATIO, scale=30).cost == Fraction(1, 30)
    assert vault.ask(RATIO, scale=30).cost == Fraction(1, 30)
    assert vault.ledger.charges == 2


def test_each_table_fits_and_both_do_not_so_nothing_is_spent(tmp_path):
    vault = make_hospital(tmp_path, epsilon=1)
    half = RATIO.replace("encounters", "encounters WHERE sex = 'F'").replace("patients)", "patients WHERE sex = 'F')")
    with pytest.raises(BudgetExceeded):
        vault.explain(half, scale=3.5)  # 6/7 of ε by one and 2/7 by the other
    with pytest.raises(BudgetExceeded):
        vault.ask(half, scale=3.5)
    assert vault.ledger.charges == 0
    vault.ask(half.replace("patients WHERE sex = 'F'", "patients WHERE sex = 'M'"), scale=3.5)
    assert vault.budget().spent == Fraction(6, 7)


def test_a_quota_and_a_limit_of_a_question_hold_for_its_tables_together(tmp_path):
    vault = make_hospital(tmp_path)
    bo = vault.asked_by(Asker("bo", Fraction(1, 10)))
    with pytest.raises(QuotaExceeded):
        bo.ask(RATIO, scale=35)
    assert bo.ask(RATIO, scale=40).cost == Fraction(1, 10)
    before = vault.ledger.charges
    for name in vault.tables:
        over = vault._all[name]
        over.policy = Policy.parse({"max_per_query": "1/10"})
    with pytest.raises(BudgetExceeded, match="over its tables together"):
        vault.ask(RATIO.replace("encounters)", "encounters WHERE age < 5)"), scale=31)
    for name in vault.tables:
        vault._all[name].policy = Policy.parse({"min_scale": "100"})
    with pytest.raises(InvalidNoise):
        vault.ask(RATIO, scale=2)
    assert vault.ledger.charges == before


def test_an_error_after_the_first_tables_charge_says_what_was_spent(tmp_path, monkeypatch):
    vault = make_hospital(tmp_path)
    measured, asked = [], Gate.measure

    def fails(gate, plan, *more):
        measured.append(gate.ledger.table)
        if len(measured) == 2:
            raise EngineError("the disk is full")
        return asked(gate, plan, *more)

    monkeypatch.setattr(Gate, "measure", fails)
    with pytest.raises(EngineError, match=r"before that this question spent ε .* and what that bought is public"):
        vault.ask(RATIO, scale=30)
    monkeypatch.undo()
    assert sorted(measured) == ["encounters", "patients"]
    assert vault.ask(RATIO, scale=30).cost < Fraction(4, 30)
    assert vault.ledger.charges == 2


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"estimate": "modelled"}, "the model of everything public is of one table"),
        ({"relax": True}, "no number of a statement over several tables is relaxed: leave out relax"),
        ({"weights": {"age": 3}}, "leave out weights"),
        ({"compound_size": 2}, "leave out compound_size"),
    ],
)
def test_what_has_no_meaning_over_several_tables_is_refused(vault, wish, words):
    for verb in (vault.ask, vault.explain):
        with pytest.raises(UnsupportedQuery, match=words):
            verb(RATIO, **wish)


def test_averages_within_a_bound_wait_for_a_count_of_their_own(vault):
    sql = "SELECT (SELECT AVG(age) FROM encounters) - (SELECT AVG(age) FROM patients) AS d"
    with pytest.raises(UnsupportedQuery, match="ask for that of encounters by itself first"):
        vault.ask(sql, within=1)
    _, visits, _ = joined()
    assert vault.ask(sql, scale=EXACT).value == pytest.approx(visits.age.mean() - joined()[0].age.mean(), abs=0.01)


def test_look_up_tables_join_results_of_two_tables(vault, tmp_path):
    (tmp_path / "names.csv").write_text("code,name\nF,women\nM,men\n")
    vault.lookups.add(tmp_path / "names.csv", name="names", key="code")
    answer = vault.ask(
        "SELECT name, n, m FROM (SELECT sex, COUNT(*) AS n FROM encounters GROUP BY sex) e JOIN (SELECT sex, "
        "COUNT(*) AS m FROM patients GROUP BY sex) p ON e.sex = p.sex JOIN names ON names.code = e.sex ORDER BY name",
        scale=EXACT,
    )
    assert [row.labels[0] for row in answer.rows if row.column == "n"] == ["men", "women"]


def test_people_by_their_rows_stand_beside_all_people(vault):
    sql = (
        "SELECT 1.0 * (SELECT COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM encounters GROUP BY patient) WHERE "
        "n >= 2) / (SELECT COUNT(*) FROM patients) AS part"
    )
    patients, visits, _ = joined()
    often = (visits.groupby("patient").size() >= 2).sum()
    assert vault.ask(sql, scale=EXACT).value == pytest.approx(often / len(patients), abs=0.02)


def test_empty_groups_are_announced_as_in_one_table(vault):
    sql = (
        "SELECT (SELECT AVG(n) FROM (SELECT age, COUNT(*) AS n FROM encounters WHERE ward = 'a' GROUP BY age)) / "
        "(SELECT COUNT(*) FROM patients) AS r"
    )
    assert any("groups that nobody is in" in note for note in vault.explain(sql, scale=50).notes)


def test_a_statement_whose_other_table_goes_unread_is_about_the_one(tmp_path):
    vault = make_hospital(tmp_path)
    sql = "WITH p AS (SELECT COUNT(*) AS m FROM patients) SELECT COUNT(*) AS n FROM encounters"
    assert vault.explain(sql, scale=30).cost == Fraction(3, 30)
    assert vault.ask(sql, scale=30).cost == Fraction(3, 30)
    assert [release.table for release in vault.table("encounters").releases()] == ["encounters"]
