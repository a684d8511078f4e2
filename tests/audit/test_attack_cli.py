"""discreet audit attack on a vault: each kind, for people and for machines."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli import app

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
