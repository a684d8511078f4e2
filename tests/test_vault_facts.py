"""Facts in a vault: accounted for, never compared with the table, and used for cubes that agree with them."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import BudgetExceeded, InvalidFact, JournalError, UnsupportedQuery
from discreet.facts import account
from discreet.release import archive
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.age]
kind = "integer"
low = 0
high = 6
source = "form"
[attributes.salary]
kind = "category"
values = ["a", "b", "c", "d", "e"]
source = "form"
"""
NAMES = ("sex", "age", "salary")
WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    size = 2000
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], size),
            "age": rng.integers(0, 7, size),
            "salary": rng.choice(list("abcde"), size),
        }
    )


@pytest.fixture
def make(tmp_path, people):
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(DOMAIN)

    def vault(name="vault", **budget):
        chosen = {"epsilon": 1, "neighbours": "add-remove", **budget}
        return Vault.init(tmp_path / name, table=tmp_path / "people.parquet", domain=tmp_path / "people.toml", **chosen)

    return vault


def exact(people, *names):
    """The true cuboid of some columns."""
    labels = {"sex": ["F", "M"], "age": list(range(7)), "salary": list("abcde")}
    codes = [[labels[name].index(value) for value in people[name].to_pylist()] for name in names]
    counts = np.zeros([len(labels[name]) for name in names], np.int64)
    np.add.at(counts, tuple(codes), 1)
    return counts


def test_with_sex_and_age_public_the_published_cube_agrees_with_both_exactly(make, people):
    vault = make()
    vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    added = vault.facts.add(cuboid=["age"], values=exact(people, "age"))
    assert added.sensitivity == 4
    plan = vault.cubes.plan(epsilon=1, facts="vault")
    cube = vault.cubes.publish(plan)
    assert np.array_equal(cube["sex"], exact(people, "sex"))
    assert np.array_equal(cube["age"], exact(people, "age"))
    assert cube[()] == 2000
    assert cube.variance("sex") == cube.halfwidth("age") == 0
    base = cube["sex", "age", "salary"].to_numpy()
    assert base.sum(axis=(1, 2)) == pytest.approx(exact(people, "sex"))
    assert base.sum(axis=(0, 2)) == pytest.approx(exact(people, "age"))
    # K_gen^Q: Σ 1/λ = ε/S_Q, all of it spent.
    release = vault.release(cube.origin.charge)
    assert sum(1 / m.law.scale for m in release.plan.measurements) == Fraction(1, 4)
    assert release.facts == tuple(fact.number for fact in vault.facts.current())
    assert release.to_json()["facts"] == [2, 3]
    assert cube.guarantee.epsilon == 1
    assert "subject to 2 public facts, S_Q = 4: cuboid sex, cuboid age" in str(cube.guarantee)
    again = vault.cubes.publish(cube.origin.charge)
    assert np.array_equal(again["sex", "salary"], cube["sex", "salary"])
    with pytest.raises(BudgetExceeded):
        vault.measure(vault.count(sex="F"), scale=10**6)


def test_a_saved_cube_knows_what_it_agrees_with(make, people, tmp_path):
    vault = make()
    vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    cube = vault.cubes.publish(vault.cubes.plan(epsilon="1/2", facts="vault", planner="bmax"))
    cube.save(tmp_path / "cube")
    loaded = type(cube).load(tmp_path / "cube")
    assert loaded.plan == cube.plan
    assert loaded.variance("sex") == 0
    assert np.array_equal(loaded["sex"], exact(people, "sex"))


def test_without_asking_for_them_facts_only_raise_the_noise(make, people):
    vault = make()
    vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    plain = vault.cubes.plan(epsilon="1/2", planner="bmax")
    assert plain.known == ()
    assert plain.noise.factor == 2
    with pytest.raises(UnsupportedQuery, match="a cube that agrees with facts is a consistent one"):
        vault.cubes.publish(vault.cubes.plan(epsilon="1/2", facts="vault"), consistent=False)
    assert vault.ledger.head.seq == 2  # nothing was noted
    with pytest.raises(UnsupportedQuery, match='facts is "vault"'):
        vault.cubes.plan(epsilon="1/2", facts="all")


