"""What a command does not need, it does not import: people wait for every one of them."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer
from pyarrow.csv import write_csv
from pyarrow.parquet import read_table
from typer.testing import CliRunner

from discreet.cli import EVERYTHING, app, app_of
from discreet.cli.light import LightCommand
from discreet.vault import Vault

HEAVY = ["numpy", "numba", "scipy", "pandas", "pyarrow", "ibis", "duckdb", "sqlglot", "xarray", "matplotlib", "fastapi"]
ENGINES = ["pandas", "pyarrow", "ibis", "duckdb", "psycopg", "pyspark"]
SOLVERS = ["numba", "llvmlite", "scipy", "clarabel", "mpmath", "matplotlib", "xarray", "fastapi"]
OTHER_ROOMS = [
    f"discreet.{room}"
    for room in ("cube", "microdata", "mining", "facts", "lattice", "refinement", "audit", "attacks", "empirical")
]
ANSWERING = ["cryptography", "discreet.noise", "discreet.release.gate", "discreet.answer", "discreet.ledger.ledger"]
"""What there is to answer with: a question that cannot be read needs none of it."""

ASK = ("ask", "vault", "--scale", "50")
KNOWN = "SELECT COUNT(*) FROM people WHERE age < 40"


def imported(code, *arguments):
    """The modules that a process has imported at its end."""
    told = f"import sys\n{code}\nprint('\\n'.join(['--', *sys.modules]))"
    done = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("--\n")[2].splitlines())


COMMAND = """
from discreet.cli import main
try:
    main()
except SystemExit:
    pass
