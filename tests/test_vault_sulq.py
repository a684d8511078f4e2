"""A SuLQ database: T queries about a public roster, ever, whoever asks and however often it is opened."""

import json
import multiprocessing
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import (
    BudgetExceeded,
    DomainError,
    EngineError,
    InvalidBudget,
    PartyError,
    TableError,
    UnsupportedQuery,
    VaultError,
)
from discreet.noise.law import Binomial
from discreet.vault import Vault

DOMAIN = """\
name = "hospital"
[attributes.smoker]
kind = "category"
values = ["false", "true"]
source = "a questionnaire"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a registry"
"""
pytestmark = pytest.mark.usefixtures("hospital")

N = 2000
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def hospital(tmp_path, monkeypatch):
    """A working directory with 2,000 people, every third of them a smoker, and a roster with other spellings."""
    monkeypatch.chdir(tmp_path)
    people = {"person": range(N), "smoker": [i % 3 == 0 for i in range(N)], "age": [i % 100 for i in range(N)]}
    pq.write_table(pa.table(people), "hospital.parquet")
    pd.DataFrame({"id": [f"{i:06d}" for i in range(N)]}).to_csv("roster.csv", index=False)
    (tmp_path / "hospital.toml").write_text(DOMAIN)
    return tmp_path


def make(path="vault", **change):
    asked = {"table": "hospital.parquet", "domain": "hospital.toml", "id": "person", "roster": "roster.csv",
             "queries": 20, "delta": 1}  # fmt: skip
    return Vault.init(path, **{**asked, **change})


def test_an_answer_has_noise_of_r_coins_around_the_count(monkeypatch):
    vault = make()
    drawn = []
    sample = Binomial.sample

    def spied(law, size, bits):
        drawn.append((law, sample(law, size, bits)))
        return drawn[-1][1].copy()

    monkeypatch.setattr(Binomial, "sample", spied)
    answer = vault.sulq.ask("everyone", "smoker AND age > 50")
    exact = sum(i % 3 == 0 and i % 100 > 50 for i in range(N))
    [(law, noise)] = drawn
    assert law == vault.ledger.budget.law
    assert answer.value == exact + int(noise[0])
    assert answer.variance == law.trials / 4
    assert answer.sizes.tolist() == [N]
    low, high = answer.interval(0.999999)
    assert low <= exact <= high
    assert (high - low) / 2 == answer.halfwidth(0.999999)
    assert answer.guarantee.asked == 1
    assert "20 queries" in str(answer.guarantee)
    vault.check_receipt(answer.receipt)


def test_many_subsets_are_one_charge_and_as_many_queries():
    vault = make()
    answer = vault.sulq.ask_all([(1, "1/2"), (2, "1/2"), ["7", "0008", "stranger"], "everyone"], "NOT smoker")
    assert answer.values.shape == answer.sizes.shape == (4,)
    assert answer.sizes.tolist()[2:] == [2, N]
    assert answer.queries_left == vault.party().queries_left == 16
    assert [entry["kind"] for entry in vault.entries()] == ["init", "charge", "record"]
    assert vault.budget().to_json()["left"] == "16"
    with pytest.raises(UnsupportedQuery, match="4 counts"):
        _ = answer.value


def test_one_person_alone_is_answered_for_the_noise_covers_them():
    vault = make(queries=400)
    answers = vault.sulq.ask_all([["3"]] * 400, "smoker").values
    sigma = vault.ledger.budget.law.scale
    assert abs(answers.mean() - 1) < 5 * sigma / 20
    assert answers.std() == pytest.approx(sigma, rel=0.2)


def test_the_last_query_is_the_last_for_ever():
    make().sulq.ask_all(["everyone"] * 19, "smoker")
    vault = Vault.open("vault")
    with pytest.raises(BudgetExceeded, match="1 are left, and this asks 2"):
        vault.sulq.ask_all(["everyone"] * 2, "smoker")
    vault.sulq.ask("everyone", "smoker")
    for again in (vault, Vault.open("vault")):
        with pytest.raises(BudgetExceeded, match="20 queries in all, ever; 0 are left"):
            again.sulq.ask("everyone", "age > 3")
    pq.write_table(pq.read_table("hospital.parquet").slice(0, 100), "fewer.parquet")
    again.refresh("fewer.parquet")
    with pytest.raises(BudgetExceeded):
        again.sulq.ask("everyone", "smoker")
    assert Vault.open("vault").budget().left == 0