def test_a_plan_made_before_a_fact_is_not_published(make, people):
    vault = make()
    plan = vault.cubes.plan(epsilon="1/2")
    vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    with pytest.raises(UnsupportedQuery, match="plan it again"):
        vault.cubes.publish(plan)
    known = vault.cubes.plan(epsilon="1/4", facts="vault")
    vault.refresh()
    with pytest.raises(UnsupportedQuery, match="plan it again"):
        vault.cubes.publish(known)


def test_a_fact_counts_for_what_was_released_before_it(make):
    vault = make()
    release = vault.measure(vault.count(sex="F"), scale=2)
    assert release.guarantee.epsilon == Fraction(1, 2)
    assert release.facts == ()
    added = vault.facts.add("SELECT COUNT(*) FROM people", 2000)
    assert (added.sensitivity, added.spent, added.exceeded) == (2, 1, False)
    assert vault.release(release.charge).guarantee.epsilon == 1
    assert vault.budget().left == 0
    assert (vault.facts.report().spent, vault.facts.report().left) == (1, 0)
    later = vault.facts.add(WOMEN, 980)
    assert (later.sensitivity, later.spent, later.exceeded) == (2, 1, False)
    more = vault.facts.add("SELECT COUNT(*) FROM people WHERE age = 3", 300, accept=True)
    assert (more.sensitivity, more.spent, more.exceeded) == (4, 2, True)
    assert more.guarantee.epsilon == vault.budget().guarantee.epsilon == 2
    with pytest.raises(BudgetExceeded, match="nothing more is measured"):
        vault.measure(vault.count(sex="M"), scale=10**6)
    assert Vault.open(vault.path).ledger.left(vault.domain.everything) == 0
    assert (vault.facts.report().spent, vault.facts.report().left) == (2, 0)


def test_the_list_of_facts_says_what_is_left_with_them(make):
    vault = make()
    vault.measure(vault.count(sex="F"), scale=8)
    assert (vault.facts.report().spent, vault.facts.report().left) == (Fraction(1, 8), Fraction(7, 8))
    vault.facts.add("SELECT COUNT(*) FROM people", 2000)
    assert (vault.facts.report().spent, vault.facts.report().left) == (Fraction(1, 4), Fraction(3, 4))


def test_a_fact_is_compared_with_releases_and_never_with_the_table(make, monkeypatch):
    vault = make()
    vault.measure(vault.count(sex="F"), scale=10)
    reads = []
    monkeypatch.setattr(Snapshot, "evaluate", lambda *_: reads.append(1))
    added = vault.facts.add(WOMEN, 1_000_000)
    [doubt] = added.doubts
    assert doubt.deviations > 10_000
    assert "standard deviations off" in added.to_json()["warnings"][0]
    assert not vault.facts.add("SELECT COUNT(*) FROM people WHERE age = 1", 17).doubts  # untrue, and nobody can tell
    assert not reads


@pytest.mark.parametrize(
    ("budget", "factors"),
    [
        ({"epsilon": 1, "neighbours": "replace"}, [2, 2, 4]),
        ({"epsilon": None, "rho": 1, "neighbours": "add-remove"}, [1, 4, 16]),
        ({"epsilon": None, "rho": 1, "neighbours": "replace"}, [2, 2, 8]),
        ({"epsilon": 1, "delta": "1e-6", "neighbours": "replace"}, [2, 2, 8]),
    ],
)
def test_in_every_currency_the_limit_is_what_the_facts_leave(make, people, budget, factors):
    vault = make(**budget)
    found = [vault.ledger.budget.factor]
    for name in ("sex", "age"):
        vault.facts.add(cuboid=name, values=exact(people, name))
        found.append(vault.ledger.budget.factor)
    assert found == factors


