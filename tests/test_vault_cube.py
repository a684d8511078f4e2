"""Cubes through a vault: charged once through the gate, resumable after any interruption, never over the budget."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cube.journal import NOTE
from discreet.errors import BudgetExceeded, DiscreetError, DomainError, EngineError, UnsupportedQuery, VaultError
from discreet.release.archive import Archive
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
low = 18
high = 21
source = "form"
[attributes.region]
kind = "category"
values = ["north", "east", "south"]
source = "atlas"
[attributes.planet]
kind = "category"
values = ["earth"]
source = "atlas"
"""
DIMENSIONS = ("sex", "age", "region")


@pytest.fixture
def vault(tmp_path) -> Vault:
    rng = np.random.default_rng(3)
    people = pa.table(
        {
            "sex": rng.choice(["F", "M"], 900),
            "age": rng.integers(18, 22, 900),
            "region": rng.choice(["north", "east", "south"], 900),
            "planet": ["earth"] * 900,
        }
    )
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(DOMAIN)
    return Vault.init(
        tmp_path / "vault",
        table=tmp_path / "people.parquet",
        domain=tmp_path / "people.toml",
        epsilon=1,
        neighbours="replace",
    )


def same(one, other) -> bool:
    return one.plan == other.plan and all(
        np.array_equal(one.cuboids[mask], other.cuboids[mask]) for mask in one.cuboids
    )


def charges(vault: Vault) -> list[int]:
    return [entry.seq for entry in vault.ledger.entries() if entry.kind == "charge"]


def test_a_cube_is_one_charge_of_its_epsilon(vault):
    cube = vault.cubes.publish(vault.cubes.plan(epsilon="1/3", dimensions=DIMENSIONS))
    assert vault.budget().spent == Fraction(1, 3)
    assert cube.guarantee.epsilon == Fraction(1, 3)
    assert charges(vault) == [cube.origin.charge]
    assert cube["sex", "age"].shape == (2, 4)


def test_a_cube_is_as_near_to_the_table_as_it_says(vault):
    plan = vault.cubes.plan(epsilon=1, dimensions=("sex",), planner="base")
    cube = vault.cubes.publish(plan)
    # λ = 2 and two cells: the total is beyond ±200 with probability below 1e-40.
    assert abs(cube[()].item() - 900) < 200


def test_planning_spends_nothing_and_writes_nothing(vault):
    before = vault.ledger.head
    plan = vault.cubes.plan(cuboids=2, planner="bmaxg", epsilon="0.5", dimensions=DIMENSIONS)
    assert plan.noise.neighbours == "replace"
    assert vault.ledger.head == before


def test_what_is_left_is_named_where_a_cube_costs_more(vault):
    vault.cubes.publish(vault.cubes.plan(epsilon="3/4", dimensions=DIMENSIONS))
    before = vault.ledger.head
    with pytest.raises(BudgetExceeded, match="ε = 1/4 left"):
        vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=DIMENSIONS))
    assert vault.ledger.head == before


def test_where_nothing_is_said_dimensions_are_all_that_tell_people_apart(vault):
    names = vault.cubes.plan(epsilon=1).lattice.names
    assert "planet" not in names
    assert set(names) == {attribute.name for attribute in vault.domain.attributes if attribute.size > 1}


