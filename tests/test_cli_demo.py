"""`discreet demo`: made-up people, a vault over them, the console; and nothing of anybody's is written over."""

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.demo.census import census, census_domain_path
from discreet.vault import Vault


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run(*arguments: str, exit_code: int = 0) -> str:
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert result.exit_code == exit_code, result.output
    return result.output


def test_the_demo_shows_an_answer_of_every_kind_and_leaves_its_vault() -> None:
    shown = run("--people", "20000")
    assert [kind for kind in ("measured", "repeated", "derived", "relaxed") if kind not in shown] == []
    assert Vault.open("demo/vault").budget().charges == 3


def test_people_alone_are_the_census_and_its_public_domain() -> None:
    run("somewhere/else", "--people", "300", "--only-people")
    assert pq.read_table("somewhere/else/people.parquet").equals(census(300))
    assert Path("somewhere/else/people.toml").read_bytes() == census_domain_path().read_bytes()
    assert len(list(Path("somewhere/else").iterdir())) == 2


@pytest.mark.parametrize("name", ["vault", "people.parquet", "people.toml"])
def test_what_is_there_is_never_written_over(name: str) -> None:
    Path(name).write_text("mine")
    assert f"{name} is there already; remove it, or name another folder" in run(".", "--people", "300", exit_code=1)
    assert Path(name).read_text() == "mine"
    assert {path.name for path in Path().iterdir()} == {name}


def test_a_console_needs_a_vault() -> None:
    run("--console", "--only-people", exit_code=2)


def test_a_console_without_a_server_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "discreet.server.run", None)
    assert "pip install 'discreet[server]'" in run("--console", "--people", "300", exit_code=1)
    assert not Path("demo").exists()