def test_contradictions_and_repetitions_leave_no_trace(make, people):
    vault = make()
    first = vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    with pytest.raises(InvalidFact, match=r"contradicts fact 2 \(cuboid sex\): the cuboid makes the count \d+, not 7"):
        vault.facts.add(WOMEN, 7)
    with pytest.raises(InvalidFact, match=r"fact 2 \(cuboid sex\) says the same already"):
        vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    vault.facts.add(cuboid=["age"], values=exact(people, "age"))
    with pytest.raises(InvalidFact, match="It is at most 90, and the vault's limit"):
        vault.facts.add(cuboid=["salary"], values=exact(people, "salary"))
    assert [fact.number for fact in vault.facts.current()] == [first.fact.number, 3]


def test_facts_of_an_earlier_table_keep_the_limit_and_say_nothing_of_the_new_one(make, people):
    vault = make()
    vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    vault.facts.add(cuboid=["age"], values=exact(people, "age"))
    vault.refresh()
    assert vault.facts.current() == ()
    assert vault.ledger.budget.factor == 4
    assert vault.cubes.plan(epsilon="1/2", facts="vault").known == ()
    report = vault.facts.report()
    assert [line.current for line in report.facts] == [False, False]
    # People who are in both tables tie their facts together.
    with pytest.raises(InvalidFact, match="cannot be worked out"):
        vault.facts.add(cuboid=["age"], values=exact(people, "age"))
    assert vault.facts.add("SELECT COUNT(*) FROM people", 1234).sensitivity >= 4


def test_large_cuboids_are_kept_beside_the_releases(make, people, monkeypatch):
    monkeypatch.setattr(archive, "JOURNAL_CELLS", 3)
    vault = make()
    vault.facts.add(cuboid=["age", "sex"], values=exact(people, "age", "sex"))
    [kept] = (vault.path / "releases").iterdir()
    assert kept.name.startswith("fact-")
    [fact] = Vault.open(vault.path).facts.current()
    assert np.array_equal(fact.values, exact(people, "sex", "age"))


def test_people_with_several_rows_take_facts_with_their_due_weight(make):
    vault = make(id="age", max_rows=2)
    assert vault.facts.add("SELECT COUNT(*) FROM people", 14).sensitivity == 3
    assert vault.ledger.budget.factor == 6


def test_the_list_says_what_each_fact_does(make, people):
    vault = make(neighbours="replace")
    assert vault.facts.report().sensitivity == 2
    vault.facts.add("SELECT COUNT(*) FROM people", 2000)
    vault.facts.add(cuboid=["sex"], values=exact(people, "sex"))
    vault.facts.add(cuboid=["age"], values=exact(people, "age"))
    report = vault.facts.report()
    assert [(line.differs, line.sensitivity, line.if_known) for line in report.facts] == [
        (True, 2, 1),
        (True, 2, 1),
        (True, 2, 1),
    ]
    assert report.sensitivity == 4
    assert report.to_json()["facts"][1] == {
        "number": 3,
        "kind": "cuboid",
        "what": "cuboid sex",
        "shape": [2],
        "differs": True,
        "sensitivity": 2,
        "if_known": 1,
        "current": True,
    }


@pytest.mark.parametrize(("outside", "differs"), [("other", False), ("drop", True)])
def test_n_cannot_differ_where_every_row_is_replaced_by_another(make, tmp_path, outside, differs):
    make()  # writes the table
    text = DOMAIN.replace("source", f'outside = "{outside}"\nsource')
    (tmp_path / "people.toml").write_text(text)
    vault = Vault.init(
        tmp_path / "other",
        table=tmp_path / "people.parquet",
        domain=tmp_path / "people.toml",
        epsilon=1,
        neighbours="replace",
    )
    vault.facts.add("SELECT COUNT(*) FROM people", 2000)
    assert [line.differs for line in vault.facts.report().facts] == [differs]


