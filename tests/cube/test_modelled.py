"""A cube read through its model: beside least squares, in the folder too, and said wherever it is shown."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.cube.cube import Cube
from discreet.cube.folder import write_cube
from discreet.cube.modelled import ModelledCube, bounds, measurements, require_model, require_room_for_ranges
from discreet.cube.plan import CubePlan
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.model import mixture_fit, size
from discreet.model.mixture import ProductMixture
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
source = "form"
[attributes.region]
kind = "category"
values = ["north", "east", "south"]
source = "atlas"
[attributes.work]
kind = "category"
values = ["none", "part", "full"]
source = "form"
"""


def made_up() -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 24, 1500)
    work = np.where(rng.random(1500) < (age - 18) / 6, "full", rng.choice(["none", "part"], 1500))
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], 1500),
            "age": age,
            "region": rng.choice(["north", "east", "south"], 1500, p=[0.6, 0.3, 0.1]),
            "work": work,
        }
    )


def vault_in(folder, **budget) -> Vault:
    pq.write_table(made_up(), folder / "people.parquet")
    (folder / "people.toml").write_text(DOMAIN)
    given = budget or {"epsilon": 2}
    return Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=folder / "people.toml",
        neighbours="add-remove",
        **given,
    )


@pytest.fixture
def vault(tmp_path) -> Vault:
    return vault_in(tmp_path)


@pytest.fixture
def cube(vault) -> Cube:
    return vault.cubes.publish(vault.cubes.plan(epsilon=1, planner="model"), estimate="modelled")