@pytest.mark.parametrize(
    ("choice", "error", "problem"),
    [
        ({"dimensions": ("sex", "agee")}, DomainError, "did you mean age"),
        ({"dimensions": ("sex", "planet")}, DomainError, "planet has 1 value; it needs at least 2"),
        ({"dimensions": ("sex", "sex")}, DomainError, "sex is named twice"),
        ({"dimensions": DIMENSIONS, "cuboids": [("sex", "age"), ("age", "sex")]}, UnsupportedQuery, "given twice"),
        ({"dimensions": DIMENSIONS, "cuboids": [("sex", "tall")]}, UnsupportedQuery, "no dimension 'tall'"),
        ({"dimensions": DIMENSIONS, "cuboids": []}, UnsupportedQuery, "no cuboid to publish"),
        ({"dimensions": DIMENSIONS, "cuboids": 4}, UnsupportedQuery, "from 0 to 3"),
        ({"dimensions": DIMENSIONS, "planner": "best"}, UnsupportedQuery, "no planner 'best'; there are all, base"),
        ({"dimensions": DIMENSIONS, "objective": "least"}, UnsupportedQuery, "no objective 'least'"),
        ({"dimensions": DIMENSIONS, "epsilon": 0}, DiscreetError, "above 0"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_with_a_reason(vault, choice, error, problem):
    with pytest.raises(error, match=problem):
        vault.cubes.plan(**{"epsilon": 1, **choice})


def test_a_plan_for_another_vault_is_refused(vault, tmp_path):
    other = Vault.init(
        tmp_path / "other",
        table=tmp_path / "people.parquet",
        domain=tmp_path / "people.toml",
        epsilon=1,
        neighbours="add-remove",
    )
    with pytest.raises(UnsupportedQuery, match="plan it with this vault"):
        vault.cubes.publish(other.cubes.plan(epsilon=1, dimensions=DIMENSIONS))
    assert charges(vault) == []


def test_too_little_memory_is_said_before_anything_is_spent(vault, monkeypatch):
    monkeypatch.setattr("discreet.cube.memory.available_bytes", lambda: 100)
    with pytest.raises(UnsupportedQuery, match="nothing was spent"):
        vault.cubes.publish(vault.cubes.plan(epsilon=1, dimensions=DIMENSIONS))
    assert vault.budget().spent == 0


def test_a_cube_is_published_again_from_its_charge_without_a_further_one(vault):
    plan = vault.cubes.plan(cuboids=2, planner="bmaxg", epsilon="1/2", dimensions=DIMENSIONS)
    cube = vault.cubes.publish(plan)
    again = vault.cubes.publish(cube.origin.charge)
    assert same(cube, again)
    assert again.origin == cube.origin
    assert vault.budget().spent == Fraction(1, 2)
    rough = vault.cubes.publish(cube.origin.charge, consistent=False)
    assert not rough.consistent
    assert all(np.array_equal(rough.sources[mask], cube.sources[mask]) for mask in cube.sources)


@pytest.mark.parametrize("where", [(Snapshot, "evaluate"), (Archive, "save")])
def test_a_publish_that_is_interrupted_goes_on_from_its_charge(vault, tmp_path, monkeypatch, where):
    plan = vault.cubes.plan(epsilon="1/2", dimensions=DIMENSIONS)

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(*where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            vault.cubes.publish(plan)
    later = Vault.open(tmp_path / "vault")
    assert later.budget().pending == tuple(charges(later))
    cube = later.cubes.publish(charges(later)[0])
    assert later.budget().pending == ()
    assert later.budget().spent == Fraction(1, 2)
    assert cube.plan == plan
    assert same(cube, later.cubes.publish(charges(later)[0]))


def test_a_publish_whose_answer_was_completed_elsewhere_goes_on_too(vault, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Snapshot, "evaluate", lambda *_: 1 / 0)
        with pytest.raises(EngineError, match="ledger complete"):
            vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=DIMENSIONS))
    [release] = vault.complete()
    cube = vault.cubes.publish(release.charge)
    assert tuple(cube.sources) == cube.plan.source_masks
    assert vault.budget().spent == Fraction(1, 2)


def test_an_unfinished_publish_and_a_later_one_with_the_same_plan_are_told_apart_by_their_charges(vault):
    plan = vault.cubes.plan(epsilon="1/4", dimensions=DIMENSIONS)
    first, second = vault.cubes.publish(plan), vault.cubes.publish(plan, again=True)
    assert not same(first, second)
    assert same(vault.cubes.publish(first.origin.charge), first)
    assert same(vault.cubes.publish(second.origin.charge), second)


def test_a_charge_that_is_no_cubes_is_a_clear_error(vault):
    vault.measure(vault.count(), scale=20)
    with pytest.raises(VaultError, match="charge 2 is not a cube's"):
        vault.cubes.publish(2)
    with pytest.raises(VaultError, match="there is no charge 7"):
        vault.cubes.publish(7)


def test_the_journal_says_what_was_planned(vault):
    vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=DIMENSIONS, planner="base"))
    [note] = [entry for entry in vault.entries() if entry["kind"] == NOTE]
    assert note["what"] == "the plan of a cube: base, 1 cuboids to measure"
    assert note["body"]["content"]["cuboids"] == "all"