def test_the_list_says_what_noise_for_epsilon_is_worth_to_whoever_knows(make):
    # refinement, Example 1: 2ε. Of one refinement alone, Definition 5's ρ may be less: tests/refinement/test_rho.py.
    vault = make(epsilon="1/2")
    vault.facts.add(WOMEN, 1000)
    [line] = vault.facts.report().facts
    assert (line.sensitivity, line.if_known) == (2, 1)


@pytest.mark.parametrize(
    ("budget", "costs"),
    [({"epsilon": 1}, 2), ({"rho": 1}, 4), ({"epsilon": 1, "delta": "1e-6"}, 4), ({"neighbours": "replace"}, 1)],
)
def test_a_preview_says_what_the_fact_then_does_and_adds_nothing(make, budget, costs):
    vault = make(**({"epsilon": None} | budget if "rho" in budget else budget))
    vault.measure(vault.count(sex="F"), scale=40)
    before, head = vault.budget(), vault.ledger.head
    would = vault.facts.preview(WOMEN, 1_000_000)
    assert (vault.ledger.head, vault.facts.current()) == (head, ())
    assert (would.spent_before, would.left_before) == (before.spent, before.left)
    assert would.costs == costs
    assert not would.stops
    added = vault.facts.add(WOMEN, 1_000_000)
    after = vault.budget()
    assert (would.sensitivity, would.spent, would.left) == (added.sensitivity, after.spent, after.left)
    assert would.guarantee == added.guarantee == after.guarantee
    assert would.doubts == added.doubts
    [doubt] = would.doubts
    assert doubt.difference == pytest.approx(-999_000, rel=0.01)


def test_a_preview_names_a_cuboid_as_the_guarantee_then_does(make, people):
    vault, given = make(), exact(people, "sex")
    would = vault.facts.preview(cuboid=["sex"], values=given)
    assert would.guarantee == vault.facts.add(cuboid=["sex"], values=given).guarantee


def test_a_fact_that_would_stop_the_vault_is_added_only_where_that_is_accepted(make):
    vault = make()
    vault.measure(vault.count(sex="F"), scale=1)
    assert vault.facts.preview(WOMEN, 980).stops
    with pytest.raises(InvalidFact, match=r"would stop the vault: ε = 2 would be spent .* --accept"):
        vault.facts.add(WOMEN, 980)
    assert vault.facts.current() == ()
    known = vault.ledger.head.seq
    with pytest.raises(JournalError, match="would stop the vault"):  # what was spent since it was looked at counts
        vault.ledger.note_fact({"induced": [2, 4]}, known, stopping=False)
    assert vault.facts.add(WOMEN, 980, accept=True).exceeded


@pytest.mark.parametrize(
    ("unit", "about"),
    [
        ({}, "the rows of the table whose values all have a code in the domain"),
        ({"id": "age", "max_rows": 2}, "the at most 2 rows of each person (age) that the vault keeps, of those whose "),
        ({"id": "age", "max_rows": 1}, "the one row of each person (age) that the vault keeps"),
    ],
)
def test_a_preview_says_which_rows_the_fact_is_about(make, unit, about):
    assert make(**unit).facts.preview(WOMEN, 7).about.startswith(about)


def test_facts_about_a_table_of_hundreds_of_columns_are_worked_out(tmp_path):
    lines = "".join(f'[attributes.a{i}]\nkind = "integer"\nlow = 0\nhigh = 9\nsource = "form"\n' for i in range(200))
    (tmp_path / "wide.toml").write_text(f'name = "wide"\n{lines}')
    pq.write_table(pa.table({f"a{i}": range(10) for i in range(200)}), tmp_path / "wide.parquet")
    chosen = {"table": tmp_path / "wide.parquet", "domain": tmp_path / "wide.toml"}
    vault = Vault.init(tmp_path / "wide", **chosen, epsilon=1, neighbours="add-remove")
    assert vault.facts.add("SELECT COUNT(*) FROM wide WHERE a7 < 5", 5).sensitivity == 2
    assert vault.facts.add("SELECT COUNT(*) FROM wide WHERE a199 = 3", 1).sensitivity == 3
    with pytest.raises(InvalidFact, match="contradicts"):
        vault.facts.add("SELECT COUNT(*) FROM wide WHERE a7 < 3", 6)