def ask_until_refused(vault, seed):
    answered = 0
    while True:
        try:
            vault.sulq.ask((seed, "1/2"), "smoker")
        except BudgetExceeded:
            return answered
        answered += 1


def test_threads_and_processes_at_once_get_t_answers_together():
    vault = make(queries=30)
    out = FORK.SimpleQueue()
    children = [FORK.Process(target=lambda i=i: out.put(ask_until_refused(Vault.open("vault"), i))) for i in range(2)]
    for child in children:
        child.start()
    mine = []
    threads = [threading.Thread(target=lambda: mine.append(ask_until_refused(vault, 7))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for worker in (*threads, *children):
        worker.join()
    assert sum(mine) + out.get() + out.get() == 30
    assert vault.budget().spent == 30


def test_a_failure_keeps_the_charge_and_can_be_completed(monkeypatch):
    vault = make()
    with monkeypatch.context() as broken:
        broken.setattr(Binomial, "sample", lambda *_: 1 / 0)
        with pytest.raises(EngineError, match="charge 2 stands"):
            vault.sulq.ask((1, "1/2"), "smoker")
    assert vault.party().queries_left == 19
    [release] = vault.complete()
    assert release.answers[0].values.shape == (1,)
    assert vault.party().queries_left == 19
    assert vault.release(2).value.tolist() == release.value.tolist()


def test_what_is_not_understood_costs_nothing():
    vault = make()
    bad = [
        (lambda: vault.sulq.ask("everyone", "weight > 3"), DomainError, "no attribute 'weight'"),
        (lambda: vault.sulq.ask("everyone", "age"), UnsupportedQuery, "alone is not a condition"),
        (lambda: vault.sulq.ask("everyone", "smoker GROUP BY age"), UnsupportedQuery, "GROUP"),
        (lambda: vault.sulq.ask("everyone", "smoker LIMIT 1"), UnsupportedQuery, "LIMIT"),
        (lambda: vault.sulq.ask("everyone", "TRUE UNION SELECT COUNT(*) FROM hospital"), UnsupportedQuery, "UNION"),
        (lambda: vault.sulq.ask("everyone", ""), UnsupportedQuery, "understood"),
        (lambda: vault.sulq.ask("nobody", "smoker"), UnsupportedQuery, "a subset is"),
        (lambda: vault.sulq.ask_all([], "smoker"), UnsupportedQuery, "1 to"),
        (lambda: vault.ask("SELECT COUNT(*) FROM hospital"), UnsupportedQuery, "sulq ask"),
        (lambda: vault.explain("SELECT COUNT(*) FROM hospital"), UnsupportedQuery, "sulq ask"),
        (lambda: vault.measure(vault.count(), scale=100), UnsupportedQuery, "sulq ask"),
        (lambda: vault.cubes.plan(epsilon=1), UnsupportedQuery, "sulq ask"),
        (lambda: vault.facts.add("SELECT COUNT(*) FROM hospital", 2000), UnsupportedQuery, "sulq ask"),
    ]
    for asking, kind, words in bad:
        with pytest.raises(kind, match=words):
            asking()
    assert vault.party().queries_left == 20


def test_other_vaults_refuse_counts_over_subsets():
    vault = Vault.init("pure", table="hospital.parquet", domain="hospital.toml", epsilon=1, neighbours="replace")
    with pytest.raises(UnsupportedQuery, match="budget of queries"):
        vault.sulq.ask("everyone", "smoker")
    with pytest.raises(PartyError, match="no budget of queries"):
        vault.party()


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"epsilon": 1}, InvalidBudget, "no epsilon"),
        ({"neighbours": "replace"}, InvalidBudget, "neighbours"),
        ({"delta": None}, InvalidBudget, "all three"),
        ({"roster": None}, InvalidBudget, "all three"),
        ({"queries": None}, InvalidBudget, "all three"),
        ({"id": None}, DomainError, "--id"),
        ({"id": "name"}, DomainError, "no column 'name'"),
        ({"max_rows": 3}, DomainError, "one row each"),
        ({"roster": "none.csv"}, TableError, "no file none.csv"),
        ({"queries": 10**7, "delta": "0.001"}, InvalidBudget, "coins"),
        ({"calibration": "rough"}, InvalidBudget, "exact or paper"),
    ],
)
def test_a_database_that_makes_no_sense_is_refused_and_not_there(hospital, change, kind, words):
    with pytest.raises(kind, match=words):
        make(**change)
    assert not (hospital / "vault").exists()