def test_the_first_cube_of_two_is_charged_and_planning_by_it_is_free(vault, tmp_path):
    first = vault.cubes.publish(vault.cubes.plan(epsilon="1/4", dimensions=DIMENSIONS))
    first.save(tmp_path / "first")
    plan = vault.cubes.plan(epsilon="1/2", dimensions=DIMENSIONS, estimate=tmp_path / "first")
    assert vault.budget().spent == Fraction(1, 4)
    assert plan.expected == vault.cubes.plan(epsilon="1/2", dimensions=DIMENSIONS, estimate=first).expected
    assert len(plan.expected) == 8
    again = vault.cubes.publish(plan)
    assert vault.budget().spent == Fraction(3, 4)
    assert same(vault.cubes.publish(again.origin.charge), again)
    with pytest.raises(UnsupportedQuery, match="not both"):
        vault.cubes.plan(epsilon="1/4", dimensions=DIMENSIONS, estimate=first, expected={"others": 3})
    small = vault.cubes.publish(vault.cubes.plan(epsilon="1/8", dimensions=("sex",)))
    with pytest.raises(UnsupportedQuery, match="no dimension 'age'"):
        vault.cubes.plan(epsilon="1/8", dimensions=DIMENSIONS, estimate=small)


@pytest.fixture
def wide_vault(tmp_path) -> tuple[Vault, np.ndarray]:
    """A vault of 30 attributes of three values, with its codes."""
    codes = np.random.default_rng(4).integers(0, 3, (30, 500))
    names = [f"a{axis:02}" for axis in range(30)]
    pq.write_table(pa.table(dict(zip(names, codes, strict=True))), tmp_path / "wide.parquet")
    attribute = '[attributes.{}]\nkind = "integer"\nlow = 0\nhigh = 2\nsource = "made up"\n'
    (tmp_path / "wide.toml").write_text('name = "wide"\n' + "".join(map(attribute.format, names)))
    place, domain = tmp_path / "wide.parquet", tmp_path / "wide.toml"
    return Vault.init(tmp_path / "w", table=place, domain=domain, rho=4000, neighbours="add-remove"), codes


def test_all_triples_of_thirty_attributes_are_one_charge_and_near_to_the_table(wide_vault):
    vault, codes = wide_vault
    cube = vault.cubes.publish(vault.cubes.plan(rho=3999, cuboids=3))
    assert vault.budget().spent == 3999
    assert len(charges(vault)) == 1
    assert len(cube.cuboids) == 1 + 30 + 435 + 4060
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, tuple(codes[[3, 11, 29]]), 1)
    assert np.abs(cube["a03", "a11", "a29"] - counts).max() < 6 * cube.variance("a03", "a11", "a29") ** 0.5
    np.testing.assert_allclose(cube["a03", "a11", "a29"].sum("a11"), cube["a03", "a29"], atol=1e-9)


def test_a_wide_cube_goes_on_from_its_charge(wide_vault):
    vault, _ = wide_vault
    cube = vault.cubes.publish(vault.cubes.plan(rho=40, cuboids=2, expected={("a00",): 1, "others": 10}))
    again = Vault.open(vault.path).cubes.publish(cube.origin.charge)
    assert same(again, cube)
    assert vault.budget().spent == 40
    journal = [entry for entry in vault.ledger.entries() if entry.kind in (NOTE, "charge", "record")]
    assert max(len(entry.body) for entry in journal) < 60_000


def test_every_question_can_still_be_asked_after_a_wide_cube(wide_vault):
    vault, codes = wide_vault
    vault.cubes.publish(vault.cubes.plan(rho=3000, cuboids=2))
    answer = vault.ask("SELECT COUNT(*) FROM wide WHERE a07 = 1", within=200)
    assert answer.kind != "measured"
    assert abs(answer.value - (codes[7] == 1).sum()) < 200


