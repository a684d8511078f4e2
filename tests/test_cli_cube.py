"""discreet cube plan | publish | show: every command, every bad input, the same fields as in Python."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cube.cube import Cube
from discreet.demo.census import census_domain_path, write_census
from discreet.errors import ArchiveError, EngineError
from discreet.vault import Vault

SIZES = ("--sizes", "9,16,7,15,6,5,2,2", "--neighbours", "add-remove")
SMALL = ("--dimensions", "sex,education,region")


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    path = tmp_path_factory.mktemp("census") / "people.parquet"
    write_census(path, 2_000)
    return path


@pytest.fixture(autouse=True)
def folder(census, tmp_path, monkeypatch):
    """The working directory, with a vault of ε = 1."""
    monkeypatch.chdir(tmp_path)
    Vault.init("vault", table=census, domain=census_domain_path(), epsilon=1, neighbours="replace")
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["cube", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def published(*more: str) -> str:
    return run("publish", "vault", *SMALL, "--cuboids", "2", "--epsilon", "1/2", "--out", "cube", *more)


def test_plan_as_json_has_the_agreed_fields():
    plan = json.loads(run("plan", *SIZES, "--planner", "bmaxg", "--epsilon", "1", "--json"))
    assert list(plan) == [
        "planner",
        "sources",
        "shares",
        "max_variance",
        "mean_variance",
        "max_variance_consistent",
        "mean_variance_consistent",
    ]
    assert plan["planner"] == "bmaxg"
    assert [0, 1, 2, 3, 4, 5, 6, 7] in plan["sources"]
    assert len(plan["shares"]) == len(plan["sources"])
    assert sum(plan["shares"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("planner", "field", "variance"),
    [
        # CUBES.md, the table at ε = 1, add-remove: the exact rows.
        ("all", "max_variance", 131072),
        ("all", "max_variance_consistent", 28912.9),
        ("base", "max_variance", 3628800),
        ("base", "mean_variance", 64260),
        ("bmax", "max_variance", 32768),
    ],
)
def test_continuous_variances_are_those_of_the_table(planner, field, variance):
    plan = json.loads(run("plan", *SIZES, "--planner", planner, "--epsilon", "1", "--continuous", "--json"))
    assert plan[field] == pytest.approx(variance, rel=1e-3)


def test_discrete_variances_are_below_continuous_ones():
    command = ("plan", "--sizes", "2,3", "--neighbours", "add-remove", "--planner", "base", "--epsilon", "1", "--json")
    discrete, continuous = json.loads(run(*command)), json.loads(run(*command, "--continuous"))
    assert discrete["max_variance"] < 0.93 * continuous["max_variance"]


def test_replace_needs_four_times_the_variance_of_add_remove():
    command = ("plan", "--sizes", "2,3", "--epsilon", "1", "--continuous", "--json", "--planner", "bmax")
    add, replaced = (json.loads(run(*command, "--neighbours", which)) for which in ("add-remove", "replace"))
    assert replaced["max_variance"] == pytest.approx(4 * add["max_variance"])


def test_plan_for_people_shows_the_lattice_and_each_cuboid(folder):
    shown = run("plan", "vault", *SMALL, "--cuboids", "2", "--epsilon", "0.5", "--planner", "all", "--plot", "p.png")
    assert "all: 7 of 7 cuboids are measured, ε = 0.5, neighbours: replace" in shown
    assert "●●●" in shown
    assert "sex × education" in shown
    assert "14.3%" in shown
    assert "largest variance" in shown
    assert (folder / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_plan_of_many_cuboids_shows_those_that_are_measured():
    shown = run("plan", *SIZES, "--planner", "base", "--epsilon", "1")
    assert "base: 1 of 256 cuboids are measured" in shown
    assert "0 × 1 × 2 × 3 × 4 × 5 × 6 × 7" in shown
    assert shown.count("100.0%") == 1


def test_plan_with_weights_and_a_bound():
    weighted = ("--objective", "weighted", "--weight", "sex,region=9", "--weight", "total=2")
    assert json.loads(run("plan", "vault", *SMALL, "--epsilon", "1", *weighted, "--json"))["planner"] == "optimal"
    bounded = ("--planner", "pmost", "--bound", "500", "--cuboids", "sex,education;region;total")
    assert json.loads(run("plan", "vault", *SMALL, "--epsilon", "1", *bounded, "--json"))["planner"] == "pmost"
    assert Vault.open("vault").budget().spent == 0


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        (("--sizes", "9,1", "--neighbours", "replace"), "DomainError", "dimension 1 has 1 value; it needs at least 2"),
        (("--sizes", "0,3", "--neighbours", "replace"), "DomainError", "dimension 0 has 0 values"),
        (("--sizes", "9,x", "--neighbours", "replace"), "UnsupportedQuery", "as in 9,16,7"),
        (("--sizes", "9,3"), "InvalidBudget", "--sizes needs --neighbours"),
        (("--sizes", ",".join(["2"] * 21), "--neighbours", "replace"), "UnsupportedQuery", "at most 20 dimensions"),
        ((), "UnsupportedQuery", "name a vault, or give --sizes"),
        (("vault", "--sizes", "2,3"), "UnsupportedQuery", "name a vault, or give --sizes"),
        (("nothing",), "VaultError", "is not a vault"),
        (("vault", "--dimensions", "sex,regiom"), "DomainError", "did you mean region"),
        (("vault", *SMALL, "--cuboids", "sex,region;region,sex"), "UnsupportedQuery", "given twice"),
        (("vault", *SMALL, "--cuboids", "sex,age"), "UnsupportedQuery", "no dimension 'age'"),
        (("vault", *SMALL, "--cuboids", "4"), "UnsupportedQuery", "from 0 to 3"),
        (("vault", *SMALL, "--planner", "best"), "UnsupportedQuery", "no planner 'best'"),
        (("vault", *SMALL, "--objective", "least"), "UnsupportedQuery", "no objective 'least'"),
        (("vault", *SMALL, "--weight", "sex"), "UnsupportedQuery", "a weight looks like sex,age=3"),
        (("vault", *SMALL, "--bound", "5"), "UnsupportedQuery", "takes no bound"),
        (("vault", *SMALL, "--plot", "p.xyz"), "PictureError", "ends in one of"),
    ],
)
def test_a_plan_that_makes_no_sense_says_why(arguments, error, problem):
    said = json.loads(run("plan", *arguments, "--epsilon", "1", "--json", code=1))
    assert said["error"] == error
    assert problem in said["message"]


@pytest.mark.parametrize("epsilon", ["0", "-1", "much", "1e999", "nan"])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    said = json.loads(run("plan", "vault", *SMALL, "--epsilon", epsilon, "--json", code=1))
    assert said["error"] == "InvalidBudget"


def test_publish_charges_once_and_writes_a_folder_that_needs_no_vault(folder):
    shown = published()
    assert "people: sex 3 × education 8 × region 12" in shown
    assert "discreet cube show cube sex" in shown
    assert str(Vault.open("vault").budget().spent) == "1/2"
    shutil.rmtree(folder / "vault")
    assert Cube.load("cube")["sex", "education"].shape == (3, 8)


def test_publish_as_json_says_where_and_what():
    said = json.loads(published("--json", "--no-consistent"))
    assert said["folder"] == "cube"
    assert said["dimensions"] == {"sex": 3, "education": 8, "region": 12}
    assert said["consistent"] is False


def test_publish_beyond_what_is_left_names_it_and_leaves_nothing(folder):
    published()
    said = json.loads(run("publish", "vault", *SMALL, "--epsilon", "0.6", "--out", "more", "--json", code=1))
    assert said["error"] == "BudgetExceeded"
    assert "ε = 1/2 left" in said["message"]
    assert not (folder / "more").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        (("--out", "cube"), "InvalidBudget", "say how much of it this may spend, epsilon=… (--epsilon)"),
        (("--epsilon", "1", "--charge", "2", "--out", "cube"), "InvalidBudget", "--charge goes on with what was paid"),
        (("--epsilon", "1", "--out", "vault"), "ArchiveError", "already there"),
        (("--epsilon", "1", "--out", "no/cube"), "ArchiveError", "not a folder that can be written to"),
        (("--charge", "7", "--out", "cube"), "VaultError", "there is no charge 7"),
    ],
)
def test_a_publish_that_makes_no_sense_spends_nothing(arguments, error, problem):
    said = json.loads(run("publish", "vault", *SMALL, *arguments, "--json", code=1))
    assert said["error"] == error
    assert problem in said["message"]
    assert Vault.open("vault").budget().spent == 0


def test_too_little_memory_is_said_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr("discreet.cube.memory.available_bytes", lambda: 100)
    said = json.loads(run("publish", "vault", *SMALL, "--epsilon", "1", "--out", "cube", "--json", code=1))
    assert "nothing was spent" in said["message"]
    assert Vault.open("vault").budget().spent == 0


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ArchiveError("the disk is full"), EngineError("it failed")])
def test_an_interrupted_publish_says_how_to_go_on_and_it_does(folder, monkeypatch, failure):
    def fails(*_arguments):
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(Cube, "save", fails)
        said = run("publish", "vault", *SMALL, "--epsilon", "1/2", "--out", "cube", "--json", code=1)
    message = json.loads(said)["message"]
    assert "charge 3 stands: `discreet cube publish vault --charge 3 --out cube`" in message
    assert not (folder / "cube").exists()
    run("publish", "vault", "--charge", "3", "--out", "cube")
    assert str(Vault.open("vault").budget().spent) == "1/2"
    assert Cube.load("cube").origin.charge == 3


def test_show_prints_a_cuboid_with_intervals(folder):
    published()
    shown = run("show", "cube", "sex", "education", "--plot", "c.png", "--confidence", "0.9")
    assert "upper secondary" in shown
    assert "±" in shown
    assert "at 90%" in shown
    assert "ε = 1/2, neighbours: replace" in shown
    assert (folder / "c.png").read_bytes()[:4] == b"\x89PNG"
    assert "planner" in run("show", "cube")


def test_show_as_json_has_the_numbers_of_python():
    published()
    said, cube = json.loads(run("show", "cube", "education", "sex", "--json")), Cube.load("cube")
    assert said["dimensions"] == ["education", "sex"]
    assert said["count"] == cube["education", "sex"].values.tolist()
    assert said["labels"]["sex"] == ["F", "M", "(missing)"]
    assert said["variance"] == cube.variance("sex", "education")
    assert said["halfwidth"] == cube.halfwidth("sex", "education")
    assert said["guarantee"]["epsilon"] == "1/2"


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        (("nothing",), "ArchiveError", "there is no folder nothing"),
        (("cube", "sexx"), "UnsupportedQuery", "did you mean sex"),
        (("cube", "sex", "sex"), "UnsupportedQuery", "given twice"),
        (("cube", "sex", "education", "region"), "UnsupportedQuery", "no published cuboid holds"),
        (("cube", "sex", "--confidence", "1"), "InvalidNoise", "between 0 and 1"),
        (("cube", "--plot", "p.png"), "PictureError", "one or two dimensions"),
    ],
)
def test_what_cannot_be_shown_is_a_clear_error(arguments, error, problem):
    published()
    said = json.loads(run("show", *arguments, "--json", code=1))
    assert said["error"] == error
    assert problem in said["message"]


def test_a_cubes_release_is_listed_and_shown_without_flooding_the_terminal():
    run("publish", "vault", *SMALL, "--planner", "all", "--epsilon", "1/2", "--out", "cube")
    listed = CliRunner().invoke(app, ["release", "list", "vault"]).output
    assert "and 4 more" in listed
    shown = CliRunner().invoke(app, ["release", "show", "vault", "3"]).output
    assert "and 88 more: --json prints all" in shown  # 3 × 8 × 12 cells in the base cuboid


def test_a_damaged_folder_is_never_shown(folder):
    published()
    file = folder / "cube" / "cuboids.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert "is damaged" in json.loads(run("show", "cube", "sex", "--json", code=1))["message"]


def test_what_is_expected_and_what_is_precise_are_told():
    expected = ("--expected", "0,1=50", "--expected", "others=500")
    small = ("--sizes", "3,4,5", "--neighbours", "add-remove", "--epsilon", "1")
    plan = json.loads(run("plan", *small, *expected, "--json"))
    assert plan["max_ratio_consistent"] <= plan["max_ratio"]
    assert "largest ratio" in run("plan", *small, *expected)
    most = ("--objective", "most", "--bound", "40")
    plan = json.loads(run("plan", *small, *most, "--json"))
    assert plan["bound"] == 40
    assert 0 < plan["precise_weight_consistent"] <= 8
    assert f"{plan['precise_weight_consistent']:g} of 8: variance at most 40" in run("plan", *small, *most)


def test_a_first_cube_tells_where_relative_errors_count():
    published()
    plan = json.loads(
        run("plan", "vault", *SMALL, "--cuboids", "2", "--epsilon", "1/4", "--estimate", "cube", "--json")
    )
    assert plan["max_ratio_consistent"] > 0
    more = ("--cuboids", "2", "--epsilon", "1/4", "--estimate", "cube", "--out", "second")
    run("publish", "vault", *SMALL, *more)
    assert Cube.load("second").plan.expected


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--expected", "0=5"), "has no expected variance"),
        (("--expected", "others=0"), "above 0 and finite"),
        (("--expected", "others=-3"), "above 0 and finite"),
        (("--expected", "others"), "an expected variance looks like sex,age=3"),
        (("--weight", "0=0"), "above 0 and finite"),
        (("--bound", "4"), "takes no bound"),
        (("--objective", "most", "--bound", "-1"), "must be above 0"),
        (("--estimate", "cube"), "name the vault, not --sizes"),
    ],
)
def test_an_aim_that_makes_no_sense_says_why(arguments, problem):
    small = ("--sizes", "3,4,5", "--neighbours", "add-remove", "--epsilon", "1")
    told = json.loads(run("plan", *small, *arguments, "--json", code=1))
    assert told["error"] == "UnsupportedQuery"
    assert problem in told["message"]


def test_a_plan_of_fifty_dimensions_is_shown_in_a_few_lines():
    sizes = ("--sizes", ",".join(["10"] * 50), "--neighbours", "add-remove", "--rho", "1/2")
    shown = run("plan", *sizes, "--cuboids", "2")
    assert "the residuals of 1,276 cuboids are measured" in shown
    assert "and 1,260 more" in shown
    assert "memory to publish" not in shown
    assert len(shown.splitlines()) < 40
    assert "memory to publish  0.2 GB" in run("plan", "--sizes", ",".join(["100"] * 50), *sizes[2:], "--cuboids", "2")


def test_a_plan_says_when_the_budget_cannot_pay_and_what_it_could():
    published()
    said = run("plan", "vault", *SMALL, "--epsilon", "1")
    assert "The budget cannot pay for it: plan it with epsilon (--epsilon) at most 0.5" in " ".join(said.split())
    body = json.loads(run("plan", "vault", *SMALL, "--epsilon", "1", "--json"))
    assert (body["affordable"], body["at_most"]) == (False, "0.5")
    refused = run("publish", "vault", *SMALL, "--epsilon", "1", "--out", "more", code=1)
    assert "--epsilon) at most 0.5" in refused
    assert "cannot pay" not in run("plan", "vault", *SMALL, "--epsilon", body["at_most"])
    run("publish", "vault", *SMALL, "--epsilon", body["at_most"], "--out", "more")


def test_notes_are_wrapped_between_words():
    published()
    shown = run("show", "cube", "sex", "--confidence", "0.99")
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_cuboid_is_shown_by_the_groups_of_its_hierarchy():
    run("publish", "vault", "--dimensions", "occupation,sex", "--epsilon", "1/2", "--out", "cube")
    shown = run("show", "cube", "occupation_group")
    assert [line.split()[0] for line in shown.splitlines()[1:4]] == ["office", "service", "manual"]
    found = json.loads(run("show", "cube", "occupation_group1", "sex", "--json"))
    cells = json.loads(run("show", "cube", "occupation", "sex", "--json"))
    assert found["labels"]["occupation_group1"][0] == "at work"
    low, count, high = (np.array(found[key]) for key in ("low", "count", "high"))
    np.testing.assert_allclose(count.sum(axis=0), np.array(cells["count"]).sum(axis=0))
    assert (low < count).all()
    assert (count < high).all()
    assert "there are occupation, sex, occupation_group" in run("show", "cube", "wealth", code=1)
    assert "leave out --plot" in run("show", "cube", "occupation_group", "--plot", "x.png", code=1)