def test_the_roster_is_journalled_and_missed_where_it_was_exchanged(hospital):
    vault = make()
    kept = vault.ledger.header["roster"]
    assert kept == {"people": N, "fingerprint": vault.party().roster}
    assert (hospital / "vault/roster.bin").stat().st_size == 8 * N
    (hospital / "vault/roster.bin").write_bytes(b"\0" * 8 * N)
    with pytest.raises(VaultError, match="not the roster"):
        Vault.open("vault").sulq.ask("everyone", "smoker")
    assert Vault.open("vault").party().queries_left == 20


def test_two_parties_see_the_same_people_behind_a_seed(hospital):
    employer = pd.DataFrame({"person": [f" {i}.0" for i in reversed(range(N))], "absent": [i % 5 for i in range(N)]})
    employer.to_csv("employer.csv", index=False)
    (hospital / "employer.toml").write_text(
        'name = "employer"\n[attributes.absent]\nkind = "integer"\nlow = 0\nhigh = 4\nsource = "a file"\n'
    )
    first, second = make(), make("employer", table="employer.csv", domain="employer.toml")
    assert first.party().roster == second.party().roster
    subsets = [(seed, "1/3") for seed in range(5)]
    sizes = [vault.sulq.ask_all(subsets, predicate).sizes for vault, predicate in ((first, "smoker"), (second, "TRUE"))]
    assert np.array_equal(*sizes)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_line_makes_asks_and_tells():
    made = run("init", "vault", "--table", "hospital.parquet", "--domain", "hospital.toml", "--id", "person",
               "--roster", "roster.csv", "--queries", 20, "--delta", 1)  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "(δ, T)-privacy" in made.output
    one = run("sulq", "ask", "vault", "smoker AND age > 50")
    assert "everyone" in one.output
    assert "19 left, ever" in one.output
    many = json.loads(run("sulq", "ask", "vault", "smoker", "--seed", 1, "--seed", 2, "--ids", "7,8", "--json").output)
    assert many["sizes"][2] == 2
    assert many["queries_left"] == 16
    assert many["guarantee"]["kind"] == "queries"
    assert len(many["values"]) == 3
    assert "4 of 20 queries" in run("budget", "vault").output
    assert "2,000" in run("describe", "vault").output
    assert "over everyone" in " ".join(run("ledger", "show", "vault").output.split())
    assert "seed 1, rate 1/2" in run("release", "show", "vault", 4).output
    assert "queries" in run("release", "list", "vault").output
    refused = run("ask", "vault", "SELECT COUNT(*) FROM hospital")
    assert refused.exit_code == 1
    assert run("init", "other", "--table", "hospital.parquet", "--domain", "hospital.toml").exit_code == 1


def test_planning_and_looking_leave_the_journal_as_it_is():
    vault = make(queries=200)
    head = vault.ledger.head
    party = vault.party()
    assert (party.queries_left, party.people) == (200, N)
    assert vault.sulq.plan(["smoker", "old: age > 50"], subsets=16).queries > 0
    assert (vault.budget().left, vault.describe()["people"]) == (200, N)
    assert vault.ledger.head == head


def test_the_policy_limits_how_many_queries_one_question_takes():
    vault = make()
    settings = vault.path / "vault.toml"
    settings.write_text(settings.read_text().replace("# max_per_query = 0.1 ", "max_per_query = 3 "))
    vault = Vault.open("vault")
    with pytest.raises(BudgetExceeded, match="a question may spend T = 3 here, and this one needs T = 4"):
        vault.sulq.ask_all([(seed, 0.5) for seed in range(4)], "smoker")
    assert vault.budget().left == 20
    vault.sulq.ask_all([(seed, 0.5) for seed in range(3)], "smoker")
    assert vault.budget().left == 17