def test_the_journal_tells_facts_in_words(make):
    vault = make()
    vault.facts.add(WOMEN, 1000)
    *_, line = vault.entries()
    assert line["what"] == f"a fact: {WOMEN}; S_Q = 2 with all before it"


def test_the_command_line(make, people, tmp_path):
    vault, run = make(), CliRunner().invoke
    lines = "\n".join(f"{age},{count}" for age, count in enumerate(exact(people, "age")))
    (tmp_path / "age.csv").write_text(f"age,count\n{lines}\n")
    looked = ["fact", "add", str(vault.path), WOMEN, str(exact(people, "sex")[0]), "--dry-run"]
    assert json.loads(run(app, [*looked, "--json"]).output)["costs"] == "2"
    shown = run(app, looked).output
    assert "nothing was added" in shown
    assert "the same noise would cost ε 2 times as much as now" in shown
    first = run(app, ["fact", "add", str(vault.path), WOMEN, str(exact(people, "sex")[0]), "--json"])
    assert first.exit_code == 0, first.output
    assert json.loads(first.output)["sensitivity"] == 2
    second = run(app, ["fact", "add", str(vault.path), "--cuboid", "age", str(tmp_path / "age.csv")])
    assert second.exit_code == 0, second.output
    assert "S_Q" in second.output
    listed = json.loads(run(app, ["fact", "list", str(vault.path), "--json"]).output)
    assert [(fact["kind"], fact["sensitivity"]) for fact in listed["facts"]] == [("count", 2), ("cuboid", 2)]
    assert listed["sensitivity"] == 4
    shown = run(app, ["fact", "list", str(vault.path)]).output
    assert "cuboid age" in shown
    for words, message in [
        (["fact", "add", str(vault.path), WOMEN], "give SQL and the value"),
        (["fact", "add", str(vault.path), WOMEN, "many"], "'many' is not a count"),
        (["fact", "add", str(vault.path), WOMEN, "-3"], "never negative"),
        (["fact", "add", str(vault.path), "--cuboid", "age", str(tmp_path / "ages.csv")], "is not there"),
    ]:
        failed = run(app, [*words, "--json"])
        assert failed.exit_code == 1
        assert message in failed.output
    planned = run(app, ["cube", "plan", str(vault.path), "--epsilon", "1", "--facts", "--json"])
    assert json.loads(planned.output)["known"] == [["age"]]


def test_a_fact_that_would_leave_nothing_is_refused(make, monkeypatch):
    vault = make()
    monkeypatch.setattr(account, "induced_by", lambda *_, **__: account.Induced(10**13, 10**26))
    with pytest.raises(InvalidFact, match="would leave a budget of nothing"):
        vault.facts.add(WOMEN, 10)


def test_a_third_cuboid_is_added_by_its_bound_where_that_is_accepted(make, people):
    vault = make(epsilon=90)
    for name in ("sex", "age"):
        vault.facts.add(cuboid=[name], values=exact(people, name))
    would = vault.facts.preview(cuboid=["salary"], values=exact(people, "salary"))
    assert (would.sensitivity, would.exact, would.sensitivity_before) == (90, False, 4)
    added = vault.facts.add(cuboid=["salary"], values=exact(people, "salary"), accept=True)
    assert (added.sensitivity, added.exact) == (90, False)
    assert vault.ledger.budget.limit == vault.ledger.budget.under(account.Induced(90, 4050)).limit
    assert vault.facts.report().sensitivity == 90
