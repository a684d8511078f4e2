"""Mining over real vaults: hashed people, the gate, the journal; and the command line on top."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ArchiveError, BudgetExceeded, PartyError, UnsupportedQuery, VaultError
from discreet.mining.attribute import BooleanAttribute
from discreet.mining.functions import functions
from discreet.mining.implication import implication
from discreet.mining.learn import learn
from discreet.mining.sampling import fresh_subsets
from discreet.mining.statistics import Statistics
from discreet.noise.bits import SeededBits
from discreet.vault import Vault

PEOPLE = 20_000
QUERIES, DELTA = 5000, 40
SURELY = 1 - 1e-6
"""Vaults draw real noise: intervals this wide hold on every run."""
HOSPITAL = """\
name = "hospital"
[attributes.smoker]
kind = "integer"
low = 0
high = 1
source = "form"
[attributes.ward]
kind = "category"
values = ["open", "closed"]
null = true
source = "form"
[attributes.age]
kind = "integer"
low = 18
high = 89
source = "form"
"""
EMPLOYER = """\
name = "employer"
[attributes.absent_days]
kind = "integer"
low = 0
high = 60
outside = "clamp"
source = "payroll"
"""


@pytest.fixture(scope="module")
def population() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    smoker, age = generator.random(PEOPLE) < 0.4, generator.integers(18, 90, PEOPLE)
    absent = generator.poisson(np.where(smoker & (age > 40), 14, 6), PEOPLE)
    ward = np.where(generator.random(PEOPLE) < 0.2 + 0.4 * smoker, "closed", "open").astype(object)
    ward[generator.random(PEOPLE) < 0.1] = None
    people = {"person": np.arange(PEOPLE), "smoker": smoker.astype(int), "age": age, "ward": ward}
    return pd.DataFrame({**people, "absent_days": absent})


@pytest.fixture(scope="module")
def homes(population, tmp_path_factory):
    """The same people in another order at each party, and some of the roster in no table."""
    folder = tmp_path_factory.mktemp("parties")
    pd.DataFrame({"person": np.arange(PEOPLE + 2000)}).to_csv(folder / "roster.csv", index=False)
    for name, text, columns in (
        ("hospital", HOSPITAL, ["person", "smoker", "ward", "age"]),
        ("employer", EMPLOYER, ["person", "absent_days"]),
    ):
        population[columns].sample(frac=1, random_state=len(name)).to_parquet(folder / f"{name}.parquet", index=False)
        (folder / f"{name}.toml").write_text(text)
        Vault.init(
            folder / name,
            table=str(folder / f"{name}.parquet"),
            domain=folder / f"{name}.toml",
            id="person",
            roster=str(folder / "roster.csv"),
            queries=QUERIES,
            delta=DELTA,
            failure="1/1000",
        )
    return folder


@pytest.fixture
def vaults(homes) -> tuple[Vault, Vault]:
    return Vault.open(homes / "hospital"), Vault.open(homes / "employer")


def test_counts_over_hashed_subsets_follow_the_law_of_the_simulation(vaults):
    """Binomial cells: the size's mean and variance, the rest's variance given it, and both parties alike."""
    roster = PEOPLE + 2000
    subsets = fresh_subsets(400, SeededBits(3))
    first, second = (vault.party().ask_subsets(subsets, "TRUE") for vault in vaults)
    np.testing.assert_array_equal(first.sizes, second.sizes)
    assert first.sizes.mean() == pytest.approx(roster / 2, abs=4 * (roster / 4 / 400) ** 0.5)
    # A variance of 400 numbers is off by more than a quarter once in 3000.
    assert first.sizes.var() == pytest.approx(roster / 4, rel=0.25)
    share = PEOPLE / roster
    expected = roster / 4 * share * (1 - share) + vaults[0].party().trials / 4
    assert (first.values - share * first.sizes).var() == pytest.approx(expected, rel=0.25)


def test_what_alpha_implies_is_found_across_two_vaults(vaults, population):
    found = implication(
        (vaults[0], "smoker AND age > 40"), (vaults[1], "absent_days > 10"), queries=400, confidence=SURELY
    )
    alpha = (population.smoker == 1) & (population.age > 40)
    beta = population.absent_days > 10
    roster = PEOPLE + 2000
    gap = beta[alpha].mean() - beta.sum() / roster
    assert found.people == roster
    assert found.gap.low <= gap <= found.gap.high
    assert found.gap.halfwidth < 0.5
    assert found.share_alpha.value == pytest.approx(alpha.sum() / roster, abs=0.01)
    [pair] = functions((vaults[0], "smoker"), (vaults[1], "absent_days > 10"), queries=200, confidence=SURELY)
    both = ((population.smoker == 1) & beta).sum() / roster
    assert pair.probabilities["a AND b"].low <= both <= pair.probabilities["a AND b"].high


def test_functions_are_learnt_from_what_a_vault_published(vaults, population, tmp_path):
    vault = vaults[0]
    plan = vault.sulq.plan(["smoker", "old: age > 50", "ward", "young: age < 30"], arity=2, subsets=30)
    before = vault.party().queries_left
    statistics = vault.sulq.publish(plan)
    assert before - vault.party().queries_left == plan.queries == 30 * 6 * 4
    statistics.save(tmp_path / "stats")
    loaded = Statistics.load(tmp_path / "stats")
    smoker, old, closed = population.smoker == 1, population.age > 50, population.ward == "closed"
    young = population.age < 30
    for function, met in (
        ("smoker AND old", smoker & old),
        ("NOT ward", ~closed),  # those without a ward, too; not those without a row
        ("smoker AND ward AND NOT old AND NOT young", smoker & closed & ~old & ~young),
    ):
        found = learn(loaded, function, confidence=SURELY).probability
        assert found.low <= met.sum() / (PEOPLE + 2000) <= found.high, function


def test_statistics_are_written_again_from_their_charge(vaults):
    vault = vaults[0]
    plan = vault.sulq.plan(["ward", "smoker"], arity=1, subsets=16)  # not in the order of the alphabet
    statistics = vault.sulq.publish(plan)
    left = vault.party().queries_left
    again = vault.sulq.publish(statistics.charge)
    np.testing.assert_array_equal(again.counts, statistics.counts)
    assert again.describe() == statistics.describe()
    assert vault.party().queries_left == left
    with pytest.raises(VaultError, match="not that of statistics"):
        vault.sulq.publish(vault.sulq.ask("everyone", "smoker").release.charge)
    words = [entry["what"] for entry in vault.entries() if entry["kind"] == "statistics"]
    assert "the plan of statistics: 64 counts, conjunctions of 1" in words


def test_attributes_are_columns_with_two_values_or_conditions(vaults):
    vault = vaults[0]
    plan = vault.sulq.plan(arity=1, subsets=16)
    assert plan.attributes == (BooleanAttribute("smoker", "smoker"), BooleanAttribute("ward", "ward = 'closed'"))
    for attributes, why in (
        (["age"], "age has 72 values"),
        (["smoker", "SMOKER: age > 3"], "two attributes are called"),
        (["two words: age > 3"], "a two-valued column, or a name and a condition"),
        (["old: age >"], "not understood|missing"),
    ):
        with pytest.raises(UnsupportedQuery, match=why):
            vault.sulq.plan(attributes, arity=1, subsets=16)
    with pytest.raises(PartyError, match="no column with two values"):
        vaults[1].sulq.plan(arity=1, subsets=16)


def test_more_than_is_left_is_refused_with_what_would_fit(vaults):
    left = vaults[0].party().queries_left
    with pytest.raises(PartyError, match=r"are left; [\d,]+ subsets would fit"):
        vaults[0].sulq.plan(arity=2, subsets=QUERIES)
    with pytest.raises(PartyError, match="would give"):
        implication((vaults[0], "smoker"), (vaults[1], "absent_days > 10"), error=0.001)
    with pytest.raises((BudgetExceeded, PartyError)):
        implication((vaults[0], "smoker"), (vaults[1], "absent_days > 10"), queries=QUERIES + 1)
    assert vaults[0].party().queries_left == left


def test_a_plan_for_another_vault_is_refused(vaults):
    plan = vaults[0].sulq.plan(arity=1, subsets=16)
    with pytest.raises(UnsupportedQuery, match="another roster or other noise"):
        vaults[0].sulq.publish(replace(plan, trials=plan.trials + 2))


def test_a_vault_with_another_budget_is_no_party(tmp_path, homes):
    vault = Vault.init(
        tmp_path / "v",
        table=str(homes / "employer.parquet"),
        domain=homes / "employer.toml",
        epsilon=1,
        neighbours="replace",
    )
    with pytest.raises(PartyError, match="no budget of queries"):
        implication((vault, "absent_days > 10"), (vault, "absent_days > 20"))


def test_where_a_party_answers_something_else_is_said(homes, vaults):
    sides = (vaults[0], "smoker OR age = 7"), (vaults[1], "absent_days > 10")
    [note] = implication(*sides, queries=20).notes
    assert "holds for no row" in note
    [pair] = functions(*sides, queries=16)
    assert pair.notes == (note,)
    named = (homes / "hospital", sides[0][1], homes / "employer", sides[1][1], "--queries", 16)
    assert "holds for no row" in " ".join(run("mine", "implies", *named).split())
    assert json.loads(run("mine", "functions", *named, "--json"))["pairs"][0]["notes"] == [note]


def test_a_plan_that_tells_nothing_says_so(homes, tmp_path):
    Vault.init(
        tmp_path / "noisy",
        table=str(homes / "hospital.parquet"),
        domain=homes / "hospital.toml",
        id="person",
        roster=str(homes / "roster.csv"),
        queries=3000,
        delta="1/2",
    )
    wish = ("sulq", "publish", tmp_path / "noisy", "--arity", 2, "--plan", "--subsets")
    shown = " ".join(run(*wish, 40).split())
    assert "nothing for sure of any function of 4 attributes" in shown
    assert "the paper's t –" in shown
    assert json.loads(run(*wish, 40, "--json"))["subsets_by_the_seed"] is None
    refused = " ".join(run(*wish, 4000, fails=True).split())
    assert "750 subsets would fit, for an error that leaves nothing to learn" in refused


def test_a_rate_without_a_seed_asks_nothing(homes):
    left = Vault.open(homes / "hospital").party().queries_left
    assert "a rate goes with a seed" in run("sulq", "ask", homes / "hospital", "smoker", "--rate", "1/4", fails=True)
    assert Vault.open(homes / "hospital").party().queries_left == left


def run(*words: object, fails: bool = False) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == fails, done.output
    return done.output


def test_the_command_line_mines(homes):
    sides = (homes / "hospital", "smoker AND age > 40", homes / "employer", "absent_days > 10")
    planned = run("mine", "implies", *sides, "--plan", "--error", 0.2)
    assert "regression" in planned
    assert "paper" in planned
    shown = run("mine", "implies", *sides, "--queries", 60)
    assert "Δ = Pr[β|α] − Pr[β]" in shown
    assert "60 queries to each party" in shown
    told = json.loads(run("mine", "implies", *sides, "--queries", 60, "--json"))
    assert set(told["gap"]) == {"value", "low", "high"}
    assert (told["queries_alpha"], told["method"]) == (60, "regression")
    shown = run("mine", "functions", *sides, "--queries", 60)
    assert shown.count("…") == 17
    pairs = json.loads(run("mine", "functions", *sides, "--queries", 60, "--json"))["pairs"]
    assert len(pairs[0]["probabilities"]) == 16
    assert "PartyError" in run("mine", "functions", *sides[:3], fails=True)
    assert "--token once, or 2 times" in run("mine", "implies", *sides, *["--token", "x"] * 3, fails=True)


def test_the_command_line_publishes_and_learns(homes, tmp_path):
    wish = ("sulq", "publish", homes / "hospital", "--attribute", "smoker", "--attribute", "old: age > 50")
    planned = run(*wish, "--arity", 1, "--subsets", 20, "--plan")
    assert "80 = 20 subsets × C(2,1) × 2^1" in planned
    assert json.loads(run(*wish, "--arity", 1, "--subsets", 20, "--plan", "--json"))["queries"] == 80
    assert "Next: discreet mine learn" in run(*wish, "--arity", 1, "--subsets", 20, "--out", tmp_path / "stats")
    assert "smoker AND NOT old" in run("mine", "learn", tmp_path / "stats", "smoker AND NOT old")
    told = json.loads(run("mine", "learn", tmp_path / "stats", "smoker AND NOT old", "--json"))
    assert 0 <= told["probability"]["low"] <= told["probability"]["high"] <= 1
    charge = Statistics.load(tmp_path / "stats").charge
    again = run("sulq", "publish", homes / "hospital", "--charge", charge, "--out", tmp_path / "again", "--json")
    assert json.loads(again)["charge"] == charge
    assert ArchiveError.__name__ in run(*wish, "--out", tmp_path / "stats", fails=True)
    assert "say where to" in run(*wish, fails=True)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ArchiveError("the disk is full")])
def test_statistics_that_are_cut_off_after_their_charge_say_how_to_go_on(homes, tmp_path, monkeypatch, failure):
    def fails(*_arguments):
        raise failure

    home = homes / "hospital"
    wish = ("--attribute", "smoker", "--attribute", "old: age > 50", "--arity", 1, "--subsets", 20)
    with monkeypatch.context() as patched:
        patched.setattr(Statistics, "save", fails)
        said = run("sulq", "publish", home, *wish, "--out", tmp_path / "stats", fails=True)
    charge = re.search(r"charge (\d+) stands: `discreet sulq publish", said)[1]
    asked = Vault.open(home).ledger.spent_max
    told = run("sulq", "publish", home, "--charge", charge, "--out", tmp_path / "stats", "--json")
    assert str(json.loads(told)["charge"]) == charge
    assert Vault.open(home).ledger.spent_max == asked
