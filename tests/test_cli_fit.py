"""The custodian is told how a domain fits, at the terminal alone; a vault that would lose many rows is not made."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app, present

DOMAIN = """name = "people"
[attributes.town]
kind = "category"
values = ["Bern", "Chur"]
source = "s"
"""
INIT = (
    "init",
    "vault",
    "--table",
    "people.csv",
    "--domain",
    "people.toml",
    "--epsilon",
    "1",
    "--neighbours",
    "replace",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(DOMAIN)
    Path("people.csv").write_text("town,n\n" + "Bern,1\n" * 9 + "berne-by-lake,1\n")
    return tmp_path


def run(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, arguments, input=typed)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def held_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.usefixtures("folder")
def test_fit_says_what_is_lost_and_why() -> None:
    code, shown, _ = run("domain", "fit", "people.csv", "people.toml")
    assert code == 0
    assert shown.startswith("10 rows read, 9 kept, 1 lost (10.0%). exact and confidential")
    assert "berne-by-lake" in shown
    assert "nobody has 1 of its values: Chur" in shown
    found = json.loads(run("domain", "fit", "people.csv", "people.toml", "--json")[1])
    assert (found["rows"], found["kept"], found["lost"]) == (10, 9, 1)
    assert found["columns"][0]["odd"] == [{"text": "berne-by-lake", "rows": 1, "nearest": None}]


def test_init_stops_where_much_is_lost_and_makes_nothing(folder: Path) -> None:
    for more in ((), ("--json",)):
        code, shown, error = run(*INIT, *more)
        assert code == 1
        assert "more than 5% of the rows would be left out" in " ".join((shown + error).split())
        assert "berne" not in shown + error
        assert not (folder / "vault").exists()


@pytest.mark.parametrize("more", [("--accept-loss", "0.1"), ("--quiet",)])
def test_init_goes_on_where_the_loss_is_accepted_and_tells_a_pipe_nothing(folder: Path, more: tuple[str, ...]) -> None:
    code, shown, error = run(*INIT, *more)
    assert code == 0
    assert "rows read" not in shown + error
    assert b"berne-by-lake" not in held_in(folder / "vault")


@pytest.mark.parametrize(("typed", "made"), [("y\n", True), ("n\n", False)])
def test_whoever_sits_at_the_terminal_is_told_and_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, made: bool
) -> None:
    monkeypatch.setattr(present.err, "is_interactive", True)
    monkeypatch.setattr("discreet.cli.vault.is_typed", lambda: True)
    code, shown, error = run(*INIT, typed=typed)
    assert (code == 0, (folder / "vault").exists()) == (made, made)
    assert "10 rows read, 9 kept, 1 lost" in error
    assert "Make the vault nevertheless?" in error
    assert "rows read" not in shown
    assert b"berne-by-lake" not in held_in(folder / "vault") + held_in(folder / "state")


def test_a_table_without_rows_makes_no_vault(folder: Path) -> None:
    Path("people.csv").write_text("town,n\n")
    assert run(*INIT)[0] == 1
    assert not (folder / "vault").exists()
    assert "no rows: a vault over it would be about nobody" in run("domain", "fit", "people.csv", "people.toml")[1]