def test_the_same_cube_is_handed_out_and_only_again_buys_it(vault):
    plan = vault.cubes.plan(epsilon="1/4", dimensions=DIMENSIONS)
    first, spent, head = vault.cubes.publish(plan), vault.budget().spent, vault.ledger.head
    for other in (vault, Vault.open(vault.path)):
        again = other.cubes.publish(other.cubes.plan(epsilon="1/4", dimensions=DIMENSIONS))
        assert same(again, first)
        assert again.origin == first.origin
    assert (vault.budget().spent, vault.ledger.head) == (spent, head)
    assert vault.cubes.publish(plan, again=True).origin.charge > first.origin.charge
    assert vault.budget().spent == 2 * spent
    assert vault.cubes.publish(vault.cubes.plan(epsilon="1/8", dimensions=DIMENSIONS)).origin.charge > head.seq


def test_a_cube_of_another_table_is_bought(vault):
    plan = vault.cubes.plan(epsilon="1/4", dimensions=DIMENSIONS)
    first = vault.cubes.publish(plan)
    vault.refresh()
    assert vault.cubes.publish(plan).origin.charge > first.origin.charge


def test_the_command_says_that_a_cube_was_measured_before(vault, tmp_path):
    def publish(name, *more):
        asked = ["cube", "publish", str(vault.path), "--epsilon", "1/4", "--dimensions", ",".join(DIMENSIONS)]
        done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / name), *more])
        assert done.exit_code == 0, done.output
        return done.output

    assert json.loads(publish("one", "--json"))["repeated"] is False
    assert json.loads(publish("two", "--json"))["repeated"] is True
    assert "nothing more was spent: --again measures anew" in " ".join(publish("three").split())
    assert json.loads(publish("four", "--json", "--again"))["repeated"] is False


class TestWhatTheBudgetCanPay:
    """A plan says whether it can be paid, and a refusal names what is then granted."""

    @pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.3"}, {"mu": "0.7"}, {"epsilon": 1, "delta": "1e-6"}])
    @pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
    def test_what_a_refusal_names_is_granted(self, tmp_path, budget, neighbours):
        from tests.answer.conftest import DOMAIN

        (tmp_path / "people.toml").write_text(DOMAIN)
        table = pd.DataFrame({"age": range(10), "sex": ["F", "M"] * 5, "income": range(10)})
        place = {"table": table, "domain": tmp_path / "people.toml"}
        vault = Vault.init(tmp_path / "vault", **place, neighbours=neighbours, **budget)
        option, total = vault.ledger.budget.option, vault.ledger.budget.total
        vault.ask("SELECT COUNT(*) FROM people WHERE age < 3", scale=7)
        plan = vault.cubes.plan(**{option: total}, dimensions=["age", "sex"])
        said = vault.cubes.affordable(plan)
        assert not said.fits
        with pytest.raises(BudgetExceeded, match=rf"--{option.replace('_', '-')}\) at most ") as refused:
            vault.cubes.publish(plan)
        named = str(refused.value).rpartition("at most ")[2]
        assert named == said.to_json()["at_most"]
        granted = vault.cubes.plan(**{option: named}, dimensions=["age", "sex"])
        assert vault.cubes.affordable(granted).fits
        vault.cubes.publish(granted)
        assert vault.cubes.affordable(granted).fits  # it is there, and free
        over = vault.cubes.plan(**{option: total / 2}, dimensions=["age"])
        assert not vault.cubes.affordable(over).fits

    def test_where_nothing_is_left_nothing_is_named(self, tmp_path):
        from tests.answer.conftest import DOMAIN

        (tmp_path / "people.toml").write_text(DOMAIN)
        table = pd.DataFrame({"age": range(10), "sex": ["F", "M"] * 5, "income": range(10)})
        place = {"table": table, "domain": tmp_path / "people.toml"}
        vault = Vault.init(tmp_path / "vault", **place, neighbours="add-remove", epsilon=1)
        vault.measure(vault.count(age=3), scale=1)
        with pytest.raises(BudgetExceeded, match="nothing is left at some points"):
            vault.cubes.publish(vault.cubes.plan(epsilon="0.1", dimensions=["age"]))
