"""What is measured for a model: all pairs or triples, or chosen as one goes where the budget is small for the rows."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cube.small_budget import enough_rows, is_small
from discreet.server.console.drafts import Drafts
from discreet.vault.public_rows import public_rows
from discreet.vault.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.job]
kind = "integer"
low = 0
high = 3
source = "form"
[attributes.wage]
kind = "integer"
low = 0
high = 3
source = "form"
"""
ROWS = 500
SMALL, LARGE = "1/100", 2


@pytest.fixture
def vault(tmp_path) -> Vault:
    rng = np.random.default_rng(8)
    columns = {"sex": rng.choice(["F", "M"], ROWS), "job": rng.integers(0, 4, ROWS), "wage": rng.integers(0, 4, ROWS)}
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(DOMAIN)
    return Vault.init(
        tmp_path / "vault",
        table=tmp_path / "people.parquet",
        domain=tmp_path / "people.toml",
        epsilon=50,
        neighbours="add-remove",
    )


def planner(vault, **asked) -> str:
    return vault.cubes.plan(planner="model", **asked).planner


def test_where_nothing_tells_how_many_rows_there_are_all_pairs_are_measured(vault):
    assert public_rows(vault.facts) is None
    assert planner(vault, epsilon=SMALL) == "model"


def test_a_released_count_tells_whether_a_budget_is_small(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", scale=2)
    assert public_rows(vault.facts) is None  # it is not of everybody
    vault.ask("SELECT job, COUNT(*) FROM people GROUP BY job", scale=2)
    assert abs(public_rows(vault.facts) - ROWS) < 60
    assert planner(vault, epsilon=SMALL) == "adaptive"
    assert planner(vault, epsilon=LARGE) == "model"


def test_a_fact_tells_it_as_well(vault):
    vault.facts.add("SELECT COUNT(*) FROM people", ROWS)
    assert public_rows(vault.facts) == ROWS
    assert planner(vault, epsilon=SMALL) == "adaptive"
    assert vault.cubes.plan(planner="model", epsilon=SMALL, facts="vault").known


def test_whoever_says_what_is_measured_gets_that(vault):
    vault.facts.add("SELECT COUNT(*) FROM people", ROWS)
    assert planner(vault, epsilon=SMALL, cuboids=2) == "model"
    assert planner(vault, epsilon=SMALL, dimensions=["sex"]) == "model"  # nothing to choose among


@pytest.mark.parametrize("known", [False, True])
def test_planned_again_after_it_was_published_a_cube_is_the_same_and_spends_nothing(vault, known):
    if known:
        vault.ask("SELECT COUNT(*) FROM people", scale=2)
    plan = vault.cubes.plan(planner="model", epsilon=SMALL)
    assert plan.planner == ("adaptive" if known else "model")
    cube = vault.cubes.publish(plan)
    spent = vault.ledger.spent_max
    again = vault.cubes.plan(planner="model", epsilon=SMALL)  # by now the cube itself tells how many rows there are
    assert again == plan
    assert vault.cubes.publish(again).origin == cube.origin
    assert vault.ledger.spent_max == spent


def test_a_draft_of_another_amount_or_after_a_release_is_planned_anew(vault):
    drafts, names = Drafts(), vault.domain.names
    assert drafts.plan(vault, names, "model", "all", Fraction(SMALL)).planner == "model"
    vault.ask("SELECT COUNT(*) FROM people", scale=2)
    assert drafts.plan(vault, names, "model", "all", Fraction(SMALL)).planner == "adaptive"
    assert drafts.plan(vault, names, "model", "all", Fraction(LARGE)).planner == "model"


def test_a_plan_says_for_how_many_rows_it_is_best(vault):
    plan = vault.cubes.plan(planner="model", epsilon=SMALL)
    enough = enough_rows(plan)
    assert is_small(plan, enough - 2)
    assert not is_small(plan, enough)
    asked = ["cube", "plan", str(vault.path), "--for", "model", "--epsilon", "0.01"]
    told = CliRunner().invoke(app, asked, env={"COLUMNS": "200"}).stdout
    assert "rows and more; for fewer, --planner adaptive" in told
