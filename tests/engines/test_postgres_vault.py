"""Vaults whose journal is in Postgres: what they keep of its address, and what they share."""

import shutil
import subprocess
import sys
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.errors import BudgetExceeded, DiscreetError, JournalError, TableError, VaultError
from discreet.ledger.places import header_of
from discreet.postgres_address import journal_place, of_vault
from discreet.vault import Vault

pytestmark = pytest.mark.xdist_group("postgres")

SETTINGS = {"table": "people.parquet", "domain": "people.toml", "epsilon": 1, "neighbours": "replace"}


class TestPlaces:
    @pytest.mark.parametrize(
        "uri",
        [
            "postgres://localhost",
            "postgres://localhost/a/b",
            "postgres://u:hunter2@x@localhost/db/",
            "postgres://u:hunter2#x@localhost/db",
            "postgres://u:hunter2/x@localhost/db",
            "postgres://localhost:port/db",
            "postgres://localhost/db?table=people",
            "mysql://u:hunter2@localhost/db",
            "journal.sqlite",
        ],
    )
    def test_a_uri_that_cannot_be_read_is_refused_without_quoting_it(self, uri):
        with pytest.raises(JournalError, match="postgres://USER@HOST:PORT/DATABASE") as refused:
            journal_place(uri)
        assert "hunter2" not in str(refused.value)

    def test_a_password_is_neither_shown_nor_kept(self):
        place = journal_place("postgres://me:p%40ss@db.example:5433/books?sslmode=require&vault=abc")
        assert place.location == "postgres://me@db.example:5433/books?sslmode=require&vault=abc"
        assert place.parameters["password"] == "p@ss"
        assert (place.where, place.vault_id) == ("me@db.example:5433/books", "abc")
        assert "p@ss" not in repr(place)

    def test_another_vaults_ledger_is_refused(self):
        with pytest.raises(JournalError, match="another vault's"):
            of_vault("postgres://localhost/db?vault=one", "two")

    def test_without_the_driver_it_is_said_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(JournalError, match=r"pip install 'discreet\[postgres\]'"):
            header_of("postgres://localhost/db?vault=test-vault")

    def test_the_driver_is_imported_only_where_it_is_used(self):
        code = "import sys, discreet.vault; sys.exit('psycopg' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestVaults:
    @pytest.fixture
    def vault(self, folder, postgres):  # noqa: ARG002
        return Vault.init("vault", **SETTINGS, ledger=postgres.ledger())

    def test_a_vault_keeps_where_its_ledger_is_and_no_password(self, vault, postgres, monkeypatch):
        assert {path.name for path in vault.path.iterdir()} == {"vault.toml", "key", "snapshots"}
        text = (vault.path / "vault.toml").read_text()
        kept = f"postgres://keeper@localhost:{postgres.port}/people?vault={vault.ledger.vault_id}"
        assert f'[ledger]\nlocation = "{kept}"\n' in text
        assert quote(postgres.password, safe="") not in text
        vault.measure(vault.count(age=(20, 50)), scale=100)
        spent = vault.budget().spent
        assert spent > 0
        assert Vault.open("vault", ledger=postgres.ledger()).budget().spent == spent
        monkeypatch.setenv("PGPASSWORD", postgres.password)
        assert Vault.open("vault").budget().spent == spent

    def test_copies_of_a_vault_on_two_hosts_share_one_budget(self, vault, postgres):
        other = shutil.copytree(vault.path, "elsewhere")
        copy = Vault.open(other, ledger=postgres.ledger())
        vault.measure(vault.count(), scale=4)
        assert copy.budget() == vault.budget()
        with pytest.raises(BudgetExceeded):
            copy.measure(copy.count(), scale=3)

    def test_a_snapshot_that_another_host_took_must_be_copied_from_there(self, vault, postgres):
        """The journal names it by its digest: any copy will do."""
        copy = Vault.open(shutil.copytree(vault.path, "elsewhere"), ledger=postgres.ledger())
        vault.refresh()
        with pytest.raises(TableError, match="is not there; copy it from the host that took it"):
            copy.measure(copy.count(), scale=100)
        assert copy.budget().spent == 0
        shutil.copytree(vault.path / "snapshots", "elsewhere/snapshots", dirs_exist_ok=True)
        copy.measure(copy.count(), scale=100)

    def test_a_charge_cut_off_by_a_lost_connection_is_completed_with_nothing_more_spent(
        self, vault, postgres, monkeypatch
    ):
        def lost(*_):
            raise JournalError("lost")

        monkeypatch.setattr(vault.ledger, "record", lost)
        with pytest.raises(JournalError):
            vault.measure(vault.count(), scale=100)
        again = Vault.open("vault", ledger=postgres.ledger())
        spent, pending = again.budget().spent, again.budget().pending
        assert len(pending) == len(again.complete()) == 1
        assert (again.budget().spent, again.budget().pending) == (spent, ())

    def test_an_audit_reads_the_journal_where_it_is(self, vault, postgres, monkeypatch):
        vault.measure(vault.count(age=(20, 50)), scale=100)
        audit = audit_vault("vault", ledger=postgres.ledger())
        assert audit.holds
        assert (audit.spent, audit.receipt) == (vault.budget().spent, str(vault.ledger.head))
        monkeypatch.setenv("PGPASSWORD", postgres.password)
        with postgres.connect() as session:
            session.execute("ALTER TABLE discreet_entries DISABLE TRIGGER entries_stay")
            edited = "UPDATE discreet_entries SET body = replace(body, '\"100\"', '\"900\"') WHERE vault_id = %s"
            session.execute(edited, (vault.ledger.vault_id,))
            session.execute("ALTER TABLE discreet_entries ENABLE TRIGGER entries_stay")
        assert "entry 2 does not follow" in audit_vault(vault)["chain"].findings[0].what
        assert CliRunner().invoke(app, ["audit", "vault", "vault"]).exit_code == 1

    def test_a_vault_that_lost_its_settings_says_so(self, vault):
        (vault.path / "vault.toml").unlink()
        with pytest.raises(VaultError, match=r"has lost its vault\.toml"):
            Vault.open("vault")

    def test_a_vault_over_another_ones_rows_is_not_opened_by_mistake(self, vault, postgres):  # noqa: ARG002
        second = Vault.init("second", **SETTINGS, ledger=postgres.ledger())
        with pytest.raises(JournalError, match="another vault's"):
            Vault.open("vault", ledger=of_vault(postgres.ledger(), second.ledger.vault_id))

    def test_a_ledger_for_a_vault_that_has_its_own_is_refused(self, folder, postgres):  # noqa: ARG002
        Vault.init("plain", **SETTINGS)
        with pytest.raises(VaultError, match="has its journal in its own folder"):
            Vault.open("plain", ledger=postgres.ledger())

    @pytest.mark.parametrize("ledger", ["journal.db", "postgres://u:hunter2@localhost:1/db", "postgres://u:hunter2@x/"])
    def test_a_vault_whose_ledger_cannot_be_made_is_not_made_either(self, folder, ledger):
        with pytest.raises(DiscreetError) as refused:
            Vault.init("vault", **SETTINGS, ledger=ledger)
        assert "hunter2" not in str(refused.value)
        assert {path.name for path in folder.iterdir()} == {"people.parquet", "people.toml"}

    def test_the_command_line_makes_and_asks_such_a_vault(self, folder, postgres, monkeypatch):  # noqa: ARG002
        options = "--table people.parquet --domain people.toml --epsilon 1 --neighbours replace --ledger"
        made = CliRunner().invoke(app, ["init", "vault", *options.split(), postgres.ledger()])
        assert made.exit_code == 0, made.output
        assert quote(postgres.password, safe="") not in made.output
        monkeypatch.setenv("PGPASSWORD", postgres.password)
        asked = CliRunner().invoke(app, ["ask", "vault", "SELECT COUNT(*) FROM people", "--scale", "50"])
        assert asked.exit_code == 0, asked.output
        assert "measured" in asked.output
        checked = CliRunner().invoke(app, ["ledger", "check", "vault"])
        assert checked.exit_code == 0
        assert "whole" in checked.output
