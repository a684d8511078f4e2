"""Questions answered from the model of everything public: free, marked, refused where it tells nothing."""

import json
import os
import shutil
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.exposure import check_files
from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.cube import replicate_files
from discreet.cube.public_model import PublicModel
from discreet.cube.replicate_files import read_models, write_models
from discreet.deadline import Work, doing
from discreet.errors import ArchiveError, DeadlinePassed, UnsupportedQuery
from discreet.model import mixture_fit, size
from discreet.model.mixture import ProductMixture
from discreet.vault.models import MODELS
from discreet.vault.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.age]
kind = "integer"
low = 18
high = 23
null = true
source = "form"
[attributes.region]
kind = "category"
values = ["north", "east", "south"]
source = "atlas"
[attributes.income]
kind = "bins"
edges = [0, 100, 300, 1000]
grain = 1
source = "form"
[attributes.work]
kind = "category"
values = ["none", "full"]
source = "form"
[attributes.country]
kind = "category"
values = ["here"]
source = "atlas"
"""
MODELLED = ("sex", "age", "region", "income")


def made_up() -> pa.Table:
    rng = np.random.default_rng(5)
    size = 2000
    age = rng.integers(18, 24, size)
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], size),
            "age": pa.array(age, mask=rng.random(size) < 0.05),
            "region": rng.choice(["north", "east", "south"], size, p=[0.6, 0.3, 0.1]),
            "income": rng.integers(0, 1000, size),
            "work": np.where(rng.random(size) < (age - 17) / 7, "full", "none"),
            "country": ["here"] * size,
        }
    )


def vault_in(folder) -> Vault:
    pq.write_table(made_up(), folder / "people.parquet")
    (folder / "people.toml").write_text(DOMAIN)
    return Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=folder / "people.toml",
        epsilon=20,
        neighbours="add-remove",
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    vault = vault_in(tmp_path_factory.mktemp("modelled"))
    plan = vault.cubes.plan(epsilon=4, planner="model", dimensions=MODELLED)
    return vault, vault.cubes.publish(plan, estimate="modelled")


@pytest.fixture
def vault(made) -> Vault:
    return made[0]


@pytest.fixture
def joint(made):
    """The modelled count of every cell, its axes as in MODELLED."""
    return made[1].modelled[MODELLED].values


AGES = np.arange(18, 24)
MIDDLES = np.array([50.0, 200.0, 650.0])
CASES = {
    "SELECT COUNT(*) FROM people": lambda n: n.sum(),
    "SELECT COUNT(*) FROM people WHERE sex = 'F'": lambda n: n[0].sum(),
    "SELECT COUNT(*) FROM people WHERE sex = 'F' OR age < 20": lambda n: n[0].sum() + n[1, :2].sum(),
    "SELECT COUNT(*) FROM people WHERE country = 'here' AND region <> 'south'": lambda n: n[:, :, :2].sum(),
    "SELECT COUNT(*) FROM people WHERE age IS NULL": lambda n: n[:, 6].sum(),
    "SELECT SUM(age) FROM people WHERE region = 'east'": lambda n: (n[:, :6, 1].sum(axis=(0, 2)) * AGES).sum(),
    "SELECT AVG(age) FROM people": lambda n: (n[:, :6].sum(axis=(0, 2, 3)) * AGES).sum() / n[:, :6].sum(),
    "SELECT SUM(income) FROM people": lambda n: (n.sum(axis=(0, 1, 2)) * MIDDLES).sum(),
    "SELECT SUM(2 * age) FROM people": lambda n: 2 * (n[:, :6].sum(axis=(0, 2, 3)) * AGES).sum(),
    "SELECT COUNT(*) FILTER (WHERE sex = 'M') FROM people WHERE age = 18": lambda n: n[1, 0].sum(),
    "SELECT 100.0 * COUNT(*) FILTER (WHERE sex = 'M') / COUNT(*) FROM people": lambda n: 100 * n[1].sum() / n.sum(),
}


@pytest.mark.parametrize("sql", CASES)
def test_a_modelled_number_is_the_models_own_sum_of_cells(vault, joint, sql):
    spent = vault.ledger.spent_max
    answer = vault.ask(sql, estimate="modelled")
    assert answer.value == pytest.approx(CASES[sql](joint), rel=1e-6)
    low, high = answer.interval()
    assert low < answer.value < high
    assert answer.kind == "modelled"
    assert answer.cost == 0
    assert vault.ledger.spent_max == spent
    assert any("biased" in note for note in answer.notes)


def test_groups_are_all_that_the_question_has_and_agree_with_the_model(vault, made):
    answer = vault.ask("SELECT region, sex, COUNT(*) FROM people GROUP BY region, sex", estimate="modelled")
    cuboid, (low, high) = vault.model["region", "sex"], vault.model.range("region", "sex")
    np.testing.assert_allclose(cuboid, made[1].modelled["region", "sex"], rtol=1e-6)
    assert len(answer.rows) == 6
    for row in answer.rows:
        at = dict(zip(("region", "sex"), row.labels, strict=True))
        assert row.value == pytest.approx(float(cuboid.sel(at)), rel=1e-6)
        assert row.low == pytest.approx(float(low.sel(at)), rel=1e-6, abs=1e-6)
        assert row.high == pytest.approx(float(high.sel(at)), rel=1e-6)


def test_groups_of_an_expression_are_sums_of_its_cells(vault, joint):
    answer = vault.ask("SELECT age >= 20 AS old, COUNT(*) FROM people GROUP BY age >= 20", estimate="modelled")
    ages = joint.sum(axis=(0, 2, 3))
    assert [row.value for row in answer.rows] == pytest.approx([ages[:2].sum(), ages[2:6].sum(), ages[6]], rel=1e-6)


def test_order_and_limit_go_by_modelled_numbers_and_widen_the_ranges(vault):
    every = vault.ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age ORDER BY n DESC", estimate="modelled")
    values = [row.value for row in every.rows]
    assert values == sorted(values, reverse=True)
    first = vault.ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age ORDER BY n DESC LIMIT 2", estimate="modelled")
    assert [row.value for row in first.rows] == values[:2]
    assert all(row.chosen for row in first.rows)
    assert first.rows[0].high > every.rows[0].high


def test_lines_that_having_chooses_are_those_of_the_model(vault):
    every = vault.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", estimate="modelled")
    some = vault.ask(
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region HAVING COUNT(*) > 400", estimate="modelled"
    )
    kept = {row.labels: row.value for row in every.rows if row.value > 400}
    assert {row.labels: row.value for row in some.rows} == pytest.approx(kept, rel=1e-9)
    assert all(row.low < row.value < row.high and row.kind == "modelled" for row in some.rows)


def test_dimensions_that_were_never_measured_together_are_said_to_be_so(vault):
    apart = vault.ask(
        "SELECT COUNT(*) FROM people WHERE sex = 'F' AND age = 18 AND region = 'east'", estimate="modelled"
    )
    assert any("never measured together" in note for note in apart.notes)
    together = vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND age = 18", estimate="modelled")
    assert not any("never measured together" in note for note in together.notes)


def test_one_attribute_that_no_table_has_is_said_in_words_of_its_own_and_the_total_always_has_one(tmp_path):
    vault = vault_in(tmp_path)
    vault.ask("SELECT COUNT(*) FROM people")
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'")
    said = vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'M'", estimate="modelled").notes
    assert any(note.startswith("sex was never measured by itself: how it is spread") for note in said)
    said = vault.ask("SELECT COUNT(*) FROM people", estimate="modelled").notes
    assert not any("never measured" in note for note in said)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*) FROM people WHERE work = 'full'", "--dimensions work"),
        ("SELECT work, AVG(age) FROM people GROUP BY work", "--dimensions age,work"),
        ("SELECT MEDIAN(age) FROM people", "counts, sums and averages"),
        ("SELECT COUNT(DISTINCT region) FROM people", "counts, sums and averages"),
        ("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", "by itself"),
        (
            "SELECT MAX(n) AS most FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS t",
            "choose among them",
        ),
    ],
)
def test_what_no_model_answers_is_refused_with_what_would(vault, sql, words):
    head = vault.ledger.head
    with pytest.raises(UnsupportedQuery, match=words):
        vault.ask(sql, estimate="modelled")
    assert vault.ledger.head == head


def test_a_mixture_answers_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(size, "MOST_CELLS", 50)
    monkeypatch.setattr(mixture_fit, "GROUPS", 20)
    vault = vault_in(tmp_path)
    plan = vault.cubes.plan(epsilon=4, planner="model", dimensions=["sex", "age", "region", "work"])
    cube = vault.cubes.publish(plan, estimate="modelled")
    assert isinstance(cube.model, ProductMixture)
    sql = "SELECT work, COUNT(*) FROM people WHERE region = 'north' AND age < 20 GROUP BY work"
    answer = vault.ask(sql, estimate="modelled")
    cells = cube.modelled["work", "region", "age"].values
    assert [row.value for row in answer.rows] == pytest.approx(cells[:, 0, :2].sum(axis=1).tolist(), rel=1e-6)
    assert all(row.low < row.value < row.high for row in answer.rows)
    again = Vault.open(vault.path).ask(sql, estimate="modelled")
    assert [row.high for row in again.rows] == pytest.approx([row.high for row in answer.rows], rel=1e-9)


@pytest.mark.parametrize("sharper", [{"scale": 3}, {"within": 10}, {"relax": False}])
def test_a_modelled_answer_takes_nothing_that_is_about_noise(vault, sharper):
    with pytest.raises(UnsupportedQuery, match="draws no noise"):
        vault.ask("SELECT COUNT(*) FROM people", estimate="modelled", **sharper)


def test_another_estimate_is_refused(vault):
    with pytest.raises(UnsupportedQuery, match="unbiased or modelled"):
        vault.ask("SELECT COUNT(*) FROM people", estimate="best")


def test_a_lost_copy_of_a_model_is_made_again_the_same(vault):
    sql = "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex"
    before = vault.ask(sql, estimate="modelled")
    shutil.rmtree(vault.path / MODELS)
    again = Vault.open(vault.path).ask(sql, estimate="modelled")
    assert [row.value for row in again.rows] == pytest.approx([row.value for row in before.rows], rel=1e-6)
    assert [row.high for row in again.rows] == pytest.approx([row.high for row in before.rows], rel=1e-4)
    kept = Vault.open(vault.path).ask(sql, estimate="modelled")
    assert [row.high for row in kept.rows] == pytest.approx([row.high for row in again.rows], rel=1e-9)


def test_a_copy_that_was_touched_is_refused(tmp_path, vault):
    vault.ask("SELECT COUNT(*) FROM people", estimate="modelled")
    copy = tmp_path / "vault"
    shutil.copytree(vault.path, copy)
    [ranges] = (copy / MODELS).glob("public-*-ranges")
    (ranges / "0.parquet").write_bytes(b"other")
    with pytest.raises(ArchiveError, match="remove it"):
        Vault.open(copy).ask("SELECT COUNT(*) FROM people", estimate="modelled")


def test_a_model_that_took_longer_than_the_deadline_is_kept_and_who_asked_is_told_to_ask_again(
    vault, tmp_path, monkeypatch
):
    shutil.copytree(vault.path, tmp_path / "vault", ignore=shutil.ignore_patterns(MODELS))
    own = Vault.open(tmp_path / "vault")
    sql, now, made = "SELECT COUNT(*) FROM people", [0.0], PublicModel.simulated

    def slowly(model):
        now[0] = 31.0
        return made(model)

    monkeypatch.setattr(PublicModel, "simulated", slowly)
    for outcome in (
        pytest.raises(DeadlinePassed, match="it is kept now, and nothing was spent: ask again"),
        nullcontext(),
    ):
        now[0] = 0.0
        before = doing.set(Work(30, clock=lambda: now[0]))
        try:
            with outcome:
                assert own.ask(sql, estimate="modelled").kind == "modelled"
        finally:
            doing.reset(before)


def test_a_copy_that_another_process_removes_while_it_is_read_is_made_again(vault, monkeypatch):
    sql = "SELECT COUNT(*) FROM people"
    before = vault.ask(sql, estimate="modelled")

    def read_too_late(path, lattice, key):
        shutil.rmtree(path)
        return read_models(path, lattice, key)

    monkeypatch.setattr(replicate_files, "read_models", read_too_late)
    assert Vault.open(vault.path).ask(sql, estimate="modelled").value == pytest.approx(before.value, rel=1e-6)


def test_only_the_last_model_of_everything_is_held_and_kept(tmp_path):
    vault = vault_in(tmp_path)
    for sql in ("SELECT sex, COUNT(*) FROM people GROUP BY sex", "SELECT region, COUNT(*) FROM people GROUP BY region"):
        vault.ask(sql)
        vault.ask("SELECT COUNT(*) FROM people", estimate="modelled")
        digest = vault.model.of.digest
        assert [*vault._memory.models] == [*vault._memory.replicates] == [digest]
        assert {path.name for path in (vault.path / MODELS).iterdir()} == {
            f"public-{digest[:16]}-model",
            f"public-{digest[:16]}-ranges",
        }


def test_measurements_are_told_to_whoever_asked_though_another_thread_is_further_on(vault):
    class Shared(dict):
        def __setitem__(self, key, value):
            """What another thread does at once."""

    again = Vault.open(vault.path)
    again._memory.__dict__["everything"] = Shared()
    assert again.model.of.releases == vault.model.of.releases


def test_the_audit_knows_the_note_of_a_model(vault):
    assert audit_vault(vault.path).holds


def test_the_audit_finds_a_copy_of_a_model_that_says_something_else(tmp_path, vault):
    vault.ask("SELECT COUNT(*) FROM people", estimate="modelled")
    copy = tmp_path / "vault"
    shutil.copytree(vault.path, copy)
    [path] = (copy / MODELS).glob("public-*-model")
    of = vault.model.of
    [model] = read_models(path, of.lattice, of.digest)
    potentials = {mask: table + np.arange(table.size).reshape(table.shape) for mask, table in model.potentials.items()}
    shutil.rmtree(path)
    write_models([replace(model, potentials=potentials)], of.lattice, of.digest, path)
    report = audit_vault(copy)
    assert [check.name for check in report.checks if check.outcome == "failed"] == ["published"]


def test_the_audit_of_a_vault_in_use_does_not_mind_a_copy_that_goes_while_it_reads(tmp_path, monkeypatch):
    vault = vault_in(tmp_path)
    vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex")
    vault.ask("SELECT COUNT(*) FROM people", estimate="modelled")

    def read_too_late(path, lattice, key):
        shutil.rmtree(path)
        return read_models(path, lattice, key)

    monkeypatch.setattr(replicate_files, "read_models", read_too_late)
    assert audit_vault(vault.path)["published"].outcome == "passed"
    assert not [*(vault.path / MODELS).glob("public-*-model")]


def test_the_audit_of_files_does_not_mind_a_folder_that_goes_while_it_is_listed(tmp_path, monkeypatch):
    vault = vault_in(tmp_path)
    vault.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex")
    vault.ask("SELECT COUNT(*) FROM people", estimate="modelled")
    listed = os.scandir

    def too_late(path):
        if "public-" in str(path):
            shutil.rmtree(path)
        return listed(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", too_late)
        check = check_files(vault.path)
    assert check.outcome == "passed"
    assert not [*(vault.path / MODELS).iterdir()]


def test_a_model_of_an_earlier_table_answers_nothing(tmp_path):
    vault = vault_in(tmp_path)
    vault.cubes.publish(vault.cubes.plan(epsilon=1, planner="model", dimensions=["sex", "region"]), estimate="modelled")
    assert vault.ask("SELECT COUNT(*) FROM people", estimate="modelled").kind == "modelled"
    vault.refresh()
    with pytest.raises(UnsupportedQuery, match="there is no model of it"):
        vault.ask("SELECT COUNT(*) FROM people", estimate="modelled")


def test_modelled_answers_on_the_command_line(vault):
    def run(*words, code=0):
        found = CliRunner().invoke(app, ["ask", str(vault.path), *words])
        assert found.exit_code == code, found.output
        return found.output

    told = json.loads(run("SELECT sex, COUNT(*) FROM people GROUP BY sex", "--estimate", "modelled", "--json"))
    assert told["kind"] == "modelled"
    assert told["cost"] == "0"
    assert "model range" in run("SELECT COUNT(*) FROM people", "--estimate", "modelled")
    assert "it is free" in run("SELECT COUNT(*) FROM people", "--estimate", "modelled", "--explain")
    assert "--dimensions work" in run(
        "SELECT COUNT(*) FROM people WHERE work = 'full'", "--estimate", "modelled", code=1
    )
