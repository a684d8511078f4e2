"""What a command does not need, it does not import: people wait for every one of them."""

import subprocess
import sys

import pytest

HEAVY = ["numpy", "numba", "scipy", "pandas", "pyarrow", "ibis", "duckdb", "sqlglot", "xarray", "matplotlib", "fastapi"]
ENGINES = ["pandas", "pyarrow", "ibis", "duckdb", "psycopg", "pyspark"]
SOLVERS = ["scipy.spatial", "scipy.special", "scipy.optimize", "scipy.sparse", "matplotlib", "xarray", "fastapi"]


def imported(code, *arguments):
    """The modules that a process has imported at its end."""
    told = f"import sys\n{code}\nprint('\\n'.join(['--', *sys.modules]))"
    done = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("--\n")[2].splitlines())


COMMAND = "from discreet.cli import app; app(standalone_mode=False)"


def test_help_needs_no_arrays_no_compiler_and_no_engine():
    assert not imported(COMMAND, "--help") & set(HEAVY)


def test_a_vault_is_imported_without_engines_and_solvers():
    assert not imported("import discreet.vault") & {*ENGINES, *SOLVERS}


@pytest.mark.parametrize(
    "arguments", [("budget", "vault"), ("ask", "vault", "SELECT COUNT(*) FROM people", "--explain")]
)
def test_what_is_public_needs_no_engine(folder, arguments):
    from discreet.vault import Vault

    given = {"table": "people.parquet", "domain": "people.toml", "epsilon": 1, "neighbours": "replace"}
    Vault.init(folder / "vault", **given).ledger.close()
    assert not imported(COMMAND, *arguments) & {*ENGINES, *SOLVERS}


def test_the_package_names_what_it_imports_later():
    import discreet

    assert all(getattr(discreet, name).__name__ == name for name in discreet.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        discreet.Nothing  # noqa: B018