def of_residuals(plan: CubePlan) -> CubePlan:
    """The same cuboids from residuals, as tables of more dimensions are measured."""
    share = plan.noise.exact_share(1 / len(plan.published))
    return replace(plan, basis="residuals", source_masks=plan.published, shares=(share,) * len(plan.published))


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["cube", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_a_plan_for_a_model_measures_pairs_in_a_pure_vault_and_triples_under_rho(tmp_path, vault):
    (tmp_path / "other").mkdir()
    pairs = vault.cubes.plan(epsilon=1, planner="model")
    triples = vault_in(tmp_path / "other", rho=1).cubes.plan(rho="1/2", planner="model")
    assert {mask.bit_count() for mask in pairs.source_masks} == {2}
    assert {mask.bit_count() for mask in triples.source_masks} == {3}
    assert (len(pairs.source_masks), len(triples.source_masks)) == (6, 4)
    assert max(pairs.shares) - min(pairs.shares) < 1e-9


def test_the_model_has_every_cuboid_and_says_which_were_measured_together(cube):
    modelled = cube.modelled
    all_four = modelled["sex", "age", "region", "work"]
    assert all_four.shape == (2, 6, 3, 3)
    assert (all_four >= 0).all()
    assert all_four.attrs["estimate"] == "modelled"
    assert not all_four.attrs["measured_together"]
    assert modelled["work", "age"].attrs["measured_together"]
    assert modelled["work", "age"].dims == ("work", "age")
    np.testing.assert_allclose(modelled["work", "age"].sum("work"), modelled["age"])


def test_the_model_is_nearer_the_truth_than_least_squares(cube):
    people = made_up().to_pandas()
    truth = people.groupby(["age", "region"]).size().unstack(fill_value=0)[["north", "east", "south"]].to_numpy()
    off = np.abs(cube.modelled["age", "region"].values - truth).mean()
    assert off < np.abs(cube["age", "region"].values - truth).mean()


def test_a_cube_says_that_it_has_a_model_and_one_without_says_nothing(cube, vault):
    assert cube.describe()["estimates"] == "least-squares, modelled"
    plain = vault.cubes.publish(vault.cubes.plan(epsilon=1, planner="base"))
    assert "estimates" not in plain.describe()


def test_slices_are_those_of_the_cube(cube):
    of_women = cube.slice(sex="F").modelled
    np.testing.assert_allclose(of_women["age"].values, cube.modelled["sex", "age"].sel(sex="F").values)
    with pytest.raises(UnsupportedQuery, match="already sliced"):
        of_women["sex"]


def test_a_model_is_kept_in_the_folder_beside_least_squares(cube, tmp_path):
    cube.save(tmp_path / "census")
    loaded = Cube.load(tmp_path / "census")
    np.testing.assert_array_equal(loaded["sex", "age"], cube["sex", "age"])
    np.testing.assert_allclose(loaded.modelled.model.joint, cube.modelled.model.joint, rtol=1e-12)
    rows = pq.read_table(tmp_path / "census" / "modelled.parquet").to_pandas()
    both = rows[rows["cuboid"] == "sex,age"]
    np.testing.assert_allclose(both["modelled"], cube.modelled["sex", "age"].values.reshape(-1))
    assert list(both["sex"])[:6] == ["F"] * 6
    about = json.loads((tmp_path / "census" / "datapackage.json").read_text())
    assert "biased" in about["cube"]["model"]["note"]


def test_a_folder_whose_model_was_touched_is_not_read(cube, tmp_path):
    cube.save(tmp_path / "census")
    file = tmp_path / "census" / "model.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ArchiveError, match="damaged"):
        Cube.load(tmp_path / "census")


def test_a_cube_without_a_model_fits_one_when_it_is_asked_for(vault, tmp_path):
    cube = vault.cubes.publish(vault.cubes.plan(epsilon=1))
    assert cube.model is None
    assert cube.modelled.cells("sex").shape == (2,)
    cube.save(tmp_path / "census")
    assert not (tmp_path / "census" / "model.parquet").exists()


def test_residuals_are_measurements_of_the_model_too(tmp_path):
    vault = vault_in(tmp_path, rho=4)
    cube = vault.cubes.publish(of_residuals(vault.cubes.plan(rho=2, cuboids=2)), estimate="modelled")
    assert all(one.residual for one in measurements(cube))
    people = made_up().to_pandas()
    truth = people.groupby(["age", "work"]).size().unstack(fill_value=0)[["none", "part", "full"]].to_numpy()
    assert np.abs(cube.modelled["age", "work"].values - truth).mean() < 6


def test_facts_are_exact_in_the_model(vault):
    counts = made_up().to_pandas().groupby("sex").size()
    vault.facts.add(cuboid=["sex"], values=[int(counts["F"]), int(counts["M"])])
    plan = vault.cubes.plan(epsilon="1/2", planner="model", facts="vault")
    cube = vault.cubes.publish(plan, estimate="modelled")
    np.testing.assert_allclose(cube.modelled["sex"], [counts["F"], counts["M"]], atol=0.01)


def test_what_has_no_model_is_refused_before_anything_is_spent(vault, monkeypatch):
    before = vault.ledger.head
    plan = vault.cubes.plan(epsilon=1)
    with pytest.raises(UnsupportedQuery, match="least-squares or modelled"):
        vault.cubes.publish(plan, estimate="guessed")
    monkeypatch.setattr(size, "MOST_CELLS", 50)
    with pytest.raises(UnsupportedQuery, match="GB of memory"):
        require_model(plan, available=1000)
    vault.facts.add(cuboid=["sex"], values=[700, 800])
    facts_plan, before = vault.cubes.plan(epsilon=1, facts="vault"), vault.ledger.head
    with pytest.raises(UnsupportedQuery, match="plan without facts, or choose at most 3 dimensions"):
        vault.cubes.publish(facts_plan, estimate="modelled")
    monkeypatch.undo()
    with pytest.raises(UnsupportedQuery, match="GB of memory"):
        require_model(plan, available=1000)
    assert vault.ledger.head == before


def test_of_a_joint_that_is_too_large_to_be_gone_through_the_model_is_a_mixture(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(size, "MOST_CELLS", 50)
    monkeypatch.setattr(mixture_fit, "GROUPS", 20)
    monkeypatch.chdir(tmp_path)
    cube = vault.cubes.publish(vault.cubes.plan(epsilon=1, planner="model"), estimate="modelled")
    assert isinstance(cube.model, ProductMixture)
    assert cube.modelled["sex", "age", "region", "work"].shape == (2, 6, 3, 3)
    people = made_up().to_pandas()
    truth = people.groupby(["age", "region"]).size().unstack(fill_value=0)[["north", "east", "south"]].to_numpy()
    low, high = cube.modelled.range("age", "region")
    assert np.abs(cube.modelled["age", "region"].values - truth).mean() < np.abs(cube["age", "region"] - truth).mean()
    assert (low <= cube.modelled["age", "region"]).all()
    assert (cube.modelled["age", "region"] <= high).all()
    cube.save("census")
    loaded = Cube.load("census")
    np.testing.assert_array_equal(loaded.model.tables, cube.model.tables)
    assert (loaded.model.strengths, loaded.model.steps) == (cube.model.strengths, cube.model.steps)
    assert '"groups": 20' in run("show", "census", "sex,age", "--estimate", "modelled", "--json")
    assert vault.rows.publish(loaded, rows=200).to_pandas().shape == (200, 4)
    assert not audit_vault("vault").findings
    forged = np.roll(cube.model.tables, 1, axis=0)
    write_cube(replace(cube, model=replace(cube.model, tables=forged)), tmp_path / "forged")
    (tmp_path / "census").rename(tmp_path / "honest")
    (tmp_path / "forged").rename(tmp_path / "census")
    assert "its model is not what its measured cuboids make" in audit_vault("vault").findings[0].what


def test_a_model_range_holds_the_value_and_is_the_same_every_time(cube):
    low, high = cube.modelled.range("age", "work")
    value = cube.modelled["age", "work"]
    assert ((low <= value) & (value <= high)).all()
    again, _ = Cube.modelled.func(cube).range("age", "work")
    np.testing.assert_allclose(low, again, rtol=1e-9)


def test_what_ranges_are_made_of_is_kept_in_the_folder_of_a_published_cube(cube, tmp_path, monkeypatch):
    cube.with_model().save(tmp_path / "census")
    made = Cube.load(tmp_path / "census").modelled.range("age", "work")
    with monkeypatch.context() as patched:
        patched.setattr(ModelledCube, "simulated", forbidden)
        again = Cube.load(tmp_path / "census").slice(sex="F").modelled.range("age")
        np.testing.assert_array_equal(again[0], Cube.load(tmp_path / "census").modelled.range("sex", "age")[0][0])
        for one, other in zip(made, Cube.load(tmp_path / "census").modelled.range("age", "work"), strict=True):
            np.testing.assert_array_equal(one, other)
    (tmp_path / "census" / "ranges" / "0.parquet").write_bytes(b"other")
    with pytest.raises(ArchiveError, match=r"ranges is damaged; remove it: it is made again"):
        Cube.load(tmp_path / "census").modelled.range("age", "work")
    assert Cube.load(tmp_path / "census").modelled["age"].sum() > 0
    shutil.rmtree(tmp_path / "census" / "ranges")
    np.testing.assert_array_equal(Cube.load(tmp_path / "census").modelled.range("age", "work")[0], made[0])


def test_ranges_are_had_where_nothing_may_be_written_and_of_a_folder_without_a_model_none_are_kept(
    cube, tmp_path, monkeypatch
):
    def full(*_arguments):
        raise ArchiveError("is there space?")

    replace(cube, model=None).save(tmp_path / "plain")
    cube.with_model().save(tmp_path / "census")
    made = Cube.load(tmp_path / "plain").modelled.range("age")[0]
    monkeypatch.setattr("discreet.cube.replicate_files.write_models", full)
    np.testing.assert_allclose(Cube.load(tmp_path / "census").modelled.range("age")[0], made, rtol=1e-9)
    assert not (tmp_path / "census" / "ranges").exists()
    assert not (tmp_path / "plain" / "ranges").exists()


def forbidden(*_arguments):
    raise AssertionError("they are kept")


def test_a_range_is_wider_where_replicates_are_and_never_below_zero():
    value, made = np.array([5.0, 100.0]), np.array([[4.0, 80.0], [6.0, 120.0], [5.0, 110.0]])
    low, high = bounds(value, made, 0.95)
    assert (low >= 0).all()
    assert high[1] - 100 > 10 * (high[0] - 5)


def test_ranges_that_do_not_fit_in_memory_are_refused_with_what_would_do(cube, monkeypatch):
    require_room_for_ranges(1000, 24, available=8 * 1000 * 54)
    with pytest.raises(UnsupportedQuery, match=r"ranges of 1,000 cells need .* name fewer attributes"):
        require_room_for_ranges(1000, 24, available=8 * 1000 * 54 - 1)
    modelled = cube.modelled
    monkeypatch.setattr("discreet.cube.modelled.available_bytes", lambda: 8 * 18 * 54)
    modelled.range("age", "region")
    with pytest.raises(UnsupportedQuery, match="name fewer attributes"):
        modelled.range("sex", "age", "region")


def test_reading_its_finest_cuboid_leaves_no_joint_behind(cube):
    [one, *_] = cube.modelled.replicates
    finest = one.cuboid(one.lattice.base)
    assert "joint" not in vars(one)
    np.testing.assert_array_equal(finest, one.joint)


@pytest.mark.usefixtures("vault")
def test_modelled_cubes_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = json.loads(run("plan", "vault", "--for", "model", "--epsilon", "1/2", "--json"))
    assert plan["planner"] == "model"
    assert len(plan["sources"]) == 6
    told = run("publish", "vault", "--for", "model", "--epsilon", "1/2", "--estimate", "modelled", "--out", "census")
    assert "Next: discreet cube show census sex --estimate modelled" in told
    shown = json.loads(run("show", "census", "sex,region,work", "--estimate", "modelled", "--json"))
    assert np.array(shown["modelled"]).shape == (2, 3, 3)
    assert shown["measured_together"] is False
    assert "biased" in shown["note"]
    words = run("show", "census", "sex", "work", "--estimate", "modelled")
    assert "Modelled: biased" in words
    assert "never measured together" in run("show", "census", "sex,region,work", "--estimate", "modelled")
    assert "least-squares or modelled" in run("show", "census", "sex", "--estimate", "best", code=1).replace("\n", " ")
    assert "--for tables" in run("plan", "vault", "--for", "fun", "--epsilon", "1", code=1)
    for planner in ("model", "adaptive"):
        own = run("plan", "vault", "--for", "model", "--planner", planner, "--epsilon", "1", "--json")
        assert json.loads(own)["planner"] == planner
    refused = run("plan", "vault", "--for", "model", "--planner", "bmax", "--epsilon", "1", code=1).replace("\n", " ")
    assert "the planner bmax is for tables, and --for model plans by model or adaptive: leave out one" in refused


def test_a_fit_that_was_interrupted_goes_on_and_spends_nothing_more(tmp_path, monkeypatch):
    vault_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = "cube publish vault --for model --epsilon 1/2 --estimate modelled --out census --json"
    with monkeypatch.context() as patched:
        patched.setattr(Cube, "with_model", interrupted)
        said = CliRunner().invoke(app, asked.split())
    assert said.exit_code == 1
    way_on = "discreet cube publish vault --charge 3 --out census --estimate modelled"
    assert way_on in json.loads(said.output)["message"]
    assert CliRunner().invoke(app, way_on.split()[1:]).exit_code == 0
    found = Vault.open("vault")
    assert str(found.budget().spent) == "1/2"
    assert found.model.of.releases == (3,)
    rows = found.rows.publish(epsilon="1/2")  # the same measurements: they are not bought again
    assert rows.about["charge"] == 3
    assert str(found.budget().spent) == "1/2"


def interrupted(*_arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize("most", [2, 3])
def test_whole_counts_under_rho_fit_and_are_not_below_zero(tmp_path, most):
    vault = vault_in(tmp_path, rho=4)
    plan = of_residuals(vault.cubes.plan(rho=1, cuboids=most))
    cube = vault.cubes.publish(plan, counts="whole")
    truth = made_up().to_pandas().groupby(["age", "work"]).size().unstack(fill_value=0)[["none", "part", "full"]]
    for cells in cube.cuboids.values():
        assert (cells >= 0).all()
        assert (cells == np.rint(cells)).all()
    np.testing.assert_array_equal(cube["age", "work"].sum("work"), cube["age"])
    np.testing.assert_array_equal(cube["age", "work"].sum("age"), cube["work"])
    assert np.abs(cube["age", "work"].values - truth.to_numpy()).mean() < 8
    real = vault.cubes.publish(plan)
    np.testing.assert_array_equal(real.reshaped(counts="whole")["age", "work"], cube["age", "work"])
    assert (real.reshaped(counts="nonnegative")["age", "work"] >= 0).all()


def test_counts_that_need_too_large_a_model_are_refused_before_anything_is_spent(tmp_path, monkeypatch):
    vault = vault_in(tmp_path, rho=4)
    plan, before = of_residuals(vault.cubes.plan(rho=1, cuboids=2)), vault.ledger.head
    monkeypatch.setattr(size, "MOST_CELLS", 50)
    with pytest.raises(UnsupportedQuery, match=r"whole counts of this cube are read off a model: .* --for model"):
        vault.cubes.publish(plan, counts="whole")
    assert vault.ledger.head == before