"""


@pytest.fixture
def vault(folder):
    given = {"table": "people.parquet", "domain": "people.toml", "epsilon": 1, "neighbours": "replace"}
    made = Vault.init(folder / "vault", **given)
    made.ask(KNOWN, scale=50)
    made.ledger.close()
    return made


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_needs_no_arrays_no_compiler_and_no_engine(option):
    assert not imported(COMMAND, option) & set(HEAVY)


def test_a_vault_is_imported_without_engines_solvers_and_compilers():
    assert not imported("import discreet.vault") & {*ENGINES, *SOLVERS, *OTHER_ROOMS, "cryptography"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("budget", "vault"),
        ("describe", "vault"),
        (*ASK, "SELECT COUNT(*) FROM people", "--explain"),
        (*ASK, "SELECT age, COUNT(*) FROM people GROUP BY age", "--explain"),
        (*ASK, KNOWN),
    ],
)
@pytest.mark.usefixtures("vault")
def test_what_is_public_needs_no_engine_no_solver_and_no_noise(arguments):
    assert not imported(COMMAND, *arguments) & {*ENGINES, *SOLVERS, *OTHER_ROOMS, "cryptography", "pydantic"}


class Colour(StrEnum):
    red = "red"


def shows(**made):
    """A command line that shows what it was handed."""
    app = typer.Typer()

    @app.command(**made)
    def show(
        path: Annotated[Path, typer.Argument()],
        text: Annotated[str, typer.Argument()] = "none",
        number: Annotated[int | None, typer.Option()] = None,
        share: Annotated[float, typer.Option()] = 0.05,
        colour: Annotated[Colour, typer.Option()] = Colour.red,
        other: Annotated[Path | None, typer.Option(exists=True)] = None,
        names: Annotated[list[str] | None, typer.Option("--name")] = None,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        print(repr((path, text, number, share, colour, other, names, flag)))

    return app


@pytest.mark.parametrize(
    "arguments",
    [
        ["a/b"],
        [".", ""],
        ["a", "é"],
        ["a", "b", "--number", "7", "--colour", "red", "--other", ".", "--name", "x", "--name", "y", "--flag"],
        ["a", "--number", "x"],
        ["a", "--share", "1"],
        ["a", "--colour", "blue"],
        ["a", "--other", "nowhere"],
        ["a", "--name"],
        [],
        ["a", "--help"],
    ],
)
def test_values_that_are_taken_as_typed_are_what_typer_makes_of_them(arguments):
    own, light = (CliRunner().invoke(shows(**made), arguments) for made in ({}, {"cls": LightCommand}))
    assert (light.exit_code, light.output) == (own.exit_code, own.output)


@pytest.mark.parametrize("asked", ["COUNT(*)", "SUM(age)", "AVG(age)", "sex, COUNT(*)"])
@pytest.mark.usefixtures("vault")
def test_a_fresh_answer_needs_no_engine_no_solver_and_no_compiler(asked):
    grouped = " GROUP BY sex" if "sex" in asked else ""
    there = imported(COMMAND, *ASK, f"SELECT {asked} FROM people WHERE age < 60{grouped}")
    assert "cryptography" in there
    assert not there & {*ENGINES, *SOLVERS}


MAKE = ("init", "made", "--domain", "people.toml", "--epsilon", "1", "--neighbours", "replace", "--table")


@pytest.mark.parametrize("arguments", [(*MAKE, "people.parquet"), (*MAKE, "people.csv"), ("refresh", "vault")])
@pytest.mark.usefixtures("vault")
def test_a_snapshot_is_taken_without_frames_and_without_a_parser(arguments):
    write_csv(read_table("people.parquet"), "people.csv")
    there = imported(COMMAND, *arguments)
    assert "pyarrow" in there
    assert not there & {"pandas", "sqlglot", "pydantic", *OTHER_ROOMS}
    assert Path("made").exists() or "made" not in arguments


@pytest.mark.usefixtures("vault")
def test_whoever_wants_pandas_for_a_reason_of_their_own_has_it():
    wanted = "import pyarrow, xarray\nprint(pyarrow.array(xarray.DataArray([1], dims='a').to_series()))"
    assert "pandas" in imported(f"{COMMAND}\n{wanted}", "refresh", "vault")


@pytest.mark.parametrize(
    "question", ["SELECT COUNT(*) FROM people WHERE agee < 40", "SELECT COUNT(*) FROM pepole", "?"]
)
@pytest.mark.usefixtures("vault")
def test_a_typo_is_refused_without_anything_that_answers(question):
    assert not imported(COMMAND, *ASK, question) & {*ENGINES, *SOLVERS, *OTHER_ROOMS, *ANSWERING}


def test_a_typo_is_told_before_the_journal_is_read_to_its_end(vault):
    """Its first entry says which columns there are; nobody waits for a hundred thousand others to hear of a typo."""
    with closing(sqlite3.connect(vault.path / "journal.sqlite")) as journal, journal:
        journal.execute("DROP TRIGGER entries_stay")
        journal.execute("UPDATE entries SET body = body || ' ' WHERE seq = 2")
    said = [CliRunner().invoke(app, [*ASK, asked]).stderr for asked in (KNOWN, KNOWN.replace("age", "agee"))]
    assert said[0].startswith("JournalCorrupt")
    assert said[1].startswith("DomainError: people has no attribute 'agee'; did you mean age?")


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_command_that_is_imported_alone_is_the_same_as_among_all(name):
    alone, among_all = (CliRunner().invoke(made, [name, "--help"]).stdout for made in (app_of((name,)), app))
    assert alone == among_all
    assert f" {name} " in alone


def test_the_package_names_what_it_imports_later():
    import discreet

    assert all(getattr(discreet, name).__name__ == name for name in discreet.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        discreet.Nothing  # noqa: B018


def test_a_service_answers_counts_without_an_engine_or_what_writes_tables(vault):
    served = """
from pathlib import Path
from discreet.server.run import Pace, one
from discreet.vault import Vault
opened = Vault.open(Path(sys.argv[1]))
one(opened, Pace(), None, "").app()
opened.ask("SELECT COUNT(*) FROM people WHERE age < 30", scale=50)
"""
    assert not {name for name in imported(served, str(vault.path)) if name.split(".")[0] in ENGINES}
