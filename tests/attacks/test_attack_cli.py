"""discreet audit attack on a vault: each kind, for people and for machines."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet.attacks.guesses import BitAttack
from discreet.cli import app
from discreet.vault import Vault

KINDS = ("averaging", "differencing", "reconstruction", "membership")


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("kind", KINDS)
def test_an_attack_says_what_was_attacked_and_how_well_it_went(kind, vault_of, folder):
    vault = str(vault_of(epsilon=1, neighbours="add-remove").path)
    (folder / "people.parquet").unlink()  # no row is read
    shown = run("audit", "attack", vault, "--kind", kind, "--trials", "12", "--plot", "attack.png")
    assert "no row of its table was read" in shown.replace("\n", " ")
    assert "exact answers" in shown
    assert "0.462" in shown
    assert "Nothing to warn of" in shown
    assert (folder / "attack.png").read_bytes()[:4] == b"\x89PNG"
    said = json.loads(run("audit", "attack", vault, "--kind", kind, "--trials", "12", "--confidence", "0.9", "--json"))
    assert said["kind"] == kind
    assert said["confidence"] == 0.9
    assert said["guarantee"]["epsilon"] == "1"
    assert said["warns"] is False
    assert {attempt["protected"] for attempt in said["attempts"]} == {True, False}
    for attempt in said["attempts"]:
        assert attempt["low"] <= attempt["advantage"] <= attempt["high"]


def test_wrong_wishes_are_refused(vault_of):
    vault = str(vault_of(epsilon=1, neighbours="add-remove").path)
    assert "1 to" in run("audit", "attack", vault, "--kind", "averaging", "--trials", "0", code=1)
    assert "between 0 and 1" in run("audit", "attack", vault, "--kind", "averaging", "--confidence", "2", code=1)
    assert "there are corruption" in run("audit", "attack", vault, "--kind", "guess", code=1)
    assert "as in 0.95" in run("audit", "attack", vault, "--kind", "inference", "--confidence", "1e-300", code=1)


def test_a_vault_is_no_folder_of_buckets_and_a_folder_is_no_vault(vault_of, folder):
    vault = vault_of(epsilon=1, neighbours="replace")
    said = run("audit", "attack", str(vault.path), "--kind", "corruption", code=1)
    assert "is a vault, and corruption attacks published buckets" in said.replace("\n", " ")
    vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=["sex"])).save("cube")
    assert "is a published folder" in run("audit", "attack", str(folder / "cube"), "--kind", "inference", code=1)


def test_a_vault_that_tells_more_than_it_promises_is_a_failure(vault_of, monkeypatch):
    vault = str(vault_of(epsilon=1, neighbours="add-remove").path)
    command = ("audit", "attack", vault, "--kind", "membership", "--trials", "12")
    monkeypatch.setattr(BitAttack, "bound", -1.0)
    assert "The vault tells more than it promises" in run(*command, code=1)
    assert json.loads(run(*command, "--json", code=1))["warns"] is True


@pytest.fixture
def two_values(folder):
    """Makes a vault whose domain has two points."""

    def make(name="vault", **wishes):
        sex = '[attributes.sex]\nkind = "category"\nvalues = ["F", "M"]\nsource = "form"\n'
        (folder / "two.toml").write_text('name = "people"\n' + ("null_ids = 'drop'\n" if "id" in wishes else "") + sex)
        table = pa.table({"sex": ["F", "M"] * 5, "who": range(10)})
        return str(Vault.init(folder / name, table=table, domain=folder / "two.toml", **wishes).path)

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_a_domain_of_two_values_is_attacked_as_far_as_it_goes(kind, two_values):
    """A random half of two people is often nobody; there are two ways to word a count, and no room for a tracker."""
    vault = two_values(epsilon=1, neighbours="add-remove")
    shown = run("audit", "attack", vault, "--kind", kind, "--trials", "8", "--json")
    *_, last = json.loads(shown)["attempts"]
    assert last["questions"] == {"averaging": 2, "differencing": 2, "reconstruction": 14, "membership": 2}[kind]
    assert "tracker" not in shown


def test_what_cannot_be_attacked_is_refused_in_words(two_values, folder):
    replaced = two_values(epsilon=1, neighbours="replace")
    assert "too few values" in run("audit", "attack", replaced, "--kind", "membership", code=1)
    (folder / "roster.csv").write_text("who\n" + "\n".join(map(str, range(10))))
    queries = two_values("queries", queries=5, delta=1, id="who", roster=folder / "roster.csv")
    assert "budget of queries" in run("audit", "attack", queries, "--kind", "membership", code=1)
